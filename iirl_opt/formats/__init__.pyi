from .dpomdp import (
    DecPOMDP as DecPOMDP,
)

__all__ = [
    "DecPOMDP",
]
