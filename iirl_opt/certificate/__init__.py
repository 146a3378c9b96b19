"""Certificates: data that proves an answer, checked by exact arithmetic alone.

A certificate is self-contained: it holds the instance, the claim in words, where the claim comes
from, and the numbers that prove it. `Certificate.check` recomputes everything in exact numbers,
without a tolerance, and never asks a solver. Saved as JSON with a version and a digest, it can be
sent to somebody who trusts neither the solver nor this library. ``docs/certificate_format.rst`` is
the format.

This room has the records and their one check: what a certificate holds (`record`, `fields`, `form`,
`instance`) and the conditions of each kind. Who makes one stands where the answer is found, as
`optimality` in `iirl_opt.occupancy`, `violation`, `witness` and `inclusion` in `iirl_opt.rewards`,
`commitment_bound` in `iirl_opt.commitment`, `angle_bound` and `identifiability` in
`iirl_opt.verification`: makers may guess, round and repair, the check may not. What all of them
share is here (`given`, `dyadic`), and `certify` finds the maker of an answer by its type.

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
| `RewardRank` | how far the reward is told by soft-optimal answers to these commitments |
"""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
