from .admissible import (
    AdmissibleCommitment as AdmissibleCommitment,
)
from .algorithms_2_and_3 import (
    Approximation as Approximation,
)
from .algorithms_2_and_3 import (
    ValueIteration as ValueIteration,
)
from .bilevel import (
    DeterministicCommitment as DeterministicCommitment,
)
from .bounds import (
    ValueBounds as ValueBounds,
)
from .bounds import (
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
)
from .dominating import (
    DominanceVerdict as DominanceVerdict,
)
from .dominating import (
    dominance as dominance,
)
from .enumeration import (
    Enumeration as Enumeration,
)
from .gradient import (
    StartGradient as StartGradient,
)
from .gradient import (
    start_gradient as start_gradient,
)
from .lemma_2 import (
    JointOptimum as JointOptimum,
)
from .lemma_2 import (
    joint_leader_policy as joint_leader_policy,
)
from .local_search import (
    Improvement as Improvement,
)
from .local_search import (
    LocalSearch as LocalSearch,
)
from .local_search import (
    grid_check as grid_check,
)
from .methods import (
    Automatic as Automatic,
)
from .methods import (
    MixedInteger as MixedInteger,
)
from .methods import (
    NormalForm as NormalForm,
)
from .methods import (
    OccupancyProgram as OccupancyProgram,
)
from .methods import (
    commit as commit,
)
from .misspecification import (
    Information as Information,
)
from .misspecification import (
    Misspecified as Misspecified,
)
from .misspecification import (
    misspecification_loss as misspecification_loss,
)
from .misspecification import (
    value_of_information as value_of_information,
)
from .normal_form import (
    MixedCommitment as MixedCommitment,
)
from .plans import (
    Commitment as Commitment,
)
from .plans import (
    CommitmentMethod as CommitmentMethod,
)
from .plans import (
    Guarantee as Guarantee,
)
from .problem import (
    CommitmentProblem as CommitmentProblem,
)
from .problem import (
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
    "Guarantee",
    "Improvement",
    "Information",
    "JointOptimum",
    "LocalSearch",
    "Misspecified",
    "MixedCommitment",
    "MixedInteger",
    "NormalForm",
    "OccupancyProgram",
    "Reply",
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
    "misspecification_loss",
    "start_gradient",
    "value_bounds",
    "value_of_information",
]
