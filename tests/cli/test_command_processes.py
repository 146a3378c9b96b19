"""What only a process of its own shows: streams that are closed, terminals, what a shell hears."""

import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from commands import LONGEST, RUN, child, start

pytestmark = pytest.mark.process
COMMANDS = {
    "learn": "two-rooms --episodes 2",
    "show": "two-rooms",
    "solve": "correlated-budget",
    "check": "correlated-budget",
    "convert": "two-rooms game.npz",
    "export": "figure-1 --lp",
    "schema": "",
    "verify": "strict-4-refuted",
    "recheck": "proof/certificate.json",
    "claims": "own.py --examples 1",
    "figure": "7",
    "compare": "two-rooms --learners algorithm-1 --episodes 1 --runs 1",
}


def every_command(everyday: str = "") -> pytest.MarkDecorator:
    """All commands in turn; of which one is tried every day, since a process costs a second."""
    campaign = pytest.mark.campaign
    marked = [pytest.param(name, marks=[] if name == everyday else campaign) for name in COMMANDS]
    return pytest.mark.parametrize("command", marked)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the files that are not shipped."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words_of(command: str) -> list[str]:
    """The words of a command that works; its files go to the folder ``out``."""
    if command == "recheck":
        assert child([*RUN, "verify", "strict-4-refuted", "--out", "proof"]).code == 0
    if command == "claims":
        Path("own.py").write_text("from iirl_opt.claims import PAPER\nclaims = list(PAPER)[:1]\n")
    out = [] if command == "convert" else ["--out", "out"]
    return [*RUN, command, *COMMANDS[command].split(), *out]


def files_are_whole() -> None:
    """What is in the folder is as programs read it, and nothing is half written."""
    assert not list(Path().rglob(".part-*"))
    for path in Path().rglob("*.json"):
        assert json.loads(path.read_text())


@every_command("learn")
def test_a_reader_that_leaves_costs_nothing_that_was_done(command: str) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(words_of(command), **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()  # as `| head -1` does
        said = process.stderr.read()
        # A command that has no more to say has ended well before it could hear of that.
        assert process.wait(LONGEST) in (141, 0)
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    files_are_whole()
    if command == "learn":
        assert process.returncode == 141
        assert json.loads(Path("out/result.json").read_text())["episodes"]


@every_command("show")
def test_without_any_stream_the_files_are_written(command: str) -> None:
    close = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
    assert child([*close, *words_of(command)]).code == 0
    files_are_whole()
    assert Path("game.npz" if command == "convert" else "out").exists()


@every_command("show")
def test_a_bare_environment_is_enough(command: str) -> None:
    bare = ["env", "-i", "LANG=C", "TERM=dumb", "NO_COLOR=1", "COLUMNS=20", "PYTHONUTF8=0"]
    path = [f"PYTHONPATH={os.environ.get('PYTHONPATH', '')}", "PYTHONIOENCODING=ascii"]
    done = child([*bare, *path, *words_of(command)])
    assert done.code == 0, done.err
    assert (done.out + done.err).isascii()
    files_are_whole()


@every_command("show")
def test_a_narrow_terminal_shows_every_line_and_no_more(command: str) -> None:
    fcntl = pytest.importorskip("fcntl")
    termios = pytest.importorskip("termios")
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    streams = {"stdin": slave, "stdout": slave, "stderr": slave}
    with start(words_of(command), env={"TERM": "xterm"}, **streams) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                shown += (more := os.read(master, 4096))
            except OSError:  # Linux says so when the other end is closed
                break
            if not more:
                break
        assert process.wait(LONGEST) == 0, shown
    os.close(master)
    assert b"wrote " in shown
    assert b"Traceback" not in shown


@every_command()
def test_json_is_what_jq_reads(command: str) -> None:
    done = child([*words_of(command), "--json"], env={"PYTHONIOENCODING": "cp1252"})
    assert done.code == 0, done.err
    assert json.loads(done.out)["command"] == command
    if shutil.which("jq"):
        read = ["jq", "-r", ".command"]
        said = subprocess.run(read, input=done.out, text=True, capture_output=True, check=True)
        assert said.stdout == f"{command}\n"


@every_command()
@pytest.mark.parametrize("seconds", [0.3, 0.6, 1.0, 1.5])
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_time_leaves_whole_files(
    command: str, seconds: float, sign: signal.Signals
) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(words_of(command), **pipes) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(sign)
        _, err = process.communicate(timeout=LONGEST)
    # Before the command listens, SIGTERM ends it as it ends any program.
    early = set() if sign is signal.SIGINT else {-sign}
    assert process.returncode in {0, 128 + sign} | early, err
    assert "Traceback" not in err
    files_are_whole()


@pytest.mark.parametrize(
    ("words", "every"),
    [
        ("--version", 3001),
        pytest.param("lern", 301, marks=pytest.mark.campaign),
        pytest.param("show", 1501, marks=pytest.mark.campaign),
    ],
)
def test_ctrl_c_at_any_call_from_the_first_on_is_one_line(words: str, every: int) -> None:
    done = child([sys.executable, Path(__file__).with_name("ctrl_c_anywhere.py"), every, words])
    heard = [json.loads(line) for line in done.out.splitlines()]
    assert len(heard) > 5
    said = "iirl-opt: interrupted\n"
    assert [each for each in heard if each[1:] != [130, said]] == []


def test_no_other_program_that_imports_the_package_is_touched() -> None:
    asks = "import sys; sys.argv[0] = {!r}; import iirl_opt, signal; print(signal.getsignal(2))"
    words = {name: child([sys.executable, "-c", asks.format(name)]) for name in ("-m", "iirl-opt")}
    assert "default_int_handler" in words["-m"].out
    assert "leave" in words["iirl-opt"].out


@pytest.mark.campaign
def test_another_interpreter_finds_the_command() -> None:
    done = child([sys.executable, "-I", "-m", "iirl_opt", "--version"])
    assert (done.code, done.err) == (0, "")
