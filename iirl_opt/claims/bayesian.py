"""Learning from Boltzmann answers: the likelihood, the scaling of β, Algorithm 4.

Source: the paper, Section 5.1, a remark of Appendix A that the print leaves out, and Appendix D.
Chains and scalings are exact; policies and likelihoods are those of the library's own follower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.exact import Exact, exact, solve
from iirl_opt.claims.feasible import STAY_OR_SWAP
from iirl_opt.follower import BoltzmannFollower, best_responses
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import Trajectory, record_trajectory

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS", "printed_chain", "stationary"]


@dataclass(frozen=True, eq=False)
class Observed:
    """A trajectory and two hypotheses (reward, β) about who played it."""

    game: TwoAgentMDP
    trajectory: Trajectory
    hypotheses: tuple[tuple[Exact, Fraction], tuple[Exact, Fraction]]


@dataclass(frozen=True, eq=False)
class Scaled:
    """A game, a reward, β and the share t that is kept of the reward."""

    game: TwoAgentMDP
    reward: Exact
    beta: Fraction
    share: Fraction


@dataclass(frozen=True, eq=False)
class Sampler:
    """A target over three points, and proposals ``g(new | old) = proposal[old, new]``."""

    target: Exact
    proposal: Exact


def _follower_log(at: Observed, which: int) -> tuple[float, float]:
    """Return log Π π2 and β Σ Q of a trajectory under one hypothesis."""
    reward, beta = at.hypotheses[which]
    r = np.array(reward, dtype=float)
    game, steps = at.game, at.trajectory
    log = BoltzmannFollower(float(beta)).log_respond(game, steps.pi1, r)
    q = best_responses(game, steps.pi1, r).q
    s, b = np.array(steps.states), np.array(steps.follower_actions)
    return float(log[s, b].sum()), float(beta) * float(q[s, b].sum())


def first_line(at: Observed) -> Outcome:
    """Decide: the whole probability of a trajectory is Π π2 times what (r, β) do not enter."""
    s, a, b = (
        np.array(x)
        for x in (
            at.trajectory.states,
            at.trajectory.leader_actions,
            at.trajectory.follower_actions,
        )
    )
    kernel, pi1 = at.game.kernel, at.trajectory.pi1
    factors = []
    for reward, beta in at.hypotheses:
        r = np.array(reward, dtype=float)
        pi2 = BoltzmannFollower(float(beta)).respond(at.game, pi1, r)
        whole = np.log(at.game.start[s[0]]) + np.log(pi1[s, a] * pi2[s, b]).sum()
        whole += np.log(kernel[s[:-1], a[:-1], b[:-1], s[1:]]).sum()
        factors.append(whole - np.log(pi2[s, b]).sum())
    return Outcome(abs(factors[0] - factors[1]) < 1e-8)


def second_line(at: Observed) -> Outcome:
    """Decide: exp(β Σ Q) is Π π2 times what (r, β) do not enter."""
    first, second = (log - q for log, q in (_follower_log(at, 0), _follower_log(at, 1)))
    with np.errstate(over="ignore"):  # of a large Σ Q, and then the ratio printed is infinite
        ratios = np.exp(first), np.exp(second)
    return Outcome(abs(first - second) < 1e-9, "ratios {:.3f} and {:.3f}".format(*ratios))


def log_softmax(at: Observed) -> Outcome:
    """Decide: log Π π2 = Σ (β Q − log Σ_b exp β Q)."""
    for which, (reward, beta) in enumerate(at.hypotheses):
        q = float(beta) * best_responses(at.game, at.trajectory.pi1, np.array(reward, float)).q
        s, b = np.array(at.trajectory.states), np.array(at.trajectory.follower_actions)
        direct = float((q[s, b] - logsumexp(q[s], axis=1)).sum())
        if not np.isclose(direct, _follower_log(at, which)[0], rtol=1e-9, atol=1e-9):
            return Outcome(False, f"{direct} and {_follower_log(at, which)[0]}")
    return Outcome(True)


def printed_scaling(at: Scaled) -> Outcome:
    """Decide: β' = β Σ r and r' = r / β' are in the simplex and have β' r' = β r."""
    total = at.beta * at.reward.sum()
    if total == 0:
        return Outcome(False, "β Σ r = 0")
    scaled = at.reward / total
    same = (total * scaled == at.beta * at.reward).all()
    inside = scaled.sum() == 1 and (scaled >= 0).all()
    return Outcome(bool(same and inside), f"r' sums to {scaled.sum()}, β'r' = β r: {bool(same)}")


