"""Occupancy measures: discounted state–action frequencies as cvxpy variables.

The measure of a joint policy is ``μ(s, a, b) = Σ_t γ^t Pr(s_t = s, a_t = a, b_t = b)`` from the
start distribution; it is nonnegative, sums to 1/(1−γ), and is exactly what the *flow* constraints
allow:

    Σ_{a,b} μ(s', a, b) − γ Σ_{s,a,b} P(s' | s, a, b) μ(s, a, b) = start(s')   for every s'.

On the graph of the game this is conservation of flow with losses. Every linear quantity of a policy
(its value, a risk, the use of a resource) is linear in μ, so side constraints are rows. They
speak of what *both* agents do: with a budget the optimum may be a correlated joint policy, which no
pair of policies plays, and Lemma 2 (the joint optimum as a commitment) says nothing of a
constraint that the follower does not share.

The multipliers of the flow constraints are the values of the visited states; the price of a side
constraint is the gain of the objective for one more unit of its allowance.

**Source** Puterman 1994, section 6.9; Altman 1999 for constrained MDPs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import Equality, Zero
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate import Certificate, certify
from iirl_opt.checks import FINITE, POSITIVE, TEXT, checked
from iirl_opt.errors import Infeasible, InvalidArgument, InvalidPolicy
from iirl_opt.game.kernel import Matrix
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import POLICY, deterministic_policy, split
from iirl_opt.game.problem import policy_weights
from iirl_opt.game.reward import check_reward
from iirl_opt.occupancy.basis import Basis, near_one
from iirl_opt.occupancy.planned import FILLED, basic_choices, near_choices, planned
from iirl_opt.occupancy.proof import Side, infeasibility, optimality
from iirl_opt.solver import Solved, Solver, Status, linear_rows, solve
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import CONSTRAINTS, EXPRESSION
from iirl_opt.solver.stated import stated

__all__ = ["OccupancyMeasure", "OccupancySolution", "budget"]

Array = NDArray[np.float64]

# States whose measure is below this share of the whole count as never visited.
VISITED = 1e-9

# A choice that leaves its state by less than this is given the digits that subtraction took.
STAYS = 1e-3


@checked(expected=EXPRESSION, limit=FINITE, name=TEXT)
def budget(expected: cp.Expression, limit: float, *, name: str) -> cp.Constraint:
    """Return the constraint that an expected quantity of the joint measure is at most `limit`.

    It is shared: both agents respect it. Its price is found under `name`.
    """
    return (expected <= limit).set_label(name)


def _read_side(
    constraints: Sequence[cp.Constraint], measure: cp.Variable, multipliers: Mapping[str, Array]
) -> Side:
    """Return constraints on a measure as rows, with the multipliers that follow the flow's."""
    parts = [linear_rows([c], measure) for c in constraints]
    names = list(multipliers)[-len(parts) :] if parts else []
    prices, equal_prices = [np.zeros(0)], [np.zeros(0)]
    for part, name in zip(parts, names, strict=True):
        side = equal_prices if len(part.equal) else prices
        side.append(np.ravel(multipliers[name], order="F"))
    empty = np.zeros((0, measure.size))
    return Side(
        rows=np.concatenate([empty, *(part.rows for part in parts)]),
        bounds=np.concatenate([np.zeros(0), *(part.bounds for part in parts)]),
        equal=np.concatenate([empty, *(part.equal for part in parts)]),
        right=np.concatenate([np.zeros(0), *(part.right for part in parts)]),
        prices=np.concatenate(prices),
        equal_prices=np.concatenate(equal_prices),
    )


