from .answers import (
    Answer as Answer,
)
from .answers import (
    Finding as Finding,
)
from .answers import (
    answer as answer,
)
from .answers import (
    check as check,
)
from .answers import (
    find_model as find_model,
)
from .answers import (
    learn as learn,
)
from .answers import (
    learning_answer as learning_answer,
)
from .answers import (
    match as match,
)
from .answers import (
    program as program,
)
from .answers import (
    read_model as read_model,
)
from .answers import (
    shipped_models as shipped_models,
)
from .answers import (
    verification as verification,
)
from .learners import (
    LEARNERS as LEARNERS,
)
from .learners import (
    make_learner as make_learner,
)

__all__ = [
    "LEARNERS",
    "Answer",
    "Finding",
    "answer",
    "check",
    "find_model",
    "learn",
    "learning_answer",
    "make_learner",
    "match",
    "program",
    "read_model",
    "shipped_models",
    "verification",
]
