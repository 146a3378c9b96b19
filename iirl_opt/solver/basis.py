"""Bases: where the simplex method begins.

A basis says which variables and which rows are *basic*; the others stand at a bound. As many are
basic as there are rows, and then the equations determine a point and multipliers. HiGHS begins at a
given basis without presolve: it ends at once where the basis is optimal, and after a few steps
where it nearly is. It changes what is found among several optima, and nothing else: a basis that is
singular, or none at all, costs time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.solver.parts import Interval
from iirl_opt.solver.program import Program
from iirl_opt.spelling import allowed_names

__all__ = ["SimplexBasis"]

Flags = NDArray[np.bool_]

KIND = highspy.HighsBasisStatus


@dataclass(frozen=True, eq=False)
class SimplexBasis:
    """Which variables (n,) and which rows (m,) of a program are basic."""

    columns: Flags
    rows: Flags

    @classmethod
    def named(
        cls,
        basic: Mapping[str, ArrayLike],
        columns: Mapping[str, slice],
        rows: Mapping[str, slice],
        shape: tuple[int, int],
    ) -> SimplexBasis:
        """Return a basis given by name; variables left out are not basic, and rows are.

        Parameters
        ----------
        basic : masks by the name of a variable or of a constraint, or one flag for all of it.
        columns, rows : where each variable and each constraint stands.
        shape : the numbers of rows and of variables.

        Raises
        ------
        InvalidArgument
            A name or a shape that the program does not have; another number than one for each row.
        """
        found = cls(np.zeros(shape[1], dtype=bool), np.ones(shape[0], dtype=bool))
        for name, mask in basic.items():
            if name in columns and name in rows:
                problem = f"names {name!r}, a variable and a constraint"
                raise InvalidArgument("basis", problem, "different names of the two", name)
            if name not in columns and name not in rows:
                known = allowed_names(name, [*columns, *rows])
                raise InvalidArgument("basis", f"names {name!r}", f"one of {known}", name)
            part = found.columns[columns[name]] if name in columns else found.rows[rows[name]]
            part[:] = _mask(name, mask, part.shape)
        count = int(found.columns.sum() + found.rows.sum())
        if count != shape[0]:
            raise InvalidArgument("basis", f"has {count} entries", f"one a row: {shape[0]}", basic)
        return found

    def status(self, program: Program) -> highspy.HighsBasis:
        """Return the basis as HiGHS takes it; what is not basic is at its lower bound, if any."""
        basis = highspy.HighsBasis()
        basis.col_status = _kinds(self.columns, program.columns)
        basis.row_status = _kinds(self.rows, program.rows)
        basis.valid, basis.alien = True, False
        return basis


def _mask(name: str, mask: ArrayLike, shape: tuple[int, ...]) -> Flags:
    """Return which entries of a variable or a constraint are basic, or one flag for all."""
    allowed = f"a mask {shape}"
    try:
        given = np.asarray(mask)
    except ValueError:
        raise InvalidArgument("basis", f"has {name}, which is ragged", allowed, mask) from None
    if np.ma.is_masked(mask) or given.dtype != bool or given.shape not in ((), shape):
        problem = f"has {name} of shape {given.shape}, {given.dtype}"
        problem += ", with masked entries" if np.ma.is_masked(mask) else ""
        raise InvalidArgument("basis", problem, allowed, mask)
    return given


def _kinds(basic: Flags, bounds: Interval) -> list[Any]:
    kinds = [KIND.kBasic, KIND.kLower, KIND.kUpper, KIND.kZero]
    at = [basic, np.isfinite(bounds.low), np.isfinite(bounds.high)]
    chosen: list[Any] = np.array(kinds)[np.select(at, [0, 1, 2], 3)].tolist()
    return chosen