def _normal_form(reward: Exact, beta: Fraction) -> tuple[Exact, Fraction]:
    """Return the pair with least entry 0 and sum 1 that makes the same Boltzmann policies."""
    lifted = reward - reward.min()
    return lifted / lifted.sum(), beta * lifted.sum()


def _same_policy(game: TwoAgentMDP, *pairs: tuple[Exact, Fraction]) -> bool:
    pi1 = np.full(game.shape[:2], 1 / game.n_leader_actions)
    first, second = (
        BoltzmannFollower(float(beta)).respond(game, pi1, np.array(reward, dtype=float))
        for reward, beta in pairs
    )
    return bool(np.allclose(first, second, rtol=0, atol=1e-9))


def repaired_scaling(at: Scaled) -> Outcome:
    """Decide: the normal form lies in the simplex and makes the same policy."""
    reward, beta = _normal_form(at.reward, at.beta)
    inside = reward.sum() == 1 and (reward >= 0).all()
    return Outcome(bool(inside) and _same_policy(at.game, (at.reward, at.beta), (reward, beta)))


def _shrunk(at: Scaled) -> tuple[Exact, Fraction]:
    n = len(at.reward)
    return (1 - at.share) * Fraction(1, n) + at.share * at.reward, at.beta / at.share


def identifiable(at: Scaled) -> Outcome:
    """Decide: two different pairs on the simplex make different policies."""
    other, beta = _shrunk(at)
    same = (other == at.reward).all() and beta == at.beta
    equal = _same_policy(at.game, (at.reward, at.beta), (other, beta))
    return Outcome(bool(same) or not equal, f"({', '.join(map(str, other))}), β = {beta} too")


def identified_normal_form(at: Scaled) -> Outcome:
    """Decide: pairs on the simplex that differ by such a shrinkage have one normal form."""
    first, second = _normal_form(at.reward, at.beta), _normal_form(*_shrunk(at))
    return Outcome(bool((first[0] == second[0]).all()) and first[1] == second[1])


def printed_chain(at: Sampler) -> Exact:
    """Return Algorithm 4's chain over pairs (current, what it was proposed from), (9, 9).

    It stores ``p = L(x)/g(x | before)`` with the current point and accepts a new one with
    probability ``min(1, p_new / p)``.
    """
    n = len(at.target)
    chain = np.full((n * n, n * n), Fraction(0))
    for x in range(n):
        for before in range(n):
            here = x * n + before
            stored = at.target[x] / at.proposal[before, x]
            for new in range(n):
                accept = min(Fraction(1), at.target[new] / at.proposal[x, new] / stored)
                chain[here, new * n + x] += at.proposal[x, new] * accept
                chain[here, here] += at.proposal[x, new] * (1 - accept)
    return chain


def hastings_chain(at: Sampler) -> Exact:
    """Return the chain with the true ratio ``L(new) g(x | new) / (L(x) g(new | x))``, (3, 3)."""
    n = len(at.target)
    chain = np.full((n, n), Fraction(0))
    for x in range(n):
        for new in range(n):
            back, forth = at.proposal[new, x], at.proposal[x, new]
            accept = min(Fraction(1), at.target[new] * back / (at.target[x] * forth))
            chain[x, new] += forth * accept
            chain[x, x] += forth * (1 - accept)
    return chain


def stationary(chain: Exact) -> Exact:
    """Return the stationary distribution of an irreducible chain."""
    n = len(chain)
    balance = chain.T - exact(np.eye(n, dtype=int))
    balance[-1] = exact(np.ones(n, dtype=int))
    return solve(balance, exact([0] * (n - 1) + [1]))


def printed_acceptance(at: Sampler) -> Outcome:
    """Decide whether Algorithm 4's rule samples the target."""
    n = len(at.target)
    return _samples(at, stationary(printed_chain(at)).reshape(n, n).sum(axis=1))


def hastings_acceptance(at: Sampler) -> Outcome:
    """Decide whether the Hastings ratio samples the target."""
    return _samples(at, stationary(hastings_chain(at)))


def _samples(at: Sampler, found: Exact) -> Outcome:
    numbers = ", ".join(f"{float(x):.3f}" for x in found)
    return Outcome(bool((found == at.target).all()), f"stationary ({numbers})")


def asymmetric() -> Sampler:
    """Return three points with target (.2, .3, .5) and asymmetric proposals."""
    rows = [[5, 3, 2], [2, 5, 3], [3, 2, 5]]
    return Sampler(exact([2, 3, 5]) / 10, exact(rows) / 10)


