"""Response models: each against its definition, and what it does among ties."""

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from instances import best_values, follower_problem, games, policies, rewards

from iirl_opt.errors import InvalidArgument, InvalidPolicy, InvalidReward
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower, best_responses
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.game.mdp import TwoAgentMDP

TIES = ("first", "last", "random", "mix", "all")


def crossroads(n_follower=4, discount=0.9):
    """Two rooms; in the first, actions 1 and 2 lead to the second, the others stay there."""
    kernel = np.zeros((2, 1, n_follower, 2), dtype=int)
    kernel[..., 0] = 1
    kernel[0, :, 1:3] = [0, 1]
    return TwoAgentMDP(kernel, discount, states=["hall", "yard"])


COMMITMENT = [[1.0], [1.0]]
SECOND = [0.0, 1.0]  # the reward of being in the second room


@st.composite
def answered(draw):
    """Draw a game, a commitment, a reward and the exact Q* of the follower's MDP."""
    game = draw(games(leader=(1, 2), follower=(1, 3)))
    pi1 = draw(policies(game.n_states, game.n_leader_actions))
    reward = draw(st.one_of(rewards(game.n_states), rewards(game.shape)))
    kernel, r = follower_problem(game, pi1, reward)
    gamma = game.rational.discount
    q = r + gamma * (kernel * best_values(kernel, r, gamma)).sum(axis=2)
    return game, pi1.astype(float), reward, q


# Definitions


@given(case=answered())
def test_best_responses_are_those_of_the_mdp_that_the_commitment_leaves(case):
    game, pi1, reward, q = case
    best = best_responses(game, reward, pi1)
    assert best.q == pytest.approx(q.astype(float), abs=1e-11)
    assert best.values == pytest.approx(q.max(axis=1).astype(float), abs=1e-11)
    assert (best.optimal == (q == q.max(axis=1, keepdims=True))).all()


@given(case=answered())
def test_an_optimal_follower_plays_optimal_actions_by_its_tie_rule(case):
    game, pi1, reward, q = case
    optimal = q == q.max(axis=1, keepdims=True)
    answers = {ties: OptimalFollower(ties, 0).respond(game, reward, pi1) for ties in TIES}
    assert (answers["all"] == optimal).all()
    assert answers["all"].dtype == bool
    assert answers["mix"] == pytest.approx(optimal / optimal.sum(axis=1, keepdims=True))
    for ties in ("first", "last", "random"):
        assert ((answers[ties] == 1).sum(axis=1) == 1).all()
        assert answers[ties].sum() == game.n_states
        assert (answers[ties] <= optimal).all()
    for s in range(game.n_states):
        assert answers["first"][s].argmax() == np.flatnonzero(optimal[s])[0]
        assert answers["last"][s].argmax() == np.flatnonzero(optimal[s])[-1]


@given(case=answered(), epsilon=st.floats(0, 1), ties=st.sampled_from(TIES[:-1]))
def test_an_epsilon_greedy_follower_mixes_an_optimal_one_with_the_uniform_policy(
    case, epsilon, ties
):
    game, pi1, reward, _ = case
    answer = EpsilonGreedyFollower(epsilon, ties, 1).respond(game, reward, pi1)
    greedy = OptimalFollower(ties, 1).respond(game, reward, pi1)
    expected = (1 - epsilon) * greedy + epsilon / game.n_follower_actions
    assert answer == pytest.approx(expected, abs=1e-15)
    assert answer.sum(axis=1) == pytest.approx(1, abs=1e-14)


@given(case=answered(), beta=st.floats(0, 20))
def test_a_boltzmann_follower_plays_in_proportion_to_exponentials(case, beta):
    game, pi1, reward, q = case
    weights = np.exp(beta * (q - q.max(axis=1, keepdims=True)).astype(float))
    expected = weights / weights.sum(axis=1, keepdims=True)
    follower = BoltzmannFollower(beta)
    assert follower.respond(game, reward, pi1) == pytest.approx(expected, abs=1e-9)
    logs = follower.log_respond(game, reward, pi1)
    assert np.exp(logs) == pytest.approx(expected, abs=1e-9)
    assert logs == pytest.approx(
        beta * (q - q.max(axis=1, keepdims=True)).astype(float)
        - np.log(weights.sum(axis=1, keepdims=True)),
        abs=1e-8,
    )


