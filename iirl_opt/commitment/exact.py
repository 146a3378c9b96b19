"""What a commitment earns, in Fractions: the follower's answer and the leader's values.

Floats cannot tell a tie from a difference below their rounding, and where the leader has a reward
of its own its value jumps there. So what a search says of its best commitments is decided here: the
follower's optimum by policy iteration in rational arithmetic, its ties by equality, the tie rule
among them, and the values of the pair by one more exact solve.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.commitment.problem import Array, CommitmentProblem, Integers
from iirl_opt.exact.chains import discounted_sums
from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import as_fractions
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.exact import exact_policy, exact_reward

__all__ = ["ExactProblem", "ExactReply"]

# Arrays of Fractions.
Exact = NDArray[Any]

# Up to so many states the kernel is kept as one dense array of Fractions.
DENSE = 40

# Policy iteration in Fractions starts near its end; more states are left to floats.
LARGEST = 400


class ExactReply(NamedTuple):
    """The answer to a commitment, in Fractions.

    Attributes
    ----------
    response : what the follower plays, (S, B).
    values : what the leader earns from every state, (S,).
    """

    response: Exact
    values: Exact

    @property
    def played(self) -> Array:
        """The response in floats: exactly what it is where it is deterministic."""
        return np.array([float(p) for p in self.response.ravel()]).reshape(self.response.shape)


class ExactProblem:
    """A commitment problem, its numbers read exactly."""

    epsilon: Fraction
    small: bool

    def __init__(self, problem: CommitmentProblem) -> None:
        self.problem = problem
        self.discount: Fraction = problem.game.rational.discount
        self.epsilon = Fraction(problem.epsilon or 0.0)
        self.small = problem.game.n_states <= DENSE

    @cached_property
    def own(self) -> Exact:
        """The leader's reward, (S, A, B)."""
        return exact_reward(self.problem.game, self.problem.reward)

    @cached_property
    def theirs(self) -> Exact:
        """The follower's reward, (S, A, B)."""
        return exact_reward(self.problem.game, self.problem.follower_reward)

    @cached_property
    def start(self) -> Exact:
        """The start distribution, (S,)."""
        return np.array(self.problem.game.rational.start, dtype=object)

    @cached_property
    def _kernel(self) -> Exact:
        game = self.problem.game
        return game.rational.rows.dense().reshape(*game.shape, game.n_states)

    def reply(self, pi1: ArrayLike, near: Integers | None = None) -> ExactReply:
        """Return the answer of an optimal or ε-greedy follower to a commitment.

        Parameters
        ----------
        pi1 : actions (S,), or a policy (S, A), whose rows are divided by their exact sums.
        near : what the follower does (S,) as far as is known, to start from.

        Raises
        ------
        NotExact
            More than 40 states lead to each other and python-flint is not installed.

        **Cost** some policy iterations in Fractions.
        """
        assert self.problem.epsilon is not None, "other answers are no rational numbers"
        kernel, theirs, own = self._faced(np.asarray(pi1))
        choices = theirs.argmax(axis=1) if near is None else near
        optimal = self._optimum(kernel, theirs, choices)
        greedy = self._greedy(kernel, own, optimal)
        n_answers = theirs.shape[1]
        response = (1 - self.epsilon) * greedy + self.epsilon / n_answers
        return ExactReply(response, self._values(kernel, own, response))

    def values(self, pi1: ArrayLike, response: ArrayLike) -> Exact:
        """Return what a commitment and this very response earn, (S,); floats as what they are."""
        kernel, _, own = self._faced(np.asarray(pi1))
        return self._values(kernel, own, exact_policy(response, own.shape))

    def action_values(self, pi1: ArrayLike, near: Integers) -> Exact:
        """Return the follower's optimal action values (S, B) under a commitment."""
        kernel, theirs, _ = self._faced(np.asarray(pi1))
        every = np.ones(theirs.shape, dtype=bool)
        return self._iterate(kernel, theirs, near, every)[1]

    def ahead(self, pi1: ArrayLike, values: Exact) -> Exact:
        """Return what each answer (S, B) is worth to the leader before these values."""
        kernel, _, own = self._faced(np.asarray(pi1))
        return np.asarray(own + self.discount * kernel.times(values))

    def joint_optimum(self, near: Integers) -> tuple[Integers, Exact]:
        """Return actions of the leader (S,) in an optimal joint policy, and the joint values (S,).

        No commitment earns more than these from any state, whatever the follower does. Forbidden
        actions are left out.

        Parameters
        ----------
        near : choices ``a·B + b`` (S,) to start from, with allowed a.
        """
        game = self.problem.game
        n_answers = game.n_follower_actions
        kernel = _Kernel.whole(self)
        allowed = np.repeat(self.problem.allowed, n_answers, axis=1)
        values, q = self._iterate(kernel, self.own.reshape(game.n_states, -1), near, allowed)
        best = (q == values[:, None]) & allowed
        return np.asarray(best.argmax(axis=1) // n_answers), values

    def _faced(self, pi1: NDArray[Any]) -> tuple[_Kernel, Exact, Exact]:
        """Return kernel and rewards (S, B) of the follower's problem under a commitment."""
        game, states = self.problem.game, np.arange(self.problem.game.n_states)
        if pi1.ndim == 1:
            theirs, own = self.theirs[states, pi1], self.own[states, pi1]
            if self.small:
                return _Kernel(self._kernel[states, pi1], None), theirs, own
            n_a, n_b = game.shape[1:]
            at = ((states * n_a + pi1)[:, None] * n_b + np.arange(n_b)).ravel()
            return _Kernel(None, game.exact_rows(at)), theirs, own
        weights = exact_policy(pi1, game.shape[:2], name="leader policy", states=game.states)
        theirs = (weights[:, :, None] * self.theirs).sum(axis=1)
        own = (weights[:, :, None] * self.own).sum(axis=1)
        if self.small:
            return (
                _Kernel((weights[:, :, None, None] * self._kernel).sum(axis=1), None),
                theirs,
                own,
            )
        return _Kernel(None, game.follower_mdp(pi1).rational.rows), theirs, own

    def _optimum(self, kernel: _Kernel, reward: Exact, choices: Integers) -> NDArray[np.bool_]:
        """Return the mask (S, B) of all optimal actions."""
        every = np.ones(reward.shape, dtype=bool)
        values, q = self._iterate(kernel, reward, choices, every)
        return np.asarray(q == values[:, None], dtype=bool)

    def _iterate(
        self, kernel: _Kernel, reward: Exact, choices: Integers, allowed: NDArray[np.bool_]
    ) -> tuple[Exact, Exact]:
        """Return optimal values (S,) over the allowed actions, and the values (S, n) of all."""
        states = np.arange(len(reward))
        while True:
            values = kernel.chosen(choices, reward[states, choices], self.discount)
            q = reward + self.discount * kernel.times(values)
            better = False
            for s in states:
                row = [(q[s, b], -b) for b in np.flatnonzero(allowed[s])]
                most, b = max(row)
                if most > values[s]:
                    if not better:
                        choices, better = choices.copy(), True
                    choices[s] = -b
            if not better:
                return values, q

    def _greedy(self, kernel: _Kernel, own: Exact, optimal: NDArray[np.bool_]) -> Exact:
        """Return what the follower plays (S, B) where it does not err."""
        rule: str = self.problem.ties or str(getattr(self.problem.follower, "ties", "first"))
        if rule == "mix":
            counts = optimal.sum(axis=1).tolist()
            return optimal * as_fractions([Fraction(1, n) for n in counts])[:, None]
        chosen = optimal.argmax(axis=1)
        if rule == "last":
            chosen = optimal.shape[1] - 1 - optimal[:, ::-1].argmax(axis=1)
        elif rule in ("optimistic", "pessimistic") and (optimal.sum(axis=1) > 1).any():
            sign = 1 if rule == "optimistic" else -1
            mixed = kernel.erring(self.epsilon)
            mean = sum(own.T) / own.shape[1]
            reward = sign * ((1 - self.epsilon) * own + self.epsilon * mean[:, None])
            values, q = self._iterate(mixed, reward, chosen, optimal)
            chosen = ((q == values[:, None]) & optimal).argmax(axis=1)
        greedy = np.full(optimal.shape, Fraction(0), dtype=object)
        greedy[np.arange(len(chosen)), chosen] = Fraction(1)
        return greedy

    def _values(self, kernel: _Kernel, own: Exact, response: Exact) -> Exact:
        return kernel.mixed(response, (response * own).sum(axis=1), self.discount)


class _Kernel(NamedTuple):
    """A kernel (S, n, S) in Fractions, dense or as rows ``s·n + b``."""

    dense: Exact | None
    rows: ExactRows | None

    @classmethod
    def whole(cls, problem: ExactProblem) -> _Kernel:
        """Return the kernel of the joint choices."""
        game = problem.problem.game
        if problem.small:
            return cls(problem._kernel.reshape(game.n_states, -1, game.n_states), None)
        return cls(None, game.rational.rows)

    def times(self, values: Exact) -> Exact:
        """Return ``P · values``, (S, n)."""
        if self.dense is not None:
            return np.asarray(self.dense @ values)
        assert self.rows is not None
        return np.asarray(self.rows.times(values).reshape(len(values), -1))

    def chosen(self, choices: Integers, reward: Exact, discount: Fraction) -> Exact:
        """Return the values (S,) of a choice a state."""
        states = np.arange(len(reward))
        if self.dense is not None:
            return _solved(self.dense[states, choices], reward, discount)
        assert self.rows is not None
        n = len(self.rows.denominators) // len(reward)
        return discounted_sums(self.rows.take(states * n + choices), discount, reward)

    def mixed(self, weights: Exact, reward: Exact, discount: Fraction) -> Exact:
        """Return the values (S,) of a mixture (S, n) of choices a state."""
        if self.dense is not None:
            chain = (weights[:, :, None] * self.dense).sum(axis=1)
            return _solved(chain, reward, discount)
        assert self.rows is not None
        at = np.arange(weights.size).reshape(weights.shape)
        return discounted_sums(self.rows.mixed(weights, at), discount, reward)

    def erring(self, epsilon: Fraction) -> _Kernel:
        """Return the kernel of a follower that errs uniformly with probability ε."""
        if epsilon == 0:
            return self
        if self.dense is not None:
            n = self.dense.shape[1]
            mean = self.dense.sum(axis=1, keepdims=True) / Fraction(n)
            return _Kernel((1 - epsilon) * self.dense + epsilon * mean, None)
        assert self.rows is not None
        n = len(self.rows.denominators) // self.rows.width
        block = np.full((n, n), epsilon / n, dtype=object)
        block[np.diag_indices(n)] += 1 - epsilon
        weights = np.tile(block, (self.rows.width, 1))
        at = np.repeat(np.arange(weights.shape[0]).reshape(-1, n), n, axis=0)
        return _Kernel(None, self.rows.mixed(weights, at))


def _solved(chain: Exact, reward: Exact, discount: Fraction) -> Exact:
    """Return the solution of ``V = reward + discount · chain · V``."""
    system = -discount * chain
    system[np.diag_indices(len(chain))] += 1
    values = solve(system, reward)
    assert values is not None  # I − γP is regular
    return values
