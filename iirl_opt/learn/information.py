"""What a cut is worth: which mixtures of a commitment earn more than they cost.

Take the greedy commitment for an estimate of the reward and let the truth be normal around the
estimate. Then the advantage of every other choice over the greedy one is normal, too, with a mean
m ≤ 0 and a deviation σ, and adopting it where it is better gains ``σ φ(z) + m Φ(z)`` a visit,
z = m/σ. The best alternative of each state, times its visits, summed over the states, is the regret
that is *expected* of the greedy commitment: what knowing the reward would be worth an episode.

An answer to a mixture (`iirl_opt.learn.indifference`) tells the sign of the difference of two
action values, normal as well. Of the advantage in a state it explains the share ρ² of the variance,
ρ their correlation, so it is worth Σ ρ² of what is expected in each state. Mixtures are taken in
the order of worth per cost, and what one explains is taken out of all others (a Cholesky
factorisation of their covariance with pivots), until none is worth its cost.

The normal law is rough, and an answer tells a sign where the variance counts a value. Both are part
of the exchange rate, the number of episodes that information is thought to last. Where most
mixtures cost nearly nothing and a few are dear, as in mazes, that number is smaller: what a dear
one tells, cheap ones and the greedy commitment itself will soon tell. It is scaled by the root of
the median over the mean of the costs, which nothing but trials recommends.

**Source** ours. Expected improvement: Močkus 1975; knowledge gradient: Frazier, Powell & Dayanik
2008.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve
from scipy.linalg.blas import dger
from scipy.special import ndtr

from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import Optimum
from iirl_opt.learn.indifference import Mixtures

__all__ = ["Outlook", "look_ahead"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Action values closer than this share of the largest are equal; so are deviations to zero.
ROUNDING = 1e-12

# Beyond so many deviations a gain is zero.
FAR = 40.0

# A mixture of whose variance less than this is left tells nothing new.
EXPLAINED = 1e-6


@dataclass(frozen=True, eq=False)
class Outlook:
    """What is expected of the greedy policies, and what would tell more.

    Attributes
    ----------
    improvement : what the best alternative in each state is expected to gain, times the visits,
        shape (S,).
    visits : expected discounted visits (S,) of the greedy policies.
    """

    improvement: Array
    visits: Array
    _alternatives: Array = field(repr=False)  # (S, k) unit: of the best alternatives' advantages
    _advantages: Array = field(repr=False)  # (S, A, B, k) deviations of all advantages
    _small: float = field(repr=False)

    @property
    def expected_regret(self) -> float:
        """What the truth would gain in one step of policy improvement; an estimate and no bound."""
        return float(self.improvement.sum())

    def worthwhile(self, mixtures: Mixtures, lasting: float) -> Integers:
        """Return which mixtures are worth their cost if what they tell lasts `lasting` episodes.

        It lasts so long where all cost the same, and less the more the costs differ.

        **Cost** arithmetic: a rank-one update of an (m, S) matrix for each that is chosen.
        """
        told = self._told(mixtures)
        price = mixtures.loss * self.visits[mixtures.states]
        lasts = lasting * _evenness(price)
        # What explains nothing of what is expected need not be kept up to date.
        use = self.improvement > 0
        weighted = np.sqrt(self.improvement[use])[:, None] * self._alternatives[use]
        # Both change by an outer product for each that is chosen, in place.
        covariance, shared = np.asfortranarray(told @ told.T), (weighted @ told.T).T
        left = covariance.diagonal() > 0
        chosen: list[int] = []
        while True:
            variance = covariance.diagonal().copy()
            left &= variance > EXPLAINED
            explained = np.einsum("ji,ji->i", shared.T, shared.T)
            worth = explained / np.where(left, variance, 1.0)
            good = left & (worth > 0) & (lasts * worth > price)
            if not good.any():
                return np.sort(np.array(chosen, dtype=np.int64))
            rate = np.where(good, worth, -1.0) / np.maximum(price, np.finfo(float).tiny)
            best = int(rate.argmax())
            chosen.append(best)
            left[best] = False
            pivot = covariance[best] / np.sqrt(variance[best])
            part = shared[best] / np.sqrt(variance[best])
            shared = dger(-1.0, pivot, part, a=shared, overwrite_a=True)
            covariance = dger(-1.0, pivot, pivot, a=covariance, overwrite_a=True)

    def _told(self, mixtures: Mixtures) -> Array:
        """Return the deviations (m, k) that each answer tells the sign of, of norm one or zero."""
        s, own, other, answer, rival, share, _ = mixtures
        q = self._advantages
        mine, theirs = (q[s, a, answer] - q[s, a, rival] for a in (own, other))
        return _unit((1 - share)[:, None] * mine + share[:, None] * theirs, self._small)


def look_ahead(game: TwoAgentMDP, optimum: Optimum, root: Array) -> Outlook:
    """Return the outlook when the truth is normal around the reward of an optimum.

    Parameters
    ----------
    optimum : the joint optimum of the estimate; its first optimal choices are the greedy ones.
    root : a square root (S, k) of the covariance of state rewards.

    **Cost** arithmetic: an S×S system with k right-hand sides and S·A·B·k numbers.
    """
    n, choices = game.n_states, game.n_choices
    rows = game.matrix[np.arange(n) * choices + optimum.actions]
    system = np.eye(n) - game.discount * (rows.toarray() if is_sparse(rows) else rows)
    factors = lu_factor(system, check_finite=False)
    values = lu_solve(factors, root, check_finite=False)
    visits = np.maximum(lu_solve(factors, game.start, trans=1, check_finite=False), 0.0)
    advantages = np.asarray(game.matrix @ values).reshape(n, choices, -1)
    advantages *= game.discount
    advantages += (root - values)[:, None, :]
    deviation = np.sqrt(np.einsum("sck,sck->sc", advantages, advantages))
    mean = optimum.q.reshape(n, choices) - optimum.values[:, None]
    small = ROUNDING * float(np.abs(optimum.q).max(initial=0.0))
    known = deviation <= small
    z = np.clip(mean / np.where(known, 1.0, deviation), -FAR, 0.0)
    gain = deviation * (np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) + z * ndtr(z))
    gain = np.where(known, 0.0, np.maximum(gain, 0.0))
    best, states = gain.argmax(axis=1), np.arange(n)
    return Outlook(
        improvement=visits * gain[states, best],
        visits=visits,
        _alternatives=_unit(advantages[states, best], small),
        _advantages=advantages.reshape(*game.shape, -1),
        _small=small,
    )


def _evenness(price: Array) -> float:
    """Return the root of the median over the mean: 1 of equal prices, near 0 if few are dear."""
    mean = float(price.mean()) if price.size else 0.0
    return float(np.sqrt(np.median(price) / mean)) if mean > 0 else 1.0


def _unit(rows: Array, small: float) -> Array:
    """Return rows of norm one; those of norm up to `small` as zeros."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.where(norms > small, rows, 0.0) / np.where(norms > small, norms, 1.0))
