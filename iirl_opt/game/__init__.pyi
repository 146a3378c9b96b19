from .classes import (
    CommunicatingClass as CommunicatingClass,
    absorbing_states as absorbing_states,
    communicating_classes as communicating_classes,
    dead_ends as dead_ends,
    reachable as reachable,
)
from .exact import (
    ExactOptimum as ExactOptimum,
    exact_gaps as exact_gaps,
    exact_optimum as exact_optimum,
    exact_values as exact_values,
)
from .generate import (
    random_game as random_game,
)
from .graph import (
    from_networkx as from_networkx,
    to_networkx as to_networkx,
)
from .grid import (
    GridGame as GridGame,
    grid_game as grid_game,
)
from .horizon import (
    FiniteHorizon as FiniteHorizon,
    finite_horizon as finite_horizon,
)
from .mazes import (
    introductory_game as introductory_game,
    introductory_mazes as introductory_mazes,
    maze_maker as maze_maker,
)
from .mdp import (
    MDP as MDP,
    TwoAgentMDP as TwoAgentMDP,
)
from .optimum import (
    Gaps as Gaps,
    Optimum as Optimum,
    follower_gaps as follower_gaps,
    modified_policy_iteration as modified_policy_iteration,
    policy_iteration as policy_iteration,
)
from .policy import (
    check_policy as check_policy,
    deterministic_policy as deterministic_policy,
    joint_policy as joint_policy,
    mix as mix,
    random_deterministic_policy as random_deterministic_policy,
    random_policy as random_policy,
    split as split,
    uniform_policy as uniform_policy,
)
from .pruning import (
    Pruned as Pruned,
    prune as prune,
)
from .reward import (
    tie_tolerance as tie_tolerance,
)
from .store import (
    load_game as load_game,
    save_game as save_game,
)
from .values import (
    error_bound as error_bound,
    evaluate as evaluate,
    local_scale as local_scale,
)

__all__ = [
    "MDP",
    "CommunicatingClass",
    "ExactOptimum",
    "FiniteHorizon",
    "Gaps",
    "GridGame",
    "Optimum",
    "Pruned",
    "TwoAgentMDP",
    "absorbing_states",
    "check_policy",
    "communicating_classes",
    "dead_ends",
    "deterministic_policy",
    "error_bound",
    "evaluate",
    "exact_gaps",
    "exact_optimum",
    "exact_values",
    "finite_horizon",
    "follower_gaps",
    "from_networkx",
    "grid_game",
    "introductory_game",
    "introductory_mazes",
    "joint_policy",
    "load_game",
    "local_scale",
    "maze_maker",
    "mix",
    "modified_policy_iteration",
    "policy_iteration",
    "prune",
    "random_deterministic_policy",
    "random_game",
    "random_policy",
    "reachable",
    "save_game",
    "split",
    "tie_tolerance",
    "to_networkx",
    "uniform_policy",
]
