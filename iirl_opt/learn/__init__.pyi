from .active import (
    ActiveIRL as ActiveIRL,
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
from .convergence import (
    ConvergenceCondition as ConvergenceCondition,
)
from .convergence import (
    convergence_condition as convergence_condition,
)
from .interactive import (
    ContradictionWarning as ContradictionWarning,
)
from .interactive import (
    Episode as Episode,
)
from .interactive import (
    InteractiveIRL as InteractiveIRL,
)
from .interactive import (
    Learner as Learner,
)
from .interactive import (
    interact as interact,
)
from .interactive import (
    regret as regret,
)
from .limits import (
    Distinction as Distinction,
)
from .limits import (
    indistinguishable as indistinguishable,
)
from .limits import (
    one_answer as one_answer,
)
from .strategies import (
    AnalyticCentre as AnalyticCentre,
)
from .strategies import (
    ChebyshevCentre as ChebyshevCentre,
)
from .strategies import (
    Chosen as Chosen,
)
from .strategies import (
    HitAndRunMean as HitAndRunMean,
)
from .strategies import (
    MeanOfVertices as MeanOfVertices,
)
from .strategies import (
    RandomVertex as RandomVertex,
)
from .strategies import (
    RewardChoice as RewardChoice,
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
    "convergence_condition",
    "indistinguishable",
    "interact",
    "one_answer",
    "regret",
]
