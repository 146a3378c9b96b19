"""What a family of followers promises (`iirl_opt.bayesian.families`), tried on one of yours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.bayesian.families import FAMILY, FollowerFamily
from iirl_opt.checks import checked, optional
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import follower_action_values
from iirl_opt.testing.arrays import policies, rewards
from iirl_opt.testing.conformance.promises import STRATEGY, Promises, agree, require, suite_settings
from iirl_opt.testing.distributions import given, st
from iirl_opt.testing.models import games as any_games

__all__ = ["check_family"]

Array = NDArray[Any]

# Of parameters without an upper bound, larger ones are not tried.
LARGE = 50.0
# Values that differ by less are tied; logarithms agree to NEAR.
TIED, NEAR = 1e-9, 1e-7


@checked(family=FAMILY, games=optional(STRATEGY))
def check_family(
    family: FollowerFamily, *, games: st.SearchStrategy[TwoAgentMDP] | None = None
) -> None:
    """Try what a family of followers promises; fail with the promise that broke.

    Every family promises: a name and bounds of its parameter; logarithms of distributions, of every
    state by its own action values; the same follower under (λ r + c, θ/λ) if it ``scales`` and
    under (λ r + c, θ) if not; that the order of actions does not matter; that `follower` plays what
    ``log_answer`` says; and that it refuses a parameter out of its bounds.

    Parameters
    ----------
    family : any object of the protocol `FollowerFamily`.
    games : a strategy for the games to try; by default `iirl_opt.testing.games` of at most three
        states.

    Raises
    ------
    AssertionError
        A promise is broken: names it, what was found, and the instance.
    InvalidArgument

    **Cost** two planning problems an example.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> check_family(iirl.bayesian.EpsilonGreedyFamily())
    """
    __tracebackhide__ = True
    promises = Promises("FollowerFamily", family)
    suite = _FamilySuite(family, promises)
    low, high = suite.try_members()
    small = any_games(max_states=3, max_follower_actions=3) if games is None else games
    most = min(high, low + LARGE)
    parameters = st.integers(0, 4).map(lambda k: low + (most - low) * k / 4)
    tried = given(game=small, theta=parameters, data=st.data())(suite.try_instance)
    promises.run(suite_settings()(tried))


@dataclass(frozen=True)
class _FamilySuite:
    """The promises of one family."""

    family: FollowerFamily
    promises: Promises

    def try_members(self) -> tuple[float, float]:
        """Try what the family says of its parameter, and return its bounds."""
        __tracebackhide__ = True
        family, promises = self.family, self.promises
        with promises.keeps("`bounds` are the least and the largest parameter, in this order"):
            low, high = map(float, family.bounds)
            require(math.isfinite(low) and low < high, f"they are {family.bounds}")
        with promises.keeps("`parameter` is a name, and `scales` a truth value"):
            name = family.parameter
            require(isinstance(name, str) and name.isidentifier(), f"parameter is {name!r}")
            require(isinstance(family.scales, bool), f"scales is {family.scales!r}")
        for beyond in filter(math.isfinite, (low - 1, high + 1)):
            promises.refuses(f"the parameter {beyond:g}, out of bounds,", family.follower, beyond)
        return low, high

    def try_instance(self, game: TwoAgentMDP, theta: float, data: st.DataObject) -> None:
        """Try all promises on one game and parameter."""
        __tracebackhide__ = True
        self.promises.begin()
        reward = data.draw(rewards(game), label="reward")
        pi1 = data.draw(policies(game), label="pi1")
        scale = data.draw(st.sampled_from([2.0, 0.5]), label="scale")
        q = follower_action_values(game, reward, pi1)
        keeps, family = self.promises.keeps, self.family
        with keeps("`log_answer` says the logarithms of distributions (n, B)"):
            logs = np.asarray(family.log_answer(q.copy(), theta, TIED))
            require(logs.shape == q.shape, f"at {q.tolist()} it says {logs.tolist()}")
            require(np.allclose(np.exp(logs).sum(axis=1), 1), f"at {q.tolist()}: {logs.tolist()}")
        names = "at first", "then"
        with keeps("`log_answer` looks at one row alone"):
            rows = [family.log_answer(row[None], theta, TIED)[0] for row in q]
            agree(np.exp(logs), np.exp(rows), names, NEAR)
        with keeps("the order of actions does not matter"):
            turned = np.asarray(family.log_answer(q[:, ::-1].copy(), theta, TIED))
            agree(np.exp(logs), np.exp(turned[:, ::-1]), names, NEAR)
        same = theta / scale if family.scales else theta
        with keeps(f"(λ r + c, {'θ/λ' if family.scales else 'θ'}) is the same follower as (r, θ)"):
            if family.bounds[0] <= same <= family.bounds[1]:
                moved = family.log_answer(scale * q + 3.0, same, scale * TIED)
                agree(np.exp(logs), np.exp(moved), names, NEAR)
        with keeps("`follower` plays what `log_answer` says"):
            played = family.follower(theta).respond(game, reward, pi1)
            planned = getattr(family, "log_planned", None)
            if planned is not None:  # no function of Q* alone
                logs = planned(game.follower_mdp(pi1).matrix, game.discount, q, theta)
            agree(np.exp(logs), played, ("log_answer", "follower"), NEAR)
