"""The explicit rows of Corollary 1: half-spaces of state rewards alone, with the values eliminated.

Eliminating the values from the lifted rows of an episode (`iirl_opt.rewards.lifted_rows`) gives

    G_t r ≥ 0   with   G_t = γ D_t (I − γ P_t)^{-1},   D_t the rows P_t − P_{t,b}

one a state and action, and equations for tied actions: the printed inequalities but for the factor
γ, which repairs γ = 0, where every state reward is feasible and the printed rows are too strict.
They are dense, and as many as there are states and actions, episode for episode; a `Block` makes
those of one episode, once, and `DistinctRows` are those of a set without repetitions.

**Source** paper, Corollary 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import splu

from iirl_opt.brief import in_brief
from iirl_opt.game.factors import DENSE_STATES
from iirl_opt.game.kernel import Matrix, is_sparse

__all__ = ["Block", "DistinctRows", "equal_rows", "first_of_equals", "row_keys"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Block:
    """The rows of one episode for state rewards: lifted ones, and the explicit ones made of them.

    Parameters
    ----------
    flow : ``I − γP_t``, shape (S, S).
    free, tied : lifted rows on V_t, shapes (m, S) and (k, S): at least zero, and zero.
    at : the position s·B + b of the state and action that each row speaks of, shape (m + k,).
    """

    flow: Matrix
    free: Matrix
    tied: Matrix
    at: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.free.shape[0] + self.tied.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: factors cannot be copied, and are made again."""
        return {"flow": self.flow, "free": self.free, "tied": self.tied, "at": self.at}

    @cached_property
    def splu(self) -> Any:
        """The sparse factors of I − γP_t."""
        return splu(sp.csc_array(self.flow))

    @property
    def fill(self) -> float:
        """How much of a square matrix the factors fill, about 1 when they are dense."""
        return float(self.splu.nnz / self.flow.shape[0] ** 2)

    @cached_property
    def lifted(self) -> Matrix:
        """The lifted rows, free ones first, shape (m + k, S)."""
        return sp.vstack([self.free, self.tied], format="csr")

    @cached_property
    def _explicit(self) -> tuple[Array, Array]:
        dense = np.ascontiguousarray(self.lifted.toarray().T)
        if len(dense) <= DENSE_STATES:
            flow: Any = self.flow.toarray() if is_sparse(self.flow) else self.flow
            factors = lu_factor(flow, check_finite=False)
            rows = np.asarray(lu_solve(factors, dense, trans=1, check_finite=False)).T
        else:
            rows = self.splu.solve(dense, trans="T").T
        rows = np.ascontiguousarray(rows)
        size = np.abs(rows).max(axis=1)
        rows /= size[:, None]
        return rows, size

    @property
    def rows(self) -> Array:
        """The explicit rows, scaled to a largest entry of one, shape (m + k, S).

        **Cost** arithmetic, once an episode: a factorisation and a solve a row.
        """
        return self._explicit[0]

    @property
    def size(self) -> Array:
        """What the explicit rows of the lifted ones were divided by, shape (m + k,)."""
        return self._explicit[1]


class DistinctRows(NamedTuple):
    """The set as half-spaces ``rows @ r ≥ 0`` and equations ``ties @ r = 0`` of state rewards.

    No row is zero, none repeats another, and each is scaled to a largest entry of one.

    Attributes
    ----------
    rows : shape (m, S).
    episode, state, action : positions from 0, shape (m,): where each row comes from; the first of
        those that agree.
        The row says that `action` is not better in `state` than the response of `episode`.
    ties : shape (k, S), of actions that were played beside others.
    tie_episode, tie_state, tie_action : shape (k,).

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> found = known.distinct_rows()
    >>> found.rows.round(6).tolist(), found.state.tolist(), found.action.tolist()
    ([[-1.0, 1.0]], [0], [0])
    """

    rows: Array
    episode: NDArray[np.int64]
    state: NDArray[np.int64]
    action: NDArray[np.int64]
    ties: Array
    tie_episode: NDArray[np.int64]
    tie_state: NDArray[np.int64]
    tie_action: NDArray[np.int64]

    def __repr__(self) -> str:
        return in_brief(self)


def first_of_equals(rows: Matrix | Array, digits: int = 12) -> NDArray[np.int64]:
    """Return the places of rows that repeat no earlier one, in order."""
    return equal_rows(rows, digits)[0]


def equal_rows(
    rows: Matrix | Array, digits: int = 12
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of rows that repeat no earlier one, in order, and which of them each is."""
    _, first, of = np.unique(row_keys(rows, digits), return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[of.ravel()]


def row_keys(rows: Matrix | Array, digits: int = 12) -> NDArray[np.complex128]:
    """Return a number for each row, the same for equal ones, and almost surely only for them.

    It holds the products with two random vectors.
    """
    products = np.round(rows @ np.random.default_rng(0).random((rows.shape[1], 2)), digits)
    return np.asarray(products[:, 0] + 1j * products[:, 1])
