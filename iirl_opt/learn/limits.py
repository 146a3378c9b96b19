"""What no learner can learn: rewards that an optimal follower answers alike, whatever is asked.

Two rewards are *indistinguishable* if under every commitment, stochastic ones included, the same
responses are optimal for both. Then the follower's answers follow the same law under either truth,
as long as its tie rule looks at nothing but what is optimal, and so does all that any learner does.
In an episode with commitment and response π the two regrets add up to

    V*(r1) − V_π(r1) + V*(r2) − V_π(r2) ≥ V*(r1) + V*(r2) − V*(r1 + r2),

so the mean over both truths is at least half of that, in every episode, for every learner.

Rewards whose advantages are positive multiples of each other are indistinguishable and lose nothing
by it: those of one affine class, or up to shaping. Others are where *one answer* is optimal under
all commitments. That has infinitely many cases, and is decided exactly:
let π2 be deterministic and b another action in s. Under π1 the lead of π2 over b is

    V(s) − Q(s, b) = N(π1) / det(I − γ P_π),   det > 0,

and the numerator N is a polynomial: linear in what π1 plays in each other state (a row of the
determinant each), and quadratic in p = π1(s), which also mixes the step that is compared. So N is
least where π1 is deterministic in all other states, and there N = p·M p with the A×A matrix

    M[a, a'] = det_a' · (r(s, a, π2(s)) − r(s, a, b) + γ (P_{a, π2(s)} − P_{a, b}) V_a'),

det_a' and V_a' being those of the deterministic commitment that plays a' in s. The lead is positive
under every commitment iff each of these matrices is strictly copositive, and zero under every one
iff their symmetric parts vanish. A quadratic form is least over the simplex at a stationary point
of one of its faces; for a few actions all faces are tried. All in rational arithmetic.

Deterministic commitments alone would not do: N may be negative in between.

Source: ours. The examples are those of the model files ``idle-partner`` and ``same-answer``, where
the paper's Algorithm 1 has linear regret.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import SEED, checked, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import as_fractions
from iirl_opt.game.exact import Exact, exact_kernel, exact_optimum, exact_reward
from iirl_opt.game.mdp import GAME, TwoAgentMDP

__all__ = ["Distinction", "OneAnswer", "indistinguishable", "least_on_simplex", "one_answer"]

Mask = NDArray[np.bool_]

# Deterministic commitments beyond which an enumeration is refused: each is a system in Fractions.
LIMIT = 1024

# Of the search for a commitment that separates: random ones, and bisections between two of them.
TRIES, HALVINGS = 20, 24


class OneAnswer(NamedTuple):
    """The answer that is optimal under every commitment.

    Attributes
    ----------
    optimal : the mask (S, B) of the optimal actions, the same under every commitment.
    lead : every other action is worse by at least this, under every commitment; None without any.
    """

    optimal: Mask
    lead: Fraction | None


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


@checked(game=GAME, seed=SEED, limit=whole(1))
def indistinguishable(
    game: TwoAgentMDP, first: ArrayLike, second: ArrayLike, *, seed: int = 0, limit: int = LIMIT
) -> Distinction:
    """Decide whether no commitment separates two rewards for an optimal follower.

    Parameters
    ----------
    first, second : rewards (S,) or (S, A, B), floats or Fractions.
    seed : of the search for a commitment that separates them.
    limit : how many deterministic commitments are accepted.

    Raises
    ------
    NotExact
        The game was given in floating point.
    InvalidReward
    InvalidArgument
        There are more deterministic commitments than the limit.

    **Source** the module's docstring. **Cost** no program: a linear system in Fractions for each
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
    _check_count(game, limit)
    if _proportional(_advantages(game, one), _advantages(game, other)):
        return Distinction(game, one, other, same_class=True)
    mine, theirs = (_answer(game, r) for r in (one, other))
    same = [found for found in (mine, theirs) if isinstance(found, OneAnswer)]
    if len(same) == 2 and (same[0].optimal == same[1].optimal).all():
        return Distinction(game, one, other, answers=(same[0], same[1]))
    moved = [found for found in (mine, theirs) if not isinstance(found, OneAnswer)]
    rng = np.random.default_rng(seed)
    for commitment in chain(moved, _candidates(game, one, other, rng)):
        masks = [exact_optimum(game, r, commitment).optimal for r in (one, other)]
        if (masks[0] != masks[1]).any():
            return Distinction(game, one, other, commitment=commitment)
    return Distinction(game, one, other)


@checked(game=GAME, limit=whole(1))
def one_answer(game: TwoAgentMDP, reward: ArrayLike, *, limit: int = LIMIT) -> OneAnswer | None:
    """Return the set of optimal actions if it is the same under every commitment, else None.

    None also where an action is tied under some commitments and worse under others.

    Raises
    ------
    NotExact, InvalidReward, InvalidArgument
        As `indistinguishable`.

    **Cost** as `indistinguishable`.
    """
    r = exact_reward(game, reward)
    _check_count(game, limit)
    found = _answer(game, r)
    return found if isinstance(found, OneAnswer) else None


