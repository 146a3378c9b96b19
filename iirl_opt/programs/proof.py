"""Certificates of verification reports and commitments: what they rest on, for anyone to check.

A confirmed hypothesis is proved by an `AngleBound` (strict environment) or a `ClassInclusion`
(ideal one); a refuted one by the `Violation` that contradicts it; of an inconclusive verdict the
`Witness` is the other reward that explains the answer. All of them hold the answer, and are made
from it and not from the verdict: a report that says something else has no certificate.

A commitment to an optimal follower with the leader's reward is proved by `Optimality`: no joint
policy earns more, and the follower, who could play the stated response, earns at least what that
earns (paper, Lemma 2). Every other deterministic commitment gets a `CommitmentBound`, the tree of
a branch and bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from iirl_opt.certificate import (
    Certificate,
    CommitmentBound,
    Optimality,
    Side,
    affine_halfspaces,
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
from iirl_opt.programs.affine import class_rows
from iirl_opt.programs.ideal import Signs

if TYPE_CHECKING:
    from iirl_opt.programs.commitment import Commitment
    from iirl_opt.programs.verify import VerificationReport

__all__ = ["certificate_of", "certificate_of_commitment"]

# A bound that is worse than the commitment's own by more than this share speaks of other rows.
LOOSE = 1e-6


def certificate_of(report: VerificationReport) -> Certificate:
    """Return the certificate of what the answer in a report shows.

    Raises
    ------
    NotCertified
        The report does not say what its answer shows; or that has no proof of one of these kinds: a
        mask that leaves out an action which the hypothesis calls optimal, or an answer within the
        tolerance of the first action.

    **Cost** arithmetic; see the certificate.
    """
    judged = report.judged_again()
    name = f"the verdict {report.verdict.name.lower()}"
    said, shown = (report.verdict, report.tan_bound), (judged.verdict, judged.tan_bound)
    if said != shown:
        limit = "" if judged.tan_bound is None else f" within tan θ = {judged.tan_bound:g}"
        raise NotCertified(name, f"the answer shows {judged.verdict.name.lower()}{limit}")
    game, exact = judged.environment.game, judged.exact.numbers
    try:
        if judged.verdict.name == "CONFIRMED" and judged.environment.kind == "strict":
            return angle_bound(game, exact, judged.observation)
        if judged.verdict.name == "CONFIRMED":
            return _inclusion(judged)
        if judged.verdict.name == "REFUTED":
            return _violation(judged)
        return _witness(judged)
    except InvalidArgument as problem:
        raise NotCertified(name, str(problem)) from problem


def _violation(report: VerificationReport) -> Certificate:
    found, environment = report.violation, report.environment
    assert found is not None
    s = environment.mdp.states.index(found.state)
    b = environment.mdp.actions.index(found.action)
    return violation(environment.game, report.observation, report.exact.numbers, s, b)


def _witness(report: VerificationReport) -> Certificate:
    if report.witness is None:
        reason = "it rests on an answer within the tolerance of the first action"
        raise NotCertified("the verdict inconclusive", reason)
    environment, seen = report.environment, report.observation
    other = Signs(environment, seen).other_reward()
    outside = next(h for h in class_rows(environment.exact) if h @ other < 0)
    return witness(environment.game, [seen], other, outside)


def _inclusion(report: VerificationReport) -> Certificate:
    """Return the proof that only the class of the hypothesis explains the answer."""
    environment, seen, exact = report.environment, report.observation, report.exact.numbers
    if seen.played[:, 0].all():
        # Who has b1 among its optimal actions may answer it everywhere: that is less work.
        first = np.eye(seen.pi2.shape[1])[np.zeros(exact.size, dtype=int)]
        seen = observe(environment.game, seen.pi1, first)
    rows = [row for row in environment.exact_rows if row.any()]
    proofs = zip(Signs(environment, seen).proofs(), rows, affine_halfspaces(exact), strict=True)
    multipliers = []
    for y, row, h in proofs:
        at = int(np.argmax(abs(row)))
        multipliers.append(y * (h[at] / row[at]))
    return class_inclusion(environment.game, [seen], exact, multipliers=multipliers)


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
