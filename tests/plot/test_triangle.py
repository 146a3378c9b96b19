"""Pictures of feasible sets: what is shaded is what the answers allow, and nothing else."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.patches import Polygon
from matplotlib.path import Path as Outline

from iirl_opt import plot
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_deterministic_policy
from iirl_opt.rewards.feasible import FeasibleRewards

# Corners of the triangle: a reward of three states is their mean by its shares.
CORNERS = np.array([[-1.0, -1 / 3**0.5], [0.0, 2 / 3**0.5], [1.0, -1 / 3**0.5]]) / 2**0.5


def answered(n: int, episodes: int, seed: int) -> tuple[FeasibleRewards, Any]:
    game, truth = random_game(n, 3, 3, rng=seed)
    feasible, rng = FeasibleRewards(game), np.random.default_rng(seed)
    for _ in range(episodes):
        pi1 = random_deterministic_policy(n, 3, rng)
        feasible = feasible.observe(pi1, OptimalFollower().respond(game, truth, pi1))
    return feasible, truth


def area(patch: Polygon) -> float:
    x, y = patch.get_xy()[:-1].T
    return abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1))) / 2


@pytest.mark.parametrize("seed", range(4))
def test_a_point_of_the_triangle_is_shaded_iff_it_explains_the_answers(seed: int) -> None:
    feasible, truth = answered(3, 4, seed)
    axes = plot.plot_feasible(feasible, truth=truth)
    triangle, *_, last = axes.patches
    assert area(triangle) == pytest.approx(3**0.5 / 2)
    outline, inside = Outline(last.get_xy()), 0
    for reward in np.random.default_rng(seed).dirichlet(np.ones(3), size=60):
        shaded = outline.contains_point(reward @ CORNERS)
        if abs(feasible.slack(reward).max() - 1e-6) > 1e-6 or shaded:
            assert shaded == feasible.contains(reward, tolerance=1e-6)
        inside += shaded
    star = next(line for line in axes.lines if line.get_label() == "truth")
    known = (truth - truth.min()) / (truth - truth.min()).sum()
    np.testing.assert_allclose(np.ravel(star.get_data()), known @ CORNERS, atol=1e-12)


@pytest.mark.parametrize("n", [3, 6])
def test_the_sets_shrink_with_each_answer_and_hold_the_truth(n: int) -> None:
    feasible, truth = answered(n, 9, 1)
    axes = plot.plot_feasible(feasible, truth=truth, rng=0)
    areas = [area(patch) for patch in axes.patches]
    assert len(areas) == 6
    assert all(a >= b - 1e-12 for a, b in pairwise(areas))
    assert areas[-1] < areas[0] / 2
    names = [patch.get_label() for patch in axes.patches]
    assert (names[0], names[-1]) == ("all rewards", "after 9 answers")
    x, y = next(line for line in axes.lines if line.get_label() == "truth").get_data()
    for patch in axes.patches:  # on the border the outline's sense decides which way is out
        outline, middle = Outline(patch.get_xy()), (x[0] / 2, y[0] / 2)
        assert any(outline.contains_point(middle, radius=e) for e in (1e-6, -1e-6))


def test_a_set_without_area_is_a_line_that_is_still_drawn() -> None:
    kernel = np.full((3, 1, 2, 3), 1 / 3)
    kernel[0, 0, 1] = 0.6, 0.2, 0.2  # a tie there, and nowhere else a choice
    feasible = FeasibleRewards(TwoAgentMDP(kernel, 0.5))
    axes = plot.plot_feasible(feasible.observe(np.ones((3, 1)), np.ones((3, 2), dtype=bool)))
    last = axes.patches[-1]
    assert area(last) == pytest.approx(0, abs=1e-9)
    assert np.ptp(last.get_xy(), axis=0).max() > 0.5
    assert last.get_linewidth() > 1


@pytest.mark.parametrize(("n", "beyond"), [(3, ""), (5, " in this plane")])
def test_a_set_of_the_constant_alone_is_a_ring_and_is_said(n: int, beyond: str) -> None:
    feasible = FeasibleRewards(random_game(n, 2, 2, rng=0)[0])
    feasible = feasible.observe(np.full((n, 2), 0.5), np.ones((n, 2), dtype=bool))
    axes = plot.plot_feasible(feasible)
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert f"after 1 answer: only the constant is left{beyond}" in said
    ring, dot = axes.lines
    assert (ring.get_fillstyle(), ring.get_data()) == ("none", ([0], [0]))
    assert ring.get_markersize() > 2 * dot.get_markersize()
    assert len(axes.patches) == 1


def test_what_cannot_be_drawn_is_refused_by_name() -> None:
    two = FeasibleRewards(random_game(2, 2, 2, rng=0)[0])
    three = FeasibleRewards(random_game(3, 2, 2, rng=0)[0])
    with pytest.raises(InvalidArgument, match="three or more"):
        plot.plot_feasible(two)
    for bad in (np.ones(4), [np.nan, 0, 1], np.ones((3, 2, 2))):
        with pytest.raises((InvalidReward, InvalidArgument)):
            plot.plot_feasible(three, truth=bad)
    for bad in (three.game, np.ones(3), None):
        with pytest.raises(InvalidArgument, match="feasible"):
            plot.plot_feasible(bad)
    with pytest.raises(InvalidArgument, match="rng"):
        plot.plot_feasible(FeasibleRewards(random_game(4, 2, 2, rng=0)[0]), rng="x")
    flat = plot.plot_feasible(three, truth=np.ones(3))  # a constant truth is the middle
    [mark] = [line for line in flat.lines if line.get_label().startswith("truth: constant")]
    assert (mark.get_data(), mark.get_fillstyle()) == (([0], [0]), "none")
    for name in ("truth", "estimate"):
        with pytest.raises(InvalidReward, match=rf"^{name}\[s=1\] is nan"):
            plot.plot_feasible(three, **{name: [1, np.nan, 1]})
