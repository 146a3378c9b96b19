"""A model by its choices, as PRISM and Storm keep one, and the game that it is.

In PRISM a state has a list of *choices*, each with a distribution of the next state and perhaps an
action label; states differ in how many they have, and one state may have several choices of one
label. In a game every state has every action. So a choice becomes an action by name: the label;
``send1#2`` for the second choice of a state with the label ``send1``; ``choice 0``, ``choice 1``
for those without one. Actions stand in the order in which they are met. One that a state lacks
repeats the first that it has, and `ImportedGame.available` says which are the source's own.

**One agent.** All choices are the follower's (or the leader's), and the other has one action, "-".

**Two agents.** Choices are the leader's or the follower's by their labels. Who has no choice in a
state has there the one action "-". Where both have choices, the leader may take one of its own or
leave the state to the follower with "-": so the pairs of actions are the choices of the state, and
what both can reach together is what one agent could.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import one_of
from iirl_opt.errors import FileProblem, InvalidArgument, InvalidGame, UnknownLabel
from iirl_opt.exact.numbers import as_reals
from iirl_opt.exact.rows import ExactRows
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = [
    "AGENT",
    "DEADLOCKS",
    "IDLE",
    "UNAVAILABLE",
    "ChoiceModel",
    "ChoiceReading",
    "action_name",
]

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

IDLE = "-"  # the action of an agent that has no choice
LARGEST = 2**27  # transitions of a game, those of stand-ins counted
SMALL = 2**61  # weights that int64 holds, with their sums

AGENT = one_of("follower", "leader")
UNAVAILABLE = one_of("repeat", "refuse")
DEADLOCKS = one_of("refuse", "absorb")


@dataclass(frozen=True, slots=True)
class ChoiceReading:
    """What a reader of choices makes of them; see `iirl_opt.formats.read_drn`."""

    discount: Any
    agent: str = "follower"
    leader: Iterable[str] | None = None
    unavailable: str = "repeat"
    deadlocks: str = "refuse"


@dataclass(frozen=True, eq=False)
class ChoiceModel:
    """A Markov decision process or chain by its choices, which stand in the order of states.

    Attributes
    ----------
    path : the file.
    n_states : S.
    state_of : the state of each choice, (C,), ascending.
    indptr, columns, codes : successors of each choice in the layout of CSR, columns ascending; a
        code says which of `numbers` the probability is.
    numbers : the distinct probabilities.
    action_of : the label of each choice, "" for none, (C,); None for a chain.
    start : the initial states, (S,).
    states : their names, or None for their numbers.
    labels : sets of states by name.
    state_rewards, choice_rewards : Fractions by name, (S,) and (C,).
    player_of : the player whose state it is, by name, (S,), in a turn-based game.
    """

    path: Path
    n_states: int
    state_of: Integers
    indptr: Integers
    columns: Integers
    codes: Integers
    numbers: Sequence[Fraction]
    action_of: Sequence[str] | None
    start: Booleans
    states: Sequence[str] | None = None
    labels: Mapping[str, Booleans] = field(default_factory=dict)
    state_rewards: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    choice_rewards: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    player_of: Sequence[str] | None = None

    def game(self, reading: ChoiceReading, source: str) -> ImportedGame:
        """Return the game.

        Raises
        ------
        InvalidGame
            A state lacks an action, or is a deadlock, and that is to be refused.
        UnknownLabel
            `leader` names neither an action label nor a player.
        InvalidArgument
            There is no discount.
        """
        if reading.discount is None:
            allowed = "0 ≤ γ < 1: this file has none (discount=, --discount)"
            raise InvalidArgument("discount", "is not given", allowed)
        model = self._without_deadlocks(reading.deadlocks)
        slots, available, actions = model._slots(reading)
        rows = slots.ravel()
        spans = np.diff(model.indptr)[rows]
        if (size := int(spans.sum())) > LARGEST:
            raise FileProblem(
                self.path, f"makes a game of {size:g} transitions; allowed up to {LARGEST:g}"
            )
        indptr = np.concatenate([[0], np.cumsum(spans)])
        at = np.repeat(model.indptr[rows] - indptr[:-1], spans) + np.arange(size)
        weights = _weights(model.numbers)[model.codes[at]]
        ones = np.ones(rows.size, dtype=np.int64)
        kernel = ExactRows(indptr, model.columns[at], weights, ones, self.n_states)
        game = TwoAgentMDP(
            RowBlocks.of(kernel),
            reading.discount,
            self.start.astype(np.int64),
            states=self.states,
            leader_actions=actions[0],
            follower_actions=actions[1],
        )
        labels = dict(model.labels)
        whole = None if available.all() else available
        return ImportedGame(game, model._rewards(slots), labels, whole, source)

    def _name(self, state: int) -> str:
        """Name a state in a message."""
        return repr(state if self.states is None else self.states[state])

    def _without_deadlocks(self, deadlocks: str) -> ChoiceModel:
        """Return the model in which a state without choices stays where it is."""
        bare = np.flatnonzero(np.bincount(self.state_of, minlength=self.n_states) == 0)
        if not bare.size:
            return self
        if deadlocks == "refuse":
            raise InvalidGame(
                f"P[s={self._name(int(bare[0]))}]",
                f"has no choice: a deadlock, one of {bare.size}",
                "a choice in each state, or deadlocks='absorb', which lets them stay for ever",
                int(bare[0]),
            )
        spans, n = np.diff(self.indptr), self.state_of.size
        order = np.argsort(np.concatenate([self.state_of, bare]), kind="stable")
        entry = np.argsort(np.concatenate([np.repeat(self.state_of, spans), bare]), kind="stable")
        marks = self.labels.get("deadlock", np.zeros(self.n_states, dtype=bool)).copy()
        marks[bare] = True
        actions = self.action_of
        if actions is not None:
            actions = [actions[i] if i < n else "" for i in order.tolist()]
        zero = np.full(bare.size, Fraction(0), dtype=object)
        return ChoiceModel(
            self.path,
            self.n_states,
            np.concatenate([self.state_of, bare])[order],
            np.concatenate([[0], np.cumsum(np.append(spans, np.ones_like(bare))[order])]),
            np.concatenate([self.columns, bare])[entry],
            np.concatenate([self.codes, np.full(bare.size, len(self.numbers))])[entry],
            [*self.numbers, Fraction(1)],
            actions,
            self.start,
            self.states,
            {**self.labels, "deadlock": marks},
            self.state_rewards,
            {name: np.append(r, zero)[order] for name, r in self.choice_rewards.items()},
            self.player_of,
        )

    # Choices become actions ---------------------------------------------------------------------

    def _slots(
        self, reading: ChoiceReading
    ) -> tuple[Integers, Booleans, tuple[list[str], list[str]]]:
        """Return the choice that stands behind each pair of actions, (S, A, B); whether it is the
        source's own, (S, A, B); and the names of both agents' actions."""
        if self.action_of is None or not reading.leader:
            if self.player_of is not None and reading.leader is None:
                players = ", ".join(map(repr, dict.fromkeys(self.player_of)))
                raise InvalidArgument(
                    "leader",
                    f"is not given, and the game has the players {players}",
                    "the players or action labels that are the leader's; () for none",
                )
            all_of = np.arange(self.state_of.size)
            grid, names = self._columns(all_of)
            if reading.unavailable == "refuse":
                self._refuse_gaps(grid, names)
            own = grid >= 0
            full = np.where(own, grid, _first(grid)[:, None])
            if reading.agent == "leader":
                return full[:, :, None], own[:, :, None], (names, [IDLE])
            return full[:, None, :], own[:, None, :], ([IDLE], names)
        return self._slots_of_two(self._leads(reading.leader), reading.unavailable)

    def _slots_of_two(
        self, leads: Booleans, unavailable: str
    ) -> tuple[Integers, Booleans, tuple[list[str], list[str]]]:
        """Return what `_slots` does, where some choices are the leader's."""
        mine, others = np.flatnonzero(leads), np.flatnonzero(~leads)
        (leader, one), (follower, two) = self._columns(mine), self._columns(others)
        for names in (one, two):
            if IDLE in names:
                raise FileProblem(
                    self.path, f"has an action called {IDLE!r}, which is that of waiting"
                )
        if unavailable == "refuse":
            self._refuse_gaps(leader, one)
            self._refuse_gaps(follower, two)
        # What happens if the leader waits: a choice of the follower's, else the leader's first.
        first = _first(follower)
        first = np.where(first >= 0, first, _first(leader))
        waits = np.where(follower >= 0, follower, first[:, None])
        waits = np.concatenate([first[:, None], waits], axis=1)
        slots = np.where(leader[:, :, None] >= 0, leader[:, :, None], waits[:, None, :])
        slots = np.concatenate([waits[:, None, :], slots], axis=1)
        available = np.zeros(slots.shape, dtype=bool)
        available[:, 1:, 0], available[:, 0, 1:] = leader >= 0, follower >= 0
        return slots, available, ([IDLE, *one], [IDLE, *two])

    def _leads(self, leader: Iterable[str]) -> Booleans:
        """Return which choices are the leader's, (C,)."""
        actions = np.array(self.action_of, dtype=object)
        players = np.array([""] if self.player_of is None else self.player_of, dtype=object)
        known = [name for name in dict.fromkeys([*actions, *players]) if name]
        for name in leader:
            if name not in known:
                raise UnknownLabel("action label or player", name, known)
            if name in actions and name in players:
                raise InvalidArgument(
                    "leader", f"holds {name!r}, an action label and a player", "one of both", name
                )
        leads: Booleans = np.asarray(np.isin(actions, list(leader)))
        if self.player_of is not None:
            leads = leads | np.asarray(np.isin(players[self.state_of], list(leader)))
        return leads

    def _columns(self, choices: Integers) -> tuple[Integers, list[str]]:
        """Return which of some choices each action is in each state, (S, n), −1 for none, and the
        names of the actions, in the order in which they are met."""
        if self.action_of is None:
            return choices[:, None], [IDLE]
        labels = [self.action_of[i] for i in choices.tolist()]
        code = {name: i for i, name in enumerate(dict.fromkeys(labels))}
        kind = np.array([code[name] for name in labels], dtype=np.int64)
        state = self.state_of[choices]
        # How many choices of this label the state has had before.
        order = np.lexsort([choices, kind, state])
        fresh = np.ones(order.size, dtype=bool)
        fresh[1:] = (np.diff(state[order]) != 0) | (np.diff(kind[order]) != 0)
        since = np.arange(order.size)
        nth = np.empty_like(order)
        nth[order] = since - np.maximum.accumulate(np.where(fresh, since, 0))
        pairs = list(zip(labels, nth.tolist(), strict=True))
        action = {pair: i for i, pair in enumerate(dict.fromkeys(pairs))}
        names = [action_name(*pair) for pair in action]
        if len(set(names)) < len(names):
            double = next(name for i, name in enumerate(names) if name in names[:i])
            raise FileProblem(self.path, f"has two actions that would be called {double!r}")
        if self.n_states * len(names) > LARGEST:
            found = f"{self.n_states} states × {len(names)} actions"
            raise FileProblem(self.path, f"makes a game of {found}; allowed up to {LARGEST:g}")
        grid = np.full((self.n_states, len(names)), -1)
        grid[state, [action[pair] for pair in pairs]] = choices
        return grid, names

    def _refuse_gaps(self, grid: Integers, names: Sequence[str]) -> None:
        """Refuse a state in which an agent has some of its actions and lacks another."""
        gaps = (grid < 0) & (grid >= 0).any(axis=1, keepdims=True)
        if gaps.any():
            state, action = map(int, np.argwhere(gaps)[0])
            raise InvalidGame(
                f"P[s={self._name(state)}, action={names[action]!r}]",
                "is missing",
                "each action in each state, or unavailable='repeat', which repeats the first",
            )

    def _rewards(self, slots: Integers) -> dict[str, NDArray[np.float64]]:
        """Return the rewards: (S,) where no choice matters, else (S, A, B)."""
        found = {}
        for name in dict.fromkeys([*self.state_rewards, *self.choice_rewards]):
            of_state, of_choice = self.state_rewards.get(name), self.choice_rewards.get(name)
            if of_choice is None or not of_choice.any():
                assert of_state is not None or of_choice is not None
                zero = np.zeros(self.n_states)
                found[name] = zero if of_state is None else as_reals(of_state)
                continue
            total = of_choice if of_state is None else of_choice + of_state[self.state_of]
            found[name] = as_reals(total)[slots]
        return found


def _first(grid: Integers) -> Integers:
    """Return the first choice of each state in the order of actions, (S,), −1 for none."""
    if not grid.shape[1]:
        return np.full(len(grid), -1)
    first = np.argmax(grid >= 0, axis=1)
    return np.asarray(grid[np.arange(len(grid)), first])


def action_name(label: str, nth: int) -> str:
    """Return the name of the nth choice (from 0) of a state with this label."""
    if not label:
        return f"choice {nth}"
    return label if nth == 0 else f"{label}#{nth + 1}"


def _weights(numbers: Sequence[Fraction]) -> NDArray[Any]:
    """Return numbers over their common denominator, as int64 where they fit."""
    below = math.lcm(*(p.denominator for p in numbers))
    whole = [p.numerator * (below // p.denominator) for p in numbers]
    return np.array(whole, dtype=np.int64 if below < SMALL else object)
