"""The cost of the suite: CPU seconds by room, in units of a fixed loop, held to a budget.

A pytest plugin. The *cost* of a test is the CPU time of its setup, call and teardown, of this
process and of the children it waited for. Its *room* is the folder of `tests/` that holds it, or
the house where it lies in `tests/` itself. What a process spends outside its tests, on imports and
collection, is a room of its own. Machines differ, and a busy machine differs from itself: each
process also times a fixed *loop* now and then, and the budget counts in *units*, ten loops each
(about a second of CPU). ``--hold-budget`` fails a run whose *total* costs more than
`tests/budget.toml` grants it; a room that is above its own line is a warning, since a room's cost
sways more from run to run than that of them all.
"""

from __future__ import annotations

import resource
import statistics
import time
import tomllib
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TESTS = Path(__file__).parent
BUDGET = TESTS / "budget.toml"
HOUSE, OUTSIDE, TOTAL = "house", "imports", "total"
PAUSE = 20.0
"""CPU seconds between two loops."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("cost").addoption(
        "--hold-budget", action="store_true", help="fail where the suite costs more than its budget"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.option.collectonly:
        config.pluginmanager.register(Cost(config), "cost of the suite")


def spent() -> float:
    """Return the CPU seconds of this process and of the children that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def loop() -> float:
    """Return the CPU seconds of the loop: plain Python, then small arrays."""
    start = time.process_time()
    table: dict[int, int] = {}
    for k in range(400_000):
        table[k % 1000] = table.get(k % 997, 0) + k
    matrix = np.eye(60) * 0.9
    for _ in range(2_000):
        matrix = matrix @ matrix.T + 0.1
        matrix /= np.abs(matrix).max()
    return time.process_time() - start


def room_of(nodeid: str) -> str:
    """Return the room of a test: ``tests/game/test_mdp.py::...`` stands in ``game``."""
    folders = Path(nodeid.partition("::")[0]).parts[:-1]
    return folders[1] if len(folders) > 1 else HOUSE


def read_budget() -> dict[str, float]:
    """Return what each room may cost, in units."""
    return dict(tomllib.loads(BUDGET.read_text("utf-8")))


def overspent(units: dict[str, float], budget: dict[str, float]) -> list[str]:
    """Return a line for each room that costs more than it is granted, or is granted nothing."""
    return [
        f"{room} costs {cost:.1f} units; its budget is {budget.get(room, 0.0):g}"
        for room, cost in units.items()
        if cost > budget.get(room, 0.0)
    ]


def too_dear(units: dict[str, float], budget: dict[str, float]) -> bool:
    """Whether the suite as a whole costs more than it is granted."""
    return units[TOTAL] > budget[TOTAL]


class Cost:
    """What the tests of this process cost; in the one that reports, also those of its workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.seconds: Counter[str] = Counter()
        self.loops = [loop()]
        self.due, self.last = spent() + PAUSE, 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure a test, and the loop before it where that is due."""
        before = spent()
        self.seconds[OUTSIDE] += before - self.last
        if before > self.due:
            self.loops.append(loop())
            before = spent()
            self.due = before + PAUSE
        try:
            return (yield)
        finally:
            self.last = spent()
            self.seconds[room_of(item.nodeid)] += self.last - before

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a worker of pytest-xdist has found; one that crashed has nothing to say."""
        found = getattr(node, "workeroutput", {}).get("cost", {})
        self.seconds.update(found.get("seconds", {}))
        self.loops += found.get("loops", [])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Close the account: in a worker hand it over, else hold it to the budget if asked."""
        # The children of a process that hands out tests are its workers, who speak for themselves.
        hands_out = self.config.pluginmanager.hasplugin("dsession")
        self.seconds[OUTSIDE] += time.process_time() if hands_out else spent() - self.last
        if hasattr(self.config, "workeroutput"):
            found = {"seconds": dict(self.seconds), "loops": self.loops}
            self.config.workeroutput["cost"] = found
        elif self.config.option.hold_budget and too_dear(self.units, read_budget()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @property
    def unit(self) -> float:
        """The CPU seconds of a unit: ten loops."""
        return 10 * statistics.median(self.loops)

    @property
    def units(self) -> dict[str, float]:
        """The cost of each room and of them all, the dearest first."""
        rooms = {room: seconds / self.unit for room, seconds in self.seconds.most_common()}
        return {TOTAL: sum(rooms.values()), **rooms}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table, and what costs more than it may."""
        budget = read_budget()
        terminalreporter.section("cost of the suite")
        terminalreporter.write_line(
            f"one unit = ten loops = {self.unit:.2f} CPU s (median of {len(self.loops)} loops)"
        )
        terminalreporter.write_line(f"{'room':<14}{'units':>9}{'budget':>9}{'CPU s':>9}")
        for room, units in self.units.items():
            granted, seconds = budget.get(room, 0.0), units * self.unit
            terminalreporter.write_line(f"{room:<14}{units:>9.1f}{granted:>9g}{seconds:>9.1f}")
        if self.config.option.hold_budget:
            fails = too_dear(self.units, budget)
            for line in overspent(self.units, budget):
                red = fails and line.startswith(TOTAL)
                word = "OVER BUDGET" if red else "warning"
                terminalreporter.write_line(f"{word}: {line}", red=red, yellow=not red)
