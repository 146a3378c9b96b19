from .measure import (
    OccupancyMeasure as OccupancyMeasure,
)
from .proof import (
    Side as Side,
    infeasibility as infeasibility,
    optimality as optimality,
    policy_improvement as policy_improvement,
)
from .quantities import (
    budget as budget,
)
from .rows import (
    ChoiceRow as ChoiceRow,
    StateRow as StateRow,
)
from .solution import (
    OccupancySolution as OccupancySolution,
)

__all__ = [
    "ChoiceRow",
    "OccupancyMeasure",
    "OccupancySolution",
    "Side",
    "StateRow",
    "budget",
    "infeasibility",
    "optimality",
    "policy_improvement",
]
