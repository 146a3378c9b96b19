from .admissible import (
    AdmissibleCommitment as AdmissibleCommitment,
    RestrictedRow as RestrictedRow,
)
from .algorithms_2_and_3 import (
    Approximation as Approximation,
    Evaluated as Evaluated,
    ValueIteration as ValueIteration,
)
from .answers import (
    Assessment as Assessment,
)
from .bilevel import (
    DeterministicCommitment as DeterministicCommitment,
)
from .bounds import (
    ValueBounds as ValueBounds,
    value_bounds as value_bounds,
)
from .branch_and_bound import (
    BranchAndBound as BranchAndBound,
)
from .compatible import (
    BoundedFollower as BoundedFollower,
)
from .dominating import (
    Dominance as Dominance,
    DominanceVerdict as DominanceVerdict,
    dominance as dominance,
)
from .enumeration import (
    Enumeration as Enumeration,
)
from .gradient import (
    StartGradient as StartGradient,
    start_gradient as start_gradient,
)
from .lemma_2 import (
    JointOptimum as JointOptimum,
    joint_leader_policy as joint_leader_policy,
)
from .local_search import (
    Improvement as Improvement,
    LocalSearch as LocalSearch,
    grid_check as grid_check,
)
from .methods import (
    Automatic as Automatic,
    MixedInteger as MixedInteger,
    NormalForm as NormalForm,
    OccupancyProgram as OccupancyProgram,
    commit as commit,
)
from .minimax import (
    MinimaxRegret as MinimaxRegret,
    minimax_regret as minimax_regret,
)
from .misspecification import (
    Information as Information,
    Misspecified as Misspecified,
    misspecification_loss as misspecification_loss,
    value_of_information as value_of_information,
)
from .normal_form import (
    MixedCommitment as MixedCommitment,
)
from .plans import (
    Commitment as Commitment,
    CommitmentMethod as CommitmentMethod,
    Guarantee as Guarantee,
)
from .problem import (
    CommitmentProblem as CommitmentProblem,
    Reply as Reply,
)
from .searches import (
    Search as Search,
)
from .stackelberg import (
    StackelbergCommitment as StackelbergCommitment,
)
from .tree_proof import (
    commitment_bound as commitment_bound,
)

__all__ = [
    "AdmissibleCommitment",
    "Approximation",
    "Assessment",
    "Automatic",
    "BoundedFollower",
    "BranchAndBound",
    "Commitment",
    "CommitmentMethod",
    "CommitmentProblem",
    "DeterministicCommitment",
    "Dominance",
    "DominanceVerdict",
    "Enumeration",
    "Evaluated",
    "Guarantee",
    "Improvement",
    "Information",
    "JointOptimum",
    "LocalSearch",
    "MinimaxRegret",
    "Misspecified",
    "MixedCommitment",
    "MixedInteger",
    "NormalForm",
    "OccupancyProgram",
    "Reply",
    "RestrictedRow",
    "Search",
    "StackelbergCommitment",
    "StartGradient",
    "ValueBounds",
    "ValueIteration",
    "commit",
    "commitment_bound",
    "dominance",
    "grid_check",
    "joint_leader_policy",
    "minimax_regret",
    "misspecification_loss",
    "start_gradient",
    "value_bounds",
    "value_of_information",
]
