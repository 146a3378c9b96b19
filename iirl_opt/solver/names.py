"""What the rows and the columns of a compiled program are called.

A constraint of the user's is a block of rows, a variable a block of columns; both keep their names
through whatever cvxpy does to the problem:

* the entry of a block of one axis is ``label(i)``, of two ``label(i,j)``, in the block's own shape;
* cvxpy's own variables (for a norm, a maximum, an absolute value) are ``aux(0)``, ``aux(1)``, …;
* its own rows are called after the first such variable in them, ``row_of_aux(0)(i)``, or ``added``.

cvxpy compiles by columns of matrices (Fortran order), and keeps half of a symmetric variable, the
diagonal of a diagonal one, the pattern of a sparse one. Which rows and columns belong to what is
read from the maps that its reductions leave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np

__all__ = [
    "STRUCTURAL",
    "Layout",
    "Stretch",
    "Written",
    "about",
    "is_called",
    "labels_of",
    "speaks_of",
    "unique_names",
]

# Labels of rows that only say what a variable means: the flow of a measure, the values of a reward.
STRUCTURAL = ("flow", "values")

# An index into a variable or a constraint.
Index = tuple[int, ...]


@dataclass(frozen=True)
class Stretch:
    """Consecutive rows of one constraint, or columns of one variable.

    Attributes
    ----------
    name : its label, or its name; None where cvxpy added it.
    start, entries : where it begins, and the index in its own shape of each row or column.
    helps : of rows that cvxpy added, the first column that cvxpy added and that stands in them.
    """

    name: str | None
    start: int
    entries: tuple[Index, ...]
    helps: int | None = None

    @property
    def at(self) -> slice:
        """Where it stands."""
        return slice(self.start, self.start + len(self.entries))


@dataclass(frozen=True)
class Layout:
    """The blocks of the rows and of the columns of a program, in order.

    Names are unique among rows and among columns: the later of equal ones have a number.
    """

    rows: tuple[Stretch, ...]
    columns: tuple[Stretch, ...]

    @classmethod
    def plain(cls, columns: Mapping[str, slice], rows: Mapping[str, slice]) -> Layout:
        """Return the layout of a program of vectors."""
        both = (
            sorted((_vector(name, at) for name, at in side.items()), key=lambda b: b.start)
            for side in (rows, columns)
        )
        return cls(*map(tuple, both))

    @classmethod
    def compiled(cls, problem: cp.Problem, program: Any, chain: Any) -> Layout:
        """Return the layout of a program that cvxpy compiled.

        Parameters
        ----------
        program : the parametrised program, as ``get_problem_data`` leaves it.
        chain : the chain of reductions that made it.
        """
        columns = _columns_of(problem, program, chain.compose_var_id_map())
        return cls(_rows_of(problem, program, chain.compose_constr_id_map(), columns), columns)


# What the rows of a constraint speak of, as its model says it.
_spoken: WeakKeyDictionary[cp.Constraint, Callable[[Index], str]] = WeakKeyDictionary()


def speaks_of(constraint: cp.Constraint, say: Callable[[Index], str]) -> cp.Constraint:
    """Return a constraint of which messages say what each row speaks of: ``s='goal', b='go'``.

    Parameters
    ----------
    say : from an index in the constraint's shape to words.
    """
    _spoken[constraint] = say
    return constraint


def about(constraint: cp.Constraint, index: Index) -> str:
    """Return what a row of a constraint speaks of, or nothing."""
    say = _spoken.get(constraint)
    return "" if say is None else say(index)


def labels_of(problem: cp.Problem) -> dict[str, cp.Constraint]:
    """Return the constraints of a problem by label, the later of equal ones with a number."""
    names = unique_names(c.label or str(c) for c in problem.constraints)
    return dict(zip(names, problem.constraints, strict=True))


def unique_names(names: Iterable[str]) -> Iterator[str]:
    """Yield names, the later of equal ones with a number: ``flow``, ``flow (2)``."""
    seen: set[str] = set()
    counts: dict[str, int] = {}
    for name in names:
        unique = name
        while unique in seen:
            counts[name] = counts.get(name, 1) + 1
            unique = f"{name} ({counts[name]})"
        seen.add(unique)
        yield unique


def _vector(name: str, at: slice) -> Stretch:
    size = at.stop - at.start
    # Of a scalar, or of a vector with one entry, there is nothing to count.
    return Stretch(name, at.start, ((),) if size == 1 else tuple((i,) for i in range(size)))


def _columns_of(problem: cp.Problem, program: Any, became: Any) -> tuple[Stretch, ...]:
    own: dict[int, tuple[str | None, Any]] = {}
    variables = problem.variables()
    for called, variable in zip(unique_names(v.name() for v in variables), variables, strict=True):
        parts = became.get(variable.id, [variable.id])
        for part, suffix in zip(parts, ("", " imaginary"), strict=False):
            own[part] = (called + suffix, variable)
    blocks = []
    for inner in program.variables:
        start = program.var_id_to_col[inner.id]
        name, variable = own.get(inner.id, (None, inner))
        entries = _entries(variable)
        if len(entries) != inner.size:
            entries = tuple((i,) for i in range(inner.size))
        blocks.append(Stretch(name, start, entries))
    return tuple(sorted(blocks, key=lambda block: block.start))


def _rows_of(
    problem: cp.Problem, program: Any, became: Any, columns: tuple[Stretch, ...]
) -> tuple[Stretch, ...]:
    own = {became.get(c.id, c.id): (name, c) for name, c in labels_of(problem).items()}
    added = {block.start for block in columns if block.name is None}
    blocks, start = [], 0
    for inner in program.constraints:
        name, outer = own.get(inner.id, (None, inner))
        entries = _indices(outer.shape)
        if len(entries) != inner.size:
            entries = tuple((i,) for i in range(inner.size))
        helps = None
        if name is None:
            starts = {program.var_id_to_col[v.id] for v in inner.variables()}
            helps = min(starts & added, default=None)
        blocks.append(Stretch(name, start, entries, helps))
        start += inner.size
    return tuple(blocks)


def _entries(variable: Any) -> tuple[Index, ...]:
    """Return the indices of the entries that cvxpy keeps of a variable, in its order."""
    kind = variable.attributes
    if variable.ndim == 2 and (kind["symmetric"] or kind["PSD"] or kind["NSD"]):
        upper = np.triu_indices(variable.shape[0])
        return tuple((int(i), int(j)) for i, j in zip(*upper, strict=True))
    if kind["diag"]:
        return tuple((i, i) for i in range(variable.shape[0]))
    if kind["sparsity"]:
        return tuple(tuple(map(int, entry)) for entry in zip(*variable.sparse_idx, strict=True))
    return _indices(variable.shape)


def _indices(shape: tuple[int, ...]) -> tuple[Index, ...]:
    """Return the indices of an array in Fortran order; of a vector with one entry, none."""
    if shape == (1,):
        return ((),)
    return tuple(index[::-1] for index in np.ndindex(*shape[::-1]))


# What readers of LP files take for something else than a name, in any case.
KEYWORDS = {
    *("st", "s.t.", "bound", "bounds", "bin", "binary", "binaries", "gen", "general", "generals"),
    *("int", "integer", "integers", "semi", "semis", "sos", "sos1", "sos2", "end", "free", "inf"),
    *("infinity", "min", "minimum", "minimise", "minimize", "max", "maximum", "maximise"),
    *("maximize", "subject", "such", "obj", "nan"),
}

# Readers of LP files take names of 255 characters; an index and a number need some.
LONGEST = 255 - 40


class Written:
    """The names of a layout as LP and MPS files may have them: unique, of plain letters.

    Brackets become parentheses, other characters ``_``; what could be taken for a number or for a
    word of the format gets ``c_`` before it, and what is too long is cut.

    Attributes
    ----------
    rows, columns : one name each.
    changed : what stands for each name that could not stay as it was, beyond its brackets.
    """

    def __init__(self, layout: Layout) -> None:
        self.changed: dict[str, str] = {}
        self._aux: dict[int | None, str] = {}
        self.columns: list[str] = self._named(layout.columns, self._for_column)
        self._counts: dict[str, int] = {}
        self.rows: list[str] = self._named(layout.rows, self._for_row)

    def _named(self, blocks: tuple[Stretch, ...], added: Callable[..., list[str]]) -> list[str]:
        """Return the names of all entries; those of the user's own blocks are given out first."""
        bases, entries = _Unique(), _Unique()
        names: dict[int, list[str]] = {}
        blocks = tuple(block for block in blocks if block.entries)
        for block in (b for b in blocks if b.name is not None):
            base = self._base(str(block.name), bases)
            names[block.start] = found = [entries.take(_entry(base, i)) for i in block.entries]
            for name, index in zip(found, block.entries, strict=True):
                if name != _entry(base, index):
                    self.changed[f"{block.name}{list(index) or ''}"] = name
        for block in (b for b in blocks if b.name is None):
            names[block.start] = [entries.take(name) for name in added(block, bases)]
        return [name for start in sorted(names) for name in names[start]]

    def _for_column(self, block: Stretch, bases: _Unique) -> list[str]:
        base = self._aux[block.start] = bases.take(f"aux({len(self._aux)})")
        return [_entry(base, index) for index in block.entries]

    def _for_row(self, block: Stretch, _: _Unique) -> list[str]:
        base = f"row_of_{self._aux[block.helps]}" if block.helps in self._aux else "added"
        first = self._counts.get(base, 0)
        self._counts[base] = last = first + len(block.entries)
        return [_entry(base, (i,)) for i in range(first, last)]

    def _base(self, name: str, bases: _Unique) -> str:
        turned = name.replace("[", "(").replace("]", ")")
        plain = re.sub(r"[^A-Za-z0-9_().]+", "_", turned).strip("_")[:LONGEST]
        doubtful = not plain or plain[0] in "eE.0123456789()" or plain.lower() in KEYWORDS
        base = bases.take(f"c_{plain}" if doubtful else plain)
        if base != turned:
            self.changed[name] = base
        return base


def _entry(base: str, index: Index) -> str:
    return f"{base}({','.join(map(str, index))})" if index else base


class _Unique:
    """Names so far; an equal one gets a number."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.counts: dict[str, int] = {}

    def take(self, name: str) -> str:
        """Return a name that is new."""
        unique = name
        while unique in self.seen:
            self.counts[name] = self.counts.get(name, 1) + 1
            unique = f"{name}_{self.counts[name]}"
        self.seen.add(unique)
        return unique


def is_called(label: str, name: str) -> bool:
    """Return whether a label is a name, with a number in brackets, or as one of several."""
    return label == name or label.startswith((f"{name}[", f"{name} ("))
