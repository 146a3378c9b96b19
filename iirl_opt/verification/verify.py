"""Verifying a hypothesis from one answer in an environment made for it (Corollary 2, repaired).

The printed procedure confirms iff the feasible set is the class of the hypothesis and rejects
otherwise; that rejects true hypotheses whose ties were broken unfavourably. Here a hypothesis is

* *confirmed* in a strict environment if the answer is b1 everywhere, in an ideal one if the
  feasible set lies in the class (`iirl_opt.verification.signs`);
* *refuted* if it does not explain the answer;
* *inconclusive* otherwise, with another reward that explains the answer as well.

All of that is decided in exact numbers, from the reward that the environment was made for: what was
added to it, or its unit, changes nothing. A tolerance can keep a verdict from being *refuted*; none
is confirmed by one. `prove_inclusion` is the same question for any observations in any game, by
linear programs, so up to the solver's tolerance.

A constant true reward makes every answer optimal, so no answer excludes it; reports say so.

Sources: paper, Corollary 2; the verdicts are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate import certify
from iirl_opt.checks import POSITIVE, array_of_floats, checked, is_a, unmasked
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.numbers import Vector, as_reals
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.values import tie_tolerance
from iirl_opt.observation import Observation, observe
from iirl_opt.rewards.affine import affine_halfspaces
from iirl_opt.rewards.feasible import FEASIBLE, ZERO, FeasibleRewards, ViolatedRow
from iirl_opt.rewards.state_reward import StateReward
from iirl_opt.solver import Solver, solve
from iirl_opt.solver.records import SOLVER
from iirl_opt.verification.environments import EPS, Environment
from iirl_opt.verification.proof import certificate_of
from iirl_opt.verification.signs import Signs

__all__ = ["Inclusion", "Verdict", "VerificationReport", "prove_inclusion", "verify_affine"]

Array = NDArray[np.float64]

# A program is zero within this, half-spaces being scaled to entries of one.
PROVED = 1e-7

# A hypothesis is of the class of an environment within this share of its spread.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Inclusion:
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
    """

    halfspaces: Array
    multipliers: Array | None
    witness: Array | None
    outside: int | None
    value: float
    residual: float

    def __bool__(self) -> bool:
        return self.witness is None


@checked(feasible=FEASIBLE, solver=SOLVER, halfspaces=array_of_floats(2))
def prove_inclusion(
    feasible: FeasibleRewards, halfspaces: ArrayLike, *, solver: Solver | None = None
) -> Inclusion:
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
                return Inclusion(h, None, witness, i, value, 0.0)
            y = np.array([f.multipliers(t, solved.duals) for t, f in enumerate(faces)])
        multipliers[i] = y.reshape(multipliers[i].shape)
    combined = np.zeros_like(h)
    for t, face in enumerate(faces):
        combined += multipliers[:, t].reshape(len(h), face.size.size) @ face.explicit
    residual = float(np.abs(combined - h).max(initial=0.0))
    return Inclusion(h, multipliers, None, None, 0.0, residual)


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
    for t, face in enumerate(faces):
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


class Verdict(Enum):
    """What an answer says of a hypothesis; the value of each member is advice."""

    CONFIRMED = (
        "The true reward is a positive affine image of the hypothesis, within the stated angle "
        "and under the stated assumptions."
    )
    REFUTED = "The hypothesis does not explain the response: see the violation."
    INCONCLUSIVE = (
        "The hypothesis explains the response, and so do others: see the witness. Ask for all "
        "optimal actions, or use a strict environment, which needs no tie rule."
    )

    @property
    def advice(self) -> str:
        """What the verdict means and what to do next."""
        return self.value


