"""Proofs of what the strict test shows: the angle between a reward and a hypothesis.

Let the response to a commitment lead on alike from every state, so that all rows of its chain P are
equal. For gaps of it with the rows ``ψ = P(s) − P_b(s)``, which sum to zero, ``ψ (I − γP)⁻¹ = ψ``;
so where the response is optimal for a state reward r, ``ψ·r ≥ 0``, whatever the tie rule.

With S−1 such rows r, centred, lies in the simplicial cone ``{x ⟂ 1 : ψ_i·x ≥ 0}``. Its extreme
rays are the x_j with ``ψ_i·x_j = 0`` for i ≠ j, and a cone whose extreme rays are within an angle
θ < 90° of w lies within θ of it. The angles are compared as ``tan² = |x⊥|²|w|² / (w·x)²``. Rays
that are only nearly those, ``ψ_i·x_j = [i = j] + E_ij``, are off by at most ``ε/(1−ε) max|x|`` with
ε the largest sum of |E| over a column.

The certificate holds the commitment and the answer, and takes the rows from the game inside it.

**Source** the repaired Theorem 2: the robust test with regular-simplex rows has tan θ = (S−2)ε.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.base import Certificate, Conditions
from iirl_opt.certificate.episodes import Episode
from iirl_opt.certificate.form import above, up
from iirl_opt.certificate.given import stacked
from iirl_opt.certificate.halfspaces import centred
from iirl_opt.certificate.instance import Instance
from iirl_opt.certificate.near import SMALL
from iirl_opt.checks import checked, is_a, unmasked
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import as_reals, common
from iirl_opt.game.mdp import MDP, MODEL, TwoAgentMDP
from iirl_opt.observation import Observation, observe

__all__ = ["AngleBound", "angle_bound"]

# Objects that are Fractions.
Vector = NDArray[Any]

ENOUGH = Fraction(1, 2**60)  # what refined rays may miss


@dataclass(frozen=True, eq=False, kw_only=True)
class AngleBound(Certificate):
    """The response proves that a state reward is within an angle of a hypothesis, or constant.

    Attributes
    ----------
    pi1, pi2 : weights, the commitment (S, A) and the response to it (S, B).
    reward : the hypothesis, (S,).
    states, actions : positions of the S−1 gaps that are used.
    rays : near the extreme rays, (S−1, S).
    tan_squared : at least tan² of the angle.
    """

    kind: ClassVar[str] = "angle bound"
    theorem: ClassVar[str] = "extreme rays of the simplicial cone of the strict test"
    weaker_answer: ClassVar[bool] = True
    forms: ClassVar[Mapping[str, str]] = {
        "pi1": "weights",
        "pi2": "weights",
        "reward": "array",
        "states": "positions",
        "actions": "positions",
        "rays": "array",
        "tan_squared": "number",
    }

    pi1: Vector
    pi2: Vector
    reward: Vector
    states: tuple[int, ...]
    actions: tuple[int, ...]
    rays: Vector
    tan_squared: Fraction

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n_states, n_a, n_b = self.instance.shape
        return {
            "pi1": (n_states, n_a),
            "pi2": (n_states, n_b),
            "reward": (n_states,),
            "states": (n_states - 1, n_states),
            "actions": (n_states - 1, n_b),
            "rays": (n_states - 1, n_states),
        }

    def _words(self) -> str:
        return (
            "the stated response is optimal only for state rewards that are constant, or whose "
            f"angle to the stated one, both centred, has tan² <= {up(self.tan_squared)}"
        )

    def _episode(self) -> Episode:
        return Episode(self.instance, self.shares("pi1"), self.shares("pi2"))

    def proved(self) -> tuple[Fraction, Fraction, Fraction]:
        """Return the least `tan_squared` that the rays prove, and two numbers that must be > 0.

        The first of these is one less what the rays are off by, the second the least component of a
        ray along the hypothesis, up to scale.
        """
        if not len(self.rays):
            return Fraction(0), Fraction(1), Fraction(1)
        off = _column_error(_rows(self._episode(), self.states, self.actions), self.rays)
        if off >= 1:
            return Fraction(0), 1 - off, Fraction(0)
        ahead, largest = _tangents(self.rays, centred(self.reward), off)
        return largest, 1 - off, ahead

    def _conditions(self) -> Conditions:
        totals = [abs(sum(x.tolist(), Fraction(0))) for x in self.rays]
        largest, near, ahead = self.proved()
        residuals = {
            "the response leads on alike from every state": 0
            if _alike(self._episode())
            else np.inf,
            "the rays sum to zero": max(totals, default=Fraction(0)),
            "no ray is farther": largest - self.tan_squared,
            "the bound is not negative": -self.tan_squared,
        }
        margins = {
            "the discount is positive": self.instance.discount,
            "the rays are nearly those of the rows": near,
            "every ray is on the side of the hypothesis": ahead,
        }
        return Conditions(residuals, margins)


def _alike(episode: Episode) -> bool:
    rows = [episode.chain.row(s) for s in range(len(episode.pi2))]
    return all({j: p for j, p in row.items() if p} == rows[0] for row in rows)


def _rows(episode: Episode, states: tuple[int, ...], actions: tuple[int, ...]) -> Vector:
    """Return ψ, (S−1, S)."""
    n_states, n_b = episode.pi2.shape
    out = np.full((len(states), n_states), Fraction(0), dtype=object)
    for i, (s, b) in enumerate(zip(states, actions, strict=True)):
        for j, p in episode.chain.row(s).items():
            out[i, j] += p
        for j, p in episode.follower.row(s * n_b + b).items():
            out[i, j] -= p
    return out


def _column_error(rows: Vector, rays: Vector) -> Fraction:
    """Return the largest sum over i of ``|ψ_i·x_j − [i = j]|``."""
    left = [_whole(row) for row in rows]
    worst = Fraction(0)
    for j, ray in enumerate(rays):
        numbers, below = _whole(ray)
        total = Fraction(0)
        for i, (row, under) in enumerate(left):
            product = sum(map(mul, row, numbers))
            if i == j or product:
                total += abs(Fraction(product, below * under) - (i == j))
        worst = max(worst, total)
    return worst


def _whole(vector: Vector) -> tuple[list[int], int]:
    numbers, below = common(vector)
    return numbers.tolist(), below


def _tangents(rays: Vector, w: Vector, off: Fraction) -> tuple[Fraction, Fraction]:
    """Return the least component of a ray along w, up to scale, and the largest tan².

    Rays are taken to be off by what `off` allows. The tan² is of no use unless the first is > 0.
    """
    square: Any = w @ w
    squares: list[Any] = [x @ x for x in rays]
    slip = off / (1 - off) * above(max(squares)) if off else Fraction(0)
    length = above(square) if off else Fraction(1)
    ahead, tans = [], [Fraction(0)]
    for x, own in zip(rays, squares, strict=True):
        along = w @ x
        ahead.append(along / length - slip if along > 0 else Fraction(0))
        if ahead[-1] <= 0:
            continue
        if off:
            tans.append(((above(own - along**2 / square) + slip) / ahead[-1]) ** 2)
        else:
            tans.append(own * square / along**2 - 1)
    return min(ahead), max(tans)


@checked(environment=MODEL, reward=unmasked(InvalidReward), observation=is_a(Observation))
def angle_bound(
    environment: MDP | TwoAgentMDP,
    reward: ArrayLike,
    observation: Observation | None = None,
    bound: Any = None,
) -> AngleBound:
    """Return the proof of what a response that leads on alike from every state shows.

    Parameters
    ----------
    environment : kernel (S, B, S), or a game.
    reward : the hypothesis, (S,).
    observation : the answer; by default the first action everywhere.
    bound : on tan² θ; by default the largest of the extreme rays, which is the best.

    Raises
    ------
    InvalidArgument
        The claim does not hold for this answer: says why.

    **Cost** arithmetic: one linear system with S unknowns and S−1 right sides.
    """
    game = environment
    if isinstance(environment, MDP):
        game = TwoAgentMDP.single_agent(environment)
    assert isinstance(game, TwoAgentMDP)
    n_states, n_a, n_b = game.shape
    if observation is None:
        first = np.eye(n_b)[np.zeros(n_states, dtype=int)]
        observation = observe(game, np.full((n_states, n_a), 1 / n_a), first)
    if np.shape(reward) != (n_states,):
        shape = np.shape(reward)
        raise InvalidReward("reward", f"has shape {shape}", f"({n_states},)", shape)
    instance = Instance.of(game)
    pi1, pi2 = stacked(instance, [observation])
    episode = Episode(instance, pi1[0], pi2[0])
    states, actions = _telling(episode)
    rays = _rays(_rows(episode, states, actions))
    parts: dict[str, Any] = {
        "instance": instance,
        "pi1": pi1[0],
        "pi2": pi2[0],
        "reward": np.asarray(reward),
        "states": states,
        "actions": actions,
        "rays": rays,
    }
    found = AngleBound(**parts, tan_squared=Fraction(0))
    limit = found.proved()[0] if bound is None else bound
    found = AngleBound(**parts, tan_squared=limit)
    outcome = found.check()
    if not outcome:
        problem = f"prove no such bound ({outcome.reasons[0]})"
        raise InvalidArgument("rows of the answer", problem, "those of a strict environment", None)
    return found


def _telling(episode: Episode) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return S−1 gaps, each in a state of its own, the last state being spare."""
    n_states, n_b = episode.pi2.shape
    found: list[tuple[int, int]] = []
    for s in range(n_states):
        own = episode.chain.row(s)
        unlike = (b for b in range(n_b) if episode.follower.row(s * n_b + b) != own)
        found += [(s, b) for b in (next(unlike, None),) if b is not None]
    if len(found) < n_states - 1:
        problem = f"differ from the response in {len(found)} states"
        raise InvalidArgument("other actions", problem, f"{n_states - 1} at least", len(found))
    chosen = found[: n_states - 1]
    return tuple(s for s, _ in chosen), tuple(b for _, b in chosen)


