"""Whether the claim of a certificate is true, decided in rational numbers by other means.

Values by Gaussian elimination, programs by the simplex method with Bland's rule, cones by their
extreme rays: nothing here looks at the numbers that a certificate proves its claim with.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np

from iirl_opt.certificate import (
    AngleBound,
    ClassInclusion,
    CommitmentBound,
    Inclusion,
    Infeasibility,
    Optimality,
    PolicyImprovement,
    RewardRank,
    Violation,
    Witness,
)

__all__ = ["explicit", "is_true", "maximum", "optimum", "solve", "values_of"]

ZERO, ONE = Fraction(0), Fraction(1)


def solve(matrix, right):
    """Return the solution of a regular system, or None."""
    rows = [
        [Fraction(x) for x in row] + [Fraction(b)] for row, b in zip(matrix, right, strict=True)
    ]
    n = len(rows)
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return np.array([row[n] for row in rows], dtype=object)


def maximum(c, below=(), limits=(), equal=(), right=()):
    """Return the status and the value of a linear program.

    It is ``max c·x`` over x ≥ 0, ``below x ≤ limits``, ``equal x = right``; the statuses are
    "optimal", "infeasible" and "unbounded".
    """
    n, m = len(c), len(below)
    rows = [
        [*row, *(ONE if j == i else ZERO for j in range(m)), b]
        for i, (row, b) in enumerate(zip(below, limits, strict=True))
    ]
    rows += [[*row, *[ZERO] * m, b] for row, b in zip(equal, right, strict=True)]
    rows = [row if row[-1] >= 0 else [-x for x in row] for row in rows]
    k = len(rows)
    tableau = [
        [*row[:-1], *(ONE if j == i else ZERO for j in range(k)), row[-1]]
        for i, row in enumerate(rows)
    ]
    basis = [n + m + i for i in range(k)]
    first = [ZERO] * (n + m) + [-ONE] * k
    if _simplex(tableau, basis, first, n + m + k) is None or any(
        tableau[i][-1] for i in range(k) if basis[i] >= n + m
    ):
        return "infeasible", None
    for i in range(k):
        if basis[i] >= n + m:
            column = next((j for j in range(n + m) if tableau[i][j]), None)
            if column is not None:
                _pivot(tableau, basis, i, column)
    objective = [*c, *[ZERO] * (m + k)]
    value = _simplex(tableau, basis, objective, n + m)
    return ("unbounded", None) if value is None else ("optimal", value)


def _simplex(tableau, basis, objective, width):
    """Pivot until no column of the first `width` is better; return the value, None if unbounded."""
    while True:
        used = [objective[b] for b in basis]
        entering = None
        for j in range(width):
            gain = objective[j] - sum(
                (u * row[j] for u, row in zip(used, tableau, strict=True)), ZERO
            )
            if gain > 0 and j not in basis:
                entering = j
                break
        if entering is None:
            return sum((u * row[-1] for u, row in zip(used, tableau, strict=True)), ZERO)
        ratios = [
            (row[-1] / row[entering], basis[i], i)
            for i, row in enumerate(tableau)
            if row[entering] > 0
        ]
        if not ratios:
            return None
        _pivot(tableau, basis, min(ratios)[2], entering)


def _pivot(tableau, basis, i, j):
    tableau[i] = [x / tableau[i][j] for x in tableau[i]]
    for other in range(len(tableau)):
        if other != i and tableau[other][j]:
            factor = tableau[other][j]
            tableau[other] = [
                x - factor * y for x, y in zip(tableau[other], tableau[i], strict=True)
            ]
    basis[i] = j


def kernel_of(c):
    """Return the kernel (S, A, B, S) in Fractions."""
    rows = c.instance.rows
    n = c.instance.shape[0]
    out = np.full((len(rows.indptr) - 1, n), ZERO, dtype=object)
    for i in range(len(out)):
        span = slice(rows.indptr[i], rows.indptr[i + 1])
        numbers = [int(x) for x in rows.numerators[span]]
        for j, x in zip(rows.indices[span], numbers, strict=True):
            out[i, j] = Fraction(x, sum(numbers))
    return out.reshape(*c.instance.shape, n)


def spread(c, reward):
    """Return a reward as (S, A, B)."""
    if reward.ndim == 3:
        return reward
    return np.broadcast_to(reward[:, None, None], c.instance.shape)


def share(weights):
    """Return what weights over the last axis mean."""
    return weights / weights.sum(axis=-1, keepdims=True)


def values_of(c, reward, joint):
    """Return the values of a joint policy (S, A, B)."""
    kernel, gamma = kernel_of(c), c.instance.discount
    chain = (joint[..., None] * kernel).sum(axis=(1, 2))
    mean = (joint * spread(c, reward)).sum(axis=(1, 2))
    return solve(np.eye(len(chain), dtype=int) - gamma * chain, mean)


def optimum(c, reward, pi1=None):
    """Return the best values of both agents, or of the follower under a commitment."""
    kernel, gamma = kernel_of(c), c.instance.discount
    n = len(kernel)
    if pi1 is None:
        rows, r = kernel.reshape(n, -1, n), spread(c, reward).reshape(n, -1)
    else:
        rows = (pi1[:, :, None, None] * kernel).sum(axis=1)
        r = (pi1[:, :, None] * spread(c, reward)).sum(axis=1)
    chosen = np.zeros(n, dtype=int)
    while True:
        states = np.arange(n)
        values = solve(np.eye(n, dtype=int) - gamma * rows[states, chosen], r[states, chosen])
        q = r + gamma * rows @ values
        if (q.max(axis=1) <= values).all():
            return values
        chosen = np.where(q.max(axis=1) > values, q.argmax(axis=1), chosen)


def side(c):
    """Return the side constraints of a certificate as dense rows."""
    return ([*c.rows], c.bounds.tolist(), [*c.equal], c.right.tolist())


def flow_of(c):
    """Return the flow equations (S, S·A·B) and their right sides."""
    n = c.instance.shape[0]
    kernel = kernel_of(c).reshape(-1, n)
    own = np.repeat(np.eye(n, dtype=int), len(kernel) // n, axis=0)
    return [*(own - c.instance.discount * kernel).T], c.instance.start.tolist()


def program(c, objective):
    """Return status and value of an occupancy program."""
    below, limits, equal, right = side(c)
    flow, start = flow_of(c)
    return maximum(objective.tolist(), below, limits, [*flow, *equal], [*start, *right])


def explicit(c, pi1, pi2):
    """Return the gaps of a response as rows over state rewards (S·B, S)."""
    n, _, n_b = c.instance.shape
    columns = []
    for e in np.eye(n, dtype=int):
        reward = np.array([Fraction(int(x)) for x in e], dtype=object)
        columns.append(gaps_of(c, pi1, pi2, reward).ravel())
    return np.array(columns, dtype=object).T.reshape(n * n_b, n)


def gaps_of(c, pi1, pi2, reward):
    """Return ``V(s) − Q(s, b)`` of a response, (S, B)."""
    kernel, gamma = kernel_of(c), c.instance.discount
    joint = pi1[:, :, None] * pi2[:, None, :]
    values = values_of(c, reward, joint)
    q = spread(c, reward) + gamma * kernel @ values
    return values[:, None] - (pi1[:, :, None] * q).sum(axis=1)


def rows_of(c):
    """Return the conditions on explaining state rewards: rows ``x·r ≥ 0``."""
    rows = []
    pairs = (
        zip(share(c.pi1), share(c.pi2), strict=True)
        if c.pi1.ndim == 3
        else [(share(c.pi1), share(c.pi2))]
    )
    for pi1, pi2 in pairs:
        rows += [row for row in explicit(c, pi1, pi2) if any(row)]
    return rows


def widest(rows, reward):
    """Return the largest tan² between a reward and a non-constant x with ``rows x ≥ 0``.

    None stands for an angle of 90° or more, or a cone that holds a line.
    """
    n = len(reward)
    w = n * reward - sum(reward)
    # Coordinates without the last: x_{n−1} = −Σ of the others, so that x sums to zero.
    reduced = [row[:-1] - row[-1] for row in rows]
    reduced = [row for row in reduced if any(row)]
    if rank(reduced) < n - 1:
        return None
    largest = ZERO
    for some in combinations(range(len(reduced)), n - 2):
        for ray in rays_of([reduced[i] for i in some], n - 1):
            if all(row @ ray >= 0 for row in reduced):
                x = np.append(ray, -sum(ray))
                along = w @ x
                if along <= 0:
                    return None
                largest = max(largest, (x @ x) * (w @ w) / along**2 - 1)
    return largest


def rank(rows):
    """Return the rank of rows."""
    rows, found = [list(row) for row in rows], 0
    for j in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(found, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            factor = rows[i][j] / rows[found][j]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def rays_of(rows, size):
    """Yield both directions of the line on which `size − 1` rows vanish, if it is a line."""
    if rank(rows) < size - 1:
        return
    for j in range(size):
        unit = [ONE if i == j else ZERO for i in range(size)]
        found = solve([*rows, unit], [*[ZERO] * (size - 1), ONE])
        if found is not None:
            yield found
            yield -found
            return


def least_share(rows, h):
    """Return the least ``h·r / span r`` over non-constant explaining rewards, or None for −∞."""
    n = len(h)
    best = None
    for high in range(n):
        for low in range(n):
            if high == low:
                continue
            # r = x, between 0 at `low` and 1 at `high`.
            keep = [j for j in range(n) if j not in (high, low)]
            below = [[-row[j] for j in keep] for row in rows]
            limits = [row[high] for row in rows]
            below += [[ONE if i == j else ZERO for i in range(len(keep))] for j in range(len(keep))]
            limits += [ONE] * len(keep)
            status, value = maximum([-h[j] for j in keep], below, limits)
            if status == "optimal":
                found = h[high] - value
                best = found if best is None else min(best, found)
    return best


def is_true(c):
    """Return whether the claim of a certificate is true, by exact computations of another kind."""
    if isinstance(c, Optimality):
        return _optimality(c)
    if isinstance(c, CommitmentBound):
        from trees import truth  # which computes with what stands here

        best, stated = truth(c)
        return bool(c.lower <= stated and best <= c.upper)
    if isinstance(c, Infeasibility):
        return program(c, np.full(len(kernel_of(c).reshape(-1, c.instance.shape[0])), ZERO))[0] == (
            "infeasible"
        )
    if isinstance(c, PolicyImprovement):
        old, new = (
            values_of(c, c.reward, share(p.reshape(len(p), -1)).reshape(p.shape))
            for p in (c.old, c.new)
        )
        return bool(0 < c.gain <= new[c.state] - old[c.state])
    if isinstance(c, Violation):
        gap = gaps_of(c, share(c.pi1), share(c.pi2), c.reward)[c.state, c.action]
        if c.advantage > 0:
            return bool(-gap >= c.advantage)
        return bool(c.advantage < 0 and c.pi2[c.state, c.action] > 0 and -gap <= c.advantage)
    if isinstance(c, Witness):
        return _witness(c)
    if isinstance(c, Inclusion):
        return all(_within(c, h) for h in c.halfspaces)
    if isinstance(c, RewardRank):
        return _reward_rank(c)
    assert isinstance(c, AngleBound | ClassInclusion)
    limit = c.tan_squared if isinstance(c, AngleBound) else c.tan**2
    if len(c.reward) == 1:
        return True
    if c.instance.discount == 0:
        return False
    rows = rows_of(c)
    if (c.reward == c.reward[0]).all():
        return isinstance(c, ClassInclusion) and least_share(rows, c.reward * 0 + 1) is None
    found = widest(rows, c.reward)
    return found is not None and found <= limit


def _reward_rank(c):
    """By what each unit reward's values, if only the first action is played, lack in the others."""
    n, n_a, n_b = c.instance.shape
    kernel, gamma = kernel_of(c), c.instance.discount
    shape = {"state": (n, 1, 1), "follower": (n, 1, n_b), "joint": (n, n_a, n_b)}[c.rewards]
    units = np.eye(int(np.prod(shape)), dtype=int) * ONE
    lacking = []
    for unit in units:
        reward = np.broadcast_to(unit.reshape(shape), c.instance.shape)
        column = []
        for pi1 in share(c.commitments):
            own = (pi1[:, :, None] * reward).sum(axis=1)
            ahead = gamma * (pi1[:, :, None, None] * kernel).sum(axis=1)
            v = solve(np.eye(n, dtype=int) - ahead[:, 0], own[:, 0])
            column.append((own + ahead @ v - v[:, None]).ravel())
        lacking.append(np.concatenate(column))
    lacking, stated = np.array(lacking), c.null[:, : len(units)]
    left = len(units) - rank(lacking)
    return bool(not (stated @ lacking).any() and len(stated) == rank(stated) == left)


