"""Sampling: Markov chains over the rewards and parameters that explain what was seen.

`sample` runs several chains by Metropolis–Hastings (paper, Appendix D) or along gradients, and
`sampling` is the same as a generator that hands out the draws so far, to be stopped at any time.
Draws depend on seed, start and settings alone, not on where a run was looked at. With the extra
``fast`` everything between two looks is compiled; without it, or for families and priors of your
own, plain NumPy draws the same numbers, up to rounding, 4 to 180 times slower: the smaller the game
and the more commitments, the more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.bayesian import engine
from iirl_opt.bayesian.chains import Chains
from iirl_opt.bayesian.engine import STAY
from iirl_opt.bayesian.families import BoltzmannFamily, EpsilonGreedyFamily
from iirl_opt.bayesian.posterior import Posterior
from iirl_opt.bayesian.priors import DirichletPrior, GammaPrior, Known, UniformPrior
from iirl_opt.bayesian.proposals import (
    MOVE,
    REWARD_MOVE,
    DirichletProposal,
    GammaProposal,
    Hamiltonian,
    ReflectedStep,
    SimplexWalk,
    Step,
    parameter_step,
)
from iirl_opt.bayesian.starts import StartSearch
from iirl_opt.checks import (
    FINITE,
    FLAG,
    RNG,
    SEED,
    array_of_floats,
    checked,
    each,
    is_a,
    refuse,
    whole,
)
from iirl_opt.errors import InvalidArgument, InvalidReward, MissingExtra

__all__ = ["Start", "sample", "sampling"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
RewardMove = SimplexWalk | DirichletProposal | Hamiltonian
ParameterMove = GammaProposal | ReflectedStep
Start = Iterable[tuple[ArrayLike, float]]

# Between two looks at the clock, a chain plans for so many episodes: a second or less.
PLANS = 2000

SUM_TOLERANCE = 1e-9

_PAIR = array_of_floats(1, error=InvalidReward, empty=False)


def START(name: str, value: Any) -> tuple[Array, float]:
    """Return where a chain begins, a pair of a reward (S,) and a parameter."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise refuse(name, value, "a pair (reward, parameter)")
    return _PAIR(name, value[0]), FINITE(name, value[1])


def SEEDS(name: str, value: Any) -> tuple[int, ...]:
    """Return a seed, a sequence of them, or what a generator draws for one, as a tuple."""
    if np.ndim(value) == 1 and not isinstance(value, str):
        seeds: tuple[int, ...] = each(SEED, 1)(name, value)
        return seeds
    if value is None or isinstance(value, np.random.Generator):
        return tuple(map(int, RNG(name, value).integers(2**32, size=4)))
    return (SEED(name, value),)


@checked(
    posterior=is_a(Posterior),
    proposals=whole(1),
    move=REWARD_MOVE,
    parameter_move=MOVE,
    chains=whole(1),
    thin=whole(1),
    warmup=whole(0),
    fast=FLAG,
    initial=each(START),
    rng=SEEDS,
)
def sample(
    posterior: Posterior,
    proposals: int,
    *,
    move: RewardMove | None = None,
    parameter_move: ParameterMove | None = None,
    chains: int = 4,
    thin: int = 1,
    warmup: int | None = None,
    initial: Start | None = None,
    rng: int | Sequence[int] | np.random.Generator | None = 0,
    fast: bool | None = None,
) -> Chains:
    """Draw from a posterior by Markov chains.

    Parameters
    ----------
    proposals : of each chain, after its warm-up.
    move : of the reward; `SimplexWalk`, the paper's, by default. `Hamiltonian` moves the parameter
        as well.
    parameter_move : by default a `GammaProposal` where the family scales, else a `ReflectedStep`,
        no longer than the prior is wide; a `Known` parameter stays.
    chains : their number.
    thin : every so many proposals are one draw.
    warmup : proposals made before, and not kept; by default none, or a quarter of `proposals` for
        moves that adapt in them: `Hamiltonian`, and `DirichletProposal` with an acceptance.
    initial : a reward (S,) and a parameter for each chain, as in `Chains.last`; with another number
        of them they are used in turn. By default each chain draws its own from the prior, or where
        the density is zero there has one that explains what was seen.
    rng : of everything; each chain has its own generator. A sequence of integers is one seed.
    fast : True asks for compiled chains, False for plain ones; by default compiled where possible.

    Raises
    ------
    InvalidArgument
        Numbers out of range; a start off the simplex or of no density, or none found; a move that
        does not go with family or priors; ``fast=True`` for a family or prior that only Python
        knows.
    InvalidObservation
        No reward explains what was seen but a set of no volume.
    MissingExtra
        ``fast=True`` without numba.

    **Source** paper, Algorithm 4, with the acceptance that makes it Metropolis–Hastings.
    **Cost** arithmetic: a planning problem a proposal and commitment, warm-started.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> from iirl_opt.bayesian.evidence import Evidence
    >>> game, _ = iirl.random_game(4, 2, 2, rng=1)
    >>> prior = sample(Posterior(Evidence(game)), 200, chains=2, thin=10, fast=False)
    >>> prior.rewards.shape, bool(np.allclose(prior.rewards.sum(axis=2), 1))
    ((2, 20, 4), True)
    """
    *_, last = sampling(
        posterior,
        proposals,
        move=move,
        parameter_move=parameter_move,
        chains=chains,
        thin=thin,
        warmup=warmup,
        initial=initial,
        rng=rng,
        fast=fast,
    )
    return last


