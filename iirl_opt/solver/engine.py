"""One HiGHS object that holds a program, is told of its changes and goes on from its last basis.

What it answers is judged as that of any other solve is, on the program as it stands. A solve from
the old basis that fails, or leaves residuals, is repeated from scratch; a program with numbers that
HiGHS may drop or refuse is solved from scratch, in other units, until its numbers are moderate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import highspy
import numpy as np

from iirl_opt.errors import InvalidArgument
from iirl_opt.game.kernel import Matrix
from iirl_opt.solver.banner import swallow_banner
from iirl_opt.solver.basis import SimplexBasis
from iirl_opt.solver.call import (
    EITHER,
    RANGE,
    Said,
    begin_at,
    new_highs,
    objective_scale,
    read,
    set_options,
)
from iirl_opt.solver.log import LOGGER
from iirl_opt.solver.program import Program
from iirl_opt.solver.records import HiGHS, Status
from iirl_opt.solver.run import run_highs
from iirl_opt.solver.scaling import in_range
from iirl_opt.solver.settle import Settlement, Unit, judge, settle

__all__ = ["DUAL", "PRIMAL", "Engine"]

# A solve from an old basis whose largest relative residual is above this is repeated from scratch.
HOT = 1e-7

# HiGHS's names of its simplex methods.
DUAL, PRIMAL = 1, 4

# What HiGHS does unless told: with a cost that needs no scaling, and in silence.
UNTOLD = {"user_objective_scale": 0, "output_flag": False}

# So many changed coefficients are changed one by one, a microsecond each.
FEW = 200

# A change of what HiGHS holds; returns whether HiGHS took it.
Change = Callable[[highspy.Highs], Any]


class Engine:
    """HiGHS with a program.

    Attributes
    ----------
    program : as it stands.
    solver : the options, with a simplex method: other methods do not start from a basis.
    """

    def __init__(self, program: Program, solver: HiGHS | None) -> None:
        self.solver: HiGHS = HiGHS() if solver is None else solver
        if not isinstance(self.solver, HiGHS) or self.solver.method not in ("choose", "simplex"):
            raise InvalidArgument(
                "solver", f"is {self.solver}", "HiGHS by a simplex method", self.solver
            )
        self.program: Program = program
        self._method = DUAL
        self._solved = False
        # Whether rounds were asked for, and HiGHS's copy may lack numbers: it serves them alone.
        self._rounds = self._rough = False
        swallow_banner()
        self._highs: highspy.Highs | None = None
        self._load()

    def change(self, program: Program, method: int, change: Change) -> None:
        """Go over to a program, and tell HiGHS what is new.

        Parameters
        ----------
        method : the simplex method for which the last basis is still feasible.
        """
        self.program, self._method = program, method
        if highs := self._still_in_range():
            self._keep(change(highs))

    def follow(self, new: Program) -> None:
        """Go over to a program of the same shape, with some other numbers."""
        before, names = self.program, ("cost", "row_lower", "row_upper", "lower", "upper")
        parts = {name: getattr(new, name) for name in names}
        parts = {k: v for k, v in parts.items() if not np.array_equal(v, getattr(before, k))}
        entries = _changed_entries(before.matrix, new.matrix)
        if entries is None or len(entries[0]):
            parts["matrix"] = new.matrix
        if not parts:
            return
        program = before.changed(**parts)
        if self._highs is None or self._rough:
            self.program = program
            self._load()
        else:
            method = PRIMAL if set(parts) == {"cost"} else EITHER
            self.change(program, method, lambda highs: _pass(highs, program, set(parts), entries))

    def begin_at(self, basis: SimplexBasis) -> None:
        """Begin the next solve at a basis."""
        if self._highs is not None:
            begin_at(self._highs, basis, self.program)
            self._method = EITHER

    def answer(self, *, verbose: bool = False) -> Settlement:
        """Solve the program, from the last basis where there is one."""
        told: dict[str, Any] = {"output_flag": True} if verbose else {}
        solver = replace(self.solver, options=dict(self.solver.options) | told)
        answer = None
        if self._highs is not None and not self._rough:
            answer = self._hot(self._highs, objective_scale(self.program) | told)
        if answer is None or not answer.final or answer.excused:
            answer = settle(self.program, solver, first=answer)
        self._solved = answer.status is Status.OPTIMAL
        return answer

    def _hot(self, highs: highspy.Highs, options: Mapping[str, Any]) -> Settlement | None:
        """Solve from the last basis; None where what came of it is to be solved from scratch."""
        said = self._said(highs, options)
        answer = judge(Unit.plain(self.program), said, options)
        answer = replace(answer, iterations=said.iterations)
        if answer.cause is not None or answer.status is Status.LIMIT:
            return answer
        good = answer.quality is not None and answer.quality.relative <= HOT
        if answer.final and (good or answer.status is not Status.OPTIMAL or not self._solved):
            return answer
        highs.clearSolver()
        self._method = DUAL
        return None if answer.final else answer

    def round(self) -> Said | None:
        """Go on from the last basis, in the program's own units, and return what HiGHS says."""
        self._rounds = True
        if self._highs is None:
            self._load()
        return None if self._highs is None else self._said(self._highs, {})

    def _said(self, highs: highspy.Highs, options: Mapping[str, Any]) -> Said:
        """Run HiGHS from the last basis with further options, and return what it says."""
        set_options(highs, {"simplex_strategy": self._method} | UNTOLD | dict(options))
        set_options(highs, self.solver.options)
        if self.solver.time_limit is not None:
            # HiGHS's clock runs on from one solve of an object to the next.
            set_options(highs, {"time_limit": highs.getRunTime() + self.solver.time_limit})
        stopped = run_highs(highs)
        said = read(highs, stopped)
        LOGGER.debug("HiGHS, live: %s after %d iterations", said.status, said.iterations)
        if stopped.cause is not None:
            # HiGHS would find itself interrupted again, or is still at work.
            self._load()
        return said

    def _load(self) -> None:
        """Give the program to a new HiGHS object, or to none where its numbers need other units.

        Rounds are served in any case.
        """
        self._highs = None
        self._method = DUAL
        self._rough = not in_range(self.program)
        if self._rounds or not self._rough:
            self._highs = new_highs(RANGE | self.solver.arguments()["highs_options"])
            if not self.program.pass_to(self._highs):
                self._highs = None

    def _keep(self, said: highspy.HighsStatus) -> None:
        """Give HiGHS's copy up where HiGHS refused a change of it."""
        if said == highspy.HighsStatus.kError:
            self._highs = None

    def _still_in_range(self) -> highspy.Highs | None:
        """Return the HiGHS object that is to change too; without one every solve is afresh.

        It is given up for good where a number came that it may drop or refuse; among rounds it
        serves them still.
        """
        if self._highs is not None and not self._rough and not in_range(self.program):
            self._rough = True
            self._highs = self._highs if self._rounds else None
        return self._highs


