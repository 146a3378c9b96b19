from . import (
    bayesian as bayesian,
)
from . import (
    certificate as certificate,
)
from . import (
    claims as claims,
)
from . import (
    commitment as commitment,
)
from . import (
    errors as errors,
)
from . import (
    experiments as experiments,
)
from . import (
    follower as follower,
)
from . import (
    formats as formats,
)
from . import (
    game as game,
)
from . import (
    learn as learn,
)
from . import (
    library as library,
)
from . import (
    observation as observation,
)
from . import (
    occupancy as occupancy,
)
from . import (
    plot as plot,
)
from . import (
    rewards as rewards,
)
from . import (
    solver as solver,
)
from . import (
    testing as testing,
)
from . import (
    verification as verification,
)
from .bayesian import (
    BayesianInteractiveIRL as BayesianInteractiveIRL,
)
from .bayesian import (
    Posterior as Posterior,
)
from .certificate import (
    Certificate as Certificate,
)
from .certificate import (
    certify as certify,
)
from .certificate import (
    read_certificate as read_certificate,
)
from .claims import (
    run_claims as run_claims,
)
from .commitment import (
    CommitmentProblem as CommitmentProblem,
)
from .commitment import (
    StackelbergCommitment as StackelbergCommitment,
)
from .commitment import (
    commit as commit,
)
from .commitment import (
    dominance as dominance,
)
from .commitment import (
    misspecification_loss as misspecification_loss,
)
from .errors import (
    IIRLError as IIRLError,
)
from .errors import (
    Infeasible as Infeasible,
)
from .follower import (
    BoltzmannFollower as BoltzmannFollower,
)
from .follower import (
    EpsilonGreedyFollower as EpsilonGreedyFollower,
)
from .follower import (
    Follower as Follower,
)
from .follower import (
    OptimalFollower as OptimalFollower,
)
from .follower import (
    ProportionalFollower as ProportionalFollower,
)
from .follower import (
    best_responses as best_responses,
)
from .game import (
    MDP as MDP,
)
from .game import (
    TwoAgentMDP as TwoAgentMDP,
)
from .game import (
    deterministic_policy as deterministic_policy,
)
from .game import (
    evaluate as evaluate,
)
from .game import (
    exact_optimum as exact_optimum,
)
from .game import (
    from_networkx as from_networkx,
)
from .game import (
    grid_game as grid_game,
)
from .game import (
    load_game as load_game,
)
from .game import (
    maze_maker as maze_maker,
)
from .game import (
    policy_iteration as policy_iteration,
)
from .game import (
    random_deterministic_policy as random_deterministic_policy,
)
from .game import (
    random_game as random_game,
)
from .game import (
    random_policy as random_policy,
)
from .game import (
    save_game as save_game,
)
from .game import (
    to_networkx as to_networkx,
)
from .game import (
    uniform_policy as uniform_policy,
)
from .learn import (
    ActiveIRL as ActiveIRL,
)
from .learn import (
    Episode as Episode,
)
from .learn import (
    InteractiveIRL as InteractiveIRL,
)
from .learn import (
    interact as interact,
)
from .learn import (
    regret as regret,
)
from .library import (
    read_model as read_model,
)
from .observation import (
    Observation as Observation,
)
from .observation import (
    Trajectory as Trajectory,
)
from .observation import (
    observe as observe,
)
from .observation import (
    sample_trajectory as sample_trajectory,
)
from .occupancy import (
    OccupancyMeasure as OccupancyMeasure,
)
from .occupancy import (
    budget as budget,
)
from .rewards import (
    AffineClass as AffineClass,
)
from .rewards import (
    FeasibleRewards as FeasibleRewards,
)
from .rewards import (
    RewardBox as RewardBox,
)
from .rewards import (
    RewardSimplex as RewardSimplex,
)
from .rewards import (
    worst_regret as worst_regret,
)
from .solver import (
    HiGHS as HiGHS,
)
from .solver import (
    Solved as Solved,
)
from .solver import (
    Status as Status,
)
from .solver import (
    solve as solve,
)
from .verification import (
    NotRealisable as NotRealisable,
)
from .verification import (
    Verdict as Verdict,
)
from .verification import (
    VerificationProtocol as VerificationProtocol,
)
from .verification import (
    ideal_environment as ideal_environment,
)
from .verification import (
    identify as identify,
)
from .verification import (
    realise as realise,
)
from .verification import (
    strict_environment as strict_environment,
)
from .verification import (
    verify_affine as verify_affine,
)

__all__ = [
    "MDP",
    "ActiveIRL",
    "AffineClass",
    "BayesianInteractiveIRL",
    "BoltzmannFollower",
    "Certificate",
    "CommitmentProblem",
    "Episode",
    "EpsilonGreedyFollower",
    "FeasibleRewards",
    "Follower",
    "HiGHS",
    "IIRLError",
    "Infeasible",
    "InteractiveIRL",
    "NotRealisable",
    "Observation",
    "OccupancyMeasure",
    "OptimalFollower",
    "Posterior",
    "ProportionalFollower",
    "RewardBox",
    "RewardSimplex",
    "Solved",
    "StackelbergCommitment",
    "Status",
    "Trajectory",
    "TwoAgentMDP",
    "Verdict",
    "VerificationProtocol",
    "__version__",
    "best_responses",
    "budget",
    "certify",
    "commit",
    "deterministic_policy",
    "dominance",
    "evaluate",
    "exact_optimum",
    "from_networkx",
    "grid_game",
    "ideal_environment",
    "identify",
    "interact",
    "load_game",
    "maze_maker",
    "misspecification_loss",
    "observe",
    "policy_iteration",
    "random_deterministic_policy",
    "random_game",
    "random_policy",
    "read_certificate",
    "read_model",
    "realise",
    "regret",
    "run_claims",
    "sample_trajectory",
    "save_game",
    "solve",
    "strict_environment",
    "to_networkx",
    "uniform_policy",
    "verify_affine",
    "worst_regret",
]

__version__: str
