"""Verifying a hypothesis by the answers of a soft-optimal partner, in any game.

An optimal partner needs an environment made for the hypothesis. A soft-optimal one says so much
that one answer can do in the game as it is (`iirl_opt.verification.identifiable`): given the
discount, the kernel and probabilities that are right within a band. A hypothesis is

* *refuted* if its own answers differ from those seen by more than the band; or if those of *no*
  reward of the game agree with them, which more answers than one are the test of: then the partner
  has another discount, faces another kernel, or is not soft-optimal;
* *confirmed* if they agree and the commitments identify the reward: then the truth is the
  hypothesis plus a constant (λ known) or an affine image (λ unknown), within an angle; a constant,
  which has none, by uniform play without a band alone;
* *inconclusive* otherwise, with another reward that has the very same answers.

A refutation is proved: where no reward explains the answers, or no temperature, up to some hundred
equations, and beyond that left open. By duality: for y with ``y · A = 0`` in exact numbers, A the
equations on what is free, any solution within a band η of ``A x = b`` has ``|y · b| ≤ η Σ |y|``.

Sources: Cao, Cohen & Szpruch 2021 for what is identified; the verdicts are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import shortly
from iirl_opt.certificate.instance import Instance
from iirl_opt.certificate.reward_rank import equations
from iirl_opt.checks import POSITIVE, checked, unmasked
from iirl_opt.errors import InvalidArgument, InvalidReward, NotExact
from iirl_opt.exact.linear import solve_near
from iirl_opt.exact.numbers import Vector, as_fractions, as_reals
from iirl_opt.follower.soft import soft_optimum
from iirl_opt.game.policy import rational_policy
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.rewards.slack import ViolatedRow
from iirl_opt.rewards.soft import SOFT_REWARDS, SoftRewards
from iirl_opt.rewards.soft_fit import SoftFit
from iirl_opt.rewards.state_reward import StateReward
from iirl_opt.verification.identifiable import Identifiability, identifiability
from iirl_opt.verification.verdict import Verdict

__all__ = ["SoftReport", "verify_soft_optimal"]

Array = NDArray[np.float64]

UNIT = float(np.finfo(float).eps) / 2

# Proofs by duality solve exact systems of at most so many numbers: some ten seconds.
MOST = 30_000


@dataclass(frozen=True, eq=False)
class SoftReport(Tabular):
    """The verdict on a hypothesis by soft-optimal answers; `verify_soft_optimal` makes it.

    Attributes
    ----------
    verdict, evidence : confirmed, refuted or inconclusive, and what that rests on.
    hypothesis : shape (S,).
    temperature : λ with which it was tried: the known one, or the one that fits it best.
    gap : by how much the hypothesis's answers differ from those seen, at most, in nats.
    band : what that was held against.
    angle : of a confirmed hypothesis that varies, a bound on its angle to the truth, in radians.
    violation : of a refuted one the worst choice, its ``slack`` in nats; None where no reward
        explains the answers.
    witness : of an inconclusive one another reward with the same answers, (S,), where there is one.
    identifiability : what the commitments tell, with the rank's certificate; None if refuted.
    assumptions : sentences; the verdict holds if all are true.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(4, 2, 2, rng=0)
    >>> partner, pi1 = iirl.follower.SoftOptimalFollower(0.5), [[1, 0]] * 4
    >>> known = iirl.rewards.SoftRewards(game).observe(pi1, partner.respond(game, truth, pi1))
    >>> report = verify_soft_optimal(3 * truth + 1, known)
    >>> report.verdict.name, bool(report.angle < 1e-6), round(report.temperature, 6)
    ('CONFIRMED', True, 1.5)
    """

    verdict: Verdict
    evidence: str
    hypothesis: Array
    temperature: float | None
    gap: float
    band: float
    angle: float | None
    violation: ViolatedRow | None
    witness: Array | None
    identifiability: Identifiability | None
    assumptions: tuple[str, ...]

    def __repr__(self) -> str:
        angle = "" if self.angle is None else f" within {self.angle:.3g} rad"
        hypothesis = shortly(self.hypothesis)
        return (
            f"SoftReport({self.verdict.name}{angle}, hypothesis {hypothesis}, gap {self.gap:.3g})"
        )

    def __str__(self) -> str:
        angle = "" if self.angle is None else f" within {self.angle:.3g} rad"
        lines = [f"{self.verdict.name.lower()}{angle}: {self.evidence}"]
        return "\n".join(lines + [f"  assuming {text}" for text in self.assumptions])

    def table(self) -> FactTable:
        """Return one row: the verdict, the gap in nats, the angle in radians, the assumptions."""
        facts = {
            "verdict": self.verdict,
            "gap": self.gap,
            "band": self.band,
            "angle": self.angle,
            "temperature": self.temperature,
            "evidence": self.evidence,
            "hypothesis": shortly(self.hypothesis),
            "assuming": "; ".join(self.assumptions),
        }
        return FactTable([facts], "SoftReport")


@checked(hypothesis=unmasked(InvalidReward), known=SOFT_REWARDS, tolerance=POSITIVE)
def verify_soft_optimal(
    hypothesis: ArrayLike, known: SoftRewards, *, tolerance: float = 1e-9
) -> SoftReport:
    """Decide whether a hypothesis is the reward of a soft-optimal partner, from its answers.

    With a known temperature the question is whether it is the reward up to a constant; with an
    unknown one whether it is a positive affine image of it.

    Parameters
    ----------
    hypothesis : shape (S,).
    known : the answers, with the temperature and the band, if they are known.
    tolerance : > 0, how far off the logarithms of the probabilities may be where no wider band is
        declared, in nats.

    Raises
    ------
    InvalidReward, InvalidArgument
        Another shape; nothing was seen.

    **Source** the module's docstring. **Cost** a fit, a rank, and soft planning for every answer;
    where refuted by duality, an exact linear system with T·S·B unknowns.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(4, 2, 2, rng=0)
    >>> partner, pi1 = iirl.follower.SoftOptimalFollower(0.5), [[1, 0]] * 4
    >>> known = iirl.rewards.SoftRewards(game, temperature=0.5)
    >>> known = known.observe(pi1, partner.respond(game, truth, pi1))
    >>> verify_soft_optimal(truth - 4, known).verdict.name
    'CONFIRMED'
    >>> verify_soft_optimal(2 * truth, known).violation
    ViolatedRow(episode=1, state=1, action=1, slack=1.24...)
    """
    exact = StateReward.of(hypothesis, "hypothesis")
    if exact.size != known.game.n_states:
        allowed = f"({known.game.n_states},)"
        raise InvalidReward("hypothesis", f"has shape ({exact.size},)", allowed, (exact.size,))
    if not known.answers:
        raise InvalidArgument("known", "holds no answer", "one at least: `observe`", known)
    return _Case(exact, known, tolerance).report()


class _Case:
    """A hypothesis and the answers that it is held against."""

    def __init__(self, exact: StateReward, known: SoftRewards, tolerance: float) -> None:
        self.band, self.declared = max(known.band, tolerance), known.band > 0
        self.exact, self.known = exact, replace(known, band=self.band)
        self.reward = exact.floats
        self.heat = known.temperature or known.best_temperature(self.reward)
        self.off, self.doubt = math.inf, 0.0
        self.worst: ViolatedRow | None = None
        if self.heat is not None:
            self._compare(self.heat)

    def _compare(self, heat: float) -> None:
        """Find the largest difference of logarithms, and how far off it may be."""
        game, self.off = self.known.game, -math.inf
        for t, answer in enumerate(self.known.answers, start=1):
            own = soft_optimum(game, self.reward, answer.pi1, heat)
            off = own.log_response - answer.log_pi2
            off = np.where(answer.rare, np.maximum(off, 0.0), np.abs(off))
            rounding = 16 * UNIT * (1 + np.abs(own.log_response).max())
            self.doubt = max(self.doubt, 2 * float(own.error.max()) / heat + float(rounding))
            if off.max() > self.off:
                s, b = np.unravel_index(int(off.argmax()), off.shape)
                labels = game.states[int(s)], game.follower_actions[int(b)]
                self.off = float(off.max())
                self.worst = ViolatedRow(t, *labels, self.off)

    def report(self) -> SoftReport:
        """Return the verdict."""
        least = self._least_band()
        if least is not None and least > self.band:
            return self._made(
                Verdict.REFUTED,
                f"no reward of this game and discount explains the answers: some logarithm is off "
                f"by {least:.3g} at least. The partner has another discount, faces another kernel, "
                "or is not soft-optimal",
            )
        if self.off <= self.band + self.doubt:
            return self._agreed()
        told = self.known.temperature is not None or self.exact.is_constant
        if told or self._no_temperature():
            by = f"by {self.off:.3g} nats" if math.isfinite(self.off) else "at every temperature"
            evidence = f"the hypothesis's soft-optimal answers differ from those seen, {by}"
            return self._made(Verdict.REFUTED, evidence, violation=self.worst)
        evidence = f"at the best temperature found its answers are {self.off:.3g} nats off"
        return self._made(Verdict.INCONCLUSIVE, evidence)

    def _agreed(self) -> SoftReport:
        """Return the verdict on a hypothesis that explains the answers."""
        commitments = [x.pi1 for x in self.known.answers]
        found = identifiability(self.known.game, commitments)
        if not found.identified:
            evidence = (
                f"it explains the answers, and so does a space of {found.left} dimensions of "
                "rewards: see the witness"
            )
            return self._made(Verdict.INCONCLUSIVE, evidence, self._other(found), found=found)
        fit = replace(self.known, temperature=None).fit()
        if fit.unknown:  # floats do not tell what the rank proves to be told
            rare = any(x.rare.any() for x in self.known.answers)
            why = "too many actions are rare" if rare else "kernels differ too little for floats"
            evidence = f"it explains the answers; {why} to tell the reward"
            return self._made(Verdict.INCONCLUSIVE, evidence, found=found)
        if self.exact.is_constant and not self._is_uniform:
            evidence = "it explains the answers, and within the band so does a reward that varies"
            return self._made(Verdict.INCONCLUSIVE, evidence, found=found)
        angle = self._angle(fit)
        if angle is None:
            evidence = "it explains the answers, and within the band so does a reward far from it"
            return self._made(Verdict.INCONCLUSIVE, evidence, found=found)
        which = "its images do" if self.known.temperature is None else "it and a constant does"
        evidence = f"it explains the answers, and only {which}: the rank is full"
        bound = None if self.exact.is_constant else angle
        return self._made(Verdict.CONFIRMED, evidence, found=found, angle=bound)

    @property
    def _is_uniform(self) -> bool:
        """Whether the play seen is uniform but for rounding, and no band says otherwise."""
        rounding = 16 * UNIT * (1 + math.log(self.known.game.n_follower_actions))
        return self.off <= rounding and not self.declared

    def _angle(self, fit: SoftFit) -> float | None:
        """Return a bound on the angle of hypothesis and truth, centred; None if below none.

        The fit is in the unit of the temperature, and what is compared has size one: no sizes of
        rewards overflow or underflow.
        """
        if self.exact.is_constant:
            return 0.0
        assert self.heat is not None
        own = self.exact.unit * float(as_reals(self.exact.spread / Fraction(self.heat)))
        size = float(np.abs(own).max())
        far = float(np.linalg.norm((np.abs(fit.reward - own) + fit.error) / size))
        share = far / float(np.linalg.norm(own / size))
        return math.asin(share) if share < 1 else None

    def _other(self, found: Identifiability) -> Array:
        """Return another reward with the same answers, of the size of the hypothesis."""
        for direction in found.directions:
            z = as_reals(direction)
            if np.ptp(z) > 1e-9 * np.abs(z).max():
                return np.asarray(self.reward + z * (max(np.ptp(self.reward), 1.0) / np.ptp(z)))
        raise AssertionError("the constants are but one dimension")

    def _least_band(self) -> float | None:
        """Return a proved lower bound on the band within which any reward explains the answers."""
        fit = self.known.fit()
        if not fit.redundant or fit.residual <= self.band or self._is_large:
            return None
        _, logs, system, rows = self._system()
        whole = as_fractions(system) / rows[:, None]
        y = _dual(whole, _residual(as_reals(whole), logs))
        rounding = 4 * UNIT * float(1 + np.abs(logs).max())
        return None if y is None else _share(y, as_fractions(logs)) - rounding

    def _no_temperature(self) -> bool:
        """Return whether it is proved that no temperature makes the hypothesis explain them.

        With y·A_V = 0 a band η leaves ``|λ y·l − y·r| ≤ λ η Σ|y|``: no λ > 0, where y·l outweighs
        η Σ|y| and has the other sign than y·r. Or, with y·l = 0, too, only larger λ than answers
        allow: they are unlike by some nats, and values by no more than span r / (1 − γ).
        """
        game = self.known.game
        if self._is_large:
            return False
        often, logs, system, rows = self._system()
        off = self.band + 4 * UNIT * float(1 + np.abs(logs).max())
        free = as_fractions(system[:, game.n_states :]) / rows[:, None]
        exact = as_fractions(logs)
        states = often // game.n_follower_actions % game.n_states
        right = as_fractions(self.exact.numbers)[states]
        y = _dual(free, _residual(as_reals(free), logs))
        if y is not None:
            on_heat, own = (y * exact).sum(), (y * right).sum()
            if abs(on_heat) > off * sum(map(abs, y.tolist())) and on_heat * own < 0:
                return True
        whole = [np.ptp(x.log_pi2[~x.rare.any(axis=1)], axis=1) for x in self.known.answers]
        apart = float(max(spans.max(initial=0.0) for spans in whole)) - 2 * off
        if apart <= 0:
            return False
        spread = float(as_reals(self.exact.spread))
        largest = game.discount * spread / (1 - game.discount) / apart * (1 + 1e-9)
        both = np.hstack([free, exact[:, None]])
        y = _dual(both, _residual(as_reals(both), as_reals(right)))
        return y is not None and _share(y, right) > largest * off

    @property
    def _is_large(self) -> bool:
        """Whether the exact system has more numbers than a proof by duality is looked for in."""
        n_states, _, n_b = self.known.game.shape
        times = len(self.known.answers)
        return times * n_states * n_b * (times + 1) * n_states > MOST

    def _system(self) -> tuple[NDArray[np.int64], Array, Vector, Vector]:
        """Return the rows of common actions, their logarithms, and equations with their factors."""
        instance = Instance.of(self.known.game)
        commitments = np.array([rational_policy(x.pi1) for x in self.known.answers], dtype=object)
        rare = np.concatenate([x.rare.ravel() for x in self.known.answers])
        logs = np.concatenate([x.log_pi2.ravel() for x in self.known.answers])
        often = np.flatnonzero(~rare)
        system = equations(instance, commitments, "state", often.tolist())
        rows = system[:, : self.known.game.n_states].sum(axis=1)  # the reward's own one, made whole
        return often, logs[often], system, rows

    def _made(
        self,
        verdict: Verdict,
        evidence: str,
        witness: Array | None = None,
        *,
        found: Identifiability | None = None,
        angle: float | None = None,
        violation: ViolatedRow | None = None,
    ) -> SoftReport:
        known = self.known
        assumptions = [
            f"the partner is soft-optimal with discount {known.game.discount:g} and this kernel",
            f"the logarithms of its probabilities are right within {self.band:.3g}",
        ]
        if known.temperature is not None:
            assumptions.append(f"its temperature is {known.temperature:g}")
        if verdict is Verdict.CONFIRMED and self.exact.is_constant:
            assumptions.append("it plays all actions alike exactly, and not but for rounding")
        return SoftReport(
            verdict,
            evidence,
            self.reward,
            self.heat,
            self.off,
            self.band,
            angle,
            violation,
            witness,
            found,
            tuple(assumptions),
        )


def _residual(system: Array, right: Array) -> Array:
    return np.asarray(right - system @ np.linalg.lstsq(system, right)[0])


def _dual(system: Vector, guess: Array) -> Vector | None:
    """Return an exact y near a guess with ``y·A = 0``, A of shape (m, n); None if none is found."""
    zero = np.full(system.shape[1], Fraction(0), dtype=object)
    try:
        found = solve_near(system.T, zero, guess / (np.abs(guess).max() or 1.0))
    except NotExact:
        return None
    return found if found is not None and found.any() else None


def _share(y: Vector, right: Vector) -> float:
    """Return ``|y·b| / Σ|y|``."""
    return float(abs((y * right).sum()) / sum(map(abs, y.tolist())))
