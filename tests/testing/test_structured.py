"""Strategies with structure: chains, influence, ties, answers; built and not filtered."""

from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import product

import networkx as nx
import numpy as np
import pytest
from depth import share
from hypothesis import Phase, find, given, settings, strategies as st
from hypothesis.statistics import collector

from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.proportional import Exponential, ProportionalFollower
from iirl_opt.game.exact import exact_optimum
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.testing import games, mdps, observations, planted_ties, policies, rewards

SEARCH = settings(max_examples=2000, database=None, phases=(Phase.generate, Phase.shrink))
QUICKLY = settings(SEARCH, phases=[Phase.generate])


def smallest(strategy, condition=lambda _: True):
    return find(strategy, condition, settings=SEARCH)


def supports(model):
    """Which states each row may lead to, (S, n, S)."""
    return model.kernel.reshape(model.n_states, -1, model.n_states) > 0


def chains(model):
    """The graphs of the chains of all deterministic policies of both agents together."""
    leads = supports(model)
    for choice in product(range(leads.shape[1]), repeat=model.n_states):
        rows = leads[np.arange(model.n_states), choice]
        yield nx.from_numpy_array(rows.astype(int), create_using=nx.DiGraph)


# Chains


@pytest.mark.parametrize("bounds", [{}, {"max_denominator": 2}, {"leader_influence": (0.5, 1)}])
@given(data=st.data())
def test_an_irreducible_game_is_connected_under_every_policy(bounds, data):
    game = data.draw(games(max_states=3, chains="irreducible", **bounds))
    assert all(nx.is_strongly_connected(chain) for chain in chains(game))


@pytest.mark.parametrize("bounds", [{}, {"max_denominator": 2}, {"follower_influence": (0.5, 1)}])
@given(data=st.data())
def test_an_ergodic_game_is_aperiodic_besides(bounds, data):
    game = data.draw(games(max_states=3, chains="ergodic", **bounds))
    for chain in chains(game):
        assert nx.is_strongly_connected(chain)
        assert nx.is_aperiodic(chain)


@given(mdp=mdps(chains="ergodic", max_states=3), fixed=mdps(deterministic=True))
def test_mdps_have_chains_and_deterministic_kernels_too(mdp, fixed):
    assert all(nx.is_strongly_connected(c) and nx.is_aperiodic(c) for c in chains(mdp))
    assert (fixed.kernel.max(axis=-1) == 1).all()


@given(game=games(deterministic=True, start="uniform"))
def test_a_deterministic_game_has_one_next_state_a_row(game):
    assert (game.kernel.max(axis=-1) == 1).all()


@given(game=games(deterministic=True, chains="irreducible"))
def test_a_deterministic_irreducible_game_is_one_cycle(game):
    assert len({row.tobytes() for row in game.kernel[0].reshape(-1, game.n_states)}) == 1
    assert nx.is_strongly_connected(next(chains(game)))


# Influence


PAIRS = [
    ((1, 1), None),
    (0.5, None),
    (("1/2", "3/2"), (1, 2)),
    ((2, 2), (2, 2)),
    (0, 0),
    (None, (Fraction(2, 3), 1)),
    ((1.5, 2), 0.5),
]


def as_pair(bounds):
    if bounds is None:
        return 0, 2
    return (
        (0, float(Fraction(bounds)))
        if np.ndim(bounds) == 0
        else [float(Fraction(b)) for b in bounds]
    )


@pytest.mark.parametrize("asked", PAIRS, ids=str)
@given(data=st.data())
def test_influence_is_within_its_bounds(asked, data):
    first, second = asked
    game = data.draw(
        games(
            max_leader_actions=3,
            max_follower_actions=3,
            leader_influence=first,
            follower_influence=second,
        )
    )
    for (low, high), influence in zip(map(as_pair, asked), game.influence(), strict=True):
        assert low - 1e-12 <= influence <= high + 1e-12
    assert game.is_rational


# Planted ties


MASKS = [
    None,
    [[True, False, True], [False, True, False]],
    [[True, True], [True, True], [False, True]],
]


@pytest.mark.parametrize("shape", ["state", "joint"])
@pytest.mark.parametrize("optimal", MASKS, ids=["any", "two", "three"])
@share(0.5)
@given(data=st.data())
def test_exactly_the_planted_actions_are_optimal(shape, optimal, data):
    found = data.draw(planted_ties(optimal=optimal, shape=shape))
    game, reward, pi1 = found.game, found.reward, found.pi1
    assert optimal is None or found.optimal.tolist() == optimal
    assert found.optimal.any(axis=1).all()
    assert found.optimal.sum() > game.n_states or optimal is not None
    assert (exact_optimum(game, reward, pi1).optimal == found.optimal).all()
    assert (OptimalFollower("all").respond(game, reward, pi1) == found.optimal).all()
    if shape == "joint":
        other = data.draw(policies(game, exact=True))
        assert (exact_optimum(game, reward, other).optimal == found.optimal).all()


