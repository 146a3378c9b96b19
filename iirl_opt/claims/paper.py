"""Every statement of the paper, and what is true in place of those that are not."""

from __future__ import annotations

from iirl_opt.claims.bayesian import CLAIMS as BAYESIAN
from iirl_opt.claims.claim import Claim
from iirl_opt.claims.cooperation import CLAIMS as COOPERATION
from iirl_opt.claims.feasible import CLAIMS as FEASIBLE
from iirl_opt.claims.ideal import CLAIMS as IDEAL
from iirl_opt.claims.learning import CLAIMS as LEARNING
from iirl_opt.claims.optima import CLAIMS as OPTIMA
from iirl_opt.claims.planning import CLAIMS as PLANNING
from iirl_opt.claims.strict import CLAIMS as STRICT
from iirl_opt.claims.suboptimal import CLAIMS as SUBOPTIMAL

__all__ = ["PAPER"]

PAPER: tuple[Claim, ...] = (
    FEASIBLE + IDEAL + STRICT + COOPERATION + OPTIMA + LEARNING + SUBOPTIMAL + PLANNING + BAYESIAN
)
