"""Do all feasible rewards lie in these half-spaces? Asked of any observations, by linear programs.

For one half-space h the least ``h · r`` over the rewards of a box that explain the observations is
zero or negative. Negative, its reward is a witness; at zero the duals combine the rows of
Corollary 1 to h (Farkas), up to the solver's tolerance. What decides in exact numbers is a
certificate (`iirl_opt.rewards.inclusion_proof`), and of an ideal environment the signs of its
answer (`iirl_opt.verification.ideal`).

Sources: paper, Corollary 1; Farkas' lemma.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import array_of_floats, checked
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import Observation
from iirl_opt.printing.records import Tabular
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.rewards.lifted_rows import ZERO
from iirl_opt.solver import Solver, solve
from iirl_opt.solver.records import SOLVER

__all__ = ["HalfspaceInclusion", "prove_inclusion"]

Array = NDArray[np.float64]

# A program is zero within this, half-spaces being scaled to entries of one.
PROVED = 1e-7


@dataclass(frozen=True, eq=False)
class HalfspaceInclusion(Tabular):
    """Whether every feasible reward x has ``h · x ≥ 0`` for all half-spaces h; true if proved.

    Attributes
    ----------
    halfspaces : h, shape (H, S), each scaled to a largest entry of one.
    multipliers : y, shape (H, T, S, B), or None where a witness was found. With A_t the rows
        ``γ (P_t − P_{t,b})`` in the order (s, b), ``h = Σ_t (I − γ P_t)^{−T} A_tᵀ y_t``, and y ≥ 0
        but at actions known to be optimal, whose rows are equations.
    witness : a feasible reward in [−1, 1] outside a half-space, or None.
    outside : the position of that half-space.
    value : ``h · witness``, or 0.
    residual : the largest error of the equation above.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> found = prove_inclusion(known, [[-1, 1], [1, -1]])
    >>> bool(found), found.outside, found.witness.round(6).tolist()
    (False, 1, [-1.0, 1.0])
    """

    halfspaces: Array
    multipliers: Array | None
    witness: Array | None
    outside: int | None
    value: float
    residual: float

    __repr__ = in_brief

    def __bool__(self) -> bool:
        return self.witness is None


@checked(feasible=FEASIBLE, solver=SOLVER, halfspaces=array_of_floats(2))
def prove_inclusion(
    feasible: FeasibleRewards, halfspaces: ArrayLike, *, solver: Solver | str | None = None
) -> HalfspaceInclusion:
    """Prove that all feasible state rewards lie in half-spaces, or find one that does not.

    For each half-space ``min h · r`` over the lifted rows and ``−1 ≤ r ≤ 1``, which is feasible and
    bounded. A negative optimum is a witness, and the search stops; at zero the duals are the proof.
    A half-space that is itself one of the rows needs no program.

    Parameters
    ----------
    halfspaces : shape (H, S), none of them zero.

    Raises
    ------
    InvalidArgument

    **Source** Farkas' lemma. **Cost** at most one LP a half-space, compiled once; the rows in dense
    form, one linear system an episode.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> bool(prove_inclusion(known, [[-1, 1]]))  # state 1 pays as much, or more
    True
    """
    n_states = feasible.game.n_states
    h = np.asarray(halfspaces, dtype=float)
    if h.ndim != 2 or h.shape[1] != n_states or not np.isfinite(h).all():
        raise InvalidArgument("halfspaces", f"have shape {h.shape}", f"finite (H, {n_states})", h)
    sizes = np.abs(h).max(axis=1, keepdims=True)
    if not sizes.all():
        raise InvalidArgument("halfspaces", "hold a zero row", "rows that are not zero", h)
    h = h / sizes
    faces = [_Faces.of(feasible.game, o) for o in feasible.observations]
    multipliers = np.zeros((len(h), len(faces), n_states, feasible.game.n_follower_actions))
    program, objective, r = _box_program(faces, n_states)
    for i, row in enumerate(h):
        y = _as_one_row(faces, row)
        if y is None:
            objective.value = row
            solved = solve(program, solver)
            assert solved.value is not None
            if solved.value < -PROVED:
                witness, value = np.asarray(r.value), float(row @ r.value)
                return HalfspaceInclusion(h, None, witness, i, value, 0.0)
            y = np.array([f.multipliers(t, solved.duals) for t, f in enumerate(faces, start=1)])
        multipliers[i] = y.reshape(multipliers[i].shape)
    combined = np.zeros_like(h)
    for t, face in enumerate(faces):
        combined += multipliers[:, t].reshape(len(h), face.size.size) @ face.explicit
    residual = float(np.abs(combined - h).max(initial=0.0))
    return HalfspaceInclusion(h, multipliers, None, None, 0.0, residual)


@dataclass(frozen=True, eq=False)
class _Faces:
    """The rows ``γ (P_t − P_{t,b}) V ≥ 0`` of one episode in the order (s, b), tied ones ``= 0``.

    Attributes
    ----------
    flow : ``I − γ P_t``.
    rows : unscaled, (S·B, S).
    size : the largest entry of each row; zero for a row that says nothing.
    tied : which rows are equations.
    """

    flow: Any
    rows: Any
    size: Array
    tied: NDArray[np.bool_]

    @classmethod
    def of(cls, game: TwoAgentMDP, observation: Observation) -> _Faces:
        mdp = game.follower_mdp(observation.pi1)
        chain = sp.csr_array(mdp.chain(observation.pi2))
        state = np.repeat(np.arange(game.n_states), mdp.n_actions)
        rows: Any = sp.csr_array(chain[state] - sp.csr_array(mdp.matrix))
        rows.data[np.abs(rows.data) < ZERO] = 0.0
        rows.eliminate_zeros()
        rows = rows * game.discount
        size = abs(rows).max(axis=1)
        size = (size.toarray() if is_sparse(size) else np.asarray(size)).ravel()
        flow = sp.eye_array(game.n_states, format="csr") - game.discount * chain
        return cls(flow, rows, size, observation.played.ravel())

    @cached_property
    def explicit(self) -> Array:
        """The rows over rewards, ``rows (I − γ P_t)⁻¹``, dense."""
        return np.asarray(np.linalg.solve(self.flow.toarray().T, self.rows.toarray().T).T)

    def parts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions of rows that are inequalities, and equations."""
        told = self.size > 0
        return np.flatnonzero(told & ~self.tied), np.flatnonzero(told & self.tied)

    def scaled(self, which: NDArray[np.int64]) -> Any:
        return sp.diags_array(1 / self.size[which], format="csr") @ self.rows[which]

    def multipliers(self, t: int, duals: Any) -> Array:
        """Return y of the unscaled rows from the duals of the scaled ones."""
        y = np.zeros(self.size.size)
        free, tied = self.parts()
        if free.size:
            y[free] = np.maximum(duals[f"optimal[{t}]"], 0.0) / self.size[free]
        if tied.size:
            y[tied] = -duals[f"tied[{t}]"] / self.size[tied]
        return y


