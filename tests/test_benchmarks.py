"""Benchmarks measure what they say, and no document shows what was not measured.

How long anything takes is no business of a test.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from runpy import run_path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"

GROUPS = sorted(path.stem for path in (FOLDER / "groups").glob("[!_]*.py"))


@pytest.fixture(autouse=True)
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)


def part(name: str) -> ModuleType:
    return import_module(name)


class Clock:
    """A desk whose runs take what they are told to take."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def open(self, name: str, index: int, quick: bool) -> list[tuple[str, bool]]:
        return [("ours", True), ("peer", False)]

    def run(self, label: str, i: int, limit: float) -> Any:
        desk = part("desk")
        if label == "ours" and self.factor > 5:
            raise desk.Absent("no such function")
        time = self.factor * (i + 1)
        return desk.Run(time, 2 * time, [1.0, 2.0 + (label == "peer")], {"steps": i}, time)

    def peak(self, label: str) -> float:
        return 7.0


def test_every_group_is_listed() -> None:
    assert sorted(part("cases").GROUPS) == GROUPS
    for name in GROUPS:
        module = part(f"groups.{name}")
        assert module.__doc__
        assert module.TITLE
        for quick in (True, False):
            titles = [case.title for case in module.cases(quick)]
            assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(
    ("entry", "bad"),
    [
        ({"differs": 1e-9}, 0),
        ({"differs": 1e-3}, 1),
        ({"note": "failed: Error"}, 1),
        ({"note": "absent: TypeError"}, 1),
        ({"note": "given up: more than 2 s"}, 0),
        ({}, 0),
    ],
)
def test_a_command_whose_contestants_fail_or_disagree_fails(
    entry: dict[str, Any], bad: int
) -> None:
    command = run_path(str(FOLDER / "__main__.py"), run_name="command")
    now = command["NOW"]
    row = {"contestants": {"ours": {now: {}}, "peer": {now: entry}}}
    assert command["count_failures"]([row]) == bad


def test_a_case_keeps_the_runs_after_the_warm_up_and_says_what_was_absent() -> None:
    measure, cases = part("measure"), part("cases")
    case = cases.Case("title", {"S": 3}, dict, runs=2, memory=True)
    places = {"now": Clock(0.1), "before": Clock(10.0)}
    row = measure.measured("any", 0, case, places, quick=False)
    ours, peer = row["contestants"]["ours"], row["contestants"]["peer"]
    assert ours["now"]["cpu"] == [0.2, 0.3]
    assert ours["now"]["wall"] == [0.4, 0.6]
    assert ours["now"]["figures"] == {"steps": [1, 2]}
    assert ours["before"] == {"note": "absent: no such function"}
    assert ours["now"]["differs"] == 0
    assert peer["now"]["differs"] == pytest.approx(0.5)
    assert peer["now"]["memory"] == 7
    assert "before" not in peer


def test_instances_by_seed_are_all_kept() -> None:
    measure, cases = part("measure"), part("cases")
    case = cases.Case("title", {}, dict, runs=3, seeds=True, seconds=0.1)
    row = measure.measured("any", 0, case, {"now": Clock(0.1)}, quick=False)
    assert len(row["contestants"]["ours"]["now"]["cpu"]) == 3


def test_growth_is_that_of_a_power_or_of_a_factor() -> None:
    growth = part("growth").growth
    x = np.array([1.0, 2.0, 5.0, 9.0])
    power, factor = growth(x, 3 * x**1.5), growth(x, 3 * 2.5**x, True)
    assert power.exponent == pytest.approx(1.5)
    assert factor.exponent == pytest.approx(2.5)
    noise = growth(x, x * np.array([1.0, 1.1, 0.9, 1.0]))
    # The textbook's formula, by NumPy's own fit.
    fit, covariance = np.polyfit(np.log(x), np.log(x * [1.0, 1.1, 0.9, 1.0]), 1, cov=True)
    assert noise.exponent == pytest.approx(fit[0])
    assert noise.error == pytest.approx(np.sqrt(covariance[0, 0]))
    assert 0.9 < noise.r2 < 1


@pytest.fixture
def result() -> dict[str, Any]:
    return json.loads(part("page").RESULTS.read_text(encoding="utf-8"))


def test_the_page_of_speeds_shows_the_results(result: dict[str, Any]) -> None:
    page = part("page")
    assert page.PAGE.read_text(encoding="utf-8") == page.as_page(result)


def test_the_readme_claims_what_was_measured(result: dict[str, Any]) -> None:
    page = part("page")
    text = page.README.read_text(encoding="utf-8")
    assert page.as_readme(result, text) == text
    assert "|  |" not in text


def test_results_are_of_cases_that_exist(result: dict[str, Any]) -> None:
    for name, measured in result["groups"].items():
        titles = [case.title for case in part(f"groups.{name}").cases(False)]
        assert [row["title"] for row in measured["rows"]] == titles
