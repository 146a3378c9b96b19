"""Every command has its row, says what ended it, and has a help that fits."""

from pathlib import Path

import pytest
import typer
from command_table import ROWS, every_command, words_of
from commands import iirl, whole

from iirl_opt.cli.app import app


def test_every_command_has_a_row() -> None:
    assert set(ROWS) == set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@every_command
def test_ctrl_c_is_said_in_a_line(
    command: str, here: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    words = words_of(command, made)
    monkeypatch.setattr(ROWS[command].work, interrupted)
    done = whole(*words)
    assert done.code == 130
    assert done.err.startswith("iirl-opt: interrupted")
    assert done.err.count("\n") == 1
    assert "ok" not in done.out


@every_command
def test_our_own_fault_is_no_verdict(
    command: str, here: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object, **__: object) -> None:
        raise AssertionError("planted")

    words = words_of(command, made)
    monkeypatch.setattr(ROWS[command].work, fault)
    done = whole(*words)
    assert done.code == 70
    assert "AssertionError: planted" in done.err
    assert "this is a fault of iirl-opt" in done.err


@every_command
@pytest.mark.parametrize("columns", [20, 60])
def test_help_fits_a_narrow_terminal(
    command: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    done = iirl(command, "--help")
    assert (done.code, done.err) == (0, "")
    if columns == 60:
        assert max(map(len, done.out.splitlines())) <= columns
