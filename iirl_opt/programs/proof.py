"""Certificates of verification reports and commitments: what they rest on, for anyone to check.

A confirmed hypothesis is proved by an `AngleBound` (strict environment) or a `ClassInclusion`
(ideal one); a refuted one by the `Violation` that contradicts it; of an inconclusive verdict the
`Witness` is the other reward that explains the answer. All of them hold the answer, so that no
verdict can be certified with another one.

A commitment to an optimal follower with the leader's reward is proved by `Optimality`: no joint
policy earns more, and the follower, who could play the stated response, earns at least what that
earns (paper, Lemma 2). Every other deterministic commitment gets a `CommitmentBound`, the tree of
a branch and bound.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from iirl_opt.certificate import (
    Certificate,
    CommitmentBound,
    Optimality,
    Side,
    angle_bound,
    class_inclusion,
    commitment_bound,
    optimality,
    violation,
    witness,
)
from iirl_opt.errors import InvalidArgument, NotCertified
from iirl_opt.follower import OptimalFollower
from iirl_opt.observation import observe

if TYPE_CHECKING:
    from iirl_opt.programs.commitment import Commitment
    from iirl_opt.programs.verify import VerificationReport

__all__ = ["certificate_of", "certificate_of_commitment"]

# A bound that is worse than the commitment's own by more than this share speaks of other rows.
LOOSE = 1e-6


def certificate_of(report: VerificationReport) -> Certificate:
    """Return the certificate of a report.

    Raises
    ------
    NotCertified
        The verdict is not what the numbers say, or has no proof of one of these kinds: a mask that
        leaves out an action which the hypothesis calls optimal.

    **Cost** arithmetic; see the certificate.
    """
    kind = report.environment.kind
    try:
        if report.verdict.name == "CONFIRMED" and kind == "strict":
            return angle_bound(report.environment.game, report.hypothesis, report.observation)
        if report.verdict.name == "CONFIRMED":
            return _inclusion(report)
        if report.verdict.name == "REFUTED":
            return _violation(report)
        return _witness(report)
    except InvalidArgument as problem:
        what = f"the verdict {report.verdict.name.lower()}"
        raise NotCertified(what, str(problem)) from problem


def _violation(report: VerificationReport) -> Certificate:
    found, environment = report.violation, report.environment
    if found is None:
        raise NotCertified("the verdict refuted", "the report names no violation")
    s = environment.mdp.states.index(found.state)
    b = environment.mdp.actions.index(found.action)
    return violation(environment.game, report.observation, report.hypothesis, s, b)


def _witness(report: VerificationReport) -> Certificate:
    if report.witness is None or report.halfspaces is None:
        reason = "it rests on an answer within the tolerance of the first action"
        raise NotCertified("the verdict inconclusive", reason)
    outside = report.halfspaces[int(np.argmin(report.halfspaces @ report.witness))]
    return witness(report.environment.game, [report.observation], report.witness, outside)


def _inclusion(report: VerificationReport) -> Certificate:
    """Return the proof that only the class of the hypothesis explains the answer.

    Where b1 everywhere is one of the answers it alone proves that, and as ``P_b1`` is constant each
    half-space is a multiple of one row of Corollary 1: the multipliers are unit vectors.
    """
    game, seen, hypothesis = report.environment.game, report.observation, report.hypothesis
    n, n_b = game.n_states, game.n_follower_actions
    if seen.played[:, 0].all():
        seen = observe(game, seen.pi1, np.eye(n_b)[np.zeros(n, dtype=int)])
        units = (np.eye(1, n * n_b, s * n_b + n_b - 1).reshape(1, n, n_b) for s in range(n))
        with suppress(InvalidArgument):
            return class_inclusion(game, [seen], hypothesis, multipliers=units)
    return class_inclusion(game, [seen], hypothesis)


def certificate_of_commitment(found: Commitment) -> Certificate:
    """Return the certificate of a commitment: what it earns at least, and others at most.

    Actions that the leader may not commit to are a side constraint of the claim.

    Raises
    ------
    NotCertified
        The commitment is stochastic and the follower another than an optimal one with the leader's
        reward; or it respects constraints that it does not hold.
    InvalidArgument
        As `commitment_bound`, where that is needed.

    **Source** paper, Lemma 2. **Cost** arithmetic: policy iteration in exact numbers; for other
    followers a branch and bound: see `commitment_bound`.
    """
    problem = found.problem
    proof: Optimality | CommitmentBound
    if problem.cooperative and isinstance(problem.follower, OptimalFollower):
        proof = _of_joint_optimum(found)
    elif np.isin(found.policy, (0, 1)).all():
        proof = commitment_bound(problem, found.policy.argmax(axis=1))
    else:
        raise NotCertified("a stochastic commitment", "a tree bounds deterministic ones alone")
    if found.bound is not None:
        scale = float(np.abs(problem.reward).max()) / (1 - problem.game.discount)
        if proof.upper > found.bound + LOOSE * scale:
            reason = "it respects constraints that it does not hold: certify its occupancy solution"
            raise NotCertified("a commitment", reason)
    return proof


def _of_joint_optimum(found: Commitment) -> Optimality:
    """Return the proof that a commitment and its response are a joint optimum."""
    problem, side = found.problem, None
    game = problem.game
    forbidden = np.repeat(~problem.allowed.ravel(), game.n_follower_actions)
    if forbidden.any():
        # Dear enough that no policy would ever pay it.
        price = 4 * float(np.ptp(problem.reward)) / (1 - game.discount)
        side = Side([forbidden.astype(float)], [0.0], prices=[price])
    return optimality(game, problem.reward, (found.policy, found.response), side)
