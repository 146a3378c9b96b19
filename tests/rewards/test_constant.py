"""Constant answers are called so: by the record, its text, `certify`, and the command."""

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt import library
from iirl_opt.errors import NotCertified
from iirl_opt.learn import AnalyticCentre, ChebyshevCentre
from iirl_opt.rewards import analytic_centre, regret_bound, worst_regret
from iirl_opt.rewards.constant import is_constant

STAY, GO = [1, 0], [0, 1]
GAME = iirl.TwoAgentMDP([[[STAY, GO]], [[GO, GO]]], discount=0.5)
# Two answers that contradict each other leave constants alone; the first, half of all directions.
ONE = iirl.FeasibleRewards(GAME).observe([[1], [1]], [[0, 1], [1, 0]])
BOTH = ONE.observe([[1], [1]], [[1, 0], [1, 0]])
ROW = np.array([[-1.0, 1.0]]) / np.sqrt(2)


def found():
    """Records of both kinds: name, the record, whether its reward is constant."""
    yield "maximise", ONE.maximise([1.0, 0.0]), True
    yield "maximise", ONE.maximise([0.0, 1.0]), False
    yield "joint", ONE.maximise(np.ones(GAME.shape)), False
    yield "nearest", ONE.nearest([0.8, 0.2]), True
    yield "nearest, by a cone program", ONE.nearest([0.8, 0.2], norm=2), True
    yield "nearest", ONE.nearest([0.2, 0.8]), False
    yield "largest margin", ONE.max_margin(penalty=5.0), True
    yield "largest margin", ONE.max_margin(), False
    yield "ball", BOTH.chebyshev_centre(), True
    yield "ball", ONE.chebyshev_centre(), False
    yield "centre", analytic_centre(np.concatenate([ROW, -ROW])), True
    yield "centre", analytic_centre(ROW), False
    yield "regret", worst_regret(BOTH, [[1], [1]]), True
    yield "regret", regret_bound(BOTH, [[1], [1]]), True
    yield "vertex", ONE.random_vertex(0), False


@pytest.mark.parametrize(("what", "record", "constant"), list(found()))
def test_a_record_says_whether_its_reward_is_a_constant(what, record, constant):
    assert record.constant is constant
    if what != "regret":
        assert ("a constant reward" in repr(record)) is constant


@pytest.mark.parametrize(
    ("reward", "constant"),
    [
        ([0.0, 0.0], True),
        ([3.0], True),
        ([-2.0, -2.0], True),
        ([1e300, 1e300], True),
        ([1e-300, 2e-300], False),
        ([0.5, 0.5 + 1e-9], True),
        ([0.5, 0.5 + 1e-5], False),
        ([-1e-9, 1e-9], False),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 2.0**-40])
def test_constancy_is_judged_by_the_largest_entry_at_every_scale(reward, constant, scale):
    assert is_constant(scale * np.array(reward)) is constant


def test_what_chooses_a_reward_chooses_no_constant():
    for choice in (ChebyshevCentre(), AnalyticCentre()):
        assert choice.choose(BOTH, 0) is None
        assert choice.choose(ONE, 0) is not None


def test_a_constant_has_no_certificate_and_the_error_says_why():
    with pytest.raises(NotCertified, match="a constant RewardSolution: it is a"):
        iirl.certify(ONE.maximise([1.0, 0.0]))
    with pytest.raises(NotCertified, match="witness"):
        iirl.certify(ONE.maximise([0.0, 1.0]))


TEXT = """version = 1
title = "t"
source = "by hand"
[game]
discount = 0.5
states = ["left", "right"]
leader_actions = ["wait"]
follower_actions = ["stay", "switch"]
transitions = [
  { from = "left", follower = "stay", to = { left = 1 } },
  { from = "left", follower = "switch", to = { right = 1 } },
  { from = "right", follower = "*", to = { right = 1 } },
]
[[observation]]
leader = { "*" = "wait" }
follower = { left = "switch", right = "stay" }
[question]
family = "feasible_rewards"
"""


@pytest.mark.parametrize(
    ("asked", "constant"),
    [
        ('ask = "maximise"\nobjective = { left = 1 }', True),
        ('ask = "maximise"\nobjective = { right = 1 }', False),
        ('ask = "nearest"\ntarget = { left = 1 }', True),
        ('ask = "centre"', False),
        ('ask = "max_margin"\npenalty = 5.0', True),
        ('ask = "dimension"', False),
    ],
)
def test_a_model_file_is_answered_by_name(asked, constant, tmp_path):
    file = tmp_path / "t.toml"
    file.write_text(TEXT + asked, "utf-8")
    problem = library.read_model(file)
    answer = library.answer(problem)
    assert answer.quantities["constant"] == constant
    assert answer.evidence["constant"] is constant
    said = "\n".join(problem.question.report(answer))
    assert ("a constant reward, which explains everything and tells nothing" in said) is constant


def test_a_model_file_without_a_reward_names_the_choices_that_contradict_its_rows(tmp_path):
    file = tmp_path / "t.toml"
    row = '[[constraint]]\nname = "mine"\non = "reward"\n'
    row += "terms = { left = 1, right = -1 }\nat_least = 0.5\n"
    file.write_text(TEXT.replace("[question]", row + "[question]") + 'ask = "maximise"', "utf-8")
    problem = library.read_model(file)
    answer = library.answer(problem)
    first = answer.evidence["rows"][0]
    assert (first["episode"], first["state"], first["action"]) == (1, "left", "stay")
    assert "episode 1, left: stay" in "\n".join(problem.question.report(answer))
