"""The usual sampling of a posterior: how many proposals, how many are kept, and which moves.

Dirichlet proposals mix faster in small games, the paper's walk in large ones: ``docs/bayesian.rst``
has the figures.
"""

from __future__ import annotations

from iirl_opt.bayesian.priors import DirichletPrior
from iirl_opt.bayesian.proposals import DirichletProposal, SimplexWalk
from iirl_opt.bayesian.sampler import RewardMove

__all__ = ["usual_move", "usual_proposals", "usual_thin"]

# The share of accepted proposals that Dirichlet proposals adapt to.
ACCEPTANCE = 0.3

# Proposals of each chain: in each episode and in large games; and of one posterior of a small one,
# in which they take seconds and give means to three digits.
PROPOSALS, MANY_PROPOSALS = 10_000, 200_000

# Draws that are kept of each chain: about so many numbers, between these ends.
NUMBERS, FEWEST, MOST = 150_000, 1000, 50_000

# Up to so many states Dirichlet proposals mix faster than the paper's walk.
SMALL = 20


def usual_proposals(n_states: int, *, episodes: bool) -> int:
    """Return the number of proposals of a chain, in each of several episodes or in all."""
    return MANY_PROPOSALS if n_states <= SMALL and not episodes else PROPOSALS


def usual_thin(n_states: int, proposals: int) -> int:
    """Return how many proposals make a draw: what leaves 1000 draws a chain, or more.

    Up to 50,000 in the smallest games, so that the draws of a file stay some megabytes.
    """
    kept = min(max(NUMBERS // n_states, FEWEST), MOST)
    return max(1, proposals // kept)


def usual_move(n_states: int, prior: DirichletPrior) -> RewardMove:
    """Return the move of the reward: the walk in large games, else Dirichlet proposals.

    These adapt while the chains warm up.
    """
    if n_states > SMALL and bool((prior.shape(n_states) >= 1).all()):
        return SimplexWalk(grid=max(1000, 2 * n_states))
    return DirichletProposal(10.0 * n_states, acceptance=ACCEPTANCE)
