"""Claims that fail as model files: each solves to what shows the failure, or says why not."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

import iirl_opt as iirl
from iirl_opt import library
from iirl_opt.claims import PAPER, Claim
from iirl_opt.claims.problems import problem_of, stated_problem
from iirl_opt.claims.search import Result
from iirl_opt.cli.app import run
from iirl_opt.follower import ProportionalFollower

FAILING = {claim.name: claim for claim in PAPER if claim.counterexample is not None}

# Those of no game, and those that no question of a file shows.
WITHOUT_GAME = {"affine-class", "half-space-lemma", "half-space-norm", "algorithm-4-acceptance"}
NEAREST = {
    "constraint-count",
    "theorem-3",
    "theorem-3-limit",
    "theorem-3-only-strict",
    "algorithm-2-converges",
    "likelihood-exponential",
    "beta-scaling",
    "finite-horizon-soft",
    "suboptimal-actions-convex",
    "preference-shift",
    "question-ties",
    "soft-boltzmann",
}

GAME = iirl.TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]], "1/2")
PI1, PI2 = np.ones((2, 1)), np.eye(2)[[0, 1]]


def result(claim: Claim) -> Result:
    instance = claim.counterexample()
    return Result(claim, 0, 0, 0, 0, 0, "as stated", "", "as seen", instance)


@pytest.mark.parametrize("name", [name for name in FAILING if FAILING[name].model is None])
def test_a_claim_that_fails_is_a_file_that_shows_it(name: str, tmp_path: Path) -> None:
    problem, why = stated_problem(result(FAILING[name]))
    assert (problem is None) == (name in WITHOUT_GAME)
    assert bool(why) == (name in WITHOUT_GAME | NEAREST)
    if problem is None:
        return
    read = library.read_model(library.write_model(problem, tmp_path / "claim.toml"))
    assert read.title.startswith("Not so")
    if name == "likelihood-exponential":  # whose sampler would be compiled
        assert library.learn(read).total
        return
    found = library.answer(read).quantities
    assert all(finding.met for finding in library.check(read.expect, found, read.path))
    assert bool(read.expect) == (not why)


def test_a_claim_with_a_shipped_model_is_that_model() -> None:
    for claim in FAILING.values():
        if claim.model is not None:
            problem, why = stated_problem(result(claim))
            assert (problem.path.stem, why) == (claim.model, "")
            assert problem.expect


# Claims of one's own


@dataclass
class Seen:
    pi1: object
    pi2: object


def test_whatever_holds_a_game_is_a_problem() -> None:
    truth = np.array([0.0, 1.0])
    seen = iirl.observe(GAME, PI1, PI2)
    follower = iirl.BoltzmannFollower(2.0)
    for instance, ask in (
        (GAME, "dimension"),
        ((GAME, truth), "optimal"),
        ((GAME, truth, PI1), "evaluate"),
        ([GAME, {"r": truth, "seen": [seen]}], "contains"),
        ((GAME, truth, Seen(PI1, PI2)), "contains"),
        ((GAME, truth, PI1, PI2), "contains"),
        ((GAME.follower_mdp(PI1), truth), "optimal"),
        ((follower, (truth, GAME)), "optimal"),
        ((GAME, truth, ProportionalFollower(abs)), "optimal"),  # which no file can state
    ):
        problem = problem_of(instance)
        assert problem.question.ask == ask
        assert (problem.follower == follower) == (ask == "optimal" and instance[0] is follower)
    steps = iirl.observation.record_trajectory(GAME, PI1, [(0, 0, 0)])
    for instance in ((GAME, follower, steps), (GAME, iirl.OptimalFollower(), [steps])):
        problem = problem_of(instance)
        assert problem.question.family() == "bayesian"
        assert len(problem.trajectories) == 1
        assert library.learn(problem).total
    for nothing in (3, "game", None, (truth, PI1), games_of_nobody()):
        assert problem_of(nothing) is None


def games_of_nobody() -> object:
    return st.just(GAME)


MINE = """
from hypothesis import strategies as st
import numpy as np
import iirl_opt as iirl
from iirl_opt.claims import Claim
from iirl_opt.library import make_model
from iirl_opt.testing import games, rewards

pairs = games(min_states=2).flatmap(lambda g: st.tuples(st.just(g), rewards(g)))
few = lambda at: at[0].n_states < 3
claims = [
    Claim("my/claim", "my note", "States are few.", pairs, few),
    Claim("my claim", "my note", "They are.", pairs, few,
          problem=lambda at: make_model(*at, expect={"states": at[0].n_states})),
    Claim("numbers", "my note", "Numbers are small.", st.integers(), lambda n: n < 5),
    Claim("wrong", "my note", "They are.", pairs, few, problem=lambda at: make_model(3)),
]
"""


def test_claims_of_your_own_are_written(tmp_path: Path, capsys) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    out = tmp_path / "out"
    assert run(["claims", str(tmp_path / "mine.py"), "--examples", "4", "--out", str(out)]) == 1
    printed = capsys.readouterr().out
    assert f"wrote {out / 'my-claim.toml'} (the nearest question: " in printed
    assert f"wrote {out / 'my-claim-.toml'}\n" in printed
    assert "no file for numbers: its instance holds no game" in printed
    assert "no file for wrong: its instance cannot be stated (game is 3" in printed
    assert {path.name for path in out.iterdir()} == {
        "claims.json",
        "my-claim.toml",
        "my-claim-.toml",
    }
    assert library.read_model(out / "my-claim.toml").game.n_states == 3
    assert (out / "my-claim.toml").read_text().startswith("# my/claim, holds\n# States are few.\n")
    assert run(["check", str(out)]) == 0
