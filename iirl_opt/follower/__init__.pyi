from .boltzmann import (
    BoltzmannFollower as BoltzmannFollower,
)
from .optimal import (
    EpsilonGreedyFollower as EpsilonGreedyFollower,
    OptimalFollower as OptimalFollower,
    best_responses as best_responses,
)
from .proportional import (
    Affine as Affine,
    Exponential as Exponential,
    Power as Power,
    ProportionalFollower as ProportionalFollower,
)
from .protocols import (
    Follower as Follower,
    LocalFollower as LocalFollower,
)
from .soft import (
    SoftOptimalFollower as SoftOptimalFollower,
    SoftOptimum as SoftOptimum,
    soft_optimum as soft_optimum,
)
from .steps import (
    check_steps as check_steps,
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
    "SoftOptimalFollower",
    "SoftOptimum",
    "best_responses",
    "check_steps",
    "soft_optimum",
]
