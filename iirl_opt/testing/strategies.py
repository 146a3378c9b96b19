"""Hypothesis strategies: small rational games and what lives in them.

Every strategy takes its bounds as keywords, checks its arguments at once, filters nothing, and says
what it shrinks towards. Instances are *rational by construction*, so that a claim can be decided in
exact arithmetic and a counterexample be read:

* rows of a kernel and start distributions are small integer weights, and ``game.rational`` has the
  exact numbers;
* policies are small integer weights a state, normalised;
* rewards are short decimals, whole numbers by default.

With ``exact=True`` policies and rewards are arrays of Fractions. Without it they are floats, and
each float is the binary fraction that it is: 1/3 and 0.1 are rounded, 1/4 and 3 are not.

All are drawn as one value for everything and some exceptions, each with its place: hypothesis can
drop those that do not matter and renumber a state wherever it occurs, and so gets down to few
states. A distribution is drawn as the list of its outcomes, each counted as often as it occurs.

Strategies for what lives in a game take the game, so draw that first::

    @given(data=st.data())
    def test_of_a_theorem(data):
        game = data.draw(games(min_states=2))
        reward = data.draw(rewards(game, constant=False))

or chain them: ``games().flatmap(observations)``. The style is that of ``hypothesis.extra.numpy``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import each
from iirl_opt.errors import InvalidArgument, MissingExtra
from iirl_opt.exact.numbers import as_fraction, as_fractions
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.follower.protocols import Follower
from iirl_opt.follower.ties import Ties
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.reward import check_reward
from iirl_opt.observation import Observation, Trajectory, observe, record_trajectory
from iirl_opt.testing.assertions import Agent, policy_shape

try:
    from hypothesis import strategies as st
except ImportError:
    raise MissingExtra("the strategies of iirl_opt.testing", "testing") from None

__all__ = ["followers", "games", "mdps", "observations", "policies", "rewards", "trajectories"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Kind: TypeAlias = Literal["optimal", "epsilon_greedy", "boltzmann", "proportional"]
Start: TypeAlias = Literal["any", "first", "uniform"]
T = TypeVar("T")

DISCOUNTS = ("1/2", "9/10", "1/3", "99/100", "0")
KINDS: tuple[Kind, ...] = get_args(Kind)
STARTS: tuple[Start, ...] = get_args(Start)
TIES: tuple[Ties, ...] = get_args(Ties)
LARGEST_ENTRY = 10**15  # below 2⁵³: decimals with so many digits survive as floats


def games(
    *,
    min_states: int = 1,
    max_states: int = 4,
    min_leader_actions: int = 1,
    max_leader_actions: int = 2,
    min_follower_actions: int = 1,
    max_follower_actions: int = 2,
    max_denominator: int = 4,
    discounts: Iterable[Any] = DISCOUNTS,
    start: Start = "any",
) -> st.SearchStrategy[TwoAgentMDP]:
    """Return a strategy for games.

    Shrinks towards few states and actions, all transitions and the start to the first state, and
    the first discount.

    Parameters
    ----------
    min_states, max_states, … : bounds on S, A and B, each ≥ 1.
    max_denominator : of the probabilities in a row or in the start distribution, and so the largest
        number of next states, ≥ 1; at 1 the game is deterministic.
    discounts : the discounts to choose from, 0 ≤ γ < 1. Zero is among the default ones: pass others
        for a theorem that needs γ > 0.
    start : ``"any"`` distribution, the ``"first"`` state or ``"uniform"``.

    Raises
    ------
    InvalidArgument

    Examples
    --------
    >>> from hypothesis import find
    >>> find(games(), lambda game: game.influence()[1] > 0)
    TwoAgentMDP(2 states, 1×2 actions, discount=0.5, 4 transitions, rational)
    """
    sizes = (
        _between("states", min_states, max_states),
        _between("leader_actions", min_leader_actions, max_leader_actions),
        _between("follower_actions", min_follower_actions, max_follower_actions),
    )
    return st.tuples(*sizes).flatmap(_models(TwoAgentMDP, max_denominator, discounts, start))


def mdps(
    *,
    min_states: int = 1,
    max_states: int = 4,
    min_actions: int = 1,
    max_actions: int = 2,
    max_denominator: int = 4,
    discounts: Iterable[Any] = DISCOUNTS,
    start: Start = "any",
) -> st.SearchStrategy[MDP]:
    """Return a strategy for single-agent MDPs; arguments and shrinking are those of `games`."""
    sizes = (
        _between("states", min_states, max_states),
        _between("actions", min_actions, max_actions),
    )
    return st.tuples(*sizes).flatmap(_models(MDP, max_denominator, discounts, start))


def policies(
    game: TwoAgentMDP | MDP,
    *,
    agent: Agent = "leader",
    deterministic: bool | None = None,
    max_denominator: int = 4,
    exact: bool = False,
) -> st.SearchStrategy[Any]:
    """Return a strategy for policies of a game or an MDP.

    Shrinks towards the first action in every state; without deterministic ones towards the uniform
    policy.

    Parameters
    ----------
    agent : whose: ``"leader"`` (S, A), ``"follower"`` (S, B), or ``"joint"`` (S, A, B), which may
        be correlated. An MDP has one agent, (S, B).
    deterministic : True for one action a state; False for policies that play every action with
        positive probability; None for all.
    max_denominator : of the probabilities, ≥ 1; larger by the number of actions where all must be
        played.
    exact : True for arrays of Fractions, False for floats.

    Raises
    ------
    InvalidArgument
    """
    shape = policy_shape(game, agent)
    _one_of("deterministic", deterministic, (None, True, False))
    _one_of("exact", exact, (True, False))
    most = _whole("max_denominator", max_denominator, 1)
    totals = {None: (1, most), True: (1, 1), False: (0, most)}
    return _policies(shape, *totals[deterministic], exact)


def rewards(
    game: TwoAgentMDP | MDP,
    *,
    shape: Literal["state", "joint"] = "state",
    min_value: Any = -4,
    max_value: Any = 4,
    decimals: int = 0,
    constant: bool | None = None,
    exact: bool = False,
) -> st.SearchStrategy[Any]:
    """Return a strategy for rewards: short decimals, by default small integers.

    Shrinks towards zero, or the admitted value next to it, in every entry; without constant rewards
    towards one that differs in the first entry, by one unit of the last decimal.

    Parameters
    ----------
    shape : ``"state"`` for (S,), ``"joint"`` for (S, A, B) of a game or (S, B) of an MDP.
    min_value, max_value : bounds on the entries, floats, Fractions or strings such as ``"-1/2"``.
    decimals : digits after the point, 0 … 15.
    constant : True for constant rewards only, False for none, None for all.
    exact : True for arrays of Fractions, False for the floats nearest to the decimals.

    Raises
    ------
    InvalidArgument
        Among others: no decimal lies within the bounds, or no reward that is not constant.
    """
    policy_shape(game)
    _one_of("shape", shape, ("state", "joint"))
    _one_of("constant", constant, (None, True, False))
    _one_of("exact", exact, (True, False))
    unit = 10 ** _whole("decimals", decimals, 0, 15)
    low = math.ceil(_number("min_value", min_value) * unit)
    high = math.floor(_number("max_value", max_value) * unit)
    if low > high:
        problem, allowed = f"is {max_value}", f"a decimal between it and min_value = {min_value}"
        raise InvalidArgument("max_value", problem, allowed, max_value)
    for name, bound, units in (("min_value", min_value, low), ("max_value", max_value, high)):
        if abs(units) > LARGEST_ENTRY:
            problem = f"is {bound}, too long with {decimals} decimals"
            raise InvalidArgument(name, problem, "at most 15 digits in all", bound)
    wanted = (game.n_states,) if shape == "state" else game.shape
    size = math.prod(wanted)
    if constant is False and (size == 1 or low == high):
        problem = f"is False with {size} entries from {low / unit:g} to {high / unit:g}"
        raise InvalidArgument("constant", problem, "two entries and two values, or None", constant)
    return _rewards(wanted, low, high, unit, constant, exact)


def followers(
    *, kinds: Iterable[Kind] = KINDS, ties: Iterable[Ties] = TIES, max_beta: int = 10
) -> st.SearchStrategy[Follower]:
    """Return a strategy for followers.

    Shrinks towards the first kind with the first tie rule, and towards ε = 0 and β = 0.

    Parameters
    ----------
    kinds : some of ``"optimal"``, ``"epsilon_greedy"``, ``"boltzmann"`` and ``"proportional"``
        (with increasing, positive, bounded functions: Theorem 3).
    ties : tie rules of the first two kinds; ``"all"``, with which an optimal follower returns a
        mask, is left out for ε-greedy ones.
    max_beta : largest β, a whole number.

    Raises
    ------
    InvalidArgument

    Examples
    --------
    >>> from hypothesis import find
    >>> find(followers(), lambda follower: True)
    OptimalFollower(ties='first', seed=None)
    """
    wanted = _some("kinds", kinds, KINDS)
    rules = _some("ties", ties, TIES)
    playing = [rule for rule in rules if rule != "all"]
    if "epsilon_greedy" in wanted and not playing:
        problem = f"are {', '.join(rules)}, under which no ε-greedy follower plays"
        raise InvalidArgument("ties", problem, ", ".join(TIES[:-1]), rules)
    largest = _whole("max_beta", max_beta, 0)
    models: dict[Kind, st.SearchStrategy[Follower]] = {
        "optimal": _ties(rules).map(lambda rule: OptimalFollower(*rule)),
        "epsilon_greedy": st.builds(
            lambda tenths, rule: EpsilonGreedyFollower(tenths / 10, *rule),
            st.integers(0, 10),
            _ties(playing),
        ),
        "boltzmann": st.integers(0, largest).map(BoltzmannFollower),
        "proportional": st.sampled_from([_ratio, _arc]).map(ProportionalFollower),
    }
    return st.one_of(*(models[kind] for kind in wanted))


def observations(
    game: TwoAgentMDP,
    *,
    reward: ArrayLike | None = None,
    ties: Iterable[Ties] = TIES,
    deterministic: bool | None = None,
) -> st.SearchStrategy[Observation]:
    """Return a strategy for observations: a commitment and an optimal response to some reward.

    So that reward lies in the feasible set. Shrinks towards the first action of both agents in
    every state.

    Parameters
    ----------
    reward : the follower's, (S,) or (S, A, B); by default any of ``rewards(game)``, which the
        observation does not tell.
    ties : the tie rules to choose from; ``"all"`` observes the whole optimal set.
    deterministic : of the commitment, as in `policies`.

    Raises
    ------
    InvalidArgument, InvalidReward
    """
    _game_only(game)
    commitments = policies(game, deterministic=deterministic)
    rules = _ties(_some("ties", ties, TIES))
    truths = rewards(game) if reward is None else st.just(check_reward(game, reward))

    def observed(pi1: Array, rule: tuple[Ties, int | None], truth: Array) -> Observation:
        return observe(game, pi1, OptimalFollower(*rule).respond(game, truth, pi1))

    return st.builds(observed, commitments, rules, truths)


def trajectories(
    game: TwoAgentMDP,
    *,
    pi1: ArrayLike | None = None,
    pi2: ArrayLike | None = None,
    min_length: int = 2,
    max_length: int = 8,
) -> st.SearchStrategy[Trajectory]:
    """Return a strategy for trajectories of positive probability.

    Every step is drawn from what may happen, not with the probability with which it does (for that
    see `sample_trajectory`). Shrinks towards few steps, and at each towards the first state or
    action of positive probability.

    Parameters
    ----------
    pi1, pi2 : the commitment (S, A) and the response (S, B); by default any of ``policies(game)``.
    min_length, max_length : bounds on the number of steps, H + 1.

    Raises
    ------
    InvalidArgument, InvalidPolicy
    """
    _game_only(game)
    leader = policies(game) if pi1 is None else st.just(game.check_leader_policy(pi1))
    follower = (
        policies(game, agent="follower")
        if pi2 is None
        else st.just(game.check_follower_policy(pi2))
    )
    return _trajectories(game, leader, follower, _between("length", min_length, max_length))


@st.composite
def _trajectories(
    draw: st.DrawFn,
    game: TwoAgentMDP,
    leader: st.SearchStrategy[Array],
    follower: st.SearchStrategy[Array],
    lengths: st.SearchStrategy[int],
) -> Trajectory:
    def possible(chances: Array) -> int:
        return draw(st.sampled_from(np.flatnonzero(chances).tolist()))

    pi1, pi2, kernel = draw(leader), draw(follower), game.kernel
    state, steps = possible(game.start), []
    for _ in range(draw(lengths)):
        a, b = possible(pi1[state]), possible(pi2[state])
        steps.append((game.states[state], game.leader_actions[a], game.follower_actions[b]))
        state = possible(kernel[state, a, b])
    return record_trajectory(game, pi1, steps)


@st.composite
def _policies(
    draw: st.DrawFn, shape: tuple[int, ...], least: int, most: int, exact: bool
) -> NDArray[Any]:
    weights = draw(_distributions(shape[:1], math.prod(shape[1:]), least, most))
    if least == 0:
        weights += 1
    if exact:
        weights = as_fractions(weights)
    policy: NDArray[Any] = (weights / weights.sum(axis=1, keepdims=True)).reshape(shape)
    return policy


@st.composite
def _rewards(
    draw: st.DrawFn,
    shape: tuple[int, ...],
    low: int,
    high: int,
    unit: int,
    constant: bool | None,
    exact: bool,
) -> NDArray[Any]:
    size, value = math.prod(shape), st.integers(low, high)
    entries = [draw(value)] * size
    for _ in range(0 if constant else draw(_exceptions(size))):
        entries[draw(_up_to(size - 1))] = draw(value)
    if constant is False and len(set(entries)) == 1:
        entries[draw(_up_to(size - 1))] += 1 if entries[0] < high else -1
    if exact:
        return as_fractions([Fraction(entry, unit) for entry in entries]).reshape(shape)
    return np.array([entry / unit for entry in entries]).reshape(shape)


@st.composite
def _distributions(
    draw: st.DrawFn, shape: tuple[int, ...], width: int, least: int, most: int
) -> Integers:
    """Draw `shape` rows of `width` weights, whole numbers ≥ 0 that sum to `least` … `most`."""
    weights = np.zeros((*shape, width), dtype=np.int64)

    def row() -> Integers:
        outcomes = [draw(_up_to(width - 1)) for _ in range(least + draw(_up_to(most - least)))]
        return np.bincount(np.array(outcomes, dtype=np.int64), minlength=width)

    weights[:] = row()
    for _ in range(draw(_exceptions(math.prod(shape)))):
        weights[tuple(draw(_up_to(size - 1)) for size in shape)] = row()
    return weights


def _exceptions(size: int) -> st.SearchStrategy[int]:
    """Return how many exceptions to draw in an array: enough to reach most of its entries."""
    return _up_to(2 * size if size > 1 else 0)


@cache  # making a strategy takes hypothesis longer than drawing from it
def _up_to(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most)


def _models(
    kind: type[T], max_denominator: Any, discounts: Any, start: Any
) -> Callable[[tuple[int, ...]], st.SearchStrategy[T]]:
    """Return the function from a shape (S, …) to the strategy for models of that shape."""
    most = _whole("max_denominator", max_denominator, 1)
    _one_of("start", start, STARTS)
    known = st.sampled_from(
        [_discount(i, discount) for i, discount in enumerate(_listed("discounts", discounts))]
    )

    def models(shape: tuple[int, ...]) -> st.SearchStrategy[T]:
        n_states = shape[0]
        starts: dict[Start, st.SearchStrategy[Any]] = {
            "any": _distributions((1,), n_states, 1, most).map(np.ravel),
            "first": st.just(np.eye(1, n_states, dtype=np.int64)[0]),
            "uniform": st.just("uniform"),
        }
        # Made by `builds`, an instance is reported as the call that makes it.
        return st.builds(kind, _distributions(shape, n_states, 1, most), known, starts[start])

    return models


def _ties(rules: Sequence[Ties]) -> st.SearchStrategy[tuple[Ties, int | None]]:
    """Return a strategy for tie rules with their seeds."""
    drawn = [rule for rule in rules if rule != "random"]
    strategies: list[st.SearchStrategy[tuple[Ties, int | None]]] = []
    if drawn:
        strategies.append(st.tuples(st.sampled_from(drawn), st.none()))
    if len(drawn) < len(rules):
        strategies.append(st.tuples(st.just("random"), st.integers(0, 99)))
    return st.one_of(strategies)


def _ratio(q: Array) -> Array:
    """Return ``1 + q / (1 + |q|)``: increasing, positive, rational."""
    return np.asarray(1 + q / (1 + np.abs(q)))


def _arc(q: Array) -> Array:
    """Return ``π/2 + arctan q``: increasing and positive."""
    return np.asarray(np.pi / 2 + np.arctan(q))


def _between(what: str, least: Any, most: Any) -> st.SearchStrategy[int]:
    """Return whole numbers from ``min_<what>`` to ``max_<what>``, both ≥ 1."""
    low = _whole(f"min_{what}", least, 1)
    # Sampled, not `integers`: then hypothesis redraws what follows when it tries a smaller size.
    return st.sampled_from(range(low, _whole(f"max_{what}", most, low) + 1))


def _whole(name: str, number: Any, least: int, most: int | None = None) -> int:
    fits = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not fits or number < least or (most is not None and number > most):
        allowed = f"a whole number ≥ {least}" + ("" if most is None else f" and ≤ {most}")
        raise InvalidArgument(name, f"is {number!r}", allowed, number)
    return int(number)


def _number(name: str, number: Any) -> Fraction:
    try:
        return as_fraction(number)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InvalidArgument(name, f"is {number!r}", "a finite number", number) from None


def _discount(position: int, discount: Any) -> Fraction:
    number = _number(f"discounts[{position}]", discount)
    if not 0 <= number < 1:
        raise InvalidArgument(f"discounts[{position}]", f"is {discount}", "0 ≤ γ < 1", discount)
    return number


def _one_of(name: str, value: Any, allowed: Sequence[Any]) -> None:
    # By type too: 1 is no True, and an array has no plain truth.
    if not any(type(value) is type(known) and value == known for known in allowed):
        raise InvalidArgument(name, f"is {value!r}", ", ".join(map(str, allowed)), value)


def _listed(name: str, values: Any) -> list[Any]:
    """Return the values to choose from, at least one; a text is no list of letters."""
    return list(each(lambda _, value: value, 1)(name, values))


def _some(name: str, values: Iterable[T], known: Sequence[T]) -> list[T]:
    listed = _listed(name, values)
    for i, value in enumerate(listed):
        _one_of(f"{name}[{i}]", value, known)
    return listed


def _game_only(game: Any) -> None:
    if not isinstance(game, TwoAgentMDP):
        problem = f"is {type(game).__name__}"
        raise InvalidArgument("game", problem, "a TwoAgentMDP; draw strategies first", game)
