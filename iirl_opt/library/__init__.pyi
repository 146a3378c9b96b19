from .answers import (
    Finding as Finding,
)
from .answers import (
    ModelAnswer as ModelAnswer,
)
from .answers import (
    check as check,
)
from .learners import (
    LEARNERS as LEARNERS,
)
from .learners import (
    make_learner as make_learner,
)
from .problem import (
    ModelProblem as ModelProblem,
)
from .question import (
    ProgramQuestion as ProgramQuestion,
)
from .question import (
    Question as Question,
)
from .question import (
    RunQuestion as RunQuestion,
)
from .reading import (
    model_schema as model_schema,
)
from .reading import (
    read_model as read_model,
)
from .rows import (
    UserRow as UserRow,
)
from .run import (
    EpisodesRun as EpisodesRun,
)
from .run import (
    Run as Run,
)
from .shipped import (
    find_model as find_model,
)
from .shipped import (
    shipped_models as shipped_models,
)
from .solving import (
    answer as answer,
)
from .solving import (
    learn as learn,
)
from .solving import (
    match as match,
)
from .solving import (
    program as program,
)
from .solving import (
    verify as verify,
)

__all__ = [
    "LEARNERS",
    "EpisodesRun",
    "Finding",
    "ModelAnswer",
    "ModelProblem",
    "ProgramQuestion",
    "Question",
    "Run",
    "RunQuestion",
    "UserRow",
    "answer",
    "check",
    "find_model",
    "learn",
    "make_learner",
    "match",
    "model_schema",
    "program",
    "read_model",
    "shipped_models",
    "verify",
]
