"""Commitments from a restricted set of stochastic policies, a state at a time.

A leader may be bound to *admissible* policies: "open the left door at least as often as the right
one", "never certain". Here the set is *rectangular*: a polytope ``Π(s) = {p : G_s p ≤ h_s}`` of
distributions in each state, chosen independently of what is played in others.

**Lemma 2 stays true.** Let the follower be optimal and have the leader's reward, and let

    V(s) = max_{p ∈ Π(s)} max_b Σ_a p(a) (r(s, a, b) + γ Σ P V).

This is the Bellman equation of an MDP whose actions in s are the pairs (p, b), so its solution is
the largest value of any admissible commitment with any answer, from every state at once, and it is
attained by one stationary choice ``(p_s, b_s)``. Committed to ``p``, the leader leaves the follower
an MDP in which the answers ``b`` have that value, and none has more; every optimal answer then has
it. Both arguments choose in one state without regard to others: sets that couple states (a budget
over time, "the same mixture in s and t") break them, and are not solved here.

The linear program is that of the occupancy measure, with one set of rows for every answer:
``G_s μ(s, ·, b) ≤ h_s Σ_a μ(s, a, b)`` says that the play of the leader is admissible when b is
answered. An optimal measure may mix answers; any that it uses is optimal, so the first with the
largest share is taken. It starts in every state with positive weight, for the reason that Lemma 2
speaks of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import MAPPING, checked
from iirl_opt.commitment.exact import DENSE
from iirl_opt.commitment.incumbent import meets, upwards
from iirl_opt.commitment.plans import Commitment
from iirl_opt.commitment.problem import CommitmentProblem, check_allowed
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.linear import solve as solve_exactly
from iirl_opt.exact.numbers import as_fractions
from iirl_opt.exact.polytope import corners, count_of_systems
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.exact import exact_kernel, exact_reward
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import as_floats
from iirl_opt.game.reward import REWARD, check_reward
from iirl_opt.occupancy.measure import OccupancyMeasure, flow_matrix
from iirl_opt.occupancy.planned import near_choices
from iirl_opt.occupancy.quantities import MeasuredPlay
from iirl_opt.occupancy.rows import ChoiceRow, StateRow, of_choices, of_states
from iirl_opt.solver import Solver, solve
from iirl_opt.solver.multipliers import by_size, multipliers_of, rows_under
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import CONSTRAINTS, Rows

__all__ = ["AdmissibleCommitment", "RestrictedRow", "Restriction"]

Array = NDArray[np.float64]

# Exact systems that are solved for the corners.
CORNERS = 5000
Restriction = tuple[ArrayLike, ArrayLike]


class RestrictedRow(NamedTuple):
    """A row of a restriction, for one answer; a tuple, and asked for as one.

    Attributes
    ----------
    name : ``"admissible"``.
    state : label.
    row : of the state's (G, h), from 0.
    follower : the answer, a label.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0]], [[0, 1]]], [[[0, 1]], [[0, 1]]]], "1/2", start=[1, 0])
    >>> half = ([[0.0, 1.0]], [0.5])  # the second action with probability ½ at most
    >>> model = AdmissibleCommitment(game, [0.0, 1.0], {"*": half})
    >>> prices = model.by_row(model.solve())
    >>> next(row for row in prices if row[0] == "admissible")
    RestrictedRow(name='admissible', state=0, row=0, follower=0)
    >>> prices["admissible", 0, 0, 0] > 0  # a tuple, and asked for as one
    True
    """

    name: str
    state: Any
    row: int
    follower: Any


@dataclass(frozen=True, eq=False)
class AdmissibleCommitment(MeasuredPlay):
    """The best commitment from a rectangular set of policies, against an optimal follower.

    What is `expected` is so of a play that starts from `weights`.

    Parameters
    ----------
    game : the game.
    reward : of both agents, shape (S,) or (S, A, B).
    restrictions : ``{state: (G, h)}`` with G of shape (m, A) and h of shape (m,); ``"*"`` stands
        for all states that are not named. States without any are unrestricted.
    allowed : mask (S, A) of the actions that may have positive probability; all by default.

    Raises
    ------
    InvalidArgument, UnknownLabel
        Rows of another shape or not finite; a state that does not exist.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0]], [[0, 1]]], [[[0, 1]], [[0, 1]]]], "1/2", start=[1, 0])
    >>> half = ([[0.0, 1.0]], [0.5])  # the second action with probability ½ at most
    >>> AdmissibleCommitment(game, [0.0, 1.0], {"*": half}).solve()
    Commitment(value 0.666666667, bound 0.666666667, EXACT among admissible, program)
    """

    game: TwoAgentMDP
    reward: Array
    restrictions: Mapping[Any, tuple[Array, Array]]
    allowed: NDArray[np.bool_]

    __repr__ = in_brief

    @checked(game=GAME, reward=REWARD, restrictions=MAPPING)
    def __init__(
        self,
        game: TwoAgentMDP,
        reward: ArrayLike,
        restrictions: Mapping[Any, Restriction],
        *,
        allowed: ArrayLike | None = None,
    ) -> None:
        for name, value in {
            "game": game,
            "reward": check_reward(game, reward),
            "restrictions": _by_state(game, restrictions),
            "allowed": check_allowed(game, allowed),
        }.items():
            object.__setattr__(self, name, value)

    @cached_property
    def measure(self) -> OccupancyMeasure:
        """The joint occupancy measure, whose ``variable`` the program is in."""
        return OccupancyMeasure(self.game)

    @property
    def weights(self) -> Array:
        """The start weights (S,) of the program: positive in every state."""
        start = self.game.start
        return np.asarray((start + 1 / start.size) / 2)

    @cached_property
    def constraints(self) -> list[cp.Constraint]:
        """The flow from `weights`, and rows labelled ``admissible[state]``, ``forbidden``."""
        mu = self.measure.variable
        rows = [(flow_matrix(self.game).T @ mu == self.weights).set_label("flow")]
        n_b, size = self.game.n_follower_actions, self.game.n_choices
        for state, (g, h) in self.restrictions.items():
            at = self.game.states.index(state) * size
            own = sp.csr_array(np.kron(g - h[:, None], np.eye(n_b)))
            left = sp.csr_array((own.shape[0], at))
            right = sp.csr_array((own.shape[0], mu.size - at - size))
            wide = sp.hstack([left, own, right], format="csr")
            rows.append((wide @ mu <= np.zeros(wide.shape[0])).set_label(f"admissible[{state}]"))
        forbidden = np.flatnonzero(~np.repeat(self.allowed, n_b))
        if forbidden.size:
            out = sp.eye_array(mu.size, format="csr")[forbidden]
            rows.append((out @ mu == np.zeros(forbidden.size)).set_label("forbidden"))
        return rows

    @property
    def _measured(self) -> tuple[TwoAgentMDP, cp.Expression]:
        return self.game, self.measure.variable

    @property
    def objective(self) -> cp.Maximize:
        """The expected discounted reward, the play starting from `weights`."""
        return cp.Maximize(self.expected(self.reward))

    def by_row(self, answer: Any) -> dict[StateRow | ChoiceRow | RestrictedRow, float]:
        """Return multipliers, or a Farkas ray, by what their rows speak of, the largest first.

        Those of the flow by (state,), as `OccupancyMeasure.by_row` does; by (state, leader,
        follower) those of choices that are not allowed; those of the restrictions by ("admissible",
        state, row of (G, h) from 0, follower).
        """
        game, given = self.game, multipliers_of(answer)
        n_b = game.n_follower_actions
        rows: dict[Any, float] = dict(of_states(game, given, "flow"))
        for state, (g, _) in self.restrictions.items():
            found = rows_under(given, f"admissible[{state}]", len(g) * n_b)
            for i, y in enumerate(() if found is None else found.tolist()):
                answered = game.follower_actions[i % n_b]
                rows[RestrictedRow("admissible", state, i // n_b, answered)] = y
        closed = np.flatnonzero(~np.repeat(self.allowed, n_b))
        if (forbidden := rows_under(given, "forbidden", closed.size)) is not None:
            rows |= of_choices(game, forbidden, closed)
        if not rows:
            held = ", ".join(given) or "nothing"
            raise InvalidArgument("answer", f"holds {held}", "rows of this model", answer)
        return by_size(rows.items())

    @checked(subject_to=CONSTRAINTS)
    def problem(self, subject_to: Rows = ()) -> cp.Problem:
        """Return the cvxpy problem, with further constraints if given.

        Of rows that couple states the optimum need be no commitment: `solve` takes none.
        """
        return cp.Problem(self.objective, [*self.constraints, *subject_to])

    @checked(solver=SOLVER)
    def solve(self, *, solver: Solver | str | None = None) -> Commitment:
        """Return the best admissible commitment.

        It is EXACT where `exactly` confirms it; elsewhere its bound is the solver's word.

        Raises
        ------
        Infeasible
            A state has no admissible distribution: its row is named by the Farkas ray.

        **Source** the module's docstring. **Cost** one LP.
        """
        # Without the rows the best joint policy is optimal from every state, so from any weights.
        basis = self.measure.basis(near_choices(self.game, self.reward))
        solved = solve(self.problem(), solver, basis=basis)
        asked = CommitmentProblem(
            self.game, self.reward, OptimalFollower("first"), allowed=self.allowed
        )
        exact = self.exactly()
        if exact is None:
            policy, bound = self._play(), float(self.game.start @ solved.duals["flow"])
        else:
            policy, bound = exact
        reply = asked.reply(policy)
        return Commitment.of(
            asked,
            policy,
            reply,
            method="program",
            bound=bound,
            proved=exact is not None and meets(asked, policy, reply, bound),
            among="admissible" if self.restrictions else "all",
            solved=solved,
        )

    def _play(self) -> Array:
        """Return the commitment (S, A) that the measure plays, now that it is solved."""
        mu = np.maximum(np.asarray(self.measure.variable.value), 0.0).reshape(self.game.shape)
        answers = mu.sum(axis=1).argmax(axis=1)
        play = mu[np.arange(len(mu)), :, answers]
        return np.asarray(play / play.sum(axis=1, keepdims=True))

    def exactly(self) -> tuple[Array, float] | None:
        """Return the best admissible commitment (S, A) and its value, by rational arithmetic.

        The Bellman equation's maximum over ``Π(s)`` is at a corner, so this is an MDP of corners
        and answers, and policy iteration ends with the optimum. The policy is rounded to floats,
        the value upwards. None for more than 40 states, or many corners.

        **Cost** arithmetic in Fractions.
        """
        game = self.game
        n_states, n_a = game.shape[:2]
        counts = [count_of_systems(n_a, len(h)) for _, h in self.restrictions.values()]
        if n_states > DENSE or sum(counts) > CORNERS:
            return None
        kernel = exact_kernel(game)
        reward = exact_reward(game, self.reward)
        points = [self._corners(s, state) for s, state in enumerate(game.states)]
        if not all(len(p) for p in points):
            return None  # nothing is admissible, up to the solver's tolerance
        choices = [(0, 0)] * n_states
        while True:
            played = [points[s][k] for s, (k, _) in enumerate(choices)]
            rows = [played[s] @ kernel[s, :, b] for s, (_, b) in enumerate(choices)]
            own = np.array([played[s] @ reward[s, :, b] for s, (_, b) in enumerate(choices)])
            system = -game.rational.discount * np.array(rows)
            system[np.diag_indices(n_states)] += 1
            values = solve_exactly(system, own)
            assert values is not None  # I − γP is regular
            better = False
            for s in range(n_states):
                ahead = reward[s] + game.rational.discount * (kernel[s] @ values)
                worth = points[s] @ ahead  # corners, answers
                k, b = np.unravel_index(int(worth.argmax()), worth.shape)
                if worth[k, b] > values[s]:
                    choices[s], better = (int(k), int(b)), True
            if not better:
                policy = np.array([[float(p) for p in row] for row in played])
                start = np.array(game.rational.start, dtype=object)
                return policy, upwards(Fraction((start * values).sum()))

    def _corners(self, s: int, state: Any) -> NDArray[Any]:
        """Return the corners (k, A) of what is admissible and allowed in a state."""
        allowed = np.flatnonzero(self.allowed[s])
        g, h = self.restrictions.get(state, (np.empty((0, self.allowed.shape[1])), np.empty(0)))
        found = corners(as_fractions(g[:, allowed]), as_fractions(h))
        out = np.full((len(found), self.allowed.shape[1]), Fraction(0), dtype=object)
        out[:, allowed] = found
        return out


def _by_state(
    game: TwoAgentMDP, restrictions: Mapping[Any, Restriction]
) -> dict[Any, tuple[Array, Array]]:
    """Return checked rows for every restricted state."""
    named = {name: rows for name, rows in restrictions.items() if name != "*"}
    for name in named:
        game.states.index(name)
    if "*" in restrictions:
        named = {name: named.get(name, restrictions["*"]) for name in game.states}
    return {name: _check_rows(game, name, rows) for name, rows in named.items()}


def _check_rows(game: TwoAgentMDP, state: Any, rows: Restriction) -> tuple[Array, Array]:
    place, n = f"admissible[{state!r}]", game.n_leader_actions
    if not isinstance(rows, tuple | list) or len(rows) != 2:
        raise InvalidArgument(place, f"is {rows!r}", "a pair (G, h)", rows)
    g, h = (as_floats(part, place, InvalidArgument) for part in rows)
    fits = g.ndim == 2 and g.shape[1] == n and h.shape == g.shape[:1]
    if not fits or not (np.isfinite(g).all() and np.isfinite(h).all()):
        raise InvalidArgument(
            place,
            f"has shapes {g.shape} and {h.shape}, or is not finite",
            f"finite G of shape (m, {n}) and h of shape (m,)",
            rows,
        )
    return g, h
