"""Chains: the draws of several Markov chains, and whether they can be trusted.

Diagnostics are ArviZ's (extra ``bayes``): rank-normalised split R-hat, bulk and tail effective
sample size, over all rewards, the parameter and the log posterior. Where R-hat exceeds 1.05 the
chains have not found the same distribution, and `Chains.warning` says so.

The *ridge* is another matter: a chain may have mixed and yet its mean reward mean little, because
the likelihood does not change along ``((1 − t) u + t r, β/t)``. `Chains.ridge` says how much of the
spread of the draws is spread along it, and `normalised` takes it out.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.bayesian.posterior import Normal, normalise
from iirl_opt.brief import in_brief
from iirl_opt.checks import RNG, checked
from iirl_opt.errors import MissingExtra
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable

__all__ = ["Chains", "Diagnostics", "Ridge"]

Array = NDArray[np.float64]

LARGEST_R_HAT = 1.05
TAILS = (0.05, 0.95)  # the default of ArviZ 0, which ArviZ 1 wants to be told


class Diagnostics(NamedTuple):
    """The worst over all rewards, the parameter and the log posterior.

    Attributes
    ----------
    r_hat : the largest rank-normalised split R-hat; NaN where too few draws decide nothing.
    ess_bulk, ess_tail : the smallest effective sample sizes.

    Examples
    --------
    >>> found = Diagnostics(r_hat=1.21, ess_bulk=35.0, ess_tail=28.0)  # as ``chains.diagnostics``
    >>> found.r_hat > 1.05  # these chains have not mixed
    True
    """

    r_hat: float
    ess_bulk: float
    ess_tail: float

    def __repr__(self) -> str:
        return in_brief(self)


class Ridge(NamedTuple):
    """How far the draws spread along what the follower's play cannot tell.

    Attributes
    ----------
    uniform_share : mean of ``S · min r``, the share of a draw that is the constant reward.
    spread : relative standard deviation of the parameter as drawn.
    spread_normalised : the same after ``"min"``.

    Examples
    --------
    >>> from iirl_opt.bayesian import Evidence, Posterior, sample
    >>> from iirl_opt.game.generate import random_game
    >>> game, _ = random_game(3, 2, 2, rng=0)
    >>> chains = sample(Posterior(Evidence(game)), 40, chains=1, fast=False)
    >>> 0 <= chains.ridge.uniform_share <= 1
    True
    >>> chains.ridge.spread > 0  # of the parameter, as drawn
    True
    """

    uniform_share: float
    spread: float
    spread_normalised: float

    def __repr__(self) -> str:
        return in_brief(self)

    def __str__(self) -> str:
        return (
            "reward and parameter are known up to a ridge only: a share "
            f"{self.uniform_share:.3g} of the mean draw is a constant reward, which the likelihood "
            f"cannot see; the parameter spreads by {self.spread:.3g} of its mean as drawn and by "
            f"{self.spread_normalised:.3g} with normalise='min'"
        )


@dataclass(frozen=True, eq=False)
class Chains(Tabular):
    """Draws from a posterior.

    Attributes
    ----------
    rewards : shape (chains, draws, S).
    parameters : shape (chains, draws).
    log_posterior : up to one constant, shape (chains, draws).
    acceptance : the share of accepted proposals of each chain, shape (chains,).
    thin : the number of proposals a draw.
    parameter : the name of the parameter.
    scales : whether it is in one over the unit of the reward.
    seconds : how long it took.

    Examples
    --------
    >>> from iirl_opt.bayesian import Evidence, Posterior, sample
    >>> from iirl_opt.game.generate import random_game
    >>> game, _ = random_game(3, 2, 2, rng=0)
    >>> chains = sample(Posterior(Evidence(game)), 40, chains=2, thin=4, fast=False)
    >>> chains.n_draws, chains.rewards.shape, chains.mean_reward.shape
    (20, (2, 10, 3), (3,))
    >>> chains.table().column("quantity")
    ['beta', 'reward[0]', 'reward[1]', 'reward[2]']
    """

    rewards: Array
    parameters: Array
    log_posterior: Array
    acceptance: Array
    thin: int
    parameter: str
    scales: bool
    seconds: float

    __repr__ = in_brief

    def table(self) -> FactTable:
        """Return a row a quantity: mean, standard deviation and quantiles over all draws.

        **Cost** arithmetic. Whether the draws can be trusted is said by `warning`.
        """
        n_states = self.rewards.shape[-1]
        columns = [self.parameters.ravel(), *self.rewards.reshape(-1, n_states).T]
        names = [self.parameter, *(f"reward[{s}]" for s in range(n_states))]
        rows = []
        for name, draws in zip(names, columns, strict=True):
            low, median, high = np.quantile(draws, (0.05, 0.5, 0.95)).tolist()
            spread = {"5 %": low, "median": median, "95 %": high}
            facts = {"mean": float(draws.mean()), "standard deviation": float(draws.std())}
            rows.append({"quantity": name, **facts, **spread})
        accepted = float(self.acceptance.mean())
        return FactTable(rows, f"{self.n_draws} draws, {accepted:.0%} of the proposals accepted")

    @property
    def n_draws(self) -> int:
        """The number of draws of all chains."""
        return self.parameters.size

    @property
    def mean_reward(self) -> Array:
        """The mean reward of all draws, shape (S,)."""
        mean: Array = self.rewards.mean(axis=(0, 1))
        return mean

    @property
    def mean_parameter(self) -> float:
        """The mean parameter of all draws."""
        return float(self.parameters.mean())

    @property
    def last(self) -> tuple[tuple[Array, float], ...]:
        """The last (reward, parameter) of each chain: where the next episode's chains start."""
        return tuple(
            (r[-1].copy(), float(theta[-1]))
            for r, theta in zip(self.rewards, self.parameters, strict=True)
        )

    @checked(rng=RNG)
    def pick(self, rng: int | np.random.Generator | None) -> tuple[Array, float]:
        """Return one of the draws, uniformly: its reward (S,) and parameter."""
        index = int(np.random.default_rng(rng).integers(self.n_draws))
        chain, draw = np.unravel_index(index, self.parameters.shape)
        return self.rewards[chain, draw].copy(), float(self.parameters[chain, draw])

    def normalised(self, how: Normal) -> Chains:
        """Return the chains with each draw moved along its ridge, see ``normalise``.

        For another scale of the parameter the log posteriors are those of the draws as drawn.
        """
        rewards, parameters = normalise(self.rewards, self.parameters, how, scales=self.scales)
        return replace(self, rewards=rewards, parameters=parameters)

    @property
    def ridge(self) -> Ridge:
        """How far the draws spread along the ridge. **Cost** arithmetic."""
        _, moved = normalise(self.rewards, self.parameters, "min", scales=self.scales)
        share = self.rewards.shape[-1] * float(self.rewards.min(axis=-1).mean())
        return Ridge(share, _relative_spread(self.parameters), _relative_spread(moved))

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """R-hat and effective sample sizes, the worst of all quantities that move.

        Raises
        ------
        MissingExtra
            ArviZ is not installed.
        """
        az = _arviz()
        parts = [self.parameters, self.log_posterior]
        parts += [self.rewards[..., s] for s in range(self.rewards.shape[-1])]
        moving = [part for part in parts if np.ptp(part) > 0]
        if self.parameters.shape[1] < 4 or not moving:
            return Diagnostics(np.nan, np.nan, np.nan)
        # A chain that stands still has no variance; what then is NaN must stay so.
        with np.errstate(invalid="ignore", divide="ignore"):
            return Diagnostics(
                float(np.max([az.rhat(part) for part in moving])),
                float(np.min([az.ess(part, method="bulk") for part in moving])),
                float(np.min([az.ess(part, method="tail", prob=TAILS) for part in moving])),
            )

    @cached_property
    def warning(self) -> str | None:
        """What speaks against trusting the draws; None if nothing does."""
        try:
            found = self.diagnostics
        except MissingExtra as missing:
            return str(missing)
        if np.isnan(found.r_hat):
            return "too few draws, or none that moved: R-hat is not defined"
        if found.r_hat > LARGEST_R_HAT:
            return (
                f"R-hat is {found.r_hat:.3f} > {LARGEST_R_HAT}: the chains have not mixed; "
                "more proposals, or smaller moves, are needed"
            )
        return None

    def to_arviz(self) -> Any:
        """Return the draws as ArviZ's own object, for its plots and tables.

        Raises
        ------
        MissingExtra
            ArviZ is not installed.
        """
        az = _arviz()
        posterior = {"reward": self.rewards, self.parameter: self.parameters}
        groups = {"posterior": posterior, "sample_stats": {"lp": self.log_posterior}}
        if "data" in inspect.signature(az.from_dict).parameters:  # ArviZ 1
            return az.from_dict(groups, dims={"reward": ["state"]})
        return az.from_dict(**groups, dims={"reward": ["state"]})


def _relative_spread(numbers: Array) -> float:
    mean = float(numbers.mean())
    return float(numbers.std()) / mean if mean > 0 else 0.0


def _arviz() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # 0.23 announces version 1
            import arviz
    except ImportError:
        raise MissingExtra("diagnostics of chains", "bayes") from None
    return arviz
