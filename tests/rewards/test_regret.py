"""Regret over a feasible set: both bounds against all joint policies, and proofs that can fail."""

from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st

from iirl_opt.commitment.methods import commit
from iirl_opt.errors import InvalidArgument, InvalidPolicy
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy, random_policy, uniform_policy
from iirl_opt.game.values import evaluate
from iirl_opt.rewards.advantages import Play
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.rewards.regret import certified, regret_bound
from iirl_opt.rewards.regret_program import worst_regret
from iirl_opt.rewards.regret_rows import Programs, known_rows
from iirl_opt.testing import games, observations, rewards

DISCOUNTS = ("1/2", "9/10", "0")
NEAR = 1e-6


@st.composite
def played_games(draw, *, max_states=2, max_episodes=2, joint=None):
    """Draw a game, its reward, what it explains, and the last episode's play."""
    game = draw(games(max_states=max_states, discounts=DISCOUNTS))
    joint = draw(st.booleans()) if joint is None else joint
    truth = draw(rewards(game, shape="joint" if joint else "state"))
    feasible = FeasibleRewards(game)
    for _ in range(draw(st.integers(1, max_episodes))):
        feasible = feasible.add(draw(observations(game, reward=truth)))
    return feasible, truth, feasible.observations[-1]


def learnt(seed, episodes, *, sizes=(3, 2, 2), discount="9/10"):
    """A random game after random commitments and, last, an optimal one."""
    game, truth = random_game(*sizes, seed, concentration=1.0, discount=discount)
    rng, partner, feasible = np.random.default_rng(seed), OptimalFollower(), FeasibleRewards(game)
    for _ in range(episodes):
        pi1 = random_policy(sizes[0], sizes[1], rng)
        feasible = feasible.observe(pi1, partner.respond(game, truth, pi1))
    pi1 = commit(game, truth).policy
    return feasible.observe(pi1, partner.respond(game, truth, pi1)), truth, pi1


def in_the_simplex(reward):
    above = reward - reward.min()
    return above / above.sum() if above.any() else np.full(reward.shape, 1 / reward.size)


def measure(game, policy, joint):
    """The discounted visits of a joint policy (S, A, B), of states or of choices."""
    chain = np.einsum("sab,sabt->st", policy, game.kernel)
    mass = np.linalg.solve((np.eye(game.n_states) - game.discount * chain).T, game.start)
    return mass[:, None, None] * policy if joint else mass


def by_enumeration(feasible, pi1, pi2, joint=False):
    """The worst regret: the best reward for each deterministic joint policy, by the lifted LP."""
    game = feasible.game
    own = measure(game, pi1[:, :, None] * pi2[:, None, :], joint)
    gains = {}
    for choices in product(range(game.n_choices), repeat=game.n_states):
        policy = deterministic_policy(np.array(choices), game.n_choices).reshape(game.shape)
        gain = measure(game, policy, joint) - own
        gains.setdefault(tuple(np.round(gain, 12).ravel()), gain)
    return max(feasible.maximise(gain).value if gain.any() else 0.0 for gain in gains.values())


def regret_of(game, reward, pi1, pi2):
    best = policy_iteration(game, reward).values
    return float(game.start @ (best - evaluate(game, reward, (pi1, pi2))))


@contextmanager
def by_descent():
    """Tighten bounds as for larger games, where one program for all would be too large."""
    with patch("iirl_opt.rewards.regret.SMALL", 0):
        yield


@contextmanager
def as_if_large():
    """Make multipliers all together, and solve programs in dual form, as for large games."""
    with (
        patch("iirl_opt.rewards.regret.LARGE", -1),
        patch("iirl_opt.rewards.regret_rows.BY_CUTS", -1),
    ):
        yield


# Closed forms.


def shuttle(discount):
    """Two states; the leader stays or switches; the follower has nothing to say."""
    stay, switch = [[1, 0]], [[0, 1]]
    return TwoAgentMDP([[stay, switch], [switch, stay]], discount, start=[1, 0])


@pytest.mark.parametrize(("discount", "worst"), [("1/2", 1.0), ("9/10", 9.0)])
def test_with_nothing_known_staying_misses_all_that_the_other_state_pays(discount, worst):
    # r = (0, 1): V* = γ/(1−γ), V_π = 0. Both switches have ā = γ/(1−γ), so the MDP with reward ā
    # goes to and fro for it at every step.
    game = shuttle(discount)
    stay, only = np.array([[1.0, 0.0], [1.0, 0.0]]), np.ones((2, 1))
    bound = regret_bound(FeasibleRewards(game), stay, only, tighten=False)
    assert bound.lower == pytest.approx(worst)
    assert bound.reward == pytest.approx([0, 1], abs=1e-9)
    assert bound.advantages[:, :, 0] == pytest.approx(np.array([[0, worst], [0, worst]]))
    assert bound.upper == pytest.approx(worst / (1 - game.discount))
    tight = regret_bound(FeasibleRewards(game), stay, only)
    assert tight.upper == pytest.approx(worst)
    assert tight.exact
    assert tight.check()
    exact = worst_regret(FeasibleRewards(game), stay, only)
    assert exact.value == pytest.approx(worst)
    assert exact.bound == pytest.approx(worst)


