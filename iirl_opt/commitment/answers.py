"""What followers answer and what leaders earn then, for many commitments at once, with bounds.

A commitment leaves the follower an MDP. Its optimal policy as floats find it decides an action

* as *tied*, where row and reward are those of the action played, which is a tie without arithmetic;
* as *worse*, where its action value is below the value of the policy by more than the error bounds
  of both (`iirl_opt.commitment.stacked`);
* as *open* otherwise: rational arithmetic alone can say.

Where nothing is open the answer is known, and the leader's value up to rounding. Where ties are
open, the leader's value lies between the worst and the best that the follower's possible actions
leave it, two MDPs more. A follower that plays its action values smoothly, a Boltzmann follower for
one, has no ties; what rounding does to its play is a *doubt*, which widens the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.commitment.stacked import (
    UNIT,
    Arithmetic,
    Optima,
    Stack,
    best,
    majorant,
    policy_values,
    products,
    upper_values,
)
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.follower.protocols import Follower, LocalFollower
from iirl_opt.printing.records import with_html

__all__ = ["Answers", "Assessment", "Ties", "play"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Ties = Literal["optimistic", "pessimistic"]


class Assessment(NamedTuple):
    """What floats can say about K commitments, values less a constant of the problem.

    Attributes
    ----------
    response : a play of the follower, (K, S, B): its answer where `decided`.
    answers : the follower's greedy action as far as floats can tell, (K, S).
    values : what the leader earns with that response, (K, S), as computed.
    lower, upper : bounds on what the commitment earns, whichever way open ties fall, (K, S).
    decided : whether every tie of the follower is decided, (K,).

    Examples
    --------
    >>> from iirl_opt.commitment.problem import CommitmentProblem
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(4, 2, 2, rng=0))
    >>> found = problem.assess([[0, 0, 0, 0], [0, 1, 0, 1]])  # two deterministic commitments
    >>> found.values.shape, found.decided, bool((found.lower <= found.upper).all())
    ((2, 4), array([ True,  True]), True)
    """

    response: Array
    answers: Integers
    values: Array
    lower: Array
    upper: Array
    decided: Mask

    def __repr__(self) -> str:
        return in_brief(self)

    def _repr_html_(self) -> str:
        return with_html(self)


class _Known(NamedTuple):
    """What is known of the follower's action values in K MDPs.

    Attributes
    ----------
    actions : an optimal policy as far as floats can tell, (K, S).
    q : action values, (K, S, B), less `shift` (K, 1, 1).
    error : bounds on the errors of q where the policy plays, (K, S).
    doubt : bounds on the errors of q less that one, (K, S, B).
    tied, open : masks (K, S, B): surely as good as the action played; undecided.
    may : a mask of actions that may be optimal, (K, S, B).
    """

    actions: Integers
    q: Array
    shift: Array
    error: Array
    doubt: Array
    tied: Mask
    open: Mask
    may: Mask


@dataclass(frozen=True, eq=False)
class Answers:
    """How the follower of a problem answers.

    Parameters
    ----------
    follower, ties, epsilon : of the problem.
    same_reward : whether the follower has the leader's reward.
    arithmetic : what floats lose.
    start : the start distribution (S,), by which rewards are centred.
    offset : what the follower's values are short of its absolute ones.
    """

    follower: Follower
    ties: Ties | None
    epsilon: float | None
    same_reward: bool
    arithmetic: Arithmetic
    start: Array
    offset: float

    def assess(self, theirs: Stack, own: Stack, alike: Integers) -> Assessment:
        """Assess K commitments.

        Parameters
        ----------
        theirs, own : the follower's MDPs with its reward, and with the leader's.
        alike : (K, S, B), equal where answers have the same row and reward of the follower.
        """
        known = self._known(theirs, alike)
        if self.epsilon is None:
            response, doubt = self._smooth(known)
            values, lower, upper = self._doubted(own, response, doubt)
            decided = np.ones(len(values), dtype=bool)
        else:
            guess = known.tied | known.open
            response = play(self.follower, self.ties, guess, self._scores(own, guess))
            values, error = policy_values(*_met(own, response), self.arithmetic)
            lower, upper = values - error, values + error
            decided = np.asarray(~known.open.any(axis=(1, 2)))
            at = np.flatnonzero(~decided)
            if at.size:
                lower[at], upper[at] = self._whichever(own.take(at), known, at)
        return Assessment(response, known.actions, values, lower, upper, decided)

    def _known(self, theirs: Stack, alike: Integers) -> _Known:
        """Return what floats know of the follower's action values."""
        arithmetic, gamma = self.arithmetic, self.arithmetic.discount
        rough = best(theirs, arithmetic)
        gain = (rough.values @ self.start * (1 - gamma))[:, None, None]
        gain = np.where(np.isfinite(gain), gain, 0.0)
        centred = Stack(theirs.kernel, theirs.reward - gain, theirs.size + abs(gain))
        actions = best(centred, arithmetic, start=rough.actions).actions
        some, states = np.arange(len(actions))[:, None], np.arange(actions.shape[1])
        chain, played = centred.kernel[some, states, actions], (some, states, actions)
        values, error = policy_values(
            chain, centred.reward[played], centred.size[played], arithmetic
        )
        q = centred.reward + gamma * products(centred.kernel, values)
        noise = arithmetic.unit * (centred.size + gamma * products(centred.kernel, abs(values)))
        apart = products(abs(centred.kernel - chain[:, :, None]), error)
        doubt = (noise + noise[played][..., None] + gamma * apart) * (1 + 8 * UNIT)
        tied = alike == alike[played][..., None]
        open_ = (q - q[played][..., None] + doubt >= 0) & ~tied
        may = tied | open_
        at = np.flatnonzero(open_.any(axis=(1, 2)))
        if at.size:
            part, near = centred.take(at), Optima(actions[at], values[at], q[at], noise[at])
            above = upper_values(part, arithmetic, near=near) - values[at]
            reach = (q[at] + noise[at]) + gamma * products(part.kernel, above) * (1 + 8 * UNIT)
            may[at] |= reach >= (values[at] - error[at])[..., None]
            rise = np.maximum(above + error[at], 0)
            doubt[at] += gamma * products(part.kernel, rise) + rise[..., None]
            error[at] += rise
        shift = gain / arithmetic.left
        return _Known(actions, q, shift, error, doubt, tied, open_, may)

    def _whichever(self, own: Stack, known: _Known, at: Integers) -> tuple[Array, Array]:
        """Return bounds on the values of commitments `at`, whichever possible answer is optimal."""
        if self.same_reward and isinstance(self.follower, OptimalFollower):
            # Lemma 2: any answer is worth no less than the one that is known.
            some, states = np.arange(len(at))[:, None], np.arange(own.reward.shape[1])
            played = (some, states, known.actions[at])
            values, error = policy_values(
                own.kernel[played], own.reward[played], own.size[played], self.arithmetic
            )
            return values - error, upper_values(own, self.arithmetic)
        mixed = self._erring(own)
        less = Stack(mixed.kernel, -mixed.reward, mixed.size)
        upper = upper_values(mixed, self.arithmetic, known.may[at])
        return -upper_values(less, self.arithmetic, known.may[at]), upper

    def _erring(self, own: Stack) -> Stack:
        """Return the leader's MDP in which an answer is what an ε-greedy follower plays for it."""
        assert self.epsilon is not None
        if self.epsilon == 0:
            return own
        right, wrong = 1 - self.epsilon, self.epsilon / own.reward.shape[2]
        return Stack(*(right * part + wrong * part.sum(axis=2, keepdims=True) for part in own))

    def _scores(self, own: Stack, optimal: Mask) -> Array:
        """Return the leader's values of answers (K, S, B), by which its ties are broken."""
        if self.ties is None or not (optimal.sum(axis=-1) > 1).any():
            return np.zeros(optimal.shape)
        mixed = self._erring(own)
        sign = 1.0 if self.ties == "optimistic" else -1.0
        signed = Stack(mixed.kernel, sign * mixed.reward, mixed.size)
        return sign * best(signed, self.arithmetic, optimal).q

    def _smooth(self, known: _Known) -> tuple[Array, Array]:
        """Return a local follower's response (K, S, B), and by how much rounding changes it."""
        follower, q = self.follower, known.q
        assert isinstance(follower, LocalFollower)
        if isinstance(follower, BoltzmannFollower):
            response = np.asarray(follower.answer(q), dtype=float)
            below = q.max(axis=-1, keepdims=True) - q
            most = np.minimum(2 * follower.beta * known.doubt.max(axis=-1, keepdims=True), 50.0)
            relative = np.expm1(most) + 8 * UNIT * (8 + follower.beta * below)
            return response, np.minimum(response * relative, 1.0)
        q = q + known.shift + self.offset
        response = np.asarray(follower.answer(q), dtype=float)
        rounding = 8 * UNIT * response
        if not isinstance(follower, ProportionalFollower):
            return response, rounding  # its answers are what it says they are
        numbers = abs(q) + abs(known.shift) + abs(self.offset)
        wide = known.doubt + known.error[..., None] + 8 * UNIT * numbers
        with np.errstate(all="ignore"):  # f need not be defined beyond the values
            ends = follower.weights(q - wide), follower.weights(q + wide)
            least, most = np.minimum(*ends), np.maximum(*ends)
            high = most / (most + least.sum(axis=-1, keepdims=True) - least)
            low = least / (least + most.sum(axis=-1, keepdims=True) - most)
        doubt = np.maximum(high - response, response - low) + rounding
        return response, np.where(np.isfinite(doubt), np.clip(doubt, 0.0, 1.0), 1.0)

    def _doubted(self, own: Stack, response: Array, doubt: Array) -> tuple[Array, Array, Array]:
        """Return values (K, S) of responses that are known up to a doubt (K, S, B), and bounds."""
        gamma, unit = self.arithmetic.discount, self.arithmetic.unit
        values, _ = policy_values(*_met(own, response), self.arithmetic)
        ahead = own.reward + gamma * products(own.kernel, values)
        numbers = own.size + gamma * products(own.kernel, abs(values))
        mean = (response * ahead).sum(axis=-1)
        wrong = (doubt * abs(ahead - mean[..., None])).sum(axis=-1)
        rounding = unit * ((response * numbers).sum(axis=-1) + abs(values))
        # Any compatible chain is below this one, so what majorises it majorises them all.
        chain = np.einsum("ksb,ksbt->kst", response + doubt, own.kernel)
        error = majorant(chain, abs(mean - values) + wrong + rounding, self.arithmetic)
        return values, values - error, values + error


def play(follower: Follower, ties: Ties | None, optimal: Mask, own: Array) -> Array:
    """Return the play (…, B) of an optimal or ε-greedy follower with this optimal set.

    Parameters
    ----------
    own : the leader's action values (…, B), by which a problem's tie rule decides, if it has one.
    """
    assert isinstance(follower, OptimalFollower | EpsilonGreedyFollower)
    if ties is None:
        return np.asarray(follower.among(optimal), dtype=float)
    epsilon = getattr(follower, "epsilon", 0.0)
    sign = 1.0 if ties == "optimistic" else -1.0
    chosen = np.where(optimal, sign * own, -np.inf).argmax(axis=-1)
    greedy = np.eye(own.shape[-1])[chosen]
    return np.asarray((1 - epsilon) * greedy + epsilon / own.shape[-1])


def _met(own: Stack, response: Array) -> tuple[Array, Array, Array]:
    """Return chain (K, S, S), reward and its size (K, S) of responses (K, S, B)."""
    chain = np.matmul(response[:, :, None], own.kernel)[:, :, 0]
    return chain, (response * own.reward).sum(axis=-1), (response * own.size).sum(axis=-1)
