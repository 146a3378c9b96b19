"""Proposition 1 as an experiment: what its cells prove, and that each statement can fail."""

from dataclasses import replace

import pytest

from iirl_opt.experiments.figure import run_figure
from iirl_opt.experiments.proposition import (
    PROPOSITION_1,
    compute,
    judge,
    summarise_runs,
)
from iirl_opt.experiments.sweep import Cell, CellResult


def cell(game, method, seed=0, **facts):
    return Cell("proposition-1", game, method, seed, {"episodes": 33, **facts})


@pytest.mark.parametrize("method", ["algorithm-1", "active"])
def test_where_the_assumption_holds_the_end_is_optimal_in_rational_arithmetic(method):
    found = compute(cell("random", method, 8, size=[3, 2, 2]))
    assert found["holds"]
    assert found["proved"]
    assert found["margin"] > 1e-3
    assert found["optimal_late"]
    assert found["last_bad"] <= 20
    assert found["floor"] is None
    assert found == compute(cell("random", method, 8, size=[3, 2, 2]))


def test_where_it_fails_algorithm_1_may_lose_for_ever():
    found = compute(cell("random", "algorithm-1", 10, size=[3, 2, 2]))
    assert not found["holds"]
    assert found["proved"]
    assert found["most_bad"] is None
    assert not found["optimal_late"]
    assert found["last_bad"] > 20


@pytest.mark.parametrize(("game", "floor"), [("idle-partner", 4.5), ("same-answer", 0.075)])
@pytest.mark.parametrize("method", ["algorithm-1", "active"])
def test_on_the_model_files_both_truths_together_cost_the_floor(game, floor, method):
    one, other = (compute(cell(game, method, run=3, mirrored=m)) for m in (False, True))
    assert one["floor"] == other["floor"] == pytest.approx(floor, rel=1e-14)
    assert not one["holds"]
    assert not other["holds"]
    for mine, theirs in zip(one["regrets"], other["regrets"], strict=True):
        assert (mine + theirs) / 2 == pytest.approx(floor)


def results(*, holds=0.0, fails=0.1, floor=0.075, lucky=0.0, proved=True):
    """Runs of 60 episodes: a game where it holds, one where it fails, a model file twice."""
    common = {"proved": proved, "margin": 0.1, "suboptimal": 3}
    found = []
    for method in ("algorithm-1", "active"):
        good = {
            **common,
            "holds": True,
            "floor": None,
            "regrets": [1.0] + [holds] * 59,
            "most_bad": 3,
            "bad": 60 if holds else 1,
            "last_bad": 60 if holds else 1,
            "optimal_late": not holds,
        }
        poor = {**good, "holds": False, "most_bad": None, "regrets": [fails] * 60}
        poor |= {"bad": 60, "last_bad": 60 if fails else 0, "optimal_late": not fails}
        found.append(CellResult(cell("random", method, 0, size=[2, 2, 2]), good, 0.0))
        found.append(CellResult(cell("random", method, 1, size=[3, 2, 2]), poor, 0.0))
        for mirrored, regret in ((False, lucky), (True, 0.15)):
            values = {**poor, "floor": floor, "regrets": [regret] * 60}
            where = cell("same-answer", method, run=0, mirrored=mirrored)
            found.append(CellResult(where, values, 0.0))
    return found


def test_the_statements_hold_on_runs_as_they_should_be():
    statements = judge(results())
    assert len(statements) == 5
    assert all(statement.holds for statement in statements)
    summary = summarise_runs(results())
    assert summary["assumption"] == {
        "2": {"games": 1, "holds": 1},
        "3": {"games": 1, "holds": 0},
    }
    panel = summary["panels"]["same-answer"]["active"]
    assert panel["late"]["runs"] == 1
    assert panel["late"]["mean"] == pytest.approx(0.075)


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({"holds": 0.1}, [0, 1, 2]),
        ({"fails": 0.0}, [3]),
        ({"floor": 0.1}, [4]),
        ({"floor": None}, [4]),
        ({"lucky": -0.1}, [4]),
        ({"proved": False}, [0, 1]),
    ],
)
def test_each_statement_can_fail(changes, failing):
    statements = judge(results(**changes))
    assert [i for i, statement in enumerate(statements) if not statement.holds] == failing


def test_its_document_is_whole_and_repeatable(tmp_path):
    def tiny(seed):
        return [cell("random", "algorithm-1", seed, size=[2, 2, 2])]

    figure = replace(PROPOSITION_1, scales={"tiny": tiny})
    document = run_figure(figure, "tiny", seed=1)
    assert document["figure"] == "proposition-1"
    assert document == run_figure(figure, "tiny", seed=1)
    assert document["summary"]["assumption"] == {"2": {"games": 1, "holds": 1}}
    assert all(statement["holds"] for statement in document["statements"])


def test_both_learners_meet_the_same_games_and_both_truths():
    for scale in PROPOSITION_1.scales:
        cells = PROPOSITION_1.cells(scale, 2)
        assert len({c.key for c in cells}) == len(cells)
        met = {
            method: [(c.game, c.seed, c.parameters) for c in cells if c.method == method]
            for method in ("algorithm-1", "active")
        }
        assert met["algorithm-1"] == met["active"]
        truths = [c.parameters["mirrored"] for c in cells if c.game != "random"]
        assert sum(truths) == len(truths) / 2


def test_the_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    path = PROPOSITION_1.draw(summarise_runs(results()), tmp_path / "p.png")
    assert path.read_bytes().startswith(b"\x89PNG")
