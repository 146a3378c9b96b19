"""A model by its choices, as PRISM and Storm keep one, and the game that it is.

In PRISM a state has a list of *choices*, each with a distribution of the next state and perhaps an
action label; states differ in how many they have, and one state may have several choices of one
label. In a game every state has every action. So a choice becomes an action by name: the label;
``send1#2`` for the second choice of a state with the label ``send1``; ``choice 0``, ``choice 1``
for those without one. Actions stand in the order in which they are met. What stands in for one
that a state lacks says `iirl_opt.formats.choices`.

**One agent.** All choices are the follower's (or the leader's), and the other has one action, "-".

**Two agents.** Choices are the leader's or the follower's by their labels. Who has no choice in a
state has there the one action "-". Where both have choices, the leader may take one of its own or
leave the state to the follower with "-": so the pairs of actions are the choices of the state, and
what both can reach together is what one agent could.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import FLAG, TEXT, Rule, each
from iirl_opt.errors import FileProblem, InvalidArgument, InvalidGame, UnknownLabel
from iirl_opt.exact.numbers import as_reals, common
from iirl_opt.exact.rows import ExactRows
from iirl_opt.formats.choices import (
    AGENT,
    IDLE,
    UNAVAILABLE,
    Agent,
    Unavailable,
    refuse_bare,
    stand_ins,
)
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.kernel import LARGEST
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = [
    "MOST_STATES",
    "READING",
    "ChoiceModel",
    "ChoiceReading",
    "action_name",
]

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

MOST_STATES = 2**24
MOST_TRANSITIONS = 2**27  # transitions of a game, those of stand-ins counted


# What the arguments of readers may be that say how choices are read.
READING: dict[str, Rule] = {
    "agent": AGENT,
    "leader": each(TEXT),
    "unavailable": UNAVAILABLE,
    "absorbing": FLAG,
}


@dataclass(frozen=True, slots=True)
class ChoiceReading:
    """What a reader of choices makes of them; see `iirl_opt.formats.read_drn`."""

    discount: Any
    agent: Agent = "follower"
    leader: Iterable[str] | None = None
    unavailable: Unavailable = "repeat"
    absorbing: bool = False


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
        model = self._without_deadlocks(reading.absorbing)
        slots, available, actions = model._slots(reading)
        rows = slots.ravel()
        spans = np.diff(model.indptr)[rows]
        if (size := int(spans.sum())) > MOST_TRANSITIONS:
            raise FileProblem(
                self.path,
                f"makes a game of {size:g} transitions; allowed up to {MOST_TRANSITIONS:g}",
            )
        indptr = np.concatenate([[0], np.cumsum(spans)])
        at = np.repeat(model.indptr[rows] - indptr[:-1], spans) + np.arange(size)
        whole, below = common(np.array([*model.numbers], dtype=object))
        whole = whole.astype(np.int64) if below < LARGEST // 2 else whole
        weights = whole[model.codes[at]]
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
        own = None if available.all() else available
        return ImportedGame(game, model._rewards(slots), model.labels, own, source)

    @property
    def names(self) -> Sequence[Any]:
        """The names of the states, or else their numbers."""
        return range(self.n_states) if self.states is None else self.states

    def _without_deadlocks(self, absorbing: bool) -> ChoiceModel:
        """Return the model in which a state without choices stays where it is."""
        bare = np.flatnonzero(np.bincount(self.state_of, minlength=self.n_states) == 0)
        if not bare.size:
            return self
        if not absorbing:
            refuse_bare(np.isin(np.arange(self.n_states), bare), self.names)
        spans, n = np.diff(self.indptr), self.state_of.size
        order = np.argsort(np.concatenate([self.state_of, bare]), kind="stable")
        entry = np.argsort(np.concatenate([np.repeat(self.state_of, spans), bare]), kind="stable")
        marks = self.labels.get("deadlock", np.zeros(self.n_states, dtype=bool)).copy()
        marks[bare] = True
        actions = self.action_of
        if actions is not None:
            actions = [actions[i] if i < n else "" for i in order.tolist()]
        zero = np.full(bare.size, Fraction(0), dtype=object)
        return replace(
            self,
            state_of=np.concatenate([self.state_of, bare])[order],
            indptr=np.concatenate([[0], np.cumsum(np.append(spans, np.ones_like(bare))[order])]),
            columns=np.concatenate([self.columns, bare])[entry],
            codes=np.concatenate([self.codes, np.full(bare.size, len(self.numbers))])[entry],
            numbers=[*self.numbers, Fraction(1)],
            action_of=actions,
            labels={**self.labels, "deadlock": marks},
            choice_rewards={k: np.append(r, zero)[order] for k, r in self.choice_rewards.items()},
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
                    "the players or action labels that are the leader's (leader=, --leader)",
                )
            grid, names = self._columns(np.arange(self.state_of.size))
            if reading.agent == "leader":
                slots, actions = grid[:, :, None], (names, [IDLE])
            else:
                slots, actions = grid[:, None, :], ([IDLE], names)
            unavailable = reading.unavailable
        else:
            slots, actions = self._slots_of_two(self._leads(reading.leader), reading.unavailable)
            unavailable = "repeat"  # pairs that nobody has are no gaps
        available = slots >= 0
        labels = self.names, *actions
        filled = slots.ravel()[stand_ins(available, labels, unavailable)]
        return filled.reshape(slots.shape), available, actions

    def _slots_of_two(
        self, leads: Booleans, unavailable: Unavailable
    ) -> tuple[Integers, tuple[list[str], list[str]]]:
        """Return the choice of each pair of actions, −1 for none, where some are the leader's."""
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
        slots = np.full((self.n_states, 1 + len(one), 1 + len(two)), -1)
        slots[:, 1:, 0], slots[:, 0, 1:] = leader, follower
        return slots, ([IDLE, *one], [IDLE, *two])

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
        if self.n_states * len(names) > MOST_TRANSITIONS:
            found = f"{self.n_states} states × {len(names)} actions"
            raise FileProblem(
                self.path, f"makes a game of {found}; allowed up to {MOST_TRANSITIONS:g}"
            )
        grid = np.full((self.n_states, len(names)), -1)
        grid[state, [action[pair] for pair in pairs]] = choices
        return grid, names

    def _refuse_gaps(self, grid: Integers, names: Sequence[str]) -> None:
        """Refuse a state in which an agent has some of its actions and lacks another."""
        gaps = (grid < 0) & (grid >= 0).any(axis=1, keepdims=True)
        if gaps.any():
            state, action = map(int, np.argwhere(gaps)[0])
            raise InvalidGame(
                f"P[s={self.names[state]!r}, action={names[action]!r}]",
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


def action_name(label: str, nth: int) -> str:
    """Return the name of the nth choice (from 0) of a state with this label."""
    if not label:
        return f"choice {nth}"
    return label if nth == 0 else f"{label}#{nth + 1}"
