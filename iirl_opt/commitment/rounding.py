"""From floats near a fixed point to whole numbers that `iirl_opt.certificate.boxes` proves.

A vector is settled by Newton's steps whose residuals are taken in exact numbers, so that every step
is policy iteration and iterative refinement at once and what a float cannot hold is found again:
a penalty of 1e12 beside rewards of one, or 1 − γ = 1e-10. What remains is a few units of the last
place, and a shift by the residual over 1 − γ makes the inequality hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate.boxes import Bounds, Mask, Model, Weights
from iirl_opt.exact.linear import solve

__all__ = ["bound_box", "bound_leader", "bound_one", "grid"]

Array = NDArray[np.float64]

# Newton's steps, and how many of them may fail to halve the residual.
STEPS, PATIENCE = 80, 8
# Units of the last place that count as settled.
SETTLED = 4
# Bits below the largest reward, and as many again at most for small rewards beside large ones.
BITS = 64


class _Image(NamedTuple):
    """An operator at a vector: what each state is worth, and the rows (S, S) that it leads along.

    The rows only guide Newton's steps; the values are exact.
    """

    values: list[Fraction]
    rows: Array


def grid(model: Model) -> int:
    """Return the denominator, a power of two, on which vectors of a problem are written.

    It is 64 bits finer than the largest reward times 1 − γ, and as much finer again as the
    smallest difference of rewards is smaller, to at most 64 bits.
    """
    places = 0
    for rewards in (model.leader, model.follower):
        size = max(map(abs, rewards))
        finest = min((y - x for x, y in pairwise(sorted(set(rewards)))), default=size)
        if size:
            small = min(BITS, max(0, _log2(size) - _log2(finest)))
            places = max(places, BITS + small - _log2(size))
    return 1 << max(0, places - _log2(1 - model.discount))


def _log2(number: Fraction) -> int:
    return number.numerator.bit_length() - number.denominator.bit_length()


def bound_box(model: Model, mask: Mask, near: Sequence[Array] | None = None) -> Bounds:
    """Return vectors of a box that `Model` proves, near the best.

    Parameters
    ----------
    mask : for each state the allowed actions.
    near : floats near h_lo, h_hi and w, each (S,).

    Raises
    ------
    ArithmeticError
        The play of the follower is not defined for all values between h_lo and h_hi.

    **Cost** for each vector some linear systems with S unknowns in floats, and as many images in
    exact numbers.
    """
    over = grid(model)
    start = [np.zeros(model.shape[0])] * 3 if near is None else near
    low, high = (
        _settle(model, _following(model, mask, over, least), start[not least], over, least)
        for least in (True, False)
    )
    return bound_leader(model, mask, Bounds(over, low, high, high), start[2])


def bound_one(model: Model, actions: Sequence[int], near: Sequence[Array] | None = None) -> Bounds:
    """Return vectors of a single commitment, with ties of a greedy follower decided if need be.

    Where actions look tied on the grid, the follower's values are solved for exactly.

    Raises
    ------
    NotRepaired
        A tie is to be decided in a game of more states than can be solved exactly.
    """
    mask = [(a,) for a in actions]
    found = bound_box(model, mask, near)
    open_ties = model.play.model == "greedy" and model.play.ties != "any"
    if not open_ties or not any(model.undecided(s, a, found) for s, a in enumerate(actions)):
        return found
    values = _optimal(model, actions, found)
    over = math.lcm(found.over, *(x.denominator for x in values))
    whole = tuple(x.numerator * (over // x.denominator) for x in values)
    start = np.array([x / found.over for x in found.w])
    return bound_leader(model, mask, Bounds(over, whole, whole, whole), start)


def _optimal(model: Model, actions: Sequence[int], near: Bounds) -> list[Fraction]:
    """Return the follower's optimal values under a commitment, by exact policy iteration."""
    size, n_b = len(actions), model.shape[2]
    values: Sequence[int] = near.h_lo
    over, best = near.over, [-1] * size
    while True:
        q = [model.action_values(s, a, values, over, model.follower) for s, a in enumerate(actions)]
        better = [
            b if b >= 0 and x[b] == max(x) else max(range(n_b), key=x.__getitem__)
            for x, b in zip(q, best, strict=True)
        ]
        if better == best:
            return [Fraction(x, over) for x in values]
        best = better
        system = np.full((size, size), Fraction(0), dtype=object)
        right = np.empty(size, dtype=object)
        for s, (a, b) in enumerate(zip(actions, best, strict=True)):
            i = model.row(s, a, b)
            row, right[s] = model.rows[i], model.follower[i]
            for j, x in zip(row.at, row.weights, strict=True):
                system[s, j] = -model.discount * Fraction(x, row.below)
            system[s, s] += 1
        solved = solve(system, right)
        assert solved is not None  # I − γP is regular
        over = math.lcm(*(x.denominator for x in solved))
        values = [x.numerator * (over // x.denominator) for x in solved]


def bound_leader(model: Model, mask: Mask, bounds: Bounds, near: Array) -> Bounds:
    """Return bounds with the vector w of the leader, given those of the follower."""
    plays = [
        [(a, list(model.weights(s, a, bounds))) for a in actions] for s, actions in enumerate(mask)
    ]
    if not all(found for each in plays for _, found in each):
        raise ArithmeticError("the follower's play is not defined throughout the box")
    lead = _leading(model, plays, bounds.over)
    return bounds._replace(w=_settle(model, lead, near, bounds.over, least=False))


def _settle(
    model: Model,
    improve: Callable[[Sequence[int]], _Image],
    near: Array,
    over: int,
    least: bool,
) -> tuple[int, ...]:
    """Return v over a denominator with ``improve(v) ≤ v``, or ≥ if `least`, close to equality."""
    v = [int(Fraction(float(x)) * over) for x in near]
    found, smallest, waited = v, None, 0
    shift = Fraction(0)
    for _ in range(STEPS):
        image = improve(v)
        change = [x * over - y for x, y in zip(image.values, v, strict=True)]
        size = max(map(abs, change))
        if smallest is None or 2 * size < smallest:
            waited = 0
        if smallest is None or size < smallest:
            short = max([Fraction(0), *((-x if least else x) for x in change)])
            found, smallest, shift = v, size, short / (1 - model.discount)
        waited += 1
        if size <= SETTLED or waited > PATIENCE:
            break
        step = _newton(model, image.rows, [float(x / over) for x in change])
        v = [x + int(Fraction(float(d)) * over) for x, d in zip(v, step, strict=True)]
    far = math.ceil(shift)
    return tuple(x - far if least else x + far for x in found)


def _newton(model: Model, rows: Array, change: Sequence[float]) -> Array:
    step = np.linalg.solve(np.eye(len(rows)) - float(model.discount) * rows, np.array(change))
    return np.asarray(np.where(np.isfinite(step), step, 0.0))


def _following(
    model: Model, mask: Mask, over: int, least: bool
) -> Callable[[Sequence[int]], _Image]:
    """Return the operator ``min_a max_b``, or ``max_a max_b``, of the follower's values."""

    def improve(v: Sequence[int]) -> _Image:
        values, rows = [], np.zeros((len(mask), len(mask)))
        for s, actions in enumerate(mask):
            best = []
            for a in actions:
                q = model.action_values(s, a, v, over, model.follower)
                b = max(range(len(q)), key=q.__getitem__)
                best.append((q[b], a, b))
            value, a, b = min(best) if least else max(best)
            values.append(value)
            _lead_along(rows[s], model, model.row(s, a, b), 1.0)
        return _Image(values, rows)

    return improve


def _leading(
    model: Model, plays: Sequence[Sequence[tuple[int, list[Weights]]]], over: int
) -> Callable[[Sequence[int]], _Image]:
    """Return the operator of the leader's values, with the best compatible play."""
    epsilon, n_b = model.play.epsilon, model.shape[2]

    def improve(v: Sequence[int]) -> _Image:
        values, rows = [], np.zeros((len(plays), len(plays)))
        for s, each in enumerate(plays):
            best: list[tuple[Fraction, int, list[Fraction]]] = []
            for a, boxes in each:
                worth = model.action_values(s, a, v, over, model.leader)
                value, shares = min(_largest_mean(worth, weights) for weights in boxes)
                value = (1 - epsilon) * value + epsilon * sum(worth) / n_b
                best.append((value, a, shares))
            value, a, shares = max(best)
            values.append(value)
            for b, share in enumerate(shares):
                total = float((1 - epsilon) * share + epsilon / n_b)
                _lead_along(rows[s], model, model.row(s, a, b), total)
        return _Image(values, rows)

    return improve


def _largest_mean(worth: Sequence[Fraction], weights: Weights) -> tuple[Fraction, list[Fraction]]:
    """Return the largest mean of `worth` over compatible plays, and the play."""
    order = sorted(range(len(worth)), key=worth.__getitem__, reverse=True)
    best: tuple[Fraction, list[Fraction]] | None = None
    for last in range(1, len(order) + 1):
        x = [low for low, _ in weights]
        for b in order[:last]:
            x[b] = weights[b][1]
        total = sum(x)
        if total > 0:
            mean = sum(map(Fraction.__mul__, map(Fraction, x), worth), Fraction(0)) / total
            if best is None or mean > best[0]:
                best = mean, [Fraction(y) / total for y in x]
    assert best is not None  # the largest weights are never all zero
    return best


def _lead_along(row: Array, model: Model, index: int, share: float) -> Any:
    """Add a row of the kernel times a share."""
    if share:
        at, weights, below = model.rows[index]
        row[list(at)] += [share * (x / below) for x in weights]