def test_what_was_learnt_of_the_follower_bounds_what_the_leader_can_miss():
    # One state decides: the follower goes to 1 or 2 and went to 1; the leader may go to 3. Knowing
    # r1 ≥ r2, the worst reward is e3, as with nothing known.
    kernel = np.broadcast_to(np.eye(4, dtype=int)[:, None, None], (4, 2, 2, 4)).copy()
    kernel[0] = np.eye(4, dtype=int)[[[1, 2], [3, 3]]]
    game = TwoAgentMDP(kernel, "1/2", start=[1, 0, 0, 0])
    ask = np.array([[1.0, 0.0]] * 4)
    feasible = FeasibleRewards(game).observe(ask, np.array([[1.0, 0.0]] * 4))
    bound = regret_bound(feasible, ask)
    assert bound.upper == pytest.approx(1.0)
    assert bound.lower == pytest.approx(1.0)
    assert bound.exact
    assert bound.advantages[0] == pytest.approx(np.array([[0, 0], [1, 1]]), abs=1e-9)


@share(0.6)
@given(data=st.data())
def test_state_rewards_have_no_regret_at_discount_zero(data):
    game = data.draw(games(discounts=("0",)))
    seen = data.draw(observations(game))
    bound = regret_bound(FeasibleRewards(game).add(seen), seen.pi1, seen.pi2)
    assert (bound.upper, bound.lower, bound.solved) == (0.0, 0.0, 0)
    assert bound.zero
    assert bound.check()


def test_with_one_state_only_joint_rewards_tell_actions_apart():
    game = TwoAgentMDP(np.ones((1, 2, 2, 1), dtype=int), "1/2")
    pi1, pi2 = np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]])
    feasible = FeasibleRewards(game).observe(pi1, pi2)
    assert regret_bound(feasible, pi1).zero
    # (a1, b0) or (a1, b1) may be all that pays.
    bound = regret_bound(feasible, pi1, joint=True)
    assert bound.upper == pytest.approx(2.0)
    assert bound.lower == pytest.approx(2.0)
    assert worst_regret(feasible, pi1, joint=True).value == pytest.approx(2.0)


@share(0.6)
@given(data=st.data())
def test_a_leader_without_a_choice_is_certified_without_a_program(data):
    game = data.draw(games(max_states=3, max_leader_actions=1))
    seen = data.draw(observations(game, reward=data.draw(rewards(game))))
    bound = regret_bound(FeasibleRewards(game).add(seen), seen.pi1, seen.pi2)
    assert bound.zero
    assert bound.solved == 0


# All joint policies, one by one.


@share(0.4)
@given(instance=played_games())
def test_both_bounds_hold_what_all_joint_policies_together_say(instance):
    feasible, truth, seen = instance
    joint = truth.ndim == 3
    worst = by_enumeration(feasible, seen.pi1, seen.pi2, joint)
    uppers = []
    for tighten in (False, True, None):
        with by_descent():
            bound = regret_bound(
                feasible, seen.pi1, seen.pi2, joint=joint, tighten=tighten, steps=4
            )
        uppers.append(bound.upper)
        assert bound.lower <= worst + NEAR
        assert worst <= bound.upper + NEAR
        if bound.exact:
            assert bound.upper == pytest.approx(worst, abs=NEAR)
        assert bound.check()
    assert uppers[2] <= uppers[0] + NEAR


@pytest.mark.parametrize(("seed", "joint"), [(0, False), (1, False), (0, True)])
def test_the_mixed_integer_program_is_exact(seed, joint):
    feasible, _, pi1 = learnt(seed, episodes=2, sizes=(2 if joint else 3, 2, 2))
    pi2 = feasible.observations[-1].pi2
    exact = worst_regret(feasible, pi1, joint=joint)
    worst = by_enumeration(feasible, pi1, pi2, joint)
    assert exact.value == pytest.approx(worst, abs=NEAR)
    assert exact.bound == pytest.approx(worst, abs=NEAR)
    bound = regret_bound(feasible, pi1, joint=joint)
    assert bound.lower == pytest.approx(worst, abs=NEAR)
    assert bound.upper >= worst - NEAR


