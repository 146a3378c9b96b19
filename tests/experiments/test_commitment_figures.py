"""Figures 6 and 7: values from independent computations, and statements that can fail."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.experiments.bands import quantiles
from iirl_opt.experiments.commitment import FIGURE_6, FIGURE_7, best_value, compute, judge
from iirl_opt.experiments.figure import Figure
from iirl_opt.experiments.sweep import Cell, CellResult
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower
from iirl_opt.follower.protocols import Follower
from iirl_opt.game.generate import random_game
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import evaluate

EPSILONS = (1.0, 0.5, 0.0)
BETAS = (0.0, 5.0, 20.0)


def earned(problem: CommitmentProblem, policy: Any) -> float:
    game = problem.game
    response = problem.follower.respond(game, problem.reward, policy)
    return float(game.start @ evaluate(game, problem.reward, (policy, response)))


@pytest.mark.parametrize("follower", [BoltzmannFollower(4), EpsilonGreedyFollower(0.3)])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_a_small_game_is_the_best_of_all(follower: Follower, seed: int) -> None:
    game, reward = random_game(3, 2, 3, seed)
    problem = CommitmentProblem(game, reward, follower)
    everything = [earned(problem, deterministic_policy(a, 2)) for a in product((0, 1), repeat=3)]
    assert best_value(problem) == pytest.approx(max(everything), rel=1e-12)


@pytest.mark.parametrize(
    "follower", [BoltzmannFollower(0), EpsilonGreedyFollower(1), EpsilonGreedyFollower(0)]
)
def test_the_best_of_a_large_game_agrees_with_enumeration_where_both_can(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(5):
        problem = CommitmentProblem(*random_game(5, 2, 3, seed), follower)
        enumerated = best_value(problem)
        with monkeypatch.context() as patch:
            patch.setattr("iirl_opt.experiments.commitment.MOST_ENUMERATED", 0)
            assert best_value(problem) == pytest.approx(enumerated, rel=1e-9)


def test_in_between_the_best_of_a_large_game_is_not_known() -> None:
    for follower in (BoltzmannFollower(1), EpsilonGreedyFollower(0.5)):
        assert best_value(CommitmentProblem(*random_game(30, 3, 2, 0), follower)) is None


def test_a_cell_holds_what_the_commitments_earn() -> None:
    cell = Cell(6, "random", "boltzmann", 4, {"beta": 3.0, "size": [20, 3, 2]})
    values = compute(cell)
    assert values == compute(cell)
    assert values["best"] is None
    assert values["returned"] == max(values["algorithm"], values["joint"])
    assert values != compute(replace(cell, seed=5))


# Statements. The planted results meet all of them; each doctored one breaks the one it names.


def planted(figure: Figure, change: Callable[[Cell, float], dict[str, float]]) -> list[CellResult]:
    """Results whose advantage is half of 1 − (position of the level), changed where asked."""
    boltzmann = figure is FIGURE_6
    name, levels = ("beta", BETAS) if boltzmann else ("epsilon", EPSILONS)
    cells = [
        Cell(figure.number, game, "boltzmann" if boltzmann else "epsilon-greedy", seed, {name: x})
        for game, runs in (("maze-maker", 1), ("random", 2), ("small", 2))
        for seed in range(runs)
        for x in levels
    ]
    results = []
    for cell in cells:
        place = levels.index(cell.parameters[name]) / 2
        joint = 1 + place
        values = {"algorithm": 2.0, "joint": joint, "best": 2.0} | change(cell, place)
        values.setdefault("returned", max(values["algorithm"], values["joint"]))
        results.append(CellResult(cell, values, 0.0))
    return results


def failing(figure: Figure, change: Callable[[Cell, float], dict[str, float]]) -> list[str]:
    statements = judge(planted(figure, change))
    return [statement.text for statement in statements if not statement.holds]


@pytest.mark.parametrize("figure", [FIGURE_6, FIGURE_7])
def test_what_is_as_the_paper_says_passes(figure: Figure) -> None:
    assert failing(figure, lambda cell, place: {}) == []
    assert len(judge(planted(figure, lambda cell, place: {}))) == 2 * 5 + 2


@pytest.mark.parametrize(
    ("figure", "game", "change", "broken"),
    [
        (FIGURE_6, "maze-maker", lambda at: {"joint": 2.0 - at}, ["shrinks", "under 2 %"]),
        (FIGURE_6, "maze-maker", lambda at: {"joint": 1.9} if at == 1 else {}, ["under 2 %"]),
        (FIGURE_6, "random", lambda at: {"joint": 1.5}, ["shrinks", "under 2 %"]),
        (FIGURE_6, "random", lambda at: {"joint": 0.8} if at == 0.5 else {}, ["shrinks"]),
        (FIGURE_6, "small", lambda at: {"returned": 0.9}, ["never earns less"]),
        (FIGURE_6, "small", lambda at: {"best": 1.9999}, ["never earns more"]),
        (FIGURE_6, "random", lambda at: {"best": float("nan")}, ["never earns more"]),
        (
            FIGURE_7,
            "maze-maker",
            lambda at: {"joint": 1.9999} if at == 1 else {},
            ["earn the same"],
        ),
        (
            FIGURE_7,
            "random",
            lambda at: {"joint": 2.0001, "best": 2.1} if at == 1 else {},
            ["no less than the joint", "earn the same"],
        ),
        (FIGURE_7, "small", lambda at: {"best": 1.9999}, ["never earns more"]),
    ],
)
def test_a_doctored_result_breaks_its_statement_alone(
    figure: Figure, game: str, change: Callable[[float], dict[str, float]], broken: list[str]
) -> None:
    found = failing(figure, lambda cell, at: change(at) if cell.game == game else {})
    assert all(text.startswith(f"{game}: ") for text in found)
    assert len(found) == len(broken), found
    for text, part in zip(found, broken, strict=True):
        assert part in text


def test_a_missing_level_or_a_reversed_order_breaks_statements() -> None:
    results = planted(FIGURE_6, lambda cell, place: {})
    without = [r for r in results if r.cell.parameters["beta"] != 20]
    assert sum("β = 20" in s.text and not s.holds for s in judge(without)) == 2
    assert sum("shrinks" in s.text and not s.holds for s in judge(results[::-1])) == 2


@pytest.mark.parametrize("figure", [FIGURE_6, FIGURE_7])
def test_summary_and_picture_hold_a_panel_a_family(figure: Figure, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = planted(figure, lambda cell, place: {})
    for i, result in enumerate(results):
        if result.cell.game != "maze-maker":
            results[i] = replace(
                result,
                cell=replace(result.cell, parameters={**result.cell.parameters, "size": [5, 2, 2]}),
            )
    summary = figure.summarise(results)
    assert list(summary["panels"]) == ["maze-maker", "random", "small"]
    maze = summary["panels"]["maze-maker"]
    assert maze["joint"] == {"runs": 1, "mean": [1, 1.5, 2], "low": [None] * 3, "high": [None] * 3}
    np.testing.assert_allclose(maze["advantage"]["mean"], [0.5, 0.25, 0])
    assert "lower" not in maze["advantage"]  # one run has no band
    shares = np.array([[0.5, 0.25, 0.0]] * 2)
    assert quantiles(shares) == {"lower": [0.5, 0.25, 0.0], "upper": [0.5, 0.25, 0.0]}
    assert figure.draw(summary, tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
