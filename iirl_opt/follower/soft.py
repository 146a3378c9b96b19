"""The entropy-regularised follower, *soft-optimal*: it maximises reward plus λ times entropy.

With the temperature λ > 0 its values solve the soft Bellman equation (maximum causal entropy)

    Q(s, b) = r̄_b(s) + γ (P_b V)(s),   V(s) = λ log Σ_b exp(Q(s, b) / λ),

and it plays ``π2(b | s) = exp((Q(s, b) − V(s)) / λ)``. Its Q are its own: a `BoltzmannFollower`,
which the paper has, plays the same softmax of the *optimal* action values ``Q*`` with β = 1/λ. The
two agree at γ = 0 and as λ → 0, and differ in between: who expects to err later plans for it.

The soft operator T is convex and monotone, and its slope at V is ``γ P_π`` with π the play at V. So
Newton's method is soft policy iteration: ``V + (I − γ P_π)⁻¹ (T V − V)``, which rises from its
second iterate on, and converges quadratically, to policy iteration's answer as λ → 0. Values come
with a bound E, state by state, verified in floats: with ρ the residual and its rounding,

    E ≥ ρ + λ log Σ_b π(b | ·) exp(γ P_b E / λ)

makes V + E a supersolution and, by convexity, V − E a subsolution. What is hardly ever played adds
nothing to it.

Sources: Ziebart, Bagnell & Dey 2010; Haarnoja et al. 2017. The bound is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import POSITIVE, RNG, checked
from iirl_opt.game.factors import UNIT, Factors, row_units, underflow
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.mdp import GAME, MDP, TwoAgentMDP
from iirl_opt.game.problem import PlanningProblem, follower_problem
from iirl_opt.printing.records import with_html

__all__ = ["SoftOptimalFollower", "SoftOptimum", "soft_log_play", "soft_optimum"]

Array = NDArray[np.float64]

# Newton steps; a dozen are many, but for policies that improve a state at a time. So many in a row
# that bring the residual no nearer to rounding are the last.
MOST, IDLE = 1000, 8

# How often a bound is widened until it is verified, and by what share.
TRIES, WIDER = 8, 2.0**-10


class SoftOptimum(NamedTuple):
    """The soft-optimal answer to a commitment, and how far its values may be off.

    Attributes
    ----------
    values : V, shape (S,), in the unit of the reward; λ times the entropy of what is played counts.
    q : the soft action values Q, shape (S, B).
    log_response : the logarithm of the response, shape (S, B); finite where `response` underflows.
    error : a bound on how far `values` are off, state by state, (S,).
    steps : how many Newton steps were taken.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> found = soft_optimum(game, [0, 1], [[1], [1]], temperature=1.0)
    >>> found.values.round(6), bool(found.error.max() < 1e-13)
    (array([2.118808, 3.386294]), True)
    """

    values: Array
    q: Array
    log_response: Array
    error: Array
    steps: int

    def __repr__(self) -> str:
        return in_brief(self)

    def _repr_html_(self) -> str:
        return with_html(self)

    @property
    def response(self) -> Array:
        """What is played, shape (S, B): zero where the logarithm is below some −745."""
        return np.exp(self.log_response)


@checked(game=GAME, temperature=POSITIVE)
def soft_optimum(
    game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike, temperature: float
) -> SoftOptimum:
    """Return the soft-optimal values, action values and response to a commitment.

    Parameters
    ----------
    reward : the follower's, shape (S,) or (S, A, B).
    pi1 : the commitment, shape (S, A).
    temperature : λ > 0, in the unit of the reward.

    Raises
    ------
    InvalidReward, InvalidPolicy, InvalidArgument

    **Source** the module's docstring. **Cost** arithmetic: a linear system with S unknowns for each
    of a few Newton steps.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> soft_optimum(game, [0, 1], [[1], [1]], temperature=0.1).response.round(3)
    array([[0.005, 0.995],
           [0.5  , 0.5  ]])
    """
    problem = follower_problem(game, reward, pi1)
    iterate = _Soft(problem, float(temperature))
    values, gain, steps = iterate.newton()
    at = iterate.at(values)
    entropy = temperature * np.log(game.n_follower_actions)
    offset = (iterate.shift + entropy + gain) / (1 - game.discount)
    sizes = abs(iterate.shift) + entropy + abs(gain)
    rounding = np.abs(values) + 4 * sizes / (1 - game.discount)
    error = iterate.error(values, gain, at) + 4 * UNIT * rounding
    q = at.q + (iterate.shift + game.discount * offset)
    return SoftOptimum(values + offset, q, at.log_response, error, steps)


class _Point(NamedTuple):
    """The soft operator at values V: Q, T V, the play there, and the rounding of T V."""

    q: Array
    above: Array
    log_response: Array
    rounding: Array


class _Soft:
    """The soft operator of a planning problem, with constants taken off what a step earns.

    These are one of the reward, and the entropy of uniform play: so values are as small as what is
    at stake, however hot or far from zero it all is.
    """

    def __init__(self, problem: PlanningProblem, temperature: float) -> None:
        self.mdp, self.temperature, self.units = problem.mdp, temperature, problem.units
        self.shift = median_low(problem.reward.ravel().tolist())
        self.reward = np.broadcast_to(problem.reward - self.shift, self.mdp.shape)
        self.slop = problem.slop + UNIT * np.abs(problem.reward)

    def at(self, values: Array) -> _Point:
        """Return the operator at values (S,)."""
        from scipy.special import log_softmax, logsumexp

        mdp, unit = self.mdp, self.temperature
        ahead = mdp.matrix @ np.column_stack([values, np.abs(values)])
        onward, sizes = (mdp.discount * ahead.T).reshape(2, *mdp.shape)
        q = self.reward + onward
        best = q.max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):  # far below the best: −∞ is right
            below = (q - best) / unit
        above = best[:, 0] + unit * (logsumexp(below, axis=1) - np.log(q.shape[1]))
        blur = (self.units * (np.abs(self.reward) + sizes) + self.slop).max(axis=1)
        rounding = blur + UNIT * (4 * np.abs(above) + 8 * unit * (q.shape[1] + 4))
        return _Point(q, above, np.asarray(log_softmax(below, axis=1)), rounding + underflow(1))

    def newton(self) -> tuple[Array, float, int]:
        """Return values but for a constant, what that earns a step, and the number of steps.

        ``T V − V`` is settled where it is the same everywhere, (1 − γ) times the constant. So
        nothing here is larger than what is at stake, however near one γ is.
        """
        values, best, idle, steps = np.zeros(self.mdp.n_states), np.inf, 0, 0
        for _ in range(MOST):
            at = self.at(values)
            residual = at.above - values
            gain = float(residual.max() + residual.min()) / 2
            excess = float((np.abs(residual - gain) / at.rounding).max())
            idle = 0 if excess < best else idle + 1
            best = min(best, excess)
            if excess <= 1 or idle > IDLE:
                break
            chain = _chain_of(self.mdp, np.exp(at.log_response))
            change = Factors(chain, self.mdp.discount).solve(residual - gain)
            values, steps = values + (change - change[0]), steps + 1
        return values, gain, steps

    def error(self, values: Array, gain: float, at: _Point) -> Array:
        """Return a verified bound (S,) on the error of values and the constant that gains so."""
        gamma, nearest, terms = self.mdp.discount, self.mdp.is_nearest, self.mdp.n_choices
        sizes = np.abs(at.above - values - gain) + 2 * at.rounding + 2 * UNIT * abs(gain)
        chain = _chain_of(self.mdp, np.exp(at.log_response))
        factors = Factors(chain, gamma, nearest, terms)
        grown = gamma * (1 + 8 * float(row_units(chain, nearest, terms).max()))
        error = factors.bound(sizes) * (1 + WIDER)
        for _ in range(TRIES):
            lacking = sizes + self._risk(at.log_response, grown * (self.mdp.matrix @ error)) - error
            if (lacking <= 0).all():
                return error
            error = error + 2 * factors.approximate(np.maximum(lacking, UNIT * error))
        return np.full(error.shape, float(sizes.max()) / (1 - gamma) * (1 + WIDER))

    def _risk(self, log_play: Array, ahead: Array) -> Array:
        """Return at least ``λ log Σ_b π(b) exp(x_b / λ)`` of what is ahead, x ≥ 0, (S·B,)."""
        from scipy.special import logsumexp

        x = ahead.reshape(log_play.shape)
        most, play = x.max(axis=1), np.exp(log_play)
        mean = (play * x).sum(axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            # While all is small beside λ, the mean and (more than half) the variance over λ.
            spread = (x - mean[:, None]) / self.temperature
            near = mean + self.temperature * (play * spread**2).sum(axis=1)
            sums: Array = logsumexp(log_play + x / self.temperature, axis=1)
        far = sums + 8 * UNIT * log_play.shape[1]
        risk = np.where(most <= self.temperature / 2, near, self.temperature * far)
        return np.asarray(np.where(risk <= most, risk, most))


def soft_log_play(kernel: Any, discount: float, reward: Array) -> Array:
    """Return the logarithm of the soft-optimal play, (S, B), at temperature one; without bounds.

    Parameters
    ----------
    kernel : rows ``s·B + b``, shape (S·B, S).
    reward : in the unit of the temperature, (S, B).

    **Cost** arithmetic: a dense linear system with S unknowns for each of a few Newton steps.
    """
    from scipy.special import log_softmax, logsumexp

    n_states, n_b = reward.shape
    rows: Array = np.asarray(kernel.toarray() if is_sparse(kernel) else kernel)
    values = np.zeros(n_states)
    for step in range(MOST):
        q = reward + discount * (rows @ values).reshape(reward.shape)
        above = logsumexp(q, axis=1) - np.log(n_b)
        residual, logs = above - values, np.asarray(log_softmax(q, axis=1))
        size = np.abs(q).max()
        if np.abs(residual).max() <= 64 * UNIT * size or (step > 1 and (residual <= 0).all()):
            break
        chain = np.einsum("sb,sbt->st", np.exp(logs), rows.reshape(n_states, n_b, n_states))
        values = values + np.linalg.solve(np.eye(n_states) - discount * chain, residual)
    return logs


def _chain_of(mdp: MDP, play: Array) -> Any:
    """Return the chain (S, S) under weights (S, B) that may be rounded."""
    return mdp.chain(play / play.sum(axis=1, keepdims=True))


@checked(temperature=POSITIVE)
@dataclass(frozen=True)
class SoftOptimalFollower:
    """A follower that maximises its reward plus λ times the entropy of what it plays.

    It plans for its own play, so it is not *local*: what it plays is no function of the optimal
    action values, as a `BoltzmannFollower`'s is.

    Parameters
    ----------
    temperature : λ > 0, in the unit of the reward. As λ → 0 it becomes an `OptimalFollower` that
        mixes its ties, as λ → ∞ it plays uniformly.

    **Source** Ziebart, Bagnell & Dey 2010 (maximum causal entropy); see the module's docstring.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> SoftOptimalFollower(temperature=0.5).respond(game, [0, 1], [[1], [1]]).round(3)
    array([[0.228, 0.772],
           [0.5  , 0.5  ]])
    >>> from iirl_opt.follower.boltzmann import BoltzmannFollower
    >>> BoltzmannFollower(beta=1 / 0.5).respond(game, [0, 1], [[1], [1]]).round(3)
    array([[0.269, 0.731],
           [0.5  , 0.5  ]])
    """

    temperature: float

    @checked(game=GAME)
    def log_respond(self, game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> Array:
        """Return the logarithm of the response, shape (S, B): finite where it underflows."""
        return soft_optimum(game, reward, pi1, self.temperature).log_response

    @checked(game=GAME, rng=RNG)
    def respond(
        self,
        game: TwoAgentMDP,
        reward: ArrayLike,
        pi1: ArrayLike,
        rng: int | np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """Return the soft-optimal response, shape (S, B)."""
        return np.exp(self.log_respond(game, reward, pi1))

    @checked(game=GAME)
    def values(self, game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> Array:
        """Return its values V, shape (S,), λ times the entropy of its play included.

        What the response earns of the reward alone is `iirl_opt.game.evaluate`'s.
        """
        return soft_optimum(game, reward, pi1, self.temperature).values