@share(0.6)
@given(instance=played_games(max_states=3))
def test_no_truth_has_more_regret_than_its_scale_times_the_bound(instance):
    feasible, truth, seen = instance
    bound = regret_bound(feasible, seen.pi1, seen.pi2, joint=truth.ndim == 3, starts=0)
    scale = (truth - truth.min()).sum()
    regret = regret_of(feasible.game, truth, seen.pi1, seen.pi2)
    assert regret <= scale * bound.upper + NEAR * (1 + scale)
    image = regret_of(feasible.game, in_the_simplex(truth), seen.pi1, seen.pi2)
    assert regret == pytest.approx(scale * image, abs=NEAR)


@given(instance=played_games(max_states=3, joint=False))
def test_the_bound_is_zero_iff_no_advantage_is_positive_where_play_can_come(instance):
    feasible, _, seen = instance
    game = feasible.game
    bound = regret_bound(feasible, seen.pi1, seen.pi2, starts=0, tighten=False)
    step = (game.kernel.reshape(game.n_states, -1, game.n_states) > 0).any(axis=1)
    reached = game.start > 0
    for _ in range(game.n_states):
        reached = reached | (reached @ step)
    assert bound.zero == (bound.advantages[reached].max() <= bound.tolerance / 10)


# More knowledge, less regret.


@share(0.6)
@given(data=st.data())
def test_further_observations_never_raise_the_bound(data):
    feasible, truth, seen = data.draw(played_games(max_states=3, joint=False))
    before = regret_bound(feasible, seen.pi1, seen.pi2, starts=0, tighten=False)
    more = feasible.add(data.draw(observations(feasible.game, reward=truth)))
    after = regret_bound(more, seen.pi1, seen.pi2, starts=0, tighten=False)
    assert after.upper <= before.upper + NEAR
    assert (after.lower, before.lower) <= (after.upper + NEAR, before.upper + NEAR)


@pytest.mark.parametrize("discount", ["1/2", "9/10", "99/100"])
def test_enough_episodes_certify_an_optimal_commitment(discount):
    feasible, _, pi1 = learnt(3, episodes=15, discount=discount)
    bound = regret_bound(feasible, pi1)
    assert bound.zero
    assert bound.exact
    assert bound.check()
    assert worst_regret(feasible, pi1).value == pytest.approx(0, abs=NEAR)


# A response that is not known yet.


@share(0.6)
@given(data=st.data())
def test_the_bound_of_an_unplayed_commitment_holds_for_the_answer_that_comes(data):
    feasible, truth, _ = data.draw(played_games(max_states=2))
    game = feasible.game
    pi1 = uniform_policy(game.n_states, game.n_leader_actions) @ np.eye(game.n_leader_actions)
    pi1 = 0.9 * pi1 + 0.1 * np.eye(game.n_leader_actions)[np.zeros(game.n_states, dtype=int)]
    joint = truth.ndim == 3
    bound = regret_bound(feasible, pi1, joint=joint)
    image = in_the_simplex(truth)
    answer = OptimalFollower().respond(game, image, pi1)
    assert regret_of(game, image, pi1, answer) <= bound.upper + NEAR
    assert bound.check()
    worst = bound.reward
    assert regret_of(
        game, worst, pi1, OptimalFollower().respond(game, worst, pi1)
    ) == pytest.approx(bound.lower, abs=NEAR)


def test_only_a_response_makes_the_worst_regret_exact():
    feasible, _, _ = learnt(0, episodes=1)
    fresh = np.array([[0.25, 0.75]] * 3)
    assert not regret_bound(feasible, fresh).seen
    with pytest.raises(InvalidArgument, match="response is missing"):
        worst_regret(feasible, fresh)


def test_a_response_is_remembered_from_the_episode_of_the_commitment():
    feasible, _, pi1 = learnt(0, episodes=2)
    bound = regret_bound(feasible, pi1)
    given_ = regret_bound(feasible, pi1, feasible.observations[-1].pi2)
    assert bound.seen
    assert (bound.upper, bound.lower) == (given_.upper, given_.lower)


# Stopping early.