def _changed_entries(before: Matrix, new: Matrix) -> tuple[Any, ...] | None:
    """Return rows, columns and values of entries that differ; None where their places do."""
    same = np.array_equal(before.indptr, new.indptr) and np.array_equal(before.indices, new.indices)
    if not same:
        return None
    at = np.flatnonzero(before.data != new.data)
    columns = np.searchsorted(new.indptr, at, side="right") - 1
    return new.indices[at], columns, new.data[at]


def _pass(
    highs: highspy.Highs, program: Program, changed: set[str], entries: tuple[Any, ...] | None
) -> Any:
    """Change numbers of the program that HiGHS holds; where many do, it gets all, and its basis."""
    if entries is None or len(entries[0]) > FEW:
        basis = highs.getBasis()
        if not program.pass_to(highs):
            return highspy.HighsStatus.kError
        return highs.setBasis(basis) if basis.valid else highspy.HighsStatus.kOk
    said = [highs.changeCoeff(int(i), int(j), float(x)) for i, j, x in zip(*entries, strict=True)]
    m, n = (np.arange(size, dtype=np.int32) for size in program.shape)
    if "cost" in changed:
        said.append(highs.changeColsCost(n.size, n, program.cost))
    if {"lower", "upper"} & changed:
        said.append(highs.changeColsBounds(n.size, n, program.lower, program.upper))
    if {"row_lower", "row_upper"} & changed:
        said.append(highs.changeRowsBounds(m.size, m, program.row_lower, program.row_upper))
    error = highspy.HighsStatus.kError
    return error if error in said else highspy.HighsStatus.kOk