@dataclass(frozen=True, eq=False)
class VerificationReport:
    """The verdict on a hypothesis, and all that it rests on.

    Attributes
    ----------
    verdict : confirmed, refuted or inconclusive.
    exact : the hypothesis, in exact numbers.
    environment : what the follower faced.
    observation : its response there.
    evidence : in one sentence.
    assumptions : sentences; the verdict holds if all are true.
    tan_bound : of a confirmed hypothesis the tangent of the angle between it and the truth; None
        otherwise.
    multipliers, halfspaces : of a confirmed hypothesis in an ideal environment the proof that the
        feasible set is the class, as in `Inclusion`: of the answer b1 everywhere where that is
        among the answers, else of the response.
    witness : of an inconclusive verdict another reward that explains the response.
    violation : of a refuted one the action that contradicts the hypothesis.
    allowed : worse play up to this refuted nothing, in values of the hypothesis.
    """

    verdict: Verdict
    exact: StateReward
    environment: Environment
    observation: Observation
    evidence: str
    assumptions: tuple[str, ...]
    tan_bound: float | None = None
    multipliers: Array | None = None
    halfspaces: Array | None = None
    witness: Array | None = None
    violation: ViolatedRow | None = None
    allowed: Fraction = Fraction(0)

    @property
    def hypothesis(self) -> Array:
        """The hypothesis, shape (S,)."""
        return self.exact.floats

    def judged_again(self) -> VerificationReport:
        """Return the report that follows from environment, hypothesis, answer and tolerance alone.

        **Cost** as of `verify_affine`.
        """
        case = _Case(self.exact, self.environment, self.observation, self.allowed)
        case.check()
        return case.judge()

    @property
    def angle(self) -> float | None:
        """The proved angle in radians, 0 for exact; None where nothing is proved."""
        return None if self.tan_bound is None else math.atan(self.tan_bound)

    def __str__(self) -> str:
        angle = "" if self.angle is None else f" within {self.angle:.3g} rad"
        lines = [f"{self.verdict.name.lower()}{angle}: {self.evidence}"]
        return "\n".join(lines + [f"  assuming {text}" for text in self.assumptions])


certify.register(VerificationReport, certificate_of)


@checked(hypothesis=unmasked(InvalidReward), tolerance=POSITIVE, environment=is_a(Environment))
def verify_affine(
    hypothesis: ArrayLike,
    environment: Environment,
    response: ArrayLike,
    *,
    tolerance: float | None = None,
) -> VerificationReport:
    """Judge whether the follower's reward is a positive affine image of the hypothesis.

    Parameters
    ----------
    hypothesis : shape (S,), of the class that the environment was made for.
    response : of the follower in the environment: a policy (S, B), deterministic or mixed, or the
        whole set of optimal actions as a boolean mask (S, B).
    tolerance : in values of the hypothesis; worse play up to this refutes nothing, and leaves the
        verdict inconclusive. By default `tie_tolerance` of the centred reward.

    Raises
    ------
    InvalidReward, InvalidArgument
        The hypothesis is of another class than the environment's reward.
    InvalidPolicy, InvalidObservation

    **Source** paper, Corollary 2, repaired: it rejects only what does not explain the response.
    **Cost** arithmetic with some S² Fractions.
    """
    r = StateReward.of(hypothesis, "hypothesis")
    game = environment.game
    observation = observe(game, np.ones((game.n_states, 1)), response)
    gamma = environment.discount
    if tolerance is None:
        allowed = Fraction(tie_tolerance(r.unit, gamma)) * r.spread
    else:
        allowed = Fraction(tolerance)
    case = _Case(r, environment, observation, allowed)
    case.check()
    return case.judge()


