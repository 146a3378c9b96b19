"""The posterior over reward and parameter, and its values at a point (paper, Section 5.1).

    log P(r, θ | episodes) = log L(r, θ) + log P(r) + log P(θ) + constant

with the reward r in the simplex and θ the parameter of a family of followers (β, ε, …).

**What no data can tell.** A follower that scales (Boltzmann) answers ``((1 − t) u + t r, β/t)`` as
it does ``(r, β)``, with u uniform over the states: constants added to the reward change nothing,
and on the simplex they show as a *ridge* along which the likelihood is flat. Where on the ridge the
posterior lies is the prior's word. `normalise` maps each point of a ridge to the same one: with
``"min"`` the smallest reward is 0 (and β grows by as much as the rest is stretched), with
``"direction"`` the reward is centred and of length 1, which all positive affine images share.

Source: the paper, Section 5.1. Its likelihood up to a constant, ``exp(β Σ Q*)``, drops a constant
that depends on (r, β); here it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.bayesian import engine
from iirl_opt.bayesian.engine import Bank
from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.bayesian.families import FAMILY, BoltzmannFamily, FollowerFamily
from iirl_opt.bayesian.priors import (
    PRIOR,
    DirichletPrior,
    ParameterPrior,
    RewardPrior,
    UniformPrior,
    exponential_prior,
)
from iirl_opt.brief import in_brief
from iirl_opt.checks import FINITE, NOT_NEGATIVE, checked, is_a, whole
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.mdp import MDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.reward import check_reward
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable

__all__ = ["Normal", "Posterior", "normalise"]

Array = NDArray[np.float64]
Normal = Literal["min", "direction"]

SUM_TOLERANCE = 1e-9


@checked(evidence=is_a(Evidence), family=FAMILY, reward_prior=PRIOR, parameter_prior=PRIOR)
@dataclass(frozen=True, eq=False)
class Posterior(Tabular):
    """The posterior of reward and parameter after some episodes.

    Parameters
    ----------
    evidence : the episodes.
    family : the followers among which the partner is sought.
    reward_prior : uniform on the simplex by default.
    parameter_prior : by default exponential with mean 500 where the family scales (β), uniform on
        [0, 1] where it does not (ε).

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(5, 2, 2, rng=1)
    >>> pi1 = game.leader_policy({"*": 0})
    >>> response = iirl.BoltzmannFollower(20.0).respond(game, truth / truth.sum(), pi1)
    >>> posterior = Posterior(Evidence(game).respond(pi1, response, weight=100.0))
    >>> posterior.log_likelihood(truth / truth.sum(), 20.0) > posterior.log_likelihood([0.2] * 5, 1)
    True
    """

    evidence: Evidence
    family: FollowerFamily = field(default_factory=BoltzmannFamily)
    reward_prior: RewardPrior = field(default_factory=DirichletPrior)
    parameter_prior: ParameterPrior | None = None

    __repr__ = in_brief

    def table(self) -> FactTable:
        """Return one row: the family, the priors, and how much was seen."""
        seen = self.evidence
        facts = {
            "followers": self.family,
            "reward": self.reward_prior,
            self.family.parameter: self.belief,
            "game": seen.game,
            "episodes": seen.episodes,
            "commitments": len(seen.commitments),
            "observations": float(sum(counts.sum() for counts in seen.counts)),
        }
        return FactTable([facts], "Posterior")

    def __post_init__(self) -> None:
        if self.parameter_prior is None:
            usual = exponential_prior() if self.family.scales else UniformPrior()
            object.__setattr__(self, "parameter_prior", usual)
        low, high = self.support
        if not low <= high:
            least, most = self.family.bounds
            raise InvalidArgument(
                "parameter_prior",
                f"is {self.belief!r}",
                f"some weight on {least:g} ≤ {self.family.parameter} ≤ {most:g}",
                self.belief,
            )

    @property
    def belief(self) -> ParameterPrior:
        """The prior of the parameter, the default one if none was given."""
        assert self.parameter_prior is not None
        return self.parameter_prior

    @property
    def support(self) -> tuple[float, float]:
        """The ends of the parameters that both the prior and the family have."""
        ends = zip(self.belief.support, self.family.bounds, strict=True)
        (low, least), (high, most) = ends
        return max(low, least), min(high, most)

    @checked(parameter=FINITE)
    def log_likelihood(self, reward: ArrayLike, parameter: float) -> float:
        """Return ``Σ n(s, b) log π2(b | s)`` at a reward (S,), which need not be in the simplex.

        **Cost** arithmetic: one planning problem of S states a commitment.
        """
        r = self._reward(reward)
        bank, q = self._planned(r)
        return engine.log_likelihood(bank, self.family, r, float(parameter), bank.policy, q)

    @checked(parameter=FINITE)
    def log_density(self, reward: ArrayLike, parameter: float) -> float:
        """Return the log density up to a constant; −∞ off the simplex or off `support`."""
        r = self._reward(reward)
        low, high = self.support
        if r.min() < 0 or abs(r.sum() - 1) > SUM_TOLERANCE or not low <= parameter <= high:
            return -np.inf
        before = self.reward_prior.log_density(r) + self.belief.log_density(parameter)
        return before + self.log_likelihood(r, parameter) if before > -np.inf else -np.inf

    def action_values(self, reward: ArrayLike) -> Array:
        """Return ``Q*`` of each commitment with observations, shape (E, S, B)."""
        r = self._reward(reward)
        bank, q = self._planned(r)
        for e, policy in enumerate(bank.policy):
            engine.plan(bank, e, r, policy, q[e])
        return q

    @checked(beta=NOT_NEGATIVE)
    def gradient(self, reward: ArrayLike, beta: float) -> tuple[Array, float]:
        """Return the derivatives of the log-likelihood by reward, (S,), and by β.

        ``Q*`` is convex and piecewise linear in the reward: the gradient exists almost everywhere,
        and elsewhere this is that of one of the optimal policies.

        Raises
        ------
        InvalidArgument
            The family is not `BoltzmannFamily`.
        """
        if not isinstance(self.family, BoltzmannFamily):
            raise InvalidArgument("family", f"is {self.family!r}", "BoltzmannFamily", self.family)
        r = self._reward(reward)
        bank, q = self._planned(r)
        by_reward = np.empty_like(r)
        _, by_beta = engine.slope(bank, self.family, r, float(beta), bank.policy, q, by_reward)
        return by_reward, float(by_beta)

    @checked(limit=whole(0))
    def bank(self, reward: ArrayLike, *, limit: int | None = None) -> Bank:
        """Return the engine's arrays, planned for a reward (S,).

        Parameters
        ----------
        limit : a base moves when an accepted policy differs from it in more than so many states; by
            default a tenth of them.

        **Cost** arithmetic: a planning problem and an inverse of S×S a commitment, and E S² numbers
        of memory.
        """
        r = self._reward(reward)
        game = self.evidence.game
        seen = [
            (pi1, counts)
            for pi1, counts in zip(self.evidence.commitments, self.evidence.counts, strict=True)
            if counts.any()
        ]
        mdps = [game.follower_mdp(pi1) for pi1, _ in seen]
        parts = [np.flatnonzero(counts.any(axis=1)) for _, counts in seen]
        kernels = [_csr(mdp) for mdp in mdps]
        first = np.cumsum([0, *(kernel.nnz for kernel in kernels)])
        n_rows, n_b = game.n_states * game.n_follower_actions, game.n_follower_actions
        policy = np.array([policy_iteration(mdp, r).actions for mdp in mdps], dtype=np.int64)
        policy = policy.reshape(len(mdps), game.n_states)
        bank = Bank(
            indptr=np.array(
                [k.indptr + lo for k, lo in zip(kernels, first, strict=False)], dtype=np.int64
            ).reshape(len(mdps), n_rows + 1),
            # Of one type whatever the game was made from: numba compiles once for each.
            indices=np.concatenate(
                [np.zeros(0, np.int32), *(k.indices for k in kernels)],
                dtype=np.int32,
                casting="same_kind",
            ),
            data=np.concatenate([np.zeros(0), *(k.data for k in kernels)]),
            discount=game.discount,
            offsets=np.cumsum([0, *(part.size for part in parts)]),
            seen=np.concatenate([np.zeros(0, np.int64), *parts]),
            counts=np.concatenate(
                [
                    np.zeros((0, n_b)),
                    *(counts[part] for (_, counts), part in zip(seen, parts, strict=True)),
                ]
            ),
            policy=policy,
            base=policy.copy(),
            inverse=np.empty((len(mdps), game.n_states, game.n_states)),
            age=np.zeros(len(mdps), dtype=np.int64),
            limit=max(1, game.n_states // 10) if limit is None else limit,
        )
        for e in range(len(mdps)):
            bank.inverse[e] = np.linalg.inv(engine.system(bank, e))
        return bank

    def _reward(self, reward: ArrayLike) -> Array:
        r = check_reward(self.evidence.game, reward)
        if r.ndim != 1:
            raise InvalidReward(
                "reward", f"has shape {r.shape}", f"({self.evidence.game.n_states},)", r.shape
            )
        return r

    def _planned(self, r: Array) -> tuple[Bank, Array]:
        bank = self.bank(r)
        shape = (*bank.policy.shape, self.evidence.game.n_follower_actions)
        return bank, np.empty(shape)


def _csr(mdp: MDP) -> Any:
    """Return the kernel as a canonical CSR array."""
    matrix = sp.csr_array(mdp.matrix, copy=is_sparse(mdp.matrix))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def normalise(
    rewards: ArrayLike, parameters: ArrayLike, how: Normal, *, scales: bool = True
) -> tuple[Array, Array]:
    """Return the representatives of points (r, θ) on their ridges.

    Parameters
    ----------
    rewards : shape (…, S).
    parameters : shape (…).
    how : ``"min"``: ``(r − m) / Σ(r − m)`` with m the smallest reward; ``"direction"``: centred and
        of Euclidean length 1. A constant reward becomes uniform, or zero, with θ = 0: every action
        is then as good as every other.
    scales : whether the parameter is in one over the unit of the reward (β) and so is multiplied
        by what the reward is divided by; otherwise it stays.
    """
    if how not in ("min", "direction"):
        raise InvalidArgument("normalise", f"is {how!r}", "'min', 'direction' or None", how)
    r, theta = np.asarray(rewards, dtype=float), np.array(parameters, dtype=float)
    if how == "min":
        moved = r - r.min(axis=-1, keepdims=True)
        size, flat = moved.sum(axis=-1, keepdims=True), 1 / r.shape[-1]
    else:
        moved = r - r.mean(axis=-1, keepdims=True)
        size, flat = np.linalg.norm(moved, axis=-1, keepdims=True), 0.0
    tiny = size <= 1e-14 * np.abs(r).max(axis=-1, keepdims=True)
    normal = np.where(tiny, flat, moved / np.where(tiny, 1.0, size))
    return normal, theta * np.where(tiny, 0.0, size)[..., 0] if scales else theta
