"""Verifying a hypothesis from one answer in an environment made for it (Corollary 2, repaired).

The printed procedure confirms iff the feasible set is the class of the hypothesis and rejects
otherwise; that rejects true hypotheses whose ties were broken unfavourably. Here a hypothesis is

* *confirmed* in a strict environment if the answer is b1 everywhere, in an ideal one if the
  feasible set lies in the class (`iirl_opt.verification.ideal`);
* *refuted* if it does not explain the answer;
* *inconclusive* otherwise, with another reward that explains the answer as well.

All of that is decided in exact numbers, from the reward that the environment was made for: what was
added to it, or its unit, changes nothing. A tolerance can keep a verdict from being *refuted*; none
is confirmed by one. A report holds what was given, and the verdict follows from it, once: so no
report says something else than its answer shows. `prove_inclusion` is the same question for any
observations in any game, by linear programs, so up to the solver's tolerance.

A constant true reward makes every answer optimal, so no answer excludes it; reports say so.

Sources: paper, Corollary 2; the verdicts are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import shortly, with_advice
from iirl_opt.certificate import certify
from iirl_opt.checks import POSITIVE, checked, is_a, unmasked
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.numbers import Vector, as_reals
from iirl_opt.game.reward import tie_tolerance
from iirl_opt.observation import Observation, observe
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.rewards.affine import affine_halfspaces
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.rewards.slack import ViolatedRow
from iirl_opt.rewards.state_reward import StateReward
from iirl_opt.verification.environment import Environment
from iirl_opt.verification.ideal import Signs
from iirl_opt.verification.proof import certificate_of

__all__ = ["Verdict", "VerificationReport", "verify_affine"]

Array = NDArray[np.float64]

# A hypothesis is of the class of an environment within this share of its spread.
SAME = 1e-9


class Verdict(Enum):
    """What an answer says of a hypothesis; the value of each member is advice.

    Examples
    --------
    >>> [verdict.name for verdict in Verdict]
    ['CONFIRMED', 'REFUTED', 'INCONCLUSIVE']
    >>> Verdict.REFUTED.advice
    'The hypothesis does not explain the response: see the violation.'
    """

    __repr__ = with_advice

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


class _Judgement(NamedTuple):
    """What an answer shows; the signs where they decided it."""

    verdict: Verdict
    evidence: str
    violation: ViolatedRow | None = None
    signs: Signs | None = None


@dataclass(frozen=True, eq=False)
class VerificationReport(Tabular):
    """The verdict on a hypothesis, and all that it rests on.

    The fields are what was given. All else follows from them when the report is made, so that a
    report with another answer has another verdict, and none can be written into it.

    Attributes
    ----------
    exact : the hypothesis, in exact numbers.
    environment : what the follower faced.
    observation : its response there.
    allowed : worse play up to this refutes nothing, in values of the hypothesis.

    Raises
    ------
    InvalidArgument
        The hypothesis is of another class than the environment's reward, or this is no environment
        for its reward.

    Examples
    --------
    >>> from iirl_opt.verification import strict_environment
    >>> environment = strict_environment([0, 1, 2], 0.9, epsilon="1/100")
    >>> report = verify_affine([0, 1, 2], environment, [[1, 0]] * 3)
    >>> report.verdict.name, round(report.angle, 3)
    ('CONFIRMED', 0.01)
    """

    exact: StateReward
    environment: Environment
    observation: Observation
    allowed: Fraction = Fraction(0)
    _judged: _Judgement = field(init=False, repr=False)

    def __repr__(self) -> str:
        angle = "" if self.angle is None else f" within {self.angle:.3g} rad"
        hypothesis = shortly(self.hypothesis)
        return (
            f"VerificationReport({self.verdict.name}{angle}, hypothesis {hypothesis}, "
            f"{self.environment.kind} environment)"
        )

    def table(self) -> FactTable:
        """Return one row: the verdict, the angle proved in radians, evidence and assumptions."""
        facts = {
            "verdict": self.verdict,
            "angle": self.angle,
            "evidence": self.evidence,
            "hypothesis": shortly(self.hypothesis),
            "environment": self.environment.kind,
            "discount": str(self.environment.discount),
            "assuming": "; ".join(self.assumptions),
        }
        return FactTable([facts], "VerificationReport")

    def __post_init__(self) -> None:
        self._refuse_others()
        object.__setattr__(self, "_judged", self._judge())

    @property
    def verdict(self) -> Verdict:
        """Confirmed, refuted or inconclusive."""
        return self._judged.verdict

    @property
    def evidence(self) -> str:
        """What the verdict rests on, in one sentence."""
        return self._judged.evidence

    @property
    def violation(self) -> ViolatedRow | None:
        """Of a refuted hypothesis the action that contradicts it."""
        return self._judged.violation

    @property
    def hypothesis(self) -> Array:
        """The hypothesis, shape (S,)."""
        return self.exact.floats

    @cached_property
    def tan_bound(self) -> float | None:
        """Of a confirmed hypothesis the tangent of the angle between it and the truth, or None."""
        if self.verdict is not Verdict.CONFIRMED:
            return None
        own = self.environment.exact
        tan2 = Fraction(0) if own.is_constant else self.exact.tan2_to(own)
        off = math.nextafter(math.sqrt(tan2), math.inf) if tan2 else 0.0
        return _sum_of_angles(self.environment.tan_bound, off)

    @property
    def angle(self) -> float | None:
        """The proved angle in radians, 0 for exact; None where nothing is proved."""
        return None if self.tan_bound is None else math.atan(self.tan_bound)

    @cached_property
    def exact_witness(self) -> Vector | None:
        """Of an inconclusive verdict another reward that explains the response, Fractions (S,).

        None where the verdict rests on the tolerance.
        """
        signs = self._judged.signs
        if self.verdict is not Verdict.INCONCLUSIVE or signs is None:
            return None
        return signs.other_reward()

    @property
    def witness(self) -> Array | None:
        """`exact_witness` in floats."""
        return None if self.exact_witness is None else as_reals(self.exact_witness)

    @cached_property
    def halfspaces(self) -> Array | None:
        """Where the signs decided, the half-spaces of the class, (H, S) (`affine_halfspaces`)."""
        if self._judged.signs is None:
            return None
        return affine_halfspaces(self.environment.exact.numbers)

    @cached_property
    def multipliers(self) -> Array | None:
        """The proof that a confirmed hypothesis's class is the feasible set, (H, 1, S, B), or None.

        Of each half-space the multipliers of the response's gaps, as in `prove_inclusion`.
        """
        signs = self._judged.signs
        if self.verdict is not Verdict.CONFIRMED or signs is None:
            return None
        rows = [row for row in self.environment.exact_rows if row.any()]
        proofs = zip(signs.proofs(), rows, strict=True)
        multipliers = [as_reals(y / max(map(abs, row))) for y, row in proofs]
        return np.array(multipliers).reshape(-1, 1, *self.observation.pi2.shape)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Sentences; the verdict holds if all are true."""
        lines = [f"the follower faced this environment, with discount {self.environment.discount}"]
        if self.environment.kind == "strict":
            gap = min(self._gaps[self.environment.telling, -1], default=Fraction(0))
            lines.append(
                f"the follower errs by less than {float(as_reals(gap)):.3g} in values, in the unit "
                "of the hypothesis; no tie rule is needed"
            )
        elif self.observation.whole:
            lines.append("the response holds exactly the optimal actions of the follower")
        else:
            lines.append("the response is optimal for the follower; no tie rule is needed")
        if self.exact.size > 1 and not self.exact.is_constant:
            lines.append(
                "the true reward is not constant: every response is optimal for a constant"
            )
        return tuple(lines)

    def __str__(self) -> str:
        angle = "" if self.angle is None else f" within {self.angle:.3g} rad"
        lines = [f"{self.verdict.name.lower()}{angle}: {self.evidence}"]
        return "\n".join(lines + [f"  assuming {text}" for text in self.assumptions])

    def _refuse_others(self) -> None:
        """Refuse a hypothesis of another class, and what is no environment for it."""
        r, own = self.exact, self.environment.exact
        if r.size != own.size:
            allowed = f"({own.size},), a number for each state of the environment"
            raise InvalidReward("hypothesis", f"has shape ({r.size},)", allowed, (r.size,))
        wanted = "a positive affine image of environment.reward"
        if r.is_constant != own.is_constant:
            problem = "is constant, and the environment was made for a reward that is not"
            if own.is_constant:
                problem = "is not constant, and the environment was made for a reward that is"
            raise InvalidArgument("hypothesis", problem, wanted, r)
        if not r.is_constant and not r.is_image(own, SAME):
            problem = "is of another class than the reward that the environment was made for"
            raise InvalidArgument("hypothesis", problem, wanted, r)
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
    def _gaps(self) -> Vector:
        """By how much each action is worse than b1, in values of the hypothesis, (S, B)."""
        own = self.environment.exact.spread
        unit = self.exact.spread / own if own else Fraction(1)
        return np.asarray(self.environment.exact_gaps * unit)

    def _judge(self) -> _Judgement:
        """Return the verdict, from exact numbers alone."""
        played, mdp = self.observation.played, self.environment.mdp
        worse = self._gaps * played
        s, b = np.unravel_index(int(np.argmax(worse)), worse.shape)
        by = float(as_reals(worse[s, b]))
        if worse[s, b] > self.allowed:
            how = f"{by:.3g} worse than the best under the hypothesis"
            return _refuted(self._violation(int(s), int(b)), how)
        if worse[s, b] > 0:
            return _Judgement(
                Verdict.INCONCLUSIVE,
                f"in state {mdp.states[s]!r} an action was played that the hypothesis calls worse, "
                f"by {by:.3g}, which is within the tolerance of "
                f"{float(as_reals(self.allowed)):.3g}",
            )
        if self.environment.kind == "strict":
            return _Judgement(Verdict.CONFIRMED, "the response is b1 everywhere")
        missing = np.argwhere((self._gaps == 0) & ~played)
        if self.observation.whole and len(missing):
            s, b = missing[0]
            left_out = ViolatedRow(1, mdp.states[s], mdp.actions[b], 0.0)
            return _refuted(left_out, "optimal under the hypothesis but not in the set")
        signs = Signs(self.environment, self.observation)
        if signs.only_class:
            evidence = "the feasible set is exactly the class of the hypothesis"
            return _Judgement(Verdict.CONFIRMED, evidence, signs=signs)
        evidence = (
            "a reward of another class explains the response too: ties were broken unfavourably"
        )
        return _Judgement(Verdict.INCONCLUSIVE, evidence, signs=signs)

    def _violation(self, s: int, b: int) -> ViolatedRow:
        """Return an action by which the hypothesis gains on what was played: (s, b) was worse."""
        game, unit = self.environment.game, self.environment.exact.unit
        wrong = FeasibleRewards(game).add(self.observation).violations(unit)
        if wrong:
            size = self.exact.spread or Fraction(1)
            return wrong[0]._replace(slack=float(as_reals(Fraction(wrong[0].slack) * size)))
        mdp, gap = self.environment.mdp, float(as_reals(self._gaps[s, b]))
        return ViolatedRow(1, mdp.states[s], mdp.actions[b], gap)


