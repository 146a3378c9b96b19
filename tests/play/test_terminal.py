"""The game in a terminal: by textual's pilot, and once through a real pseudo-terminal."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from commands import iirl

from iirl_opt.library import read_model
from iirl_opt.play import Doorkeeper, Session, walk_for

pytest.importorskip("textual", reason="the extra play is not installed")
KEYS = (
    dict(zip("NESW", ("up", "right", "down", "left"), strict=True)),
    dict(zip("NESW", "klj" + "h", strict=True)),
    dict(zip("NESW", "wdsa", strict=True)),
)
BYTES = dict(zip("NESW", (b"\x1b[A", b"l", b"s", b"\x1b[D"), strict=True))


def shown(app):
    """All that stands on the screen, line by line."""
    lines = app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in lines)


def piloted(steps, size=(60, 24), session=None):
    """Run steps on an app, and return it."""
    from iirl_opt.play.terminal import PlayApp

    app = PlayApp(session or Session())

    async def run():
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(app, pilot)

    asyncio.run(run())
    return app


@pytest.mark.parametrize("size", [(60, 21), pytest.param((200, 60), marks=pytest.mark.campaign)])
def test_a_game_is_played_by_keys_and_fits(size):
    truth = Session().maze.reward("FC")

    async def steps(app, pilot):
        text = " ".join(shown(app).split())
        assert all(word in text for word in ("Choose two letters", "and stay there.", "Leave"))
        assert "enlarge" not in text
        while not app.session.over:
            keys = KEYS[app.session.round % len(KEYS)]
            for move in walk_for(app.session, truth):
                await pilot.press(keys[move])
            walk = app.session.round
            await pilot.press("enter")
            await pilot.pause()
            assert f"walk {walk}: " in shown(app)
        text = shown(app)
        assert "Your prizes are F, then C" in text
        assert "F1" in text
        assert "Leave" in text
        for line in ("  25-100% 1st", " walk 3: to C"):
            assert line in text
        await pilot.press("k", "u", "enter")

    app = piloted(steps, size)
    assert app.session.learner.named == ("F", "C")
    assert app.return_code == 0


@pytest.mark.parametrize("size", [(80, 20), (8, 3)])
def test_a_window_that_is_too_small_is_said_until_it_is_larger(size):
    async def steps(app, pilot):
        assert "This" in shown(app)
        await pilot.press(KEYS[0][next(iter(app.session.exits))])
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "enlarge" not in shown(app)
        assert len(app.session.walk) == 1

    piloted(steps, size)


def test_help_is_shown_whole_and_closed_by_any_key():
    async def steps(app, pilot):
        await pilot.press("question_mark")
        await pilot.pause()
        text = shown(app)
        assert "Choose two letters in secret" in text
        assert "q, Ctrl-C" in text
        await pilot.press("k")
        await pilot.pause()
        assert "q, Ctrl-C" not in shown(app)
        assert app.session.walk == ()  # the key that closes it moves nothing

    piloted(steps, (60, 24))


def test_keys_that_lead_nowhere_change_nothing():
    async def steps(app, pilot):
        doors = app.session.exits
        locked = next(d for d in "NESW" if d not in doors)
        await pilot.press(KEYS[0][locked])
        await pilot.pause()
        assert "locked" in shown(app)
        await pilot.press("z", "5", "tab", "escape", "pageup", "f5")
        assert app.session.walk == ()
        await pilot.press(KEYS[0][next(iter(doors))], "u")
        assert app.session.walk == ()

    app = piloted(steps)
    assert app.session.round == 1


def test_a_contradiction_ends_the_game_and_is_said_by_walk():
    async def steps(app, pilot):
        while not app.session.over:
            await pilot.press("space")
        await pilot.pause()
        assert "No two prizes explain walks" in shown(app)
        await pilot.press("q")

    app = piloted(steps)
    assert app.session.learner.contradiction


def test_without_colour_all_is_still_there(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")

    async def look(app, pilot):
        assert app.no_color
        assert "Walk 1" in shown(app)
        for strip in app.screen._compositor.render_strips():
            for segment in strip.apply_filter(app.get_line_filters()[-1], None):
                style = segment.style
                assert all(c is None or c.is_default for c in (style.color, style.bgcolor))

    piloted(look)


# The command


def test_an_optimal_follower_walks_in_place_of_a_person(tmp_path):
    done = iirl("play", "maze", "--prizes", "cf", "--out", "kept", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "Your prizes are C, then F" in done.out
    document = json.loads((tmp_path / "kept" / "result.json").read_text())
    assert document["prizes"] == ["C", "F"]
    assert len(document["walks"]) <= 5
    assert iirl("check", tmp_path / "kept" / "session.toml").code == 0


def test_where_there_is_no_terminal_it_is_said():
    done = iirl("play")
    assert (done.code, done.out) == (2, "")
    assert "--prizes" in done.err


def test_an_end_without_a_code_is_an_interrupt_and_one_with_another_a_fault(monkeypatch):
    from iirl_opt.cli import play
    from iirl_opt.play.terminal import PlayApp

    monkeypatch.setattr(play, "_check_terminal", lambda: None)
    for code, exit_code, words in ((None, 130, "interrupted"), (0, 130, ""), (1, 70, "")):
        monkeypatch.setattr(
            PlayApp, "run", lambda app, code=code: setattr(app, "_return_code", code)
        )
        done = iirl("play")
        assert (done.code, "not at its end" in done.out) == (exit_code, True)
        assert done.err.startswith("iirl-opt: loading the maze")
        assert words in done.err


def test_a_terminal_that_can_draw_nothing_is_said_by_the_name_of_its_variable(monkeypatch):
    class Tty:
        closed = False

        def isatty(self):
            return True

    monkeypatch.setattr(sys, "__stdin__", Tty())
    monkeypatch.setattr(sys, "__stderr__", Tty())
    monkeypatch.setenv("TERM", "dumb")
    done = iirl("play")
    assert (done.code, done.err[:31]) == (2, "iirl-opt: play: TERM names no t")


def test_without_textual_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "textual", None)
    done = iirl("play")
    assert (done.code, done.out) == (2, "")
    assert "pip install 'iirl-opt[play]'" in done.err


class Player:
    """A script behind a pseudo-terminal."""

    def __init__(self, fd):
        self.fd, self.seen = fd, b""

    def until(self, words):
        """Read until some words are there, and forget what was before them."""
        end = time.monotonic() + 120
        while words not in self.seen and time.monotonic() < end:
            if select.select([self.fd], [], [], 1.0)[0]:
                read = b""
                with suppress(OSError):  # the other end is closed
                    read = os.read(self.fd, 65536)
                if not read:
                    break
                self.seen += read
        assert words in self.seen, self.seen[-2000:]
        self.seen = self.seen[self.seen.index(words) :]

    def press(self, keys):
        os.write(self.fd, keys)


@contextmanager
def behind_a_terminal(*words):
    """A player and the process that it plays with, of 80 columns and 24 lines."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen(
        [sys.executable, "-m", "iirl_opt", "play", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=os.environ | {"TERM": "xterm-256color"},
    )
    try:
        yield Player(ours), process
        assert termios.tcgetattr(theirs) == before  # the terminal is as it was
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


