"""Pictures show what they claim: line data, doors and arrows by their number and strength."""

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib
import matplotlib.style
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from PIL import Image

from iirl_opt import plot
from iirl_opt.bayesian.chains import Chains
from iirl_opt.commitment.dominating import dominance
from iirl_opt.commitment.methods import commit
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import InvalidArgument, InvalidReward, InvalidValue, MissingExtra
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.grid import grid_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.learn.algorithm_1 import InteractiveIRL
from iirl_opt.learn.episodes import interact
from iirl_opt.rewards.feasible import FeasibleRewards


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
    doors, moves = "door that the leader opens", "move of the follower"
    assert names_of(axes) == ["prize, and what it pays", "wall", "start", doors, moves]
    prizes = [text.get_text() for text in axes.texts if text.get_text()]
    assert sorted(prizes) == ["+1", "+2"]
    assert len(axes.texts) == 8 + 2
    assert plot.save(axes, tmp_path / "maze.png").stat().st_size > 1000


def test_the_strength_of_a_door_is_its_probability() -> None:
    maze = grid_game(["S1"], discount="9/10", doors=("E", "W"))
    pi1 = np.tile([0.25, 0.75], (maze.game.n_states, 1))
    axes = plot.plot_maze(maze, pi1)
    assert sorted(line.get_alpha() for line in axes.lines) == [0.25, 0.25, 0.75, 0.75]


def test_an_estimate_stands_beside_the_truth_on_one_scale() -> None:
    maze = grid_game(["1.", "S2"], discount="9/10", prize_rule="stay")
    axes = plot.plot_rewards(maze, 5 * maze.reward - 3, truth=maze.reward)
    shades = [patch.get_facecolor()[3] for patch in axes.patches]
    np.testing.assert_allclose(shades, 2 * [0.5, 0, 0, 1])
    corners = [patch.get_xy() for patch in axes.patches]
    assert [(x - 3, y) for x, y in corners[4:]] == corners[:4]
    assert [t.get_text() for t in axes.texts if "from 0 to 1" in t.get_text()] == [
        "estimate, from 0 to 1",
        "truth, from 0 to 1",
    ]


def test_of_several_layers_it_is_said_that_the_scale_is_of_all() -> None:
    maze = grid_game(["12", "S."], discount="9/10")
    axes = plot.plot_rewards(maze, maze.reward, truth=maze.reward)
    assert len(maze.layers) > 1
    said = [text.get_text() for text in axes.texts if "from 0 to 1" in text.get_text()]
    assert all(text.endswith("over all layers") for text in said)
    assert len(said) == 2


LONG = "a" * 200
NAMES = [LONG, "$x_{$", "_hid"]


def every_picture() -> Iterator[tuple[str, Any]]:
    """Pictures of each kind, of a game whose names are odd, with the artists they hold."""
    game, reward = random_game(3, 3, 2, rng=0)
    names = {"states": NAMES, "leader_actions": NAMES, "follower_actions": NAMES[:2]}
    game = TwoAgentMDP(game.kernel, game.discount, **names)
    plan = commit(game, reward)
    yield "game", plot.plot_game(game, reward)
    yield "feasible", plot.plot_feasible(FeasibleRewards(game), truth=reward, estimate=np.ones(3))
    yield "commitment", plot.plot_commitment(plan)
    found = dominance(CommitmentProblem(game, reward))
    yield "dominance", plot.plot_dominance(found, states=NAMES)
    yield "regret", plot.plot_regret({name: [0.5] for name in NAMES})
    series = {name: ([1, 2], [0, 1], [2, 3]) for name in NAMES}
    curves = plot.plot_curves(series | {str(i): [i, i] for i in range(7)}, [1, 2], band="all")
    curves.legend()
    yield "curves", curves
    yield "rewards", plot.plot_rewards(TINY, TINY.reward, truth=TINY.reward)
    yield "maze", plot.plot_maze(TINY)


