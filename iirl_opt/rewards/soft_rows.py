"""What a soft-optimal answer says of the reward: linear equations in reward, values and λ.

A follower that maximises reward plus λ times entropy (`iirl_opt.follower.soft`) and answers the
commitment of episode t by π2 satisfies, for every state and action,

    λ log π2(b | s) = r̄_b(s) + γ (P_b V_t)(s) − V_t(s),

and any r, V_t and λ > 0 that do so make π2 its soft-optimal answer: summing π2 over b is the soft
Bellman equation of V_t. So they are all that there is to know. Of an action that was played too
rarely to be told from never, ``≤`` with what it was played at most is left.

Three kinds of rewards: of ``"state"`` (S,); of ``"follower"`` (S, B), which the leader's action
does not enter; ``"joint"`` (S, A, B).

**Source** `iirl_opt.follower.soft`; Cao, Cohen & Szpruch 2021, theorem 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import array_of_floats, checked
from iirl_opt.errors import InvalidArgument, InvalidObservation
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import Observation, Trajectory
from iirl_opt.printing.records import with_html

__all__ = ["KINDS", "RewardKind", "SoftAnswer", "mean_rows", "reward_kind", "shape_of"]

Array = NDArray[np.float64]

RewardKind = Literal["state", "follower", "joint"]
KINDS = ("state", "follower", "joint")

# Smaller floats have fewer digits: their logarithms may be some tenths off.
LEAST = float(np.finfo(float).tiny)

# Probabilities of a state sum to one within this.
SUM = 1e-9

SAMPLED = (
    "a policy (S, B) of exact probabilities, each > 0: of samples take the posterior, "
    "`iirl_opt.Posterior(evidence, iirl_opt.bayesian.SoftOptimalFamily())`"
)


@dataclass(frozen=True, eq=False)
class SoftAnswer:
    """The answer to one commitment, in logarithms; `SoftRewards.observe` makes it.

    Attributes
    ----------
    pi1 : the commitment, shape (S, A).
    log_pi2 : the logarithms of the answer, shape (S, B); of a rare action the most it may be.
    rare : which actions were played at most so often, and no more is known, shape (S, B).

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> answer = SoftAnswer.of(game, [[1], [1]], [[1, 0], [0.5, 0.5]], floor=1e-3)
    >>> answer.log_pi2.round(3).tolist(), answer.rare.tolist()
    ([[0.0, -6.908], [-0.693, -0.693]], [[False, True], [False, False]])
    """

    pi1: Array
    log_pi2: Array
    rare: NDArray[np.bool_]

    __repr__ = in_brief
    _repr_html_ = with_html

    @classmethod
    def of(
        cls, game: TwoAgentMDP, pi1: ArrayLike, response: ArrayLike, floor: float | None
    ) -> SoftAnswer:
        """Return a checked answer, given in probabilities."""
        commitment = game.check_leader_policy(pi1)
        refuse_samples(response)
        pi2 = game.check_follower_policy(response)
        rare = pi2 <= (0.0 if floor is None else floor)
        lost = (pi2 < LEAST) & (~rare | (floor is None))
        if lost.any():
            at = int(np.argmax(lost))
            place, wrong = _place(game, lost, "response"), float(pi2.flat[at])
            allowed = (
                f"a probability > 0, which a soft-optimal answer always has, at least {LEAST:.3g}, "
                "below which digits are lost: where it underflows, logarithms (`observe_log`), or "
                "`floor`, what such a one is at most"
            )
            raise InvalidObservation(place, f"is {wrong:.3g}", allowed, wrong)
        return cls._frozen(commitment, np.log(np.where(rare, floor or 1.0, pi2)), rare)

    @classmethod
    def of_logs(cls, game: TwoAgentMDP, pi1: ArrayLike, logs: ArrayLike, band: float) -> SoftAnswer:
        """Return a checked answer, given in logarithms that are right within a band."""
        from scipy.special import logsumexp

        commitment = game.check_leader_policy(pi1)
        array = _LOGS("log_response", logs)
        shape = (game.n_states, game.n_follower_actions)
        if array.shape != shape:
            raise InvalidObservation("log_response", f"has shape {array.shape}", f"{shape}", array)
        sums = logsumexp(array, axis=1)
        wrong = np.abs(sums) > max(SUM, band)
        if wrong.any():
            s = int(np.argmax(wrong))
            allowed = f"1 within {max(SUM, band):g}, or a wider `band`"
            place = f"log_response[s={game.states[s]!r}]"
            problem = f"is of probabilities that sum to {np.exp(sums[s]):.9g}"
            raise InvalidObservation(place, problem, allowed, float(sums[s]))
        return cls._frozen(commitment, array.copy(), np.zeros(shape, dtype=bool))

    @classmethod
    def _frozen(cls, *arrays: NDArray[Any]) -> SoftAnswer:
        for array in arrays:
            array.flags.writeable = False
        return cls(*arrays)


_LOGS = array_of_floats(2, error=InvalidObservation)


def refuse_samples(response: Any) -> None:
    """Refuse what is no policy but a sample of it, or a set of actions."""
    if isinstance(response, Trajectory):
        raise InvalidObservation("response", "is a trajectory", SAMPLED, response)
    if isinstance(response, Observation):
        problem = "is an Observation"
        raise InvalidObservation("response", problem, "its `pi2`, beside its `pi1`", response)
    try:
        given = np.asarray(response)
    except ValueError:
        return  # ragged: refused as a policy
    if given.dtype == bool:
        problem = "is a mask of optimal actions, and a soft-optimal follower plays all of them"
        raise InvalidObservation("response", problem, SAMPLED, response)
    if given.dtype.kind in "iuf" and given.ndim == 2 and given.size:
        whole = np.isfinite(given).all() and (given == np.floor(given)).all() and given.min() >= 0
        if whole and given.sum(axis=1).max() > 1:
            raise InvalidObservation("response", "holds counts", SAMPLED, response)


def _place(game: TwoAgentMDP, mask: NDArray[np.bool_], name: str) -> str:
    s, b = np.argwhere(mask)[0]
    return f"{name}[s={game.states[s]!r}, b={game.follower_actions[b]!r}]"


def shape_of(game: TwoAgentMDP, kind: RewardKind) -> tuple[int, ...]:
    """Return the shape of rewards of a kind."""
    n_states, n_a, n_b = game.shape
    shapes = {"state": (n_states,), "follower": (n_states, n_b), "joint": (n_states, n_a, n_b)}
    return shapes[kind]


def reward_kind(game: TwoAgentMDP, shape: tuple[int, ...], name: str = "reward") -> RewardKind:
    """Return the kind of rewards of a shape; (S, A·B) of an expression is a joint one."""
    for kind in KINDS:
        own = shape_of(game, kind)  # type: ignore[arg-type]
        if shape in (own, (own[0], game.n_choices) if kind == "joint" else own):
            return kind  # type: ignore[return-value]
    allowed = ", ".join(str(shape_of(game, kind)) for kind in KINDS)  # type: ignore[arg-type]
    raise InvalidArgument(name, f"has shape {shape}", allowed, shape)


@checked()
def mean_rows(game: TwoAgentMDP, pi1: Array, kind: RewardKind) -> Any:
    """Return the matrix (S·B, d) that takes a flat reward of a kind to ``r̄_b(s)``."""
    n_states, n_a, n_b = game.shape
    if kind == "follower":
        return sp.eye_array(n_states * n_b, format="csr")
    if kind == "state":
        return sp.kron(sp.eye_array(n_states), np.ones((n_b, 1)), format="csr")
    at = np.arange(n_states * n_a * n_b).reshape(game.shape).swapaxes(1, 2)
    data = np.broadcast_to(pi1[:, None, :], at.shape)
    rows = np.repeat(np.arange(n_states * n_b), n_a)
    matrix: Any = sp.csr_array((data.ravel(), (rows, at.ravel())), shape=(n_states * n_b, at.size))
    matrix.eliminate_zeros()
    return matrix
