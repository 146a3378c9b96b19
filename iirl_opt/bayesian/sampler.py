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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.bayesian.chains import Chains
from iirl_opt.bayesian.markov_chain import MarkovChain, engine_of, on_grid
from iirl_opt.bayesian.posterior import Posterior
from iirl_opt.bayesian.priors import Known
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
from iirl_opt.bayesian.records import read_into, written
from iirl_opt.bayesian.starts import StartSearch
from iirl_opt.checks import (
    FINITE,
    FLAG,
    MAPPING,
    NOT_NEGATIVE,
    RNG,
    SEED,
    array_of_floats,
    checked,
    each,
    is_a,
    refuse,
    whole,
)
from iirl_opt.errors import InvalidArgument, InvalidReward

__all__ = ["PosteriorSampler", "Start", "sample", "sampling"]

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
    *_, last = PosteriorSampler(
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


def sampling(posterior: Posterior, proposals: int, **settings: Any) -> Iterator[Chains]:
    """Yield the draws so far, again and again, until there are all of them; see `sample`.

    **Cost** as `sample`.

    Examples
    --------
    >>> from iirl_opt.bayesian.evidence import Evidence
    >>> from iirl_opt.game.generate import random_game
    >>> game, _ = random_game(3, 2, 2, rng=0)
    >>> posterior = Posterior(Evidence(game))
    >>> for chains in sampling(posterior, 40, chains=2, fast=False):  # a look a second or less
    ...     print(chains.n_draws, chains.rewards.shape)
    80 (2, 40, 3)
    """
    return iter(PosteriorSampler(posterior, proposals, **settings))


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
class PosteriorSampler:
    """Chains under way: iterate it for the draws so far, until there are all of them.

    `record` says what was drawn since the last record and where the chains stand; another sampler
    of the same arguments goes on from records, to the same draws. For parameters see `sample`.

    Examples
    --------
    >>> from iirl_opt.bayesian.evidence import Evidence
    >>> from iirl_opt.game.generate import random_game
    >>> game, _ = random_game(3, 2, 2, rng=0)
    >>> posterior = Posterior(Evidence(game))
    >>> first = PosteriorSampler(posterior, 20, chains=2, fast=False)
    >>> record = [first.record() for _ in first][-1]
    >>> second = PosteriorSampler(posterior, 20, chains=2, fast=False)
    >>> second.take_up(record)
    >>> second
    PosteriorSampler(2 chains, 20 of 20 draws each)
    >>> bool((second.chains.rewards == first.chains.rewards).all())
    True
    """

    def __init__(
        self,
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
    ) -> None:
        self._began = time.perf_counter()
        move = SimplexWalk() if move is None else move
        if warmup is None:
            warmup = 0 if getattr(move, "acceptance", None) is None else proposals // 4
        if thin > proposals:
            raise InvalidArgument("thin", f"is {thin}", f"≤ {proposals}, the proposals", thin)
        step = _parameter_step(posterior, parameter_move)
        self._posterior, self._thin, self._warmup = posterior, thin, warmup
        self._running = [
            MarkovChain(posterior, move, step, at, own, engine_of(posterior, fast))
            for at, own in _starts(posterior, move, initial, chains, SEEDS("rng", rng))
        ]
        n_states, draws = posterior.evidence.game.n_states, proposals // thin
        self._rewards = np.empty((chains, draws, n_states))
        self._parameters, self._logs = np.empty((2, chains, draws))
        self._accepted = np.zeros(chains)
        self._drawn = self._recorded = 0

    def __repr__(self) -> str:
        chains, draws = self._logs.shape
        return f"PosteriorSampler({chains} chains, {self._drawn} of {draws} draws each)"

    def __iter__(self) -> Iterator[Chains]:
        """Yield the draws so far, a look a second or less."""
        draws = self._logs.shape[1]
        block = max(1, PLANS // (self._thin * max(1, len(self._posterior.evidence.commitments))))
        if not self._drawn:
            for chain in self._running:
                chain.warm_up(self._warmup, block)
        for lo in range(self._drawn, draws, block):
            hi = min(draws, lo + block)
            for c, chain in enumerate(self._running):
                out = (self._rewards[c, lo:hi], self._parameters[c, lo:hi], self._logs[c, lo:hi])
                self._accepted[c] += chain.run(out, self._thin)
            self._drawn = hi
            yield self.chains

    @property
    def chains(self) -> Chains:
        """The draws so far."""
        hi, family = self._drawn, self._posterior.family
        return Chains(
            self._rewards[:, :hi],
            self._parameters[:, :hi],
            self._logs[:, :hi],
            self._accepted / (max(1, hi) * self._thin),
            self._thin,
            family.parameter,
            family.scales,
            time.perf_counter() - self._began,
        )

    def record(self) -> dict[str, Any]:
        """Return what was drawn since the last record, and where the chains stand, for JSON."""
        lo, hi = self._recorded, self._drawn
        self._recorded = hi
        return {
            "draws": [lo, hi],
            "seconds": time.perf_counter() - self._began,
            "arrays": [written(array) for array in self._arrays(lo, hi)],
            "generators": [chain.rng.bit_generator.state for chain in self._running],
        }

    @checked(record=MAPPING)
    def take_up(self, record: Mapping[str, Any]) -> None:
        """Take up a record of a sampler of the same arguments: the next one.

        Raises
        ------
        InvalidArgument
            It is another one, or none; nothing is changed.
        """
        lo, draws, at = self._drawn, self._logs.shape[1], record.get("draws")
        hi = at[1] if isinstance(at, list) and len(at) == 2 and at[0] == lo else None
        if type(hi) is not int or not lo < hi <= draws:
            allowed = f"[{lo}, n], {lo} < n ≤ {draws}"
            raise InvalidArgument("record.draws", f"is {at!r:.60}", allowed, at)
        states = each(MAPPING)("record.generators", record.get("generators"))
        if len(states) != len(self._running):
            allowed = f"{len(self._running)}"
            raise InvalidArgument("record.generators", f"are {len(states)}", allowed, states)
        pairs = zip(self._running, states, strict=True)
        generators = [chain.generator(state) for chain, state in pairs]
        seconds = NOT_NEGATIVE("record.seconds", record.get("seconds"))
        read_into("record.arrays", record.get("arrays"), self._arrays(lo, hi))
        for chain, generator in zip(self._running, generators, strict=True):
            chain.rng.bit_generator.state = generator
        self._drawn = self._recorded = hi
        self._began = time.perf_counter() - seconds

    def _arrays(self, lo: int, hi: int) -> list[NDArray[Any]]:
        """Return some draws and all that changes from draw to draw."""
        draws = [part[:, lo:hi] for part in (self._rewards, self._parameters, self._logs)]
        return [*draws, self._accepted, *(a for chain in self._running for a in chain.arrays)]


def _parameter_step(posterior: Posterior, given: ParameterMove | None) -> Step:
    prior = posterior.belief
    if given is None or isinstance(prior, Known):
        return parameter_step(prior, posterior.support, posterior.family.scales)
    return given.code(posterior.support)


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
            return on_grid(move, posterior.reward_prior, r)[1]
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
