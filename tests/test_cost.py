"""The account of the suite: which room pays for a test, and when it has paid too much."""

from pathlib import Path

import pytest
from cost import (
    BUDGET,
    HOUSE,
    OUTSIDE,
    TESTS,
    TOTAL,
    loop,
    overspent,
    read_budget,
    room_of,
    spent,
    too_dear,
)


@pytest.mark.parametrize(
    ("nodeid", "room"),
    [
        ("tests/game/test_mdp.py::test_x[tests/cli]", "game"),
        ("tests/library/families/test_x.py::test_y", "library"),
        ("tests/test_cost.py::test_x", HOUSE),
        ("test_x.py::test_y", HOUSE),
    ],
)
def test_a_test_is_paid_by_the_folder_that_holds_it(nodeid: str, room: str) -> None:
    assert room_of(nodeid) == room


def test_a_room_that_costs_too_much_or_has_no_budget_is_named() -> None:
    lines = overspent({"game": 2.0, "cli": 3.25, "new": 0.5}, {"game": 2.0, "cli": 3})
    assert lines == [
        "cli costs 3.2 units; its budget is 3",
        "new costs 0.5 units; its budget is 0",
    ]


def test_only_the_total_decides() -> None:
    budget = {TOTAL: 5.0, "game": 2.0, "cli": 3.0}
    assert not too_dear({TOTAL: 5.0, "game": 1.0, "cli": 4.0}, budget)
    assert too_dear({TOTAL: 5.1, "game": 2.0, "cli": 3.0}, budget)


def test_every_room_has_a_line_of_the_budget_and_no_other_has() -> None:
    rooms = {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("*/test_*.py")}
    assert set(read_budget()) == rooms | {HOUSE, OUTSIDE, TOTAL}, Path(BUDGET).name


def test_what_is_spent_counts_the_loop() -> None:
    before = spent()
    cost = loop()
    assert 0 < cost <= spent() - before
