from .answers import (
    Finding as Finding,
    ModelAnswer as ModelAnswer,
    check as check,
)
from .learners import (
    LEARNERS as LEARNERS,
    make_learner as make_learner,
)
from .making import (
    make_model as make_model,
    make_question as make_question,
)
from .problem import (
    ModelProblem as ModelProblem,
)
from .question import (
    ProgramQuestion as ProgramQuestion,
    Question as Question,
    RunQuestion as RunQuestion,
)
from .reading import (
    model_schema as model_schema,
    read_model as read_model,
)
from .rows import (
    UserRow as UserRow,
)
from .run import (
    EpisodesRun as EpisodesRun,
    Run as Run,
)
from .shipped import (
    find_model as find_model,
    shipped_models as shipped_models,
)
from .solving import (
    answer as answer,
    learn as learn,
    match as match,
    program as program,
    verify as verify,
)
from .writing import (
    write_model as write_model,
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
    "make_model",
    "make_question",
    "match",
    "model_schema",
    "program",
    "read_model",
    "shipped_models",
    "verify",
    "write_model",
]
