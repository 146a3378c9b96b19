"""What soft-optimal answers to some commitments tell of the reward, before any is seen.

It depends on the game and the commitments alone: the answers determine the reward up to the null
vectors of a homogeneous system (`iirl_opt.certificate.reward_rank`), at a known temperature; where
that is unknown, up to these and a positive factor.

* One commitment and state rewards, γ > 0: the reward is told up to a constant iff the differences
  ``P_b(s, ·) − P_b'(s, ·)`` have rank S − 1. At γ = 0 nothing is told of state rewards.
* Several commitments have values of their own, so their differences are not to be stacked: the rank
  is that of the whole system in (r, V_1, …, V_T).
* Rewards (S, B), which the leader's action does not enter: one commitment leaves S dimensions, two
  leave the constants iff ``[I − γ P_1b, −(I − γ P_2b)]``, stacked over b, has rank 2 S − 1.
* Rewards (S, A, B): shaping by any potential, r(s, a, b) = φ(s) − γ Σ P(s, a, b, s') φ(s'), shows
  in no answer to any commitment: S dimensions stay, in one game.

Ranks are decided in exact numbers: a minor that is invertible modulo a prime proves that a rank is
no less, null vectors in Fractions that it is no more.

Sources: Cao, Cohen & Szpruch 2021; Rolland et al. 2022 (two experts); the rest is ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate import Certificate, certify
from iirl_opt.certificate.instance import Instance
from iirl_opt.certificate.reward_rank import RewardRank, equations, reward_shape, satisfied
from iirl_opt.checks import array_of_floats, checked, each, kept, one_of
from iirl_opt.errors import InvalidArgument, InvalidPolicy
from iirl_opt.exact.linear import NotRepaired, solve
from iirl_opt.exact.modular import MODULI, pivots
from iirl_opt.exact.numbers import Vector, as_fractions
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import check_policy, rational_policy
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.rewards.soft_rows import KINDS, RewardKind

__all__ = ["Identifiability", "identifiability"]


@dataclass(frozen=True, eq=False)
class Identifiability(Tabular):
    """How far soft-optimal answers to some commitments tell the reward, proved.

    Attributes
    ----------
    certificate : the proof, which holds the game, the commitments and the null vectors.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, _ = iirl.random_game(4, 2, 2, rng=0)
    >>> identifiability(game, [[[1, 0]] * 4]).identified
    True
    >>> found = identifiability(game, [[[1, 0]] * 4], rewards="joint")
    >>> found.left, found.identified
    (12, False)
    """

    certificate: RewardRank

    def __repr__(self) -> str:
        t, kind = len(self.certificate.commitments), self.certificate.rewards
        seen = f"{t} commitment{'' if t == 1 else 's'}"
        return f"Identifiability({kind} rewards, {seen}: {self._known()})"

    def table(self) -> FactTable:
        """Return one row: of which rewards, the rank, and what is left."""
        facts = {
            "rewards": self.certificate.rewards,
            "commitments": len(self.certificate.commitments),
            "unknowns": self.certificate.unknowns,
            "rank": self.rank,
            "left": self.left,
            "known": self._known(),
        }
        return FactTable([facts], "Identifiability")

    def _known(self) -> str:
        if self.identified:
            return "known up to a constant"
        if self.only_shaping:
            return "known up to potential shaping"
        return f"{self.left} dimensions left"

    @property
    def rank(self) -> int:
        """The rank of the system in (r, V_1, …, V_T)."""
        return self.certificate.rank

    @property
    def left(self) -> int:
        """The dimension of the rewards that show in no answer, the constants included."""
        return len(self.certificate.null)

    @property
    def identified(self) -> bool:
        """Whether the reward is told up to a constant, at a known temperature."""
        return self.left == 1

    @property
    def only_shaping(self) -> bool:
        """Whether rewards (S, A, B) are told up to shaping, which no commitment shows."""
        kind, n_states = self.certificate.rewards, self.certificate.instance.shape[0]
        return kind == "joint" and self.left == n_states

    @cached_property
    def directions(self) -> Vector:
        """A basis of the rewards that show in no answer, Fractions (k, S), (k, S, B), …"""
        shape = reward_shape(self.certificate.instance, self.certificate.rewards)
        return np.asarray(self.certificate.null[:, : math.prod(shape)].reshape(-1, *shape))


@certify.register
def _of_identifiability(found: Identifiability) -> Certificate:
    return found.certificate


@checked(
    game=GAME,
    commitments=each(kept(array_of_floats(2, error=InvalidPolicy))),
    rewards=one_of(*KINDS),
)
def identifiability(
    game: TwoAgentMDP, commitments: Sequence[ArrayLike], rewards: RewardKind = "state"
) -> Identifiability:
    """Return how far soft-optimal answers to commitments tell the reward, with its proof.

    Parameters
    ----------
    commitments : policies (S, A), at least one; floats or Fractions.
    rewards : the kind: ``"state"`` (S,), ``"follower"`` (S, B), ``"joint"`` (S, A, B).

    Raises
    ------
    InvalidPolicy, InvalidArgument
    NotExact
        More is left than the constants, or shaping, there are more than 40 unknowns, and
        python-flint is not installed.

    **Source** the module's docstring. **Cost** elimination on small integers, cubic in the number
    of unknowns; an exact linear system where more is left than always is.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, _ = iirl.random_game(3, 2, 2, rng=0)
    >>> one, two = [[1, 0]] * 3, [[0, 1]] * 3
    >>> [identifiability(game, seen, "follower").left for seen in ([one], [one, two])]
    [3, 1]
    """
    if not len(commitments):
        raise InvalidArgument("commitments", "are none", "at least one", commitments)
    for t, pi1 in enumerate(commitments):
        check_policy(pi1, game.shape[:2], name=f"commitments[{t}]", states=game.states)
    instance = Instance.of(game)
    exact = np.array([rational_policy(np.asarray(pi1)) for pi1 in commitments], dtype=object)
    system = equations(instance, exact, rewards)
    for modulus in MODULI:
        rows, columns = pivots(system, modulus)
        null = _null_vectors(instance, exact, rewards, system, (rows, columns))
        if null is not None:
            return Identifiability(
                RewardRank(
                    instance=instance,
                    commitments=exact,
                    rewards=rewards,
                    rows=tuple(rows),
                    columns=tuple(columns),
                    modulus=modulus,
                    null=null,
                )
            )
    reason = f"{' and '.join(map(str, MODULI))} divide minors of the equations"
    raise NotRepaired("the rank", reason)


def _null_vectors(
    instance: Instance,
    commitments: Vector,
    rewards: str,
    system: NDArray[Any],
    minor: tuple[list[int], list[int]],
) -> Vector | None:
    """Return null vectors, unit vectors beside the minor; None where the rank is more than its."""
    rows, columns = minor
    width = system.shape[1]
    free = np.setdiff1d(np.arange(width), np.array(columns, dtype=np.int64))
    known = _shaping(instance, len(commitments), rewards)
    if len(free) == len(known) and (known[:, free] == np.eye(len(free), dtype=int)).all():
        return known  # what is always left
    null = np.full((len(free), width), Fraction(0), dtype=object)
    null[np.arange(len(free)), free] = Fraction(1)
    if columns:
        square = as_fractions(system[np.ix_(np.array(rows), np.array(columns))])
        right = as_fractions(-system[np.ix_(np.array(rows), free)])
        found = solve(square, right)
        assert found is not None  # a minor that is invertible
        null[:, columns] = found.T
    off = satisfied(instance, commitments, rewards, null)
    return None if off.any() else null


def _shaping(instance: Instance, times: int, rewards: str) -> Vector:
    """Return the null vectors that there always are: constants, or potential shaping of joint ones.

    Every V_t is the potential φ, and r = φ − γ P φ.
    """
    n_states = instance.shape[0]
    each = math.prod(reward_shape(instance, rewards)) // n_states
    potentials = [[Fraction(1)] * n_states]
    if rewards == "joint":
        potentials = [[Fraction(i == s) for i in range(n_states)] for s in range(n_states)]
    out = []
    for potential in potentials:
        phi = np.array(potential, dtype=object)
        own = instance.leave(phi).reshape(n_states, -1)[:, :each]
        out.append(np.concatenate([own.ravel(), *[phi] * times]))
    return np.array(out, dtype=object)