@pytest.mark.parametrize("seed", range(3))
def test_a_threshold_stops_the_programs_as_soon_as_it_is_decided(seed):
    feasible, _, pi1 = learnt(seed, episodes=2)
    full = regret_bound(feasible, pi1)
    assert full.solved > 0
    assert 0 < full.lower <= full.upper

    refuted = regret_bound(feasible, pi1, delta=full.lower / 2)
    assert refuted.solved == 0
    assert refuted.lower > full.lower / 2
    assert not certified(feasible, pi1, delta=full.lower / 2)

    easy = regret_bound(feasible, pi1, delta=1e3)
    assert easy.solved == 0
    assert full.upper <= easy.upper <= 1e3
    assert certified(feasible, pi1, delta=1e3)

    assert certified(feasible, pi1, delta=full.upper + NEAR)
    assert not certified(feasible, pi1, delta=full.upper - NEAR)


def test_the_bound_is_valid_after_any_number_of_programs():
    feasible, _, pi1 = learnt(0, episodes=3, sizes=(5, 2, 2))
    numbers = (0, 2, 5, 100)
    bounds = [regret_bound(feasible, pi1, limit=k, starts=0, tighten=False) for k in numbers]
    assert [b.solved for b in bounds[:3]] == [0, 2, 5]
    uppers = [b.upper for b in bounds]
    assert uppers == sorted(uppers, reverse=True)
    assert uppers[0] > uppers[-1]
    assert all(b.check() for b in bounds)


# Proofs.


@given(instance=played_games(max_states=3), seed=st.integers(0, 99))
def test_any_nonnegative_multipliers_bound_the_advantages_of_feasible_rewards(instance, seed):
    feasible, truth, seen = instance
    play = Play(feasible.game, seen.pi1, seen.pi2, truth.ndim == 3)
    rows, rng = known_rows(feasible, play), np.random.default_rng(seed)
    y = rng.exponential(size=len(rows.free)) * rng.integers(0, 2, len(rows.free))
    z = rng.normal(size=len(rows.tied))
    proved = (play.advantages + (y @ rows.free - z @ rows.tied)).max(axis=1)
    assert (play.advantages @ in_the_simplex(truth).ravel() <= proved + NEAR).all()


@share(0.4)
@given(instance=played_games(), seed=st.integers(0, 99))
def test_programs_in_dual_form_prove_the_maxima_that_those_by_rows_find(instance, seed):
    feasible, truth, seen = instance
    play = Play(feasible.game, seen.pi1, seen.pi2, truth.ndim == 3)
    rows, c = known_rows(feasible, play), np.random.default_rng(seed).normal(size=play.width)
    with as_if_large():
        found = Programs(rows, None).maximise(c)
    best = c @ Programs(rows, None).maximise(c).reward
    assert c @ found.reward == pytest.approx(best, abs=NEAR)
    assert found.free.min(initial=0.0) >= 0.0
    proved = (c + found.free @ rows.free - found.tied @ rows.tied).max()
    assert proved == pytest.approx(best, abs=NEAR)


@share(0.4)
@given(instance=played_games())
def test_a_bound_without_programs_holds_and_is_below_that_of_the_rows_alone(instance):
    feasible, truth, seen = instance
    joint = truth.ndim == 3
    with as_if_large():
        bound = regret_bound(feasible, seen.pi1, seen.pi2, joint=joint, tighten=False)
    assert bound.check()
    assert bound.solved == 0
    none = regret_bound(feasible, seen.pi1, seen.pi2, joint=joint, tighten=False, limit=0)
    assert bound.upper <= none.upper + NEAR
    best = regret_bound(feasible, seen.pi1, seen.pi2, joint=joint, tighten=False)
    assert bound.upper >= best.upper - NEAR


@given(instance=played_games(max_states=3))
def test_advantages_are_values_of_one_deviation(instance):
    feasible, truth, seen = instance
    game = feasible.game
    play = Play(game, seen.pi1, seen.pi2, truth.ndim == 3)
    values = evaluate(game, truth, (seen.pi1, seen.pi2))
    now = truth if truth.ndim == 3 else truth[:, None, None]
    q = now + game.discount * np.einsum("sabt,t->sab", game.kernel, values)
    expected = (q - values[:, None, None]).ravel()
    assert play.advantages @ truth.ravel() == pytest.approx(expected, abs=1e-9)


KINDS = {"plain": False, "tightened": True, "descended": None, "together": False}


@pytest.fixture(scope="module", params=KINDS)
def bound(request):
    feasible, _, pi1 = learnt(0, episodes=3, sizes=(5, 2, 2))
    if request.param == "together":
        with as_if_large():
            return regret_bound(feasible, pi1, tighten=False)
    with by_descent():
        return regret_bound(feasible, pi1, tighten=KINDS[request.param], steps=10)


