"""The committee learner: environments, or commitments, that tell most of a reward for elsewhere.

A leader may meet the reward again in another game, where it is all that counts: what its questions
cost at home does not. Then the next one is that whose answer settles most of what is in doubt. As
what is in doubt stands a *committee* (query by committee): n rewards drawn around the analytic
centre of what is known, each with the answer that it would give. Two members that answer alike will
not be told apart. So each pair (k, j) has a weight w, one at first, and in each state the leader
plays what leaves the least weight on pairs that answer alike there; wherever they then differ, w
shrinks to a fifth less, so that no pair is told apart again and again.

What a member answers depends on its values V_k, the follower's optimal ones under the commitment
that is being made. They are taken of the commitment made before, from a random one on, and of a few
rounds the one that leaves least weight is played. In a state the candidates are the leader's
actions (the given environments) and mixtures of two that leave the centre's follower indifferent.

Nothing of this is exact: a question is only likely to tell much. A set of rewards without an inner
part, as in mazes, has a committee that is unanimous about many states.

Source: ours, on query by committee (Seung, Opper & Sompolinsky 1992; Freund et al. 1997). The
setting: Kleine Büning, Villin & Dimitrakakis 2022 (arXiv 2210.14972).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import POSITIVE, SEED, array_of_floats, checked, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import check_policy, deterministic_policy
from iirl_opt.learn.belief import WIDTH, Belief
from iirl_opt.learn.believing import BelievingLearner
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards

__all__ = ["CommitteeIRL"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rounds of a commitment, mixtures tried in a state, and what is left of a weight that has told. The
# ranking among committees is noise: nothing here was tuned on games that results are shown of.
ROUNDS, MIXTURES, LEFT = 3, 60, 0.8

# Values are known to this share of their span, or after so many sweeps.
SETTLED, SWEEPS = 1e-4, 300


@checked(
    game=GAME,
    seed=SEED,
    among=array_of_floats(3, empty=False),
    members=whole(2, 5000),
    price=POSITIVE,
    feasible=FEASIBLE,
)
@dataclass(frozen=True, eq=False)
class CommitteeIRL(BelievingLearner):
    """A learner that asks what tells most, for a reward that counts elsewhere.

    `ask` is its question, and `plan` the commitment that is best at home for its estimate. It asks
    and tells as `iirl_opt.InteractiveIRL` does. For state rewards (S,).

    Parameters
    ----------
    game : the game; the leader's actions are the environments that may be chosen in a state.
    seed : of the first commitment and of all committees.
    first : the first commitment (S, A); by default random, one of `among` where they are given.
    among : commitments (k, S, A), the only ones that it may ask; by default any is made, state by
        state.
    members : 2 ≤ n ≤ 5000; each pair of them has a weight.
    price : > 0, of violating a row of norm one by one unit; lower it for a follower that errs.
    feasible : what is known so far; leave it to `tell`.

    Raises
    ------
    InvalidPolicy
        One of `among` is no commitment of the game.

    **Source** the module; ours.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(10, 6, 3, rng=1)
    >>> learner, partner = CommitteeIRL(game, seed=0), iirl.OptimalFollower()
    >>> for _ in range(5):
    ...     pi1 = learner.ask()
    ...     learner = learner.tell(partner.respond(game, truth, pi1))
    >>> elsewhere, _ = iirl.random_game(10, 2, 3, rng=2)
    >>> plan = iirl.commit(elsewhere, learner.estimate()).policy
    >>> earned = elsewhere.start @ iirl.best_responses(elsewhere, truth, plan).values
    >>> bool(earned > 0.99 * iirl.commit(elsewhere, truth).value)
    True
    """

    game: TwoAgentMDP
    seed: int = 0
    first: ArrayLike | None = None
    among: ArrayLike | None = None
    members: int = 100
    price: float = 1e7
    feasible: FeasibleRewards | None = None
    _belief: Belief | None = field(default=None, repr=False)

    __repr__ = in_brief

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.among is None:
            return
        shape, states = self.game.shape[:2], self.game.states
        given = [(f"among[{k}]", pi1) for k, pi1 in enumerate(np.asarray(self.among))]
        kept = np.array([check_policy(x, shape, name=name, states=states) for name, x in given])
        kept.flags.writeable = False
        object.__setattr__(self, "among", kept)
        if self.first is not None and not (kept == self.first).all((1, 2)).any():
            allowed = "one of the commitments of `among`"
            raise InvalidArgument("first", "is none that may be asked", allowed, self.first)

    def ask(self) -> Array:
        """Return the commitment (S, A) whose answer is to be seen next.

        **Cost** arithmetic: a centre, some hundred sweeps of n planning problems, and in each state
        a product of (candidates · B, n) and (n, n), three times.
        """
        return self._question.copy()

    def plan(self) -> Array:
        """Return the commitment (S, A) that is best in this game for the estimate.

        **Cost** arithmetic: a centre and a planning problem.
        """
        optimum = self._believed.optimum
        if optimum is None:
            return self.ask()
        own = optimum.actions // self.game.n_follower_actions
        return deterministic_policy(own, self.game.n_leader_actions)

    @cached_property
    def _question(self) -> Array:
        rng, centre = self._rng(), self.centre
        among = None if self.among is None else np.asarray(self.among)
        if centre is None or centre.constant:
            if among is None or (not self.episode and self.first is not None):
                return self._uninformed()
            return np.asarray(among[rng.integers(len(among))])
        draws = centre.spread(self.members, rng, scale=WIDTH)
        committee = Committee(self.game, np.vstack([centre.point, draws]))
        if among is not None:
            return np.asarray(among[np.argmin([committee.alike(pi1) for pi1 in among])])
        pi1, rounds = self._random_commitment(rng), []
        for _ in range(ROUNDS):
            left, pi1 = committee.choose(pi1, rng)
            rounds.append((left, pi1))
        return min(rounds, key=lambda each: each[0])[1]


@dataclass(frozen=True, eq=False)
class Committee:
    """Rewards that a question is to tell apart.

    Attributes
    ----------
    game : where it is asked.
    rewards : the centre, then the members, (1 + n, S).
    """

    game: TwoAgentMDP
    rewards: Array

    def values(self, pi1: Array) -> Array:
        """Return the follower's optimal values (S, 1 + n) under a commitment, up to constants."""
        mdp, reward = self.game.follower_mdp(pi1), self.rewards.T
        values: Array = reward - reward.mean(axis=0)
        for _ in range(SWEEPS):
            ahead = (mdp.matrix @ values).reshape(*mdp.shape, -1).max(axis=1)
            better = reward + self.game.discount * ahead
            better -= better.mean(axis=0)
            moved, values = np.abs(better - values).max(axis=0), better
            if (moved <= SETTLED * np.ptp(values, axis=0)).all():
                break
        return values

    def alike(self, pi1: Array) -> float:
        """Return the weight that is left on pairs of members by a commitment's answers."""
        mdp = self.game.follower_mdp(pi1)
        q = (mdp.matrix @ self.values(pi1)[:, 1:]).reshape(*mdp.shape, -1)
        answers = q.argmax(axis=1)
        told = sum(row[:, None] != row for row in answers)
        return float((LEFT**told).sum())

    def choose(self, pi1: Array, rng: np.random.Generator) -> tuple[float, Array]:
        """Return the commitment made state by state, and the weight that it leaves.

        Members answer with their values under `pi1`. What one state has told changes what the next
        has to tell, so states are taken one after the other, in random order.
        """
        n_states, n_a, n_b = self.game.shape
        q = (self.game.matrix @ self.values(pi1)).reshape(n_states, n_a, n_b, -1)
        n = q.shape[-1] - 1
        weight, chosen = np.ones((n, n), dtype=np.float32), np.zeros((n_states, n_a))
        actions, pairs = np.arange(n_b), np.argwhere(np.triu(np.ones((n_a, n_a)), 1))
        for s in rng.permutation(n_states):
            one, two, share = self._mixtures(q[s, :, :, 0], rng.permutation(pairs))
            mixed = q[s, one] + share[:, None, None] * (q[s, two] - q[s, one])
            answers = np.concatenate([q[s], mixed])[:, :, 1:].argmax(axis=1)
            says = (answers[:, None, :] == actions[:, None]).reshape(-1, n).astype(np.float32)
            left = np.einsum("ck,ck->c", says @ weight, says).reshape(-1, n_b).sum(axis=1)
            best = int(left.argmin())
            if best < n_a:
                chosen[s, best] = 1.0
            else:
                mix = best - n_a
                chosen[s, [one[mix], two[mix]]] = 1 - share[mix], share[mix]
            own = answers[best]
            weight[own[:, None] != own] *= np.float32(LEFT)
        return float(weight.sum()), chosen

    @staticmethod
    def _mixtures(q: Array, pairs: Integers) -> tuple[Integers, Integers, Array]:
        """Return mixtures of two actions that tie the best answers to each: both, second's share.

        Parameters
        ----------
        q : action values (A, B) of the centre in a state.
        pairs : of the leader's actions, (k, 2), in the order in which they are tried.
        """
        best = q.argmax(axis=1)
        one, two = pairs[best[pairs[:, 0]] != best[pairs[:, 1]]][:MIXTURES].T
        lead = q[one, best[one]] - q[one, best[two]]
        gain = q[two, best[two]] - q[two, best[one]]
        return one, two, lead / np.where(lead + gain > 0, lead + gain, 1.0)