@pytest.mark.process
def test_a_script_plays_through_a_real_terminal_to_the_end(tmp_path):
    session = Session(Doorkeeper(seed=7))
    with behind_a_terminal("maze", "--seed", "7", "--out", str(tmp_path)) as (player, process):
        player.until(b"Leave")
        player.press(b"\xff\xc3(\x80")  # no character is a key that does nothing
        while not session.over:
            for move in walk_for(session, session.maze.reward("HB")):
                player.press(BYTES[move])
                session = session.move(move)
            player.press(b"\r")
            walk, session = session.round, session.stay()
            player.until(b"Walk %d:" % walk)
        player.until(b"Your prizes are H, then B")
        player.press(b"\r")
        player.until(b"session.toml")
        assert process.wait(60) == 0
    assert session.round - 1 <= 6
    assert read_model(tmp_path / "session.toml").trajectories == session.learner.history


@pytest.mark.campaign
@pytest.mark.process
@pytest.mark.parametrize("how", ["key", signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_leaves_gets_the_terminal_back_and_keeps_the_walks(how, tmp_path):
    with behind_a_terminal("--out", str(tmp_path)) as (player, process):
        player.until(b"Leave")
        player.press(b"\r")
        player.until(b"Walk 1:")
        if how == "key":
            player.press(b"\x03")
        else:
            process.send_signal(how)
            player.until(b"iirl-opt: interrupted")
        player.until(b"session.toml")
        assert process.wait(60) == 128 + (signal.SIGINT if how == "key" else how)
    assert len(read_model(tmp_path / "session.toml").trajectories) == 1
    assert json.loads(Path(tmp_path, "result.json").read_text())["complete"] is False


@pytest.mark.campaign
@pytest.mark.process
def test_a_terminal_that_is_closed_ends_the_game_and_the_walks_are_kept(tmp_path):
    pty = pytest.importorskip("pty")
    child, ours = pty.fork()  # with a controlling terminal, whose end is a SIGHUP
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        words = ("-m", "iirl_opt", "play", "--out", str(tmp_path))
        os.execv(sys.executable, [sys.executable, *words])
    player = Player(ours)
    player.until(b"Leave")
    player.press(b"\r")
    player.until(b"Walk 1:")
    os.close(ours)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    assert len(read_model(tmp_path / "session.toml").trajectories) == 1
