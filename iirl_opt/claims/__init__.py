"""The paper's statements as code: each with a status, a search and a counterexample.

`PAPER` holds every statement of the paper, and what is true in place of those that are not; the
command ``iirl-opt claims`` prints it. A claim of your own is a `Claim` with a hypothesis strategy
for its instances and a predicate on one instance; ``iirl-opt claims FILE`` tries the list
``claims`` of a Python file. hypothesis (the extra ``testing``) is loaded when claims are tried.
"""

from iirl_opt.claims.bayesian import CLAIMS as BAYESIAN
from iirl_opt.claims.claim import (
    Claim,
    Outcome,
    Result,
    describe,
    read_claims,
    run_claims,
    untried,
)
from iirl_opt.claims.cooperation import CLAIMS as COOPERATION
from iirl_opt.claims.feasible import CLAIMS as FEASIBLE
from iirl_opt.claims.ideal import CLAIMS as IDEAL
from iirl_opt.claims.learning import CLAIMS as LEARNING
from iirl_opt.claims.optima import CLAIMS as OPTIMA
from iirl_opt.claims.planning import CLAIMS as PLANNING
from iirl_opt.claims.strict import CLAIMS as STRICT
from iirl_opt.claims.suboptimal import CLAIMS as SUBOPTIMAL

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

PAPER: tuple[Claim, ...] = (
    FEASIBLE + IDEAL + STRICT + COOPERATION + OPTIMA + LEARNING + SUBOPTIMAL + PLANNING + BAYESIAN
)
