"""Feasible rewards: what each answer cuts from a triangle, or from a plane through a larger set.

State rewards are seen up to a positive affine transformation, so they are drawn in the simplex. Of
three states this is a triangle, whose corners are the rewards that pay in one state alone. Of more
states a plane is drawn that holds the constant reward, one given reward, and a random direction.

All observations are explained by the constant reward, so each answer leaves a wedge at it, and a
reward with all its positive affine images is a line from it. What remains to be learnt is the
angle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import RNG, checked, has
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.reward import check_reward
from iirl_opt.plot.canvas import AX, COLOURS, Style, as_label, new_axes, tone

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from iirl_opt.rewards.feasible import FeasibleRewards

__all__ = ["plot_feasible"]

Array = NDArray[np.float64]

# Rows within this share of their length count as met: vertices lie on the rows that made them.
ON_ROW = 1e-9

# A set that reaches no farther from the constant reward is not told from it.
AT_CENTRE = 1e-6

# How many sets are told apart in one picture.
MOST = 6


@checked(feasible=has("explicit_rows", "episodes", what="FeasibleRewards"), ax=AX)
def plot_feasible(
    feasible: FeasibleRewards,
    *,
    truth: ArrayLike | None = None,
    estimate: ArrayLike | None = None,
    rng: int | np.random.Generator | None = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rewards that explain the first answer, the first two, and so on, one in another.

    A set of which only the constant reward is left is a ring around it, and the legend says so; of
    more than three states it may hold rewards beyond the plane.

    Parameters
    ----------
    feasible : of three states or more; at most six of its sets are drawn, the last among them.
    truth, estimate : state rewards (S,); each is drawn with all its positive affine images, a line
        from the constant reward, and as a mark at that end of it where some state earns nothing. A
        constant one has no such line: it is a hollow mark on the constant reward.
    rng : the plane's random direction, of more than three states. The plane holds the truth, or the
        estimate, or, without either, a second random direction.

    Raises
    ------
    InvalidArgument
        A game of fewer than three states: of two, rewards differ in nothing but their direction.
    InvalidReward
        No state reward of this game.

    **Cost** the dense rows of each set that is drawn: a linear system an episode.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(3, 3, 2, rng=0)
    >>> feasible = iirl.FeasibleRewards(game)
    >>> for a in range(3):
    ...     pi1 = iirl.deterministic_policy([a] * 3, 3)
    ...     answer = iirl.OptimalFollower().respond(game, truth, pi1)
    ...     feasible = feasible.observe(pi1, answer)
    >>> axes = plot_feasible(feasible, truth=truth)
    >>> [text.get_text() for text in axes.get_legend().get_texts()][:2]
    ['all rewards', 'after 1 answer']
    """
    game = feasible.game
    n = game.n_states
    if n < 3:
        raise InvalidArgument("feasible", f"is of a game of {n} states", "three or more", n)
    marks = {
        name: _in_simplex(name, check_reward(game, reward, name))
        for name, reward in (("truth", truth), ("estimate", estimate))
        if reward is not None
    }
    axes = new_axes((5.4, 5.0)) if ax is None else ax
    centre, basis = np.full(n, 1 / n), _plane(n, list(marks.values()), RNG("rng", rng))
    axes.axis("off")  # then the paper is the figure's
    _sets(axes, feasible, centre, basis)
    _marks(axes, marks, centre, basis)
    if n == 3:
        for name, corner in zip(game.states, (np.eye(n) - centre) @ basis, strict=True):
            x, y = 1.12 * corner
            said = f"only {as_label(name, 16)} pays"
            axes.text(x, y, said, ha="center", va="center", fontsize=10, color=tone(axes, 1))
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)
    return axes


def _sets(axes: Axes, feasible: FeasibleRewards, centre: Array, basis: Array) -> None:
    """Draw the sets in the order of the answers, the smaller on the larger and darker."""
    from matplotlib.patches import Polygon

    simplex = _cut(_square(), np.eye(centre.size) @ basis, centre)
    total = len(feasible.episodes)
    counts = np.unique(np.linspace(0, total, min(total + 1, MOST)).round().astype(int))
    alone = "only the constant is left" + (" in this plane" if centre.size > 3 else "")
    ring: Style = {"marker": "o", "markersize": 12, "fillstyle": "none", "linestyle": "none"}
    for i, t in enumerate(counts.tolist()):
        free, tied = replace(feasible, episodes=feasible.episodes[:t]).explicit_rows()
        rows = np.concatenate([free, tied, -tied])
        part = _cut(simplex, rows @ basis, rows @ centre)
        share = i / max(len(counts) - 1, 1)
        name = "all rewards" if t == 0 else f"after {t} answer" + "s" * (t > 1)
        if np.abs(part).max(initial=0.0) < AT_CENTRE:
            axes.plot(0, 0, color=COLOURS[0], label=f"{name}: {alone}", zorder=5, **ring)
            continue
        shade = tone(axes, 0.05 + 0.75 * share, COLOURS[0])
        # Of a set without area, which is a line, the outline is seen.
        style: Style = {"facecolor": shade, "edgecolor": COLOURS[0], "linewidth": 0.6 + 0.9 * share}
        axes.add_patch(Polygon(part, closed=True, label=name, joinstyle="round", **style))


