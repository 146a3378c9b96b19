"""Multipliers and rays by (episode, state, action): in the unit of the gaps, whoever asks."""

from typing import NamedTuple

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from instances import games, policies, rewards

from iirl_opt.errors import Infeasible, InvalidArgument
from iirl_opt.follower import OptimalFollower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import sample_trajectory
from iirl_opt.rewards.domains import RewardSimplex
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.solver import solve

STAY, GO = [1, 0], [0, 1]


class Plain:
    """The simplex, of which no least reward is known: no ceilings."""

    def constraints(self, r):
        return RewardSimplex().constraints(r)


@st.composite
def asked_sets(draw, *, joint):
    """A set of one to three episodes, whole responses, and an objective."""
    game = draw(games())
    n_states, n_a, n_b = game.shape
    known = FeasibleRewards(game)
    for _ in range(draw(st.integers(1, 3))):
        pi1, pi2 = draw(policies(n_states, n_a)), draw(policies(n_states, n_b))
        known = known.observe(pi1.astype(float), pi2.astype(float))
    return known, draw(rewards(game.shape if joint else n_states)).astype(float)


def bound_by(known, rows, objective):
    """The most that the objective can be on the simplex with what the multipliers pay for gaps.

    It is the optimum where the multipliers are right; in another unit or sign it is not. A positive
    one of a tied action is what the objective gains where its gap is positive.
    """
    corners = np.eye(objective.size).reshape(-1, *objective.shape)
    weights = np.zeros((len(known.episodes), *known.episodes[0].played.shape))
    for (t, s, b), m in rows.items():
        weights[t - 1, s, b] = -m if known.episodes[t - 1].played[s, b] else m
    return max((objective * r).sum() + (weights * known.gaps(r)).sum() for r in corners)


@pytest.mark.parametrize("joint", [False, True])
@settings(max_examples=25)
@given(data=st.data())
def test_multipliers_prove_the_optimum_by_the_gaps_alone(joint, data):
    known, objective = data.draw(asked_sets(joint=joint))
    found = known.maximise(objective)
    rows = known.by_row(found, joint=joint)
    assert bound_by(known, rows, objective) == pytest.approx(found.value, abs=1e-6)
    free = {key: m for key, m in rows.items() if not known.episodes[key[0] - 1].played[key[1:]]}
    assert min(free.values(), default=0.0) >= -1e-9
    sizes = [abs(m) for m in rows.values()]
    assert sizes == sorted(sizes, reverse=True)


def two_states():
    """What explains "go, then stay": the second state is worth no less than the first."""
    game = TwoAgentMDP([[[STAY, GO]], [[GO, GO]]], discount=0.5)
    return FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])


def test_a_multiplier_is_the_derivative_by_the_right_side_of_its_gap():
    known = two_states()
    rows = known.by_row(known.maximise([1.0, 0.0]))
    # gap = γ (V(1) − V(0)) = ½ (r(1) − r(0)): one unit below zero lets r(0) rise by one.
    assert rows[1, 0, 0] == pytest.approx(1.0)
    r = cp.Variable(2)
    equalities, [(_, gap)] = known.lifted(r)
    scale = 0.5  # the row is scaled to a largest entry of one
    for allowed in (-0.1, 0.1):
        limits = [*equalities, scale * gap >= -allowed, *RewardSimplex().constraints(r)]
        solved = solve(cp.Problem(cp.Maximize(r[0]), limits))
        assert solved.value == pytest.approx(0.5 + rows[1, 0, 0] * allowed)


def test_a_row_is_asked_for_by_the_labels_of_the_game_and_knows_its_parts():
    game = TwoAgentMDP(
        [[[STAY, GO]], [[GO, GO]]], 0.5, states=["hall", "goal"], follower_actions=["stay", "go"]
    )
    known = FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    rows = known.by_row(known.maximise([1.0, 0.0]))
    row = next(iter(rows))
    assert (row.episode, row.state, row.action) == row == (1, "hall", "stay")
    assert rows[1, "hall", "stay"] == rows[row] > 0
    assert rows[1, "goal", "go"] == 0  # both actions lead to the goal: its row is left out


def test_actions_that_lead_alike_share_what_their_row_bears():
    game = TwoAgentMDP([[[STAY, GO, STAY]], [[GO, GO, GO]]], discount=0.5)
    known = FeasibleRewards(game).observe([[1], [1]], [[0, 1, 0], [1, 0, 0]])
    rows = known.by_row(known.maximise([1.0, 0.0]))
    assert rows[1, 0, 0] == rows[1, 0, 2] == pytest.approx(0.5)