def _optimality(c):
    measured = share(c.policy.reshape(len(c.policy), -1)).reshape(c.policy.shape)
    start = c.instance.start
    if start @ values_of(c, c.reward, measured) < c.lower:
        return False
    below, limits, equal, right = side(c)
    broken = ZERO
    for signs, rows, ends in (((1,), below, limits), ((1, -1), equal, right)):
        for row, end in zip(rows, ends, strict=True):
            earned = start @ values_of(c, row.reshape(c.instance.shape), measured)
            broken = max([broken, *(sign * (earned - end) for sign in signs)])
    if broken > c.excess:
        return False
    if not below and not equal:
        return bool(start @ optimum(c, c.reward) <= c.upper)
    status, value = program(c, spread(c, c.reward).ravel())
    return status == "infeasible" or (status == "optimal" and value <= c.upper)


def _witness(c):
    if not (0 < c.margin <= -(c.halfspace * c.reward).sum()) or c.loss < 0:
        return False
    allowed = c.loss * (max(c.reward.ravel()) - min(c.reward.ravel()))
    for pi1, pi2 in zip(share(c.pi1), share(c.pi2), strict=True):
        joint = pi1[:, :, None] * pi2[:, None, :]
        lost = optimum(c, c.reward, pi1) - values_of(c, c.reward, joint)
        if max(lost) > allowed:
            return False
    return True


def _within(c, h):
    assert len(h) == c.instance.shape[0], "joint half-spaces are not decided here"
    if sum(h):
        return False
    found = least_share(rows_of(c), h)
    return found is None or found >= -c.slack * max(map(abs, h))