@given(case=answered(), offset=st.floats(25, 100))
def test_a_proportional_follower_plays_in_proportion_to_its_function(case, offset):
    game, pi1, reward, q = case  # |q| ≤ 2 / (1 − 0.9)
    answer = ProportionalFollower(lambda x: x + offset).respond(game, reward, pi1)
    weights = q.astype(float) + offset
    assert answer == pytest.approx(weights / weights.sum(axis=1, keepdims=True), abs=1e-10)


@given(case=answered())
def test_an_exponential_in_proportion_is_a_boltzmann_follower(case):
    game, pi1, reward, _ = case
    answer = ProportionalFollower(np.exp).respond(game, reward, pi1)
    expected = BoltzmannFollower(1).respond(game, reward, pi1)
    assert answer == pytest.approx(expected, abs=1e-12)


def test_the_commitment_decides_what_is_optimal():
    # Door 1 makes action 0 lead to the second room, door 0 makes action 1 do so.
    kernel = np.zeros((2, 2, 2, 2), dtype=int)
    kernel[..., 0] = 1
    kernel[0, 0, 1] = kernel[0, 1, 0] = [0, 1]
    game = TwoAgentMDP(kernel, 0.9)
    follower = OptimalFollower("all")
    for pi1, expected in [
        ([[1, 0], [1, 0]], [[False, True], [True, True]]),
        ([[0, 1], [1, 0]], [[True, False], [True, True]]),
        ([[0.5, 0.5], [1, 0]], [[True, True], [True, True]]),
    ]:
        assert follower.respond(game, SECOND, pi1).tolist() == expected


# Ties


@pytest.mark.parametrize(
    ("ties", "hall", "yard"),
    [
        ("first", [0, 1, 0, 0], [1, 0, 0, 0]),
        ("last", [0, 0, 1, 0], [0, 0, 0, 1]),
        ("mix", [0, 0.5, 0.5, 0], [0.25] * 4),
        ("all", [False, True, True, False], [True] * 4),
    ],
)
def test_a_tie_rule_is_part_of_the_follower(ties, hall, yard):
    answer = OptimalFollower(ties).respond(crossroads(), SECOND, COMMITMENT)
    assert answer.tolist() == [hall, yard]


def test_the_first_action_is_the_rule_by_default():
    assert OptimalFollower() == OptimalFollower("first", None)
    assert EpsilonGreedyFollower(0.1) == EpsilonGreedyFollower(0.1, "first", None)


@pytest.mark.parametrize("make", [OptimalFollower, lambda *how: EpsilonGreedyFollower(0.4, *how)])
def test_random_ties_repeat_with_a_seed_and_vary_with_a_generator(make):
    game = crossroads()
    follower = make("random", 7)
    first = follower.respond(game, SECOND, COMMITMENT)
    for _ in range(3):
        assert (follower.respond(game, SECOND, COMMITMENT) == first).all()
    seen = {make("random", seed).respond(game, SECOND, COMMITMENT).tobytes() for seed in range(100)}
    assert len(seen) == 8  # two optimal actions in the hall, four in the yard
    rng = np.random.default_rng(0)
    drawn = [follower.respond(game, SECOND, COMMITMENT, rng) for _ in range(300)]
    assert len({answer.tobytes() for answer in drawn}) == 8
    mean = np.mean([answer > 0.5 for answer in drawn], axis=0)
    assert mean == pytest.approx(np.array([[0, 0.5, 0.5, 0], [0.25] * 4]), abs=0.07)
    rng = np.random.default_rng(0)
    again = [follower.respond(game, SECOND, COMMITMENT, rng) for _ in range(5)]
    assert (np.array(again) == np.array(drawn[:5])).all()


def test_random_ties_without_a_seed_vary():
    game = crossroads(30)
    answers = [OptimalFollower("random").respond(game, [0, 0], COMMITMENT) for _ in range(20)]
    assert len({answer.tobytes() for answer in answers}) > 1


