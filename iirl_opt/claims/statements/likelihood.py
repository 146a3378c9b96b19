"""The likelihood of a Boltzmann-rational follower's answers.

Source: the paper, Section 5.1. Likelihoods are those of the library's own follower, beside exact
action values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from iirl_opt.claims.arithmetic import Exact, action_values, discount_of, exact, kernel_of, leave
from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.problems import nearest
from iirl_opt.claims.responses import STAY_OR_SWAP
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import Trajectory, record_trajectory

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS", "follower_values", "two_states"]


@dataclass(frozen=True, eq=False)
class Observed:
    """A trajectory and two hypotheses (reward, β) about who played it."""

    game: TwoAgentMDP
    trajectory: Trajectory
    hypotheses: tuple[tuple[Exact, Fraction], tuple[Exact, Fraction]]


def _follower_log(at: Observed, which: int) -> tuple[float, float]:
    """Return log Π π2, of the library's follower, and β Σ Q of a trajectory, for one hypothesis."""
    reward, beta = at.hypotheses[which]
    steps = at.trajectory
    log = BoltzmannFollower(float(beta)).log_respond(at.game, reward.astype(float), steps.pi1)
    s, b = np.array(steps.states), np.array(steps.follower_actions)
    return float(log[s, b].sum()), float(
        beta * follower_values(at.game, reward, steps.pi1)[s, b].sum()
    )


def follower_values(game: TwoAgentMDP, reward: Exact, pi1: Exact) -> Exact:
    """Return the follower's exact optimal action values (S, B)."""
    return action_values(leave(kernel_of(game), exact(pi1)), reward, discount_of(game))


def first_line(at: Observed, *, forget: bool = False) -> Outcome:
    """Compare ratios of probabilities of a trajectory with those of Π π2.

    The probability is that of the chain of triples (s, a, b), summed over all that agree with the
    steps seen; `forget` sums over the follower's actions, as if they had not been seen.
    """
    steps, (n_s, n_a, n_b) = at.trajectory, at.game.shape
    seen = list(zip(steps.states, steps.leader_actions, steps.follower_actions, strict=True))
    kernel = at.game.kernel
    ratios = []
    for reward, beta in at.hypotheses:
        pi2 = BoltzmannFollower(float(beta)).respond(at.game, reward.astype(float), steps.pi1)
        play = np.einsum("sa,sb->sab", steps.pi1, pi2)
        reached = at.game.start[:, None, None] * play
        for t, (s, a, b) in enumerate(seen):
            mask = np.zeros((n_s, n_a, n_b))
            mask[s, a, slice(None) if forget else b] = 1
            reached = reached * mask
            if t < len(seen) - 1:
                reached = np.einsum("sab,sabz->z", reached, kernel)[:, None, None] * play
        ratios.append(np.log(reached.sum()) - sum(np.log(pi2[s, b]) for s, _, b in seen))
    return Outcome(bool(abs(ratios[0] - ratios[1]) < 1e-8), f"{len(seen)} steps")


def second_line(at: Observed) -> Outcome:
    """Decide: exp(β Σ Q) is Π π2 times what (r, β) do not enter."""
    first, second = (log - q for log, q in (_follower_log(at, 0), _follower_log(at, 1)))
    with np.errstate(over="ignore"):  # of a large Σ Q, and then the ratio printed is infinite
        ratios = np.exp(first), np.exp(second)
    return Outcome(abs(first - second) < 1e-9, "ratios {:.3f} and {:.3f}".format(*ratios))


def log_softmax(at: Observed, *, normalised: bool = True) -> Outcome:
    """Compare log Π π2 of the library's follower with Σ (β Q − log Σ_b exp β Q), Q exact."""
    for which, (reward, beta) in enumerate(at.hypotheses):
        q = (beta * follower_values(at.game, reward, at.trajectory.pi1)).astype(float)
        s, b = np.array(at.trajectory.states), np.array(at.trajectory.follower_actions)
        direct = float((q[s, b] - normalised * logsumexp(q[s], axis=1)).sum())
        if not np.isclose(direct, _follower_log(at, which)[0], rtol=1e-9, atol=1e-9):
            return Outcome(False, f"{direct} and {_follower_log(at, which)[0]}")
    return Outcome(True)


def _posterior(at: Observed) -> Any:
    """Return what the steps say of reward and β."""
    why = "files ask for the posterior, and not how likely the steps are"
    return nearest(
        why,
        at.game,
        trajectories=[at.trajectory],
        follower={"model": "boltzmann", "beta": "unknown"},
        question={"family": "bayesian", "proposals": 1000},
    )


def _observed() -> SearchStrategy[Observed]:
    from hypothesis import strategies as st

    from iirl_opt.testing.arrays import rewards
    from iirl_opt.testing.models import games
    from iirl_opt.testing.partners import trajectories

    @st.composite
    def drawn(draw: st.DrawFn) -> Observed:
        game = draw(games(min_states=2, max_states=3, min_follower_actions=2))
        pairs = [
            (draw(rewards(game, constant=False, exact=True)), Fraction(draw(st.integers(1, 4)), 2))
            for _ in range(2)
        ]
        return Observed(game, draw(trajectories(game)), (pairs[0], pairs[1]))

    return drawn()


def _stayed() -> Observed:
    game = two_states()
    steps = record_trajectory(game, np.ones((2, 1)), [(0, 0, 0)])
    one = Fraction(1)
    return Observed(game, steps, ((exact([1, 0]), one), (exact([0, 1]), one)))


def two_states() -> TwoAgentMDP:
    return TwoAgentMDP(STAY_OR_SWAP, Fraction(1, 2))


CLAIMS = (
    Claim(
        "likelihood-product",
        "Section 5.1, likelihood, first line",
        "The likelihood of a trajectory is Π π2, up to a factor without r and β.",
        _observed,
        first_line,
        "definition",
    ),
    Claim(
        "likelihood-exponential",
        "Section 5.1, likelihood, second line",
        "It is exp(β Σ Q), up to a factor without r and β.",
        _observed,
        second_line,
        "false as stated",
        counterexample=_stayed,
        problem=_posterior,
    ),
    Claim(
        "likelihood-repaired",
        "Section 5.1, likelihood, second line",
        "Its logarithm is Σ (β Q − log Σ_b exp β Q).",
        _observed,
        log_softmax,
        "definition",
    ),
)
