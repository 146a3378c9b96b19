"""Certificates: data that proves an answer, checked by exact arithmetic alone.

A certificate is self-contained: it holds the instance, the claim in words, where the claim comes
from, and the numbers that prove it. `Certificate.check` recomputes everything in exact numbers,
without a tolerance, and never asks a solver. Saved as JSON with a version and a digest, it can be
sent to somebody who trusts neither the solver nor this library. ``docs/certificate_format.rst`` is
the format; `certify` finds the certificate of an answer.

| kind | claim |
| --- | --- |
| `Optimality` | no joint policy within the side constraints earns more; this one earns that much |
| `Infeasibility` | no joint policy meets the side constraints |
| `Violation` | this reward does not explain that response |
| `Witness` | this reward explains all responses and lies outside a half-space |
| `Inclusion` | every reward that explains all responses lies in these half-spaces |
| `ClassInclusion` | every reward that explains all responses is in a class, or within an angle |
| `AngleBound` | a response in a strict environment is only optimal within an angle of a reward |
| `CommitmentBound` | no deterministic commitment earns more against this follower |
| `PolicyImprovement` | a policy is not optimal: another is worth more somewhere |
"""

from iirl_opt.certificate.base import Certificate, Check, Match, read_certificate
from iirl_opt.certificate.certify import certify
from iirl_opt.certificate.combine import class_inclusion, inclusion
from iirl_opt.certificate.halfspaces import affine_halfspaces, cone_halfspaces
from iirl_opt.certificate.inclusion import ClassInclusion, Inclusion
from iirl_opt.certificate.instance import Instance, SparseRows
from iirl_opt.certificate.occupancy import Infeasibility, Optimality
from iirl_opt.certificate.planning import Side, infeasibility, optimality
from iirl_opt.certificate.policies import PolicyImprovement, policy_improvement
from iirl_opt.certificate.rewards import Violation, Witness, violation, witness
from iirl_opt.certificate.strict import AngleBound, angle_bound
from iirl_opt.certificate.tree import CommitmentBound
from iirl_opt.certificate.tree_maker import commitment_bound

__all__ = [
    "AngleBound",
    "Certificate",
    "Check",
    "ClassInclusion",
    "CommitmentBound",
    "Inclusion",
    "Infeasibility",
    "Instance",
    "Match",
    "Optimality",
    "PolicyImprovement",
    "Side",
    "SparseRows",
    "Violation",
    "Witness",
    "affine_halfspaces",
    "angle_bound",
    "certify",
    "class_inclusion",
    "commitment_bound",
    "cone_halfspaces",
    "inclusion",
    "infeasibility",
    "optimality",
    "policy_improvement",
    "read_certificate",
    "violation",
    "witness",
]
