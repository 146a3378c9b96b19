from .measure import (
    OccupancyMeasure as OccupancyMeasure,
    OccupancySolution as OccupancySolution,
    budget as budget,
)
from .proof import (
    Side as Side,
    infeasibility as infeasibility,
    optimality as optimality,
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
