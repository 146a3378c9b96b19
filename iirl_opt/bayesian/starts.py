"""Where chains start: at points at which the posterior has a density.

A follower that never errs (ε = 0) gives the density zero to all rewards that do not explain what
was seen, which can be nearly the whole prior. So a start is

1. a draw from the priors, the first of a hundred at which the density is positive;
2. else a reward under which all that was seen is optimal, by a linear program
   (`iirl_opt.rewards.explanation`), moved towards draws from a prior that is zero there;
3. else an error: `InvalidObservation` where it is proved that no reward explains what was seen but
   a set of no volume, over which no posterior has a density; `InvalidArgument` where the search
   merely ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from iirl_opt.bayesian.families import EpsilonGreedyFamily
from iirl_opt.bayesian.posterior import Posterior
from iirl_opt.errors import InvalidArgument, InvalidObservation

if TYPE_CHECKING:
    from iirl_opt.rewards.explanation import Explanation, Seen

__all__ = ["StartSearch"]

Array = NDArray[np.float64]
Point = tuple[Array, float]

# Draws from the prior that are tried; ways from an explanation towards other draws, and how far.
DRAWS, PARAMETERS = 100, 10_000
WAYS, SHARES = 20, (0.05, 0.2, 0.5, 0.8)


class StartSearch:
    """The search for starts of one posterior's chains.

    Parameters
    ----------
    posterior : what is sampled.
    place : maps a reward to the one that a chain would really start from, as on a grid.
    """

    posterior: Posterior
    place: Callable[[Array], Array]

    def __init__(self, posterior: Posterior, place: Callable[[Array], Array]) -> None:
        self.posterior, self.place = posterior, place

    def draw(self, rng: np.random.Generator) -> Point:
        """Return a reward (S,) and a parameter at which the posterior's density is positive.

        Raises
        ------
        InvalidObservation, InvalidArgument
            There is none, or none was found: see the module.

        **Cost** arithmetic where a draw from the prior will do; else some LPs, once a posterior,
        and one for each chain.
        """
        for _ in range(DRAWS):
            at = self._from_prior(rng)
            if self._fits(at):
                return at
        for r in self._explaining(rng):
            at = r, self._parameter(rng)
            if self._fits(at):
                return at
        raise InvalidArgument(
            "initial",
            f"was not found: the density is zero at {DRAWS} draws from the prior and wherever a "
            "reward that explains what was seen was looked for",
            "priors and evidence that agree, or a start of your own",
        )

    def _from_prior(self, rng: np.random.Generator) -> Point:
        r = self.posterior.reward_prior.draw(self.posterior.evidence.game.n_states, rng)
        return r, self._parameter(rng)

    def _parameter(self, rng: np.random.Generator) -> float:
        """Return a draw from the prior of the parameter, one that the family has."""
        low, high = self.posterior.support
        for _ in range(PARAMETERS):
            theta = self.posterior.belief.draw(rng)
            if low <= theta <= high:
                return theta
        least, most = self.posterior.family.bounds
        raise InvalidArgument(
            "parameter_prior",
            f"is {self.posterior.belief!r}, of which {PARAMETERS} draws were no parameter",
            f"more weight on {least:g} ≤ {self.posterior.family.parameter} ≤ {most:g}",
            self.posterior.belief,
        )

    def _fits(self, at: Point) -> bool:
        return bool(np.isfinite(self.posterior.log_density(self.place(at[0]), at[1])))

    def _explaining(self, rng: np.random.Generator) -> Iterator[Array]:
        found = self._explanation
        if found is None:
            return
        rewards = [found.another(rng), found.reward]
        yield from rewards
        for _ in range(WAYS):
            other, _ = self._from_prior(rng)
            for share in SHARES:
                yield from ((1 - share) * r + share * other for r in rewards)

    @cached_property
    def _explanation(self) -> Explanation | None:
        from iirl_opt.rewards.explanation import find_explanation

        seen = list(self._seen())
        if not seen:
            return None
        found, decided = find_explanation(seen, np.random.default_rng(0))
        never_errs = isinstance(self.posterior.family, EpsilonGreedyFamily)
        if found is None and decided and never_errs and self.posterior.support[1] <= 0:
            raise InvalidObservation(
                *self._blame(seen), "answers that a set of rewards of positive volume explains"
            )
        return found

    def _blame(self, seen: list[Seen]) -> tuple[str, str]:
        """Return what cannot be explained, and why."""
        game = self.posterior.evidence.game
        for e, each in enumerate(seen):
            if each.contradiction is not None:
                s, b = each.contradiction
                names = [game.follower_actions[b], game.follower_actions[each.played[s].argmax()]]
                place = f"evidence[commitment {e + 1}, s={game.states[s]!r}]"
                return place, (
                    f"holds {names[1]!r} and {names[0]!r}, which a follower that never errs (ε = "
                    "0) plays both only where they are tied: for no set of rewards that has a "
                    "volume"
                )
        return "evidence", (
            "is explained by no reward, beyond rounding, or by such as have ties everywhere: a "
            "follower that never errs (ε = 0) does not play so"
        )

    def _seen(self) -> Iterator[Seen]:
        from iirl_opt.rewards.explanation import Seen

        evidence = self.posterior.evidence
        for pi1, counts in zip(evidence.commitments, evidence.counts, strict=True):
            if counts.any():
                yield Seen(evidence.game.follower_mdp(pi1), counts > 0)
