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

from iirl_opt.checks import MAPPING, PATH, checked, each, is_a
from iirl_opt.errors import FileProblem
from iirl_opt.library.schema import ExpectTable

if TYPE_CHECKING:
    from iirl_opt.solver import Solved

__all__ = ["Finding", "ModelAnswer", "by_name", "check", "solver_record"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ModelAnswer:
    """What a question got for an answer.

    Attributes
    ----------
    quantities : by the names that ``[[expect]]`` tables use.
    evidence : what supports the answer (solver record, reward, policy), ready for JSON.
    found : the record behind it, such as a `Commitment` or a `VerificationReport`; else None.
    """

    quantities: Mapping[str, float]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    found: Any = None


@dataclass(frozen=True)
class Finding:
    """An expectation held against what was found."""

    quantity: str
    expected: str
    found: float
    met: bool
    source: str


@checked(expect=each(is_a(ExpectTable)), quantities=MAPPING, path=PATH)
def check(
    expect: Sequence[ExpectTable], quantities: Mapping[str, float], path: Path
) -> tuple[Finding, ...]:
    """Hold the expectations of a file against what was found.

    Raises
    ------
    FileProblem
        A quantity that this question does not have.
    """
    findings = []
    for i, expected in enumerate(expect):
        if expected.quantity not in quantities:
            known = ", ".join(quantities)
            raise FileProblem(
                path,
                f"{expected.quantity!r} is no quantity of this question (known: {known})",
                key=f"expect[{i}].quantity",
            )
        found = quantities[expected.quantity]
        met = bool(np.isfinite(found))
        words = []
        if expected.value is not None:
            met = met and abs(found - expected.value) <= expected.tolerance
            words.append(f"{expected.value:.12g} ± {expected.tolerance:g}")
        if expected.at_most is not None:
            met = met and found <= expected.at_most
            words.append(f"≤ {expected.at_most:.12g}")
        if expected.at_least is not None:
            met = met and found >= expected.at_least
            words.append(f"≥ {expected.at_least:.12g}")
        findings.append(Finding(expected.quantity, ", ".join(words), found, met, expected.source))
    return tuple(findings)


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
        "farkas": None
        if solved.farkas is None
        else {name: np.asarray(ray).tolist() for name, ray in solved.farkas.items() if np.any(ray)},
    }
