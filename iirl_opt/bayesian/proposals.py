"""Proposals: how a chain moves, as small frozen objects.

Of the reward, either

* `SimplexWalk`, the paper's: 100 moves of 0.001 on a discretised simplex. A move picks an ordered
  pair of states uniformly and carries 0.001 of reward from the first to the second, or stays where
  there is less. Each move is as likely as its reverse, so the whole walk is symmetric; a walk that
  picks among the valid neighbours is not, at the boundary, and the density of its path is no sum
  that one can compute;
* `DirichletProposal`, around the current reward, with its density in both directions;

and of the parameter, `GammaProposal` for β > 0 with both densities, or `ReflectedStep` for ε, which
is symmetric. Without one of them the step fits the prior (`parameter_step`): a prior known to a
thousandth gets steps of that size, and a bounded one is not left. `Hamiltonian` moves both at once
along the gradient: with one step it is the Metropolis-adjusted Langevin algorithm (MALA).

With a stated `acceptance` the moves of a `DirichletProposal`, and with them those of the parameter,
shrink or grow while a chain warms up until about that share is accepted. Afterwards they stay, so
that what is kept comes from one Metropolis–Hastings chain.

Where a scale is learnt, chains with `DirichletProposal` or `Hamiltonian` also *slide* along the
ridge of (r, β), on which the likelihood is flat, after each proposal. That is a Metropolis–Hastings
move of its own, judged by the prior alone, and costs no planning. Without it they hardly ever reach
the end of the ridge, or leave it: the reward is nearly constant there, and whatever step suits the
rest is too long. `SimplexWalk` stays on its grid and does not slide.

Source: the paper, Appendix D; Algorithm 4 there divides by the density of the new point alone and
compares with a stored ratio, which is no Metropolis–Hastings for proposals that are not symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.bayesian.engine import DIRICHLET, GAMMA, REFLECTED, STAY, WALK
from iirl_opt.bayesian.priors import ParameterPrior
from iirl_opt.checks import POSITIVE, array_of_floats, between, checked, has, optional, whole
from iirl_opt.errors import InvalidArgument, InvalidReward

__all__ = [
    "DirichletProposal",
    "GammaProposal",
    "Hamiltonian",
    "ReflectedStep",
    "SimplexWalk",
]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Move = tuple[int, float, float]
Step = tuple[int, float, float, float]

# Draws by which the width of a prior is judged; the usual steps, which are for wide ones.
DRAWS = 400
WIDTH, SHAPE = 0.1, 20.0
LARGEST_SHAPE = 1e30  # of a factor that floats can tell from one


# What an argument `move` or `parameter_move` may be.
MOVE = has("code", what="a move such as SimplexWalk()")


@checked(moves=whole(1), grid=whole(1))
@dataclass(frozen=True)
class SimplexWalk:
    """The lazy walk on the simplex of multiples of 1/grid.

    Its chains live on the grid, where the uniform prior is uniform over the points of the grid.

    Parameters
    ----------
    moves : how many a proposal makes.
    grid : the number of units that the reward is divided into; 1000 is the paper's 0.001.

    Examples
    --------
    >>> SimplexWalk(grid=10).snap(np.array([0.33, 0.33, 0.34]))  # of its ten units
    array([3, 3, 4])
    """

    moves: int = 100
    grid: int = 1000

    @property
    def code(self) -> Move:
        """What the engine reads."""
        return WALK, float(self.moves), float(self.grid)

    @checked(reward=array_of_floats(1, error=InvalidReward, empty=False), least=whole(0))
    def snap(self, reward: Array, *, least: int = 0) -> Integers:
        """Return the units (S,) of a point of the grid near a reward, each at least `least`."""
        room = self.grid - least * reward.size
        if room < 0:
            raise InvalidArgument(
                "grid", f"is {self.grid}", f"≥ {least * reward.size} for such a prior", self.grid
            )
        exact = reward * room
        units = np.floor(exact).astype(np.int64)
        short = room - int(units.sum())
        units[np.argsort(units - exact, kind="stable")[:short]] += 1
        return units + least


@checked(concentration=POSITIVE, offset=POSITIVE, acceptance=optional(between(0, 1, "()")))
@dataclass(frozen=True)
class DirichletProposal:
    """A new reward from ``Dirichlet(concentration · r + offset)``.

    Parameters
    ----------
    concentration : > 0; the larger, the smaller the moves.
    offset : > 0; keeps the distribution proper where a reward is nearly 0.
    acceptance : the share of accepted proposals that the size of the moves is adapted to while a
        chain warms up; not at all by default.

    Examples
    --------
    >>> from iirl_opt.bayesian import Evidence, Posterior, sample
    >>> from iirl_opt.game.generate import random_game
    >>> game, _ = random_game(3, 2, 2, rng=0)
    >>> posterior, move = Posterior(Evidence(game)), DirichletProposal(100.0)
    >>> chains = sample(posterior, 20, move=move, chains=1, fast=False)
    >>> chains.rewards.shape, bool(np.allclose(chains.rewards.sum(axis=-1), 1))
    ((1, 20, 3), True)
    """

    concentration: float = 1000.0
    offset: float = 1.0
    acceptance: float | None = None

    @property
    def code(self) -> Move:
        """What the engine reads."""
        return DIRICHLET, float(self.concentration), float(self.offset)


@checked(shape=POSITIVE)
@dataclass(frozen=True)
class GammaProposal:
    """A new parameter from the Gamma distribution with this shape and the current one as mean.

    Examples
    --------
    >>> from iirl_opt.bayesian import Evidence, Posterior, sample
    >>> from iirl_opt.game.generate import random_game
    >>> game, _ = random_game(3, 2, 2, rng=0)
    >>> posterior, step = Posterior(Evidence(game)), GammaProposal(shape=5.0)
    >>> chains = sample(posterior, 20, parameter_move=step, chains=1, fast=False)
    >>> chains.parameter, bool((chains.parameters > 0).all())
    ('beta', True)
    """

    shape: float = SHAPE

    def code(self, support: tuple[float, float]) -> Step:
        """What the engine reads, for a prior with this support."""
        return GAMMA, float(self.shape), *support


@checked(width=between(0, 1, "(]"))
@dataclass(frozen=True)
class ReflectedStep:
    """A new parameter uniform within `width` of the old one, reflected where its prior ends.

    Examples
    --------
    >>> from iirl_opt.bayesian import EpsilonGreedyFamily, UniformPrior
    >>> from iirl_opt.bayesian import Evidence, Posterior, sample
    >>> from iirl_opt.game.generate import random_game
    >>> game, _ = random_game(3, 2, 2, rng=0)
    >>> followers, prior = EpsilonGreedyFamily(), UniformPrior(0.0, 0.2)
    >>> posterior = Posterior(Evidence(game), followers, parameter_prior=prior)
    >>> chains = sample(posterior, 20, parameter_move=ReflectedStep(0.1), chains=1, fast=False)
    >>> chains.parameter, bool((chains.parameters <= 0.2).all())
    ('epsilon', True)
    """

    width: float = WIDTH

    def code(self, support: tuple[float, float]) -> Step:
        """What the engine reads, for a prior with this support."""
        return REFLECTED, float(self.width), *support


def parameter_step(prior: ParameterPrior, support: tuple[float, float], scales: bool) -> Step:
    """Return what the engine reads for a step that is no longer than the prior is wide.

    It does not leave the support. The width is that of the middle half of the prior, relative to
    its median where the parameter is in one over the unit of the reward and steps are by a factor.
    A parameter that is known stays.
    """
    low, high = support
    if low == high:
        return STAY, 0.0, low, high
    rng = np.random.default_rng(0)
    quarter, middle, more = np.quantile([prior.draw(rng) for _ in range(DRAWS)], (0.25, 0.5, 0.75))
    width = more - quarter
    if not scales:
        return REFLECTED, float(min(WIDTH, width)), low, high
    narrow = (middle / width) ** 2 if width > 0 else np.inf
    return GAMMA, float(min(max(SHAPE, narrow), LARGEST_SHAPE)), low, high


@checked(leaps=whole(1), step=POSITIVE, acceptance=between(0, 1, "()"))
@dataclass(frozen=True)
class Hamiltonian:
    """Leapfrog steps along the gradient in ``(y, log β)`` with ``r = softmax(y)``.

    For Boltzmann followers, Dirichlet and Gamma priors. The steps adapt while a chain warms up. The
    acceptance that is reported is of leaps, not of slides.

    Parameters
    ----------
    leaps : the leapfrog steps of a proposal; 1 is MALA.
    step : their first length.
    acceptance : the share of accepted proposals that the adaptation aims at.

    **Source** Neal, *MCMC using Hamiltonian dynamics*, 2011; ours, beside the paper's.

    Examples
    --------
    >>> from iirl_opt.bayesian import Evidence, Posterior, sample
    >>> from iirl_opt.game.generate import random_game
    >>> game, _ = random_game(3, 2, 2, rng=0)
    >>> posterior = Posterior(Evidence(game))
    >>> chains = sample(posterior, 20, move=Hamiltonian(leaps=3), chains=1, fast=False)
    >>> chains.rewards.shape, bool((chains.rewards > 0).all())
    ((1, 20, 3), True)
    """

    leaps: int = 1
    step: float = 0.1
    acceptance: float = 0.6


def REWARD_MOVE(name: str, value: Any) -> Any:
    """Return a move of the reward, the gradient's or one of its own code."""
    return value if isinstance(value, Hamiltonian) else MOVE(name, value)
