from .claim import (
    Claim as Claim,
)
from .claim import (
    Outcome as Outcome,
)
from .claim import (
    describe as describe,
)
from .claim import (
    untried as untried,
)
from .paper import (
    PAPER as PAPER,
)
from .search import (
    Result as Result,
)
from .search import (
    read_claims as read_claims,
)
from .search import (
    run_claims as run_claims,
)

__all__ = [
    "PAPER",
    "Claim",
    "Outcome",
    "Result",
    "describe",
    "read_claims",
    "run_claims",
    "untried",
]