def edits():
    def less(array, at):
        out = np.array(array)
        out[at] -= 0.01
        return out

    def top(b):
        return np.unravel_index(int(np.argmax(b.advantages)), b.advantages.shape)

    negative = "multipliers are nonnegative"
    proves = "multipliers bound the advantages"
    return {
        "upper": (lambda b: {"upper": b.upper - 0.01}, "upper is the sum"),
        "lower": (lambda b: {"lower": b.lower + 0.01}, "the witness has this regret"),
        "advantages": (lambda b: {"advantages": less(b.advantages, top(b))}, proves),
        "base": (lambda b: {"base": b.base - 0.01}, "multipliers bound the start"),
        "linear": (
            lambda b: {"linear": b.linear + 0.01 * np.eye(5)},
            "multipliers bound the start",
        ),
        "values": (lambda b: {"values": less(b.values, 0)}, "values bound the MDP"),
        "proof": (lambda b: {"proof": np.zeros_like(b.proof)}, proves),
        "half": (lambda b: {"multipliers": 0.5 * b.multipliers}, proves),
        "sign": (lambda b: {"multipliers": -b.multipliers}, negative),
        "witness": (lambda b: {"reward": np.eye(5)[0]}, "the witness is feasible"),
        "scale": (lambda b: {"reward": 2 * b.reward}, "the witness is in the simplex"),
        "pi1": (lambda b: {"pi1": b.pi1[:, ::-1]}, "there is a multiplier for each row"),
        "pi2": (lambda b: {"pi2": b.pi2[:, ::-1]}, "there is a multiplier for each row"),
    }


@pytest.mark.parametrize("name", edits())
def test_an_edit_that_makes_the_claim_false_makes_the_check_fail(bound, name):
    change, reason = edits()[name]
    assert bound.check()
    checked = replace(bound, **change(bound)).check()
    assert not checked
    assert any(text.startswith(reason) for text in checked.reasons)


def test_multipliers_of_other_episodes_prove_nothing(bound):
    game = bound.feasible.game
    fewer = FeasibleRewards(game, bound.feasible.episodes[::-1])
    assert not replace(bound, feasible=fewer).check()


def test_looser_numbers_are_still_proved(bound):
    loose = replace(
        bound,
        upper=bound.upper + 1,
        advantages=bound.advantages + 0.01,
        values=bound.values + 0.01 / (1 - bound.feasible.game.discount),
        lower=bound.lower / 2,
        base=bound.base + 0.1,
    )
    assert loose.check()


def test_the_record_speaks_of_its_numbers(bound):
    assert f"{bound.lower:.6g} ≤ worst regret ≤ {bound.upper:.6g}" in repr(bound)
    assert bound.solved + bound.screened == bound.advantages.size


@pytest.mark.parametrize("seed", [1, 6, 7])
def test_linear_functions_make_the_bound_exact_where_single_advantages_do_not(seed):
    feasible, _, pi1 = learnt(seed, episodes=3, sizes=(4, 2, 2))
    loose = regret_bound(feasible, pi1, tighten=False)
    tight = regret_bound(feasible, pi1, tighten=True)
    assert loose.upper > 1.1 * loose.lower
    assert tight.exact
    assert loose.lower <= tight.lower + NEAR
    assert tight.upper <= loose.upper + NEAR
    assert tight.check()


@pytest.mark.parametrize("seed", [1, 6, 7])
def test_a_descent_makes_the_upper_bound_at_most_twice_the_lower_one(seed):
    feasible, _, pi1 = learnt(seed, episodes=3, sizes=(4, 2, 2))
    with by_descent():
        loose = regret_bound(feasible, pi1, steps=0)
        tight = regret_bound(feasible, pi1)
    good = 2 * tight.lower + 1e-3 / 4 / (1 - feasible.game.discount)
    assert tight.upper <= good + tight.tolerance
    assert (tight.upper < loose.upper) == (loose.upper > good)
    assert tight.check()


# Bad input.


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("delta", -1.0),
        ("delta", np.nan),
        ("tolerance", 0.0),
        ("starts", -1),
        ("limit", -1),
        ("steps", -1),
    ],
)
def test_arguments_out_of_range_are_named(argument, value):
    game = shuttle("1/2")
    with pytest.raises(InvalidArgument, match=argument):
        regret_bound(FeasibleRewards(game), np.ones((2, 2)) / 2, **{argument: value})


def test_policies_are_checked():
    game = shuttle("1/2")
    with pytest.raises(InvalidPolicy, match="leader policy"):
        regret_bound(FeasibleRewards(game), np.ones((2, 3)) / 3)
    with pytest.raises(InvalidPolicy, match="follower policy"):
        regret_bound(FeasibleRewards(game), np.ones((2, 2)) / 2, np.full((2, 1), np.nan))
