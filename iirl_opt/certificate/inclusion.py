"""Proofs that every reward that explains the observations lies in given half-spaces.

For one half-space h the proof is a combination of the feasibility conditions. With the gaps
``C_t r + γ D_t V_t`` of episode t (C_t the part of the reward, zero for state rewards, and
``D_t = P_t − P_{t,b}``), which are zero for played actions and ≥ 0 for the others, and
``(I − γ P_t) V_t = R̄_t r``, multipliers y_t (≥ 0 but for played actions) and z_t with

    γ D_tᵀ y_t = (I − γ P_t)ᵀ z_t,   h = Σ_t C_tᵀ y_t + R̄_tᵀ z_t

give ``h·r = Σ_t y_t·(gaps of episode t) ≥ 0`` for every feasible r. So do the duals of a linear
program that minimises h·r. Multipliers in floats are repaired: the rows that they use, with the
values eliminated, are thinned to independent ones, and h is solved for in these exactly.

The half-spaces may be those of a named set (`affine_halfspaces`, `cone_halfspaces`); then the
claim speaks of that set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from iirl_opt.certificate.base import Certificate, Conditions
from iirl_opt.certificate.episodes import (
    Episode,
    combined,
    explicit_rows,
    on_reward,
    policy_residuals,
)
from iirl_opt.certificate.halfspaces import affine_halfspaces, cone_halfspaces
from iirl_opt.certificate.instance import Instance, Numbers, SparseRows, largest
from iirl_opt.certificate.rewards import best, stacked
from iirl_opt.errors import IIRLError, InvalidArgument
from iirl_opt.exact.linear import NotRepaired, solve_near
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import Observation

__all__ = ["Inclusion", "inclusion"]

Vector = NDArray[Any]

# Multipliers below this share of the largest are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class Inclusion(Certificate):
    """Every reward that explains the observations lies in the half-spaces ``h·r ≥ 0``.

    Attributes
    ----------
    pi1, pi2 : commitments (T, S, A) and responses (T, S, B).
    halfspaces : k rows h, of width S for state rewards or S·A·B.
    on_gaps : the multipliers y: k rows over the T·S·B gaps.
    on_values : the multipliers z: k rows over the T·S values.
    reward : the hypothesis (S,) if the half-spaces are those of a set around it, or None.
    tan : None if the set is Aff(r), else tan θ of the cone.
    """

    kind: ClassVar[str] = "inclusion"
    theorem: ClassVar[str] = "linear duality over Corollary 1 of the paper, with the factor γ"

    pi1: Vector
    pi2: Vector
    halfspaces: SparseRows
    on_gaps: SparseRows
    on_values: SparseRows
    reward: Vector | None = None
    tan: float | Fraction | None = None

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n_states, n_a, n_b = self.instance.shape
        t = len(self.pi1)
        shapes: dict[str, tuple[int, ...]] = {
            "pi1": (t, n_states, n_a),
            "pi2": (t, n_states, n_b),
        }
        if self.reward is not None:
            shapes["reward"] = (n_states,)
        if self.tan is not None:
            shapes["tan"] = ()
        return shapes

    def _misfits(self) -> list[str]:
        n_states, n_a, n_b = self.instance.shape
        k, t = len(self.halfspaces), len(self.pi1)
        widths = (n_states,) if self.reward is not None else (n_states, n_states * n_a * n_b)
        sizes = {"on_gaps": t * n_states * n_b, "on_values": t * n_states}
        wrong = [name for name, size in sizes.items() if not getattr(self, name).fits(k, size)]
        if not any(self.halfspaces.fits(k, width) for width in widths):
            wrong.append("halfspaces")
        if self.tan is not None and self.reward is None:
            wrong.append("an angle without a reward")
        return super()._misfits() + wrong

    def _words(self) -> str:
        every = f"every reward that explains the {len(self.pi1)} observed responses"
        if self.reward is None:
            return f"{every} lies in the {len(self.halfspaces)} half-spaces h·r ≥ 0"
        if self.tan is None:
            return f"{every} is λ r + c with λ ≥ 0, for the stated reward r"
        tan = as_reals(self.tan).item()
        return (
            f"{every} is constant, or its angle to the stated reward, both centred, has a "
            f"tangent of at most {tan:.6g}"
        )

    def _set(self) -> SparseRows | None:
        """Return the half-spaces of the set that the claim speaks of, None if it names none."""
        assert self.reward is not None
        try:
            if self.tan is None:
                return affine_halfspaces(self.reward)
            return cone_halfspaces(self.reward, self.tan)
        except IIRLError:
            return None

    def _named(self, n: Numbers) -> Any:
        """Return how far the half-spaces are from those of the named set, each scaled."""
        if self.reward is None:
            return 0
        wanted = self._set()
        if wanted is None or len(wanted) != len(self.halfspaces):
            return np.inf
        pairs = zip(wanted, self.halfspaces, strict=True)
        unlike = ((n(x), n(y)) for x, y in pairs if not np.array_equal(x, y))
        return largest([largest(np.abs(_unit(x) - _unit(y))) for x, y in unlike])

    def _conditions(self, numbers: Numbers) -> Conditions:
        n, n_states = numbers, numbers.shape[0]
        pi1, pi2 = n(self.pi1), n(self.pi2)
        episodes = [Episode(n, *pair) for pair in zip(pi1, pi2, strict=True)]
        joint = self.halfspaces.width != n_states
        worst: list[list[Any]] = [[0], [0], [0]]
        for h, y, z in zip(self.halfspaces, self.on_gaps, self.on_values, strict=True):
            left = n(h)
            scale = largest(np.abs(left)) or 1
            gaps, states = n(y).reshape(len(pi1), -1), n(z).reshape(len(pi1), -1)
            for episode, weights, values in zip(episodes, gaps, states, strict=True):
                flow = combined(episode, weights, values)
                worst[0].append(largest(-weights[~episode.played.ravel()]) / scale)
                worst[1].append(largest(np.abs(flow)) / scale)
                left = left - on_reward(episode, weights, values, joint)
            worst[2].append(largest(np.abs(left)) / scale)
        names = (
            "multipliers are not negative",
            "the values cancel",
            "the half-spaces are what is left",
        )
        residuals = {
            **policy_residuals("a commitment", pi1),
            **policy_residuals("a response", pi2),
            "the half-spaces are those of the set": self._named(n),
            **{name: largest(found) for name, found in zip(names, worst, strict=True)},
        }
        return Conditions(residuals, {})


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / (largest(np.abs(vector)) or 1))


def inclusion(
    game: TwoAgentMDP,
    observations: Sequence[Observation],
    halfspaces: SparseRows | ArrayLike | None = None,
    multipliers: Iterable[ArrayLike] | None = None,
    *,
    reward: ArrayLike | None = None,
    tan: Any = None,
) -> Inclusion:
    """Return the proof that every reward that explains the observations lies in half-spaces.

    Parameters
    ----------
    halfspaces : rows h over state rewards (k, S) or joint ones (k, S·A·B); by default those of
        `reward`.
    multipliers : for each half-space an array (T, S, B) of multipliers on the gaps, in floats from
        the duals of a linear program, or exact; by default they are found by least squares over
        all gaps, which is for small games.
    reward : the hypothesis (S,); the claim is then that of its half-spaces.
    tan : of the angle of the cone around `reward`; by default the set is Aff(r).

    Raises
    ------
    InvalidArgument
        A half-space is not proved, beyond rounding: names it.

    **Cost** arithmetic: least squares and a rational system for each half-space over the gaps that
    its multipliers use, and a linear system with S unknowns for each such gap.
    """
    instance = Instance.of(game)
    n_states, n_a, n_b = instance.shape
    if halfspaces is None:
        if reward is None:
            raise InvalidArgument("halfspaces", "are missing", "rows, or a reward", None)
        halfspaces = affine_halfspaces(reward) if tan is None else cone_halfspaces(reward, tan)
    if not isinstance(halfspaces, SparseRows):
        dense = np.atleast_2d(np.asarray(halfspaces))
        halfspaces = SparseRows.of(dense, dense.shape[1])
    widths = (n_states, n_states * n_a * n_b)
    if halfspaces.width not in widths:
        width = halfspaces.width
        raise InvalidArgument("halfspaces", f"have width {width}", f"one of {widths}", width)
    pi1, pi2, exact, why = stacked(instance, observations)
    shape = (len(observations), n_states, n_b)
    given: list[Vector] | None = None
    if multipliers is not None:
        given = [np.asarray(y) for y in multipliers]
        if len(given) != len(halfspaces) or any(y.shape != shape for y in given):
            sizes = sorted({y.shape for y in given})
            allowed = f"{len(halfspaces)} arrays of shape {shape}"
            raise InvalidArgument("multipliers", f"are {len(given)} of {sizes}", allowed, sizes)

    angle: Fraction | None = None if tan is None else as_fractions(tan).item()

    def build(exact: bool, why: str) -> Inclusion:
        n = Numbers(instance, exact)
        parts = [Episode(n, n(a), n(b)) for a, b in zip(pi1, pi2, strict=True)]
        search = _Search(parts, halfspaces.width, n_states)
        rows = SparseRows.of(map(n, halfspaces), halfspaces.width)
        both = [
            search.find(f"halfspaces[{i}]", h, None if given is None else given[i])
            for i, h in enumerate(rows)
        ]
        size = len(observations) * n_states
        return Inclusion(
            instance=instance,
            pi1=n(pi1),
            pi2=n(pi2),
            halfspaces=rows,
            on_gaps=SparseRows.of((y for y, _ in both), size * n_b),
            on_values=SparseRows.of((z for _, z in both), size),
            reward=None if reward is None else n(as_fractions(reward)),
            tan=angle if exact or angle is None else float(angle),
            inexact=why,
        )

    found: Inclusion = best(build, exact, why)
    if found._named(Numbers(instance, found.is_exact)) > ROUNDING:
        raise InvalidArgument("halfspaces", "are not those of the reward", "none, or those", None)
    if found.is_exact:  # then the search has solved for them
        return found
    outcome = found.check()
    if not outcome:
        unproved = f"are not proved ({outcome.reasons[0]})"
        raise InvalidArgument("halfspaces", unproved, "what the observations imply", None)
    return found


class _Search:
    """Looks for the multipliers of one half-space after another, and keeps the explicit rows."""

    def __init__(self, episodes: Sequence[Episode], width: int, n_states: int) -> None:
        self.episodes = episodes
        self.joint = width != n_states
        self.widths = (width, n_states)
        self.known: dict[int, tuple[Vector, Vector]] = {}

    def find(self, name: str, h: Vector, given: Vector | None) -> tuple[Vector, Vector]:
        """Return y over the T·S·B gaps and z over the T·S values.

        Raises
        ------
        NotExact
            Exact ones were asked for and not found.
        """
        played = np.array([episode.played for episode in self.episodes], dtype=bool).ravel()
        near = np.ones(played.size) if given is None else as_reals(given).ravel()
        used = np.flatnonzero(np.abs(near) > ROUNDING * np.abs(near).max(initial=0.0))
        rows, _ = self._rows(used)
        used = used[(rows != 0).any(axis=1)]
        exact = h.dtype == object
        if exact and given is not None and given.dtype == object:
            guess = as_fractions(given).ravel()[used]
        else:
            guess = _nonnegative(as_reals(self._rows(used)[0]), as_reals(h), played[used])
        if not exact:
            return self._spread(used, guess)
        for thin in (True, False):
            kept = guess != 0 if thin else np.ones(len(used), dtype=bool)
            rows = self._rows(used[kept])[0]
            found = solve_near(rows.T, h, guess[kept])
            if found is not None and not (found[~played[used[kept]]] < 0).any():
                return self._spread(used[kept], found)
        raise NotRepaired(name, "the multipliers have no exact ones near them")

    def _rows(self, used: NDArray[np.int64]) -> tuple[Vector, Vector]:
        """Return the explicit rows of gaps, and what eliminates the values."""
        each = self.episodes[0].pi2.size if self.episodes else 1
        new = np.array([i for i in used if int(i) not in self.known], dtype=np.int64)
        for t, episode in enumerate(self.episodes):
            own = new[new // each == t]
            if own.size:
                pairs = zip(*explicit_rows(episode, own - t * each, joint=self.joint), strict=True)
                self.known |= dict(zip(own.tolist(), pairs, strict=True))
        rows, through = (
            np.array([self.known[int(i)][part] for i in used]).reshape(len(used), width)
            for part, width in enumerate(self.widths)
        )
        return rows, through

    def _spread(self, used: NDArray[np.int64], y: Vector) -> tuple[Vector, Vector]:
        """Return multipliers on some gaps as vectors over all gaps and over all values."""
        exact = y.dtype == object
        zero: Any = Fraction(0) if exact else 0.0
        sizes = [episode.pi2.shape for episode in self.episodes]
        n_states, n_b = sizes[0] if sizes else (0, 1)
        on_gaps = np.full(len(sizes) * n_states * n_b, zero, dtype=y.dtype)
        on_values = np.full((len(sizes), n_states), zero, dtype=y.dtype)
        on_gaps[used] = y
        for i, weight, through in zip(used, y, self._rows(used)[1], strict=True):
            on_values[i // (n_states * n_b)] += weight * through
        return on_gaps, on_values.ravel()


def _nonnegative(rows: Vector, h: Vector, free: NDArray[np.bool_]) -> Vector:
    """Return multipliers of independent rows that come nearest to h; `free` ones have any sign."""
    if not len(rows):
        return np.zeros(0)
    scale = np.abs(rows).max(axis=1)
    both = np.concatenate([rows, -rows[free]]) / np.concatenate([scale, scale[free]])[:, None]
    size = np.abs(h).max() or 1.0
    try:
        found, _ = nnls(both.T, h / size)
    except RuntimeError:  # it did not converge
        found = np.zeros(len(both))
    found[found < ROUNDING * found.max()] = 0.0
    found[np.flatnonzero(free)] -= found[len(rows) :]
    return np.asarray(size * found[: len(rows)] / scale)
