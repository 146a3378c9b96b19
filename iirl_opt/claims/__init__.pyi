from .claim import (
    Claim as Claim,
)
from .claim import (
    Outcome as Outcome,
)
from .claim import (
    Result as Result,
)
from .claim import (
    describe as describe,
)
from .claim import (
    read_claims as read_claims,
)
from .claim import (
    run_claims as run_claims,
)
from .claim import (
    untried as untried,
)
from .paper import (
    PAPER as PAPER,
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
