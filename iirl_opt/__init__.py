"""Interactive inverse reinforcement learning as optimisation models.

Everything public is here, grouped by concept, and loaded when it is first used: importing the
package brings in neither a solver nor a plotting library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives; the one list to change when a name is added.
_HOME: dict[str, tuple[str, ...]] = {
    "iirl_opt.errors": (
        "FileProblem",
        "IIRLError",
        "Infeasible",
        "InvalidArgument",
        "InvalidGame",
        "InvalidObservation",
        "InvalidPolicy",
        "InvalidReward",
        "LimitReached",
        "MissingExtra",
        "NotAProduct",
        "NotExact",
        "OnlyConstantRewards",
        "SolverFailed",
        "Unbounded",
        "UnknownLabel",
    ),
    "iirl_opt.game.mdp": ("MDP", "TwoAgentMDP"),
    "iirl_opt.game.policy": (
        "check_policy",
        "deterministic_policy",
        "joint_policy",
        "mix",
        "random_deterministic_policy",
        "random_policy",
        "split",
        "uniform_policy",
    ),
    "iirl_opt.game.values": (
        "Optimum",
        "evaluate",
        "modified_policy_iteration",
        "policy_iteration",
        "tie_tolerance",
    ),
    "iirl_opt.game.store": ("load_game", "save_game"),
    "iirl_opt.game.grid": (
        "GridGame",
        "grid_game",
        "introductory_game",
        "introductory_mazes",
        "maze_maker",
    ),
    "iirl_opt.game.generate": ("random_game",),
    "iirl_opt.game.graph": (
        "CommunicatingClass",
        "Pruned",
        "absorbing_states",
        "communicating_classes",
        "dead_ends",
        "from_networkx",
        "prune",
        "reachable",
        "to_networkx",
    ),
    "iirl_opt.follower": (
        "BoltzmannFollower",
        "EpsilonGreedyFollower",
        "Follower",
        "LocalFollower",
        "OptimalFollower",
        "ProportionalFollower",
        "best_responses",
    ),
    "iirl_opt.observation": (
        "Observation",
        "Trajectory",
        "observe",
        "record_trajectory",
        "sample_trajectory",
    ),
    "iirl_opt.planning.problem": ("CommitmentProblem", "Reply"),
    "iirl_opt.planning.iteration": (
        "Approximation",
        "approximate_value_iteration",
        "joint_leader_policy",
    ),
    "iirl_opt.planning.ascent": ("grid_check", "improve_stochastic", "start_gradient"),
    "iirl_opt.planning.bounds": ("BoundedFollower", "ValueBounds", "value_bounds"),
    "iirl_opt.planning.enumeration": ("Search", "enumerate_commitments"),
    "iirl_opt.planning.branch": ("branch_and_bound",),
    "iirl_opt.planning.dominance": ("Dominance", "DominanceVerdict", "dominance"),
    "iirl_opt.planning.misspecification": (
        "Information",
        "Misspecified",
        "misspecification_loss",
        "value_of_information",
    ),
    "iirl_opt.solver": ("Clarabel", "HiGHS", "LiveProgram", "Named", "Solved", "Status", "solve"),
    "iirl_opt.programs.sets": ("Ball", "RewardBox", "RewardSimplex", "RewardSolution"),
    "iirl_opt.programs.rewards": (
        "AffineClass",
        "DistinctRows",
        "FeasibleRewards",
        "Violation",
    ),
    "iirl_opt.programs.occupancy": ("OccupancyMeasure", "OccupancySolution", "budget"),
    "iirl_opt.programs.affine": (
        "Environment",
        "affine_distance",
        "affine_halfspaces",
        "ideal_environment",
        "strict_environment",
    ),
    "iirl_opt.programs.verify": (
        "Verdict",
        "VerificationReport",
        "prove_inclusion",
        "verify_affine",
    ),
    "iirl_opt.programs.realise": ("NotRealisable", "realise", "satisfies_condition_b"),
    "iirl_opt.programs.identify": ("Identification", "VerificationProtocol", "identify"),
    "iirl_opt.certificate": ("Certificate", "certify", "read_certificate"),
    "iirl_opt.programs.admissible": ("AdmissibleCommitment", "AdmissibleSolution"),
    "iirl_opt.programs.bilevel": ("BilevelSolution", "DeterministicCommitment"),
    "iirl_opt.programs.normal_form": ("MixedCommitment", "MixedSolution"),
    "iirl_opt.programs.commitment": (
        "Commitment",
        "Guarantee",
        "StackelbergCommitment",
        "commit",
    ),
    "iirl_opt.programs.centre": ("Centre", "analytic_centre"),
    "iirl_opt.programs.regret": (
        "RegretBound",
        "WorstRegret",
        "certified",
        "regret_bound",
        "worst_regret",
    ),
    "iirl_opt.learn.strategies": (
        "AnalyticCentre",
        "ChebyshevCentre",
        "Chosen",
        "HitAndRunMean",
        "MeanOfVertices",
        "RandomVertex",
        "RewardChoice",
    ),
    "iirl_opt.learn.baselines": (
        "FixedEnvironment",
        "MaxMargin",
        "MaximumEntropy",
        "RandomReward",
    ),
    "iirl_opt.programs.convergence": ("ConvergenceCondition", "convergence_condition"),
    "iirl_opt.learn.active": ("ActiveIRL",),
    "iirl_opt.game.exact": ("exact_optimum",),
    "iirl_opt.learn.limits": ("Distinction", "indistinguishable", "one_answer"),
    "iirl_opt.learn.bayesian.evidence": ("Evidence",),
    "iirl_opt.learn.bayesian.families": (
        "BoltzmannFamily",
        "EpsilonGreedyFamily",
        "FollowerFamily",
    ),
    "iirl_opt.learn.bayesian.priors": (
        "DirichletPrior",
        "GammaPrior",
        "Known",
        "UniformPrior",
        "exponential_prior",
    ),
    "iirl_opt.learn.bayesian.posterior": ("Posterior",),
    "iirl_opt.learn.bayesian.proposals": (
        "DirichletProposal",
        "GammaProposal",
        "Hamiltonian",
        "ReflectedStep",
        "SimplexWalk",
    ),
    "iirl_opt.learn.bayesian.sampling": ("sample", "sampling"),
    "iirl_opt.learn.bayesian.chains": ("Chains", "Diagnostics"),
    "iirl_opt.learn.bayesian.learner": (
        "BayesianEpisode",
        "BayesianInteractiveIRL",
        "interact_bayesian",
    ),
    "iirl_opt.claims": ("Claim", "Outcome", "run_claims"),
    "iirl_opt.learn.interactive": (
        "ContradictionWarning",
        "Episode",
        "InteractiveIRL",
        "Learner",
        "interact",
        "regret",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = ["__version__", *sorted(_MODULE_OF)]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'iirl_opt' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if TYPE_CHECKING:
    from iirl_opt.certificate import Certificate as Certificate
    from iirl_opt.certificate import certify as certify
    from iirl_opt.certificate import read_certificate as read_certificate
    from iirl_opt.claims import *  # noqa: F403
    from iirl_opt.errors import *  # noqa: F403
    from iirl_opt.follower import *  # noqa: F403
    from iirl_opt.game.exact import *  # noqa: F403
    from iirl_opt.game.generate import *  # noqa: F403
    from iirl_opt.game.graph import *  # noqa: F403
    from iirl_opt.game.grid import *  # noqa: F403
    from iirl_opt.game.mdp import *  # noqa: F403
    from iirl_opt.game.policy import *  # noqa: F403
    from iirl_opt.game.store import *  # noqa: F403
    from iirl_opt.game.values import *  # noqa: F403
    from iirl_opt.learn.active import *  # noqa: F403
    from iirl_opt.learn.baselines import *  # noqa: F403
    from iirl_opt.learn.bayesian.chains import *  # noqa: F403
    from iirl_opt.learn.bayesian.evidence import *  # noqa: F403
    from iirl_opt.learn.bayesian.families import *  # noqa: F403
    from iirl_opt.learn.bayesian.learner import *  # noqa: F403
    from iirl_opt.learn.bayesian.posterior import *  # noqa: F403
    from iirl_opt.learn.bayesian.priors import *  # noqa: F403
    from iirl_opt.learn.bayesian.proposals import *  # noqa: F403
    from iirl_opt.learn.bayesian.sampling import *  # noqa: F403
    from iirl_opt.learn.interactive import *  # noqa: F403
    from iirl_opt.learn.limits import *  # noqa: F403
    from iirl_opt.learn.strategies import *  # noqa: F403
    from iirl_opt.observation import *  # noqa: F403
    from iirl_opt.planning.ascent import *  # noqa: F403
    from iirl_opt.planning.bounds import *  # noqa: F403
    from iirl_opt.planning.branch import *  # noqa: F403
    from iirl_opt.planning.dominance import *  # noqa: F403
    from iirl_opt.planning.enumeration import *  # noqa: F403
    from iirl_opt.planning.iteration import *  # noqa: F403
    from iirl_opt.planning.misspecification import *  # noqa: F403
    from iirl_opt.planning.problem import *  # noqa: F403
    from iirl_opt.programs.admissible import *  # noqa: F403
    from iirl_opt.programs.affine import *  # noqa: F403
    from iirl_opt.programs.bilevel import *  # noqa: F403
    from iirl_opt.programs.centre import *  # noqa: F403
    from iirl_opt.programs.commitment import *  # noqa: F403
    from iirl_opt.programs.convergence import *  # noqa: F403
    from iirl_opt.programs.identify import *  # noqa: F403
    from iirl_opt.programs.normal_form import *  # noqa: F403
    from iirl_opt.programs.occupancy import *  # noqa: F403
    from iirl_opt.programs.realise import *  # noqa: F403
    from iirl_opt.programs.regret import *  # noqa: F403
    from iirl_opt.programs.rewards import *  # noqa: F403
    from iirl_opt.programs.sets import *  # noqa: F403
    from iirl_opt.programs.verify import Verdict as Verdict
    from iirl_opt.programs.verify import VerificationReport as VerificationReport
    from iirl_opt.programs.verify import prove_inclusion as prove_inclusion
    from iirl_opt.programs.verify import verify_affine as verify_affine
    from iirl_opt.solver import *  # noqa: F403
