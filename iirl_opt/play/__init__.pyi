from .doorkeeper import (
    Doorkeeper as Doorkeeper,
)
from .maze import (
    PrizeMaze as PrizeMaze,
)
from .session import (
    Session as Session,
    walk_for as walk_for,
)

__all__ = [
    "Doorkeeper",
    "PrizeMaze",
    "Session",
    "walk_for",
]
