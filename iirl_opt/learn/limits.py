"""What no learner can learn: rewards that an optimal follower answers alike, whatever is asked.

Two rewards are *indistinguishable* if under every commitment, stochastic ones included, the same
responses are optimal for both. Then the follower's answers follow the same law under either truth,
as long as its tie rule looks at nothing but what is optimal, and so does all that any learner does.
In an episode with commitment and response π the two regrets add up to

    V*(r1) − V_π(r1) + V*(r2) − V_π(r2) ≥ V*(r1) + V*(r2) − V*(r1 + r2),

so the mean over both truths is at least half of that, in every episode, for every learner.

Rewards whose advantages are positive multiples of each other are indistinguishable and lose nothing
by it: those of one affine class, or up to shaping. Others are where *one answer* is optimal under
all commitments (`iirl_opt.learn.same_answer`). All in rational arithmetic.

Source: ours. The examples are those of the model files ``idle-partner`` and ``same-answer``, where
the paper's Algorithm 1 has linear regret.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import RNG, checked, whole
from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import as_fractions
from iirl_opt.game.exact import Exact, exact_kernel, exact_optimum, exact_reward
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.learn.same_answer import (
    LIMIT,
    OneAnswer,
    check_count,
    deterministic_commitment,
    find_answer,
)
from iirl_opt.printing.records import with_html

__all__ = ["Distinction", "indistinguishable"]

Mask = NDArray[np.bool_]

# Of the search for a commitment that separates: random ones, and bisections between two of them.
TRIES, HALVINGS = 20, 24


@dataclass(frozen=True, eq=False)
class Distinction:
    """Whether some commitment makes an optimal follower tell two rewards apart.

    True if they are proved to be indistinguishable. If not, then either `commitment` separates
    them, or the question is open, which it can be only where the answers to both vary and no
    commitment that was tried separates them: `decided` says which.

    Attributes
    ----------
    game : the game.
    first, second : the rewards, in Fractions, (S, A, B).
    same_class : whether they are positive multiples of each other up to what no action changes:
        constants, the rewards of places that none can reach or avoid, potential-based shaping.
    answers : for both rewards the one answer to all commitments, where that is the proof.
    commitment : a commitment (S, A) of Fractions to which different responses are optimal, or None.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from iirl_opt.library import read_model
    >>> game, most = read_model("same-answer").game, Fraction("0.95")
    >>> found = indistinguishable(game, [0, 1, most], [0, most, 1])
    >>> found, found.decided
    (Distinction(indistinguishable: one answer to all commitments), True)
    """

    game: TwoAgentMDP
    first: Exact
    second: Exact
    same_class: bool = False
    answers: tuple[OneAnswer, OneAnswer] | None = None
    commitment: Exact | None = None

    def __bool__(self) -> bool:
        return self.same_class or self.answers is not None

    @property
    def decided(self) -> bool:
        """Whether the rewards are proved to be indistinguishable, or separated by a commitment."""
        return bool(self) or self.commitment is not None

    @cached_property
    def responses(self) -> tuple[Mask, Mask] | None:
        """What is optimal for each reward under `commitment`, masks (S, B); made anew from it."""
        if self.commitment is None:
            return None
        rewards = self.first, self.second
        one, other = (exact_optimum(self.game, r, self.commitment).optimal for r in rewards)
        return one, other

    @property
    def whatever_the_ties(self) -> bool:
        """Whether no response to `commitment` is optimal for both, so that any answer tells."""
        if self.responses is None:
            return False
        one, other = self.responses
        return not (one & other).any(axis=1).all()

    @cached_property
    def regret(self) -> Fraction:
        """What every learner loses an episode at least, in the mean over both rewards as the truth.

        ``(V*(r1) + V*(r2) − V*(r1 + r2)) / 2`` from the start; zero unless they are proved to be
        indistinguishable.

        **Cost** three exact planning problems.
        """
        if not self:
            return Fraction(0)
        start = np.array(self.game.rational.start, dtype=object)
        one, other, both = (
            start @ exact_optimum(self.game, r).values
            for r in (self.first, self.second, self.first + self.second)
        )
        return Fraction(one + other - both) / 2

    def __repr__(self) -> str:
        if self:
            why = "one class" if self.same_class else "one answer to all commitments"
            return f"Distinction(indistinguishable: {why})"
        found = "open" if self.commitment is None else "a commitment separates them"
        return f"Distinction({found})"

    _repr_html_ = with_html


@checked(game=GAME, rng=RNG, limit=whole(1))
def indistinguishable(
    game: TwoAgentMDP,
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: int | np.random.Generator | None = 0,
    limit: int = LIMIT,
) -> Distinction:
    """Decide whether no commitment separates two rewards for an optimal follower.

    Parameters
    ----------
    first, second : rewards (S,) or (S, A, B), floats or Fractions.
    rng : of the search for a commitment that separates them.
    limit : how many deterministic commitments are accepted.

    Raises
    ------
    NotExact
        The game was given in floating point.
    InvalidReward
    InvalidArgument
        There are more deterministic commitments than the limit.

    **Cost** no program: a linear system in Fractions for each
    deterministic commitment, and then S·B matrices of size A×A.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from iirl_opt.library import read_model
    >>> game, most = read_model("same-answer").game, Fraction("0.95")
    >>> found = indistinguishable(game, [0, 1, most], [0, most, 1])
    >>> bool(found), found.answers[0].optimal.tolist(), found.regret
    (True, [[True, True], [True, False], [True, False]], Fraction(3, 40))
    """
    one, other = exact_reward(game, first), exact_reward(game, second)
    check_count(game, limit)
    if _proportional(_all_advantages(game, one), _all_advantages(game, other)):
        return Distinction(game, one, other, same_class=True)
    mine, theirs = (find_answer(game, r) for r in (one, other))
    same = [found for found in (mine, theirs) if isinstance(found, OneAnswer)]
    if len(same) == 2 and (same[0].optimal == same[1].optimal).all():
        return Distinction(game, one, other, answers=(same[0], same[1]))
    moved = [found for found in (mine, theirs) if not isinstance(found, OneAnswer)]
    draws = np.random.default_rng(rng)
    for commitment in chain(moved, _separating(game, one, other, draws)):
        masks = [exact_optimum(game, r, commitment).optimal for r in (one, other)]
        if (masks[0] != masks[1]).any():
            return Distinction(game, one, other, commitment=commitment)
    return Distinction(game, one, other)


def _separating(
    game: TwoAgentMDP, one: Exact, other: Exact, rng: np.random.Generator
) -> Iterator[Exact]:
    """Yield commitments that may separate: deterministic, random, and around the ties of `one`."""
    n, n_a, _ = game.shape
    corners = [deterministic_commitment(game, actions) for actions in product(range(n_a), repeat=n)]
    yield from corners
    for _ in range(TRIES):
        weights = rng.integers(1, 10, (n, n_a))
        mixed = as_fractions(weights) / as_fractions(weights.sum(axis=1, keepdims=True))
        yield mixed
        low, high = corners[int(rng.integers(len(corners)))], mixed
        known = exact_optimum(game, one, low).optimal
        if (known == exact_optimum(game, one, high).optimal).all():
            continue
        for _ in range(HALVINGS):
            middle: Exact = (low + high) * np.array(Fraction(1, 2))
            yield middle
            alike = (exact_optimum(game, one, middle).optimal == known).all()
            low, high = (middle, high) if alike else (low, middle)


def _all_advantages(game: TwoAgentMDP, reward: Exact) -> Exact:
    """Return all advantages over the first joint action everywhere, (S·A·B,).

    Linear in the reward, and zero iff all policies have the same values.
    """
    kernel = exact_kernel(game)
    discount = game.rational.discount
    unit = as_fractions(np.eye(game.n_states, dtype=int))
    values = solve(unit - discount * kernel[:, 0, 0], reward[:, 0, 0])
    assert values is not None  # I − γP is regular
    found: Exact = reward + discount * (kernel @ values) - values[:, None, None]
    return found.ravel()


def _proportional(x: Exact, y: Exact) -> bool:
    """Return whether ``y = λ x`` with λ > 0; zeros are proportional to zeros alone."""
    at = np.flatnonzero(x)
    if not at.size:
        return not y.any()
    scale = y[at[0]] / x[at[0]]
    return bool(scale > 0 and (y == scale * x).all())
