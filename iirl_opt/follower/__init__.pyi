from .boltzmann import (
    BoltzmannFollower as BoltzmannFollower,
)
from .optimal import (
    EpsilonGreedyFollower as EpsilonGreedyFollower,
)
from .optimal import (
    OptimalFollower as OptimalFollower,
)
from .optimal import (
    best_responses as best_responses,
)
from .proportional import (
    Affine as Affine,
)
from .proportional import (
    Exponential as Exponential,
)
from .proportional import (
    Power as Power,
)
from .proportional import (
    ProportionalFollower as ProportionalFollower,
)
from .protocols import (
    Follower as Follower,
)
from .protocols import (
    LocalFollower as LocalFollower,
)

__all__ = [
    "Affine",
    "BoltzmannFollower",
    "EpsilonGreedyFollower",
    "Exponential",
    "Follower",
    "LocalFollower",
    "OptimalFollower",
    "Power",
    "ProportionalFollower",
    "best_responses",
]
