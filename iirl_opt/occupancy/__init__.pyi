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

__all__ = [
    "OccupancyMeasure",
    "OccupancySolution",
    "Side",
    "budget",
    "infeasibility",
    "optimality",
]
