"""Preferences: one way of playing is better than another by at least so much."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from campaigns.suboptimality import preference
from depth import share
from hypothesis import given, strategies as st
from kkt import assert_kkt

import iirl_opt as iirl
from iirl_opt.errors import IIRLError, Infeasible, InvalidArgument, InvalidObservation
from iirl_opt.observation import record_trajectory
from iirl_opt.rewards import prefer

seeds = st.integers(0, 2**32 - 1)
ANY = np.ones((2, 1))
GAME = iirl.TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2", start=[1, 0])
GOING, STAYING = (ANY, [[0, 1], [1, 0]]), (ANY, [[1, 0], [1, 0]])
NOTHING = iirl.FeasibleRewards(GAME)


def walk(*steps):
    """A trajectory of states and follower actions."""
    return record_trajectory(GAME, ANY, [(s, 0, b) for s, b in steps])


@share(0.1)
@given(seed=seeds)
def test_a_preference_is_the_difference_of_what_both_earn(seed):
    assert not preference(seed)


def test_the_row_of_a_program_is_the_preference():
    known = NOTHING.prefer(GOING, STAYING, by=0.25)  # it earns r0 + r1 against 2 r0
    found = known.maximise([1, 0])
    program = known.problem([1, 0])
    assert_kkt(program, iirl.solve(program))
    assert found.reward == pytest.approx([0.375, 0.625])
    assert known.by_row(found)[1, None, None] == pytest.approx(0.5)
    (row,) = known.violations([0.5, 0.5])
    assert row == (1, None, None, 0.25)
    mine = known.nearest([0.4, 0.6], subject_to=lambda r: [r[1] >= 0.7])
    assert known.contains(mine.reward)


def test_who_contradicts_oneself_pays_a_price():
    known = NOTHING.prefer(GOING, STAYING, by=0.5).prefer(STAYING, GOING, by=0.25)
    with pytest.raises(Infeasible):
        known.maximise([1, 0])
    assert not known.is_informative()
    assert known.explain_infeasibility() == (1, 2)
    assert NOTHING.prefer(GOING, STAYING, by=50).is_informative()
    # One of the two is violated; which, the smaller sum of what is missing decides: 3/4 always.
    assert known.maximise([1, 0], price=3).value == pytest.approx(0.625 - 3 * 0.75)


def test_joint_rewards_know_which_action_was_played():
    here = iirl.TwoAgentMDP([[[[1], [1]]]], "1/2")
    first, second = ([[1]], [[1, 0]]), ([[1]], [[0, 1]])
    known = iirl.FeasibleRewards(here).prefer(first, second, by=1)
    assert known.contains([[[0.5, 0]]])
    assert not known.contains([[[0, 0.5]]])
    assert not known.contains([3.0])  # by state they are the same
    found = known.maximise(np.array([[[0.0, 1.0]]]), domain=iirl.rewards.RewardBox())
    assert found.reward.ravel() == pytest.approx([1, 0.5])


def test_centres_and_samples_know_the_row():
    known = NOTHING.prefer(GOING, STAYING, by=0.25)
    assert known.contains(known.chebyshev_centre().centre)
    assert all(map(known.contains, known.sample(5, 0)))
    alone = iirl.FeasibleRewards(GAME).observe(*GOING).prefer(GOING, STAYING, by=0.25)
    assert alone.chebyshev_centre().centre == pytest.approx([0.1875, 0.8125])


def test_trajectories_have_equal_lengths_or_a_declared_end():
    long, short = walk((0, 0), (0, 1), (1, 0)), walk((0, 1), (1, 0))
    with pytest.raises(InvalidObservation, match="steps"):
        prefer(GAME, long, short)
    with pytest.raises(InvalidObservation, match="beside a policy"):
        prefer(GAME, short, STAYING)
    assert prefer(GAME, short, long, absorbed=True).gain([0, 1]) == pytest.approx(0.5)
    assert prefer(GAME, short, STAYING, absorbed=True).exact_gain([0, 1]) == 1
    with pytest.raises(InvalidObservation, match="leads elsewhere"):
        prefer(GAME, walk((0, 1)), long, absorbed=True)
    for said in (
        prefer(GAME, short, long, absorbed=True),
        prefer(GAME, short, walk((0, 0), (0, 0))),
    ):
        assert said.visits.sum() == pytest.approx(0)  # a shift changes nothing


def test_exactly_at_the_boundary():
    r = [Fraction(1, 3), Fraction(1)]
    assert NOTHING.prefer(GOING, STAYING, by=Fraction(2, 3)).contains(r, exact=True)
    more = NOTHING.prefer(GOING, STAYING, by=0.6666666666666667)
    assert not more.contains(r, exact=True)
    assert more.contains(r)


def test_wrong_preferences_are_refused_by_name():
    for wrong in (-1, float("nan"), "1", None):
        with pytest.raises(InvalidArgument, match="by"):
            NOTHING.prefer(GOING, STAYING, by=wrong)
    for wrong in (GOING[1], (ANY,), 3, ([[1]], [[1, 0]]), np.full((2, 1, 2), 0.4)):
        with pytest.raises(IIRLError):
            NOTHING.prefer(wrong, STAYING)


@pytest.mark.parametrize(
    "ask",
    [
        lambda known: known.explicit_rows(),
        lambda known: known.observations,
        lambda known: known.dimension(),
        lambda known: known.gaps([0, 1]),
        lambda known: known.slack([0, 1]),
        lambda known: known.compatibility([0, 1]),
        lambda known: known.most_compatible(),
        lambda known: iirl.identify(known),
    ],
)
def test_what_knows_no_preferences_says_so(ask):
    with pytest.raises(InvalidArgument, match="preferences"):
        ask(NOTHING.prefer(GOING, STAYING, by=0.25))


def test_a_preference_without_a_margin_is_a_row_beside_any_unit():
    known = NOTHING.observe(*STAYING).prefer(GOING, STAYING)
    assert known.most_compatible().loss == pytest.approx(1)
    assert NOTHING.observe(*STAYING).most_compatible().loss == 0
    assert iirl.InteractiveIRL(GAME, feasible=known).episode == 1
    assert pickle.loads(pickle.dumps(known)).contains([1, 1])
    assert iirl.rewards.worst_regret(known, *STAYING).value == pytest.approx(0, abs=1e-7)


@share(0.05)
@given(seed=st.integers(0, 2**32 - 1))
def test_ways_of_playing_that_differ_by_rounding_alone_say_nothing(seed):
    rng = np.random.default_rng(seed)
    game, _ = iirl.random_game(3, 2, 2, rng=seed, discount=rng.choice([0.5, 0.9, 0.999]))
    kernel = np.array(game.kernel)
    kernel[:, :, 1] = kernel[:, :, 0]  # the follower's actions lead where the others do
    game = iirl.TwoAgentMDP(kernel, game.discount)
    pi1, one, other = rng.dirichlet(np.ones(2), (3, 3))
    known = iirl.FeasibleRewards(game).prefer((pi1, one), (pi1, other))
    known = known.prefer((pi1, other), (pi1, one))
    assert known.widths() == pytest.approx(np.ones(3))
    assert known.is_informative()
    with pytest.raises(iirl.errors.Infeasible):
        known.prefer((pi1, one), (pi1, other), by=1e-3).maximise([1, 0, 0])


def visits(game, pi2):
    """Discounted visits of state and action of one agent, (S, B), by their linear equations."""
    kernel = np.einsum("sb,sbt->st", pi2, game.kernel[:, 0])
    visited = np.linalg.solve(np.eye(game.n_states) - game.discount * kernel.T, game.start)
    return visited[:, None] * pi2


@pytest.mark.oracle
@given(seed=seeds)
def test_the_order_of_all_policies_tells_a_reward_up_to_scale_and_shift(seed):
    """Skalse et al. 2023: the order of policies is that of a reward and its affine images alone.

    Indifferences between a policy and a mixture that is worth as much, and one preference.
    """
    game, truth = iirl.random_game(4, 1, 3, rng=seed)
    rng = np.random.default_rng(seed)
    known, alone = iirl.FeasibleRewards(game), np.ones((4, 1))
    for _ in range(6):
        policies = rng.dirichlet(np.ones(3), size=(3, 4))
        seen = [visits(game, policy) for policy in policies]
        least, middle, best = sorted(range(3), key=lambda i: float(truth @ seen[i].sum(axis=1)))
        worth = [float(truth @ seen[i].sum(axis=1)) for i in (least, middle, best)]
        weight = (worth[1] - worth[0]) / (worth[2] - worth[0])
        mixed = (1 - weight) * seen[least] + weight * seen[best]
        alike = (alone, mixed / mixed.sum(axis=1, keepdims=True)), (alone, policies[middle])
        known = known.prefer(*alike).prefer(*alike[::-1])
    known = known.prefer((alone, policies[best]), (alone, policies[least]))
    assert known.contains(3 * truth - 7)
    assert not known.contains(-truth)
    for away in rng.normal(size=(3, 4)):
        found = known.maximise(away, domain=iirl.RewardBox()).reward
        apart = found - found.mean(), truth - truth.mean()
        scale = float(apart[0] @ apart[1]) / float(apart[1] @ apart[1])
        assert scale >= -1e-6
        assert np.abs(apart[0] - scale * apart[1]).max() < 1e-6
