"""One Markov chain: its place, its generator and its bases, and the code that moves it.

The code is compiled where family and priors are this library's and the extra ``fast`` is there,
else plain NumPy (`iirl_opt.bayesian.engine`). What `iirl_opt.bayesian.sampler` runs several of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.bayesian import engine
from iirl_opt.bayesian.engine import STAY, Bank
from iirl_opt.bayesian.families import BoltzmannFamily, EpsilonGreedyFamily
from iirl_opt.bayesian.posterior import Posterior
from iirl_opt.bayesian.priors import DirichletPrior, GammaPrior, Known, UniformPrior
from iirl_opt.bayesian.proposals import DirichletProposal, Hamiltonian, SimplexWalk, Step
from iirl_opt.errors import InvalidArgument, MissingExtra

__all__ = ["ChainCode", "MarkovChain", "engine_of", "on_grid"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
RewardMove = SimplexWalk | DirichletProposal | Hamiltonian


@dataclass(frozen=True)
class ChainCode:
    """The chains' code, and family and priors in the form that it reads."""

    metropolis: Callable[..., int]
    hamiltonian: Callable[..., int]
    family: Any
    priors: tuple[Any, Any]


class MarkovChain:
    """One chain: its place, its generator and its own bases."""

    move: RewardMove
    step: Step
    rng: np.random.Generator
    code: ChainCode
    slides: bool
    bank: Bank
    state: tuple[Array, Integers, Array]
    x: Array
    scalars: Array

    def __init__(
        self,
        posterior: Posterior,
        move: RewardMove,
        step: Step,
        at: tuple[Array, float],
        rng: np.random.Generator,
        code: ChainCode,
    ) -> None:
        self.move, self.step, self.rng, self.code = move, step, rng, code
        # On a grid there is no sliding, and a parameter that is known or of no scale has no ridge.
        self.slides = (
            isinstance(move, DirichletProposal) and posterior.family.scales and step[0] != STAY
        )
        reward, parameter = at
        prior = posterior.reward_prior
        units = np.zeros(reward.size, dtype=np.int64)
        if isinstance(move, SimplexWalk):
            units, reward = on_grid(move, prior, reward)
        log = posterior.log_density(reward, parameter)
        if not np.isfinite(log):
            raise InvalidArgument(
                "initial", f"has the log density {log}", "a point of finite density", at
            )
        self.bank = posterior.bank(reward)
        self.state = (reward, units, np.array([parameter, log, 0.0]))
        if isinstance(move, Hamiltonian):
            self._check_hamiltonian(posterior)
            total = rng.standard_gamma(_concentration(prior, reward.size).sum())
            y = np.log(np.maximum(reward, 1e-12)) + np.log(total)
            self.x = np.append(y, np.log(parameter))
            self.scalars = np.array([np.log(move.step), log])

    def _check_hamiltonian(self, posterior: Posterior) -> None:
        for name, value, allowed in (
            ("family", posterior.family, BoltzmannFamily),
            ("reward_prior", posterior.reward_prior, DirichletPrior),
            ("parameter_prior", posterior.parameter_prior, GammaPrior | Known),
        ):
            if not isinstance(value, allowed):
                raise InvalidArgument(
                    name,
                    f"is {value!r}",
                    "BoltzmannFamily, DirichletPrior and GammaPrior or Known for Hamiltonian",
                    value,
                )
        if not self.state[2][0] > 0:
            raise InvalidArgument("initial", "has β = 0", "β > 0 for Hamiltonian", 0.0)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All that changes from draw to draw but the generator, changed in place."""
        own = (self.x, self.scalars) if isinstance(self.move, Hamiltonian) else self.state
        return (*own, self.bank.policy, self.bank.base, self.bank.inverse, self.bank.age)

    def generator(self, state: Any) -> dict[str, Any]:
        """Return the state of a generator of this chain's kind, if it is one."""
        like = type(self.rng.bit_generator)()
        try:
            like.state = state
        except (KeyError, TypeError, ValueError, OverflowError):
            allowed = "the state of a generator of NumPy's"
            raise InvalidArgument(
                "record.generators", f"is {state!r:.60}", allowed, state
            ) from None
        return dict(like.state)

    def warm_up(self, proposals: int, block: int) -> None:
        """Make proposals whose draws are not kept; steps adapt in them."""
        n_states = self.state[0].size
        for lo in range(0, proposals, block):
            n = min(block, proposals - lo)
            out = (np.empty((n, n_states)), np.empty(n), np.empty(n))
            self.run(out, 1, adapted=lo)

    def run(self, out: tuple[Array, Array, Array], thin: int, *, adapted: int = -1) -> int:
        """Fill draws; return the number of accepted proposals."""
        if not isinstance(self.move, Hamiltonian):
            aim = self.move.acceptance if isinstance(self.move, DirichletProposal) else None
            return self.code.metropolis(
                self.bank,
                self.code.family,
                self.code.priors,
                (self.move.code, self.step, self.slides),
                self.rng,
                self.state,
                out,
                thin,
                (0.0, -1.0) if aim is None else (float(aim), float(adapted)),
            )
        moving = self.step[0] != STAY
        settings = (self.move.leaps, self.move.acceptance, float(adapted), moving)
        priors = (_concentration(self.code.priors[0], self.state[0].size), _numbers(self.code))
        state = (self.x, self.scalars)
        return self.code.hamiltonian(
            self.bank, self.code.family, priors, settings, self.rng, state, out, thin
        )


