"""Priors: what is believed of the reward and of the follower's parameter before any episode.

Of a reward, `DirichletPrior` on the simplex, uniform by default. Of a parameter, `GammaPrior`,
`exponential_prior` (the paper's, for β), `UniformPrior` (for ε) and `Known`, for a number that
nobody has to learn. Your own prior is any object with `log_density` and `draw`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.bayesian.engine import dirichlet_log, gamma_log
from iirl_opt.brief import in_brief
from iirl_opt.checks import FINITE, POSITIVE, RNG, array_of_floats, checked, has, whole
from iirl_opt.errors import InvalidArgument, InvalidReward

__all__ = [
    "DirichletPrior",
    "GammaPrior",
    "Known",
    "ParameterPrior",
    "RewardPrior",
    "UniformPrior",
    "exponential_prior",
]

Array = NDArray[np.float64]


class RewardPrior(Protocol):
    """A distribution over rewards (S,) of the simplex."""

    def log_density(self, reward: Array) -> float:
        """Return the log density, up to a constant."""
        ...

    def draw(self, n_states: int, rng: np.random.Generator) -> Array:
        """Draw a reward (S,)."""
        ...


class ParameterPrior(Protocol):
    """A distribution over the parameter of a family."""

    def log_density(self, parameter: float) -> float:
        """Return the log density, up to a constant; −∞ outside the support."""
        ...

    def draw(self, rng: np.random.Generator) -> float:
        """Draw a parameter."""
        ...

    @property
    def support(self) -> tuple[float, float]:
        """The ends of an interval, outside which the density is zero."""
        ...


# What an argument `reward_prior` or `parameter_prior` may be.
PRIOR = has("log_density", "draw", what="a prior")


@checked(concentration=array_of_floats(0, 1, empty=False))
@dataclass(frozen=True, eq=False)
class DirichletPrior:
    """The Dirichlet distribution on the simplex.

    Parameters
    ----------
    concentration : > 0, one number for all states or an array (S,); 1 is uniform.

    Examples
    --------
    >>> prior = DirichletPrior([1.0, 1.0, 8.0])  # most of the reward is in the last state
    >>> bool(prior.log_density([0.1, 0.1, 0.8]) > prior.log_density([0.8, 0.1, 0.1]))
    True
    >>> prior.draw(3, np.random.default_rng(0)).shape
    (3,)
    """

    concentration: ArrayLike = 1.0

    __repr__ = in_brief

    def __post_init__(self) -> None:
        alpha = np.asarray(self.concentration, dtype=float)
        if alpha.ndim > 1 or not (np.isfinite(alpha) & (alpha > 0)).all():
            raise InvalidArgument(
                "concentration", f"is {self.concentration}", "finite numbers > 0, () or (S,)", alpha
            )

    @checked(n_states=whole(1))
    def shape(self, n_states: int) -> Array:
        """Return the concentration of each state, shape (S,)."""
        alpha = np.asarray(self.concentration, dtype=float)
        if alpha.ndim == 1 and alpha.shape != (n_states,):
            raise InvalidArgument(
                "concentration", f"has shape {alpha.shape}", f"() or ({n_states},)", alpha.shape
            )
        return np.array(np.broadcast_to(alpha, n_states))

    @checked(reward=array_of_floats(1, error=InvalidReward, empty=False))
    def log_density(self, reward: Array) -> float:
        """Return the log density at a reward (S,) of the simplex."""
        return dirichlet_log(np.asarray(reward, dtype=float), self.shape(np.size(reward)))

    @checked(n_states=whole(1), rng=RNG)
    def draw(self, n_states: int, rng: np.random.Generator) -> Array:
        """Draw a reward (S,)."""
        return rng.dirichlet(self.shape(n_states))


@checked(shape=POSITIVE, rate=POSITIVE)
@dataclass(frozen=True)
class GammaPrior:
    """The Gamma distribution with density ∝ ``θ^(shape − 1) exp(−rate θ)`` on θ > 0.

    Examples
    --------
    >>> prior = GammaPrior(shape=2.0, rate=0.1)  # of mean shape / rate = 20
    >>> prior.support, prior.log_density(10.0) > prior.log_density(100.0)
    ((0.0, inf), True)
    """

    shape: float
    rate: float

    @checked(parameter=FINITE)
    def log_density(self, parameter: float) -> float:
        """Return the log density; −∞ below 0."""
        return gamma_log(parameter, self.shape, self.rate)

    @checked(rng=RNG)
    def draw(self, rng: np.random.Generator) -> float:
        """Draw a parameter."""
        return float(rng.gamma(self.shape, 1 / self.rate))

    @property
    def support(self) -> tuple[float, float]:
        """All numbers from 0 on."""
        return 0.0, np.inf


@checked(mean=POSITIVE)
def exponential_prior(mean: float = 500.0) -> GammaPrior:
    """Return the exponential distribution of this mean.

    **Source** paper, Section 5.1; the mean 500 is the authors' code's. **Cost** constant.

    Examples
    --------
    >>> exponential_prior(), exponential_prior(mean=20.0).rate
    (GammaPrior(shape=1.0, rate=0.002), 0.05)
    """
    return GammaPrior(1.0, 1 / mean)


@checked(low=FINITE, high=FINITE)
@dataclass(frozen=True)
class UniformPrior:
    """The uniform distribution on an interval; [0, 1] by default.

    Examples
    --------
    >>> prior = UniformPrior(0.0, 0.5)
    >>> prior.support, round(prior.log_density(0.25), 3), prior.log_density(0.75)
    ((0.0, 0.5), 0.693, -inf)
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise InvalidArgument(
                "low, high", f"are {self.low}, {self.high}", "finite, low < high", self.low
            )

    @checked(parameter=FINITE)
    def log_density(self, parameter: float) -> float:
        """Return the log density; −∞ outside the interval."""
        inside = self.low <= parameter <= self.high
        return -float(np.log(self.high - self.low)) if inside else -np.inf

    @checked(rng=RNG)
    def draw(self, rng: np.random.Generator) -> float:
        """Draw a parameter."""
        return float(rng.uniform(self.low, self.high))

    @property
    def support(self) -> tuple[float, float]:
        """The interval."""
        return float(self.low), float(self.high)


@checked(value=FINITE)
@dataclass(frozen=True)
class Known:
    """A parameter that is known: chains leave it where it is.

    Examples
    --------
    >>> Known(20.0).support, Known(20.0).log_density(19.0)
    ((20.0, 20.0), -inf)
    """

    value: float

    @checked(parameter=FINITE)
    def log_density(self, parameter: float) -> float:
        """Return 0 at the known value, −∞ elsewhere."""
        return 0.0 if parameter == self.value else -np.inf

    @checked(rng=RNG)
    def draw(self, rng: np.random.Generator) -> float:
        """Return the known value."""
        return self.value

    @property
    def support(self) -> tuple[float, float]:
        """The known value alone."""
        return float(self.value), float(self.value)
