from .angle import (
    AngleBound as AngleBound,
)
from .check import (
    Check as Check,
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
from .match import (
    Match as Match,
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
from .record import (
    Certificate as Certificate,
)
from .record import (
    read_certificate as read_certificate,
)
from .registry import (
    certify as certify,
)
from .responses import (
    Violation as Violation,
)
from .responses import (
    Witness as Witness,
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
    "certify",
    "class_halfspaces",
    "cone_halfspaces",
    "read_certificate",
]