@dataclass(frozen=True, eq=False)
class OccupancySolution:
    """An optimal occupancy measure, its policy and its prices.

    Attributes
    ----------
    game : the game.
    measure : shape (S, A, B), nonnegative (clipped at zero), sums to 1/(1−γ).
    value : the optimal objective. With a discount near one measure, value and prices of visited
        states are those of the choices in the game's exact numbers, not in its floats.
    reward : what was maximised, shape (S·A·B,).
    state_prices : shape (S,), the gain for one more unit of start at each visited state: its
        optimal value where no side constraint binds. In a state that is never visited the
        multiplier is not unique, and only bounds that gain from above.
    price : by constraint name, the gain of the objective for one more unit of the allowance.
    solved : the solver's record with recomputed residuals; planning's, where no solver was asked.
    side : the side constraints as rows, with their multipliers.
    """

    game: TwoAgentMDP
    measure: Array
    value: float
    state_prices: Array
    reward: Array
    price: Mapping[str, float | Array]
    solved: Solved
    side: Side

    @property
    def visited(self) -> NDArray[np.bool_]:
        """Which states the measure reaches, shape (S,)."""
        mass = self.measure.sum(axis=(1, 2))
        # The measure of a state that play leaves for ever is no share of 1/(1 − γ).
        reached: NDArray[np.bool_] = mass > VISITED * min(float(mass.sum()), 1e3)
        return reached

    @property
    def joint_policy(self) -> Array:
        """The policy (S, A, B) that has this measure; uniform in states that are never visited."""
        mass = self.measure.sum(axis=(1, 2), keepdims=True)
        uniform = np.full_like(self.measure, 1.0 / self.game.n_choices)
        seen = self.visited[:, None, None]
        return np.where(seen, self.measure / np.where(seen, mass, 1.0), uniform)

    @checked(tolerance=POSITIVE)
    def split(self, *, tolerance: float = 1e-7) -> tuple[Array, Array]:
        """Return (pi1, pi2) whose product is the joint policy.

        Raises
        ------
        NotAProduct
            The policy is correlated: names the state and the correlation.
        """
        return split(self.joint_policy, tolerance=tolerance, states=self.game.states)


@certify.register
def _of_measure(found: OccupancySolution) -> Certificate:
    """Prove what any policy within the constraints earns at most, and the found one at least.

    Of the policy as it is; with side constraints of one that is moved by rounding, so that it meets
    them exactly, where there is one.
    """
    side = found.side if np.size(found.side.rows) + np.size(found.side.equal) else None
    return optimality(found.game, found.reward.reshape(found.game.shape), found.joint_policy, side)


