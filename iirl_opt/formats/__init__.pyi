from .dpomdp.problem import (
    DecPOMDP as DecPOMDP,
    read_dpomdp as read_dpomdp,
)

__all__ = [
    "DecPOMDP",
    "read_dpomdp",
]
