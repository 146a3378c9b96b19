"""Two-agent problems in the `.dpomdp` format of the MADP toolbox.

A file declares, once each and in this order, ``agents``, ``discount``, ``values``, ``states``,
``start``, ``actions`` and ``observations``; *statements* follow, of which later ones override
earlier ones:

* ``T: joint action : state : next state : probability``; with fewer places before the last colon
  a row, a whole matrix, ``uniform`` or ``identity`` follows on the same line or below;
* ``R: joint action : state : next state : joint observation : value``, or below
  ``R: joint action : state : next state :`` a row over the joint observations, or below
  ``R: joint action : state :`` a matrix of next states by joint observations; 0 if never written;
* ``O: …``, which is skipped: this library needs the fully observable part.

A state is its name, its index from 0 or ``*``; a joint action is ``*``, one index (the last agent
runs fastest, so it is ``a·B + b``), or a name, index or ``*`` for each of the two agents. Agent 1
is the leader, agent 2 the follower. A line of a row or matrix holds whole rows.

**Probabilities** and the discount are read as the decimals that are written. Rows must sum to one
within 1e-9, and are divided by their exact sum.

**Rewards** come in the least form that carries them. Those of the state are ``(S,)``, those of
state and actions ``(S, A, B)``. A reward r' for *entering* a state becomes the state reward
``r = r'``: its values are ``V_state = r' + γ V_file`` for every policy, so the optimal policies
are the same and `DecPOMDP.file_values` turns values back; at γ = 0 that fails, and the reward is
the expectation of r' over the next state, ``(S, A, B)``, as it is for rewards of state, actions
and next state together.

Source: the comments in ``example.dpomdp`` of the MADP toolbox (Oliehoek, Spaan, Terwijn, Robbel &
Messias, JMLR 2017).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import FileProblem, InvalidArgument, UnknownLabel
from iirl_opt.files import read_text
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["DecPOMDP", "RewardForm", "read"]

Array = NDArray[np.float64]
RewardForm = Literal["s", "sab", "next state", "sab and next state"]

ALL = slice(None)
SUM_TOLERANCE = 1e-9
SMALL = 2**61  # denominators of weights that int64 holds, with their sums
MOST_BYTES = 2**28  # of a file
LARGEST = 2**28  # entries of a dense table: 1 GiB of transitions, 2 GiB of rewards

_NUMBER = re.compile(r"(?!.{100})[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, eq=False)
class DecPOMDP:
    """The fully observable part of a `.dpomdp` file.

    Attributes
    ----------
    game : the game; labels are the file's names, or indices where it gives only a number.
    reward : (S,) or (S, A, B), read-only: what `game` is played for.
    path : the file.
    values : ``"reward"`` or ``"cost"``, as in the file; costs are rewards of the opposite sign
        here, and `file_values` leaves them so.
    reward_form : what the reward of the file depends on.
    discount : the discount of the file; `game.discount` is the one in use.
    """

    game: TwoAgentMDP
    reward: Array
    path: Path
    values: str
    reward_form: RewardForm
    discount: float

    def file_values(self, values: ArrayLike) -> Array:
        """Return values of `reward`, shape (S,), in the convention of the file.

        A reward for entering a state counts from the next step on: ``(V − r) / γ``. For every
        other form both conventions agree.

        Raises
        ------
        InvalidArgument
            The values have another shape.

        **Cost** arithmetic.
        """
        array = np.array(values, dtype=float)
        if array.shape != (self.game.n_states,):
            raise InvalidArgument(
                "values", f"have shape {array.shape}", f"({self.game.n_states},)", array.shape
            )
        if self.reward_form == "next state" and self.reward.ndim == 1:
            return np.asarray((array - self.reward) / self.game.discount)
        return array


def read(path: str | Path, discount: Any = None) -> DecPOMDP:
    """Read the fully observable part of a two-agent `.dpomdp` file.

    Parameters
    ----------
    path : the file.
    discount : 0 ≤ γ < 1, used in place of the file's; needed where the file says 1.

    Raises
    ------
    FileProblem
        The first wrong line, its column, what was found there and what is allowed. What only the
        whole file shows comes after the last line: rows that do not sum to one (at the line that
        wrote to them last), missing rows, rewards that tell observations apart, discount 1.
    InvalidGame
        The argument `discount` is outside its range.
    OSError
        The file cannot be opened.

    **Source** see the module. **Cost** arithmetic, one pass over the lines.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> text = '''
    ... agents: 2
    ... discount: 0.9
    ... values: reward
    ... states: hall goal
    ... start: hall
    ... actions:
    ... open shut
    ... 1
    ... observations:
    ... 1
    ... 1
    ... T: * :
    ... identity
    ... T: open * : hall : 0.25 0.75
    ... R: * : goal : * : * : 1
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "door.dpomdp")
    ...     _ = path.write_text(text)
    ...     problem = read(path)
    >>> problem.game
    TwoAgentMDP(2 states, 2×1 actions, discount=0.9, 5 transitions, rational)
    >>> problem.reward_form, problem.reward
    ('s', array([0., 1.]))
    """
    path = Path(path)
    header = _header(path, _statements(path))
    tables = _Tables(header)
    for statement in header.statements:
        tables.write(statement)
    kernel, table = tables.kernel(path), tables.rewards()
    if discount is None and header.discount == 1:
        line, i = header.discount_at
        allowed = "0 ≤ γ < 1: give one in its place (discount=, --discount)"
        raise line.problem(i, 0, f"found the discount 1; allowed {allowed}")
    game = TwoAgentMDP(
        kernel,
        header.discount if discount is None else discount,
        header.start,
        states=header.states.labels,
        leader_actions=header.actions.first.labels,
        follower_actions=header.actions.second.labels,
    )
    reward, form = _least_form(0.0 - table if header.values == "cost" else table, game)
    reward.flags.writeable = False
    return DecPOMDP(game, reward, path, header.values, form, float(header.discount))


def _least_form(table: Array, game: TwoAgentMDP) -> tuple[Array, RewardForm]:
    """Return a reward of shape (S, A·B, S) or (S, A·B, 1) in its least form, and the form."""
    if (table == table[..., :1]).all():
        if (table == table[:, :1, :1]).all():
            return table[:, 0, 0].copy(), "s"
        return table[..., 0].reshape(game.shape).copy(), "sab"
    if (table == table[:1, :1]).all():
        entering = table[0, 0].copy()
        return (entering if game.discount > 0 else game.kernel @ entering), "next state"
    every = table.reshape(*game.shape, game.n_states)
    return np.einsum("sabt,sabt->sab", game.kernel, every), "sab and next state"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that says something: its fields are the words between its colons."""

    path: Path
    number: int
    text: str
    fields: list[list[str]]

    def problem(self, i: int, j: int, text: str) -> FileProblem:
        """Return the error at word j of field i, or at the end of the field or line without it."""
        parts = self.text.split(":")
        i = min(i, len(parts) - 1)
        starts = [word.start() for word in re.finditer(r"\S+", parts[i])]
        within = starts[j] if j < len(starts) else len(parts[i].rstrip())
        column = sum(len(part) + 1 for part in parts[:i]) + within + 1
        return FileProblem(self.path, text, line=self.number, column=column)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A line with a colon, and the lines without one that follow it."""

    head: _Line
    body: list[_Line]

    @property
    def key(self) -> str:
        """What stands before the first colon."""
        return " ".join(self.head.fields[0])

    def places(self, field: int) -> list[tuple[_Line, int]]:
        """Return (line, field) of all that stands from a field of the head on."""
        inline = field < len(self.head.fields) and bool(self.head.fields[field])
        return [(self.head, field)] * inline + [(line, 0) for line in self.body]

    def only_place(self) -> tuple[_Line, int]:
        """Return where the one line stands that this statement may say."""
        places = self.places(1)
        if len(places) != 1:
            line, i = places[1] if places else (self.head, 1)
            raise line.problem(i, 0, f"found {len(places)} lines of {self.key}; allowed one")
        return places[0]

    def words(self, field: int) -> list[tuple[str, _Line, int, int]]:
        """Return (word, line, field, position) of all that stands from a field of the head on."""
        return [
            (word, line, i, j)
            for line, i in self.places(field)
            for j, word in enumerate(line.fields[i])
        ]

    def keyword(self, field: int, allowed: Sequence[str]) -> str | None:
        """Return the keyword that stands from a field of the head on, alone, or None."""
        words = self.words(field)
        if not words or words[0][0] not in allowed:
            return None
        if len(words) > 1:
            found, line, i, j = words[1]
            raise line.problem(i, j, f"found {found!r}; allowed nothing after {words[0][0]!r}")
        return words[0][0]

    def numbers(
        self, field: int, shape: tuple[int, int], read: Callable[[_Line, int, int], Any]
    ) -> tuple[NDArray[Any], list[int]]:
        """Return the array that stands from a field on, and the line number of each row."""
        n_rows, n_columns = shape
        found: list[Any] = []
        lines: list[int] = []
        for line, i in self.places(field):
            count = len(line.fields[i])
            found += [read(line, i, j) for j in range(count)]
            if count % n_columns:
                at = count // n_columns * n_columns if count > n_columns else count
                raise line.problem(i, at, f"found {count} numbers; allowed rows of {n_columns}")
            lines += [line.number] * (count // n_columns)
            if len(lines) > n_rows:
                at = count - (len(lines) - n_rows) * n_columns
                raise line.problem(i, at, f"found a row too many; allowed {n_rows}×{n_columns}")
        if len(lines) < n_rows:
            last = self.body[-1] if self.body else self.head
            i = len(last.fields) - 1
            problem = f"found {len(lines)} rows; allowed {n_rows}×{n_columns} numbers"
            raise last.problem(i, len(last.fields[i]), problem)
        return np.array(found).reshape(shape), lines


def _statements(path: Path) -> list[_Statement]:
    """Split a file into statements; comments and blank lines are dropped."""
    # Old files carry Latin-1 names in their comments: no reason to refuse them.
    text = read_text(path, MOST_BYTES, "utf-8-sig", "replace")
    statements: list[_Statement] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        said = raw.partition("#")[0]
        line = _Line(path, number, said, [part.split() for part in said.split(":")])
        if len(line.fields) > 1:
            statements.append(_Statement(line, []))
        elif line.fields[0] and not statements:
            raise line.problem(0, 0, f"found {line.fields[0][0]!r}; allowed 'agents:'")
        elif line.fields[0]:
            statements[-1].body.append(line)
    return statements


def _index(word: str) -> int | None:
    """Return the whole number that a word means, if it means one."""
    return int(word) if word.isdecimal() and len(word) < 19 else None


@dataclass(frozen=True, slots=True)
class _Names:
    """The states, or the actions or observations of one agent: a number, and perhaps names."""

    kind: str
    size: int
    index: dict[str, int]

    @classmethod
    def declared(cls, line: _Line, i: int, kind: str) -> _Names:
        """Return what a field declares: a number from 1, or names."""
        words = line.fields[i]
        count = _index(words[0]) if len(words) == 1 else None
        if count:
            return cls(kind, count, {})
        index: dict[str, int] = {}
        for j, word in enumerate(words):
            if word in index or not (word[0].isalpha() or word[0] == "_"):
                again = " again" if word in index else ""
                allowed = "a number from 1, or distinct names that begin with a letter"
                raise line.problem(i, j, f"found {kind} {word!r}{again}; allowed {allowed}")
            index[word] = j
        return cls(kind, len(words), index)

    @property
    def labels(self) -> Sequence[Any]:
        """The names, or the indices where there are none."""
        return tuple(self.index) or range(self.size)

    def get(self, word: str) -> int | None:
        """Return the index that a name or an index means, or None."""
        at = _index(word)
        return self.index.get(word) if at is None else at if at < self.size else None

    def find(self, line: _Line, i: int, j: int) -> int:
        """Return the index that a word means."""
        at = self.get(line.fields[i][j])
        if at is None:
            unknown = UnknownLabel(self.kind, line.fields[i][j], self.labels)
            allowed = f"a name or an index from 0 to {self.size - 1}"
            raise line.problem(i, j, f"{unknown}; allowed {allowed}")
        return at

    def select(self, line: _Line, i: int, j: int) -> slice:
        """Return the indices that a word means: all of them for ``*``."""
        if line.fields[i][j] == "*":
            return ALL
        at = self.find(line, i, j)
        return slice(at, at + 1)

    def select_field(self, line: _Line, i: int) -> slice:
        """Return the indices that a field of one word means."""
        if len(line.fields[i]) != 1:
            found = " ".join(line.fields[i])
            raise line.problem(i, 0, f"found {found!r}; allowed one {self.kind} or '*'")
        return self.select(line, i, 0)


@dataclass(frozen=True, slots=True)
class _Joint:
    """Joint actions or observations, those of the second agent running fastest."""

    first: _Names
    second: _Names

    @classmethod
    def declared(cls, statement: _Statement, kind: str) -> _Joint:
        """Return what the two lines under ``actions:`` or ``observations:`` declare."""
        places = statement.places(1)
        if len(places) != 2:
            line, i = places[2] if len(places) > 2 else (statement.head, 1)
            allowed = "2, one for each agent"
            raise line.problem(i, 0, f"found {len(places)} lines of {kind}s; allowed {allowed}")
        (line, i), (other, j) = places
        first = _Names.declared(line, i, f"{kind} of agent 1")
        return cls(first, _Names.declared(other, j, f"{kind} of agent 2"))

    @property
    def size(self) -> int:
        return self.first.size * self.second.size

    def select(self, line: _Line, i: int) -> slice:
        """Return the flat indices that a field means: a slice, whatever the wildcards."""
        words, n = line.fields[i], self.second.size
        if len(words) == 2:
            one, two = self.first.select(line, i, 0), self.second.select(line, i, 1)
            if one == ALL:
                return ALL if two == ALL else slice(two.start, None, n)
            if two == ALL:
                return slice(one.start * n, one.stop * n)
            return slice(one.start * n + two.start, one.start * n + two.stop)
        if words == ["*"]:
            return ALL
        at = _index(words[0]) if len(words) == 1 else None
        if at is None or at >= self.size:
            kinds = f"one {self.first.kind} and one {self.second.kind}"
            allowed = f"'*', an index from 0 to {self.size - 1}, or {kinds}"
            raise line.problem(i, 0, f"found {' '.join(words)!r}; allowed {allowed}")
        return slice(at, at + 1)


class _Header(NamedTuple):
    """What a file declares, and the statements that follow."""

    discount: Fraction
    discount_at: tuple[_Line, int]
    values: str
    states: _Names
    start: NDArray[Any]
    actions: _Joint
    observations: _Joint
    statements: list[_Statement]


def _header(path: Path, statements: list[_Statement]) -> _Header:
    """Return the declarations, or complain of the first wrong one."""
    following = iter(statements)

    def take(*allowed: str) -> _Statement:
        statement = next(following, None)
        if statement is None:
            raise FileProblem(path, f"the file ends; allowed '{allowed[0]}:' next")
        if statement.key not in allowed:
            problem = f"found '{statement.key}:'; allowed '{allowed[0]}:', since the order is fixed"
            raise statement.head.problem(0, 0, problem)
        if len(statement.head.fields) > 2:
            raise statement.head.problem(2, 0, "found a second colon; allowed one")
        return statement

    line, i = take("agents").only_place()
    agents = _Names.declared(line, i, "agent")
    if agents.size != 2:
        raise line.problem(i, 0, f"found {agents.size} agents; allowed 2")
    discount_at = line, i = take("discount").only_place()
    found = " ".join(line.fields[i])
    if not _NUMBER.fullmatch(found) or not 0 <= (discount := Fraction(found)) <= 1:
        raise line.problem(i, 0, f"found the discount {found!r}; allowed 0 ≤ γ ≤ 1")
    line, i = take("values").only_place()
    values = " ".join(line.fields[i])
    if values not in ("reward", "cost"):
        raise line.problem(i, 0, f"found {values!r}; allowed 'reward' or 'cost'")
    line, i = take("states").only_place()
    states = _Names.declared(line, i, "state")
    _check_size(line, i, "S²", states.size**2)
    start = _start(take("start", "start include", "start exclude"), states)
    actions = _Joint.declared(take("actions"), "action")
    _check_size(line, i, "S²·A·B", states.size**2 * actions.size)
    observations = _Joint.declared(take("observations"), "observation")
    return _Header(
        discount, discount_at, values, states, start, actions, observations, list(following)
    )


def _check_size(line: _Line, i: int, what: str, entries: int) -> None:
    """Refuse a table that would not fit into memory."""
    if entries > LARGEST:
        raise line.problem(i, 0, f"found {what} = {entries:g}; allowed up to {LARGEST:g}")


def _start(statement: _Statement, states: _Names) -> NDArray[Any]:
    """Return the start distribution as S Fractions."""
    words = statement.words(1)
    word = words[0][0] if len(words) == 1 else None
    chosen: Sequence[int] = range(states.size)
    if statement.key != "start":
        listed = {states.find(line, i, j) for _, line, i, j in words}
        chosen = [s for s in chosen if (s in listed) == (statement.key == "start include")]
        if not chosen:
            raise statement.head.problem(1, 0, "leaves no state; allowed one or more")
    elif word is not None and word != "uniform" and (states.size > 1 or states.get(word) == 0):
        chosen = [states.find(*words[0][1:])]
    elif statement.keyword(1, ("uniform",)) is None:
        row: NDArray[Any] = statement.numbers(1, (1, states.size), _probability)[0][0]
        total = row.sum()
        if abs(total - 1) > SUM_TOLERANCE:
            problem = f"sums to {float(total):.12g}; allowed 1 ± {SUM_TOLERANCE:g}"
            _, line, i, j = words[0]
            raise line.problem(i, j, f"the start distribution {problem}")
        return row
    start = np.full(states.size, Fraction(0), dtype=object)
    start[list(chosen)] = Fraction(1, len(chosen))
    return start


def _probability(line: _Line, i: int, j: int) -> Fraction:
    """Return the probability that a word means."""
    word = line.fields[i][j]
    if not _NUMBER.fullmatch(word) or not 0 <= (number := Fraction(word)) <= 1 + SUM_TOLERANCE:
        raise line.problem(i, j, f"found {word!r}; allowed a probability, 0 ≤ p ≤ 1")
    return number


def _value(line: _Line, i: int, j: int) -> float:
    """Return the reward that a word means."""
    word = line.fields[i][j]
    if not _NUMBER.fullmatch(word) or not math.isfinite(float(word)):
        raise line.problem(i, j, f"found {word!r}; allowed a finite number")
    return float(word)


class _Tables:
    """Transitions and rewards as the statements leave them.

    A transition is a code into `probabilities`, the distinct ones of the file (code 0 is the
    probability 0), so that writing is an integer assignment and exact arithmetic is done once a
    distinct number. The reward has axes (s, a·B + b, s', joint observation); the last two have
    length one until a statement tells their entries apart.
    """

    def __init__(self, header: _Header) -> None:
        self.states, self.actions, self.seen = header.states, header.actions, header.observations
        shape = (self.states.size, self.actions.size)
        self.codes = np.zeros((*shape, self.states.size), dtype=np.int32)
        self.written = np.zeros(shape, dtype=np.int64)  # the last line of each row, 0 for none
        self.probabilities = [Fraction(0)]
        self.code_of: dict[str, int] = {}
        self.reward = np.zeros((*shape, 1, 1))
        self.observed: FileProblem | None = None

    def write(self, statement: _Statement) -> None:
        """Carry out one statement."""
        if statement.key == "T":
            self._write_transitions(statement)
        elif statement.key == "R":
            self._write_rewards(statement)
        elif statement.key != "O":
            found = f"found '{statement.key}:'"
            raise statement.head.problem(0, 0, f"{found}; allowed 'T:', 'O:' or 'R:'")

    def _write_transitions(self, statement: _Statement) -> None:
        head, n = statement.head, self.states.size
        places = max(len(head.fields) - 2, 1)
        if places > 3:
            form = "T: joint action : state : next state : probability"
            raise head.problem(5, 0, f"found a fifth colon; allowed {form}")
        joint = self.actions.select(head, 1)
        state = self.states.select_field(head, 2) if places > 1 else ALL
        after = self.states.select_field(head, 3) if places > 2 else ALL
        word = statement.keyword(places + 1, ("uniform", "identity")[: 3 - places])
        if word is not None:
            lines = [statement.places(places + 1)[0][0].number]
            block: NDArray[Any] = np.full((1, n), self._code(Fraction(1, n)))
            if word == "identity":
                block = np.eye(n, dtype=np.int32) * self._code(Fraction(1))
        else:
            shape = ((n, n), (1, n), (1, 1))[places - 1]
            block, lines = statement.numbers(places + 1, shape, self._read_code)
        self.codes[state, joint, after] = block[:, None, :]
        self.written[state, joint] = np.array(lines)[:, None]

    def _read_code(self, line: _Line, i: int, j: int) -> int:
        word = line.fields[i][j]
        if word not in self.code_of:
            self.code_of[word] = self._code(_probability(line, i, j))
        return self.code_of[word]

    def _code(self, probability: Fraction) -> int:
        if probability == 0:
            return 0
        self.probabilities.append(probability)
        return len(self.probabilities) - 1

    def _write_rewards(self, statement: _Statement) -> None:
        head, sizes = statement.head, (self.states.size, self.seen.size)
        places = len(head.fields) - 2
        if not 2 <= places <= 4:
            form = "R: joint action : state : next state : joint observation : value"
            problem = f"found {places + 1} colons; allowed 3 to 5, as in {form}"
            raise head.problem(6, 0, problem)
        joint, state = self.actions.select(head, 1), self.states.select_field(head, 2)
        after = self.states.select_field(head, 3) if places > 2 else ALL
        seen = self.seen.select(head, 4) if places > 3 else ALL
        shape = (sizes, (1, sizes[1]), (1, 1))[places - 2]
        block = statement.numbers(places + 1, shape, _value)[0]
        for axis, part in enumerate((after, seen)):
            first = block.take([0], axis)
            block = first if (block == first).all() else block
            apart = part != ALL or block.shape[axis] > 1
            if apart and self.reward.shape[axis + 2] < sizes[axis]:
                entries = self.reward.size * sizes[axis]
                _check_size(head, 3 + axis, "the number of rewards to tell apart", entries)
                self.reward = np.repeat(self.reward, sizes[axis], axis=axis + 2)
                if axis == 1:
                    problem = "found a reward that depends on the joint observation"
                    self.observed = head.problem(4, 0, f"{problem}; allowed one value for all")
        self.reward[state, joint, after, seen] = block

    def rewards(self) -> Array:
        """Return the reward of shape (S, A·B, S), or (S, A·B, 1) if no next state matters."""
        if self.observed is not None and (self.reward != self.reward[..., :1]).any():
            raise self.observed
        return self.reward[..., 0]

    def kernel(self, path: Path) -> Any:
        """Return the kernel as integer weights: the decimals of each row over one denominator."""
        table = sp.csr_array(self.codes.reshape(-1, self.states.size))
        row_of = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
        codes, entry = np.unique(table.data, return_inverse=True)
        used = [self.probabilities[code] for code in codes]
        floats = np.array([float(p) for p in used])[entry]
        self._check_sums(path, np.bincount(row_of, floats, table.shape[0]))
        common = math.lcm(*(p.denominator for p in used))
        if common < SMALL:
            whole = np.array([p.numerator * (common // p.denominator) for p in used])
            weights = whole.astype(np.int64)[entry]
            return sp.csr_array((weights, table.indices, table.indptr), shape=table.shape)
        return self._weights_by_row(table, [used[i] for i in entry])

    def _weights_by_row(self, table: Any, entries: list[Fraction]) -> Any:
        """Return the kernel where one denominator for all rows is too large."""
        weights = np.empty(len(entries), dtype=object)
        largest = 0
        for i, j in pairwise(table.indptr.tolist()):
            below = math.lcm(*(p.denominator for p in entries[i:j]))
            weights[i:j] = [p.numerator * (below // p.denominator) for p in entries[i:j]]
            largest = max(largest, below)
        if largest < SMALL:
            data = weights.astype(np.int64)
            return sp.csr_array((data, table.indices, table.indptr), shape=table.shape)
        kernel = np.zeros(table.shape, dtype=object)
        kernel[np.repeat(np.arange(table.shape[0]), np.diff(table.indptr)), table.indices] = weights
        return kernel

    def _check_sums(self, path: Path, sums: NDArray[Any]) -> None:
        """Refuse rows that do not sum to one, that of the earliest line first."""
        off = np.flatnonzero(abs(sums - 1.0) > SUM_TOLERANCE)
        if not off.size:
            return
        lines = self.written.ravel()[off]
        at = int(np.argmin(np.where(lines > 0, lines, np.iinfo(np.int64).max)))
        s, a, b = np.unravel_index(
            off[at], (self.states.size, self.actions.first.size, self.actions.second.size)
        )
        joint = (self.actions.first.labels[a], self.actions.second.labels[b])
        row = f"the row of state {self.states.labels[s]!r} under joint action {joint}"
        if lines[at] == 0:
            raise FileProblem(path, f"{row} is missing; allowed one or more T: statements for it")
        problem = f"{row} sums to {sums[off[at]]:.12g}; allowed 1 ± {SUM_TOLERANCE:g}"
        raise FileProblem(path, problem, line=int(lines[at]), column=1)