def contrast(one: Any, other: Any) -> float:
    return float(np.abs(np.subtract(to_rgb(one), to_rgb(other))).max())


def test_pictures_can_be_read_on_dark_paper_and_odd_names_do_not_blow_them_up() -> None:
    with matplotlib.style.context("dark_background"):
        for name, axes in every_picture():
            figure = axes.figure
            figure.canvas.draw()
            box = figure.get_tightbbox()
            assert max(box.width, box.height) < 9, name
            paper = figure.get_facecolor()
            for text in figure.findobj(Text):
                if text.get_text().strip():
                    own = text.get_bbox_patch()
                    on = own.get_facecolor() if own else paper
                    if name not in {"game", "maze", "rewards"} or own:  # in cells of their own
                        assert contrast(text.get_color(), on) > 0.5, (name, text)
            for line in axes.lines:
                if line.get_label()[:1] != "_" and name not in {"maze", "rewards"}:
                    assert contrast(line.get_color(), paper) > 0.3, (name, line)
            if name in {"regret", "curves"}:
                shown = [text.get_text().strip() for text in axes.get_legend().get_texts()]
                assert {"_hid", r"\$x_{\$"} <= set(shown)


@pytest.mark.parametrize("name", ["rewards", "truth"])
def test_a_reward_that_is_none_is_refused_by_the_name_of_its_argument(name: str) -> None:
    with pytest.raises(InvalidReward, match=rf"^{name}\[s=.* is nan"):
        plot.plot_rewards(TINY, **{"rewards": TINY.reward, name: [np.nan, 0, 0, 0]})


def test_one_episode_has_one_tick() -> None:
    axes = plot.plot_regret([0.5])
    low, high = axes.get_xlim()
    assert [tick for tick in axes.get_xticks() if low <= tick <= high] == [1]
    plot.plot_regret([3, 2, 1], ax=axes)
    assert axes.get_xlim()[1] >= 3


