"""Transitions and rewards of a `.dpomdp` file, as its statements leave them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem
from iirl_opt.exact.numbers import common
from iirl_opt.formats.dpomdp.declarations import (
    ALL,
    Header,
    Joint,
    Names,
    check_size,
    read_probability,
)
from iirl_opt.formats.dpomdp.statements import NUMBER, FileLine, FileStatement
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.kernel import LARGEST, sum_allowed

__all__ = ["Tables"]

Array = NDArray[np.float64]


class Tables:
    """Transitions and rewards as the statements leave them.

    A transition is a code into `probabilities`, the distinct ones of the file (code 0 is the
    probability 0), so that writing is an integer assignment and exact arithmetic is done once a
    distinct number. The reward has axes (s, a·B + b, s', joint observation); the last two have
    length one until a statement tells their entries apart.
    """

    states: Names
    actions: Joint
    seen: Joint
    codes: NDArray[np.int32]
    written: NDArray[np.int64]
    probabilities: list[Fraction]
    reward: NDArray[np.float64]

    def __init__(self, header: Header) -> None:
        self.states, self.actions, self.seen = header.states, header.actions, header.observations
        shape = (self.states.size, self.actions.size)
        self.codes = np.zeros((*shape, self.states.size), dtype=np.int32)
        self.written = np.zeros(shape, dtype=np.int64)  # the last line of each row, 0 for none
        self.probabilities = [Fraction(0)]
        self.tolerance: float = header.tolerance
        self.start: NDArray[Any] = header.start
        self.code_of: dict[str, int] = {}
        # What the fields of lines that write one number meant.
        self.known: dict[str, list[dict[str, Any]]] = {
            "T": [{} for _ in range(4)],
            "R": [{} for _ in range(5)],
        }
        self.reward = np.zeros((*shape, 1, 1))
        self.observed: FileProblem | None = None

    def write(self, statement: FileStatement) -> None:
        """Carry out one statement."""
        if self._write_known(statement):
            return
        if statement.key == "T":
            self._write_transitions(statement)
        elif statement.key == "R":
            self._write_rewards(statement)
        elif statement.key != "O":
            found = f"found '{statement.key}:'"
            raise statement.head.problem(0, 0, f"{found}; allowed 'T:', 'O:' or 'R:'")

    def _write_known(self, statement: FileStatement) -> bool:
        """Write one number whose line has known fields alone, as most of a large file have."""
        key, *fields = statement.head.text.split(":")
        known = self.known.get(key.strip(), ())
        if len(fields) != len(known) or statement.body:
            return False
        try:
            joint, state, after, *rest = map(dict.__getitem__, known, fields)
        except KeyError:
            return False
        if len(rest) == 1:
            self.codes[state, joint, after] = rest[0]
            self.written[state, joint] = statement.head.number
            return True
        # Where a known field tells entries apart, the reward does since it was met first.
        seen, reward = rest
        self.reward[state, joint, after, seen] = reward
        return True

    def _remember(self, statement: FileStatement, *meanings: Any) -> None:
        """Keep what the fields of a line that writes one number meant."""
        key, *fields = statement.head.text.split(":")
        for known, field, meaning in zip(self.known[key.strip()], fields, meanings, strict=True):
            known[field] = meaning

    def _write_transitions(self, statement: FileStatement) -> None:
        head, n = statement.head, self.states.size
        places = max(len(head.fields) - 2, 1)
        if places > 3:
            form = "T: joint action : state : next state : probability"
            raise head.problem(5, 0, f"found a fifth colon; allowed {form}")
        joint = self.actions.select(head, 1)
        state = self.states.select_field(head, 2) if places > 1 else ALL
        after = self.states.select_field(head, 3) if places > 2 else ALL
        allowed = ("uniform", "reset", "identity")[: (3, 2, 0)[places - 1]]
        word = statement.keyword(places + 1, allowed)
        if word is not None:
            lines = [statement.places(places + 1)[0][0].number]
            block: NDArray[Any] = np.full((1, n), self._code(Fraction(1, n)))
            if word == "reset":
                block = self._start_codes[None]
            elif word == "identity":
                block = np.eye(n, dtype=np.int32) * self._code(Fraction(1))
        else:
            shape = ((n, n), (1, n), (1, 1))[places - 1]
            block, lines = statement.numbers(places + 1, shape, self._read_code)
        self.codes[state, joint, after] = block[:, None, :]
        self.written[state, joint] = np.array(lines)[:, None]
        if places == 3 and not statement.body:
            self._remember(statement, joint, state, after, block[0, 0])

    @cached_property
    def _start_codes(self) -> NDArray[Any]:
        return np.array([self._code(p) for p in self.start], dtype=np.int32)

    def _read_code(self, line: FileLine, i: int, j: int) -> int:
        word = line.fields[i][j]
        if word not in self.code_of:
            self.code_of[word] = self._code(read_probability(line, i, j))
        return self.code_of[word]

    def _code(self, probability: Fraction) -> int:
        if probability == 0:
            return 0
        self.probabilities.append(probability)
        return len(self.probabilities) - 1

    def _write_rewards(self, statement: FileStatement) -> None:
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
        block = statement.numbers(places + 1, shape, _finite_number)[0]
        for axis, part in enumerate((after, seen)):
            first = block.take([0], axis)
            block = first if (block == first).all() else block
            apart = part != ALL or block.shape[axis] > 1
            if apart and self.reward.shape[axis + 2] < sizes[axis]:
                entries = self.reward.size * sizes[axis]
                check_size(head, 3 + axis, "the number of rewards to tell apart", entries)
                self.reward = np.repeat(self.reward, sizes[axis], axis=axis + 2)
                if axis == 1:
                    problem = "found a reward that depends on the joint observation"
                    self.observed = head.problem(4, 0, f"{problem}; allowed one value for all")
        self.reward[state, joint, after, seen] = block
        if places == 4 and not statement.body:
            self._remember(statement, joint, state, after, seen, block[0, 0])

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
        whole, below = common(np.array(used, dtype=object))
        if below < LARGEST // 2:
            weights = whole.astype(np.int64)[entry]
            return sp.csr_array((weights, table.indices, table.indptr), shape=table.shape)
        return RowBlocks(table.shape, [(table.indptr, table.indices, whole[entry])])

    def _check_sums(self, path: Path, sums: NDArray[Any]) -> None:
        """Refuse rows that do not sum to one, that of the earliest line first."""
        off = np.flatnonzero(abs(sums - 1.0) > self.tolerance)
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
        total = sums[off[at]]
        problem = f"{row} sums to {total:.12g}; allowed {sum_allowed(total, self.tolerance)}"
        raise FileProblem(path, problem, line=int(lines[at]), column=1)


def _finite_number(line: FileLine, i: int, j: int) -> float:
    """Return the reward that a word means."""
    word = line.fields[i][j]
    if not NUMBER.fullmatch(word) or not math.isfinite(float(word)):
        raise line.problem(i, j, f"found {word!r}; allowed a finite number")
    return float(word)