def _rays(rows: Vector) -> Vector:
    """Return the vectors x_j of sum zero with ``ψ_i·x_j = [i = j]``, exactly or nearly."""
    size = rows.shape[1]
    if size == 1:
        return rows
    if size <= SMALL:
        system = np.concatenate([rows, np.full((1, size), Fraction(1), dtype=object)])
        right = np.full((size, size - 1), Fraction(0), dtype=object)
        right[np.arange(size - 1), np.arange(size - 1)] = Fraction(1)
        found = solve(system, right)
        if found is None:
            raise InvalidArgument("rows of the answer", "are dependent", "independent rows", None)
        return np.asarray(found.T)
    # Without the last coordinate, which makes the sum zero.
    reduced = rows[:, :-1] - rows[:, -1:]
    scale = 1 / np.array([max(map(abs, row)) for row in reduced], dtype=object)
    inverse = np.linalg.inv(as_reals(reduced * scale[:, None]))
    rays = _dyadic(inverse.T) * scale[:, None]
    for _ in range(4):
        missed = np.eye(size - 1, dtype=int) - _products(reduced, rays)
        if max(map(abs, missed.ravel().tolist())) < ENOUGH:
            break
        rays = rays + _dyadic(as_reals(missed * scale) @ inverse.T)
    return np.hstack([rays, -rays.sum(axis=1, keepdims=True)])


def _products(rows: Vector, rays: Vector) -> Vector:
    """Return ``ψ_i·x_j`` as an array [j, i]."""
    left = [_whole(row) for row in rows]
    out = np.empty((len(rays), len(rows)), dtype=object)
    for j, ray in enumerate(rays):
        numbers, below = _whole(ray)
        out[j] = [Fraction(sum(map(mul, row, numbers)), below * under) for row, under in left]
    return out


def _dyadic(numbers: Vector) -> Vector:
    out = np.empty(numbers.shape, dtype=object)
    out.ravel()[:] = [Fraction(x) for x in numbers.ravel().tolist()]
    return out
