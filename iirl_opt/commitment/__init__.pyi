from .admissible import (
    AdmissibleCommitment as AdmissibleCommitment,
)
from .admissible import (
    AdmissibleSolution as AdmissibleSolution,
)
from .ascent import (
    grid_check as grid_check,
)
from .ascent import (
    improve_stochastic as improve_stochastic,
)
from .ascent import (
    start_gradient as start_gradient,
)
from .bilevel import (
    BilevelSolution as BilevelSolution,
)
from .bilevel import (
    DeterministicCommitment as DeterministicCommitment,
)
from .bounds import (
    BoundedFollower as BoundedFollower,
)
from .bounds import (
    ValueBounds as ValueBounds,
)
from .bounds import (
    value_bounds as value_bounds,
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
    Search as Search,
)
from .enumeration import (
    enumerate_commitments as enumerate_commitments,
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
from .normal_form import (
    MixedSolution as MixedSolution,
)
from .plans import (
    Commitment as Commitment,
)
from .plans import (
    Guarantee as Guarantee,
)
from .plans import (
    StackelbergCommitment as StackelbergCommitment,
)
from .plans import (
    commit as commit,
)
from .problem import (
    CommitmentProblem as CommitmentProblem,
)
from .problem import (
    Reply as Reply,
)
from .search import (
    branch_and_bound as branch_and_bound,
)
from .tree_proof import (
    commitment_bound as commitment_bound,
)
from .value_iteration import (
    Approximation as Approximation,
)
from .value_iteration import (
    approximate_value_iteration as approximate_value_iteration,
)
from .value_iteration import (
    joint_leader_policy as joint_leader_policy,
)

__all__ = [
    "AdmissibleCommitment",
    "AdmissibleSolution",
    "Approximation",
    "BilevelSolution",
    "BoundedFollower",
    "Commitment",
    "CommitmentProblem",
    "DeterministicCommitment",
    "Dominance",
    "DominanceVerdict",
    "Guarantee",
    "Information",
    "Misspecified",
    "MixedCommitment",
    "MixedSolution",
    "Reply",
    "Search",
    "StackelbergCommitment",
    "ValueBounds",
    "approximate_value_iteration",
    "branch_and_bound",
    "commit",
    "commitment_bound",
    "dominance",
    "enumerate_commitments",
    "grid_check",
    "improve_stochastic",
    "joint_leader_policy",
    "misspecification_loss",
    "start_gradient",
    "value_bounds",
    "value_of_information",
]
