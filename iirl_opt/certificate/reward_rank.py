"""Proofs of how far soft-optimal answers tell the reward: the rank of their equations.

Two rewards have the same soft-optimal answers to commitments π1_1 … π1_T, at one temperature, iff
their difference r solves, with some V_1 … V_T, the homogeneous system

    r̄_b(s) + γ (P_b V_t)(s) − V_t(s) = 0      for every t, s and b

(`iirl_opt.rewards.soft_rows`). As I − γ P_b is invertible, r determines the V_t, and r = 0 makes
them zero: so the rewards that are not told are as many dimensions as the system has null vectors.
The certificate holds them, and a minor that is invertible modulo a number for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate.check import Conditions, magnitude
from iirl_opt.certificate.instance import Instance
from iirl_opt.certificate.record import Certificate
from iirl_opt.exact.modular import LARGEST_MODULUS, is_invertible

__all__ = ["RewardRank", "equations", "reward_shape", "satisfied"]

# Objects that are Fractions.
Vector = NDArray[Any]

KINDS = ("state", "follower", "joint")


def reward_shape(instance: Instance, rewards: str) -> tuple[int, ...]:
    """Return the shape of rewards of a kind."""
    n_states, n_a, n_b = instance.shape
    return {"state": (n_states,), "follower": (n_states, n_b)}.get(rewards, (n_states, n_a, n_b))


def equations(
    instance: Instance, commitments: Vector, rewards: str, wanted: Sequence[int] | None = None
) -> Vector:
    """Return the homogeneous system in whole numbers, each row times what makes it so.

    Row ``(t·S + s)·B + b``; columns are the reward, flat, and V_1 … V_T.

    Parameters
    ----------
    commitments : distributions (T, S, A).
    wanted : rows; all by default.
    """
    n_states, n_a, n_b = instance.shape
    size = math.prod(reward_shape(instance, rewards))
    each = n_states * n_b
    rows = range(len(commitments) * each) if wanted is None else wanted
    out = np.zeros((len(rows), size + len(commitments) * n_states), dtype=object)
    follower = [instance.follower(pi1) for pi1 in commitments]
    for i, at in enumerate(rows):
        t, choice = divmod(at, each)
        s, b = divmod(choice, n_b)
        numbers: dict[int, Fraction] = {}
        if rewards == "joint":
            shares = enumerate(commitments[t, s])
            numbers.update({(s * n_a + a) * n_b + b: share for a, share in shares if share})
        else:
            numbers[s if rewards == "state" else choice] = Fraction(1)
        first = size + t * n_states
        for j, p in follower[t].row(choice).items():
            numbers[first + j] = instance.discount * p
        numbers[first + s] = numbers.get(first + s, Fraction(0)) - 1
        below = math.lcm(*(x.denominator for x in numbers.values()))
        for j, x in numbers.items():
            out[i, j] = x.numerator * (below // x.denominator)
    return out


def satisfied(instance: Instance, commitments: Vector, rewards: str, null: Vector) -> Vector:
    """Return what the equations of every row are of vectors (k, n), (k, T, S, B); zero if null."""
    n_states, _, n_b = instance.shape
    shape = reward_shape(instance, rewards)
    size = math.prod(shape)
    out = np.empty((len(null), len(commitments), n_states, n_b), dtype=object)
    for t, pi1 in enumerate(commitments):
        follower = instance.follower(pi1)
        for k, vector in enumerate(null):
            values = vector[size:].reshape(-1, n_states)[t]
            ahead = instance.discount * follower.times(values).reshape(n_states, n_b)
            own = vector[:size].reshape(shape)
            if rewards == "joint":
                own = (pi1[:, :, None] * own).sum(axis=1)
            out[k, t] = own.reshape(n_states, -1) + ahead - values[:, None]
    return out


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RewardRank(Certificate):
    """How many dimensions of rewards soft-optimal answers to some commitments do not tell.

    Attributes
    ----------
    commitments : weights (T, S, A).
    rewards : of ``"state"`` (S,), ``"follower"`` (S, B) or ``"joint"`` (S, A, B).
    rows, columns : positions of an invertible minor, as many as the rank.
    modulus : 2 ≤ m < 2³¹; the minor, in whole numbers, is invertible modulo m.
    null : null vectors (k, n) of (r, V_1, …, V_T), the unit vectors where `columns` are not.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> from iirl_opt.verification import identifiability
    >>> game, _ = iirl.random_game(4, 2, 2, rng=0)
    >>> proof = identifiability(game, [[[1, 0]] * 4]).certificate
    >>> proof.claim.partition(", ")[2]
    'at one temperature, iff their difference is constant'
    >>> bool(proof.check())
    True
    """

    kind: ClassVar[str] = "reward rank"
    theorem: ClassVar[str] = "the soft Bellman equation is linear in reward and values"
    forms: ClassVar[Mapping[str, str]] = {
        "commitments": "weights",
        "rewards": "text",
        "rows": "positions",
        "columns": "positions",
        "modulus": "integer",
        "null": "array",
    }

    commitments: Vector
    rewards: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    modulus: int
    null: Vector

    @property
    def unknowns(self) -> int:
        """The number of unknowns: rewards, and values for every commitment."""
        size = math.prod(reward_shape(self.instance, self.rewards))
        return size + len(self.commitments) * self.instance.shape[0]

    @property
    def rank(self) -> int:
        """The rank of the system."""
        return len(self.columns)

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n_states, n_a, n_b = self.instance.shape
        t, n = len(self.commitments), self.unknowns
        return {
            "commitments": (t, n_states, n_a),
            "rows": (self.rank, t * n_states * n_b),
            "columns": (self.rank, n),
            "null": (n - self.rank, n),
        }

    def _misfits(self) -> list[str]:
        if self.rewards not in KINDS:
            return [f"rewards is {self.rewards!r}"]
        right = {
            "commitments are none": self.commitments.ndim == 3 and len(self.commitments) > 0,
            "modulus is none": 2 <= self.modulus < LARGEST_MODULUS,
            "rows repeat": len(set(self.rows)) == len(self.rows),
            "columns repeat": len(set(self.columns)) == len(self.columns),
        }
        wrong = [text for text, fits in right.items() if not fits]
        return wrong or super()._misfits()

    def _words(self) -> str:
        t, left = len(self.commitments), len(self.null)
        answers = "the commitment" if t == 1 else f"the {t} commitments"
        by = "is constant" if left == 1 else f"is in the stated space of {left} dimensions"
        return (
            f"two {self.rewards} rewards have the same soft-optimal answers to {answers}, at one "
            f"temperature, iff their difference {by}"
        )

    def _conditions(self) -> Conditions:
        commitments = self.shares("commitments")
        free = np.setdiff1d(np.arange(self.unknowns), np.array(self.columns, dtype=np.int64))
        off = magnitude(satisfied(self.instance, commitments, self.rewards, self.null))
        unit = np.eye(len(free), dtype=int)
        minor = equations(self.instance, commitments, self.rewards, self.rows)
        regular = is_invertible(minor[:, list(self.columns)], self.modulus)
        residuals = {
            "the null vectors solve the equations": off,
            "the null vectors are independent": magnitude(self.null[:, free] - unit),
            "the minor is invertible": 0 if regular else math.inf,
        }
        return Conditions(residuals, {})
