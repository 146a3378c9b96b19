"""Reading an environment's table: once, checked, in exact numbers."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from iirl_opt.checks import refuse, shown
from iirl_opt.errors import InvalidArgument, InvalidGame
from iirl_opt.exact.numbers import UNREADABLE, as_fraction
from iirl_opt.formats.choices import IDLE
from iirl_opt.formats.gymnasium.fickle import with_fickle_passenger
from iirl_opt.formats.gymnasium.names import TableNames, names_of
from iirl_opt.formats.gymnasium.outcomes import (
    Exact,
    Integers,
    Outcomes,
    read_reward,
    simple_fraction,
)
from iirl_opt.game.kernel import SUM_TOLERANCE

__all__ = ["read_outcomes"]

FORM = "(probability, next state, reward, terminated)"


def read_outcomes(env: Any, states: Any = None, actions: Any = None) -> Outcomes:
    """Return the outcomes of an environment's table, all of them the follower's.

    Raises
    ------
    InvalidArgument
        It is no environment, or one without a table.
    InvalidGame
        The table is malformed: names state and action.
    """
    raw = _unwrapped(env)
    table = raw.P
    if not isinstance(table, Mapping | Sequence) or isinstance(table, str) or len(table) == 0:
        raise InvalidGame("P", f"is {type(table).__name__}", "a table P[s][action] of outcomes")
    n_states, n_actions = len(table), _n_actions(table)
    if n_actions == 0:
        raise InvalidGame("P", "has no action", f"lists of {FORM} at P[s][action]", table)
    for what, space, size in (
        ("states", "observation_space", n_states),
        ("actions", "action_space", n_actions),
    ):
        declared = getattr(getattr(raw, space, None), "n", size)
        if declared != size:
            problem = f"has {size} {what}"
            raise InvalidGame("P", problem, f"{declared}, as the {space} says", size)
    names = names_of(raw, n_states, n_actions, states, actions)
    lines = list(_lines(table, names))
    columns = [np.array(column) for column in zip(*(line[:4] for line in lines), strict=True)]
    chances = [line[4] for line in lines]
    choice = columns[0] * n_actions + columns[1]
    probability, is_rational = _probabilities(chances, choice, names)
    positive = np.array([p > 0 for p in probability], dtype=bool)
    reward = np.empty(len(lines), dtype=object)
    reward[:] = [line[5] for line in lines]
    state, action, successor, ended = (column[positive] for column in columns)
    read = Outcomes(
        n_states,
        names.states,
        (IDLE,),
        names.actions,
        names.cells,
        state,
        np.zeros_like(state),
        action,
        successor,
        probability[positive],
        reward[positive],
        ended.astype(bool),
        _start_of(raw, names.states),
        is_rational,
    )
    fickle = getattr(raw, "fickle_passenger", False)
    return with_fickle_passenger(raw, read) if fickle else read


def _unwrapped(env: Any) -> Any:
    """Return an environment without its wrappers, or say why it cannot be read."""
    if hasattr(env, "num_envs"):
        problem = f"is a vector of {env.num_envs} environments"
        raise InvalidArgument("env", problem, "one environment, such as env.envs[0]", env)
    if isinstance(env, type) or not hasattr(env, "unwrapped"):
        raise refuse("env", env, "a Gymnasium environment, as gymnasium.make returns it")
    raw = env.unwrapped
    if getattr(raw, "P", None) is None:
        raise InvalidArgument(
            "env",
            f"({type(raw).__name__}) has no table of transitions env.unwrapped.P",
            "an environment that has one, as FrozenLake, CliffWalking and Taxi have",
            env,
        )
    return raw


def _n_actions(table: Any) -> int:
    """Return the most actions that a state has."""
    rows = table.values() if isinstance(table, Mapping) else table
    return max((len(row) for row in rows if hasattr(row, "__len__")), default=0)


def _lines(table: Any, names: TableNames) -> Iterator[tuple[int, int, int, bool, Any, Fraction]]:
    """Return state, action, successor, terminated, probability and reward of each outcome."""
    for s, state in enumerate(names.states):
        try:
            row = table[s]
        except (KeyError, IndexError):
            raise InvalidGame("P", f"has no entry {s}", f"0 … {len(names.states) - 1}", s) from None
        for b, action in enumerate(names.actions):
            place = f"P[s={state!r}, action={action!r}]"
            try:
                outcomes = row[b]
            except (KeyError, IndexError, TypeError):
                raise InvalidGame(place, "is missing", f"a list of {FORM}") from None
            if not isinstance(outcomes, Sequence) or isinstance(outcomes, str) or not outcomes:
                found = "is empty" if outcomes == [] else f"is {shown(outcomes)}"
                raise InvalidGame(place, found, f"a list of {FORM}", outcomes)
            for i, outcome in enumerate(outcomes):
                yield s, b, *_outcome(outcome, f"{place}[{i}]", len(names.states))


def _outcome(outcome: Any, place: str, n_states: int) -> tuple[int, bool, Any, Fraction]:
    """Return successor, terminated, probability and reward of an outcome."""
    try:
        chance, successor, reward, ended = outcome
        at = operator.index(successor)
    except (TypeError, ValueError):
        raise InvalidGame(place, f"is {shown(outcome)}", FORM, outcome) from None
    if not 0 <= at < n_states:
        raise InvalidGame(place, f"leads to state {shown(at)}", f"0 … {n_states - 1}", successor)
    if not isinstance(ended, bool | np.bool_ | int | np.integer) or ended not in (0, 1):
        raise InvalidGame(place, f"has terminated {shown(ended)}", "True or False", ended)
    try:
        return at, bool(ended), chance, read_reward(reward)
    except UNREADABLE:
        raise InvalidGame(place, f"has reward {shown(reward)}", "a finite number", reward) from None


def _probabilities(given: list[Any], choice: Integers, names: TableNames) -> tuple[Exact, bool]:
    """Return probabilities as Fractions, and whether those of each choice sum to one exactly."""

    def place(i: int) -> str:
        s, b = divmod(int(choice[i]), len(names.actions))
        return f"P[s={names.states[s]!r}, action={names.actions[b]!r}]"

    itself, simple = np.empty(len(given), dtype=object), np.empty(len(given), dtype=object)
    read: dict[Any, tuple[Fraction, Fraction]] = {}
    for i, p in enumerate(given):
        try:
            if (type(p), p) not in read:
                exact = as_fraction(p)
                is_float = isinstance(p, float | np.floating)
                read[type(p), p] = exact, simple_fraction(float(p)) if is_float else exact
            itself[i], simple[i] = read[type(p), p]
        except UNREADABLE:
            raise InvalidGame(place(i), f"has probability {shown(p)}", "0 ≤ p ≤ 1", p) from None
        if not 0 <= itself[i] <= 1 + Fraction(SUM_TOLERANCE):
            raise InvalidGame(place(i), f"has probability {shown(p)}", "0 ≤ p ≤ 1", p)
    first = np.flatnonzero(np.diff(choice, prepend=-1))
    spans = list(pairwise([*first.tolist(), len(given)]))
    if all(sum(simple[i:j]) == 1 for i, j in spans):
        return simple, True
    for i, j in spans:
        total = float(sum(itself[i:j]))
        if abs(total - 1) > SUM_TOLERANCE:
            allowed = f"1 ± {SUM_TOLERANCE:g}"
            raise InvalidGame(place(i), f"sums to {total:.12g}", allowed, total)
    return itself, False


def _start_of(raw: Any, states: Sequence[Hashable]) -> Any:
    """Return the start distribution that an environment holds, or None."""
    given = getattr(raw, "initial_state_distrib", getattr(raw, "isd", None))
    if given is None:
        return None
    array = np.asarray(given)
    if array.shape != (len(states),) or array.dtype.kind not in "biuf":
        found = f"has shape {array.shape} and type {array.dtype}"
        raise InvalidGame("initial_state_distrib", found, f"({len(states)},) numbers", given)
    if not (np.isfinite(array) & (array >= 0)).all():
        s = int(np.argmin(np.isfinite(array) & (array >= 0)))
        place = f"initial_state_distrib[s={states[s]!r}]"
        raise InvalidGame(place, f"is {array[s]}", "0 ≤ p ≤ 1", array[s])
    read = {p: simple_fraction(p) for p in set(array.tolist())}
    simple = np.array([read[p] for p in array.tolist()], dtype=object)
    return simple if sum(simple) == 1 else array.astype(float)
