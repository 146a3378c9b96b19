"""Certificates of verification reports: what a verdict rests on, for anyone to check.

A confirmed hypothesis is proved by an `AngleBound` (strict environment) or an `Inclusion` (ideal
one); a refuted one by the `Violation` that contradicts it; of an inconclusive verdict the `Witness`
is the other reward that explains the answer.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate import Certificate, angle_bound, inclusion, violation, witness
from iirl_opt.errors import InvalidArgument, NotExact
from iirl_opt.exact.numbers import as_fraction
from iirl_opt.observation import observe
from iirl_opt.programs.affine import Environment
from iirl_opt.programs.verify import Verdict, VerificationReport

__all__ = ["certify"]


def certify(report: VerificationReport) -> Certificate | None:
    """Return the certificate of a report, exact where its environment is rational.

    None where the verdict has no proof of one of these kinds: a mask that leaves out an action
    which the hypothesis calls optimal, or an answer within the tolerance of b1.

    **Cost** arithmetic; see the certificate.
    """
    environment, seen = report.environment, report.observation
    game = environment.game
    if report.verdict is Verdict.CONFIRMED:
        if environment.kind == "strict":
            rows = _rows(environment, environment.reward.size - 1)
            return angle_bound(game, rows, _direction(report.hypothesis))
        return _inclusion(report)
    if report.verdict is Verdict.REFUTED and report.violation is not None:
        s = environment.mdp.states.index(report.violation.state)
        b = environment.mdp.actions.index(report.violation.action)
        try:
            return violation(game, seen, report.hypothesis, s, b)
        except InvalidArgument:
            return None
    if report.witness is not None and report.halfspaces is not None:
        worst = int(np.argmin(report.halfspaces @ report.witness))
        return witness(game, [seen], report.witness, report.halfspaces[worst])
    return None


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
        with suppress(InvalidArgument, NotExact):
            return inclusion(game, [seen], reward=hypothesis, multipliers=units)
    return inclusion(game, [seen], reward=hypothesis)


def _rows(environment: Environment, count: int) -> NDArray[Any]:
    """Return ``P_b1 − P_b2`` of the first states: exact where the kernel is."""
    if not environment.mdp.is_rational:
        return environment.rows[:count]
    rows = environment.mdp.rational.rows
    out = np.full((count, environment.reward.size), Fraction(0), dtype=object)
    n_actions = environment.mdp.n_actions
    for s in range(count):
        for sign, action in ((1, 0), (-1, n_actions - 1)):
            for to, p in rows.row(s * n_actions + action).items():
                out[s, to] += sign * p
    return out


def _direction(reward: NDArray[np.float64]) -> NDArray[Any]:
    """Return a multiple of the centred reward, in exact numbers: floats are read as decimals."""
    exact = np.array([as_fraction(float(x)) for x in reward], dtype=object)
    return np.asarray(len(exact) * exact - exact.sum())
