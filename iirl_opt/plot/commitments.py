"""Commitments: how they mix, and why none is best from every state."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import LABELS, checked, has, is_a, optional, whole
from iirl_opt.commitment.dominating import Dominance, DominanceVerdict
from iirl_opt.errors import InvalidArgument
from iirl_opt.plot.canvas import (
    AX,
    COLOURS,
    LINES,
    MARKERS,
    Style,
    as_label,
    colours,
    new_axes,
    tone,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from iirl_opt.commitment.plans import Commitment

__all__ = ["plot_commitment", "plot_dominance"]

Array = NDArray[np.float64]

# Patterns of bars, which tell actions of the same colour apart.
HATCHES = ("", "//", "..", "xx")

# Characters of a name.
ROOM = 24


@checked(commitment=has("policy", "response", "problem", what="a Commitment"), most=whole(1), ax=AX)
def plot_commitment(commitment: Commitment, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """Draw with which probability a commitment plays each action, and the answer, state by state.

    Parameters
    ----------
    commitment : what `commit` or a method of planning returns.
    most : how many states to show: those in which most is mixed, in the order of the game. The
        title says of how many.

    **Cost** a bar for each state and action shown.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, reward = iirl.random_game(4, 2, 2, rng=0)
    >>> axes = plot_commitment(iirl.commit(game, reward))
    >>> axes.get_title()
    'a commitment in 4 states; it mixes in 0'
    """
    game, policy = commitment.problem.game, np.asarray(commitment.policy)
    lead = np.sort(policy, axis=1)[:, -1]
    shown = np.sort(np.argsort(lead, kind="stable")[:most])
    axes = new_axes((5.4, 0.9 + 0.38 * len(shown))) if ax is None else ax
    rows, left, every = np.arange(len(shown)), np.zeros(len(shown)), colours(axes)
    for a, name in enumerate(game.leader_actions):
        share = policy[shown, a]
        if share.any():
            look: Style = {"color": every[a % len(every)], "edgecolor": tone(axes, 0)}
            look["hatch"] = HATCHES[a // len(every) % len(HATCHES)]
            axes.barh(rows, share, left=left, height=0.7, label=as_label(name, ROOM), **look)
            left = left + share
    names = game.follower_actions
    for row, s in enumerate(shown):
        axes.text(1.02, row, _answer(names, commitment.response[s]), va="center", fontsize=9)
    beside: Style = {"transform": axes.transAxes, "fontsize": 9, "fontweight": "bold"}
    axes.text(1.02, 1.0, "answer", va="bottom", **beside)
    axes.set_yticks(rows, [as_label(game.states[s], ROOM) for s in shown])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("probability of the leader's action")
    of = f"{len(shown)} of {len(policy)}" if len(shown) < len(policy) else str(len(policy))
    mixed = int(((policy > 0).sum(axis=1) > 1).sum())
    title = f"a commitment in {of} state" + "s" * (len(policy) > 1) + f"; it mixes in {mixed}"
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    below: Style = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, -0.55 / (0.4 * len(shown) + 0.3)),
    }
    axes.legend(ncols=4, frameon=False, fontsize=9, title="leader's action", **below)
    return axes


def _answer(names: Sequence[Any], row: Array) -> str:
    """Return a follower's answer in a state: its action, or the most probable one of several."""
    b = int(np.argmax(row))
    name = as_label(names[b], ROOM)
    return name if row[b] == 1 else f"{name} ({row[b]:.2g})"


@checked(found=is_a(Dominance), states=optional(LABELS), ax=AX)
def plot_dominance(
    found: Dominance, *, states: Sequence[Any] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw why no deterministic commitment is best from every state, or that one is.

    Ruled out by two states: what the commitment that is best from each of them earns from both. To
    be best from both, one would have to stand in the corner where the lines meet. By more states:
    a line for each of these commitments, below the best values somewhere. Otherwise: the best
    values from every state, and the bound that no deterministic commitment exceeds.

    Parameters
    ----------
    found : what `dominance` returns.
    states : the names of all states of the game.

    Raises
    ------
    InvalidArgument
        Not a name for each state.

    **Cost** a few lines of markers; nothing is solved.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> from iirl_opt.commitment import dominance
    >>> axes = plot_dominance(dominance(iirl.CommitmentProblem(*iirl.random_game(5, 2, 2, rng=0))))
    >>> axes.get_title()
    'this deterministic commitment is best from every state'
    """
    axes = new_axes((5.4, 4.2)) if ax is None else ax
    every = [f"state {s}" for s in range(len(found.values))] if states is None else list(states)
    if len(every) != len(found.values):
        allowed = f"the names of all {len(found.values)} states"
        raise InvalidArgument("states", f"are {len(every)}", allowed, states)
    names = [as_label(every[s], ROOM) for s in found.states]
    if found.verdict is not DominanceVerdict.RULED_OUT or len(names) < 2:
        _draw_values(axes, found, [as_label(name, ROOM) for name in every])
    elif len(names) == 2:
        _pair(axes, found, names)
    else:
        _several(axes, found, names)
    axes.set_title(found.verdict.value, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.16 if found.states else -0.24), frameon=False
    )
    return axes


def _pair(axes: Axes, found: Dominance, names: list[str]) -> None:
    """Draw the best of each of two states in the plane of their values, and the missing corner."""
    best = np.diag(found.best_values)
    for i, (x, y) in enumerate(found.best_values):
        name = f"the commitment that is best from {names[i]}"
        axes.plot(x, y, MARKERS[i], color=COLOURS[i], markersize=9, label=name)
    axes.axvline(best[0], color=tone(axes, 0.4), linestyle="--", linewidth=1, zorder=0)
    axes.axhline(best[1], color=tone(axes, 0.4), linestyle="--", linewidth=1, zorder=0)
    corner = "best from both: no commitment is here"
    axes.plot(*best, "x", color=tone(axes, 1), markersize=11, markeredgewidth=2, label=corner)
    axes.set_xlabel(f"value from {names[0]}")
    axes.set_ylabel(f"value from {names[1]}")
    axes.margins(0.15)


def _several(axes: Axes, found: Dominance, names: list[str]) -> None:
    """Draw what each commitment that is best from one of several states loses in the others."""
    best = np.diag(found.best_values)
    looks = zip(cycle(colours(axes)), cycle(LINES), cycle(MARKERS), strict=False)
    for row, name, (colour, line, marker) in zip(found.best_values, names, looks, strict=False):
        look: Style = {"color": colour, "linestyle": line, "marker": marker}
        axes.plot(row - best, label=f"the commitment that is best from {name}", **look)
    axes.axhline(0.0, color=tone(axes, 0.4), linestyle="--", linewidth=1, zorder=0)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel("value, less the best from this state")


def _draw_values(axes: Axes, found: Dominance, names: list[str]) -> None:
    """Draw the best known value from every state, and its bound."""
    at = np.arange(len(found.values))
    few = len(at) <= 12
    look: Style = {"color": COLOURS[0], "linestyle": "none", "marker": "o", "markersize": 5}
    known = "the commitment" if found.actions is not None else "the best that is known"
    axes.plot(at, found.bounds, "_", color=COLOURS[1], markersize=16, label="no more is possible")
    axes.plot(at, found.values, label=f"value of {known}", **look)
    if few:
        turned = max(map(len, names)) * len(names) > 50
        axes.set_xticks(at, names, rotation=45 if turned else 0)
    axes.set_xlabel("from")
    axes.set_ylabel("value")