@checked(
    posterior=is_a(Posterior),
    proposals=whole(1),
    move=REWARD_MOVE,
    parameter_move=MOVE,
    chains=whole(1),
    thin=whole(1),
    warmup=whole(0),
    fast=FLAG,
    initial=each(START),
    rng=SEEDS,
)
def sampling(
    posterior: Posterior,
    proposals: int,
    *,
    move: RewardMove | None = None,
    parameter_move: ParameterMove | None = None,
    chains: int = 4,
    thin: int = 1,
    warmup: int | None = None,
    initial: Start | None = None,
    rng: int | Sequence[int] | np.random.Generator | None = 0,
    fast: bool | None = None,
) -> Iterator[Chains]:
    """Yield the draws so far, again and again, until there are all of them; see `sample`."""
    began = time.perf_counter()
    move = SimplexWalk() if move is None else move
    if warmup is None:
        warmup = 0 if getattr(move, "acceptance", None) is None else proposals // 4
    if thin > proposals:
        raise InvalidArgument("thin", f"is {thin}", f"≤ {proposals}, the proposals", thin)
    step = _parameter_step(posterior, parameter_move)
    running = [
        _Chain(posterior, move, step, at, own, _engine(posterior, fast))
        for at, own in _starts(posterior, move, initial, chains, SEEDS("rng", rng))
    ]
    n_states, draws = posterior.evidence.game.n_states, proposals // thin
    rewards = np.empty((chains, draws, n_states))
    parameters, logs = np.empty((2, chains, draws))
    accepted = np.zeros(chains)
    block = max(1, PLANS // (thin * max(1, len(posterior.evidence.commitments))))
    for chain in running:
        chain.warm_up(warmup, block)
    for lo in range(0, draws, block):
        hi = min(draws, lo + block)
        for c, chain in enumerate(running):
            out = (rewards[c, lo:hi], parameters[c, lo:hi], logs[c, lo:hi])
            accepted[c] += chain.run(out, thin)
        yield Chains(
            rewards[:, :hi],
            parameters[:, :hi],
            logs[:, :hi],
            accepted / (hi * thin),
            thin,
            posterior.family.parameter,
            posterior.family.scales,
            time.perf_counter() - began,
        )


@dataclass(frozen=True)
class _Engine:
    """The chains' code, and family and priors in the form that it reads."""

    metropolis: Callable[..., int]
    hamiltonian: Callable[..., int]
    family: Any
    priors: tuple[Any, Any]


class _Chain:
    """One chain: its place, its generator and its own bases."""

    def __init__(
        self,
        posterior: Posterior,
        move: RewardMove,
        step: Step,
        at: tuple[Array, float],
        rng: np.random.Generator,
        code: _Engine,
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
            units, reward = _on_grid(move, prior, reward)
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


def _numbers(code: _Engine) -> tuple[int, float, float]:
    prior = code.priors[1]
    return prior if isinstance(prior, tuple) else _parameter_code(prior)


def _parameter_code(prior: Any) -> tuple[int, float, float]:
    """Return how the engine writes a prior of a parameter that it knows."""
    if type(prior) is GammaPrior:
        return 1, float(prior.shape), float(prior.rate)
    if type(prior) is UniformPrior:
        return 2, float(prior.low), float(prior.high)
    return 0, 0.0, 0.0


def _engine(posterior: Posterior, fast: bool | None) -> _Engine:
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
    plain = _Engine(engine.metropolis, engine.hamiltonian, family, (prior, parameter))
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
    return _Engine(*code, number, (shape, _parameter_code(parameter)))


def _parameter_step(posterior: Posterior, given: ParameterMove | None) -> Step:
    prior = posterior.belief
    if given is None or isinstance(prior, Known):
        return parameter_step(prior, posterior.support, posterior.family.scales)
    return given.code(posterior.support)


def _on_grid(move: SimplexWalk, prior: Any, reward: Array) -> tuple[Integers, Array]:
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


def _starts(
    posterior: Posterior,
    move: RewardMove,
    initial: Start | None,
    chains: int,
    seeds: tuple[int, ...],
) -> Iterator[tuple[tuple[Array, float], np.random.Generator]]:
    """Yield a checked start and a generator of its own for each chain."""
    given = None if initial is None else list(initial)
    if given == []:
        raise InvalidArgument(
            "initial", "is empty", "one pair (reward, parameter) or more", initial
        )

    def place(r: Array) -> Array:
        if isinstance(move, SimplexWalk):
            return _on_grid(move, posterior.reward_prior, r)[1]
        return r

    search = StartSearch(posterior, place)
    for c in range(chains):
        rng = np.random.default_rng([*seeds, c])
        if given is None:
            at = search.draw(rng)
            r = at[0]
        else:
            reward, parameter = given[c % len(given)]
            r = np.array(reward, dtype=float)
            at = r, float(parameter)
        n_states = posterior.evidence.game.n_states
        if r.shape != (n_states,) or not (r.min() >= 0 and abs(r.sum() - 1) <= SUM_TOLERANCE):
            raise InvalidArgument(
                f"initial[{c}]", f"has the reward {r}", f"a point of the simplex, ({n_states},)", r
            )
        yield at, rng
