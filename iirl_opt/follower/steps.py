"""Which followers answer in a time-expanded game as they answer over its steps.

Where a horizon has factors (`iirl_opt.game.horizon`), the action values of step τ are those of the
play times the factor of τ. A follower that only compares values plays on as it did. A temperature
would have to change with the step: a Boltzmann follower of one β is surer of itself wherever the
factor is larger.
"""

from __future__ import annotations

from iirl_opt.checks import checked, is_a
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.protocols import FOLLOWER, Follower
from iirl_opt.game.horizon import FiniteHorizon

__all__ = ["check_steps"]


@checked(play=is_a(FiniteHorizon), follower=FOLLOWER)
def check_steps(play: FiniteHorizon, follower: Follower) -> Follower:
    """Return a follower that answers in the expanded game as over the steps, or refuse it.

    Where no factor changes anything every follower does, also one of your own. Elsewhere a follower
    of your own is refused, as nothing tells whether it has a temperature.

    Raises
    ------
    InvalidArgument

    **Cost** constant.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, _ = iirl.random_game(3, 2, 2, rng=1)
    >>> play = iirl.game.finite_horizon(game, 5, discount=1)
    >>> check_steps(play, iirl.EpsilonGreedyFollower(0.1))
    EpsilonGreedyFollower(epsilon=0.1, ties='first', seed=None)
    >>> check_steps(iirl.game.finite_horizon(game, 5), iirl.BoltzmannFollower(2))
    BoltzmannFollower(beta=2)
    >>> check_steps(play, iirl.BoltzmannFollower(2))
    Traceback (most recent call last):
    ...
    iirl_opt.errors.InvalidArgument: follower is BoltzmannFollower(beta=2), whose numbers have a \
unit that changes with the step; allowed an optimal or ε-greedy follower; or any in a horizon \
without factors, of a discount below 1 that the expanded game keeps
    """
    if play.alike or isinstance(follower, OptimalFollower | EpsilonGreedyFollower):
        return follower
    problem = f"is {follower!r}, whose numbers have a unit that changes with the step"
    allowed = (
        "an optimal or ε-greedy follower; or any in a horizon without factors, of a discount below "
        "1 that the expanded game keeps"
    )
    raise InvalidArgument("follower", problem, allowed, follower)
