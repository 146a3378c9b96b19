"""How a problem of one agent becomes one of two: what the leader sets.

A Gymnasium environment has one agent, who becomes the follower. A *split* says what the leader
does, and rewrites the table's outcomes for each action a of the leader's, state by state:

* `TableChoice`: a chooses among environments of the same states and actions, ``P(·|s, a, b) =
  P_a(·|s, b)`` and ``r(s, a, b) = r_a(s, b)``;
* `Setting`: the same for the values of an argument of the environment's own, as ``is_slippery``:
  the leader decides in every state whether the ice is slippery there;
* `Doors`: a is the set of doors that stand open. A door stands between two cells; an outcome that
  moves the follower from the one to the other while it is shut becomes one that stays, earns the
  reward of the split and ends nothing;
* `StartChoice`: play starts in one more state, in which a is the state of the table where the
  follower begins. That step earns nothing and is discounted as every other; afterwards the leader
  has no say, and her actions all do the same.

A split of your own is any object with a method ``rewrite(outcomes, env)`` that returns `Outcomes`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, Protocol, runtime_checkable

import numpy as np

from iirl_opt.brief import in_brief
from iirl_opt.checks import MAPPING, TEXT, checked, each, optional, refuse, whole
from iirl_opt.errors import InvalidArgument, InvalidGame
from iirl_opt.exact.numbers import EXACT
from iirl_opt.formats.gymnasium.outcomes import Outcomes, read_reward
from iirl_opt.formats.gymnasium.table import read_outcomes
from iirl_opt.game.labels import Labels

__all__ = ["Doors", "Setting", "Split", "StartChoice", "TableChoice"]

MOST_ACTIONS = 4096
LEADERS = "leader action"
COLUMNS = ("state", "follower", "successor", "probability", "reward", "ended")


def _anything(name: str, value: Any) -> Any:
    """Return a value whose meaning is the environment's affair."""
    return value


def _label(name: str, value: Any) -> Any:
    """Return what can be the name of a state."""
    if not isinstance(value, Hashable) or value != value:
        raise refuse(name, value, "a label, which can be hashed")
    return value


def _earned(name: str, value: Any) -> Any:
    """Return what is an exact number, whose float is finite."""
    try:
        read_reward(exact := EXACT(name, value))
    except OverflowError:
        raise refuse(name, value, "a finite number") from None
    return exact


@runtime_checkable
class Split(Protocol):
    """What the leader does in a problem of one agent.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from iirl_opt.formats import from_gymnasium
    >>> class Watch:  # the leader has one action, which changes nothing
    ...     def rewrite(self, outcomes, env):
    ...         return dataclasses.replace(outcomes, leader_actions=("watch",))
    >>> env = SimpleNamespace(P={0: {0: [(1, 1, 0, False)]}, 1: {0: [(1, 0, 0, False)]}})
    >>> env.unwrapped = env
    >>> isinstance(Watch(), Split), from_gymnasium(env, 0.9, leader=Watch()).game.leader_actions
    (True, ('watch',))
    """

    def rewrite(self, outcomes: Outcomes, env: Any) -> Outcomes:
        """Return outcomes for each pair of actions, of those of the follower alone."""
        ...