def _marks(axes: Axes, marks: dict[str, Array], centre: Array, basis: Array) -> None:
    """Draw rewards, with the lines of their positive affine images, and the constant reward."""
    axes.plot(0, 0, "o", color=tone(axes, 1), markersize=5, label="constant reward", zorder=5)
    styles = (("truth", COLOURS[1], "*", 13), ("estimate", COLOURS[5], "D", 7))
    for name, colour, marker, size in styles:
        if name in marks:
            style: Style = {"marker": marker, "markersize": size, "linestyle": "none"}
            if np.ptp(marks[name]) == 0:
                style |= {"markersize": 1.6 * size, "fillstyle": "none"}
                label = f"{name}: constant, without a direction"
                axes.plot(0, 0, color=colour, zorder=6, label=label, **style)
                continue
            x, y = (marks[name] - centre) @ basis
            axes.plot([0, x], [0, y], color=colour, linewidth=1.6, zorder=4)
            axes.plot(x, y, color=colour, zorder=6, label=name, **style)


def _in_simplex(name: str, reward: Array) -> Array:
    """Return the positive affine image of a state reward with least entry 0 and sum 1."""
    if reward.ndim != 1:
        raise InvalidArgument(name, f"has shape {reward.shape}", "a state reward (S,)", reward)
    spread = float(np.ptp(reward))
    if spread == 0:
        return np.full(reward.size, 1 / reward.size)
    unit = (reward - reward.min()) / spread
    return np.asarray(unit / unit.sum())


def _plane(n: int, through: list[Array], rng: Any) -> Array:
    """Return two orthonormal directions (S, 2) of zero sum: all of three states, else a choice."""
    if n == 3:
        # Corners in their order from the left, the second at the top.
        low = -1 / math.sqrt(3)
        flat = [[-1.0, low], [0.0, -2 * low], [1.0, low]]
        return np.asarray(flat) / math.sqrt(2)
    wanted = [part - 1 / n for part in through[:1] if np.ptp(part) > 0]
    wanted += [rng.standard_normal(n) for _ in range(2 - len(wanted))]
    columns = np.stack([part - part.mean() for part in wanted], axis=1)
    basis, factor = np.linalg.qr(columns)
    return np.asarray(basis * np.sign(np.diag(factor)))


def _square() -> Array:
    """Return the corners of a square that holds each section of a simplex."""
    return 2.0 * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


def _cut(polygon: Array, rows: Array, offsets: Array) -> Array:
    """Return the vertices (K, 2) of the part of a convex polygon where ``rows x + offsets ≥ 0``.

    Cuts by the row that is violated most, until none is; (0, 2) if nothing is left.
    """
    length = np.linalg.norm(np.column_stack([rows, offsets]), axis=1)
    kept = length > 0
    rows, offsets = rows[kept] / length[kept, None], offsets[kept] / length[kept]
    while len(polygon) and len(rows):
        least = (polygon @ rows.T + offsets).min(axis=0)
        worst = int(least.argmin())
        if least[worst] >= -ON_ROW:
            break
        polygon = np.array(list(_clipped(polygon, rows[worst], offsets[worst]))).reshape(-1, 2)
    return polygon


def _clipped(polygon: Array, row: Array, offset: float) -> Iterator[Array]:
    """Yield the vertices of what a half-plane leaves of a convex polygon.

    **Source** Sutherland & Hodgman 1974.
    """
    height = polygon @ row + offset
    inside = height >= -ON_ROW
    for i, point in enumerate(polygon):
        before, g, h = polygon[i - 1], height[i - 1], height[i]
        # A vertex on the row is kept as it is: there is no crossing beside it.
        if inside[i] != inside[i - 1] and max(g, h) > ON_ROW:
            yield before + (point - before) * (g / (g - h))
        if inside[i]:
            yield point