def _refuted(violation: ViolatedRow, how: str) -> _Judgement:
    where = f"in state {violation.state!r} action {violation.action!r}"
    return _Judgement(Verdict.REFUTED, f"{where}: {how}", violation)


def _sum_of_angles(one: float, two: float) -> float:
    """Return the tangent of the sum of two angles, rounded up; infinite from a right angle on."""
    if one == 0 or two == 0:
        return one or two
    room = 1 + 4 * float(np.finfo(float).eps)
    return (one + two) / (1 - one * two) * room if one * two < 1 else math.inf


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

    Examples
    --------
    >>> from iirl_opt.verification import strict_environment
    >>> environment = strict_environment([0, 1, 2], 0.9)
    >>> verify_affine([0, 1, 2], environment, [[1, 0]] * 3).verdict.name
    'CONFIRMED'
    >>> verify_affine([0, 1, 2], environment, [[0, 1]] * 3).verdict.name
    'REFUTED'
    """
    r = StateReward.of(hypothesis, "hypothesis")
    game = environment.game
    observation = observe(game, np.ones((game.n_states, 1)), response)
    gamma = environment.discount
    if tolerance is None:
        allowed = Fraction(tie_tolerance(r.unit, gamma)) * r.spread
    else:
        allowed = Fraction(tolerance)
    return VerificationReport(r, environment, observation, allowed)
