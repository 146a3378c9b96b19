"""Linear functions that lower a ceiling over the regret, by descent.

A ceiling relative to linear functions φ of the reward (`iirl_opt.rewards.ceiling`) is convex in φ:

    U(φ) = max_r φ_start(r) + max_d Σ d(s, a, b) max_r (adv_r + γ P φ(r) − φ(r))(s, a, b)

over feasible rewards r and discounted visits d. Where d is optimal, with the worst reward r_0 of
the first part and r_c of each choice c, its slope in φ_s is

    start(s) r_0 + γ Σ_c d(c) P(s | c) r_c − d(s) r_c(s) ,

the rewards with which play comes to the state less the one that it is given there: a ceiling is
loose where every choice meets its own worst reward, and φ charges for the change. A step has the
length of Polyak 1969 towards the ceiling that is wanted, shorter where steps bring nothing, and its
direction remembers the last one (Camerini, Fratta & Maffioli 1975).

From step to step multipliers and rewards stay: a line that bounded an advantage bounds it still,
after arithmetic, so that few programs are solved anew.

Source: ours; it is Lagrangian decomposition of products of visits and reward, whose one large
program is `iirl_opt.rewards.regret_rows.linear_values`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from iirl_opt.rewards.ceiling import Ceiling

__all__ = ["descended"]

Array = NDArray[np.float64]

# What programs may leave to gain in a step, as a share of the ceiling.
OPEN = 0.02
# Steps that bring less than this share of the ceiling, after so many of which steps are shorter.
GAIN, PATIENCE, SHORTER = 1e-3, 4, 0.6
# The weight of the last direction.
MEMORY = 0.7
# Rewards that are kept from step to step.
KEPT = 600


def descended(
    ceiling: Ceiling, target: float, *, steps: int, limit: float, tolerance: float
) -> tuple[Ceiling, set[int]]:
    """Return the lowest ceiling on the way to `target`, and the choices that took programs.

    Parameters
    ----------
    ceiling : to begin with, its programs solved.
    target : low enough.
    steps, limit : at most so many steps, and so many programs of choices.
    tolerance : in the unit of values, what counts as nothing.

    **Cost** programs and one MDP a step.
    """
    best, pool, length, idle = ceiling, _rewards(ceiling), 1.0, 0
    solved: set[int] = set()
    left, last = limit, np.zeros_like(ceiling.linear)
    for _ in range(steps):
        slope = _slope(ceiling, pool)
        if last.any():
            slope = slope + MEMORY * np.linalg.norm(slope) / np.linalg.norm(last) * last
        last, square = slope, float((slope**2).sum())
        if best.upper <= target + tolerance or square <= tolerance**2 or left <= 0:
            break
        step = length * (ceiling.upper - target) / square
        ceiling = ceiling.relative_to(ceiling.linear - step * slope, pool)
        open_ = max(OPEN * ceiling.upper, tolerance)
        ceiling.lower_to(-np.inf, tolerance=open_, limit=left)
        left -= len(ceiling.rewards)
        solved |= set(ceiling.rewards)
        pool = np.concatenate([pool, _rewards(ceiling)])[-KEPT:]
        idle = 0 if ceiling.upper < (1 - GAIN) * best.upper else idle + 1
        best = min(best, ceiling, key=lambda c: c.upper)
        if idle == PATIENCE:
            length, idle = SHORTER * length, 0
    return best, solved


def _rewards(ceiling: Ceiling) -> Array:
    found = [*ceiling.rewards.values()]
    if ceiling.base_reward is not None:
        found.append(ceiling.base_reward)
    return np.array(found).reshape(-1, ceiling.play.width)


def _slope(ceiling: Ceiling, pool: Array) -> Array:
    """Return a subgradient of the ceiling in φ, (S, width)."""
    game, chosen, visits = ceiling.play.game, ceiling.chosen, ceiling.visits
    worst = pool[(ceiling.gains[chosen] @ pool.T).argmax(axis=1)]
    after = np.asarray(game.matrix[chosen].T @ (visits[:, None] * worst))
    # Where φ = 0 any reward will do for the start: that of the likeliest state.
    met = ceiling.base_reward
    first = game.start[:, None] * (worst[np.argmax(game.start)] if met is None else met)
    return np.asarray(first + game.discount * after - visits[:, None] * worst)