def _answer(game: TwoAgentMDP, reward: Exact) -> OneAnswer | Exact:
    """Return the one answer, or a commitment whose answer differs from that to the first."""
    n, n_a, n_b = game.shape
    optimal = exact_optimum(game, reward, _deterministic(game, (0,) * n)).optimal
    forms = _Forms(game, reward, optimal.argmax(axis=1))
    leads = []
    for s, b in product(range(n), range(n_b)):
        if b == forms.pi2[s]:
            continue
        for others in product(range(n_a), repeat=n - 1):
            matrix, dets = forms.lead(s, b, others)
            if optimal[s, b]:
                least, p = max((least_on_simplex(m) for m in (matrix, -matrix)), key=_size)
                differs = least != 0
            else:
                least, p = least_on_simplex(matrix)
                differs = least <= 0
                leads.append(least / max(dets))
            if differs:
                commitment = _deterministic(game, (*others[:s], 0, *others[s:]))
                commitment[s] = p
                return commitment
    return OneAnswer(optimal, min(leads, default=None))


@dataclass(frozen=True, eq=False)
class _Forms:
    """The quadratic forms of the leads of a deterministic response, in Fractions.

    Attributes
    ----------
    game : the game.
    reward : (S, A, B).
    pi2 : the response, an action a state, (S,).
    """

    game: TwoAgentMDP
    reward: Exact
    pi2: NDArray[np.int64]

    @cached_property
    def kernel(self) -> Exact:
        return exact_kernel(self.game)

    @cached_property
    def discount(self) -> Fraction:
        return self.game.rational.discount

    @cached_property
    def plays(self) -> dict[tuple[int, ...], tuple[Exact, Exact]]:
        """By deterministic commitment: the values of the play, and returns to each state.

        The latter are the diagonal of ``(I − γ P)⁻¹``. It is a cofactor over the determinant, and
        the cofactor of s does not depend on the row of s: so their inverses are the determinants,
        up to a factor that is common to all actions in s.
        """
        n, states = self.game.n_states, np.arange(self.game.n_states)
        unit = as_fractions(np.eye(n, dtype=int))
        found = {}
        for actions in product(range(self.game.n_leader_actions), repeat=n):
            steps = self.kernel[states, list(actions), self.pi2]
            inverse = solve(unit - self.discount * steps, unit)
            assert inverse is not None  # I − γP is regular
            found[actions] = (
                inverse @ self.reward[states, list(actions), self.pi2],
                inverse.diagonal(),
            )
        return found

    def lead(self, s: int, b: int, others: tuple[int, ...]) -> tuple[Exact, list[Fraction]]:
        """Return M of the lead over b in s, and the determinants up to a common factor.

        Parameters
        ----------
        others : what a deterministic commitment plays in the states but s.
        """
        own = int(self.pi2[s])
        at_once = self.reward[s, :, own] - self.reward[s, :, b]
        moved = self.discount * (self.kernel[s, :, own] - self.kernel[s, :, b])
        columns, dets = [], []
        for a in range(self.game.n_leader_actions):
            values, returns = self.plays[(*others[:s], a, *others[s:])]
            dets.append(1 / returns[s])
            columns.append(dets[-1] * (at_once + moved @ values))
        return np.array(columns, dtype=object).T, dets


def least_on_simplex(matrix: Exact) -> tuple[Fraction, Exact]:
    """Return the least value of ``p · M p`` over all distributions p, and a p that has it.

    A least point with the fewest entries is the only stationary point within its face: the face's
    equations ``S p = λ 1``, ``Σ p = 1`` are regular, or one could move along it to a smaller face.

    Parameters
    ----------
    matrix : M, shape (A, A), of Fractions; S is its symmetric part.

    **Cost** a linear system for each of the 2^A − 1 faces.

    Examples
    --------
    >>> least_on_simplex(as_fractions([[1, -2], [-2, 1]]))[0]
    Fraction(-1, 2)
    """
    symmetric = (matrix + matrix.T) * Fraction(1, 2)
    n = len(symmetric)
    least, at = Fraction(symmetric[0, 0]), as_fractions(np.eye(n, dtype=int)[0])
    for size in range(1, n + 1):
        for face in map(list, combinations(range(n), size)):
            system = as_fractions(np.ones((size + 1, size + 1), dtype=int))
            system[:size, :size] = symmetric[np.ix_(face, face)]
            system[:size, size], system[size, size] = Fraction(-1), Fraction(0)
            point = solve(system, as_fractions(np.eye(size + 1, dtype=int)[size]))
            if point is None or (point[:size] < 0).any() or point[size] >= least:
                continue
            least, at = point[size], as_fractions(np.zeros(n, dtype=int))
            at[face] = point[:size]
    return least, at


def _size(least: tuple[Fraction, Exact]) -> Fraction:
    return abs(least[0])


def _candidates(
    game: TwoAgentMDP, one: Exact, other: Exact, rng: np.random.Generator
) -> Iterator[Exact]:
    """Yield commitments that may separate: deterministic, random, and around the ties of `one`."""
    n, n_a, _ = game.shape
    corners = [_deterministic(game, actions) for actions in product(range(n_a), repeat=n)]
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


def _deterministic(game: TwoAgentMDP, actions: tuple[int, ...]) -> Exact:
    return as_fractions(np.eye(game.n_leader_actions, dtype=int)[list(actions)])


def _advantages(game: TwoAgentMDP, reward: Exact) -> Exact:
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


def _check_count(game: TwoAgentMDP, limit: int) -> None:
    count = game.n_leader_actions**game.n_states
    if count > limit:
        raise InvalidArgument(
            "game", f"has {count:,} deterministic commitments", f"at most {limit:,}", count
        )
