from .claim import (
    Claim as Claim,
    Outcome as Outcome,
    describe as describe,
    untried as untried,
)
from .paper import (
    PAPER as PAPER,
)
from .search import (
    Result as Result,
    read_claims as read_claims,
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
