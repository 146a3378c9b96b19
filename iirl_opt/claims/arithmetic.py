"""Exact arithmetic on small rational games: the definitions behind the claims.

Everything is in `fractions.Fraction`: values by elimination, optima by policy iteration until no
action is better, cones by a simplex method with Bland's rule. It is meant for a few states, shares
no arithmetic with the rest of the library, and knows no tolerance.

A follower's problem is a kernel (S, n, S) of Fractions, what a commitment leaves; a reward is a
vector (S,) of Fractions; a deterministic policy is a tuple of S choices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from iirl_opt.game.mdp import TwoAgentMDP

__all__ = [
    "Choices",
    "Exact",
    "action_values",
    "affine_class_holds",
    "best_values",
    "complement",
    "constraint_rows",
    "discount_of",
    "exact",
    "in_affine_class",
    "in_cone",
    "is_constant",
    "is_full",
    "joint_problem",
    "kernel_of",
    "largest_scale",
    "leave",
    "nonzero_rows",
    "optimal_policies",
    "policies_of",
    "policy_values",
    "simplex_vertices",
    "solve",
    "stochastic",
    "vectors",
]

Exact: TypeAlias = NDArray[Any]  # Fractions
Choices: TypeAlias = tuple[int, ...]


def exact(numbers: Any) -> Exact:
    """Return numbers as Fractions; a float is the binary fraction that it is, and none is rounded.

    Instances of claims hold whole numbers, Fractions, or texts such as ``"1/3"`` from the start.
    """
    array = np.asarray(numbers)
    out = np.empty(array.shape, dtype=object)
    read = [x if type(x) is Fraction else Fraction(x) for x in array.ravel().tolist()]
    out.ravel()[:] = read
    return out


def discount_of(game: TwoAgentMDP) -> Fraction:
    """Return the exact discount of a rational game."""
    return game.rational.discount


def kernel_of(game: TwoAgentMDP) -> Exact:
    """Return the exact kernel (S, A, B, S) of a rational game."""
    n_rows = game.n_states * game.n_choices
    kernel = np.full((n_rows, game.n_states), Fraction(0))
    for i in range(n_rows):
        for j, p in game.rational.rows.row(i).items():
            kernel[i, j] = p
    return kernel.reshape(*game.shape, game.n_states)


def leave(kernel: Exact, pi1: Exact) -> Exact:
    """Return the problem (S, B, S) that a commitment (S, A) leaves to the follower."""
    mixed: Exact = (pi1[:, :, None, None] * kernel).sum(axis=1)
    return mixed


def joint_problem(kernel: Exact) -> Exact:
    """Return the problem (S, A·B, S) of one planner who chooses both actions."""
    return kernel.reshape(kernel.shape[0], -1, kernel.shape[0])


def policies_of(n_states: int, n_actions: int) -> list[Choices]:
    """Return every deterministic policy."""
    return list(product(range(n_actions), repeat=n_states))


def stochastic(choices: Sequence[int], n_actions: int) -> Exact:
    """Return a deterministic policy as an array (S, n)."""
    return exact(np.eye(n_actions, dtype=int)[list(choices)])


def solve(matrix: Exact, right: Exact) -> Exact:
    """Return the solution of a regular linear system; `right` is a vector or a matrix."""
    n = len(matrix)
    table = np.hstack([matrix, right.reshape(n, -1)])
    for i in range(n):
        pivot = next(k for k in range(i, n) if table[k, i] != 0)
        table[[i, pivot]] = table[[pivot, i]]
        table[i] = table[i] / table[i, i]
        for k in range(n):
            if k != i and table[k, i] != 0:
                table[k] = table[k] - table[k, i] * table[i]
    return table[:, n:].reshape(right.shape)


def chain(problem: Exact, policy: Exact) -> Exact:
    """Return the transition matrix (S, S) under a policy (S, n)."""
    rows: Exact = (policy[:, :, None] * problem).sum(axis=1)
    return rows


def policy_values(problem: Exact, reward: Exact, policy: Exact, discount: Fraction) -> Exact:
    """Return the values (S,) of a policy (S, n) for a state reward."""
    return solve(_unit(len(reward)) - discount * chain(problem, policy), reward)


def optimal_policies(problem: Exact, reward: Exact, discount: Fraction) -> list[Choices]:
    """Return every deterministic policy than which none is better from any state.

    These play the best actions for the optimal values, in each state any of them.
    """
    q = action_values(problem, reward, discount)
    best = [np.flatnonzero(row == row.max()).tolist() for row in q]
    return list(product(*best))


def best_values(problem: Exact, reward: Exact, discount: Fraction) -> Exact:
    """Return the optimal values (S,), by policy iteration until no action is better anywhere.

    That none is, is the optimality equation, which has one solution.
    """
    n_states = len(reward)
    states, choices = np.arange(n_states), np.zeros(n_states, dtype=int)
    while True:
        chain_ = problem[states, choices]
        values = solve(_unit(n_states) - discount * chain_, reward)
        next_values = problem @ values
        better = next_values.max(axis=1) > next_values[states, choices]
        if not better.any():
            return values
        choices = np.where(better, next_values.argmax(axis=1), choices)


def action_values(problem: Exact, reward: Exact, discount: Fraction) -> Exact:
    """Return the optimal action values (S, n), ``r + γ P V*``."""
    best = best_values(problem, reward, discount)
    q: Exact = reward[:, None] + discount * (problem @ best)
    return q


def constraint_rows(problem: Exact, policy: Exact, discount: Fraction) -> Exact:
    """Return the printed rows of Theorem 1, ``(P_π − P_b)(I − γ P_π)⁻¹``, shape (B·S, S)."""
    n_states, n_actions, _ = problem.shape
    own = chain(problem, policy)
    inverse = solve(_unit(n_states) - discount * own, _unit(n_states))
    rows = [(own - problem[:, b]) @ inverse for b in range(n_actions)]
    return np.vstack(rows)


def is_constant(reward: Exact) -> bool:
    """Return whether a reward is constant."""
    return bool((reward == reward[0]).all())


def complement(*vectors: Exact) -> list[Exact]:
    """Return an orthogonal basis, of any lengths, of what is orthogonal to the vectors."""
    span: list[Exact] = []

    def rest(x: Exact) -> Exact:
        for y in span:
            x = x - (x @ y) / (y @ y) * y
        return x

    for vector in vectors:
        new = rest(vector)
        if (new != 0).any():
            span.append(new)
    given = len(span)
    for unit in _unit(len(vectors[0])):
        new = rest(unit)
        if (new != 0).any():
            span.append(new)
    return span[given:]


def in_cone(rows: Exact, target: Exact) -> bool:
    """Return whether a vector (N,) is a combination of rows (m, N) with weights ≥ 0.

    By the lemma of Farkas that is whether ``rows·x ≥ 0`` implies ``target·x ≥ 0``.
    """
    n_rows, n = rows.reshape(-1, len(target)).shape
    sign = exact(np.where(target < 0, -1, 1))
    table = np.hstack([rows.T * sign[:, None], (target * sign)[:, None]])
    table = np.vstack([table, -table.sum(axis=0)])
    basis = list(range(n_rows, n_rows + n))  # artificial variables, which never come back
    while True:
        entering = next((j for j in range(n_rows) if table[-1, j] < 0), None)
        if entering is None:
            return bool(table[-1, -1] == 0)
        ratios = [
            (table[i, -1] / table[i, entering], basis[i], i)
            for i in range(n)
            if table[i, entering] > 0
        ]
        _, _, leaving = min(ratios)
        basis[leaving] = entering
        table[leaving] = table[leaving] / table[leaving, entering]
        for i in range(n + 1):
            if i != leaving and table[i, entering] != 0:
                table[i] = table[i] - table[i, entering] * table[leaving]


def in_affine_class(x: Exact, reward: Exact, *, strict: bool) -> bool:
    """Return whether ``x = λ1·reward + λ2`` with λ1 ≥ 0, or λ1 > 0 if strict."""
    if is_constant(x):
        return not strict or is_constant(reward)
    if is_constant(reward):
        return False
    lie = all(phi @ x == 0 for phi in complement(exact(np.ones(len(x), int)), reward))
    return bool(lie and _centred(reward) @ x > 0)


def is_full(rows: Exact) -> bool:
    """Return whether ``{x : rows·x ≥ 0}`` has inner points: no row is also ≤ 0 on all of it."""
    nonzero = nonzero_rows(rows)
    return not any(in_cone(nonzero, -row) for row in nonzero)


def affine_class_holds(rows: Exact, reward: Exact) -> bool:
    """Return whether ``{x : rows·x ≥ 0}`` is the affine class of a reward, λ1 ≥ 0."""
    if not (rows @ reward >= 0).all() or (rows.sum(axis=1) != 0).any():
        return False
    phis = complement(exact(np.ones(len(reward), int)), reward)
    needed = [*phis, *(-phi for phi in phis), _centred(reward)]
    nonzero = nonzero_rows(rows)
    return all(in_cone(nonzero, target) for target in needed)


def nonzero_rows(rows: Exact) -> Exact:
    """Return the rows that are not zero."""
    kept: Exact = rows[(rows != 0).any(axis=1)]
    return kept


def largest_scale(row: Exact) -> Fraction:
    """Return the largest scale at which 1/N − row is a distribution."""
    n = len(row)
    return Fraction(min(Fraction(1, n) / row.max(), (1 - Fraction(1, n)) / -row.min()))


def simplex_vertices(rows: Exact) -> list[Exact]:
    """Return the vertices of ``{r : rows·r ≥ 0}`` within the reward simplex.

    Each is the ray on which S − 1 of the rows, or of the signs, are tight. In whole numbers.
    """
    n = rows.shape[1]
    whole = {tuple(map(int, unit)) for unit in np.eye(n, dtype=int)}
    whole |= {_whole_numbers(row) for row in rows if (row != 0).any()}
    matrix = np.array(sorted(whole), dtype=object)
    tight = np.array(list(combinations(matrix, n - 1)), dtype=object).reshape(-1, n - 1, n)
    rays = np.stack([(-1) ** j * _determinant(np.delete(tight, j, 2)) for j in range(n)], axis=1)
    rays = rays * np.sign(rays.sum(axis=1))[:, None]
    within = (rays @ matrix.T >= 0).all(axis=1) & (rays != 0).any(axis=1)
    found = {tuple(Fraction(x, sum(ray)) for x in ray) for ray in rays[within]}
    return [np.array(vertex, dtype=object) for vertex in sorted(found)]


def _unit(n: int) -> Exact:
    return exact(np.eye(n, dtype=int))


def _centred(reward: Exact) -> Exact:
    centred: Exact = reward - reward.sum() / len(reward)
    return centred


def _whole_numbers(row: Exact) -> tuple[int, ...]:
    """Return the row as whole numbers without a common divisor."""
    common = math.lcm(*(x.denominator for x in row))
    numbers = [int(x * common) for x in row]
    divisor = math.gcd(*numbers)
    return tuple(x // divisor for x in numbers)


def _determinant(matrices: Exact) -> Exact:
    """Return the determinants of matrices (…, k, k) by expansion."""
    if matrices.shape[-1] == 0:
        return np.ones(matrices.shape[:-2], dtype=object)
    terms = [
        (-1) ** j * matrices[..., 0, j] * _determinant(np.delete(matrices[..., 1:, :], j, -1))
        for j in range(matrices.shape[-1])
    ]
    total: Exact = np.sum(terms, axis=0)
    return total


def vectors(rows: Iterable[Iterable[Any]]) -> Exact:
    """Return rows of numbers or of texts such as ``"1/3"`` as Fractions."""
    return np.array([[Fraction(x) for x in row] for row in rows], dtype=object)
