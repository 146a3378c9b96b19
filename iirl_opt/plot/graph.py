"""The graph of a game: where each pair of actions leads."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import checked
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.reward import check_reward
from iirl_opt.game.support import transitions
from iirl_opt.plot.canvas import AX, COLOURS, Style, as_label, ink_on, new_axes, tone

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Circle

__all__ = ["plot_game"]

Array = NDArray[np.float64]

# Graphs of more states than this cannot be read; nor can more pairs of actions at an edge.
MOST_STATES, MOST_LINES = 24, 3

# Labels beyond this number would hide one another: then arrows stand alone.
MOST_LABELS = 24

# Of a state's circle, of neighbours from centre to centre; and how far an arrow is bent.
RADIUS, APART, BEND = 0.3, 2.0, 0.2

ARROW: Style = {"arrowstyle": "-|>", "mutation_scale": 11, "zorder": 1}

# The colour of states; characters of the name of a state, and of an action.
STATE, STATE_ROOM, ACTION_ROOM = (0.91, 0.945, 0.973), 11, 10


@checked(game=GAME, ax=AX)
def plot_game(
    game: TwoAgentMDP, reward: ArrayLike | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the graph of a small game: an arrow for each pair of states that some actions join.

    An arrow says which pairs of actions lead there, "leader / follower", with their probability
    where it is not one; ``*`` stands for every action. Of more than three pairs their number and
    their probabilities are said; of more than 24 arrows nothing, and of some ten states that all
    lead to one another no more is seen than this. The start has a thick border.

    Parameters
    ----------
    reward : a state reward (S,), written under the states.

    Raises
    ------
    InvalidArgument
        More than 24 states, whose graph cannot be read.

    **Cost** arithmetic, quadratic in the states.

    Examples
    --------
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], 0.5, states=["hall", "goal"])
    >>> axes = plot_game(game)
    >>> sorted(text.get_text() for text in axes.texts)
    ['*', '* / 0', '* / 1', 'goal', 'hall']
    """
    from matplotlib.patches import Circle

    n = game.n_states
    if n > MOST_STATES:
        raise InvalidArgument("game", f"has {n} states", f"at most {MOST_STATES}, to be read", n)
    values = None if reward is None else check_reward(game, reward)
    if values is not None and values.ndim != 1:
        allowed = "a state reward (S,)"
        raise InvalidArgument("reward", f"has shape {values.shape}", allowed, reward)
    axes = new_axes((5.4, 4.6)) if ax is None else ax
    axes.axis("off")  # then the paper is the figure's
    turn = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    # The first state is at the top, the others follow clockwise; neighbours are equally far apart.
    place = np.column_stack([np.cos(turn), np.sin(turn)]) * (APART / 2 / np.sin(np.pi / max(n, 2)))
    circles = [Circle((x, y), RADIUS, facecolor=STATE, edgecolor=COLOURS[0]) for x, y in place]
    for s, circle in enumerate(circles):
        circle.set(linewidth=3.0 if game.start[s] > 0 else 1.0, zorder=3)
        axes.add_patch(circle)
        name = as_label(game.states[s], STATE_ROOM)
        name += "" if values is None else f"\n{values[s]:.3g}"
        middle: Style = {"ha": "center", "va": "center", "color": ink_on(STATE)}
        x, y = place[s]
        axes.text(x, y, name, fontsize=9 if len(name) < 10 else 7, zorder=4, **middle)
    labels = _edge_texts(game)
    said = len(labels) <= MOST_LABELS
    for (tail, head), label in labels.items():
        at = (
            _loop(axes, place[tail]) if tail == head else _arrow(axes, circles[tail], circles[head])
        )
        if said:
            box: Style = {"facecolor": tone(axes, 0), "edgecolor": "none", "pad": 0.8}
            middle = {"ha": "center", "va": "center", "color": tone(axes, 1), "bbox": box}
            x, y = at
            axes.text(x, y, label, fontsize=7 if "\n" in label else 8, zorder=2, **middle)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.margins(0.12)
    return axes


