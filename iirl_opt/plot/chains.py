"""Chains of a sampler: traces, posteriors, and the ridge that the likelihood leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.bayesian.chains import Chains
from iirl_opt.bayesian.posterior import Normal
from iirl_opt.checks import FINITE, LABELS, array_of_floats, checked, is_a, optional, refuse, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.plot.canvas import COLOURS, as_label, colours, new_figure, tone

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_chains"]

# Draws that are told apart in a trace of a chain, and as dots; of more every so many is drawn.
MOST_ON_A_TRACE, MOST_ON_A_RIDGE = 1000, 4000
# Within so many, an axis has two numbers a decade.
FEW_DECADES = 2.5


@checked(chains=is_a(Chains), states=optional(LABELS), most=whole(0))
def plot_chains(
    chains: Chains,
    *,
    states: Sequence[str] | None = None,
    normalise: Normal | None = None,
    truth: tuple[ArrayLike, float] | None = None,
    most: int = 3,
) -> list[Axes]:
    """Draw traces and posteriors of the parameter and some rewards, and the ridge in the last row.

    Of long chains every so many draws is a point of a trace or a dot of the ridge; the posteriors
    are of all. On the ridge a grey curve joins what the likelihood cannot tell apart: the same
    follower, with more of its reward constant and a larger parameter (where that scales).

    Parameters
    ----------
    chains : the draws as they came.
    states : the names of all states.
    normalise : how draws are moved along their ridge before they are drawn in the upper rows.
    truth : the true reward (S,), and parameter, as a line in each posterior.
    most : how many states to show: those of the largest mean reward.

    Returns
    -------
    The axes row by row, a trace and a posterior in each row, and the two of the ridge at last.

    Raises
    ------
    InvalidArgument
        Not a name for each state; no such reward or parameter.

    **Cost** a line and a histogram for each chain and row; linear in the draws.

    Examples
    --------
    >>> from iirl_opt.bayesian import Evidence, Posterior, sample
    >>> from iirl_opt.game.generate import random_game
    >>> game, _ = random_game(3, 2, 2, rng=0)
    >>> chains = sample(Posterior(Evidence(game)), 20, chains=2, thin=4, fast=False)
    >>> [axes.get_ylabel() for axes in plot_chains(chains, most=0)]
    ['beta', '', 'beta', '']
    """
    from matplotlib.ticker import MaxNLocator

    shown = chains if normalise is None else chains.normalised(normalise)
    n = shown.rewards.shape[-1]
    names = list(range(n)) if states is None else list(states)
    if len(names) != n:
        raise InvalidArgument("states", f"are {len(names)}", f"the names of all {n} states", states)
    true = None if truth is None else _truth(truth, n)
    largest = np.sort(np.argsort(-shown.mean_reward, kind="stable")[:most])
    rows = [(chains.parameter, shown.parameters, None if true is None else true[1])]
    for s in largest:
        worth = None if true is None else float(true[0][s])
        rows.append((f"reward of {as_label(names[s], 16)}", shown.rewards[..., s], worth))
    figure = new_figure((6.2, 1.9 * len(rows) + 2.4), "constrained")
    axes = figure.subplots(len(rows) + 1, 2, width_ratios=(2, 1), squeeze=False)
    for (left, right), (name, draws, worth) in zip(axes, rows, strict=False):
        log = name == chains.parameter and _spans_decades(draws)
        edges = _edges(draws, log)
        every = -(-draws.shape[1] // MOST_ON_A_TRACE)
        at = np.arange(0, draws.shape[1], every)
        for run, colour in zip(draws, cycle(colours(left)), strict=False):
            left.plot(at, run[at], color=colour, linewidth=0.5, alpha=0.8)
            # Counts, so that on either axis an area is a share of the draws.
            right.hist(run, bins=edges, color=colour, histtype="step", linewidth=1.1)
        if worth is not None:
            right.axvline(worth, color=tone(right, 0.7), linestyle="--", linewidth=1)
        left.set_ylabel(name)
        if log:
            _in_decades(left, right, draws)
        right.set_yticks([])
        left.margins(x=0)
        left.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes[-2, 0].set_xlabel("draw; a colour a chain")
    _ridge(axes[-1, 0], axes[-1, 1], chains)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    return list(axes.flat)


def _truth(given: Any, n: int) -> tuple[NDArray[np.float64], float]:
    """Return the true reward (S,) and parameter, if they are such."""
    try:
        reward, parameter = given
    except (TypeError, ValueError):
        raise refuse("truth", given, "a reward and a parameter") from None
    read: NDArray[np.float64] = array_of_floats(1)("truth[0]", reward)
    if read.size != n:
        raise InvalidArgument("truth[0]", f"has shape {read.shape}", f"a reward ({n},)", reward)
    return read, FINITE("truth[1]", parameter)


def _ridge(left: Axes, right: Axes, chains: Chains) -> None:
    """Draw the parameter over the constant share of the reward, and its spread with and without."""
    share = (chains.rewards.shape[-1] * chains.rewards.min(axis=-1)).ravel()
    theta = chains.parameters.ravel()
    moved = chains.normalised("min").parameters.ravel()
    at = slice(None, None, -(-share.size // MOST_ON_A_RIDGE))
    left.plot(share[at], theta[at], ".", color=COLOURS[0], markersize=2, alpha=0.4, label="draws")
    along = np.linspace(0.0, min(float(share.max()), 0.99), 100)
    for level in np.quantile(moved, (0.1, 0.5, 0.9)):
        curve = level / (1 - along) if chains.scales else np.full_like(along, level)
        left.plot(along, curve, color=tone(left, 0.55), linewidth=1.2)
    log = _spans_decades(np.concatenate([theta, moved]))
    if log:
        _in_decades(left, right, moved)
    else:
        left.set_ylim(0, 1.05 * float(theta.max()) or 1.0)
    left.set_xlabel("share of the reward that is constant")
    left.set_ylabel(chains.parameter)
    edges = _edges(np.concatenate([theta, moved]), log)
    for draws, name, colour in ((theta, "as drawn", COLOURS[0]), (moved, "min r = 0", COLOURS[2])):
        right.hist(draws, bins=edges, color=colour, histtype="step", label=name, linewidth=1.2)
    right.set_xlabel(chains.parameter)
    right.set_yticks([])
    right.legend(frameon=False, fontsize=8)


def _in_decades(left: Axes, right: Axes, draws: ArrayLike) -> None:
    """Make a logarithmic axis of the left y and the right x, with numbers that stand apart."""
    from matplotlib.ticker import LogLocator, NullFormatter

    left.set_yscale("log")
    right.set_xscale("log")
    within = np.ptp(np.log10(draws)) < FEW_DECADES
    for axis in (left.yaxis, right.xaxis):
        if within:
            axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
            axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def _spans_decades(draws: ArrayLike) -> bool:
    """Return whether positive draws spread so far that a linear axis would be squeezed by a tail.

    They do if the farthest is more than three times as far from zero as the median.
    """
    values = np.asarray(draws, dtype=float)
    return bool(values.min() > 0 and values.max() > 3 * np.median(values))


def _edges(draws: ArrayLike, log: bool) -> list[float]:
    """Return the edges of 40 bins of equal width on the axis that is drawn."""
    if log:
        return list(np.exp(np.histogram_bin_edges(np.log(draws), bins=40)))
    return list(np.histogram_bin_edges(draws, bins=40))
