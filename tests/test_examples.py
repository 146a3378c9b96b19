"""Every example runs as a stranger would run it, without a warning; its own assertions hold."""

import runpy
import sys
import warnings
from pathlib import Path

import pytest
from commands import child

FOLDER = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))

# Examples that take seconds: they learn, or start a cluster.
LONG = {"07_active_learning", "09_bayesian_learning", "11_sweep"}
CASES = [
    pytest.param(script, id=script.stem, marks=[pytest.mark.campaign] * (script.stem in LONG))
    for script in SCRIPTS
]


@pytest.mark.parametrize("script", CASES)
def test_example_runs(
    script: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(script), run_name="__main__")
    printed, complaint = capsys.readouterr()
    assert printed
    assert not complaint


@pytest.mark.process
def test_an_example_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    # Imports may warn too, which a process that has made them already does not see.
    done = child([sys.executable, "-W", "error", SCRIPTS[0]], cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out


def test_the_readme_names_every_example() -> None:
    text = (FOLDER / "README.md").read_text()
    assert all(f"`{script.name}`" in text for script in SCRIPTS)
