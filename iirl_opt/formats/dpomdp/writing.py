"""Writing ``.dpomdp`` and ``.pomdp`` files: exact numbers as decimals, names that the formats take.

**Probabilities.** The formats have decimals alone, and 1/3 is none. But a row is read over its
exact sum, which may be off one by 1e-9: so the integer weights of a row are written, times one
power of ten over their sum, rounded down to an integer. Weights (1, 2) become 0.333…3 and 0.666…6,
one to two *exactly*, and for any other reader off the probabilities by less than 1e-16 of them.

**Discounts** are read as they are written: one that is no finite decimal is refused, unless it may
be rounded. **Rewards** are floats, written as the shortest decimals that are read as them.

**Names** are letters, digits, ``_`` and ``-`` behind a letter; labels 0, 1, 2, … are given as their
number. All others are written by names that are told apart (`iirl_opt.formats.names`), and what
stands for what is said in comments.

Each agent has one observation, since states are seen here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from iirl_opt.checks import FLAG, PATH, TEXT, checked
from iirl_opt.errors import InvalidGame
from iirl_opt.files import write_text
from iirl_opt.formats.dpomdp.problem import DecPOMDP
from iirl_opt.formats.dpomdp.statements import NUMBER
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.formats.names import distinct_names
from iirl_opt.formats.numbers import as_decimal, plain
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["write_dpomdp", "write_pomdp"]

MOST_DIGITS = 400  # of a decimal that is worth trying
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
KEYWORDS = frozenset(
    ("agents", "discount", "values", "states", "start", "include", "exclude", "actions", "reward")
) | {"observations", "T", "O", "R", "uniform", "identity", "reset", "cost"}


@checked(path=PATH, reward=TEXT, rounded=FLAG)
def write_dpomdp(
    problem: ImportedGame | TwoAgentMDP,
    path: str | Path,
    *,
    reward: str | None = None,
    rounded: bool = False,
) -> None:
    """Write a game and one reward as a ``.dpomdp`` file, which `read_dpomdp` reads back equal.

    Sets of states and available choices have no place in such a file. It is compressed if its
    name ends in ``.gz``.

    Parameters
    ----------
    reward : which reward, by name; the only one, or 0 where there is none, if not given.
    rounded : whether numbers that no decimal of the format is may be written as the nearest floats.

    Raises
    ------
    InvalidGame
        The discount is no finite decimal, or a row takes numbers of 100 digits.
    InvalidArgument, UnknownLabel
        There are several rewards, or none of that name.
    OSError
        The folder is not there or cannot be written to.

    **Source** see the module. **Cost** arithmetic, one line a transition.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 2]]], [[[0, 1]]]], "1/2", states=["hall", "goal"])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "game.dpomdp")
    ...     write_dpomdp(game, path)
    ...     print(*path.read_text().splitlines()[-5:], sep="\\n")
    T: 0 0 : hall : hall : 0.33333333333333333
    T: 0 0 : hall : goal : 0.66666666666666666
    T: 0 0 : goal : goal : 1
    O: * : * : * : 1
    R: * : * : * : * : 0
    """
    given = ImportedGame.of(problem)
    text = _Text(given, reward, rounded, one_agent=False)
    write_text(path, "\n".join(text.lines()) + "\n")


@checked(path=PATH, reward=TEXT, rounded=FLAG)
def write_pomdp(
    problem: ImportedGame | TwoAgentMDP,
    path: str | Path,
    *,
    reward: str | None = None,
    rounded: bool = False,
) -> None:
    """Write a game whose leader has one action as a ``.pomdp`` file of one agent.

    See `write_dpomdp`, which it is like in all but this: the name of the leader's action is lost.

    Raises
    ------
    InvalidGame
        The leader has a choice; and as for `write_dpomdp`.
    InvalidArgument, UnknownLabel
        There are several rewards, or none of that name.
    OSError
        The folder is not there or cannot be written to.

    **Cost** arithmetic, one line a transition.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2", states=["hall", "goal"])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "game.pomdp")
    ...     write_pomdp(ImportedGame(game, {"reward": [0.0, 1.0]}), path)
    ...     print(*path.read_text().splitlines()[-5:], sep="\\n")
    T: 0 : hall : goal 0.5
    T: 0 : goal : goal 1
    O: * : * : * 1
    R: * : * : * : * 0
    R: * : goal : * : * 1
    """
    given = ImportedGame.of(problem)
    if given.game.n_leader_actions > 1:
        count = given.game.n_leader_actions
        raise InvalidGame("leader_actions", f"are {count}", "1: a .pomdp file has one agent", count)
    text = _Text(given, reward, rounded, one_agent=True)
    write_text(path, "\n".join(text.lines()) + "\n")


class _Text:
    """The lines of a file, and the names that they use."""

    def __init__(
        self, given: ImportedGame, reward: str | None, rounded: bool, *, one_agent: bool
    ) -> None:
        self.given, self.game, self.rounded = given, given.game, rounded
        self.one_agent = one_agent
        self.colon = " " if one_agent else " : "
        none = reward is None and not given.rewards
        self.reward = np.zeros(given.game.n_states) if none else given.reward(reward)
        self.names = {
            kind: _names_written(labels, kind)
            for kind, labels in (
                ("state", self.game.states),
                ("leader action", self.game.leader_actions),
                ("follower action", self.game.follower_actions),
            )
        }
        states, leaders, followers = self.names.values()
        self.states = states
        self.joint = followers if one_agent else [f"{a} {b}" for a in leaders for b in followers]

    def lines(self) -> Iterator[str]:
        """Yield the lines."""
        game = self.game
        source = " ".join(self.given.source.split())
        yield f"# {source or 'a game'}, written by iirl_opt"
        for kind, labels in zip(self.names, (game.states, *game.action_labels), strict=True):
            for label, name in zip(labels, self.names[kind], strict=True):
                if str(label) != name:
                    yield f"# {kind} {label!r} is written {name}"
        if not self.one_agent:
            yield "agents: 2"
        yield f"discount: {self._discount()}"
        yield f"values: {'cost' if self._costs else 'reward'}"
        counts = [self._declared(kind) for kind in self.names]
        yield f"states: {counts[0]}"
        start = [f"start: {' '.join(self._decimals(game.exact_start, 'start'))}"]
        if self.one_agent:
            yield from (f"actions: {counts[2]}", "observations: 1", *start)
        else:
            yield from (*start, "actions:", *counts[1:], "observations:", "1", "1")
        yield from self._transitions()
        yield f"O: * : * : *{self.colon}1"
        yield from self._rewards()

    @property
    def _costs(self) -> bool:
        return isinstance(self.given, DecPOMDP) and self.given.values == "cost"

    def _declared(self, kind: str) -> str:
        names = self.names[kind]
        return str(len(names)) if names[0] == "0" else " ".join(names)

    def _discount(self) -> str:
        gamma = self.game.exact_discount
        written = _decimal(gamma)
        if written is not None and NUMBER.fullmatch(written):
            return written
        if self.rounded:
            return repr(self.game.discount)
        allowed = "a decimal of less than 100 digits, or the nearest float (rounded=True, --round)"
        raise InvalidGame("discount", f"is {gamma}", allowed, gamma)

    def _transitions(self) -> Iterator[str]:
        rows = self.game.rational.rows
        n, after = len(self.joint), self.states
        columns, weights = rows.indices.tolist(), rows.numerators.tolist()
        known: dict[tuple[int, ...], list[str]] = {}
        for row, (i, j) in enumerate(pairwise(rows.indptr.tolist())):
            s, joint = divmod(row, n)
            key = tuple(weights[i:j])
            if key not in known:
                total = sum(key)
                known[key] = self._decimals([Fraction(w, total) for w in key], (s, joint))
            head = f"T: {self.joint[joint]} : {self.states[s]} : "
            for column, number in zip(columns[i:j], known[key], strict=True):
                if number != "0":
                    yield f"{head}{after[column]}{self.colon}{number}"

    def _decimals(self, row: Sequence[Fraction], place: Any) -> list[str]:
        """Return a distribution as decimals that are its multiple, exactly, and nearly itself."""
        written = [_decimal(p) for p in row]
        if None in written or max(map(len, written)) > 40:  # type: ignore[arg-type]
            common = math.lcm(*(p.denominator for p in row))
            digits = len(str(common)) + 16
            times = 10**digits // common
            weights = (p.numerator * (common // p.denominator) for p in row)
            written = [plain(Decimal(f"{weight * times}e-{digits}")) for weight in weights]
        numbers = [str(number) for number in written]
        if all(NUMBER.fullmatch(number) for number in numbers):
            return numbers
        if self.rounded:
            return [repr(float(p)) if p else "0" for p in row]
        if place != "start":
            at = np.unravel_index(place[0] * len(self.joint) + place[1], self.game.shape)
            known = (self.game.states, *self.game.action_labels)
            s, a, b = (labels[i] for labels, i in zip(known, at, strict=True))
            place = f"P[s={s!r}, a={a!r}, b={b!r}]"
        allowed = "numbers of less than 100 digits, or the nearest floats (rounded=True, --round)"
        raise InvalidGame(place, "takes numbers of more digits", allowed)

    def _rewards(self) -> Iterator[str]:
        entries = -self.reward if self._costs else self.reward
        entering = isinstance(self.given, DecPOMDP) and self.given.reward_form == "next state"
        yield f"R: * : * : * : *{self.colon}0"
        if entries.ndim == 1:
            for s in np.flatnonzero(entries).tolist():
                where = f"* : {self.states[s]}" if entering else f"{self.states[s]} : *"
                yield f"R: * : {where} : *{self.colon}{_short(entries[s])}"
            return
        flat = entries.reshape(len(self.states), -1)
        for s, joint in np.argwhere(flat).tolist():
            place = f"{self.joint[joint]} : {self.states[s]} : * : *"
            yield f"R: {place}{self.colon}{_short(flat[s, joint])}"


def _names_written(labels: Sequence[Any], kind: str) -> list[str]:
    """Return the names of labels: 0, 1, 2, … where they are those numbers."""
    if all(type(label) is int for label in labels) and list(labels) == list(range(len(labels))):
        return [str(label) for label in labels]
    return distinct_names(labels, kind, NAME, KEYWORDS)


def _decimal(number: Fraction) -> str | None:
    """Return a number as the decimal that it is, or None."""
    decimal = as_decimal(number, MOST_DIGITS)
    return None if decimal is None else plain(decimal)


def _short(number: Any) -> str:
    """Return a float as the shortest decimal that is read as it, whole numbers without a point."""
    value = float(number)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