@checked(game=GAME)
@dataclass(frozen=True, eq=False)
class OccupancyMeasure:
    """The occupancy measures of all joint policies of a game.

    Attributes
    ----------
    game : the game.
    variable : cvxpy variable of shape (S·A·B,), nonnegative, row order ``(s·A + a)·B + b``.
    flow : the flow constraints, labelled ``flow``.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5, start=[1, 0])
    >>> best = iirl.OccupancyMeasure(game).maximise([0.0, 1.0])
    >>> round(best.value, 9), best.state_prices.round(9)
    (1.0, array([1., 2.]))
    """

    game: TwoAgentMDP

    @cached_property
    def variable(self) -> cp.Variable:
        """The measure, shape (S·A·B,)."""
        return cp.Variable(self.game.matrix.shape[0], nonneg=True, name="occupancy")

    @cached_property
    def flow(self) -> cp.Constraint:
        """Conservation of flow at every state."""
        return (flow_matrix(self.game).T @ self.variable == self.game.start).set_label("flow")

    @property
    def constraints(self) -> list[cp.Constraint]:
        """What makes the variable an occupancy measure (beside its sign)."""
        return [self.flow]

    def expected(self, quantity: ArrayLike) -> cp.Expression:
        """Return the expected discounted sum of a quantity (S,) or (S, A, B) as an expression."""
        return self._row(quantity) @ self.variable

    def hold_leader(self, pi1: ArrayLike) -> list[cp.Constraint]:
        """Return constraints under which the leader plays `pi1` of shape (S, A), label ``leader``.

        ``μ(s, a, b) = π1(a | s) Σ_a' μ(s, a', b)``: what is left is the follower's own problem.
        """
        game = self.game
        policy = game.check_leader_policy(pi1)
        n_states, n_a, n_b = game.shape
        shares: Matrix = sp.block_diag(
            [np.outer(row, np.ones(n_a)) for row in policy], format="csr"
        )
        keep = sp.eye_array(n_states * n_a, format="csr") - shares
        rows: Matrix = sp.kron(keep, sp.eye_array(n_b), format="csr")
        return [(rows @ self.variable == 0).set_label("leader")]

    @checked(solver=SOLVER, subject_to=CONSTRAINTS)
    def maximise(
        self,
        reward: ArrayLike,
        *,
        subject_to: Sequence[cp.Constraint] = (),
        solver: Solver | None = None,
    ) -> OccupancySolution:
        """Return the measure that maximises the expected discounted reward.

        Parameters
        ----------
        reward : shape (S,) or (S, A, B).
        subject_to : further constraints on the measure, labelled for their prices.

        Raises
        ------
        Infeasible
            No joint policy meets the side constraints; its certificate proves it.

        **Cost** one LP, begun at the policy that planning finds without the side constraints; with
        none of these and no solver named, planning alone beyond 2,000 states.
        """
        try:
            solved = self._solved(reward, subject_to, solver)
        except Infeasible as nothing:
            if nothing.solved.farkas is not None:
                nothing.certificate = self._infeasibility(subject_to, nothing.solved.farkas)
            raise
        assert solved.value is not None
        found = OccupancySolution(
            game=self.game,
            measure=np.maximum(self.variable.value, 0.0).reshape(self.game.shape),
            value=solved.value,
            state_prices=np.array(solved.duals["flow"]),
            reward=self._row(reward),
            side=_read_side(subject_to, self.variable, solved.duals),
            price={
                name: dual if dual.ndim else float(dual)
                for name, dual in solved.duals.items()
                if name != "flow"
            },
            solved=solved,
        )
        return _sharpened(found) if near_one(self.game) else found

    @checked(subject_to=CONSTRAINTS)
    def problem(self, reward: ArrayLike, *, subject_to: Sequence[cp.Constraint] = ()) -> cp.Problem:
        """Return the cvxpy problem that `maximise` solves, unsolved."""
        return cp.Problem(cp.Maximize(self.expected(reward)), [*self.constraints, *subject_to])

    @checked(policy=POLICY)
    def basis(self, policy: ArrayLike | tuple[ArrayLike, ArrayLike]) -> dict[str, ArrayLike]:
        """Return the basis that is a policy: for `LiveProgram.start_from`, or ``solve(basis=)``.

        Parameters
        ----------
        policy : choices ``a·B + b`` (S,), a pair ``(pi1, pi2)`` or a joint policy (S, A, B): its
            most likely choice in each state is basic.

        Raises
        ------
        InvalidPolicy

        Examples
        --------
        >>> import iirl_opt as iirl
        >>> game, reward = iirl.random_game(30, 2, 2, rng=0)
        >>> measure = OccupancyMeasure(game)
        >>> live = iirl.solver.LiveProgram.of(measure.problem(reward))
        >>> live.start_from(measure.basis(iirl.policy_iteration(game, reward).actions))
        >>> live.solve().iterations
        0
        """
        game = self.game
        if isinstance(policy, tuple) or np.ndim(policy) != 1:
            choices = policy_weights(game, policy).argmax(axis=1)
        else:
            choices = np.asarray(policy)
            known = choices.dtype.kind in "iu" and choices.shape == (game.n_states,)
            if not known or choices.min() < 0 or choices.max() >= game.n_choices:
                allowed = f"{game.n_states} choices 0 … {game.n_choices - 1}, or a policy"
                raise InvalidPolicy("policy", f"is {policy!r}", allowed, policy)
        return {"occupancy": basic_choices(game, choices), "flow": False}

    def _solved(
        self, reward: ArrayLike, subject_to: Sequence[cp.Constraint], solver: Solver | None
    ) -> Solved:
        """Return the record of the program, by planning where that is the whole answer."""
        problem = self.problem(reward, subject_to=subject_to)
        if solver is None and not subject_to and self.game.n_states > FILLED:
            began = time.perf_counter()
            best = planned(self.game, self._row(reward))
            found = stated(
                problem,
                {"occupancy": best.measure},
                {"flow": best.values},
                found_by="policy iteration",
                iterations=best.iterations,
                seconds=time.perf_counter() - began,
                bound=best.bound,
                note="no solver was asked: `bound` is proved by the Bellman residual of the values",
            )
            if found.status is Status.OPTIMAL:
                return found
        equations = sum(c.size for c in subject_to if isinstance(c, Equality | Zero))
        if equations > self.game.n_states:
            # What they leave (a held leader's program, say) is far from the best joint policy.
            return solve(problem, solver)
        return solve(problem, solver, basis=self.basis(near_choices(self.game, reward)))

    def _infeasibility(
        self, subject_to: Sequence[cp.Constraint], farkas: Mapping[str, Array]
    ) -> Certificate | None:
        """Return the Farkas ray as a certificate, or None where it proves nothing."""
        side = _read_side(subject_to, self.variable, farkas)
        try:
            return infeasibility(self.game, side, farkas["flow"])
        except InvalidArgument:
            return None

    def _row(self, quantity: ArrayLike) -> Array:
        q = check_reward(self.game, quantity)
        return np.repeat(q, self.game.n_choices) if q.ndim == 1 else q.ravel()


