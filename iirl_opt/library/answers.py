"""Answers to model files: quantities with their evidence, held against what a file expects.

A `ModelAnswer` holds quantities by the names that ``[[expect]]`` tables use, so that every
expectation of a file can be derived again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import MAPPING, PATH, checked, each, is_a
from iirl_opt.errors import FileProblem
from iirl_opt.library.schema import ExpectTable
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.spelling import allowed_names

if TYPE_CHECKING:
    from iirl_opt.solver import Solved

__all__ = ["Finding", "ModelAnswer", "by_name", "check", "solver_record"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ModelAnswer(Tabular):
    """What a question got for an answer.

    Attributes
    ----------
    quantities : by the names that ``[[expect]]`` tables use.
    evidence : what supports the answer (solver record, reward, policy), ready for JSON.
    found : the record behind it, such as a `Commitment` or a `VerificationReport`; else None.
    unanswered : the quantity that says that what was asked for is not there, such as
        ``"infeasible"``; else empty.
    decides : whether expectations can be held against it: not so of chains that have not mixed.

    Examples
    --------
    >>> from iirl_opt import library
    >>> answer = library.answer(library.read_model("correlated-budget"))
    >>> round(answer.quantities["value"], 6), answer.quantities["infeasible"]
    (1.5, 0.0)
    """

    quantities: Mapping[str, float]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    found: Any = None
    unanswered: str = ""
    decides: bool = True

    __repr__ = in_brief

    def table(self) -> FactTable:
        """Return a row a quantity."""
        found = self.quantities.items()
        return FactTable([{"quantity": name, "value": value} for name, value in found], "answer")


@dataclass(frozen=True)
class Finding:
    """An expectation held against what was found.

    Examples
    --------
    >>> from iirl_opt import library
    >>> problem = library.read_model("correlated-budget")
    >>> finding = check(problem.expect, library.answer(problem).quantities, problem.path)[0]
    >>> finding.quantity, finding.expected, finding.met
    ('value', '1.5 ± 1e-08', True)
    """

    quantity: str
    expected: str
    found: float
    met: bool
    source: str

    __repr__ = in_brief


@checked(expect=each(is_a(ExpectTable)), quantities=MAPPING, path=PATH)
def check(
    expect: Sequence[ExpectTable], quantities: Mapping[str, float], path: Path
) -> tuple[Finding, ...]:
    """Hold the expectations of a file against what was found.

    Raises
    ------
    FileProblem
        A quantity that this question does not have.

    **Cost** arithmetic, linear in the expectations.

    Examples
    --------
    >>> from iirl_opt import library
    >>> problem = library.read_model("goal-twice-the-start")
    >>> expected = problem.expect[:1]
    >>> expected[0].quantity, expected[0].value
    ('value', 0.5)
    >>> check(expected, {"value": 0.25}, problem.path)[0].met
    False
    """
    findings = []
    for i, expected in enumerate(expect):
        if expected.values is not None:
            findings.append(_check_many(expected, quantities, path, f"expect[{i}]"))
            continue
        if expected.quantity not in quantities:
            raise _unknown(expected.quantity, quantities, path, f"expect[{i}].quantity")
        found = quantities[expected.quantity]
        met = bool(np.isfinite(found))
        words = []
        if expected.value is not None:
            met = met and abs(found - expected.value) <= expected.tolerance
            words.append(_about(expected.value, expected.tolerance))
        if expected.at_most is not None:
            met = met and found <= expected.at_most
            words.append(f"≤ {expected.at_most:.12g}")
        if expected.at_least is not None:
            met = met and found >= expected.at_least
            words.append(f"≥ {expected.at_least:.12g}")
        findings.append(Finding(expected.quantity, ", ".join(words), found, met, expected.source))
    return tuple(findings)


def _check_many(
    expected: ExpectTable, quantities: Mapping[str, float], path: Path, place: str
) -> Finding:
    """Hold the values of a quantity that has many against what was found.

    The finding is about the first of them that is not met, else about the one farthest off.
    """
    name = expected.quantity
    own = [full for full in quantities if full.startswith(f"{name}[") and full.endswith("]")]
    values: dict[str, float] = {}
    if isinstance(expected.values, dict):
        values = {f"{name}[{label}]": value for label, value in expected.values.items()}
        for full in values:
            if full not in quantities:
                raise _unknown(full, quantities, path, f"{place}.values")
    elif expected.values is not None and len(expected.values) == len(own):
        values = dict(zip(own, expected.values, strict=True))
    if not values:
        count = len(expected.values or ())
        problem = f"are {count}; allowed {len(own)}, as {name!r} has in this question"
        raise FileProblem(path, problem, key=f"{place}.values")
    off = {full: abs(quantities[full] - value) for full, value in values.items()}
    failed = [full for full, gap in off.items() if not gap <= expected.tolerance]
    shown = failed[0] if failed else max(off, key=lambda full: off[full])
    words = f"{_about(values[shown], expected.tolerance)}, as one of {len(values)}"
    return Finding(shown, words, quantities[shown], not failed, expected.source)


def _about(value: float, tolerance: float) -> str:
    return f"{value:.12g} ± {tolerance:g}"


def _unknown(name: str, quantities: Mapping[str, float], path: Path, key: str) -> FileProblem:
    known = allowed_names(name, quantities)
    problem = f"{name!r} is no quantity of this question; allowed {known}"
    return FileProblem(path, problem, key=key)


def by_name(name: str, labels: Sequence[Any], values: Array) -> dict[str, float]:
    """Return one quantity a label: ``name[label]``."""
    return {f"{name}[{label}]": float(v) for label, v in zip(labels, values, strict=True)}


def solver_record(solved: Solved) -> dict[str, Any]:
    """Return a solver's record ready for JSON."""
    residuals = solved.residuals
    return {
        "status": solved.status.name,
        "value": solved.value,
        "solver": solved.solver,
        "version": solved.version,
        "seconds": solved.seconds,
        "iterations": solved.iterations,
        "residual": None if residuals is None else residuals.largest(),
        "farkas": None if solved.farkas is None else _ray(solved),
    }


def _ray(solved: Solved) -> dict[str, Any]:
    """Return the rows of a Farkas ray by name, those first that `Solved.contradicting` names."""
    rays = solved.farkas or {}
    first = [row.label for row in solved.contradicting if row.label in rays]
    return {
        name: np.asarray(rays[name]).tolist()
        for name in dict.fromkeys([*first, *rays])
        if np.any(rays[name])
    }
