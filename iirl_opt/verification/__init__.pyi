from .environments import (
    Environment as Environment,
)
from .environments import (
    ideal_environment as ideal_environment,
)
from .environments import (
    strict_environment as strict_environment,
)
from .identification import (
    Identification as Identification,
)
from .identification import (
    VerificationProtocol as VerificationProtocol,
)
from .identification import (
    identify as identify,
)
from .realisable import (
    NotRealisable as NotRealisable,
)
from .realisable import (
    realise as realise,
)
from .realisable import (
    satisfies_condition_b as satisfies_condition_b,
)
from .verify import (
    Verdict as Verdict,
)
from .verify import (
    VerificationReport as VerificationReport,
)
from .verify import (
    prove_inclusion as prove_inclusion,
)
from .verify import (
    verify_affine as verify_affine,
)

__all__ = [
    "Environment",
    "Identification",
    "NotRealisable",
    "Verdict",
    "VerificationProtocol",
    "VerificationReport",
    "ideal_environment",
    "identify",
    "prove_inclusion",
    "realise",
    "satisfies_condition_b",
    "strict_environment",
    "verify_affine",
]
