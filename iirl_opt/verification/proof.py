"""Certificates of verification reports: what they rest on, for anyone to check.

A confirmed hypothesis is proved by an `AngleBound` (strict environment) or a `ClassInclusion`
(ideal one); a refuted one by the `Violation` that contradicts it; of an inconclusive verdict the
`Witness` is the other reward that explains the answer. All of them hold the answer, and are made
from it: a report's verdict follows from its answer and cannot be another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from iirl_opt.certificate import Certificate, class_halfspaces
from iirl_opt.errors import InvalidArgument, NotCertified
from iirl_opt.observation import observe
from iirl_opt.rewards.affine_rows import class_rows
from iirl_opt.rewards.inclusion_proof import class_inclusion
from iirl_opt.rewards.response_proof import violation, witness
from iirl_opt.verification.angle_proof import angle_bound
from iirl_opt.verification.ideal import Signs

if TYPE_CHECKING:
    from iirl_opt.verification.verdict import VerificationReport

__all__ = ["certificate_of"]


def certificate_of(report: VerificationReport) -> Certificate:
    """Return the certificate of what the answer in a report shows.

    Raises
    ------
    NotCertified
        It has no proof of one of these kinds: a mask that leaves out an action which the hypothesis
        calls optimal, or an answer within the tolerance of the first action.

    **Cost** arithmetic; see the certificate.
    """
    name = report.verdict.name
    try:
        if name == "CONFIRMED" and report.environment.kind == "strict":
            game = report.environment.game
            return angle_bound(game, report.exact.numbers, report.observation)
        if name == "CONFIRMED":
            return _inclusion(report)
        return _violation(report) if name == "REFUTED" else _witness(report)
    except InvalidArgument as problem:
        raise NotCertified(f"the verdict {name.lower()}", str(problem)) from problem


def _violation(report: VerificationReport) -> Certificate:
    found, environment = report.violation, report.environment
    assert found is not None
    s = environment.mdp.states.index(found.state)
    b = environment.mdp.actions.index(found.action)
    return violation(environment.game, report.exact.numbers, report.observation, s, b)


def _witness(report: VerificationReport) -> Certificate:
    other = report.exact_witness
    if other is None:
        reason = "it rests on an answer within the tolerance of the first action"
        raise NotCertified("the verdict inconclusive", reason)
    environment = report.environment
    outside = next(h for h in class_rows(environment.exact) if h @ other < 0)
    return witness(environment.game, other, [report.observation], outside)


def _inclusion(report: VerificationReport) -> Certificate:
    """Return the proof that only the class of the hypothesis explains the answer."""
    environment, seen, exact = report.environment, report.observation, report.exact.numbers
    if seen.played[:, 0].all():
        # Who has b1 among its optimal actions may answer it everywhere: that is less work.
        first = np.eye(seen.pi2.shape[1])[np.zeros(exact.size, dtype=int)]
        seen = observe(environment.game, seen.pi1, first)
    rows = [row for row in environment.exact_rows if row.any()]
    proofs = zip(Signs(environment, seen).proofs(), rows, class_halfspaces(exact), strict=True)
    multipliers = []
    for y, row, h in proofs:
        at = int(np.argmax(abs(row)))
        multipliers.append(y * (h[at] / row[at]))
    return class_inclusion(environment.game, exact, [seen], multipliers=multipliers)
