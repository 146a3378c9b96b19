from .affine import (
    AffineClass as AffineClass,
    affine_distance as affine_distance,
    affine_halfspaces as affine_halfspaces,
)
from .centre import (
    Centre as Centre,
    analytic_centre as analytic_centre,
)
from .distances import (
    canonical_reward as canonical_reward,
    dard_distance as dard_distance,
    epic_distance as epic_distance,
    reward_distances as reward_distances,
    starc_distance as starc_distance,
)
from .domains import (
    RewardBox as RewardBox,
    RewardDomain as RewardDomain,
    RewardSimplex as RewardSimplex,
)
from .elsewhere import (
    RegretElsewhere as RegretElsewhere,
    regret_elsewhere as regret_elsewhere,
)
from .explicit_rows import (
    DistinctRows as DistinctRows,
)
from .feasible import (
    FeasibleRewards as FeasibleRewards,
)
from .geometry import (
    Ball as Ball,
)
from .inclusion_proof import (
    class_inclusion as class_inclusion,
    inclusion as inclusion,
)
from .lifted_rows import (
    Lifted as Lifted,
)
from .matters import (
    StillMatters as StillMatters,
    still_matters as still_matters,
)
from .most_compatible import (
    MostCompatible as MostCompatible,
)
from .observed_rows import (
    ObservedRow as ObservedRow,
)
from .preferences import (
    Preference as Preference,
    prefer as prefer,
)
from .regret import (
    RegretBound as RegretBound,
    certified as certified,
    regret_bound as regret_bound,
)
from .regret_program import (
    WorstRegret as WorstRegret,
    worst_regret as worst_regret,
)
from .response_proof import (
    violation as violation,
    witness as witness,
)
from .sets import (
    RewardSolution as RewardSolution,
)
from .slack import (
    ViolatedRow as ViolatedRow,
)
from .soft import (
    SoftRewards as SoftRewards,
)
from .soft_fit import (
    SoftFit as SoftFit,
)
from .soft_rows import (
    SoftAnswer as SoftAnswer,
)

__all__ = [
    "AffineClass",
    "Ball",
    "Centre",
    "DistinctRows",
    "FeasibleRewards",
    "Lifted",
    "MostCompatible",
    "ObservedRow",
    "Preference",
    "RegretBound",
    "RegretElsewhere",
    "RewardBox",
    "RewardDomain",
    "RewardSimplex",
    "RewardSolution",
    "SoftAnswer",
    "SoftFit",
    "SoftRewards",
    "StillMatters",
    "ViolatedRow",
    "WorstRegret",
    "affine_distance",
    "affine_halfspaces",
    "analytic_centre",
    "canonical_reward",
    "certified",
    "class_inclusion",
    "dard_distance",
    "epic_distance",
    "inclusion",
    "prefer",
    "regret_bound",
    "regret_elsewhere",
    "reward_distances",
    "starc_distance",
    "still_matters",
    "violation",
    "witness",
    "worst_regret",
]
