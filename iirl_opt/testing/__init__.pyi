from .arrays import (
    policies as policies,
)
from .arrays import (
    rewards as rewards,
)
from .assertions import (
    assert_certificate as assert_certificate,
)
from .assertions import (
    assert_kkt as assert_kkt,
)
from .assertions import (
    assert_policy as assert_policy,
)
from .extreme import (
    boundary_rewards as boundary_rewards,
)
from .extreme import (
    tied_rewards as tied_rewards,
)
from .models import (
    games as games,
)
from .models import (
    mdps as mdps,
)
from .partners import (
    followers as followers,
)
from .partners import (
    observations as observations,
)
from .partners import (
    trajectories as trajectories,
)

__all__ = [
    "assert_certificate",
    "assert_kkt",
    "assert_policy",
    "boundary_rewards",
    "followers",
    "games",
    "mdps",
    "observations",
    "policies",
    "rewards",
    "tied_rewards",
    "trajectories",
]
