"""The maker of angle bounds: the extreme rays of the cone that an answer leaves (strict test).

Each other action in a state of its own gives a row ``ψ = P(s) − P_b(s)``; the rays x_j with
``ψ_i·x_j = [i = j]`` solve one linear system, exactly where it is small, else in floating point
with exact residuals until they are near enough that their certificate
(`iirl_opt.certificate.angle`) proves what they would.
"""

from __future__ import annotations

from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.angle import AngleBound, differing_rows, whole_numbers
from iirl_opt.certificate.dyadic import SMALL
from iirl_opt.certificate.episodes import ExactEpisode
from iirl_opt.certificate.given import stacked
from iirl_opt.certificate.instance import Instance
from iirl_opt.checks import checked, unmasked
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import as_reals
from iirl_opt.game.mdp import MDP, MODEL, TwoAgentMDP
from iirl_opt.observation import WHOLE_RESPONSE, Observation, observe

__all__ = ["angle_bound"]

# Objects that are Fractions.
Vector = NDArray[Any]

ENOUGH = Fraction(1, 2**60)  # what refined rays may miss


@checked(environment=MODEL, reward=unmasked(InvalidReward), observation=WHOLE_RESPONSE)
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

    Examples
    --------
    >>> from iirl_opt.verification import strict_environment
    >>> environment = strict_environment([0, 1, 2], 0.9, epsilon="1/100", rational=True)
    >>> proof = angle_bound(environment.mdp, [0, 1, 2])
    >>> round(float(proof.tan_squared), 9), bool(proof.check())
    (6.6667e-05, True)
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
    episode = ExactEpisode(instance, pi1[0], pi2[0])
    states, actions = _telling_gaps(episode)
    rays = _extreme_rays(differing_rows(episode, states, actions))
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


def _telling_gaps(episode: ExactEpisode) -> tuple[tuple[int, ...], tuple[int, ...]]:
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


def _extreme_rays(rows: Vector) -> Vector:
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
        missed = np.eye(size - 1, dtype=int) - _row_products(reduced, rays)
        if max(map(abs, missed.ravel().tolist())) < ENOUGH:
            break
        rays = rays + _dyadic(as_reals(missed * scale) @ inverse.T)
    return np.hstack([rays, -rays.sum(axis=1, keepdims=True)])


def _row_products(rows: Vector, rays: Vector) -> Vector:
    """Return ``ψ_i·x_j`` as an array [j, i]."""
    left = [whole_numbers(row) for row in rows]
    out = np.empty((len(rays), len(rows)), dtype=object)
    for j, ray in enumerate(rays):
        numbers, below = whole_numbers(ray)
        out[j] = [Fraction(sum(map(mul, row, numbers)), below * under) for row, under in left]
    return out


def _dyadic(numbers: Vector) -> Vector:
    out = np.empty(numbers.shape, dtype=object)
    out.ravel()[:] = [Fraction(x) for x in numbers.ravel().tolist()]
    return out
