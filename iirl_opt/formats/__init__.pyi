from .dpomdp.problem import (
    DecPOMDP as DecPOMDP,
    read_dpomdp as read_dpomdp,
)
from .imported import (
    ImportedGame as ImportedGame,
)

__all__ = [
    "DecPOMDP",
    "ImportedGame",
    "read_dpomdp",
]
