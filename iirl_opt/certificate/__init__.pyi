from .angle import (
    AngleBound as AngleBound,
)
from .check import (
    Check as Check,
)
from .halfspaces import (
    class_halfspaces as class_halfspaces,
    cone_halfspaces as cone_halfspaces,
)
from .inclusion import (
    ClassInclusion as ClassInclusion,
    Inclusion as Inclusion,
)
from .instance import (
    Instance as Instance,
    SparseRows as SparseRows,
)
from .match import (
    Match as Match,
)
from .occupancy import (
    Infeasibility as Infeasibility,
    Optimality as Optimality,
)
from .policies import (
    PolicyImprovement as PolicyImprovement,
)
from .record import (
    Certificate as Certificate,
    read_certificate as read_certificate,
)
from .registry import (
    certify as certify,
)
from .responses import (
    Violation as Violation,
    Witness as Witness,
)
from .reward_rank import (
    RewardRank as RewardRank,
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
    "RewardRank",
    "SparseRows",
    "Violation",
    "Witness",
    "certify",
    "class_halfspaces",
    "cone_halfspaces",
    "read_certificate",
]
