"""One answer to all commitments: a follower that always answers alike, decided exactly.

The set of optimal answers may be the same under every commitment, stochastic ones included. That
has infinitely many cases, and is decided exactly: let π2 be deterministic and b another action in
s. Under π1 the lead of π2 over b is

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

Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import checked, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import as_fractions
from iirl_opt.game.exact import Exact, exact_kernel, exact_optimum, exact_reward
from iirl_opt.game.mdp import GAME, TwoAgentMDP

__all__ = [
    "LIMIT",
    "OneAnswer",
    "check_count",
    "deterministic_commitment",
    "find_answer",
    "least_on_simplex",
    "one_answer",
]

Mask = NDArray[np.bool_]

# Deterministic commitments beyond which an enumeration is refused: each is a system in Fractions.
LIMIT = 1024


class OneAnswer(NamedTuple):
    """The answer that is optimal under every commitment.

    Attributes
    ----------
    optimal : the mask (S, B) of the optimal actions, the same under every commitment.
    lead : every other action is worse by at least this, under every commitment; None without any.

    Examples
    --------
    >>> from iirl_opt.library import read_model
    >>> game = read_model("same-answer").game
    >>> one_answer(game, [0, 1, Fraction("0.95")])
    OneAnswer(optimal=<3×2, 4 true>, lead=9/20)
    """

    optimal: Mask
    lead: Fraction | None

    def __repr__(self) -> str:
        return in_brief(self)


@checked(game=GAME, limit=whole(1))
def one_answer(game: TwoAgentMDP, reward: ArrayLike, *, limit: int = LIMIT) -> OneAnswer | None:
    """Return the set of optimal actions if it is the same under every commitment, else None.

    None also where an action is tied under some commitments and worse under others.

    Raises
    ------
    NotExact, InvalidReward, InvalidArgument
        The game was given in floating point, the reward is none, or there are more deterministic
        commitments than the limit.

    **Cost** no program: a linear system in Fractions for each deterministic commitment, and then
    S·B matrices of size A×A.

    Examples
    --------
    >>> from iirl_opt.library import read_model
    >>> game = read_model("same-answer").game
    >>> one_answer(game, [0, 1, Fraction("0.95")]).optimal.tolist()
    [[True, True], [True, False], [True, False]]
    >>> one_answer(game, [0, 1, 0]) is None
    True
    """
    r = exact_reward(game, reward)
    check_count(game, limit)
    found = find_answer(game, r)
    return found if isinstance(found, OneAnswer) else None


def find_answer(game: TwoAgentMDP, reward: Exact) -> OneAnswer | Exact:
    """Return the one answer, or a commitment whose answer differs from that to the first."""
    n, n_a, n_b = game.shape
    optimal = exact_optimum(game, reward, deterministic_commitment(game, (0,) * n)).optimal
    forms = _LeadForms(game, reward, optimal.argmax(axis=1))
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
                commitment = deterministic_commitment(game, (*others[:s], 0, *others[s:]))
                commitment[s] = p
                return commitment
    return OneAnswer(optimal, min(leads, default=None))


@dataclass(frozen=True, eq=False)
class _LeadForms:
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


def deterministic_commitment(game: TwoAgentMDP, actions: tuple[int, ...]) -> Exact:
    """Return the commitment (S, A) that plays an action in each state, in Fractions."""
    return as_fractions(np.eye(game.n_leader_actions, dtype=int)[list(actions)])


def check_count(game: TwoAgentMDP, limit: int) -> None:
    """Refuse a game of more deterministic commitments than the limit."""
    count = game.n_leader_actions**game.n_states
    if count > limit:
        raise InvalidArgument(
            "game", f"has {count:,} deterministic commitments", f"at most {limit:,}", count
        )
