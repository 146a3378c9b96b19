"""The page of cvxpy models names every file that writes one, and the labels of its constraints."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.commitment import AdmissibleCommitment, DeterministicCommitment, MixedCommitment

PACKAGE = Path(iirl.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "cvxpy_models.rst"

# Rooms of programs; `solver` and `testing` take those of others.
ROOMS = ("occupancy", "rewards", "commitment", "verification")


def rows_of_the_table() -> dict[str, set[str]]:
    """The constraints by name of each file in the table."""
    table = PAGE.read_text("utf-8").partition("All of them\n---")[2]
    rows: dict[str, set[str]] = {}
    for row in re.split(r"\n   \* - ", table)[2:]:
        _, _, constraints, _, file = re.split(r"\n     -", row)
        rows[file.strip().strip("`")] = set(re.findall(r"``(.*?)``", constraints))
    return rows


def text_of(node: ast.expr) -> str | None:
    """A label as it stands on the page: ``values[t]`` for f"values[{t}]"; None if not written."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (getattr(part, "value", None) for part in node.values)
        return "".join(p if isinstance(p, str) else ast.unparse(p) for p in parts)
    return None


def labels_in(file: Path) -> set[str]:
    """The labels that a file gives to constraints, or to rows that become constraints."""
    labels = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            name = (
                node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
            )
            if name in ("set_label", "LabelledRows") and (label := text_of(node.args[0])):
                labels.add(label)
    return labels


def files_of_programs() -> dict[str, Path]:
    found = (path for room in ROOMS for path in (PACKAGE / room).glob("*.py"))
    return {
        path.relative_to(PACKAGE).as_posix(): path
        for path in found
        if re.search(r"^\s*(import cvxpy|from cvxpy)", path.read_text("utf-8"), re.MULTILINE)
    }


def test_the_table_lists_the_files_that_write_programs() -> None:
    assert rows_of_the_table().keys() == files_of_programs().keys()


def test_the_table_lists_the_labels_of_each_file() -> None:
    written = {file: labels_in(path) for file, path in files_of_programs().items()}
    assert rows_of_the_table() == written
    assert sum(map(len, written.values())) > 50


GAME, REWARD = iirl.random_game(3, 2, 2, rng=1)
PI1 = iirl.uniform_policy(3, 2)


def problems() -> Iterator[tuple[str, cp.Problem]]:
    """The problem of every model that builds one, on a small game."""
    response = iirl.OptimalFollower().respond(GAME, REWARD, PI1)
    steps = iirl.sample_trajectory(GAME, PI1, response, rng=0)
    seen = iirl.FeasibleRewards(GAME).observe(PI1, response).observe(PI1, steps)
    yield "FeasibleRewards", seen.problem(REWARD)
    yield "FeasibleRewards at a price", seen.problem(REWARD, price=1.0)
    yield "FeasibleRewards, joint", seen.problem(np.ones(GAME.shape), domain=iirl.RewardBox())
    measure = iirl.OccupancyMeasure(GAME)
    cap = iirl.budget(measure.expected(REWARD), 1.0, name="cap")
    yield "OccupancyMeasure", measure.problem(REWARD, subject_to=[cap, *measure.hold_leader(PI1)])
    yield "StackelbergCommitment", iirl.StackelbergCommitment(GAME, REWARD).problem()
    asked = iirl.CommitmentProblem(GAME, REWARD, iirl.EpsilonGreedyFollower(0.2))
    yield "DeterministicCommitment", DeterministicCommitment(asked).problem()
    half = {"*": ([[0.0, 1.0]], [0.5])}
    yield "AdmissibleCommitment", AdmissibleCommitment(GAME, REWARD, half).problem()
    one = iirl.TwoAgentMDP(np.ones((1, 2, 2, 1), dtype=int), 0)
    asked = iirl.CommitmentProblem(one, np.eye(2)[None], iirl.OptimalFollower())
    yield "MixedCommitment", MixedCommitment(asked).problem()
    x = cp.Variable(3, name="x")
    rows = iirl.AffineClass(REWARD).constraints(x)
    yield "AffineClass", cp.Problem(cp.Minimize(cp.sum(x)), rows)


@pytest.mark.parametrize(("model", "problem"), list(problems()))
def test_every_variable_and_every_constraint_has_a_name(model: str, problem: cp.Problem) -> None:
    assert problem.constraints
    assert all(constraint.label for constraint in problem.constraints), model
    unnamed = [v.name() for v in problem.variables() if re.fullmatch(r"var\d+", v.name())]
    assert not unnamed, model
