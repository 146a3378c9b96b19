from .measure import (
    OccupancyMeasure as OccupancyMeasure,
)
from .measure import (
    OccupancySolution as OccupancySolution,
)
from .measure import (
    budget as budget,
)
from .proof import (
    Side as Side,
)
from .proof import (
    infeasibility as infeasibility,
)
from .proof import (
    optimality as optimality,
)
from .proof import (
    policy_improvement as policy_improvement,
)

__all__ = [
    "OccupancyMeasure",
    "OccupancySolution",
    "Side",
    "budget",
    "infeasibility",
    "optimality",
    "policy_improvement",
]
