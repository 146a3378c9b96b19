from .angle_proof import (
    angle_bound as angle_bound,
)
from .environment import (
    Environment as Environment,
)
from .ideal import (
    ideal_environment as ideal_environment,
)
from .identifiable import (
    Identifiability as Identifiability,
    identifiability as identifiability,
)
from .identification import (
    Identification as Identification,
    identify as identify,
)
from .inclusion import (
    HalfspaceInclusion as HalfspaceInclusion,
    prove_inclusion as prove_inclusion,
)
from .protocol import (
    VerificationProtocol as VerificationProtocol,
)
from .realisable import (
    NotRealisable as NotRealisable,
    realise as realise,
    satisfies_condition_b as satisfies_condition_b,
)
from .soft_verdict import (
    SoftReport as SoftReport,
    verify_soft_optimal as verify_soft_optimal,
)
from .strict import (
    strict_environment as strict_environment,
)
from .verdict import (
    Verdict as Verdict,
    VerificationReport as VerificationReport,
    verify_affine as verify_affine,
)

__all__ = [
    "Environment",
    "HalfspaceInclusion",
    "Identifiability",
    "Identification",
    "NotRealisable",
    "SoftReport",
    "Verdict",
    "VerificationProtocol",
    "VerificationReport",
    "angle_bound",
    "ideal_environment",
    "identifiability",
    "identify",
    "prove_inclusion",
    "realise",
    "satisfies_condition_b",
    "strict_environment",
    "verify_affine",
    "verify_soft_optimal",
]