def test_an_episode_that_repeats_an_earlier_one_has_no_rows():
    once = two_states()
    again = once.observe([[1], [1]], [[0, 1], [1, 0]])
    rows = again.by_row(again.maximise([1.0, 0.0]))
    assert rows == pytest.approx(once.by_row(once.maximise([1.0, 0.0])))
    assert {row.episode for row in rows} == {1}


@pytest.mark.parametrize("price", [0.25, 0.75])
def test_where_rows_have_a_price_no_multiplier_is_larger(price):
    known = two_states()
    rows = known.by_row(known.maximise([1.0, 0.0], price=price))
    assert rows[1, 0, 0] == pytest.approx(price)


@pytest.mark.parametrize("method", ["lifted", "cuts"])
def test_both_ways_to_solve_are_asked_alike(method):
    known = two_states()
    assert known.by_row(known.maximise([1.0, 0.0], method=method))[1, 0, 0] == pytest.approx(1.0)


def test_a_largest_margin_names_the_choices_that_it_is_taken_over():
    known = two_states()
    rows = known.by_row(known.max_margin())
    assert rows[1, 0, 0] == pytest.approx(1.0)


def test_a_ray_says_which_choices_contradict_a_domain():
    class Contrary(NamedTuple):  # an empty tuple: a domain, though it is false
        def constraints(self, r):
            return [*RewardSimplex().constraints(r), (r[0] >= r[1] + 0.5).set_label("mine")]

    known = two_states()
    with pytest.raises(Infeasible) as error:
        known.maximise([1.0, 0.0], domain=Contrary())
    rows = known.by_row(error.value)
    assert next(iter(rows)) == (1, 0, 0)
    assert rows == known.by_row(error.value.solved) == known.by_row(error.value.solved.farkas)
    # ½ (r(1) − r(0)) ≥ 0 and r(0) − r(1) ≥ ½ add up to 0 ≥ ½.
    assert rows[1, 0, 0] == pytest.approx(2 * float(error.value.solved.farkas["mine"]))


@settings(max_examples=15)
@given(game=games(states=(2, 3)), data=st.data())
def test_trajectories_prove_the_optimum_by_their_gaps(game, data):
    truth, objective = (data.draw(rewards(game.n_states)).astype(float) for _ in range(2))
    pi1 = data.draw(policies(game.n_states, game.n_leader_actions)).astype(float)
    answer = OptimalFollower().respond(game, truth, pi1)
    steps = sample_trajectory(game, pi1, answer, rng=0, min_length=3)
    known = FeasibleRewards(game).observe(pi1, steps)
    found = known.maximise(objective, domain=Plain())
    rows = known.by_row(found)
    assert bound_by(known, rows, objective) <= found.value + 1e-6


def test_a_ceiling_is_of_the_state_alone():
    game = TwoAgentMDP([[[STAY, GO]], [[STAY, GO]]], discount=0.5, start=[1, 0])
    steps = sample_trajectory(game, [[1], [1]], [[1, 0], [1, 0]], rng=0, min_length=2)
    known = FeasibleRewards(game).observe([[1], [1]], steps)
    rows = known.by_row(known.maximise([0.0, 1.0]))
    assert {row for row in rows if row.action is None} == {(1, 1, None)}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (3, "answer is int"),
        ({}, "holds nothing"),
        ({"mine": [1.0]}, "holds mine"),
        ({"optimal[1]": [1.0, 2.0]}, "has 2 rows; allowed the 1"),
        ({"optimal[1]": ["x"]}, "real numbers"),
        ({"optimal[1]": [np.nan]}, "nan"),
        ({"optimal[1]": [1.0], "optimal[1] (2)": [1.0]}, "several copies"),
    ],
)
def test_answers_of_another_model_are_refused_by_name(answer, said):
    with pytest.raises(InvalidArgument, match=said):
        two_states().by_row(answer)


def test_an_answer_without_multipliers_is_refused_with_its_status():
    x = cp.Variable(1, boolean=True)
    whole = solve(cp.Problem(cp.Maximize(cp.sum(x)), [x <= 0.5]))
    with pytest.raises(InvalidArgument, match="its status is OPTIMAL"):
        two_states().by_row(whole)
