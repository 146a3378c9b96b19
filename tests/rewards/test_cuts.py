"""Cuts: the same optimum and the same proof as the lifted program, from explicit rows alone."""

import cvxpy as cp
import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st
from kkt import assert_kkt

from iirl_opt.errors import (
    Infeasible,
    InvalidArgument,
    LimitReached,
    OnlyConstantRewards,
    SolverFailed,
    Unbounded,
)
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mazes import maze_maker
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_deterministic_policy, random_policy
from iirl_opt.learn.algorithm_1 import InteractiveIRL
from iirl_opt.learn.episodes import interact
from iirl_opt.rewards import cut_search, sets
from iirl_opt.rewards.cuts import prefers_cuts
from iirl_opt.rewards.domains import RewardBox, RewardSimplex
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.solver import Clarabel, HiGHS, LiveProgram, engine

seeds = st.integers(0, 2**32 - 1)


def seen(seed, *, states=(1, 9), episodes=(1, 5), discounts=(0, 0.5, 0.9, 0.99), mazes=False):
    """A random game with responses to its own reward: policies, mixed ones, masks of ties.

    With `mazes` some are those: doors that are closed again and again leave rows that are zero,
    repeat others, or agree with those of other episodes but for rounding.
    """
    rng = np.random.default_rng(seed)
    n, n_a, n_b = int(rng.integers(*states)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    game, truth = random_game(n, n_a, n_b, rng=seed, discount=float(rng.choice(discounts)))
    closed = mazes and bool(rng.integers(2))
    if closed:
        game, truth = MAZE
        n, n_a, n_b = game.shape
    feasible = FeasibleRewards(game)
    for _ in range(int(rng.integers(*episodes))):
        pi1 = (random_deterministic_policy if closed else random_policy)(n, n_a, rng)
        response = OptimalFollower().respond(game, truth, pi1)
        kind = rng.integers(3)
        if kind == 1:
            response = np.asarray(response) > 0
        elif kind == 2 and n_b > 1:
            # Ties by hand: some action beside the best is said to be as good.
            response = np.asarray(response) > 0
            response[rng.integers(n), rng.integers(n_b)] = True
        feasible = feasible.observe(pi1, response)
    return feasible, rng


# Nine cells and two prizes.
MAZE = maze_maker(3, 4, {2: 1, 6: 2})


class Wedge:
    """A domain with a variable of its own, a bound as an attribute, and a row with a price."""

    def constraints(self, r):
        top = cp.Variable(1, name="top", bounds=[0, 2])
        return [
            (r <= top).set_label("top"),
            (r >= -1).set_label("bottom"),
            (cp.sum(r) == 0.5).set_label("sum"),
        ]


class Bent:
    """A domain that is no linear program."""

    def constraints(self, r):
        return [(cp.norm2(r) <= 1).set_label("ball")]


class Everything:
    """No domain at all."""

    def constraints(self, r):
        return []


class Contradiction:
    """A domain without a reward."""

    def constraints(self, r):
        return [(r >= 1).set_label("one each"), (cp.sum(r) <= 0.5).set_label("half in all")]


DOMAINS = [RewardSimplex(), RewardBox(), RewardBox(1e4), RewardBox(1e-4), Wedge()]


def both(feasible, objective, domain=None):
    return (feasible.maximise(objective, domain=domain, method=m) for m in ("cuts", "lifted"))


@given(seed=seeds, which=st.integers(0, len(DOMAINS) - 1))
def test_cuts_find_the_lifted_optimum_and_a_feasible_reward(seed, which):
    feasible, rng = seen(seed, episodes=(1, 7), mazes=True)
    objective = rng.uniform(-1, 1, feasible.game.n_states)
    try:
        cuts, lifted = both(feasible, objective, DOMAINS[which])
    except Infeasible:
        assert isinstance(DOMAINS[which], Wedge)  # sums to 1/2, and at most 2 an entry
        return
    size = max(1.0, np.abs(lifted.reward).max())
    assert cuts.value == pytest.approx(lifted.value, abs=1e-8 * size)
    assert cuts.value == pytest.approx(objective @ cuts.reward, abs=1e-12 * size)
    rows = feasible.distinct_rows()
    assert (rows.rows @ cuts.reward).min(initial=0) >= -2e-9 * size
    assert np.abs(rows.ties @ cuts.reward).max(initial=0) <= 2e-9 * size
    assert feasible.contains(cuts.reward, tolerance=1e-7 * size)
    assert cuts.solved.residuals.largest() < 1e-6 * size


@given(seed=seeds, box=st.booleans())
def test_the_record_proves_the_optimum_of_the_lifted_program(seed, box):
    feasible, rng = seen(seed, episodes=(1, 7), mazes=True)
    objective = rng.uniform(-1, 1, feasible.game.n_states)
    domain = RewardBox() if box else RewardSimplex()
    found = feasible.maximise(objective, domain=domain, method="cuts")
    assert_kkt(feasible.problem(objective, domain=domain), found.solved)
    assert found.solved.solver == "HIGHS"
    assert found.solved.options == HiGHS().arguments()


def test_in_closed_form():
    stay, go = [1, 0], [0, 1]
    game = TwoAgentMDP([[[stay, go]], [[go, go]]], 0.5)
    feasible = FeasibleRewards(game).observe([[1.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]])
    found = feasible.maximise([1.0, 0.0], method="cuts")
    assert found.reward == pytest.approx([0.5, 0.5])
    # V(yard) = ½/(1 − ½), and the row V(yard) − V(hall) ≥ 0 is what holds r(hall) down.
    assert found.solved.primal["V[1]"] == pytest.approx([1, 1])
    assert found.solved.duals["simplex sum"] == pytest.approx(0.5)
    assert found.solved.duals["optimal[1]"] > 0


@share(0.6)
@given(seed=seeds)
def test_the_same_question_has_the_same_answer_whatever_was_asked_before(seed):
    feasible, rng = seen(seed, states=(2, 9))
    objective, other = rng.uniform(-1, 1, (2, feasible.game.n_states))
    first = feasible.maximise(objective, method="cuts").reward
    feasible.maximise(other, method="cuts")
    feasible.maximise(objective, method="lifted")
    again = feasible.maximise(objective, method="cuts").reward
    assert np.array_equal(first, again)
    fresh = FeasibleRewards(feasible.game)
    for observation in feasible.observations:
        fresh = fresh.add(observation)
    assert np.array_equal(first, fresh.maximise(objective, method="cuts").reward)


def test_thousands_of_rows_are_met_though_few_are_added_and_many_dropped():
    game, truth = random_game(60, 3, 4, rng=5)
    rng = np.random.default_rng(0)
    feasible = FeasibleRewards(game)
    for _ in range(25):
        pi1 = random_deterministic_policy(60, 3, rng)
        feasible = feasible.observe(pi1, OptimalFollower().respond(game, truth, pi1))
    assert feasible.count_rows() > 4000
    assert prefers_cuts([episode.block for episode in feasible.episodes])
    objective = rng.uniform(-1, 1, 60)
    found = feasible.maximise(objective)
    assert feasible.contains(found.reward, tolerance=1e-8)
    assert_kkt(feasible.problem(objective), found.solved)
    member = truth / truth.sum()
    assert found.value >= objective @ member


def test_widths_are_those_of_the_lifted_program():
    for seed in range(4):
        feasible, rng = seen(seed, states=(2, 7))
        directions = rng.normal(size=(3, feasible.game.n_states))
        for domain in (None, RewardBox(3.0)):
            cuts, lifted = (
                feasible.widths(directions, domain=domain, method=m) for m in ("cuts", "lifted")
            )
            assert cuts == pytest.approx(lifted, abs=1e-7)
    with pytest.raises(InvalidArgument, match="directions has shape"):
        feasible.widths([1.0], method="cuts")


def test_an_unbounded_or_empty_domain_is_told_as_the_lifted_program_tells_it():
    feasible, _ = seen(3, states=(3, 4), discounts=(0.9,))
    with pytest.raises(Unbounded):
        feasible.maximise(np.ones(3), domain=Everything(), method="cuts")
    with pytest.raises(Infeasible) as caught:
        feasible.maximise(np.ones(3), domain=Contradiction(), method="cuts")
    assert caught.value.solved.farkas["half in all"] > 0


def test_a_cone_without_domain_may_bound_the_objective():
    # γ V ≥ γ V elsewhere: the set says r(0) ≤ r(1), so their difference has the maximum 0.
    stay, go = [1, 0], [0, 1]
    game = TwoAgentMDP([[[stay, go]], [[go, go]]], 0.5)
    feasible = FeasibleRewards(game).observe([[1.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]])
    found = feasible.maximise([1.0, -1.0], domain=Everything(), method="cuts")
    assert found.value == pytest.approx(0, abs=1e-9)


def test_what_cuts_cannot_do_the_lifted_program_does():
    feasible, rng = seen(11, states=(3, 4), discounts=(0.9,))
    joint = rng.normal(size=feasible.game.shape)
    assert feasible.maximise(joint, method="cuts").reward.shape == feasible.game.shape
    c = rng.normal(size=3)
    expected = feasible.maximise(c, method="lifted").value
    for solver in (HiGHS("ipm"), Clarabel()):
        assert feasible.maximise(c, solver=solver, method="cuts").value == pytest.approx(expected)
    ball = feasible.maximise(c, domain=Bent(), solver=Clarabel(), method="cuts")
    assert np.linalg.norm(ball.reward) == pytest.approx(1, abs=1e-6)
    with pytest.raises(InvalidArgument, match="method is 'dense'"):
        feasible.maximise(c, method="dense")
    slow = HiGHS(time_limit=0, presolve=False)
    with pytest.raises(LimitReached):
        feasible.maximise(c, solver=slow, method="cuts")


@pytest.mark.parametrize("ask", ["maximise", "widths"])
def test_a_cut_that_solve_would_accept_is_an_answer_where_the_lifted_program_fails(
    ask, monkeypatch
):
    feasible, rng = seen(11, states=(3, 4), discounts=(0.9,))
    c = rng.normal(size=(3,) if ask == "maximise" else (2, 3))

    def answer():
        found = getattr(feasible, ask)(c, method="cuts")
        return found.reward if ask == "maximise" else found

    expected = answer()
    asked = []

    def fail(program, solver=None):
        asked.append(program)
        raise SolverFailed(None)

    monkeypatch.setattr(sets, "solve", fail)
    assert np.array_equal(answer(), expected)
    assert not asked
    # From here on no answer by cuts is sure; in the end none would be accepted.
    monkeypatch.setattr(cut_search, "SURE", -1.0)
    assert np.array_equal(answer(), expected)
    assert len(asked) == 1
    monkeypatch.setattr(cut_search, "ACCEPTED", -1.0)
    with pytest.raises(SolverFailed):
        answer()


def test_a_set_of_constants_is_still_reported_by_name():
    swap = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]], 0.5)
    feasible = FeasibleRewards(swap).observe(np.ones((2, 1)), np.ones((2, 2), dtype=bool))
    assert feasible.maximise([1.0, 0.0], method="cuts").reward == pytest.approx([0.5, 0.5])
    with pytest.raises(OnlyConstantRewards):
        feasible.random_vertex(np.random.default_rng(0))