def _arrow(axes: Axes, tail: Circle, head: Circle) -> Array:
    """Draw a bent arrow from a circle to another and return where its label stands (2,).

    Nearer to where it comes from, so that the labels of an arrow and its opposite stay apart.
    """
    from matplotlib.patches import FancyArrowPatch

    a, b = np.array(tail.center), np.array(head.center)
    style: Style = {"color": tone(axes, 0.65), **ARROW}
    bent: Style = {"connectionstyle": f"arc3,rad={BEND}", "patchA": tail, "patchB": head}
    axes.add_patch(FancyArrowPatch(tuple(a), tuple(b), shrinkA=0, shrinkB=0, **bent, **style))
    across = (b - a)[::-1] * (1, -1)
    middle, t = (a + b) / 2 + BEND * across, 0.36
    return np.asarray((1 - t) ** 2 * a + 2 * t * (1 - t) * middle + t**2 * b)


def _loop(axes: Axes, place: Array) -> Array:
    """Draw an arrow from a circle out of the picture and back, and return its far end (2,)."""
    from matplotlib.patches import FancyArrowPatch

    out = place / np.linalg.norm(place)
    aside = np.array([-out[1], out[0]])
    ends = [place + RADIUS * (0.75 * out + sign * 0.66 * aside) for sign in (1, -1)]
    style: Style = {"color": tone(axes, 0.65), **ARROW}
    bent: Style = {"connectionstyle": "arc3,rad=-2.2", "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(tuple(ends[0]), tuple(ends[1]), **bent, **style))
    far = place + (RADIUS + 0.42) * out
    # Limits follow points alone: the loop's end must lie within them.
    axes.update_datalim([far + 0.2 * out])
    return np.asarray(far)


def _edge_texts(game: TwoAgentMDP) -> dict[tuple[int, int], str]:
    """Return what stands at each edge, ``{(s, s'): text}``."""
    rows, heads, weights = transitions(game)
    tails, choices = np.divmod(rows, game.n_choices)
    numbers = weights / np.bincount(rows, weights)[rows]
    tables: dict[tuple[int, int], Array] = {}
    for tail, choice, head, p in zip(tails, choices, heads, numbers, strict=True):
        table = tables.setdefault((int(tail), int(head)), np.zeros(game.n_choices))
        table[choice] = p
    shape = game.n_leader_actions, game.n_follower_actions
    return {edge: _edge_text(game, table.reshape(shape)) for edge, table in tables.items()}


def _edge_text(game: TwoAgentMDP, table: Array) -> str:
    """Return the pairs of actions of an edge, from their probabilities (A, B)."""
    if (table == table[0, 0]).all():
        return "*" + _chance(table[0, 0])
    leaders, followers = (
        [as_label(name, ACTION_ROOM) for name in names]
        for names in (game.leader_actions, game.follower_actions)
    )
    if (table == table[:, :1]).all():
        lines = [f"{a} / *" + _chance(p) for a, p in _of_positive(leaders, table[:, 0])]
    elif (table == table[:1]).all():
        lines = [f"* / {b}" + _chance(p) for b, p in _of_positive(followers, table[0])]
    else:
        pairs = product(leaders, followers)
        named = _of_positive(pairs, table.ravel())
        lines = [f"{a} / {b}" + _chance(p) for (a, b), p in named]
    if len(lines) <= MOST_LINES:
        return "\n".join(lines)
    some = table[table > 0]
    least, most = f"{some.min():.2g}", f"{some.max():.2g}"
    between = least if least == most else f"{least} to {most}"
    return f"{some.size} of {table.size} pairs\n({between})"


def _of_positive(names: Any, numbers: Array) -> list[tuple[Any, float]]:
    """Return the names with a positive number, and the number."""
    return [(name, float(p)) for name, p in zip(names, numbers, strict=True) if p > 0]


def _chance(p: float) -> str:
    return "" if p == 1 else f" ({p:.2g})"