def _sharpened(found: OccupancySolution) -> OccupancySolution:
    """Return a solution with the digits that a discount near one takes from floats.

    Without a side constraint that binds, choices that the solver's tolerance left are improved
    until no other one is better. Prices of side constraints stay as they are.
    """
    game, side = found.game, found.side
    prices = np.asarray(side.prices)
    binding = np.abs(prices) > VISITED * np.abs(prices).max(initial=0.0)
    rows = np.concatenate([np.asarray(side.rows)[binding], side.equal])
    right = np.concatenate([np.asarray(side.bounds)[binding], side.right])
    play = found.measure
    if not right.size:
        chosen = play.reshape(game.n_states, -1).argmax(axis=1)
        best = policy_iteration(game, found.reward.reshape(game.shape), initial=chosen)
        kept = best.optimal[np.arange(game.n_states), chosen]
        play = deterministic_policy(np.where(kept, chosen, best.actions), game.n_choices)
    basis = Basis.of(game, play.ravel(), rows, right)
    exact = basis.solution(found.reward)
    if exact is None or exact[0].min(initial=0.0) < 0:
        return found
    measure, values, _, value = exact
    whole = np.zeros(found.measure.size)
    whole[basis.choices] = measure
    state_prices = found.state_prices.copy()
    state_prices[basis.states] = values
    return replace(found, measure=whole.reshape(game.shape), value=value, state_prices=state_prices)


def flow_matrix(game: TwoAgentMDP) -> Matrix:
    """Return ``E − γP``, (S·A·B, S): each choice leaves its state and enters the next ones.

    What stays is ``1 − γp`` of the exact numbers, rounded once: with both near one it is all that
    keeps the measure finite.
    """
    n_rows = game.matrix.shape[0]
    own = np.repeat(np.arange(game.n_states), game.n_choices)
    leave = sp.csr_array((np.ones(n_rows), (np.arange(n_rows), own)), shape=game.matrix.shape)
    flow = sp.csr_array(leave - game.discount * sp.csr_array(game.matrix))
    stay = np.flatnonzero(np.abs(flow[np.arange(n_rows), own]) < STAYS)
    exact = game.exact_rows(stay)
    for k, row in enumerate(stay.tolist()):
        state = int(own[row])
        flow[row, state] = float(1 - game.exact_discount * exact.row(k)[state])
    return flow