def test_random_ties_are_independent_in_every_state():
    game = TwoAgentMDP(np.ones((40, 1, 2, 40), int), 0.5)
    answer = OptimalFollower("random", 0).respond(game, np.zeros(40), np.ones((40, 1)))
    assert 5 < answer[:, 0].sum() < 35


# Edges of the parameters


@pytest.mark.parametrize(("epsilon", "ties"), [(0, "last"), (0, "mix"), (1, "first")])
def test_epsilon_goes_from_optimal_to_uniform(epsilon, ties):
    game = crossroads()
    answer = EpsilonGreedyFollower(epsilon, ties).respond(game, SECOND, COMMITMENT)
    expected = OptimalFollower(ties).respond(game, SECOND, COMMITMENT)
    assert answer.tolist() == (np.full((2, 4), 0.25) if epsilon else expected).tolist()


def test_at_beta_zero_every_action_is_as_likely():
    game = crossroads()
    assert BoltzmannFollower(0).respond(game, SECOND, COMMITMENT).tolist() == [[0.25] * 4] * 2


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("beta", [1e3, 1e9, 1e308])
@pytest.mark.parametrize("scale", [1.0, -1.0, 1e12])
def test_a_large_beta_overflows_nowhere_and_plays_all_that_is_optimal(beta, scale):
    game, reward = crossroads(), scale * np.array(SECOND)
    answer = BoltzmannFollower(beta).respond(game, reward, COMMITMENT)
    expected = OptimalFollower("mix").respond(game, reward, COMMITMENT)
    assert answer == pytest.approx(expected, abs=1e-12)
    logs = BoltzmannFollower(beta).log_respond(game, reward, COMMITMENT)
    assert not np.isnan(logs).any()
    assert (logs <= 0).all()


@pytest.mark.filterwarnings("error")
def test_logarithms_are_exact_where_probabilities_vanish():
    game = crossroads(discount=0.5)
    q = best_responses(game, SECOND, COMMITMENT).q
    logs = BoltzmannFollower(1e4).log_respond(game, SECOND, COMMITMENT)
    assert logs[0, 0] == pytest.approx(1e4 * (q[0, 0] - q[0, 1]) - np.log(2), rel=1e-12)
    assert logs[0, 0] < -1000


def test_a_huge_function_does_not_overflow():
    game = crossroads()
    answer = ProportionalFollower(lambda q: np.full(q.shape, 1e308)).respond(
        game, SECOND, COMMITMENT
    )
    assert answer.tolist() == [[0.25] * 4] * 2


def test_a_function_may_be_zero_for_some_actions():
    answer = ProportionalFollower(lambda q: (q >= q.max(axis=1, keepdims=True)) * 1.0).respond(
        crossroads(), SECOND, COMMITMENT
    )
    assert answer.tolist() == [[0, 0.5, 0.5, 0], [0.25] * 4]


def test_a_function_that_writes_into_its_argument_does_no_harm():
    def clip(q):
        q[...] = 1
        return q

    game = crossroads()
    assert ProportionalFollower(clip).respond(game, SECOND, COMMITMENT).tolist() == [[0.25] * 4] * 2


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda q: q - 100, r"f\(Q\)\[s='hall', b=0\] is -.* at Q = .*; allowed finite values ≥ 0"),
        (lambda q: np.where(q < 5, np.nan, q), r"f\(Q\)\[s='hall', b=0\] is nan"),
        (lambda q: np.where(q < 5, 1, np.inf), r"f\(Q\)\[s='yard', b=0\] is inf at Q = 5\.26"),
        (lambda q: q * [[1], [0]], r"f\(Q\)\[s='yard'\] is 0 for every action"),
        (lambda q: 1.0, r"f\(Q\) has shape \(\); allowed \(2, 4\)"),
        (lambda q: q.max(axis=1), r"f\(Q\) has shape \(2,\)"),
        (lambda q: None, r"f\(Q\)"),
        (lambda q: "much", r"f\(Q\) is no array of numbers"),
    ],
)
def test_a_function_that_makes_no_policy_is_refused(f, message):
    with pytest.raises(InvalidArgument, match=message):
        ProportionalFollower(f).respond(crossroads(), SECOND, COMMITMENT)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OptimalFollower("best"), "ties is 'best'; allowed first, last, random, mix, all"),
        (lambda: OptimalFollower(None), "ties is None"),
        (lambda: EpsilonGreedyFollower(0.1, "all"), "ties is 'all'; allowed first, last, random"),
        (lambda: EpsilonGreedyFollower(-0.1), r"epsilon is -0\.1; allowed a number, 0 ≤ x ≤ 1"),
        (lambda: EpsilonGreedyFollower(1.1), r"epsilon is 1\.1"),
        (lambda: EpsilonGreedyFollower(float("nan")), "epsilon is nan"),
        (lambda: BoltzmannFollower(-1), "beta is -1; allowed a finite number ≥ 0"),
        (lambda: BoltzmannFollower(float("inf")), "beta is inf"),
        (lambda: BoltzmannFollower(float("nan")), "beta is nan"),
    ],
)
def test_a_parameter_outside_its_range_is_refused(make, message):
    with pytest.raises(InvalidArgument, match=message):
        make()


