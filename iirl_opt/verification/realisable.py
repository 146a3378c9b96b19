"""Making a game an environment: the commitment that does it, or the proof that none does.

Assumption (B) of Theorem 2 asks for a leader that can induce every kernel; `satisfies_condition_b`
decides it. One given kernel needs less: in every state its rows must be a mixture of what the
leader's actions offer there, one linear program a state. Where they are not, its dual separates
them from all that is offered (Farkas), and some rows of the environment can often still be shown.

Source: paper, Theorem 2 and its proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import maximum_bipartite_matching

from iirl_opt.checks import POSITIVE, checked, is_a
from iirl_opt.errors import IIRLError, InvalidArgument
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.solver import Solver, solve
from iirl_opt.solver.records import SOLVER
from iirl_opt.verification.environment import Environment

__all__ = ["NotRealisable", "Separation", "realise", "satisfies_condition_b"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Separation:
    """Farkas' proof, state by state, that no commitment makes a game a given environment.

    In a state s, weights ``y`` on the entries (b, s') whose mean is larger under the wanted rows
    than under those of any leader action: no mixture of these can be the wanted rows then.

    Attributes
    ----------
    game : the game.
    kernel : what was wanted, (S, B, S).
    multipliers : y, shape (S, B, S), with ``Σ |y| ≤ 1`` in every state.
    """

    game: TwoAgentMDP
    kernel: Array
    multipliers: Array

    @property
    def margins(self) -> Array:
        """``y · wanted − max_a y · P(a)`` of each state, (S,): positive is a proof.

        It is also a lower bound on the distance to the wanted rows there.
        """
        n_states, n_a, n_b = self.game.shape
        offers: Any = sp.csr_array(self.game.matrix).tocoo()
        choice, successor = offers.coords
        own = self.multipliers[choice // (n_a * n_b), choice % n_b, successor]
        sums = np.bincount(choice // n_b, own * offers.data, n_states * n_a)
        offered = sums.reshape(n_states, n_a).max(axis=1)
        wanted = (self.multipliers * self.kernel).sum(axis=(1, 2))
        return np.asarray(wanted - offered)

    def check(self, tolerance: float = 1e-12) -> bool:
        """Return whether some state's margin exceeds the tolerance; arithmetic alone."""
        return bool((self.margins > tolerance).any())


@dataclass(eq=False, repr=False)
class NotRealisable(IIRLError):
    """No commitment makes the game the environment.

    Attributes
    ----------
    states : labels of the states in which the wanted rows are out of reach.
    distance : of the nearest reachable kernel: the largest difference of two probabilities.
    commitment, kernel : the commitment (S, A) that comes nearest and its kernel (S, B, S).
    proof : Farkas multipliers for each of the states.
    pinnable : how many of the environment's rows, each in a state of its own, the game can still
        show beside a uniform first action; so many half-spaces of the class remain testable.
    rows : the number of the environment's rows that are not zero.
    """

    states: tuple[Any, ...]
    distance: float
    commitment: Array = field(repr=False)
    kernel: Array = field(repr=False)
    proof: Separation = field(repr=False)
    pinnable: int
    rows: int

    def __str__(self) -> str:
        some = ", ".join(repr(s) for s in self.states[:6]) + (", …" if self.states[6:] else "")
        return (
            f"no commitment makes the game this environment: out of reach in {len(self.states)} "
            f"states ({some}), by up to {self.distance:.3g} in probability; "
            f"{self.pinnable} of {self.rows} rows can still be pinned"
        )


@checked(game=GAME, solver=SOLVER, environment=is_a(Environment))
def realise(
    game: TwoAgentMDP, environment: Environment, *, solver: Solver | str | None = None
) -> Array:
    """Return a commitment (S, A) under which the follower faces the environment.

    Where the rows differ by less than 1e-9 they count as reached; in a strict environment by less
    than ``ε / (100 N)``, a hundredth of what makes b1 strictly best, if that is smaller.

    Raises
    ------
    NotRealisable
        With a Farkas proof, the nearest reachable kernel, and what can still be tested.
    InvalidArgument
        The game has another number of states or follower actions, or another discount. Build the
        environment with ``n_actions`` = B: further actions are copies, which change nothing.

    **Source** paper, assumption (B) of Theorem 2; for one target it is a linear program in each
    state. **Cost** one LP; where it fails a second one for each state that can make b1 uniform.

    Examples
    --------
    >>> from iirl_opt.verification import ideal_environment
    >>> stay, go = [1, 0], [0, 1]
    >>> moves = [[stay, stay], [stay, go], [go, stay], [go, go]]
    >>> game = TwoAgentMDP([moves, moves], discount=0.5)
    >>> environment = ideal_environment([0, 1], 0.5)
    >>> reached = game.follower_mdp(realise(game, environment)).kernel
    >>> bool(abs(reached - environment.kernel).max() < 1e-9)
    True
    """
    n_states, _, n_b = game.shape
    if environment.mdp.shape != (n_states, n_b):
        raise InvalidArgument(
            "environment",
            f"has {environment.mdp.shape[0]} states and {environment.mdp.shape[1]} actions",
            f"{n_states} and {n_b}, as the game",
            environment.mdp.shape,
        )
    if not math.isclose(environment.discount, game.discount, rel_tol=1e-12):
        raise InvalidArgument(
            "environment", f"has discount {environment.discount}", f"{game.discount}", environment
        )
    commitment, multipliers = _nearest(game, environment.kernel, solver)
    reached = game.follower_mdp(commitment).kernel
    distances = np.abs(reached - environment.kernel).max(axis=(1, 2))
    share = np.inf if environment.epsilon is None else environment.epsilon
    far = distances > min(1e-9, share / (100 * n_states))
    if not far.any():
        return commitment
    multipliers[~far] = 0.0
    raise NotRealisable(
        states=tuple(game.states[s] for s in np.flatnonzero(far)),
        distance=float(distances.max()),
        commitment=commitment,
        kernel=reached,
        proof=Separation(game, environment.kernel, multipliers),
        pinnable=_count_pinnable(game, environment, solver),
        rows=int(environment.telling.sum()),
    )


def _nearest(game: TwoAgentMDP, kernel: Array, solver: Solver | str | None) -> tuple[Array, Array]:
    """Return the commitment (S, A) nearest to a kernel in every state, and the dual weights.

    Only entries that some action of the state reaches make rows; what none reaches bounds the
    distance from below by the wanted probability itself.
    """
    n_states, n_a, n_b = game.shape
    csr: Any = sp.csr_array(game.matrix).tocoo()
    choice, successor = csr.coords
    state, action = choice // (n_a * n_b), choice // n_b % n_a
    key = (state * n_b + choice % n_b) * n_states + successor
    reached, row = np.unique(key, return_inverse=True)
    owner = reached // (n_b * n_states)
    offered = sp.csr_array(
        (csr.data, (row, state * n_a + action)), shape=(reached.size, n_states * n_a)
    )
    missed = kernel.reshape(n_states, -1).copy()
    missed.ravel()[reached] = 0.0
    floor = missed.max(axis=1)

    weights = cp.Variable(n_states * n_a, nonneg=True, name="pi1")
    distance = cp.Variable(n_states, name="distance")
    difference = offered @ weights - kernel.ravel()[reached]
    above = (difference <= distance[owner]).set_label("above")
    below = (-difference <= distance[owner]).set_label("below")
    lost = (distance >= floor).set_label("out of reach")
    sums = sp.kron(sp.eye_array(n_states), np.ones((1, n_a)), format="csr")
    program = cp.Problem(
        cp.Minimize(cp.sum(distance)),
        [above, below, lost, (sums @ weights == 1).set_label("sum")],
    )
    solved = solve(program, solver)
    policy = np.maximum(solved.primal["pi1"].reshape(n_states, n_a), 0.0)
    policy[policy < 1e-12] = 0.0
    duals = solved.duals
    multipliers = np.zeros((n_states, n_b * n_states))
    multipliers.ravel()[reached] = duals["below"] - duals["above"]
    multipliers[np.arange(n_states), missed.argmax(axis=1)] += np.where(
        floor > 0, duals["out of reach"], 0.0
    )
    return policy / policy.sum(axis=1, keepdims=True), multipliers.reshape(kernel.shape)


def _count_pinnable(
    game: TwoAgentMDP, environment: Environment, solver: Solver | str | None
) -> int:
    """Return the largest number of the environment's rows that states of their own can show.

    A state shows row i if some mixture of its actions makes b1 uniform and ``P_b1 − P_b`` a
    positive multiple of the row for every other b.
    """
    n_states, n_a, n_b = game.shape
    rows = environment.rows[environment.telling]
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    able = np.zeros((n_states, len(rows)), dtype=bool)
    matrix: Any = sp.csr_array(game.matrix)
    for s in range(n_states):
        block = matrix[s * n_a * n_b : (s + 1) * n_a * n_b]
        first = block[::n_b]
        if np.all(np.asarray((first > 0).sum(axis=0)) > 0):
            able[s] = (
                _largest_shares(block.toarray().reshape(n_a, n_b, n_states), rows, solver) > 1e-7
            )
    matched = maximum_bipartite_matching(sp.csr_array(able), perm_type="column")
    return int((matched >= 0).sum())


def _largest_shares(offered: Array, rows: Array, solver: Solver | str | None) -> Array:
    """Return for each row the largest multiple of it that a state can show.

    The mixtures have mass at most one, so zero is always a point and the best has mass one.
    """
    n_a, n_b, n_states = offered.shape
    x = cp.Variable((len(rows), n_a), nonneg=True, name="mixture")
    share = cp.Variable(len(rows), nonneg=True, name="share")
    mass = cp.sum(x, axis=1)
    limits = [
        x @ offered[:, 0] == cp.outer(mass, np.full(n_states, 1 / n_states)),
        mass <= 1,
    ]
    limits += [x @ (offered[:, 0] - offered[:, b]) == cp.diag(share) @ rows for b in range(1, n_b)]
    solve(cp.Problem(cp.Maximize(cp.sum(share)), limits), solver)
    return np.asarray(share.value)


@checked(game=GAME, tolerance=POSITIVE)
def satisfies_condition_b(game: TwoAgentMDP, *, tolerance: float = 1e-12) -> bool:
    """Return whether some commitment makes the game any environment at all.

    That holds iff in every state and for every map m from the follower's actions to states some
    leader action sends b to m(b) for sure. So it needs at least S^B leader actions.

    Parameters
    ----------
    tolerance : probabilities from 1 − tolerance on are sure.

    **Source** paper, assumption (B) of Theorem 2; the criterion is ours: the environments of a
    state are a polytope whose corners these maps are. **Cost** arithmetic: one pass over the
    kernel and a sort of the actions of each state.

    Examples
    --------
    >>> stay, go = [1, 0], [0, 1]
    >>> moves = [[stay, stay], [stay, go], [go, stay], [go, go]]  # a leader's action a map
    >>> satisfies_condition_b(TwoAgentMDP([moves, moves], discount=0.5))
    True
    >>> satisfies_condition_b(TwoAgentMDP([moves[:3], moves[:3]], discount=0.5))
    False
    """
    n_states, n_a, n_b = game.shape
    if n_a < n_states**n_b:
        return False
    matrix: Any = sp.csr_array(game.matrix)
    target = np.asarray(matrix.argmax(axis=1)).ravel().astype(np.int64)
    largest = matrix.max(axis=1)
    largest = largest.toarray() if is_sparse(largest) else np.asarray(largest)
    sure = (largest.ravel() >= 1 - tolerance).reshape(game.shape).all(axis=2)
    place = n_states ** np.arange(n_b, dtype=np.int64)
    maps = target.reshape(game.shape) @ place
    found = np.unique(np.stack([np.nonzero(sure)[0], maps[sure]]), axis=1)
    counts = np.bincount(found[0], minlength=n_states)
    return bool((counts == n_states**n_b).all())