def _box_program(
    faces: list[_Faces], n_states: int
) -> tuple[cp.Problem, cp.Parameter, cp.Variable]:
    """Return ``min h · r`` over the rows and the box, its objective a parameter."""
    r, h = cp.Variable(n_states, name="r"), cp.Parameter(n_states)
    limits = [(r >= -1).set_label("box below"), (r <= 1).set_label("box above")]
    for t, face in enumerate(faces, start=1):
        v = cp.Variable(n_states, name=f"V[{t}]")
        limits.append((face.flow @ v == r).set_label(f"values[{t}]"))
        free, tied = face.parts()
        if free.size:
            limits.append((face.scaled(free) @ v >= 0).set_label(f"optimal[{t}]"))
        if tied.size:
            limits.append((face.scaled(tied) @ v == 0).set_label(f"tied[{t}]"))
    return cp.Problem(cp.Minimize(h @ r), limits), h, r


def _as_one_row(faces: list[_Faces], h: Array) -> Array | None:
    """Return multipliers (T, S·B) that make h of a single row, if it is a multiple of one."""
    for t, face in enumerate(faces):
        free, tied = face.parts()
        told = np.concatenate([free, tied])
        rows = face.explicit[told]
        factor = rows @ h / np.maximum((rows * rows).sum(axis=1), 1e-300)
        error = np.abs(factor[:, None] * rows - h).max(axis=1, initial=0.0)
        error[: free.size][factor[: free.size] <= 0] = np.inf
        if told.size and error.min() <= 1e-12:
            y = np.zeros((len(faces), face.size.size))
            y[t, told[error.argmin()]] = factor[error.argmin()]
            return y
    return None