def test_the_rule_takes_cuts_where_chains_mix_or_after_some_episodes():
    for (game, truth), expected in (
        (random_game(120, 3, 3, rng=0), [True] * 4),
        (random_game(20, 2, 2, rng=0), [True] * 4),
        (maze_maker(5, 12, {6: 1, 18: 2}), [False, False, True, True]),
    ):
        rng = np.random.default_rng(0)
        feasible, chosen = FeasibleRewards(game), []
        for _ in range(4):
            pi1 = random_deterministic_policy(game.n_states, game.n_leader_actions, rng)
            response = OptimalFollower().respond(game, truth, pi1)
            feasible = feasible.observe(pi1, response)
            chosen.append(prefers_cuts([episode.block for episode in feasible.episodes]))
        assert chosen == expected
    assert not prefers_cuts([])


@pytest.mark.parametrize("seed", range(3))
def test_no_round_is_solved_from_scratch(seed, monkeypatch):
    # Explicit rows of mazes hold entries from 1 down to 1e-12, which `solve` would not leave alone.
    feasible, rng = seen(seed, episodes=(6, 7), mazes=True)
    objective = rng.uniform(-1, 1, feasible.game.n_states)
    expected = feasible.maximise(objective, method="lifted").value
    monkeypatch.setattr(engine, "settle", None)
    monkeypatch.setattr(FeasibleRewards, "_program", None)
    found = feasible.maximise(objective, method="cuts")
    assert found.value == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("part", ["x", "y"])
