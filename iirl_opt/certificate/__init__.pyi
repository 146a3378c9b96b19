from .base import (
    Certificate as Certificate,
)
from .base import (
    Check as Check,
)
from .base import (
    Match as Match,
)
from .base import (
    read_certificate as read_certificate,
)
from .halfspaces import (
    class_halfspaces as class_halfspaces,
)
from .halfspaces import (
    cone_halfspaces as cone_halfspaces,
)
from .inclusion import (
    ClassInclusion as ClassInclusion,
)
from .inclusion import (
    Inclusion as Inclusion,
)
from .instance import (
    Instance as Instance,
)
from .instance import (
    SparseRows as SparseRows,
)
from .makers import (
    certify as certify,
)
from .occupancy import (
    Infeasibility as Infeasibility,
)
from .occupancy import (
    Optimality as Optimality,
)
from .policies import (
    PolicyImprovement as PolicyImprovement,
)
from .policies import (
    policy_improvement as policy_improvement,
)
from .rewards import (
    Violation as Violation,
)
from .rewards import (
    Witness as Witness,
)
from .rewards import (
    violation as violation,
)
from .rewards import (
    witness as witness,
)
from .strict import (
    AngleBound as AngleBound,
)
from .strict import (
    angle_bound as angle_bound,
)
from .tree import (
    CommitmentBound as CommitmentBound,
)

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
    "SparseRows",
    "Violation",
    "Witness",
    "angle_bound",
    "certify",
    "class_halfspaces",
    "cone_halfspaces",
    "policy_improvement",
    "read_certificate",
    "violation",
    "witness",
]
