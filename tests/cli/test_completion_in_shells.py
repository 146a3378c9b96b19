"""Completion as people meet it: installed by the command, used at a terminal of a real shell."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import LONGEST, child

pytestmark = [pytest.mark.campaign, pytest.mark.process]

# What is typed before the Tab, and what has to appear behind it.
TYPED = {
    "iirl-opt sche": "ma",
    "iirl-opt learn maze-m": "aker",
    "iirl-opt learn --epi": "sodes",
    "iirl-opt solve of_m": "ine.toml",
    "iirl-opt compare x --learners active,max-m": "argin",
    "iirl-opt figure prop": "osition-1",
}
ERASE = "\x15"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of somebody who has the command and a file of their own, and no settings."""
    command = tmp_path / "bin" / "iirl-opt"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m iirl_opt "$@"\n')
    command.chmod(0o755)
    (tmp_path / "of_mine.toml").touch()
    for name in ("ZDOTDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "ENV"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path), "TERM": "xterm", "LC_ALL": "C.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def terminal(shell: str) -> Any:
    """Start a shell at a terminal of its own, once it listens."""
    pexpect = pytest.importorskip("pexpect")
    session = pexpect.spawn(shell, ["-i"], encoding="utf-8", timeout=60, dimensions=(24, 100))
    session.send("echo lis''tens\r")
    session.expect("listens")
    return session


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_at_a_terminal_once_that_is_installed(shell: str, home: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs a real {shell}")
    install = f"iirl-opt --install-completion {shell}; true"  # or the shell execs, and is not seen
    done = child([shell, "-c", install])
    assert f"{shell} completion installed" in done.out, done
    session = terminal(shell)
    try:
        if shell == "zsh":  # whose first Tab only loads what typer wrote for it
            session.send("iirl-opt sche\t")
            session.expect(["\x07", "ma"], timeout=LONGEST)
            session.send(ERASE)
        for typed, rest in TYPED.items():
            session.send(f"{typed}\t")
            session.expect_exact(rest)
            session.send(ERASE)
    finally:
        session.close(force=True)
