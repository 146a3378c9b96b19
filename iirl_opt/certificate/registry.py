"""One way from any answer to its proof.

`certify` is a function of the type of its argument. Whoever finds answers registers a maker beside
the type: ``@certify.register``.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from iirl_opt.certificate.record import Certificate
from iirl_opt.errors import Infeasible, NotCertified

__all__ = ["certify"]

# What has makers, whose rooms need not be loaded when a message names them.
CERTIFIED = (
    "Certificate",
    "Commitment",
    "Identifiability",
    "Infeasible error of an occupancy program",
    "OccupancySolution",
    "VerificationReport",
)


@singledispatch
def certify(answer: Any) -> Certificate:
    """Return the certificate of an answer.

    Parameters
    ----------
    answer : what this library answered: a verification report, a commitment, an occupancy solution,
        an identifiability, an `Infeasible` error of an occupancy program, a certificate.

    Raises
    ------
    NotCertified
        There is no proof of this: says why, and what has one.

    **Cost** arithmetic; see the kind of certificate.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> certificate = certify(iirl.commit(*iirl.random_game(3, 2, 2, rng=0)))
    >>> certificate.kind, bool(certificate.check())
    ('optimality', True)
    """
    reason = f"what is certified is a {', '.join(CERTIFIED)}"
    raise NotCertified(f"a {type(answer).__name__}", reason)


@certify.register
def _of_itself(answer: Certificate) -> Certificate:
    return answer


@certify.register
def _of_infeasible(answer: Infeasible) -> Certificate:
    if not isinstance(answer.certificate, Certificate):
        reason = "its program makes none; that of an occupancy program with a Farkas ray does"
        raise NotCertified("an infeasible program", reason)
    return answer.certificate
