"""The command's streams and signals: what cannot be written stops it, and says by which code."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from commands import RUN, child, iirl, whole
from rich.console import Console

from iirl_opt.cli import app, exit_codes, printing, streams
from iirl_opt.cli.streams import Process
from iirl_opt.library import run as run_of_files


class Pipe(io.StringIO):
    """A stream whose reader goes after some lines, or whose disk is full then."""

    def __init__(self, lines: int, problem: OSError) -> None:
        super().__init__()
        self.left, self.problem = lines, problem

    def write(self, text: str) -> int:
        if self.left <= 0:
            raise self.problem
        self.left -= text.count("\n")
        return super().write(text)

    def fileno(self) -> int:
        raise OSError("is no file")


def main(*arguments: object, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["iirl-opt", *map(str, arguments)])
    before = sys.stdout, sys.stderr, [signal.getsignal(which) for which in streams.ENDING]
    with pytest.raises(SystemExit) as left:
        app.main()
    assert (sys.stdout, sys.stderr, [signal.getsignal(w) for w in streams.ENDING]) == before
    return int(left.value.code or 0)


@pytest.mark.parametrize("lines", range(4))
@pytest.mark.parametrize(
    ("problem", "code"), [(BrokenPipeError(), 141), (OSError(28, "No space left on device"), 2)]
)
def test_what_stops_a_command_on_its_output_keeps_what_was_done(
    lines: int, problem: OSError, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Pipe(lines, problem)
    monkeypatch.setattr(sys, "stdout", out)
    arguments = ("learn", "small-maze", "--episodes", 4, "--out", tmp_path)
    assert main(*arguments, monkeypatch=monkeypatch) == code
    assert out.left <= 0
    if lines >= 3:  # title and game, then an episode a line
        assert '"complete": false' in (tmp_path / "result.json").read_text()


@pytest.mark.parametrize("which", streams.ENDING)
def test_a_signal_interrupts_and_names_itself(which: signal.Signals) -> None:
    process = Process()
    before = signal.signal(which, signal.SIG_DFL)  # nohup ignores one
    try:
        with process.prepared(), pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), which)
        assert signal.getsignal(which) == signal.SIG_DFL
    finally:
        signal.signal(which, before)
    assert process.stopped_by == 128 + which


def test_a_signal_that_is_ignored_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with Process().prepared():
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_python_drops_comes_again(which: signal.Signals) -> None:
    class Going:
        def __del__(self) -> None:
            signal.raise_signal(which)

    before, process = signal.signal(which, signal.default_int_handler), Process()
    if which is not signal.SIGINT:  # as in a process that is new
        signal.signal(which, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt), process.prepared():  # noqa: PT012
            Going()
            time.sleep(10)
    finally:
        signal.signal(which, before)
    assert process.stopped_by == 128 + which


@pytest.mark.parametrize("page", ["cp1252", "ascii", "cp437"])
def test_a_code_page_without_our_characters_shows_the_others(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=page))
    with Process().prepared():
        print("π(s) ≥ 0, ρ")
        print("value 1")
    assert raw.getvalue().decode(page).splitlines()[1] == "value 1"
    assert "(s)" in raw.getvalue().decode(page)


@pytest.mark.parametrize("page", ["idna", "undefined"])
def test_a_code_page_that_replaces_nothing_is_left(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding=page))
    with Process().prepared():
        print("π ≥ 0. no model " + 99 * "x", file=sys.stderr)
    assert raw.getvalue().startswith(b"? ? 0. no model xx")


@pytest.mark.parametrize("columns", ["0", "1", "99999999", "²", "", "-3", "9" * 5000])
def test_no_width_is_too_small_or_too_large(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with Process().prepared():
        assert 20 <= shutil.get_terminal_size().columns <= 500
        assert 20 <= Console().width <= 500


def test_what_fails_while_completion_is_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/dev/null")
    done = iirl("--install-completion", "fish")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("iirl-opt: --install-completion: /dev/null")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_shell_that_is_named_is_the_one_whose_script_is_shown(
    shell: str,
) -> None:
    done = whole("--show-completion", shell)
    assert (done.code, done.err) == (0, "")
    assert {"bash": "COMPREPLY", "zsh": "#compdef", "fish": "complete --command"}.get(
        shell, "Register-ArgumentCompleter"
    ) in done.out


def test_a_fault_of_ours_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> int:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(app, "_parser", lambda _: fails)
    done = iirl("show", "maze-maker")
    assert done.code == 70
    assert "ZeroDivisionError: of ours" in done.err
    assert done.err.splitlines()[-1] == "iirl-opt: this is a fault of iirl-opt, please report it"


def test_an_interrupt_that_an_import_dresses_up_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def imports(*_: object, **__: object) -> int:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as within:
            raise RuntimeError("Error calling __set_name__") from within

    monkeypatch.setattr(app, "_parser", lambda _: imports)
    done = iirl("show", "maze-maker")
    assert (done.code, done.out, done.err) == (130, "", "iirl-opt: interrupted\n")


def test_what_a_swallowed_interrupt_leaves_behind_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where cvxpy tries which solvers there are, and takes whatever is raised for a lack."""

    def imports(*_: object, **__: object) -> int:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        raise ImportError("half there")

    monkeypatch.setattr(app, "_parser", lambda _: imports)
    with (process := Process()).prepared():
        code = app.run(["show", "maze-maker"], process)
    assert (code, process.stopped_by) == (130, 143)
    assert capsys.readouterr().err == "iirl-opt: interrupted\n"


@pytest.mark.process
def test_without_any_stream_files_are_written(tmp_path: Path) -> None:
    words = " ".join([*RUN, "show", "maze-maker", "--out", str(tmp_path)])
    done = child(["sh", "-c", f"{words} <&- >&- 2>&-"])
    assert done.code == 0
    assert (tmp_path / "result.json").read_text().startswith("{")


@pytest.mark.parametrize("command", ["show", "solve", "learn", "compare"])
def test_a_folder_that_cannot_be_made_is_refused_first(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "file/below", "link", "n" * 300):
        done = iirl(command, "maze-maker", "--out", tmp_path / name)
        assert (done.code, done.out) == (2, "")
        assert "--out is " in done.err
    assert (tmp_path / "file").read_text() == "in the way"


def test_the_page_of_the_command_has_every_exit_code() -> None:
    codes = {getattr(exit_codes, name) for name in exit_codes.__all__ if name.isupper()}
    page = (Path(__file__).parents[2] / "docs" / "the_command.rst").read_text()
    rows = re.findall(r"^   \* - ([\d, ]+)$", page, flags=re.MULTILINE)
    stated = {int(code) for row in rows for code in row.split(",")}
    assert stated == codes | {128 + signal.SIGHUP}


def test_pictures_that_are_missing_are_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in (printing, run_of_files):
        monkeypatch.setattr(room, "find_spec", lambda _name: None)
    done = iirl("learn", "maze-maker", "--episodes", 1, "--out", tmp_path)
    assert done.code == 0
    assert done.err.count("no pictures") == 1
    assert "pip install 'iirl-opt[plot]'" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["learn.jsonl", "result.json"]
