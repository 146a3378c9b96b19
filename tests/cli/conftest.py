"""Folders to work in, with a file for every command of the table."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from command_table import COMPARE
from commands import iirl

from iirl_opt.cli import sweeps
from iirl_opt.experiments import commitment
from iirl_opt.experiments.sweep import Cell

MODELS = Path(__file__).parents[2] / "models"
SHIPPED = ("learning/two-rooms", "occupancy/correlated-budget", "commitment/figure-1")
PROOF = "affine_equivalence/strict-4-refuted"
TITLE = "β ≤ ½ → 東京, 🙂"  # no code page of one byte has all of it
OWN = "from iirl_opt.claims import PAPER\n\nclaims = list(PAPER)[:1]\n"


def few_cells(seed: int) -> list[Cell]:
    facts = [{"epsilon": epsilon, "size": [5, 3, 3]} for epsilon in (1.0, 0.5, 0.0)]
    return [Cell(7, "random", "epsilon-greedy", seed, each) for each in facts]


# What a figure shows is not the point.
FIGURE_7 = replace(commitment.FIGURE_7, scales={"small": few_cells})


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file for each command, and the checkpoints of finished sweeps."""
    folder = tmp_path_factory.mktemp("made")
    for shipped in (*SHIPPED, PROOF):
        text = (MODELS / f"{shipped}.toml").read_text()
        head, _, rest = text.partition("title = ")
        own = f"{head}title = {json.dumps(TITLE, ensure_ascii=False)}\n{rest.partition(chr(10))[2]}"
        (folder / Path(f"{shipped}.toml").name).write_text(own, "utf-8")
    (folder / "own.py").write_text(OWN)
    assert iirl("verify", "strict-4-refuted.toml", "--out", "proof", cwd=folder).code == 0
    shutil.copy(folder / "proof/certificate.json", folder / "proof.json")
    shutil.rmtree(folder / "proof")
    with pytest.MonkeyPatch.context() as here:
        # A pool of processes is not the point.
        here.setattr(sweeps, "_executor", lambda *_: ThreadPoolExecutor(1))
        here.setattr(commitment, "FIGURE_7", FIGURE_7)
        for command, words in (("figure", "7"), ("compare", COMPARE)):
            done = iirl(command, *words.split(), "--json", "--out", command, cwd=folder)
            assert done.code == 0, done.err
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own to work in, with those files; whose ``out`` has the checkpoints."""
    (tmp_path / "out").mkdir()
    for path in made.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    monkeypatch.setattr(commitment, "FIGURE_7", FIGURE_7)
    monkeypatch.chdir(tmp_path)
    return tmp_path