@dataclass(frozen=True, eq=False)
class _Case:
    """A response on trial.

    Attributes
    ----------
    hypothesis : as it was given; judged is the environment's own reward, of which it is an image.
    environment, observation : what the follower faced, and its answer.
    allowed : worse play up to this refutes nothing, in values of the hypothesis.
    """

    hypothesis: StateReward
    environment: Environment
    observation: Observation
    allowed: Fraction

    def check(self) -> None:
        """Refuse a hypothesis of another class, and what is no environment for it."""
        r, own = self.hypothesis, self.environment.exact
        fits = r.size == own.size and r.is_constant == own.is_constant
        if not fits or not (r.is_constant or r.is_image(own, SAME)):
            raise InvalidArgument(
                "hypothesis", "is of another class", "a positive affine image of its reward", r
            )
        alike = self.environment.mdp.rational.rows
        n, n_actions = self.environment.mdp.shape
        first = alike.take(np.arange(n) * n_actions).dense()
        if (first != first[0]).any() or (self.environment.exact_gaps < 0).any():
            raise InvalidArgument(
                "environment",
                "is none for its reward",
                "a first action that leads everywhere alike and is nowhere worse",
                self.environment,
            )

    @cached_property
    def gaps(self) -> Vector:
        """By how much each action is worse than b1, in values of the hypothesis, (S, B)."""
        own = self.environment.exact.spread
        unit = self.hypothesis.spread / own if own else Fraction(1)
        return np.asarray(self.environment.exact_gaps * unit)

    @property
    def off(self) -> float:
        """The tangent of the angle between the hypothesis and the environment's reward."""
        if self.hypothesis.is_constant:
            return 0.0
        tan2 = self.hypothesis.tan2_to(self.environment.exact)
        return math.nextafter(math.sqrt(tan2), math.inf) if tan2 else 0.0

    def judge(self) -> VerificationReport:
        """Return the verdict, from exact numbers alone."""
        played = self.observation.played
        worse = self.gaps * played
        s, b = np.unravel_index(int(np.argmax(worse)), worse.shape)
        if worse[s, b] > self.allowed:
            how = f"{float(as_reals(worse[s, b])):.3g} worse than the best under the hypothesis"
            return self.refuted(self._violation(int(s), int(b)), how)
        if worse[s, b] > 0:
            return self.report(
                Verdict.INCONCLUSIVE,
                f"in state {self.environment.mdp.states[s]!r} an action was played that the "
                f"hypothesis calls worse, by {float(as_reals(worse[s, b])):.3g}, which is within "
                f"the tolerance of {float(as_reals(self.allowed)):.3g}",
            )
        if self.environment.kind == "strict":
            return self.report(
                Verdict.CONFIRMED,
                "the response is b1 everywhere",
                tan_bound=_sum_of_angles(self.environment.tan_bound, self.off),
            )
        missing = np.argwhere((self.gaps == 0) & ~played)
        if self.observation.whole and len(missing):
            mdp, (s, b) = self.environment.mdp, missing[0]
            left_out = ViolatedRow(0, mdp.states[s], mdp.actions[b], 0.0)
            return self.refuted(left_out, "optimal under the hypothesis but not in the set")
        return self.judge_ideal(Signs(self.environment, self.observation))

    def judge_ideal(self, shown: Signs) -> VerificationReport:
        """Return the verdict on an answer that the hypothesis explains."""
        halfspaces = affine_halfspaces(self.environment.exact.numbers)
        if shown.only_class:
            rows = [row for row in self.environment.exact_rows if row.any()]
            proofs = zip(shown.proofs(), rows, strict=True)
            multipliers = [as_reals(y / max(map(abs, row))) for y, row in proofs]
            return self.report(
                Verdict.CONFIRMED,
                "the feasible set is exactly the class of the hypothesis",
                tan_bound=self.off,
                multipliers=np.array(multipliers).reshape(-1, 1, *self.observation.pi2.shape),
                halfspaces=halfspaces,
            )
        return self.report(
            Verdict.INCONCLUSIVE,
            "a reward of another class explains the response too: ties were broken unfavourably",
            witness=as_reals(shown.other_reward()),
            halfspaces=halfspaces,
        )

    def _violation(self, s: int, b: int) -> ViolatedRow:
        """Return an action by which the hypothesis gains on what was played: (s, b) was worse."""
        game, unit = self.environment.game, self.environment.exact.unit
        wrong = FeasibleRewards(game).add(self.observation).violations(unit)
        if wrong:
            size = self.hypothesis.spread or Fraction(1)
            return wrong[0]._replace(slack=float(as_reals(Fraction(wrong[0].slack) * size)))
        mdp, gap = self.environment.mdp, float(as_reals(self.gaps[s, b]))
        return ViolatedRow(0, mdp.states[s], mdp.actions[b], gap)

    @property
    def assumptions(self) -> tuple[str, ...]:
        lines = [f"the follower faced this environment, with discount {self.environment.discount}"]
        if self.environment.kind == "strict":
            gap = min(self.gaps[self.environment.telling, -1], default=Fraction(0))
            lines.append(
                f"the follower errs by less than {float(as_reals(gap)):.3g} in values, in the unit "
                "of the hypothesis; no tie rule is needed"
            )
        elif self.observation.whole:
            lines.append("the response holds exactly the optimal actions of the follower")
        else:
            lines.append("the response is optimal for the follower; no tie rule is needed")
        if self.hypothesis.size > 1 and not self.hypothesis.is_constant:
            lines.append(
                "the true reward is not constant: every response is optimal for a constant"
            )
        return tuple(lines)

    def report(self, verdict: Verdict, evidence: str, **facts: Any) -> VerificationReport:
        return VerificationReport(
            verdict,
            self.hypothesis,
            self.environment,
            self.observation,
            evidence,
            self.assumptions,
            allowed=self.allowed,
            **facts,
        )

    def refuted(self, violation: ViolatedRow, how: str) -> VerificationReport:
        where = f"in state {violation.state!r} action {violation.action!r}"
        return self.report(Verdict.REFUTED, f"{where}: {how}", violation=violation)


def _sum_of_angles(one: float, two: float) -> float:
    """Return the tangent of the sum of two angles, rounded up; infinite from a right angle on."""
    if two == 0:
        return one
    return (one + two) / (1 - one * two) * (1 + 4 * EPS) if one * two < 1 else math.inf
