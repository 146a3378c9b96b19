from .active import (
    ActiveIRL as ActiveIRL,
)
from .algorithm_1 import (
    ContradictionWarning as ContradictionWarning,
    InteractiveIRL as InteractiveIRL,
)
from .baselines import (
    FixedEnvironment as FixedEnvironment,
    MaximumEntropy as MaximumEntropy,
    MaxMargin as MaxMargin,
    RandomReward as RandomReward,
)
from .choices import (
    AnalyticCentre as AnalyticCentre,
    ChebyshevCentre as ChebyshevCentre,
    Chosen as Chosen,
    HitAndRunMean as HitAndRunMean,
    MeanOfVertices as MeanOfVertices,
    RandomVertex as RandomVertex,
    RewardChoice as RewardChoice,
)
from .committee import (
    CommitteeIRL as CommitteeIRL,
)
from .elsewhere import (
    loss_elsewhere as loss_elsewhere,
)
from .episode_regret import (
    best_value as best_value,
    loss as loss,
    regret as regret,
)
from .episodes import (
    Episode as Episode,
    interact as interact,
)
from .indifference import (
    Indifference as Indifference,
)
from .learner import (
    Learner as Learner,
)
from .limits import (
    Distinction as Distinction,
    indistinguishable as indistinguishable,
)
from .proposition_1 import (
    ConvergenceCondition as ConvergenceCondition,
    convergence_condition as convergence_condition,
)
from .records import (
    recall as recall,
    record_of as record_of,
)
from .same_answer import (
    OneAnswer as OneAnswer,
    one_answer as one_answer,
)

__all__ = [
    "ActiveIRL",
    "AnalyticCentre",
    "ChebyshevCentre",
    "Chosen",
    "CommitteeIRL",
    "ContradictionWarning",
    "ConvergenceCondition",
    "Distinction",
    "Episode",
    "FixedEnvironment",
    "HitAndRunMean",
    "Indifference",
    "InteractiveIRL",
    "Learner",
    "MaxMargin",
    "MaximumEntropy",
    "MeanOfVertices",
    "OneAnswer",
    "RandomReward",
    "RandomVertex",
    "RewardChoice",
    "best_value",
    "convergence_condition",
    "indistinguishable",
    "interact",
    "loss",
    "loss_elsewhere",
    "one_answer",
    "recall",
    "record_of",
    "regret",
]
