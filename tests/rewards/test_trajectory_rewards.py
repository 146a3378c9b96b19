"""Trajectories of an optimal follower: what is exact, what is outer, and how learners use it."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from depth import share
from hypothesis import assume, given, strategies as st
from instances import best_values, follower_problem, games, policies, rewards
from kkt import assert_kkt

from iirl_opt.errors import Infeasible, InvalidArgument, InvalidObservation, InvalidPolicy
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import random_deterministic_policy
from iirl_opt.learn.algorithm_1 import InteractiveIRL
from iirl_opt.learn.choices import (
    AnalyticCentre,
    ChebyshevCentre,
    HitAndRunMean,
    MeanOfVertices,
    RandomVertex,
)
from iirl_opt.learn.episode_regret import regret
from iirl_opt.learn.episodes import interact
from iirl_opt.observation import Trajectory, record_trajectory, sample_trajectory
from iirl_opt.rewards.domains import RewardBox
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.rewards.trajectories import visit_ceilings

COMMITMENT = [[1.0]] * 5


class Only:
    """A domain of one reward."""

    def __init__(self, reward):
        self.reward = reward

    def constraints(self, r):
        return [(r == self.reward.reshape(r.shape)).set_label("only")]


def in_cone(known, reward):
    try:
        domain = Only(np.asarray(reward, dtype=float))
        known.maximise(np.zeros(np.shape(reward)), domain=domain)
    except Infeasible:
        return False
    return True


@st.composite
def watched(draw, *, joint=None, episodes=(1, 3)):
    """A game, a truth, and trajectories of an optimal follower, some under the same commitment."""
    game = draw(games(states=(1, 4)))
    joint = draw(st.booleans()) if joint is None else joint
    truth = draw(rewards(game.shape if joint else game.n_states)).astype(float)
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    known, pi1 = FeasibleRewards(game), None
    for _ in range(draw(st.integers(*episodes))):
        if pi1 is None or draw(st.booleans()):
            pi1 = draw(policies(*game.shape[:2])).astype(float)
        pi2 = OptimalFollower("random").respond(game, truth, pi1, rng)
        length = draw(st.integers(1, 5))
        steps = sample_trajectory(game, pi1, pi2, rng, end_probability=1, min_length=length)
        known = known.observe(pi1, steps)
    return game, truth, known


def fork():
    """Start leads to `crossing` or to `goal`, the crossing to `left` or `right`; these stay."""
    states = ["start", "crossing", "goal", "left", "right"]
    leads = [[1, 2], [3, 4], [2, 2], [3, 3], [4, 4]]
    kernel = np.eye(5, dtype=int)[leads][:, None]
    return TwoAgentMDP(kernel, "9/10", [1, 0, 0, 0, 0], states=states)


# What is exact.


@share(0.6)
@given(run=watched())
def test_the_truth_explains_what_was_seen_and_lies_in_the_cone(run):
    _, truth, known = run
    assert known.contains(truth)
    assert in_cone(known, truth)


@given(run=watched(), data=st.data())
def test_a_reward_is_contained_iff_every_action_seen_is_optimal_by_exact_arithmetic(run, data):
    game, truth, known = run
    reward = data.draw(rewards(truth.shape))
    expected, gamma = True, game.rational.discount
    for steps in known.seen:
        pi1 = np.vectorize(lambda x: Fraction(x).limit_denominator(9), otypes="O")(steps.pi1)
        kernel, r = follower_problem(game, pi1, reward)
        best = best_values(kernel, r, gamma)
        q = r + gamma * kernel @ best
        s, b = steps.states, steps.follower_actions
        expected &= bool((q[s, b] == best[s]).all())
    assert known.contains(reward.astype(float)) == expected
    if expected:
        assert in_cone(known, reward)


@share(0.6)
@given(run=watched(joint=False))
def test_where_nothing_leads_out_of_the_visited_states_what_is_found_explains_everything(run):
    game, _, known = run
    assume(known.exact)
    objective = np.random.default_rng(0).uniform(-1, 1, game.n_states)
    for domain in (None, RewardBox()):
        assert known.contains(known.maximise(objective, domain=domain).reward, tolerance=1e-6)


def test_a_trajectory_through_all_states_says_what_the_response_says():
    game, truth = random_game(4, 2, 3, rng=0)
    rng = np.random.default_rng(0)
    whole, seen = FeasibleRewards(game), FeasibleRewards(game)
    for _ in range(3):
        pi1 = random_deterministic_policy(4, 2, rng)
        pi2 = OptimalFollower().respond(game, truth, pi1)
        steps = sample_trajectory(game, pi1, pi2, rng, end_probability=1, min_length=200)
        assert set(steps.states) == set(range(4))
        whole, seen = whole.observe(pi1, pi2), seen.observe(pi1, steps)
    assert seen.exact
    assert seen.widths() == pytest.approx(whole.widths(), abs=1e-7)
    assert seen.contains(truth)
    candidates = rng.dirichlet(np.ones(4), 80)
    told = [whole.contains(r) for r in candidates]
    assert [seen.contains(r) for r in candidates] == told
    assert [in_cone(seen, r) for r in candidates[:6]] == told[:6]
    assert 0 < sum(told) < 80


# What is outer.


def test_the_explaining_rewards_are_no_convex_set_and_the_cone_is_around_them():
    game = fork()
    known = FeasibleRewards(game).observe(
        COMMITMENT, record_trajectory(game, COMMITMENT, [("start", 0, 0)])
    )
    left, right = np.array([0, 0, 0.8, 1, 0]), np.array([0, 0, 0.8, 0, 1])
    assert known.contains(left)
    assert known.contains(right)
    assert not known.contains((left + right) / 2)
    assert in_cone(known, (left + right) / 2)
    assert not known.exact


def test_ceilings_say_that_a_state_never_seen_is_worth_no_more_than_can_be_collected_from_it():
    # V*(crossing) ≤ r(crossing) + 9 (r(left) + r(right)), while V*(goal) = 10 r(goal).
    game = fork()
    known = FeasibleRewards(game).observe(
        COMMITMENT, record_trajectory(game, COMMITMENT, [("start", 0, 0)])
    )
    goal = [0, 0, 1, 0, 0]
    assert known.maximise(goal).reward[2] == pytest.approx(9 / 19, abs=1e-4)
    # In the box, 10 r(goal) ≤ r(crossing) + 9 (r(left) + r(right)) + 9 allows all of them one.
    assert known.maximise(goal, domain=RewardBox()).reward[2] == pytest.approx(1)
    # A domain that says nothing of a floor has no ceilings: the cone itself holds this reward.
    assert in_cone(known, goal)
    assert not known.contains(goal)


@given(run=watched(), shift=st.floats(-3, 3), scale=st.floats(0.1, 10), data=st.data())
def test_the_cone_holds_every_positive_affine_image_of_its_rewards(run, shift, scale, data):
    _, truth, known = run
    assert known.contains(scale * truth + shift)
    assert in_cone(known, scale * truth + shift)
    other = data.draw(rewards(truth.shape))
    assert in_cone(known, other) == in_cone(known, 2.0 * other - 1)


@given(run=watched())
def test_an_outer_reward_explains_everything_once_states_never_seen_are_worth_more(run):
    game, truth, known = run
    assume(len({steps.pi1.tobytes() for steps in known.seen}) == 1)
    objective = np.random.default_rng(1).uniform(-1, 1, truth.shape)
    found = known.maximise(objective)
    mdp = game.follower_mdp(known.seen[0].pi1)
    v, r = found.solved.primal["V[1]"], found.reward
    mean = r[:, None] if r.ndim == 1 else np.einsum("sa,sab->sb", known.seen[0].pi1, r)
    q = mean + game.discount * (mdp.matrix @ v).reshape(mdp.shape)
    raise_ = (v[:, None] - q).min(axis=1)
    visited = np.unique(np.concatenate([steps.states for steps in known.seen]))
    raise_[visited] = 0
    assert raise_.min() >= -1e-7
    lifted = r + (raise_ if r.ndim == 1 else raise_[:, None, None])
    assert known.contains(lifted, tolerance=1e-6)


@share(0.6)
@given(run=watched(joint=False, episodes=(2, 3)))
def test_trajectories_under_one_commitment_say_more_together(run):
    game, _, known = run
    objective = np.random.default_rng(2).uniform(-1, 1, game.n_states)
    alone = [FeasibleRewards(game).add(steps).maximise(objective).value for steps in known.seen]
    assert known.maximise(objective).value <= min(alone) + 1e-8


@share(0.6)
@given(run=watched())
def test_a_program_over_the_cone_is_proved_optimal(run):
    _, truth, known = run
    objective = np.random.default_rng(3).uniform(-1, 1, truth.shape)
    assert_kkt(known.problem(objective), known.maximise(objective).solved)


@given(seed=st.integers(0, 999), discount=st.sampled_from([0, 0.5, 0.9, 0.99]))
def test_ceilings_are_the_optimal_values_of_indicators_from_above(seed, discount):
    rng = np.random.default_rng(seed)
    game, _ = random_game(int(rng.integers(1, 6)), 2, 3, rng=seed, discount=discount)
    mdp = game.follower_mdp(random_deterministic_policy(game.n_states, 2, rng))
    exact = np.array([policy_iteration(mdp, e).values for e in np.eye(game.n_states)]).T
    found = visit_ceilings(mdp)
    assert (found >= exact - 1e-9).all()
    assert found == pytest.approx(exact, abs=2e-4 / (1 - discount))


def test_a_state_in_which_the_follower_has_no_influence_counts_as_visited():
    game = fork()
    # Going left shows the crossing; goal, left and right stay whatever the follower does.
    steps = record_trajectory(game, COMMITMENT, [("start", 0, 0), ("crossing", 0, 0)])
    known = FeasibleRewards(game).observe(COMMITMENT, steps)
    assert known.exact
    assert known.maximise([0, 0, 1, 0, 0]).reward[2] == pytest.approx(9 / 19, abs=1e-7)
    assert not in_cone(known, [0, 0, 0.47, 0, 0.53])


def test_responses_and_trajectories_stand_beside_each_other():
    game, truth = random_game(5, 2, 3, rng=3)
    rng = np.random.default_rng(0)
    first, second = (random_deterministic_policy(5, 2, rng) for _ in range(2))
    respond = OptimalFollower().respond
    whole = FeasibleRewards(game).observe(first, respond(game, truth, first))
    steps = sample_trajectory(game, second, respond(game, truth, second), rng)
    both = whole.observe(second, steps)
    objective = rng.uniform(-1, 1, 5)
    assert both.contains(truth)
    assert both.gaps(truth).shape == (2, 5, 3)
    assert both.maximise(objective).value <= whole.maximise(objective).value + 1e-9
    assert_kkt(both.problem(objective), both.maximise(objective).solved)
    assert both.seen == (*whole.seen, steps)
    assert "2 episodes" in repr(both)


def test_a_violation_names_the_trajectory_and_the_state():
    game = fork()
    steps = record_trajectory(game, COMMITMENT, [("start", 0, 0)])
    known = FeasibleRewards(game).observe(COMMITMENT, steps)
    (found,) = known.violations([0.0, 0, 1, 0, 0])
    assert (found.episode, found.state, found.action) == (1, "start", 0)
    assert found.slack == pytest.approx(9)


@share(0.4)
@given(run=watched(joint=False), seed=st.integers(0, 99))
def test_outer_rows_hold_the_truth_and_every_explaining_reward_and_cut_off_points_outside(
    run, seed
):
    game, truth, known = run
    rng = np.random.default_rng(seed)
    points = rng.dirichlet(np.full(game.n_states, 0.5), 12)
    rows = known.outer_rows(points)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(rows)))
    shifted = truth - truth.min()
    explaining = [p for p in points if known.contains(p)] + [shifted / max(shifted.sum(), 1)]
    for r in explaining:
        assert (rows @ r >= -1e-9).all()
    for p in points:
        if not in_cone(known, p):
            assert (rows @ p).min() < 0
    plain = known.outer_rows(points, ceilings=False)
    assert np.abs(plain.sum(axis=1)).max(initial=0.0) <= 1e-6
    assert len(plain) <= len(rows)
    assert (plain @ truth >= -1e-6).all()
    constant = np.full(game.n_states, 1 / game.n_states)
    assert known.outer_rows([constant]).shape == (0, game.n_states)


def test_outer_rows_and_ceilings_agree_on_a_state_never_seen():
    game = fork()
    known = FeasibleRewards(game).observe(
        COMMITMENT, record_trajectory(game, COMMITMENT, [("start", 0, 0)])
    )
    (row,) = known.outer_rows([[0, 0, 1, 0, 0]])
    # 10 r(goal) ≤ r(crossing) + 9 (r(left) + r(right))
    assert row / row[1] == pytest.approx([0, 1, -10, 9, 9], abs=1e-2)


# The learner.


@pytest.mark.parametrize("joint", [False, True])
def test_the_learner_takes_trajectories_and_never_loses_the_truth(joint):
    game, truth = random_game(5, 2, 2, rng=1)
    if joint:
        truth = np.random.default_rng(1).uniform(size=game.shape)
    learner = InteractiveIRL(game, seed=2, joint=joint)
    for episode in interact(learner, truth, 4, horizon=6):
        learner = episode.learner
        assert all(len(steps) == 7 for steps in learner.history)
        assert learner.known.contains(truth)
        assert episode.regret >= -1e-9
        assert np.array_equal(learner.history[-1].pi1, episode.pi1)
        shown = learner.history[-1]
        assert (episode.pi2[shown.states, shown.follower_actions] > 0).all()
    assert learner.episode == 4
    assert in_cone(learner.known, learner.estimate())
    copied = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(copied.ask(), learner.ask())


def test_a_run_of_trajectories_is_the_same_each_time_and_longer_ones_teach_more():
    def late(seed, horizon):
        game, truth = random_game(6, 2, 3, rng=seed)
        run = list(interact(InteractiveIRL(game), truth, 8, horizon=horizon))
        return [episode.regret for episode in run[-4:]]

    first = late(0, 60)
    assert late(0, 60) == first
    short = sum(late(0, 0)) + sum(late(1, 0))
    long = sum(first) + sum(late(1, 60))
    assert long < short / 2


def test_told_by_hand_a_trajectory_knows_its_commitment():
    game = fork()
    steps = record_trajectory(game, COMMITMENT, [("start", 0, 1), ("goal", 0, 0)])
    learner = InteractiveIRL(game).tell(steps)
    assert learner.history == (steps,)
    assert learner.known.contains([0, 0, 1, 0, 0])
    assert not learner.known.contains([0, 0, 0, 1, 0])
    assert learner.tell(steps, pi1=COMMITMENT).episode == 2


@pytest.mark.parametrize("choice", [RandomVertex(), MeanOfVertices(3)])
def test_choices_by_linear_programs_take_trajectories(choice):
    game, truth = random_game(4, 2, 2, rng=5)
    for episode in interact(InteractiveIRL(game, choice=choice), truth, 2, horizon=4):
        assert in_cone(episode.learner.known, episode.learner.estimate())


@pytest.mark.parametrize("choice", [AnalyticCentre(), ChebyshevCentre(), HitAndRunMean(2)])
def test_choices_that_need_explicit_rows_refuse_trajectories_and_say_what_will_do(choice):
    game, truth = random_game(4, 2, 2, rng=5)
    with pytest.raises(InvalidArgument, match=r"trajectories.*RandomVertex"):
        list(interact(InteractiveIRL(game, choice=choice), truth, 2, horizon=4))


def test_what_needs_whole_responses_says_so():
    game = fork()
    known = FeasibleRewards(game).observe(
        COMMITMENT, record_trajectory(game, COMMITMENT, [("start", 0, 0)])
    )
    for question in (known.explicit_rows, known.distinct_rows, known.max_margin, known.dimension):
        with pytest.raises(InvalidArgument, match="holds trajectories"):
            question()
    with pytest.raises(InvalidArgument, match="holds trajectories"):
        _ = known.observations
    with pytest.raises(InvalidArgument, match="history"):
        regret(game, np.zeros(5), known.seen)


def test_a_trajectory_of_another_commitment_or_game_is_refused_and_nothing_is_lost():
    game, truth = random_game(5, 2, 2, rng=1)
    first, other = np.eye(2)[[0] * 5], np.eye(2)[[1] * 5]
    steps = record_trajectory(game, first, [(game.states[0], game.leader_actions[0], 0)])
    learner = InteractiveIRL(game)
    with pytest.raises(InvalidObservation, match="pi1"):
        learner.tell(steps, pi1=other)
    with pytest.raises(InvalidPolicy):
        InteractiveIRL(random_game(4, 2, 2, rng=1)[0]).tell(steps)
    strange = Trajectory(first, np.array([5]), np.array([0]), np.array([0]))
    with pytest.raises(InvalidObservation, match="below 5"):
        learner.tell(strange)
    assert learner.tell(steps, pi1=first).known.contains(truth) in (True, False)
    assert learner.episode == 0


@pytest.mark.parametrize("horizon", [-1, 1.5, True, "3", np.nan])
def test_a_horizon_that_is_none_is_refused(horizon):
    game, truth = random_game(3, 2, 2, rng=1)
    with pytest.raises(InvalidArgument, match="horizon"):
        next(interact(InteractiveIRL(game), truth, 1, horizon=horizon))
