"""Shell completion: what a real bash is offered, at every place of a line."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from iirl_opt.cli import completion
from iirl_opt.experiments.figure import FIGURES, find_figure

BASH = """
COMP_WORDS=({line}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
source <(./iirl-opt --show-completion bash)
_iirl_opt_completion ./iirl-opt
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(line, folder):
    """Return what a bash offers behind a line; the command is a script, as it is installed."""
    command = folder / "iirl-opt"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m iirl_opt "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", BASH.format(line=line)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a real bash")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param("iirl-opt learn --epi", ["--episodes"], marks=pytest.mark.campaign),
        pytest.param("iirl-opt learn maze-m", ["maze-maker"], marks=pytest.mark.campaign),
        ("iirl-opt compare x --learners active,max-m", ["active,max-margin"]),
    ],
)
def test_a_bash_completes_commands_options_and_names(line, found, tmp_path):
    assert offered(line, tmp_path) == found


def test_figures_and_scales_are_those_that_there_are():
    assert list(completion.FIGURES) == [str(number) for number in FIGURES]
    assert {scale for number in FIGURES for scale in find_figure(number).scales} == set(
        completion.SCALES
    )


def test_files_of_the_kinds_that_a_command_takes_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("inner").mkdir()
    for name in ("a.toml", "a.npz", "a.txt", "a.json", "a.py", "inner/b.toml", "inner/b.py"):
        Path(name).touch()
    assert completion.complete_model("a.") == ["a.json", "a.npz", "a.toml"]
    assert completion.complete_model("inner/") == ["inner/b.toml"]
    assert completion.complete_certificate("") == ["a.json", "inner/"]
    assert completion.complete_claims("inner/b") == ["inner/b.py"]


@pytest.mark.parametrize("word", ["nowhere/", "\0", "é" * 400 + "/", "active,,", "--"])
def test_whatever_stands_there_no_shell_sees_a_traceback(word):
    for name in completion.__all__:
        if name.startswith("complete_"):
            assert isinstance(getattr(completion, name)(word), list)
