from .classes import (
    CommunicatingClass as CommunicatingClass,
)
from .classes import (
    absorbing_states as absorbing_states,
)
from .classes import (
    communicating_classes as communicating_classes,
)
from .classes import (
    dead_ends as dead_ends,
)
from .classes import (
    reachable as reachable,
)
from .exact import (
    exact_gaps as exact_gaps,
)
from .exact import (
    exact_optimum as exact_optimum,
)
from .exact import (
    exact_values as exact_values,
)
from .generate import (
    random_game as random_game,
)
from .graph import (
    from_networkx as from_networkx,
)
from .graph import (
    to_networkx as to_networkx,
)
from .grid import (
    GridGame as GridGame,
)
from .grid import (
    grid_game as grid_game,
)
from .mazes import (
    introductory_game as introductory_game,
)
from .mazes import (
    introductory_mazes as introductory_mazes,
)
from .mazes import (
    maze_maker as maze_maker,
)
from .mdp import (
    MDP as MDP,
)
from .mdp import (
    TwoAgentMDP as TwoAgentMDP,
)
from .optimum import (
    Gaps as Gaps,
)
from .optimum import (
    Optimum as Optimum,
)
from .optimum import (
    follower_gaps as follower_gaps,
)
from .optimum import (
    modified_policy_iteration as modified_policy_iteration,
)
from .optimum import (
    policy_iteration as policy_iteration,
)
from .policy import (
    check_policy as check_policy,
)
from .policy import (
    deterministic_policy as deterministic_policy,
)
from .policy import (
    joint_policy as joint_policy,
)
from .policy import (
    mix as mix,
)
from .policy import (
    random_deterministic_policy as random_deterministic_policy,
)
from .policy import (
    random_policy as random_policy,
)
from .policy import (
    split as split,
)
from .policy import (
    uniform_policy as uniform_policy,
)
from .pruning import (
    Pruned as Pruned,
)
from .pruning import (
    prune as prune,
)
from .reward import (
    tie_tolerance as tie_tolerance,
)
from .store import (
    load_game as load_game,
)
from .store import (
    save_game as save_game,
)
from .values import (
    error_bound as error_bound,
)
from .values import (
    evaluate as evaluate,
)
from .values import (
    local_scale as local_scale,
)

__all__ = [
    "MDP",
    "CommunicatingClass",
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
