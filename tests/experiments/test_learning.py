"""Figure 3 and comparisons: cells, what is judged, and what can go wrong."""

import numpy as np
import pytest

from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.experiments.comparison import compare_cells, compare_runs
from iirl_opt.experiments.learning import (
    FIGURE_3,
    compute,
    judge,
    summarise_regrets,
)
from iirl_opt.experiments.sweep import Cell, CellResult
from iirl_opt.learn.episode_regret import best_value
from iirl_opt.library import LEARNERS, read_model


@pytest.mark.parametrize("name", [*LEARNERS, "active-fixed", "algorithm-1-fixed"])
def test_every_learner_runs_and_begins_with_the_same_commitment(name):
    cell = Cell(3, "random", name, 4, {"size": [5, 2, 2], "episodes": 3})
    plain = compute(Cell(3, "random", "algorithm-1", 4, {"size": [5, 2, 2], "episodes": 3}))
    found = compute(cell)
    assert len(found["regrets"]) == 3
    assert found["regrets"][0] == pytest.approx(plain["regrets"][0])
    assert min(found["regrets"]) >= -1e-9
    assert found == compute(cell)


def results(curves):
    return [
        CellResult(Cell(3, "random", method, seed), {"regrets": list(curve)}, 0.0)
        for method, curve in curves.items()
        for seed in range(2)
    ]


FALLING, FLAT = np.linspace(1, 0.01, 30), np.full(30, 0.5)


def test_the_statements_hold_on_what_the_paper_describes():
    curves = {"algorithm-1": FALLING, "active": FALLING / 10, "max-margin-fixed": FLAT}
    assert all(statement.holds for statement in judge(results(curves)))
    summary = summarise_regrets(results(curves))["panels"]["random"]
    assert summary["max-margin-fixed"]["late"]["mean"] == pytest.approx(0.5)
    assert summary["algorithm-1"]["total"]["mean"] == pytest.approx(FALLING.sum())


def test_each_statement_can_fail():
    curves = {"algorithm-1": FLAT, "active": 2 * FLAT, "max-margin-fixed": FLAT / 2}
    assert not any(statement.holds for statement in judge(results(curves)))


def test_a_comparison_is_the_same_every_time_and_shares_first_commitments():
    cells = compare_cells("two-rooms", ["algorithm-1", "active"], episodes=3, runs=2, seed=1)
    document = compare_runs(cells)
    assert document == compare_runs(cells)
    regrets = {
        (c["method"], c["parameters"]["run"]): c["values"]["regrets"][0] for c in document["cells"]
    }
    assert regrets["algorithm-1", 1] == regrets["active", 1]


def test_a_file_that_was_changed_is_not_gone_on_with_and_workers_need_none(tmp_path):
    shipped = read_model("two-rooms").path.read_text()
    file, kept = tmp_path / "mine.toml", tmp_path / "cells.jsonl"
    file.write_text(shipped)
    cells = compare_cells(str(file), ["active"], episodes=2, runs=2, seed=0)

    def gone(_):
        file.unlink(missing_ok=True)

    document = compare_runs(cells, checkpoint=kept, progress=gone)
    assert str(tmp_path) not in str(document)
    file.write_text(shipped)
    assert compare_runs(cells, checkpoint=kept, resume=True) == document
    file.write_text(shipped + "\n# changed\n")
    with pytest.raises(FileProblem, match=r"mine\.toml or the options"):
        compare_runs(cells, checkpoint=kept, resume=True)


def test_a_learner_that_is_unknown_or_named_twice_is_refused_by_name():
    with pytest.raises(InvalidArgument, match="learners names active twice"):
        compare_cells("two-rooms", ["active", "random", "active"], episodes=1, runs=1, seed=0)
    with pytest.raises(InvalidArgument, match=r"learner is 'best'.*algorithm-1"):
        compare_cells("two-rooms", ["best"], episodes=1, runs=1, seed=0)
    with pytest.raises(InvalidArgument, match=r"active.* twice"):
        compare_runs(compare_cells("two-rooms", ["active"] * 2, episodes=1, runs=1, seed=0))


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(FileProblem, match="nowhere"):
        compute(Cell("compare", "nowhere", "active", 0, {"episodes": 1}))


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_all_learners_of_a_figure_meet_the_same_games(scale):
    cells = FIGURE_3.cells(scale, 3)
    by_method = {}
    for cell in cells:
        facts = tuple(sorted((k, str(v)) for k, v in cell.parameters.items()))
        by_method.setdefault(cell.method, set()).add((cell.game, cell.seed, facts))
    assert len(by_method) == 3
    first, *others = by_method.values()
    assert all(other == first for other in others)


def test_the_picture_shows_nothing_below_zero(tmp_path):
    pytest.importorskip("matplotlib")
    curves = {"algorithm-1": FALLING, "active": 0 * FALLING, "max-margin-fixed": FLAT}
    path = FIGURE_3.draw(summarise_regrets(results(curves)), tmp_path / "figure.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_comparison_plays_the_follower_of_the_file():
    cell = Cell("compare", "hidden-boltzmann", "random-reward", 0, {"run": 0, "episodes": 2})
    problem = read_model("hidden-boltzmann")
    best = best_value(problem.game, problem.need_truth(), problem.follower)
    assert compute(cell)["optimal_value"] == pytest.approx(best)
    assert best < best_value(problem.game, problem.need_truth())