def test_a_last_round_that_is_off_is_none_and_the_lifted_program_answers(part, monkeypatch):
    feasible, rng = seen(5, states=(6, 7), discounts=(0.9,))
    objective = rng.uniform(-1, 1, feasible.game.n_states)
    advance = LiveProgram.advance

    def off(program):
        after = advance(program)
        values = getattr(after, part)
        return after._replace(**{part: values + 1e-5 * np.abs(values).max()})

    expected = feasible.maximise(objective, method="lifted")
    monkeypatch.setattr(LiveProgram, "advance", off)
    found = feasible.maximise(objective, method="cuts")
    assert np.array_equal(found.reward, expected.reward)
    assert found.solved.said == "kOptimal"
    assert_kkt(feasible.problem(objective), found.solved)


def test_thirty_episodes_of_algorithm_1_stay_feasible_for_the_truth():
    game, truth = random_game(16, 3, 3, rng=0)
    *_, last = interact(InteractiveIRL(game, seed=1), truth, 30)
    known = last.learner.known
    assert known.contains(truth)
    assert known.contains(last.learner.estimate(), tolerance=1e-8)
    assert last.learner.estimate().sum() == pytest.approx(1)


def test_a_set_without_an_episode_is_the_whole_domain():
    game, _ = random_game(4, 2, 2, rng=0)
    for price in (None, 0.5):
        found = FeasibleRewards(game).maximise(np.eye(4)[0], method="cuts", price=price)
        assert found.reward == pytest.approx(np.eye(4)[0])
