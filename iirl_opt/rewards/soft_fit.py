"""The reward that fits soft-optimal answers best, by least squares, and how far it is determined.

The equations of `iirl_opt.rewards.soft_rows` are linear and more than the unknowns: rounded
logarithms leave them without a solution. So the reward is fitted. Values are written as
``V_t = W_t + c_t / (1 − γ)`` with W_t zero in the first state, which leaves numbers of the size of
what is at stake however near one γ is, and c_1 = 0 for the constant that nothing tells:

    r̄_b(s) + γ (P_b W_t)(s) − W_t(s) − c_t = λ log π2(b | s).

With G the pseudo-inverse of this system, logarithms that are off by η leave the reward off by at
most ``|G| λ η``: `SoftFit.error`. What rounding adds is taken from the residual of G itself.

A temperature that is not known can be no part of a fit: (r, V, λ) and its multiples give the same
answers. The reward is then in the unit of the temperature.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.rewards.soft_rows import RewardKind, SoftAnswer, mean_rows, shape_of

__all__ = ["SoftFit", "fitted"]

Array = NDArray[np.float64]

UNIT = float(np.finfo(float).eps) / 2


@dataclass(frozen=True, eq=False)
class SoftFit(Tabular):
    """The reward that fits soft-optimal answers best; `SoftRewards.fit` makes it.

    Attributes
    ----------
    reward : centred, of the least length where more than the constant is left: shape (S,), (S, B)
        or (S, A, B). In the unit of the temperature where that is not known.
    temperature : λ, or 1 where it is not known.
    residual : by how much the logarithms of the answers are missed, at most, in nats.
    error : how far off each number of `reward` may be where every logarithm is off by no more than
        the band, or the residual if that is more, of the same shape; beside `directions`.
    directions : an orthonormal basis of the rewards beside the constants that the answers do not
        tell, as far as floats do, (k, …); `iirl_opt.verification.identifiability` has the proof.
    redundant : how many equations more there are than they determine unknowns. What is left of
        these by a wrong model, discount or game shows in the residual; 0 shows nothing.
    condition : the largest singular value of the system over the smallest that is not zero.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(4, 2, 2, rng=0)
    >>> partner = iirl.follower.SoftOptimalFollower(temperature=0.5)
    >>> pi1 = [[1, 0]] * 4
    >>> known = iirl.rewards.SoftRewards(game, temperature=0.5)
    >>> found = known.observe(pi1, partner.respond(game, truth, pi1)).fit()
    >>> found.unknown, bool(np.abs(found.reward - (truth - truth.mean())).max() < 1e-12)
    (0, True)
    """

    reward: Array
    temperature: float
    residual: float
    error: Array
    directions: Array
    redundant: int
    condition: float

    __repr__ = in_brief

    @property
    def unknown(self) -> int:
        """The number of dimensions of rewards, beside the constants, that are not told."""
        return len(self.directions)

    def table(self) -> FactTable:
        """Return one row: the fit, how good it is, and how far it determines the reward."""
        facts = {
            "span": float(np.ptp(self.reward)),
            "temperature": self.temperature,
            "residual": self.residual,
            "largest error": float(self.error.max()),
            "unknown": self.unknown,
            "redundant": self.redundant,
            "condition": self.condition,
        }
        return FactTable([facts], "SoftFit")


def fitted(
    game: TwoAgentMDP,
    answers: Sequence[SoftAnswer],
    kind: RewardKind,
    temperature: float,
    band: float,
) -> SoftFit:
    """Return the least-squares fit of answers, at least one, to rewards of a kind."""
    shape = shape_of(game, kind)
    size = math.prod(shape)
    system = np.vstack([_fit_rows(game, answers, t, kind) for t in range(len(answers))])
    logs = np.concatenate([x.log_pi2[~x.rare] for x in answers])
    u, singular, vt = np.linalg.svd(system)
    least = max(system.shape) * 2 * UNIT * singular.max(initial=0.0)
    rank = int((singular > least).sum())
    inverse = (vt[:rank].T / singular[:rank]) @ u[:, :rank].T
    found = inverse @ logs  # in the unit of the temperature, which may be very small
    found = found + inverse @ (logs - system @ found)  # once more, for what rounding left
    residual = np.abs(logs - system @ found).max(initial=0.0)
    directions = _beside_constants(vt[rank:, :size])
    told = np.eye(size) - directions.T @ directions - 1 / size
    own = told @ inverse[:size]
    wrong = max(band, float(residual)) + 4 * UNIT * (1 + np.abs(logs))
    blur = np.abs(own @ system - told @ np.eye(size, system.shape[1]))
    blur += UNIT * len(logs) * np.abs(own) @ np.abs(system)
    error = temperature * (np.abs(own) @ wrong + blur @ np.abs(found))
    reward = temperature * (told @ found[:size])
    error += np.spacing(np.abs(reward))
    return SoftFit(
        reward.reshape(shape),
        temperature,
        float(residual),
        error.reshape(shape),
        directions.reshape(-1, *shape),
        len(logs) - rank,
        float(singular[0] / singular[rank - 1]) if rank else 1.0,
    )


def _beside_constants(null: Array) -> Array:
    """Return an orthonormal basis of rewards that are not told, (k, d), less their constants.

    The null vectors are as many as their rewards: with r = 0 all values are constant.
    """
    basis, _ = np.linalg.qr((null - null.mean(axis=1, keepdims=True)).T)
    return np.asarray(basis.T)


def _fit_rows(game: TwoAgentMDP, answers: Sequence[SoftAnswer], t: int, kind: RewardKind) -> Array:
    """Return the rows of one answer on (r, W_1, …, W_T, c_2, …, c_T), rare actions left out."""
    n_states, _, n_b = game.shape
    answer, last = answers[t], n_states - 1
    matrix = game.follower_mdp(answer.pi1).matrix
    ahead = np.asarray(matrix.toarray() if is_sparse(matrix) else matrix)
    on_values = game.discount * ahead - np.repeat(np.eye(n_states), n_b, axis=0)
    values = np.zeros((len(ahead), len(answers) * last))
    values[:, t * last : (t + 1) * last] = on_values[:, 1:]
    constants = np.zeros((len(ahead), len(answers) - 1))
    constants[:, t - 1 : t] = -1.0 if t else 0.0
    rewards = mean_rows(game, answer.pi1, kind).toarray()
    return np.hstack([rewards, values, constants])[~answer.rare.ravel()]
