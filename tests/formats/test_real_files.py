"""Real problems, out and in again through every kind of file that can hold them: equal."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from iirl_opt.errors import FileProblem, InvalidGame
from iirl_opt.formats import KINDS, read_file
from iirl_opt.formats.comparison import differences, write_compared
from iirl_opt.library import read_model, shipped_models, write_model

SHARED = Path(__file__).parents[2] / ".." / "shared" / "problems"
PRISM = SHARED / "prism"
HERE = shipped_models() / "learning" / "bridge.dpomdp"
FILES = {path.stem: path for path in (HERE, *sorted(SHARED.glob("*.dpomdp")))}
PROGRAMS = {"coin2": {"K": 2}, "wlan0": {"COL": 0}}
WRITTEN = [kind for kind in KINDS if kind.writer]


def through(problem, kind, folder):
    """Return what a problem is after a file of a kind, or None if no such file can hold it."""
    path = folder / f"out{kind.suffixes[0]}"
    discount = str(problem.game.exact_discount) if "discount" in kind.loses else None

    back = []

    def read(file):
        back.append(kind.read(file, discount=discount))
        return back[0]

    try:
        write_compared(problem, path, lambda file: kind.write(problem, file), read)
    except (InvalidGame, FileProblem):
        assert not path.exists()
        return None
    return back[0]


def check_every_kind(problem, folder):
    """Assert that a problem comes back equal from each kind of file that holds such problems."""
    for kind in WRITTEN:
        if "rewards" in kind.loses and len(problem.rewards) > 1:
            name, reward = next(iter(problem.rewards.items()))
            check_kind(replace(problem, rewards={name: reward}), kind, folder)
        else:
            check_kind(problem, kind, folder)


def check_kind(problem, kind, folder):
    """Assert that a problem comes back equal from a kind of file, or is refused by it."""
    back = through(problem, kind, folder)
    if "leader" in kind.loses and problem.game.n_leader_actions > 1:
        assert back is None, kind.name
        return
    assert back.game.fingerprint == problem.game.fingerprint, kind.name
    found = differences(problem, back)
    assert found.another == found.rounded == ()
    empty = [
        f"label {name!r}: is lost" for name, marks in problem.labels.items() if not marks.any()
    ]
    lost = [line for line in found.lost if line not in empty or "empty" not in kind.loses]
    said = {line.split(" ")[0].rstrip(":") for line in lost}
    known = {"names": "names", "label": "labels", "reward": "rewards", "choices": "choices"}
    assert {known.get(what, what) for what in said} <= {*kind.loses, "values"}
    assert ("values" in said) <= (not kind.name.endswith("pomdp"))


@pytest.mark.parametrize("name", [name for name in FILES if name != "example"])
def test_problems_of_two_agents_come_back_equal(tmp_path, name):
    text = FILES[name].read_text(errors="replace")
    undiscounted = re.search(r"^discount: 1\s*$", text, re.MULTILINE)
    model = read_model(FILES[name], discount="19/20" if undiscounted else None)
    check_every_kind(model.imported, tmp_path)
    write_model(model, tmp_path / "out.toml")
    again = read_model(tmp_path / "out.toml")
    assert again.game == model.game
    assert np.array_equal(again.need_truth(), model.need_truth())


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["coin2", pytest.param("wlan0", marks=pytest.mark.campaign)])
def test_programs_of_prism_come_back_equal(tmp_path, name):
    pytest.importorskip("stormpy", reason="needs the extra prism, whose licence is the GPL")
    path = PRISM / f"{name}.nm"
    if not path.is_file():
        pytest.skip("the programs of the PRISM benchmark suite are not here")
    check_every_kind(read_file(path, discount="9/10", constants=PROGRAMS[name]), tmp_path)
