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
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import Equality, Inequality, NonNeg, NonPos, Zero
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.certificate import Certificate, Infeasibility
from iirl_opt.checks import POSITIVE, array_of_floats, checked
from iirl_opt.errors import Infeasible, InvalidArgument, InvalidPolicy
from iirl_opt.game.kernel import Matrix
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import POLICY
from iirl_opt.game.problem import policy_weights
from iirl_opt.occupancy.basis import near_one
from iirl_opt.occupancy.planned import FILLED, basic_choices, near_choices, planned
from iirl_opt.occupancy.proof import Side, infeasibility
from iirl_opt.occupancy.quantities import MeasuredPlay, Quantity, composed, flat
from iirl_opt.occupancy.rows import ChoiceRow, StateRow, of_choices, of_states
from iirl_opt.occupancy.solution import OccupancySolution, sharpened
from iirl_opt.solver import Solved, Solver, Status, linear_rows, solve
from iirl_opt.solver.multipliers import by_size, multipliers_of
from iirl_opt.solver.names import speaks_of
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import CONSTRAINTS, Rows, check_values
from iirl_opt.solver.stated import stated

__all__ = ["OccupancyMeasure", "flow_matrix"]

Array = NDArray[np.float64]

# A choice that leaves its state by less than this is given the digits that subtraction took.
STAYS = 1e-3

# The kinds of rows that a linear program has.
LINEAR = (Equality, Inequality, NonNeg, NonPos, Zero)


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


