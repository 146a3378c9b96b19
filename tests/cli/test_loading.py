"""What the command loads before it is needed: nothing of what takes long, but for its own two."""

import pytest
from source import loaded_by

OWN = {"typer", "rich"}

RUN = """
import io, os; from contextlib import redirect_stderr, redirect_stdout, suppress
def asked(words, **completion):
    from iirl_opt.cli.app import run
    os.environ |= completion
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        with suppress(SystemExit):
            run(words.split())
    os.environ.pop("_IIRL_OPT_COMPLETE", None)
    assert out.getvalue() or err.getvalue()
"""
WORDS = (
    *("--version", "lern", "learn --episods", "--help", "learn --help"),
    *("show", "show maze-maker", "show two-rooms --json", "schema"),
)
COMPLETED = ("sho", "show maze-", "show --se", "learn x --learner act", "figure ", "show ./")


@pytest.mark.process
def test_only_what_answers_loads_what_takes_long() -> None:
    calls = [f"asked({words!r})" for words in WORDS]
    for words in COMPLETED:
        line, count = f"iirl-opt {words}", len(words.split(" "))
        calls.append(
            f"asked('', _IIRL_OPT_COMPLETE='complete_bash', COMP_WORDS={line!r}, "
            f"COMP_CWORD='{count}')"
        )
    found = loaded_by([RUN.strip(), *calls])
    assert len(found) == 1 + len(calls)
    assert {call: set(loaded) - OWN for call, loaded in found.items()} == {
        call: set() for call in found
    }
    assert "rich" not in found["asked('--version')"]