# All models alike

FOLLOWERS = [
    *(OptimalFollower(ties, 0) for ties in TIES),
    EpsilonGreedyFollower(0.3),
    BoltzmannFollower(2),
    ProportionalFollower(np.exp),
]


@pytest.mark.parametrize("follower", FOLLOWERS, ids=repr)
def test_a_reward_of_states_and_actions_is_averaged_over_the_leader(follower):
    game = TwoAgentMDP(np.ones((1, 2, 2, 1), int), 0)
    reward = np.array([[[0.0, 4.0], [1.0, 0.0]]])
    for door, mean in [([1, 0], [0, 4]), ([0, 1], [1, 0]), ([0.25, 0.75], [0.75, 1])]:
        single = TwoAgentMDP(np.ones((1, 1, 2, 1), int), 0)
        expected = follower.respond(single, np.array([[mean]]), [[1]])
        assert follower.respond(game, reward, [door]) == pytest.approx(expected)


@pytest.mark.parametrize("follower", FOLLOWERS, ids=repr)
def test_what_is_no_commitment_or_reward_is_refused(follower):
    with pytest.raises(InvalidPolicy, match=r"leader policy\[s='yard'\] sums to 0\.5"):
        follower.respond(crossroads(), SECOND, [[1], [0.5]])
    with pytest.raises(InvalidReward, match=r"reward\[s='hall'\] is nan"):
        follower.respond(crossroads(), [np.nan, 0], COMMITMENT)


@pytest.mark.parametrize("follower", FOLLOWERS, ids=repr)
def test_a_follower_is_a_value(follower):
    assert pickle.loads(pickle.dumps(follower)) == follower
    assert hash(follower) == hash(pickle.loads(pickle.dumps(follower)))
    with pytest.raises(AttributeError):
        follower.seed = 1


# Local followers


@given(data=st.data())
def test_values_within_the_tolerance_are_tied_in_an_answer(data):
    q = data.draw(arrays(float, (3, 4), elements=st.integers(-3, 3).map(float)))
    tolerance = data.draw(st.sampled_from([0.0, 1.0, 2.5]))
    tied = q.max(axis=1, keepdims=True) - q <= tolerance
    assert np.array_equal(OptimalFollower("all").answer(q, tolerance), tied)
    mixed = tied / tied.sum(axis=1, keepdims=True)
    assert np.array_equal(OptimalFollower("mix").answer(q, tolerance), mixed)
    greedy = EpsilonGreedyFollower(0.5, "mix").answer(q, tolerance)
    assert greedy == pytest.approx(mixed / 2 + 0.125)


@pytest.mark.parametrize("f", [lambda q: q - 1, lambda q: 0 * q, lambda q: np.nan * q])
def test_a_function_that_makes_no_answer_is_refused_with_its_action_values(f):
    with pytest.raises(InvalidArgument, match=r"f\(Q\) at Q = \[0. 0.\].*not all 0"):
        ProportionalFollower(f).answer(np.zeros((2, 2)))