def _concentration(prior: Any, n_states: int) -> Array:
    return prior.shape(n_states) if isinstance(prior, DirichletPrior) else prior


def _numbers(code: ChainCode) -> tuple[int, float, float]:
    prior = code.priors[1]
    return prior if isinstance(prior, tuple) else _parameter_code(prior)


def _parameter_code(prior: Any) -> tuple[int, float, float]:
    """Return how the engine writes a prior of a parameter that it knows."""
    if type(prior) is GammaPrior:
        return 1, float(prior.shape), float(prior.rate)
    if type(prior) is UniformPrior:
        return 2, float(prior.low), float(prior.high)
    return 0, 0.0, 0.0


def engine_of(posterior: Posterior, fast: bool | None) -> ChainCode:
    """Return compiled code where that is possible and wanted, else plain."""
    family, prior, parameter = (
        posterior.family,
        posterior.reward_prior,
        posterior.parameter_prior,
    )
    known = (
        type(family) in (BoltzmannFamily, EpsilonGreedyFamily)
        and type(prior) is DirichletPrior
        and type(parameter) in (GammaPrior, UniformPrior, Known)
    )
    plain = ChainCode(engine.metropolis, engine.hamiltonian, family, (prior, parameter))
    if fast is False or (fast is None and not known):
        return plain
    if not known:
        raise InvalidArgument(
            "fast",
            f"is True for {family!r}, {prior!r}, {parameter!r}",
            "False or None for families and priors that are not this library's",
            fast,
        )
    try:
        code = engine.compiled()
    except MissingExtra:
        if fast:
            raise
        return plain
    assert isinstance(prior, DirichletPrior)
    shape = prior.shape(posterior.evidence.game.n_states)
    number = engine.BOLTZMANN if type(family) is BoltzmannFamily else engine.EPSILON_GREEDY
    return ChainCode(*code, number, (shape, _parameter_code(parameter)))


def on_grid(move: SimplexWalk, prior: Any, reward: Array) -> tuple[Integers, Array]:
    """Return the units of a point of a walk's grid near a reward (S,), and that point."""
    units = move.snap(reward, least=_least_units(prior, reward.size))
    return units, units / move.grid


def _least_units(prior: Any, n_states: int) -> int:
    """Return the units that each state must have for a prior to have a finite density there."""
    if not isinstance(prior, DirichletPrior):
        return 0
    shape = prior.shape(n_states)
    if (shape < 1).any():
        raise InvalidArgument(
            "reward_prior",
            f"is {prior!r}",
            "concentrations ≥ 1 for SimplexWalk: below, the density is infinite on its boundary",
            prior,
        )
    return int((shape > 1).any())