def test_an_animation_has_a_frame_an_episode_and_leaves_nothing_half_written(
    tmp_path: Path,
) -> None:
    maze = grid_game(["1.", "S2"], discount="9/10")
    episodes = list(interact(InteractiveIRL(maze.game, seed=0), maze.reward, 3))
    path = plot.animate_maze(maze, iter(episodes), tmp_path / "film.gif", width=100, seconds=0.3)
    with Image.open(path) as film:
        assert (film.n_frames, film.width, film.info["duration"]) == (3, 100, 300)
    before = path.read_bytes()
    for bad in ({"episodes": []}, {"path": tmp_path / "film.png"}, {"seconds": 0}, {"width": 10}):
        name = next(iter(bad))
        with pytest.raises(InvalidArgument, match=name):
            plot.animate_maze(**{"maze": maze, "episodes": episodes, "path": path} | bad)

    def torn() -> Iterator[Any]:
        yield episodes[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plot.animate_maze(maze, torn(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_layer_that_there_is_not_is_refused() -> None:
    maze = grid_game(["S1"], discount="9/10")
    for layer in (2, -1, "1", 0.5):
        for draw in (plot.plot_maze, partial(plot.plot_rewards, rewards=maze.reward)):
            with pytest.raises(InvalidArgument, match="layer"):
                draw(maze, layer=layer)


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
    assert len({line.get_marker() for line in axes.lines}) == 3
    assert (axes.get_xlabel(), axes.get_title(), axes.get_yscale()) == ("β", "A game", "linear")


def test_a_logarithmic_axis_still_shows_zero() -> None:
    axes = plot.plot_curves({"regret": [1.0, 1e-3, 0.0]}, [1, 2, 3], log=1e-6)
    heights = [axes.transData.transform((1, value))[1] for value in (1.0, 1e-3, 0.0)]
    assert np.isfinite(heights).all()
    assert heights[0] - heights[1] == pytest.approx(
        heights[1] - axes.transData.transform((1, 1e-6))[1]
    )


def names_of(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_legend_says_what_a_band_is_where_there_is_one() -> None:
    banded = {"a": ([1, 2], [0, 1], [2, 3]), "b": [2, 1]}
    said = "band: all runs"
    for series, last in ((banded, ["a", "b", said]), ({"b": [2, 1]}, ["b"])):
        axes = plot.plot_curves(series, [0, 1], band=said)
        assert axes.get_legend_handles_labels()[1] == last


def test_curves_that_coincide_have_markers_at_different_places() -> None:
    axes = plot.plot_curves({"a": np.ones(60), "b": np.ones(60)}, range(60))
    marked = [
        set(range(*line.get_markevery()[:1], 60, line.get_markevery()[1])) for line in axes.lines
    ]
    assert all(0 < len(places) <= 15 for places in marked)
    assert not marked[0] & marked[1]


@pytest.mark.parametrize("curve", [[1, 2], [[1, 2, 3]] * 2, 1.0, "abc", [[[1, 2, 3]]]])
def test_a_curve_that_is_not_over_x_is_refused_by_name(curve: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"series\['a'\]"):
        plot.plot_curves({"a": curve}, [1, 2, 3])


def test_a_legend_below_takes_the_columns_that_there_is_room_for() -> None:
    for length, columns in ((3, 3), (60, 1)):
        axes = plot.panels(2)
        plot.plot_curves({x * length: [1, 2] for x in "abc"}, [0, 1], ax=axes[0])
        plot.legend_below(axes)
        [legend] = axes[0].figure.legends
        assert legend._ncols == columns


def test_panels_are_rows_of_two_and_no_empty_one_is_left() -> None:
    axes = plot.panels(5)
    assert len(axes[0].figure.axes) == 5
    assert axes[0].figure.get_figwidth() <= 6.2
    assert len({round(ax.get_subplotspec().rowspan.start) for ax in axes}) == 3


def test_panels_share_one_legend_with_each_name_once(tmp_path: Path) -> None:
    axes = plot.panels(2)
    for ax in axes:
        plot.plot_curves({"a": [1, 2], "b": [2, 1]}, [0, 1], ax=ax)
    plot.legend_below(axes)
    [legend] = axes[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    assert plot.save(axes[0], tmp_path / "panels.png").stat().st_size > 1000


HOSTILE: dict[str, tuple[Callable[[], Any], str]] = {
    "no logarithm": (lambda: plot.plot_curves({"a": [1]}, [1], log=0.0), "log"),
    "no run": (lambda: plot.plot_regret({}), "regrets are none"),
    "no episode": (lambda: plot.plot_regret([]), r"regrets has shape \(0,\); .*one at least"),
    "a run without one": (lambda: plot.plot_regret({"a": [1], "b": []}), r"regrets\['b'\]"),
    "no series": (lambda: plot.plot_curves({}, [1]), "series are none"),
    "no x": (lambda: plot.plot_curves({"a": []}, []), "x has shape"),
    "infinite": (lambda: plot.plot_curves({"a": [1, np.inf]}, [1, 2]), r"series\['a'\], line\[1\]"),
    "an infinite end": (
        lambda: plot.plot_curves({"a": ([1, 2], [-np.inf, 0], [2, 3])}, [1, 2]),
        r"series\['a'\], low\[0\] is -inf",
    ),
    "low above high": (
        lambda: plot.plot_curves({"a": ([1, 2], [0, 4], [2, 3])}, [1, 2]),
        r"series\['a'\], low\[1\] is 4.0; allowed at most high, 3.0",
    ),
    "x is text": (lambda: plot.plot_curves({"a": [1]}, "a"), "x"),
    "no mapping": (lambda: plot.plot_curves([[1]], [1]), "series"),
    "no panels": (lambda: plot.panels(0), "n"),
    "no axes": (lambda: plot.legend_below([]), "axes"),
    "regrets of two": (lambda: plot.plot_regret(np.ones((2, 2))), "regrets"),
    "axes are text": (lambda: plot.plot_regret([1.0], ax="x"), "ax"),
    "top": (lambda: plot.plot_rewards(TINY, TINY.reward, top=np.nan), "top"),
    "a joint truth": (lambda: plot.plot_rewards(TINY, np.ones(TINY.game.shape)), "rewards"),
    "dots": (lambda: plot.save(plot.panels(1)[0], "x.png", dpi=0), "dpi"),
    "nothing to save": (lambda: plot.save(None, "x.png"), "axes"),
    "no chains": (lambda: plot.plot_chains(None), "chains"),
    "no episodes": (lambda: plot.animate_maze(TINY, "abc", "x.gif"), "episodes"),
}
TINY = grid_game(["S1"], discount="9/10")


@pytest.mark.parametrize("what", HOSTILE)
def test_what_cannot_be_drawn_is_refused_by_the_name_of_the_argument(what: str) -> None:
    call, name = HOSTILE[what]
    with pytest.raises(InvalidArgument, match=rf"^{name}"):
        call()


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


@pytest.mark.parametrize(("tail", "scale"), [(1.0, "linear"), (50.0, "log")])
def test_a_parameter_that_spans_decades_has_a_logarithmic_axis(tail: float, scale: str) -> None:
    chains = few_chains()
    parameters = np.linspace(10.0, 20.0, 60).reshape(2, 30)
    parameters[0, 0] *= tail
    axes = plot.plot_chains(replace(chains, parameters=parameters), most=1)
    assert (axes[0].get_yscale(), axes[1].get_xscale()) == (scale, scale)
    assert axes[3].get_xscale() == "linear"  # a reward's


@pytest.mark.parametrize(
    "name", ["animation", "canvas", "chains", "commitments", "curves", "feasible", "graph", "mazes"]
)
def test_without_matplotlib_the_first_use_names_the_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [module for module in sys.modules if module.startswith("iirl_opt.plot.")]:
        monkeypatch.delitem(sys.modules, module)
    for module in ("figure", "backends.backend_agg"):
        monkeypatch.setitem(sys.modules, f"matplotlib.{module}", None)
    with pytest.raises(MissingExtra, match=r"iirl-opt\[plot\]"):
        importlib.import_module(f"iirl_opt.plot.{name}")


def test_what_cannot_be_drawn_or_written_is_refused_before_a_line_is_drawn(
    tmp_path: Path,
) -> None:
    (axes,) = plot.panels(1)
    maze = grid_game(["S1"], discount=0.5)
    for place, call in (
        (r"path ends in \.xyz", lambda: plot.save(axes, tmp_path / "a.xyz")),
        ("dpi is 1000000", lambda: plot.save(axes, tmp_path / "a.png", dpi=10**6)),
        (
            r"series\['a'\], line\[1\]",
            lambda: plot.plot_curves({"a": [0, -1e305]}, [1, 2], ax=axes),
        ),
        (r"regrets\[1\]", lambda: plot.plot_regret([0, 1e305], ax=axes)),
        (r"points\[0\] is 'b'", lambda: plot.plot_curves({"a": [1]}, [1], points=["b"], ax=axes)),
        ("follower", lambda: plot.plot_maze(maze, follower=[[1.0]], ax=axes)),
        ("truth", lambda: plot.plot_rewards(maze, [0.0] * 4, truth=[1.0], ax=axes)),
    ):
        with pytest.raises(InvalidValue, match=place):
            call()
    assert not [*axes.lines, *axes.patches, *axes.texts]
    assert not list(tmp_path.iterdir())
    broken = plot.plot_curves({"a": [1.0, 2.0]}, [1, 2], title=r"$\frac$", xlabel="$x_$")
    assert plot.save(broken, tmp_path / "a.png").exists()