@checked(environments=MAPPING)
@dataclass(frozen=True)
class TableChoice:
    """The leader chooses, state by state, the environment whose table says what happens.

    Parameters
    ----------
    environments : an environment for each action of the leader's; all have the states and the
        actions of the one that is read, whose names and start they share.

    **Cost** one reading an environment.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from iirl_opt.formats import from_gymnasium
    >>> goal = {0: [(1, 1, 0, False)]}
    >>> stuck = SimpleNamespace(P={0: {0: [(1, 0, 0, False)]}, 1: goal})
    >>> free = SimpleNamespace(P={0: {0: [(1, 1, 0, False)]}, 1: goal})
    >>> stuck.unwrapped, free.unwrapped = stuck, free
    >>> game = from_gymnasium(free, 0.9, leader=TableChoice({"shut": stuck, "open": free})).game
    >>> game.leader_actions, game.kernel[0, :, 0].tolist()
    (('shut', 'open'), [[1.0, 0.0], [0.0, 1.0]])
    """

    environments: Mapping[Hashable, Any]

    __repr__ = in_brief

    def rewrite(self, outcomes: Outcomes, env: Any) -> Outcomes:
        """Return the outcomes of all tables side by side.

        Raises
        ------
        InvalidArgument
            There is no environment; one has no table, or other states or actions.
        InvalidGame
            A table is malformed.
        """
        if not self.environments:
            raise InvalidArgument("environments", "are none", "one for each action of the leader")
        return _side_by_side(outcomes, _tables(self.environments, outcomes))


@checked(argument=TEXT, values=each(_anything, 1), names=optional(each(_label)))
@dataclass(frozen=True)
class Setting:
    """The leader sets an argument of the environment, state by state.

    Parameters
    ----------
    argument : of the environment's own, as ``is_slippery`` of FrozenLake and CliffWalking, or
        ``is_rainy`` of Taxi.
    values : what it may be set to.
    names : of the leader's actions; ``argument=value`` by default.

    The environment is made anew for each value, by its own `spec`. That knows nothing of a map that
    was drawn at random, nor of a table that was changed afterwards: then it is refused, and
    `TableChoice` takes the environments themselves.

    **Cost** one making of the environment and one reading a value, and one more of either.

    Examples
    --------
    >>> Setting("is_slippery", names=("sand", "leave")).values
    (False, True)
    """

    argument: str
    values: Sequence[Any] = (False, True)
    names: Sequence[Hashable] | None = None

    __repr__ = in_brief

    def __post_init__(self) -> None:
        if self.names is not None and len(self.names) != len(self.values):
            problem, allowed = f"are {len(self.names)}", f"{len(self.values)}, as the values"
            raise InvalidArgument("names", problem, allowed, self.names)

    def rewrite(self, outcomes: Outcomes, env: Any) -> Outcomes:
        """Return the outcomes of the environment under each value, side by side.

        Raises
        ------
        InvalidArgument
            The environment does not say how it was made, or what it says gives another table; it
            has no such argument, or one on which no outcome depends.
        InvalidGame
            Two of the leader's actions have one name.
        """
        spec = getattr(env.unwrapped, "spec", None)
        if spec is None:
            allowed = "one from gymnasium.make, or the leader's tables by TableChoice({...})"
            raise InvalidArgument("env", "does not say how it was made", allowed, env)
        names = self.names or tuple(f"{self.argument}={value}" for value in self.values)
        names = Labels(names, LEADERS)
        quiet = {"render_mode": None} if "render_mode" in spec.kwargs else {}
        with ExitStack() as stack:

            def make(place: str, **more: Any) -> Any:
                try:
                    return stack.enter_context(closing(spec.make(**quiet, **more)))
                except Exception as problem:  # whatever an environment says of its arguments
                    said = f"is refused by {spec.id} ({problem})"
                    allowed = "an argument of the environment, and a value of it"
                    raise InvalidArgument(place, said, allowed, more) from None

            again = _tables({"env": make("env")}, outcomes)["env"]
            if not _same_outcomes(again, outcomes):
                problem = f"has a table that its spec ({spec.id}) does not give again"
                allowed = "one that is as it was made, or the leader's tables by TableChoice({...})"
                raise InvalidArgument("env", problem, allowed, env)
            made = {
                name: make(f"{self.argument}={value!r}", **{self.argument: value})
                for name, value in zip(names, self.values, strict=True)
            }
            first, *others = (parts := _tables(made, outcomes)).values()
        if others and all(_same_outcomes(first, part) for part in others):
            problem = f"is {self.argument!r}, on which no outcome of {spec.id} depends"
            raise InvalidArgument("argument", problem, "one that changes the table", self.argument)
        return _side_by_side(outcomes, parts)


