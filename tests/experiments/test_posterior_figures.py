"""Figures 1(b) and 4: what is computed, from independent computations, and what can fail."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iirl_opt import plot
from iirl_opt.bayesian import engine
from iirl_opt.errors import MissingExtra
from iirl_opt.experiments import posterior, trajectories
from iirl_opt.experiments.posterior import ALONE, CONTROL, ENVIRONMENTS, FIGURE_1, TOGETHER
from iirl_opt.experiments.sweep import Cell, CellResult
from iirl_opt.experiments.trajectories import FIGURE_4, FIXED, INTERACTIVE
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.grid import grid_game
from iirl_opt.game.mazes import introductory_game, introductory_mazes
from iirl_opt.game.policy import random_deterministic_policy
from iirl_opt.game.values import evaluate
from iirl_opt.learn.episode_regret import best_value

GOAL = 3


def short(cell: Cell, **facts: Any) -> Cell:
    return replace(cell, parameters={**cell.parameters, **facts})


def plain(monkeypatch: pytest.MonkeyPatch, compute: Callable[[Cell], Any], cell: Cell) -> Any:
    def missing() -> None:
        raise MissingExtra("compiled chains", "fast")

    with monkeypatch.context() as patch:
        patch.setattr(engine, "compiled", missing)
        return compute(cell)


# Figure 1(b)


def paid_once(maze: int) -> np.ndarray:
    """β = 10 where the goal pays once and leads to a thirteenth state, by value iteration."""
    kernel = np.zeros((13, 4, 13))
    kernel[:12, :, :12] = introductory_mazes()[maze].game.kernel[:, 0]
    kernel[GOAL], kernel[12] = 0, 0
    kernel[[GOAL, 12], :, 12] = 1
    reward, values = np.eye(13)[GOAL], np.zeros(13)
    for _ in range(50):
        q = reward[:, None] + 0.9 * kernel @ values
        values = q.max(axis=1)
    weights = np.exp(10 * q[:12])
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def test_the_follower_answers_as_one_of_beta_10_whose_goal_pays_once() -> None:
    answers = posterior._answers((0, 1, 2), 4.0)
    assert len(answers.commitments) == 3
    for maze, counts in enumerate(answers.counts):
        np.testing.assert_allclose(counts / 4, paid_once(maze), atol=1e-12)


def test_the_control_has_as_many_observations_in_all_as_a_maze_alone() -> None:
    cells = {cell.method: cell.parameters for cell in FIGURE_1.cells("small", 0)}
    assert list(cells) == [*ENVIRONMENTS, CONTROL]
    totals = {
        name: sum(
            counts.sum() for counts in posterior._answers(facts["mazes"], facts["weight"]).counts
        )
        for name, facts in cells.items()
    }
    assert totals[CONTROL] == pytest.approx(totals["maze 1"])
    assert totals[TOGETHER] == pytest.approx(3 * totals["maze 1"])


def test_a_posterior_cell_is_repeatable_and_measures_its_distance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("arviz")
    compute = partial(plain, monkeypatch, posterior.compute)  # compiled chains take longer
    cell = short(FIGURE_1.cells("small", 0)[0], chains=2, proposals=20, thin=2)
    values = compute(cell)
    assert values == compute(cell)
    assert values["reward"] != compute(replace(cell, seed=1))["reward"]
    assert sum(values["reward"]) == pytest.approx(1)
    # On the simplex, and to one of its corners, the distance is twice what the corner lacks.
    assert values["truth"] == np.eye(12)[GOAL].tolist()
    assert values["distance"] == pytest.approx(2 * (1 - values["reward"][GOAL]))
    assert values["r_hat"] > 0
    assert compute(short(cell, proposals=2, thin=1))["r_hat"] is None


@pytest.mark.campaign
def test_a_posterior_is_the_same_without_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("arviz")
    cell = short(FIGURE_1.cells("small", 0)[3], chains=2, proposals=20, thin=2)
    np.testing.assert_allclose(
        plain(monkeypatch, posterior.compute, cell)["reward"],
        posterior.compute(cell)["reward"],
        rtol=1e-9,
    )


def posteriors(change: Mapping[str, Mapping[str, Any]] | None = None) -> list[CellResult]:
    """Results in which the goal has half of the reward, and three quarters with all mazes."""
    results = []
    for cell in FIGURE_1.cells("small", 0):
        share = 0.75 if cell.method == TOGETHER else 0.5
        reward = np.where(np.arange(12) == GOAL, share, (1 - share) / 11)
        values = {
            "reward": reward.tolist(),
            "truth": np.eye(12)[GOAL].tolist(),
            "distance": 2 * (1 - share),
            "r_hat": 1.01,
            "ess_bulk": 1000.0,
            "ess_tail": 900.0,
        }
        results.append(CellResult(cell, values | dict((change or {}).get(cell.method, {})), 0.0))
    return results


def broken(results: list[CellResult]) -> list[str]:
    return [statement.text for statement in posterior.judge(results) if not statement.holds]


def test_posteriors_as_the_paper_has_them_pass() -> None:
    assert broken(posteriors()) == []
    assert len(posterior.judge(posteriors())) == len(ENVIRONMENTS) + 2


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_larger_cell_than_the_goal_or_one_as_large_breaks_its_statement(name: str) -> None:
    for other in (0.5, 0.3):
        reward = (0.3 * np.eye(12)[GOAL] + other * np.eye(12)[0]).tolist()
        text = f"{name}: the largest cell of the mean reward is the goal"
        assert broken(posteriors({name: {"reward": reward}})) == [text]


@pytest.mark.parametrize("name", ALONE)
def test_one_maze_as_close_as_all_breaks_the_comparison(name: str) -> None:
    (text,) = broken(posteriors({name: {"distance": 0.5}}))
    assert "closer to the truth" in text


def test_the_control_is_evidence_alone() -> None:
    results = posteriors({CONTROL: {"distance": 0.123}})
    assert broken(results) == []
    assert any("0.123" in statement.evidence for statement in posterior.judge(results))


@pytest.mark.parametrize("r_hat", [1.051, 1.5, None])
@pytest.mark.parametrize("name", [*ENVIRONMENTS, CONTROL])
def test_chains_that_have_not_mixed_are_told(name: str, r_hat: float | None) -> None:
    assert broken(posteriors({name: {"r_hat": r_hat}})) == ["the chains have mixed"]


def test_the_picture_of_rewards_shows_four_posteriors_and_the_truth(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    summary = FIGURE_1.summarise(posteriors())
    assert summary["panels"][TOGETHER]["distance"] == 0.5
    assert FIGURE_1.draw(summary, tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_cell_is_shaded_by_its_reward_and_a_wall_is_marked() -> None:
    pytest.importorskip("matplotlib")
    maze, reward = introductory_mazes()[2], np.zeros(12)
    reward[[0, 1, GOAL]] = 0.5, -2, 9
    axes = plot.plot_rewards(maze, reward, top=2.0)
    shades = [patch.get_facecolor() for patch in axes.patches]
    np.testing.assert_allclose([shade[3] for shade in shades], [0.25, 1, 0, 1] + [0] * 8)
    assert shades[1][:3] != shades[GOAL][:3]
    assert [text.get_text() for text in axes.texts[:4]] == ["0.5", "-2", "0", "9"]
    assert len(axes.lines) == 4 * 3
    blank = plot.plot_rewards(introductory_game(), np.zeros(12))
    assert {patch.get_facecolor()[3] for patch in blank.patches} == {0}
    assert not blank.lines


def test_a_wall_that_is_no_state_and_a_later_layer_can_be_drawn() -> None:
    pytest.importorskip("matplotlib")
    maze = grid_game(["S#1"], discount="9/10")
    axes = plot.plot_rewards(maze, maze.reward, layer=1)
    assert [text.get_text() for text in axes.texts] == ["0", "0"]
    assert len(axes.patches) == 2
    assert len(axes.lines) == 4


# Figure 4

TINY = {"episodes": 3, "proposals": 50, "size": [6, 3, 2]}


def test_learner_and_baseline_meet_the_same_games() -> None:
    for scale in FIGURE_4.scales:
        met: dict[str, set[str]] = {INTERACTIVE: set(), FIXED: set()}
        for cell in FIGURE_4.cells(scale, 3):
            met[cell.method].add(replace(cell, method="").key)
        assert met[INTERACTIVE] == met[FIXED]


def test_regrets_begin_with_what_the_first_commitment_loses() -> None:
    cell = Cell(4, "random", INTERACTIVE, 2, {**TINY, "thin": 5})
    values, fixed = trajectories.compute(cell), trajectories.compute(replace(cell, method=FIXED))
    assert values == trajectories.compute(cell)
    game, truth = random_game(6, 3, 2, 2)
    follower = BoltzmannFollower(10.0)
    best = best_value(game, truth, follower)
    first = random_deterministic_policy(6, 3, np.random.default_rng([2, 0, 1]))
    response = follower.respond(game, truth, first)
    lost = best - float(game.start @ evaluate(game, truth, (first, response)))
    assert values["optimal_value"] == fixed["optimal_value"] == pytest.approx(best)
    assert len(values["regrets"]) == 3
    assert values["regrets"][0] == pytest.approx(lost / best)
    # One trajectory is seen by both, from the second on they may differ.
    assert values["regrets"][:2] == fixed["regrets"][:2]


@pytest.mark.parametrize("game", ["small-maze", "random"])
def test_regrets_are_the_same_without_compiled_code(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = Cell(4, game, INTERACTIVE, 0, {**TINY, "proposals": 20, "thin": 5})
    np.testing.assert_allclose(
        plain(monkeypatch, trajectories.compute, cell)["regrets"],
        trajectories.compute(cell)["regrets"],
        rtol=1e-9,
        atol=1e-12,
    )


FALLING, FLAT = np.linspace(1, 0.01, 9), np.full(9, 0.5)


def runs(curves: Mapping[str, np.ndarray]) -> list[CellResult]:
    return [
        CellResult(Cell(4, game, method, seed), {"regrets": list(curve + 0.001 * seed)}, 0.0)
        for game in ("small-maze", "random")
        for method, curve in curves.items()
        for seed in range(3)
    ]


def test_regrets_as_the_paper_has_them_pass_and_show_their_intervals() -> None:
    statements = trajectories.judge(runs({INTERACTIVE: FALLING, FIXED: FLAT}))
    assert len(statements) == 4
    assert all(statement.holds for statement in statements)
    late = FALLING[-3:].mean() + 0.001
    # Student's interval of three runs that lie 0.001 apart.
    half = 4.302652729696142 * 0.001 / np.sqrt(3)
    expected = f"{late:.1%} [{late - half:.1%}, {late + half:.1%}]"
    assert all(expected in statement.evidence for statement in statements)


@pytest.mark.parametrize(
    ("curves", "failing"),
    [
        ({INTERACTIVE: FLAT, FIXED: 2 * FLAT}, "falls with the episodes"),
        ({INTERACTIVE: FALLING, FIXED: FALLING}, "ends below"),
        ({INTERACTIVE: FALLING, FIXED: FALLING / 2}, "ends below"),
    ],
)
def test_each_statement_on_regrets_can_fail(curves: Mapping[str, np.ndarray], failing: str) -> None:
    found = [s.text for s in trajectories.judge(runs(curves)) if not s.holds]
    assert len(found) == 2
    assert all(failing in text for text in found)


def test_the_picture_of_regrets_can_be_drawn_of_one_run_and_below_zero(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = runs({INTERACTIVE: FALLING - 0.1, FIXED: FLAT})
    for some in (results, [r for r in results if r.cell.seed == 0]):
        path = FIGURE_4.draw(FIGURE_4.summarise(some), tmp_path / "figure.png")
        assert path.read_bytes().startswith(b"\x89PNG")
