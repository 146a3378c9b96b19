from .active import (
    ActiveIRL as ActiveIRL,
)
from .algorithm_1 import (
    ContradictionWarning as ContradictionWarning,
)
from .algorithm_1 import (
    InteractiveIRL as InteractiveIRL,
)
from .baselines import (
    FixedEnvironment as FixedEnvironment,
)
from .baselines import (
    MaximumEntropy as MaximumEntropy,
)
from .baselines import (
    MaxMargin as MaxMargin,
)
from .baselines import (
    RandomReward as RandomReward,
)
from .choices import (
    AnalyticCentre as AnalyticCentre,
)
from .choices import (
    ChebyshevCentre as ChebyshevCentre,
)
from .choices import (
    Chosen as Chosen,
)
from .choices import (
    HitAndRunMean as HitAndRunMean,
)
from .choices import (
    MeanOfVertices as MeanOfVertices,
)
from .choices import (
    RandomVertex as RandomVertex,
)
from .choices import (
    RewardChoice as RewardChoice,
)
from .episode_regret import (
    best_value as best_value,
)
from .episode_regret import (
    loss as loss,
)
from .episode_regret import (
    regret as regret,
)
from .episodes import (
    Episode as Episode,
)
from .episodes import (
    interact as interact,
)
from .learner import (
    Learner as Learner,
)
from .limits import (
    Distinction as Distinction,
)
from .limits import (
    indistinguishable as indistinguishable,
)
from .proposition_1 import (
    ConvergenceCondition as ConvergenceCondition,
)
from .proposition_1 import (
    convergence_condition as convergence_condition,
)
from .same_answer import (
    one_answer as one_answer,
)

__all__ = [
    "ActiveIRL",
    "AnalyticCentre",
    "ChebyshevCentre",
    "Chosen",
    "ContradictionWarning",
    "ConvergenceCondition",
    "Distinction",
    "Episode",
    "FixedEnvironment",
    "HitAndRunMean",
    "InteractiveIRL",
    "Learner",
    "MaxMargin",
    "MaximumEntropy",
    "MeanOfVertices",
    "RandomReward",
    "RandomVertex",
    "RewardChoice",
    "best_value",
    "convergence_condition",
    "indistinguishable",
    "interact",
    "loss",
    "one_answer",
    "regret",
]
