from .arrays import (
    policies as policies,
    rewards as rewards,
)
from .assertions import (
    assert_certificate as assert_certificate,
    assert_kkt as assert_kkt,
    assert_policy as assert_policy,
)
from .conformance.choices import (
    check_reward_choice as check_reward_choice,
)
from .conformance.domains import (
    check_reward_domain as check_reward_domain,
)
from .conformance.families import (
    check_family as check_family,
)
from .conformance.followers import (
    check_follower as check_follower,
)
from .conformance.learners import (
    check_learner as check_learner,
)
from .conformance.solvers import (
    check_solver as check_solver,
)
from .counterexample import (
    save_counterexample as save_counterexample,
)
from .extreme import (
    boundary_rewards as boundary_rewards,
    tied_rewards as tied_rewards,
)
from .models import (
    games as games,
    mdps as mdps,
)
from .partners import (
    followers as followers,
    observations as observations,
    trajectories as trajectories,
)
from .ties import (
    PlantedTies as PlantedTies,
    planted_ties as planted_ties,
)

__all__ = [
    "PlantedTies",
    "assert_certificate",
    "assert_kkt",
    "assert_policy",
    "boundary_rewards",
    "check_family",
    "check_follower",
    "check_learner",
    "check_reward_choice",
    "check_reward_domain",
    "check_solver",
    "followers",
    "games",
    "mdps",
    "observations",
    "planted_ties",
    "policies",
    "rewards",
    "save_counterexample",
    "tied_rewards",
    "trajectories",
]