# Answers of a follower


GAME = TwoAgentMDP(np.ones((2, 2, 3, 2), dtype=int), "1/2")
SLOTS = np.zeros((2, 2, 3))
SLOTS[0, :, 1:] = 1  # the second and the third action of the first state tie


@pytest.mark.parametrize(
    "follower",
    [
        OptimalFollower("last"),
        OptimalFollower("mix"),
        OptimalFollower("all"),
        EpsilonGreedyFollower(0.3, "mix"),
        BoltzmannFollower(2),
        ProportionalFollower(Exponential(1)),
    ],
    ids=str,
)
@share(0.5)
@given(data=st.data())
def test_observations_are_the_answers_of_the_follower_given(follower, data):
    game = data.draw(games(max_follower_actions=3))
    reward = data.draw(rewards(game))
    seen = data.draw(observations(game, reward=reward, follower=follower))
    answer = np.asarray(follower.respond(game, reward, seen.pi1), dtype=float)
    expected = answer / answer.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(seen.pi2, expected, rtol=1e-15)
    if isinstance(follower, OptimalFollower):
        assert FeasibleRewards(game).add(seen).contains(reward)


def plays(wanted, seen):
    return seen.pi2.argmax(axis=1).tolist() == list(wanted)


@pytest.mark.parametrize("epsilon", [0, Fraction(1, 2)])
@pytest.mark.parametrize("seed", [None, 0])
def test_of_random_ties_every_answer_may_be_observed_whatever_the_seed(epsilon, seed):
    follower = EpsilonGreedyFollower(float(epsilon), "random", seed)
    drawn = observations(GAME, reward=SLOTS, follower=follower)
    for wanted in product((1, 2), (0, 1, 2)):
        seen = find(drawn, partial(plays, wanted), settings=QUICKLY)
        assert seen.pi2.min() == pytest.approx(float(epsilon) / 3)
    assert smallest(drawn).pi2.argmax(axis=1).tolist() == [1, 0]


# Range, shrinking, and that nothing is filtered


REACHED = {
    "no cycle in common": (
        games(min_states=3, max_states=3, max_denominator=1 + 1, chains="irreducible"),
        lambda g: not (supports(g).all(axis=1).any(axis=1)).all(),
    ),
    "periodic chains": (
        games(min_states=2, max_states=2, chains="irreducible"),
        lambda g: not nx.is_aperiodic(next(chains(g))),
    ),
    "cycles in any order": (
        games(min_states=4, chains="irreducible", deterministic=True),
        lambda g: supports(g)[:, 0].argmax(axis=1).tolist() == [2, 3, 1, 0],
    ),
    "an influence between": (
        games(leader_influence=(0.5, 1)),
        lambda g: g.influence()[0] == pytest.approx(2 / 3),
    ),
    "the other's influence is free": (games(leader_influence=0), lambda g: g.influence()[1] == 2),
    "influence in another state": (
        games(leader_influence=(1, 1), min_states=3),
        lambda g: np.ptp(g.kernel[0], axis=0).max() == 0 < np.ptp(g.kernel[2], axis=0).max(),
    ),
    "a tie that differs from state to state": (
        planted_ties(),
        lambda found: set(found.optimal.sum(axis=1)) == {1, 2, 3},
    ),
    "tied actions that lead elsewhere": (
        planted_ties(optimal=[[True, True], [True, True], [True, True]]),
        lambda f: (
            (f.game.kernel[:, :, 0] != f.game.kernel[:, :, 1]).any() and len(set(f.reward)) > 2
        ),
    ),
}


@pytest.mark.parametrize("what", REACHED)
def test_strategies_with_structure_reach(what):
    find(*REACHED[what], settings=QUICKLY)


