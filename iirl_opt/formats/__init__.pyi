from .dpomdp.problem import (
    DecPOMDP as DecPOMDP,
)
from .dpomdp.problem import (
    read_dpomdp as read_dpomdp,
)

__all__ = [
    "DecPOMDP",
    "read_dpomdp",
]