def _observed() -> SearchStrategy[Observed]:
    from hypothesis import strategies as st

    from iirl_opt.testing.strategies import games, rewards, trajectories

    @st.composite
    def drawn(draw: st.DrawFn) -> Observed:
        game = draw(games(min_states=2, max_states=3, min_follower_actions=2))
        pairs = [
            (exact(draw(rewards(game, constant=False))), Fraction(draw(st.integers(1, 4)), 2))
            for _ in range(2)
        ]
        return Observed(game, draw(trajectories(game)), (pairs[0], pairs[1]))

    return drawn()


def _scaled(*, simplex: bool) -> Callable[[], SearchStrategy[Scaled]]:
    """Return the function that makes rewards, signed or in the simplex, with their β and share."""

    def strategy() -> SearchStrategy[Scaled]:
        from hypothesis import strategies as st

        from iirl_opt.testing.strategies import games, rewards

        @st.composite
        def drawn(draw: st.DrawFn) -> Scaled:
            game = draw(games(min_states=2, max_states=3, min_follower_actions=2))
            least = 0 if simplex else -4
            reward = exact(draw(rewards(game, constant=False, min_value=least)))
            reward = reward / reward.sum() if simplex else reward
            beta = Fraction(draw(st.integers(1, 8)), 2)
            return Scaled(game, reward, beta, Fraction(draw(st.integers(1, 9)), 10))

        return drawn()

    return strategy


def _samplers() -> SearchStrategy[Sampler]:
    from hypothesis import strategies as st

    def build(target: list[int], rows: list[list[int]]) -> Sampler:
        weights, proposal = exact(target), exact(rows)
        return Sampler(weights / weights.sum(), proposal / proposal.sum(axis=1)[:, None])

    weights = st.lists(st.integers(1, 6), min_size=3, max_size=3)
    return st.builds(build, weights, st.lists(weights, min_size=3, max_size=3))


def _two_states() -> TwoAgentMDP:
    return TwoAgentMDP(STAY_OR_SWAP, Fraction(1, 2))


def _stayed() -> Observed:
    game = _two_states()
    steps = record_trajectory(game, np.ones((2, 1)), [(0, 0, 0)])
    one = Fraction(1)
    return Observed(game, steps, ((exact([1, 0]), one), (exact([0, 1]), one)))


CLAIMS = (
    Claim(
        "likelihood-product",
        "Section 5.1, likelihood, first line",
        "The likelihood of a trajectory is Π π2, up to a factor without r and β.",
        _observed,
        first_line,
    ),
    Claim(
        "likelihood-exponential",
        "Section 5.1, likelihood, second line",
        "It is exp(β Σ Q), up to a factor without r and β.",
        _observed,
        second_line,
        "false as stated",
        counterexample=_stayed,
    ),
    Claim(
        "likelihood-repaired",
        "Section 5.1, likelihood, second line",
        "Its logarithm is Σ (β Q − log Σ_b exp β Q).",
        _observed,
        log_softmax,
        "repaired",
    ),
    Claim(
        "beta-scaling",
        "Appendix A, remark left out in print",
        "β' = β Σ r and r' = r/β' lie in the simplex and have β' Q(r') = β Q(r).",
        _scaled(simplex=False),
        printed_scaling,
        "false as stated",
        counterexample=lambda: Scaled(
            _two_states(), exact([1, 3]) / 2, Fraction(2), Fraction(1, 2)
        ),
    ),
    Claim(
        "beta-scaling-repaired",
        "Appendix A, remark left out in print",
        "With m = min r, β' = β Σ(r − m) and r' = (r − m)/Σ(r − m) make the same Boltzmann policy.",
        _scaled(simplex=False),
        repaired_scaling,
        "repaired",
    ),
    Claim(
        "beta-identifiable",
        "Section 5.1",
        "On the reward simplex the Boltzmann policy tells (r, β).",
        _scaled(simplex=True),
        identifiable,
        "false as stated",
        counterexample=lambda: Scaled(_two_states(), exact([1, 0]), Fraction(1), Fraction(1, 2)),
    ),
    Claim(
        "beta-identifiable-repaired",
        "Section 5.1",
        "All pairs ((1−t)u + t r, β/t), u uniform, have one normal form with min r = 0.",
        _scaled(simplex=True),
        identified_normal_form,
        "repaired",
    ),
    Claim(
        "algorithm-4-acceptance",
        "Algorithm 4",
        "Accepting with min(1, p/p_{k−1}), p = L/g(new | old), samples the posterior.",
        _samplers,
        printed_acceptance,
        "false as stated",
        counterexample=asymmetric,
    ),
    Claim(
        "algorithm-4-repaired",
        "Algorithm 4",
        "The Hastings ratio L(new) g(old | new) / (L(old) g(new | old)) samples the posterior.",
        _samplers,
        hastings_acceptance,
        "repaired",
    ),
)
