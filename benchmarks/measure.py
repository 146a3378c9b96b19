"""A case measured: contestants in turn, medians and quartiles, agreement, memory, exponents.

In every round each contestant that still has time runs once, the earlier checkout's beside ours, so
that a change of the machine's speed meets all alike. The first run of each warms it up and does not
count, unless it took so long that warming up cannot matter; then it may be the only one. A run is
compared with the reference's run on the same input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from cases import Case
from desk import Absent, Failed, GivenUp, Run
from growth import growth

__all__ = ["BEFORE", "LEFT", "NOW", "TROUBLES", "Place", "fits", "measured", "quartiles"]

NOW, BEFORE = "now", "before"

# A first run of so many seconds counts.
LONG = 3.0

# Runs of a contestant in a quick table.
QUICK = 2

Entry = dict[str, Any]

# What may happen to one contestant while the others go on, and what the table calls it.
TROUBLES = Absent, GivenUp, Failed
LEFT = "given up"


class Place(Protocol):
    """A desk, here or elsewhere."""

    def open(self, name: str, index: int, quick: bool) -> list[tuple[str, bool]]: ...
    def run(self, label: str, i: int, limit: float) -> Run: ...
    def peak(self, label: str) -> float: ...


class _Turn:
    """One contestant at one desk, and what it has done."""

    def __init__(self, label: str, where: str, desk: Place, ours: bool) -> None:
        self.label, self.where, self.desk, self.ours = label, where, desk, ours
        self.runs: list[Run] = []
        self.answers: dict[int, Any] = {}
        self.spent = 0.0
        self.note = ""

    def take(self, case: Case, i: int) -> None:
        """Run once on input number i, unless there is no time or no sense in it."""
        if self.note or (self.spent >= case.seconds and self.runs and not case.seeds):
            return
        try:
            run = self.desk.run(self.label, i, case.limit)
        except TROUBLES as cause:
            self.note = _said(cause)
            return
        self.spent += run.spent
        self.answers[i] = run.value
        if case.seeds or i or run.spent >= LONG:
            self.runs.append(run)

    def peak(self) -> float | None:
        """Return the peak of a run, where it comes to an end."""
        try:
            return self.desk.peak(self.label)
        except TROUBLES:
            return None

    def entry(self, reference: Mapping[int, Any]) -> Entry:
        """Return what the result file keeps of it."""
        if self.note and not self.runs:
            return {"note": self.note}
        kept: Entry = {
            "cpu": [_short(run.cpu) for run in self.runs],
            "wall": [_short(run.wall) for run in self.runs],
        }
        if self.note:
            kept["note"] = self.note
        shared = [i for i in self.answers if self.answers[i] is not None and i in reference]
        apart = [_difference(self.answers[i], reference[i]) for i in shared]
        if shared:
            kept["value"] = float(np.mean(self.answers[shared[0]]))
            kept["differs"] = max(apart)
        names = {name for run in self.runs for name in run.figures}
        kept["figures"] = {
            name: [_short(run.figures[name]) for run in self.runs if name in run.figures]
            for name in sorted(names)
        }
        return kept


def measured(
    name: str, index: int, case: Case, desks: Mapping[str, Place], quick: bool
) -> dict[str, Any]:
    """Return the row of a case: contestants by name, each with what it did at each desk."""
    if quick:
        case = replace(case, runs=min(case.runs, QUICK), seconds=min(case.seconds, 0.5))
    desks = {where: desk for where, desk in desks.items() if case.before or where == NOW}
    turns: list[_Turn] = []
    absent: dict[str, str] = {}
    for where, desk in desks.items():
        try:
            found = desk.open(name, index, quick)
        except TROUBLES as cause:
            if where == NOW:
                raise
            absent[where] = _said(cause)
            continue
        turns += [_Turn(one, where, desk, mine) for one, mine in found if mine or where == NOW]
    labels = list(dict.fromkeys(turn.label for turn in turns))
    turns.sort(key=lambda turn: labels.index(turn.label))
    for i in range(case.runs if case.seeds else case.runs + 1):
        for turn in turns:
            turn.take(case, i)
    reference = turns[0].answers if turns else {}
    rows: dict[str, Entry] = {label: {"ours": False} for label in labels}
    for turn in turns:
        rows[turn.label]["ours"] |= turn.ours
        rows[turn.label][turn.where] = turn.entry(reference)
        if case.memory and turn.runs and (peak := turn.peak()) is not None:
            rows[turn.label][turn.where]["memory"] = _short(peak)
    for where, note in absent.items():
        for label, row in rows.items():
            if row["ours"]:
                rows[label][where] = {"note": note}
    return {
        "title": case.title,
        "sizes": dict(case.sizes),
        "family": case.family,
        "each run another seed": case.seeds,
        "contestants": rows,
    }


def quartiles(times: list[float]) -> tuple[float, float, float]:
    """Return the quartiles of runs."""
    low, middle, high = np.quantile(times, [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)


def fits(rows: list[dict[str, Any]], over: str, exponential: bool) -> list[dict[str, Any]]:
    """Return the growth of CPU time and memory, by family and contestant, of 3 sizes or more."""
    points: dict[tuple[str, str, str, str], list[tuple[float, float]]] = {}
    for row in rows:
        for label, contestant in row["contestants"].items():
            for where in (NOW, BEFORE):
                entry = contestant.get(where, {})
                if not row["family"] or not entry.get("cpu"):
                    continue
                key = (row["family"], label, where)
                size = float(row["sizes"][over])
                points.setdefault((*key, "CPU"), []).append((size, quartiles(entry["cpu"])[1]))
                if entry.get("memory", 0) > 0:
                    points.setdefault((*key, "memory"), []).append((size, entry["memory"]))
    found = []
    for (family, label, where, what), pairs in points.items():
        x, y = zip(*pairs, strict=True)
        if len(set(x)) >= 3:
            k = growth(x, y, exponential)
            found.append(
                {
                    "family": family,
                    "contestant": label,
                    "where": where,
                    "of": what,
                    "over": over,
                    "from": min(x),
                    "to": max(x),
                    "a unit": exponential,
                    "exponent": _short(k.exponent),
                    "error": _short(k.error),
                    "r2": _short(k.r2),
                    "points": k.points,
                }
            )
    return found


def _difference(answer: Any, reference: Any) -> float:
    """Return how far two answers are apart, as a share of the largest number of the reference."""
    one, other = np.asarray(answer, dtype=float), np.asarray(reference, dtype=float)
    if one.shape != other.shape:
        one, other = one.mean(), other.mean()
    apart = float(np.abs(one - other).max(initial=0.0))
    return apart / max(float(np.abs(other).max(initial=0.0)), 1e-300) if apart else 0.0


def _said(cause: Exception) -> str:
    names = {Absent: "absent", GivenUp: LEFT, Failed: "failed"}
    return f"{names[type(cause)]}: {cause}"


def _short(number: float) -> float:
    return float(f"{number:.4g}")
