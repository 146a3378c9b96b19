"""What a benchmark is: cases of a group, and the contestants of a case.

A *case* is one input of one size; its *contestants* do the same job on it, ours and peers. A
*group* is a module of `groups`. Its docstring says what is measured, and becomes the text of the
page; `TITLE` names it; `GROWTH` names the size over which growth is fitted, if any (`EXPONENTIAL`:
as a factor a unit, in place of an exponent); and `cases(quick)` lists the cases, where `quick` at
sizes of some seconds in all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["GROUPS", "Case", "Contestant", "Outcome", "group", "ours", "peer"]

GROUPS = (
    "planning",
    "evaluation",
    "feasible",
    "occupancy",
    "live",
    "overhead",
    "algorithm1",
    "active",
    "search",
    "regret",
    "loading",
    "startup",
    "sampling",
    "verification",
    "recheck",
)


@dataclass(frozen=True)
class Outcome:
    """What a run came to, where a number alone does not say it.

    Attributes
    ----------
    value : the answer, a number or an array: what contestants must agree on. None: nothing.
    figures : further numbers to print: iterations, a gap, megabytes.
    cpu : CPU seconds of a unit of the work, where the run did several, or more than it is about.
    """

    value: Any
    figures: Mapping[str, float] = field(default_factory=dict)
    cpu: float | None = None


@dataclass(frozen=True)
class Contestant:
    """One way of doing the job of a case.

    Attributes
    ----------
    run : the job, timed; it is given what `fresh` returns, and returns an `Outcome` or its value.
    fresh : makes the input of run number i; not timed.
    ours : whether it is this library, of which there may be an earlier checkout to compare with.
    """

    run: Callable[[Any], Any]
    fresh: Callable[[int], Any] = int
    ours: bool = False


def ours(run: Callable[[Any], Any], fresh: Callable[[int], Any] = int) -> Contestant:
    """Return a contestant that is this library."""
    return Contestant(run, fresh, ours=True)


def peer(run: Callable[[Any], Any], fresh: Callable[[int], Any] = int) -> Contestant:
    """Return a contestant that is not."""
    return Contestant(run, fresh)


@dataclass(frozen=True)
class Case:
    """One input on which contestants are compared.

    Attributes
    ----------
    title : of its rows.
    sizes : S, A, B, t, nnz, γ, seeds: whatever says how large it is.
    prepare : makes the input and returns the contestants by name; the first is the reference.
    runs : the most runs of each, after one to warm up.
    seeds : run number i is instance number i: all are made, none of them to warm up.
    seconds : no further run begins after a contestant has taken so long in all.
    limit : a single run is given up after so many seconds.
    memory : whether the peak of memory is measured too.
    before : whether an earlier checkout takes part.
    family : cases of one family are fitted together.
    """

    title: str
    sizes: Mapping[str, float | int | str]
    prepare: Callable[[], dict[str, Contestant]]
    runs: int = 7
    seeds: bool = False
    seconds: float = 10.0
    limit: float = 120.0
    memory: bool = False
    before: bool = True
    family: str = ""


def group(name: str) -> ModuleType:
    """Return the module of a group."""
    return import_module(f"groups.{name}")