@pytest.mark.parametrize(
    "strategy",
    [
        games(chains="ergodic"),
        games(chains="irreducible", leader_influence=(0.5, 1), follower_influence=1),
        games(leader_influence=(1, 2), follower_influence=(1, 2), max_states=6),
        planted_ties(max_states=5),
        planted_ties(shape="joint"),
        games().flatmap(lambda g: observations(g, follower=OptimalFollower("random"))),
    ],
    ids=["chains", "both", "influence", "ties", "joint ties", "observations"],
)
def test_no_draw_is_invalid(strategy):
    """Attempts that overrun are hypothesis's own, which mutates choices: of plain lists, too."""
    cases = []

    @settings(max_examples=20, database=None, phases=[Phase.generate])
    @given(strategy)
    def draw(value):
        pass

    with collector.with_value(lambda stats: cases.extend(stats["generate-phase"]["test-cases"])):
        draw()
    statuses = Counter(case["status"] for case in cases)
    assert statuses["valid"] == 20
    assert statuses["invalid"] == 0
    assert statuses["overrun"] <= 20


def test_strategies_with_structure_shrink_to_their_simplest_value():
    assert smallest(games(chains="ergodic")) == TwoAgentMDP([[[[1]]]], "1/2")
    star = smallest(games(min_states=3, chains="irreducible"))
    assert star.shape == (3, 1, 1)
    assert star.kernel[1:, 0, 0].tolist() == [[1, 0, 0], [1, 0, 0]]
    assert (star.kernel[0] > 0).all()
    game = smallest(games(leader_influence=(1, 2)))
    assert game.shape == (2, 2, 1)
    assert game.influence()[1] == 0
    cycle = smallest(games(min_states=3, deterministic=True, chains="irreducible"))
    assert supports(cycle)[:, 0].argmax(axis=1).tolist() == [1, 2, 0]
    ties = smallest(planted_ties())
    assert ties.game.shape == (1, 1, 2)
    assert ties.reward.tolist() == [0]
    assert smallest(planted_ties(), lambda found: not found.optimal.all()).game.shape == (2, 1, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: games(deterministic=1), "deterministic is 1; allowed True, False"),
        (lambda: games(chains="recurrent"), "chains is 'recurrent'; allowed any, irreducible, erg"),
        (lambda: games(chains="ergodic", deterministic=True), "chains is 'ergodic', of determin"),
        (lambda: mdps(chains="ergodic", max_denominator=1), "chains is 'ergodic', of determin"),
        (lambda: games(leader_influence=3), "leader_influence is 3; allowed a number from 0 to 2"),
        (lambda: games(leader_influence=(1, 0)), r"leader_influence is \(1, 0\)"),
        (lambda: games(follower_influence=(0, 1, 2)), r"follower_influence is \(0, 1, 2\)"),
        (lambda: games(follower_influence="much"), "follower_influence is 'much'"),
        (lambda: games(follower_influence=(0, float("nan"))), "follower_influence is nan"),
        (lambda: games(leader_influence=("1/7", "1/7")), r"allowed bounds with some 2m/N between"),
        (
            lambda: games(leader_influence=(2, 2), follower_influence=1, chains="irreducible"),
            r"leader_influence and follower_influence is \(2, 2\) and is 1; .* m ≤ N − 1, N ≤ 4",
        ),
        (lambda: games(leader_influence=(1, 1), max_states=1), "max_states is 1; allowed .* ≥ 2"),
        (
            lambda: games(follower_influence=(1, 1), max_follower_actions=1),
            "max_follower_actions is 1; allowed a whole number ≥ 2",
        ),
        (lambda: planted_ties(optimal=[[1, 0]]), "optimal is .*; allowed booleans"),
        (lambda: planted_ties(optimal=[[False, False]]), "optimal is .*one of them true in each"),
        (lambda: planted_ties(optimal=[[True], [True, True]]), "optimal is .*; allowed booleans"),
        (lambda: games(leader_influence="5/2"), "leader_influence is '5/2'; allowed a number from"),
        (lambda: planted_ties(optimal=[True]), r"optimal has shape \(1,\); allowed \(S, B\)"),
        (lambda: planted_ties(optimal=[[True, False]]), "optimal leaves out actions of the only"),
        (lambda: planted_ties(shape="sparse"), "shape is 'sparse'; allowed state, joint"),
        (lambda: planted_ties(discounts=(0,)), "discounts hold 0, at which all actions tie"),
        (lambda: planted_ties(max_follower_actions=1), "max_follower_actions is 1; allowed .* ≥ 2"),
        (lambda: planted_ties(max_denominator=0), "max_denominator is 0"),
        (lambda: observations(GAME, follower="optimal"), "follower is 'optimal'; allowed a respon"),
    ],
)
def test_arguments_of_structure_are_checked_at_once(call, message):
    with pytest.raises(InvalidArgument, match=message):
        call()