@checked(doors=MAPPING, reward=_earned, at_once=optional(whole(0)))
@dataclass(frozen=True)
class Doors:
    """The leader opens doors between cells, and leaves the others shut.

    Parameters
    ----------
    doors : two cells for each door by name, as ``{"gate": ((0, 0), (0, 1))}``. A cell is
        ``(row, column)`` in FrozenLake, CliffWalking and Taxi, and a state elsewhere; a cell of
        Taxi's is the same door for every passenger.
    reward : what it earns to run into a shut door, as running into a wall does: 0 in FrozenLake,
        -1 in CliffWalking and Taxi.
    at_once : how many doors may be open at a time; None for any number.

    The leader's actions are called after the doors that are open, as ``gate`` and ``gate, hatch``,
    and ``shut`` where none is; so no door is called ``shut``, nor as two others together. Doors
    stop moves in both directions, and moves that the follower slipped into, too; a fall that the
    table sends elsewhere, as CliffWalking's cliff does to the start, is a move to where it leads.

    **Cost** arithmetic: a copy of the outcomes for each action of the leader's.

    Examples
    --------
    >>> Doors({"gate": ((0, 0), (0, 1)), "hatch": ((0, 0), (1, 0))}, reward=0).at_once
    1
    """

    doors: Mapping[str, tuple[Hashable, Hashable]]
    reward: Any
    at_once: int | None = 1

    __repr__ = in_brief

    def _open_sets(self) -> tuple[tuple[str, ...], ...]:
        """Return the sets of doors that may stand open, one for each action of the leader's."""
        most = len(self.doors) if self.at_once is None else min(self.at_once, len(self.doors))
        sets: list[tuple[str, ...]] = []
        for size in range(most + 1):
            for chosen in combinations(self.doors, size):
                sets.append(chosen)
                if len(sets) > MOST_ACTIONS:
                    problem = f"give the leader more than {MOST_ACTIONS} actions"
                    raise InvalidArgument("doors", problem, "fewer at once (at_once=)", self.doors)
        return tuple(sets)

    def rewrite(self, outcomes: Outcomes, env: Any) -> Outcomes:
        """Return the outcomes under each set of open doors.

        Raises
        ------
        InvalidArgument
            A door is no pair of cells, or nobody ever passes it.
        InvalidGame
            Two of the leader's actions have one name.
        UnknownLabel
            A cell that the environment does not have.
        """
        passes = {name: self._passing(name, pair, outcomes) for name, pair in self.doors.items()}
        parts, sets = {}, self._open_sets()
        actions = Labels((", ".join(map(str, chosen)) or "shut" for chosen in sets), LEADERS)
        for label, chosen in zip(actions, sets, strict=True):
            stopped = np.zeros(outcomes.state.size, dtype=bool)
            for name, passing in passes.items():
                if name not in chosen:
                    stopped |= passing
            reward = outcomes.reward.copy()
            reward[stopped] = read_reward(self.reward)
            parts[label] = dataclasses.replace(
                outcomes,
                successor=np.where(stopped, outcomes.state, outcomes.successor),
                reward=reward,
                ended=outcomes.ended & ~stopped,
            )
        return _side_by_side(outcomes, parts)

    def _passing(self, name: str, pair: Any, outcomes: Outcomes) -> Any:
        """Return which outcomes pass a door."""
        place = f"doors[{name!r}]"
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidArgument(place, f"is {pair!r}", "two cells", pair)
        cells = Labels(dict.fromkeys(outcomes.cells), "cell")
        one, other = map(cells.index, pair)
        at = np.array([cells.index(cell) for cell in outcomes.cells])
        here, there = at[outcomes.state], at[outcomes.successor]
        passing = ((here == one) & (there == other)) | ((here == other) & (there == one))
        if one == other or not passing.any():
            allowed = "two cells between which a move of the table leads"
            raise InvalidArgument(place, f"is {pair!r}, which nobody passes", allowed, pair)
        return passing


