"""Peers that several groups need, and the games that they are compared on."""

from __future__ import annotations

from typing import Any, NamedTuple

import highspy
import numpy as np
import scipy.sparse as sp

import iirl_opt as iirl

__all__ = [
    "Bare",
    "Linear",
    "bare",
    "explicit_rows",
    "maze",
    "paper200",
    "sparse",
    "value_iteration",
]

Array = np.ndarray

# What all linear programs are solved to: the library's own default.
TOLERANCE = 1e-9


def maze() -> tuple[iirl.TwoAgentMDP, Array]:
    """Return Maze-Maker: 392 states, 6×4 actions."""
    game, reward = iirl.maze_maker()
    return game, reward


def paper200() -> tuple[iirl.TwoAgentMDP, Array]:
    """Return the paper's random game: 200 states, 4×4 actions, seed 0."""
    return iirl.random_game(200, 4, 4, rng=0)


def sparse(n: int, discount: Any = "9/10") -> tuple[iirl.TwoAgentMDP, Array]:
    """Return a random game of n states, 4×4 actions and five successors a row, seed 0."""
    return iirl.random_game(n, 4, 4, rng=0, successors=5, discount=discount)


def value_iteration(matrix: Any, reward: Array, gamma: float, tolerance: float) -> Array:
    """Return optimal values by vectorised value iteration with the span stop (Puterman 6.6).

    Parameters
    ----------
    matrix : (S·n, S) in the order of rows s·n + choice; `reward` is (S,) or (S, n).
    """
    n = matrix.shape[1]
    reward = reward.reshape(n, -1)
    values = np.zeros(n)
    while True:
        new = (reward + gamma * (matrix @ values).reshape(n, -1)).max(axis=1)
        change = new - values
        if np.ptp(change) * gamma / (1 - gamma) <= 2 * tolerance:
            return np.asarray(new + gamma / (1 - gamma) * (change.max() + change.min()) / 2)
        values = new


class Linear(NamedTuple):
    """Minimise ``cost x`` over ``row_lower ≤ matrix x ≤ row_upper``, ``lower ≤ x ≤ upper``."""

    cost: Array
    matrix: Any
    row_lower: Array
    row_upper: Array
    lower: Array
    upper: Array


class Bare(NamedTuple):
    """What HiGHS found: its object, the objective, the simplex iterations."""

    highs: highspy.Highs
    value: float
    iterations: float


def bare(program: Linear, basis: highspy.HighsBasis | None = None, **options: Any) -> Bare:
    """Solve a linear program by highspy alone, to our tolerance, from a basis if given."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for side in ("primal", "dual"):
        highs.setOptionValue(f"{side}_feasibility_tolerance", TOLERANCE)
    for name, value in options.items():
        highs.setOptionValue(name, value)
    model = highspy.HighsLp()
    matrix = sp.csc_array(program.matrix)
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_, model.col_lower_, model.col_upper_ = program.cost, program.lower, program.upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data
    highs.passModel(model)
    if basis is not None:
        highs.setBasis(basis)
    highs.run()
    info = highs.getInfo()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(f"HiGHS says {highs.getModelStatus()}")
    return Bare(highs, info.objective_function_value, float(info.simplex_iteration_count))


def explicit_rows(feasible: iirl.FeasibleRewards) -> Array:
    """Return Corollary 1 as printed, with (I − γP)^-1 in every row; zero and double rows out."""
    game, rows = feasible.game, []
    for observation in feasible.observations:
        mdp = game.follower_mdp(observation.pi1)
        chain = mdp.chain(observation.pi2).toarray()
        inverse = np.linalg.inv(np.eye(game.n_states) - game.discount * chain)
        each = mdp.kernel.transpose(1, 0, 2)
        printed = ((chain[None] - each) @ inverse).reshape(-1, game.n_states)
        rows.append(printed[np.abs(printed).max(axis=1) > 1e-12])
    return np.unique(np.round(np.concatenate(rows), 12), axis=0)
