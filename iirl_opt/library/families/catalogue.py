"""The list of families: one more is a file beside this one, and a line here.

They stand in the order in which ``models/README.md`` describes them.
"""

from __future__ import annotations

from iirl_opt.library.families.affine_equivalence import AffineQuestion
from iirl_opt.library.families.bayesian import BayesianQuestion
from iirl_opt.library.families.commitment import CommitmentQuestion
from iirl_opt.library.families.feasible_rewards import FeasibleRewardsQuestion
from iirl_opt.library.families.learning import LearningQuestion
from iirl_opt.library.families.occupancy import OccupancyQuestion
from iirl_opt.library.families.regret import RegretQuestion
from iirl_opt.library.families.soft_rewards import SoftRewardsQuestion
from iirl_opt.library.question import Question

__all__ = ["FAMILIES", "OF_A_GAME"]

FAMILIES: tuple[type[Question], ...] = (
    LearningQuestion,
    BayesianQuestion,
    FeasibleRewardsQuestion,
    OccupancyQuestion,
    CommitmentQuestion,
    AffineQuestion,
    SoftRewardsQuestion,
    RegretQuestion,
)

# What is asked of a file that has a game and a reward, and no question.
OF_A_GAME: type[Question] = LearningQuestion