@checked(game=GAME)
@dataclass(frozen=True, eq=False)
class OccupancyMeasure(MeasuredPlay):
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

    __repr__ = in_brief

    @cached_property
    def variable(self) -> cp.Variable:
        """The measure, shape (S·A·B,)."""
        return cp.Variable(self.game.matrix.shape[0], nonneg=True, name="occupancy")

    @cached_property
    def flow(self) -> cp.Constraint:
        """Conservation of flow at every state."""
        rows = flow_matrix(self.game).T @ self.variable == self.game.start
        states = self.game.states
        return speaks_of(
            rows.set_label("flow"), lambda index: f"s={states[index[0] if index else 0]!r}"
        )

    @property
    def constraints(self) -> list[cp.Constraint]:
        """What makes the variable an occupancy measure (beside its sign)."""
        return [self.flow]

    @property
    def _measured(self) -> tuple[TwoAgentMDP, cp.Expression]:
        return self.game, self.variable

    @checked(measure=array_of_floats(1, 3), tolerance=POSITIVE)
    def contains(self, measure: ArrayLike, *, tolerance: float = 1e-9) -> bool:
        """Return whether (S, A, B), or (S·A·B,), is the measure of a joint policy; they are closed.

        Nothing is below −`tolerance` of the whole, 1/(1−γ), and at each state the flow is
        conserved within `tolerance` of what flows there.

        **Cost** arithmetic.
        """
        mu = np.asarray(measure)
        shapes = (self.game.shape, (self.variable.size,))
        if mu.shape not in shapes:
            allowed = " or ".join(map(str, shapes))
            raise InvalidArgument("measure", f"has shape {mu.shape}", allowed, mu.shape)
        mu, flow = mu.ravel(), flow_matrix(self.game).T
        off = np.abs(flow @ mu - self.game.start)
        local = abs(flow) @ np.abs(mu) + self.game.start
        least = -tolerance / (1 - self.game.discount)
        return bool(mu.min() >= least and (off <= tolerance * local).all())

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
        subject_to: Rows = (),
        solver: Solver | str | None = None,
    ) -> OccupancySolution:
        """Return the measure that maximises the expected discounted reward.

        Parameters
        ----------
        reward : shape (S,) or (S, A, B), in numbers; of a parameter make a `problem`.
        subject_to : further linear constraints on the measure, or lists of them, labelled for their
            prices.

        Raises
        ------
        InvalidReward, InvalidArgument
            No reward of the game; what is no row on this measure, or a parameter without a value:
            names it.
        Infeasible
            No joint policy meets the side constraints; its certificate proves it.

        **Cost** one LP, begun at the policy that planning finds without the side constraints; with
        none of these and no solver named, planning alone beyond 2,000 states.
        """
        row = flat(self.game, reward, "reward")
        self._check_rows(subject_to)
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
            reward=row,
            side=_read_side(subject_to, self.variable, solved.duals),
            price={
                name: dual if dual.ndim else float(dual)
                for name, dual in solved.duals.items()
                if name != "flow"
            },
            solved=solved,
        )
        return sharpened(found) if near_one(self.game) else found

    @checked(subject_to=CONSTRAINTS)
    def problem(self, reward: Quantity, *, subject_to: Rows = ()) -> cp.Problem:
        """Return the cvxpy problem that `maximise` solves, unsolved.

        Parameters
        ----------
        reward : as one quantity of `expected`, so a `cvxpy.Parameter`, too.
        subject_to : further constraints, or lists of them; on variables of your own as well.
        """
        goal = cp.Maximize(self.expected(composed(self.game, reward)))
        return cp.Problem(goal, [*self.constraints, *subject_to])

    def by_row(self, answer: Any) -> dict[StateRow | ChoiceRow, float]:
        """Return multipliers, or a Farkas ray, by what their rows speak of, the largest first.

        By (state,) those of the flow: the gain of the objective (maximised; the fall of one that is
        minimised) for one more unit of start there. By (state, leader, follower) those of the
        choices' bounds ``μ ≥ 0``: what a unit of the choice costs; of an `OccupancySolution`, and
        of the error of `maximise`, which hold all the rows that these follow from.

        Parameters
        ----------
        answer : a `Solved`, or a record or an error that holds one, of a program with these
            `constraints`; or multipliers by constraint.

        Raises
        ------
        InvalidArgument
            It holds no multipliers and no ray, or not those of this measure.

        **Cost** arithmetic.

        Examples
        --------
        >>> import iirl_opt as iirl
        >>> stay, go = [1, 0], [0, 1]
        >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5, start=[1, 0])
        >>> measure = iirl.OccupancyMeasure(game)
        >>> rows = measure.by_row(measure.maximise([0.0, 1.0]))
        >>> round(rows[1,], 9), round(rows[0, 0, 0], 9)  # the second state; to stay in the first
        (2.0, 0.5)
        """
        given = multipliers_of(answer)
        bounds: Array | None = None
        if isinstance(answer, OccupancySolution):
            if answer.measure.shape != self.game.shape:
                found = f"has a measure of shape {answer.measure.shape}"
                raise InvalidArgument("answer", found, f"{self.game.shape}", answer)
            given, side = {"flow": answer.state_prices}, answer.side
            bounds = flow_matrix(self.game) @ answer.state_prices - answer.reward
            bounds = bounds + np.transpose(side.rows) @ np.asarray(side.prices)
            bounds = bounds + np.transpose(side.equal) @ np.asarray(side.equal_prices)
        elif isinstance(proof := getattr(answer, "certificate", None), Infeasibility):
            bounds = proof.combined().astype(float)
        if "flow" not in given:
            found = ", ".join(given) or "nothing"
            raise InvalidArgument("answer", f"holds {found}", "rows of this measure", answer)
        rows: list[tuple[StateRow | ChoiceRow, float]] = [*of_states(self.game, given, "flow")]
        if bounds is not None:
            rows += of_choices(self.game, bounds)
        return by_size(rows)

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

    def _check_rows(self, subject_to: Rows) -> None:
        """Refuse rows that say anything else than what is linear in this measure, by name."""
        for i, row in enumerate(subject_to):
            assert isinstance(row, cp.Constraint)
            place = f"subject_to[{i}]" + (f" ({row.label})" if row.label else "")
            check_values(row.parameters(), place)
            for variable in row.variables():
                if variable.id != self.variable.id:
                    found = f"holds the variable {variable.name()}"
                    if variable.name() == self.variable.name():
                        found += " of another measure"
                    raise InvalidArgument(place, found, "rows on this measure alone", row)
            if not (isinstance(row, LINEAR) and all(side.is_affine() for side in row.args)):
                allowed = "linear rows; others in a `problem` of your own"
                raise InvalidArgument(place, "is not linear", allowed, row)

    def _solved(self, reward: ArrayLike, subject_to: Rows, solver: Solver | str | None) -> Solved:
        """Return the record of the program, by planning where that is the whole answer."""
        problem = self.problem(reward, subject_to=subject_to)
        if solver is None and not subject_to and self.game.n_states > FILLED:
            began = time.perf_counter()
            best = planned(self.game, flat(self.game, reward, "reward"))
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
        clash = self.variable.name() in (getattr(c, "label", None) for c in subject_to)
        if equations > self.game.n_states or clash:
            # What they leave (a held leader's program, say) is far from the best joint policy; or
            # a basis could not tell a row from the variable by its name.
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