@checked(states=each(_label, 1), name=TEXT)
@dataclass(frozen=True)
class StartChoice:
    """The leader chooses where the follower begins.

    Parameters
    ----------
    states : labels of the states that she may choose.
    name : of the state in which she does.

    **Cost** arithmetic.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from iirl_opt.formats import from_gymnasium
    >>> env = SimpleNamespace(P={0: {0: [(1, 1, 0, False)]}, 1: {0: [(1, 1, 0, False)]}})
    >>> env.unwrapped = env
    >>> choice = StartChoice(["far", "near"])
    >>> game = from_gymnasium(env, 0.9, states=["far", "near"], leader=choice).game
    >>> game.leader_actions, game.states
    (('far', 'near'), ('far', 'near', 'choose'))
    """

    states: Sequence[Hashable]
    name: str = "choose"

    __repr__ = in_brief

    def rewrite(self, outcomes: Outcomes, env: Any) -> Outcomes:
        """Return the outcomes with one more state, in which play starts.

        Raises
        ------
        UnknownLabel
            A state that the environment does not have.
        InvalidGame
            A state is named twice.
        """
        known = Labels(outcomes.states, "state")
        at = np.array([known.index(state) for state in Labels(self.states, LEADERS)])
        n_b, new = len(outcomes.follower_actions), outcomes.n_states
        if self.name in outcomes.states:
            raise InvalidGame(f"state {self.name!r}", "is one of the environment", "a new name")
        wide = _side_by_side(outcomes, dict.fromkeys(self.states, outcomes))
        leader, follower = (part.ravel() for part in np.mgrid[: at.size, :n_b])
        one, nothing = np.empty(leader.size, dtype=object), np.empty(leader.size, dtype=object)
        one[:], nothing[:] = Fraction(1), Fraction(0)
        start = np.array([Fraction(0)] * new + [Fraction(1)], dtype=object)
        return dataclasses.replace(
            wide,
            states=(*outcomes.states, self.name),
            cells=(*outcomes.cells, self.name),
            state=np.append(wide.state, np.full(leader.size, new)),
            leader=np.append(wide.leader, leader),
            follower=np.append(wide.follower, follower),
            successor=np.append(wide.successor, at[leader]),
            probability=np.append(wide.probability, one),
            reward=np.append(wide.reward, nothing),
            ended=np.append(wide.ended, np.zeros(leader.size, dtype=bool)),
            start=start,
        )


def _tables(environments: Mapping[Any, Any], outcomes: Outcomes) -> dict[Any, Outcomes]:
    """Return the tables of environments, which have the states and actions of these outcomes."""
    names = outcomes.states[: outcomes.n_table], outcomes.follower_actions
    parts = {label: read_outcomes(env, *names) for label, env in environments.items()}
    for label, part in parts.items():
        if part.states != outcomes.states:
            place, found = f"environments[{label!r}]", f"has {part.n_states} states"
            raise InvalidArgument(place, found, f"{outcomes.n_states}, as env", label)
    return parts


def _same_outcomes(one: Outcomes, other: Outcomes) -> bool:
    """Return whether two tables have the same outcomes, one by one."""
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in COLUMNS)


def _side_by_side(outcomes: Outcomes, parts: Mapping[Any, Outcomes]) -> Outcomes:
    """Return the outcomes of parts, one for each action of the leader's."""
    sizes = [part.state.size for part in parts.values()]

    def joined(field: str) -> Any:
        return np.concatenate([getattr(part, field) for part in parts.values()])

    return dataclasses.replace(
        outcomes,
        leader_actions=tuple(parts),
        leader=np.repeat(np.arange(len(sizes)), sizes),
        **{field: joined(field) for field in COLUMNS},
        is_rational=all(part.is_rational for part in parts.values()),
    )
