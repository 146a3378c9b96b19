"""Certificates: data that proves an answer, checked by arithmetic alone.

A certificate is self-contained: it holds the instance, the claim in words, where the claim comes
from, and the numbers that prove it. `Certificate.check` recomputes everything from the arrays and
never asks a solver: in floating point, where a residual within the tolerance counts as zero, or in
rational arithmetic, where every condition holds exactly. Saved as JSON with a version and a digest,
it can be sent to somebody who trusts neither the solver nor this library's programs.

| kind | claim |
| --- | --- |
| `Optimality` | no measure within the side constraints earns more than this one |
| `Infeasibility` | no measure meets the side constraints |
| `Violation` | this reward does not explain that response |
| `Witness` | this reward explains all responses and lies outside a half-space |
| `Inclusion` | every reward that explains all responses lies in these half-spaces |
| `AngleBound` | what passes the strict test is within an angle of the hypothesis |
| `PolicyImprovement` | a policy is not optimal: another is never worse, and better somewhere |
"""

from iirl_opt.certificate.base import Certificate, Check, read_certificate
from iirl_opt.certificate.halfspaces import affine_halfspaces, cone_halfspaces
from iirl_opt.certificate.inclusion import Inclusion, inclusion
from iirl_opt.certificate.instance import Instance, SparseRows
from iirl_opt.certificate.occupancy import Infeasibility, Optimality
from iirl_opt.certificate.policies import PolicyImprovement, policy_improvement
from iirl_opt.certificate.rewards import Violation, Witness, violation, witness
from iirl_opt.certificate.strict import AngleBound, angle_bound

__all__ = [
    "AngleBound",
    "Certificate",
    "Check",
    "Inclusion",
    "Infeasibility",
    "Instance",
    "Optimality",
    "PolicyImprovement",
    "SparseRows",
    "Violation",
    "Witness",
    "affine_halfspaces",
    "angle_bound",
    "cone_halfspaces",
    "inclusion",
    "policy_improvement",
    "read_certificate",
    "violation",
    "witness",
]
