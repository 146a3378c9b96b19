"""Pictures show what they claim: line data, doors and arrows by their number and strength."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from iirl_opt import plot
from iirl_opt.bayesian.chains import Chains
from iirl_opt.commitment.methods import commit
from iirl_opt.errors import MissingExtra
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.grid import grid_game


def test_regret_of_several_runs_is_drawn_by_name() -> None:
    axes = plot.plot_regret({"one": [3.0, 1.0], "two": [2.0, 0.0, 0.0]})
    lines = {line.get_label(): line for line in axes.lines}
    np.testing.assert_array_equal(lines["two"].get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(lines["one"].get_ydata(), [3, 1])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two"]


def test_a_maze_shows_two_doors_and_one_move_a_free_cell(tmp_path: Path) -> None:
    maze = grid_game(["1..", ".#.", "S.2"], discount="9/10")
    plan = commit(maze.game, maze.reward)
    moves = OptimalFollower().respond(maze.game, maze.reward, plan.policy)
    axes = plot.plot_maze(maze, plan.policy, moves)
    assert len(axes.patches) == 9
    assert len(axes.lines) == 2 * 8
    prizes = [text.get_text() for text in axes.texts if text.get_text()]
    assert sorted(prizes) == ["+1", "+2"]
    assert len(axes.texts) == 8 + 2
    assert plot.save(axes, tmp_path / "maze.png").stat().st_size > 1000


def test_the_strength_of_a_door_is_its_probability() -> None:
    maze = grid_game(["S1"], discount="9/10", doors=("E", "W"))
    pi1 = np.tile([0.25, 0.75], (maze.game.n_states, 1))
    axes = plot.plot_maze(maze, pi1)
    assert sorted(line.get_alpha() for line in axes.lines) == [0.25, 0.25, 0.75, 0.75]


def test_curves_have_bands_points_have_none_and_gaps_are_left() -> None:
    series = {
        "mean": ([1.0, 2.0, 3.0], [0.5, 1.5, 2.5], [1.5, 2.5, 3.5]),
        "one run": ([1.0, 1.0, 1.0], [None] * 3, [None] * 3),
        "known": [2.0, None, 4.0],
    }
    axes = plot.plot_curves(series, [0, 5, 10], points=["known"], xlabel="β", title="A game")
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines) == list(series)
    np.testing.assert_array_equal(lines["mean"].get_ydata(), [1, 2, 3])
    np.testing.assert_array_equal(lines["known"].get_ydata(), [2, np.nan, 4])
    assert (lines["known"].get_linestyle(), lines["mean"].get_linestyle()) == ("None", "-")
    band = axes.collections[0].get_paths()[0].vertices
    assert {0.5, 3.5} <= set(band[:, 1])
    assert len({line.get_color() for line in axes.lines}) == 3
    assert (axes.get_xlabel(), axes.get_title(), axes.get_yscale()) == ("β", "A game", "linear")


def test_a_logarithmic_axis_still_shows_zero() -> None:
    axes = plot.plot_curves({"regret": [1.0, 1e-3, 0.0]}, [1, 2, 3], log=1e-6)
    heights = [axes.transData.transform((1, value))[1] for value in (1.0, 1e-3, 0.0)]
    assert np.isfinite(heights).all()
    assert heights[0] - heights[1] == pytest.approx(
        heights[1] - axes.transData.transform((1, 1e-6))[1]
    )


def test_panels_share_one_legend_with_each_name_once(tmp_path: Path) -> None:
    axes = plot.panels(2)
    for ax in axes:
        plot.plot_curves({"a": [1, 2], "b": [2, 1]}, [0, 1], ax=ax)
    plot.legend_below(axes)
    [legend] = axes[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    assert plot.save(axes[0], tmp_path / "panels.png").stat().st_size > 1000


def few_chains(scales: bool = True) -> Chains:
    rng = np.random.default_rng(0)
    rewards = rng.dirichlet([1, 2, 8, 4], size=(2, 30))
    beta = rng.gamma(4, 5, size=(2, 30))
    facts = {"acceptance": np.ones(2), "thin": 1, "parameter": "beta", "seconds": 0.0}
    return Chains(rewards, beta, beta.copy(), scales=scales, **facts)


def test_chains_show_each_trace_and_the_states_of_the_largest_rewards(tmp_path: Path) -> None:
    chains = few_chains()
    truth = ([0.1, 0.2, 0.4, 0.3], 20.0)
    axes = plot.plot_chains(chains, states=["a", "b", "c", "d"], truth=truth, most=2)
    assert len(axes) == 2 * 4
    assert [ax.get_ylabel() for ax in axes[:-2:2]] == ["beta", "reward of c", "reward of d"]
    for ax, draws in zip(axes[:6:2], (chains.parameters, *chains.rewards.T[2:]), strict=True):
        drawn = draws if draws.shape == (2, 30) else draws.T
        np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], drawn)
    lines = [ax.lines[0].get_xdata()[0] for ax in axes[1:6:2]]
    assert lines == [20.0, 0.4, 0.3]
    assert plot.save(axes[0], tmp_path / "chains.png").stat().st_size > 1000


def test_the_curves_of_the_ridge_are_followers_that_play_the_same() -> None:
    chains = few_chains()
    draws, *curves = plot.plot_chains(chains)[-2].lines
    np.testing.assert_allclose(draws.get_xdata(), 4 * chains.rewards.min(axis=-1).ravel())
    for curve in curves:
        share, beta = np.array(curve.get_data())
        # On the simplex the rest of the reward is 1 − share, and β times it must not change.
        np.testing.assert_allclose(beta * (1 - share), beta[0])
    for curve in plot.plot_chains(few_chains(scales=False))[-2].lines[1:]:
        assert np.ptp(curve.get_ydata()) == 0


def test_chains_may_be_drawn_with_the_ridge_taken_out() -> None:
    moved = few_chains().normalised("min")
    axes = plot.plot_chains(few_chains(), normalise="min", most=1)
    np.testing.assert_array_equal([line.get_ydata() for line in axes[0].lines], moved.parameters)
    assert axes[2].get_ylabel() == "reward of 2"


@pytest.mark.parametrize("name", ["canvas", "chains", "curves", "mazes"])
def test_without_matplotlib_the_first_use_names_the_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [module for module in sys.modules if module.startswith("iirl_opt.plot.")]:
        monkeypatch.delitem(sys.modules, module)
    for module in ("figure", "backends.backend_agg"):
        monkeypatch.setitem(sys.modules, f"matplotlib.{module}", None)
    with pytest.raises(MissingExtra, match=r"iirl-opt\[plot\]"):
        importlib.import_module(f"iirl_opt.plot.{name}")
