"""What is told of solves: a logger for programs, the solver's own log for people.

``logging.getLogger("iirl_opt.solver")`` gets a line a solve at level INFO, and one a run of HiGHS
(a solve may take some) at level DEBUG. No handler is installed: without one of the application's
nothing is seen.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from typing import Any

from iirl_opt.solver.records import HiGHS, Solved, Solver

__all__ = ["LOGGER", "aloud", "report", "show"]

LOGGER = logging.getLogger("iirl_opt.solver")


def report(kind: str, shape: tuple[int, int] | None, solved: Solved) -> None:
    """Tell the logger of a solve: what, how large, how it ended, how good, how long.

    Parameters
    ----------
    kind : of program: ``LP``.
    shape : the numbers of rows and of columns, where they are known.
    """
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    size = "" if shape is None else f" of {shape[0]} rows, {shape[1]} columns"
    value = "" if solved.value is None else f", value {solved.value:.10g}"
    residual = "" if solved.residuals is None else f", residuals ≤ {solved.residuals.largest():.1e}"
    note = f" ({solved.note})" if solved.note else ""
    LOGGER.info(
        f"{kind}{size} by {solved.solver}: {solved.status.name}{value}{residual}, "
        f"{solved.iterations} iterations, {solved.seconds:.3g} s{note}"
    )
    LOGGER.debug(f"compiled in {solved.compile_seconds:.3g} s; options {dict(solved.options)}")


def aloud(solver: Solver) -> Solver:
    """Return a solver that tells what it does, where that is an option of it."""
    if not isinstance(solver, HiGHS):
        return solver
    return replace(solver, options=dict(solver.options) | {"output_flag": True})


def show(message: Any) -> None:
    """Write a line of HiGHS's log to the standard output of Python as it is now."""
    try:
        sys.stdout.write(message)
        sys.stdout.flush()
    except (AttributeError, OSError, ValueError):
        pass  # There is none, or nobody reads it: no reason to end a solve.
