"""Usage errors: one line, which names what was meant and where all is listed."""

from io import BytesIO, TextIOWrapper

import pytest
import typer
from command_table import ROWS, every_command, is_refused
from commands import iirl, whole

from iirl_opt.cli.app import app

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["learn"], "learn: missing argument 'file'."),
        (["frobnicate"], "iirl-opt: no command frobnicate."),
        (["lern", "maze-maker"], "iirl-opt: no command lern; did you mean learn?"),
        (["versions"], "iirl-opt: no command versions; did you mean --versions?"),
        (["help"], "iirl-opt: no command help; did you mean --help?"),
        ([""], "no command ''."),
        (["\x1b[31m"], "no command '\\x1b[31m'."),
        (["--verison", "learn"], "iirl-opt: no option --verison; did you mean --version?"),
        (["--version=3"], "iirl-opt: option '--version' does not take a value."),
        (["solve", "x", "--sed", "3"], "solve: no option --sed; did you mean --seed?"),
        (["solve", "x", "--jobs", "3"], "solve: no option --jobs, which is an option of figure, c"),
        (["compare", "x", "--learner", "y"], "option of learn; did you mean --learners?"),
        (["learn", "x", "--out"], "learn: option '--out' requires an argument."),
        (["show", "--help=x"], "show: option '--help' does not take a value."),
        (["learn", "x", "--\x1b[31m"], "learn: no option '--\\x1b[31m'."),
        (["learn", "x", "--" + 3000 * "x"], "learn: no option --xxx"),
        (["learn", "x", "--episodes=0", "--episodes=y"], "learn: --episodes is 'y'; allowed an in"),
        (["learn", "x", "--episodes", "0"], "learn: --episodes is '0'; allowed "),
        (["show", "x", "--const", "y"], "show: --const is 'y'; allowed NAME=VALUE."),
        (["show", "x", "y"], "show: got unexpected extra argument"),
        (["solve", ""], "solve: its first argument is ''; allowed a text that is not empty."),
        (["show", "x", "--out", ""], "show: what stands behind --out is ''; allowed"),
        (["learn", "x", "--plot=", "--json"], "learn: --plot is ''; allowed"),
        (["--show-completion", "bsh"], "--show-completion is 'bsh': 'bsh' is not one of 'bash', "),
        (["export", "figure-1"], "export: give --lp or --mps; both need a folder, --out DIR."),
    ],
)
def test_a_usage_error_is_a_line_of_ours(words: list[str], said: str) -> None:
    done = iirl(*words)
    path = " ".join(["iirl-opt", *(words[:1] if words[0] in ROWS else [])])
    is_refused(done, said, f" Try '{path} --help'")
    assert done.err.startswith(path.replace(" ", ": "))


@every_command
def test_a_slip_in_any_command_and_option_is_answered_by_what_was_meant(command: str) -> None:
    is_refused(iirl(command[0] + command[2:]), f"did you mean {command}?")
    names = [name for each in COMMANDS[command].params for name in each.opts if name[:2] == "--"]
    longest = max(names, key=len)
    is_refused(iirl(command, longest[:-3] + longest[-2:]), f"did you mean {longest}?")


def test_without_a_word_the_help_is_shown() -> None:
    done = iirl()
    assert done.code == 2
    assert all(command in done.out for command in ROWS)


def test_a_usage_error_in_any_code_page_and_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    written = BytesIO()
    with TextIOWrapper(written, "cp1252", write_through=True) as err:
        assert whole("lern", "東京", err=err).code == 2
        text = written.getvalue().decode("cp1252")
    assert text == "iirl-opt: no command lern; did you mean learn? Try 'iirl-opt --help'\n"
