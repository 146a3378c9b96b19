"""Learning from Boltzmann answers: the likelihood, the scaling of β, Algorithm 4.

Source: the paper, Section 5.1, a remark of Appendix A that the print leaves out, and Appendix D.
Chains and scalings are exact. Likelihoods are those of the library's own follower, beside exact
action values. Two pairs of a reward and β make the same policy iff β times the differences of their
action values are the same, which needs no exponential.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.exact import Exact, action_values, discount_of, exact, kernel_of, leave, solve
from iirl_opt.claims.feasible import STAY_OR_SWAP
from iirl_opt.claims.instances import POSITIVE, vectors_of
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import Trajectory, record_trajectory

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS", "controlled", "printed_chain", "stationary"]


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
class Pairs:
    """A game, and two pairs of a reward and β."""

    game: TwoAgentMDP
    first: tuple[Exact, Fraction]
    second: tuple[Exact, Fraction]


@dataclass(frozen=True, eq=False)
class Sampler:
    """A target over three points, and proposals ``g(new | old) = proposal[old, new]``."""

    target: Exact
    proposal: Exact


def _follower_log(at: Observed, which: int) -> tuple[float, float]:
    """Return log Π π2, of the library's follower, and β Σ Q of a trajectory, for one hypothesis."""
    reward, beta = at.hypotheses[which]
    steps = at.trajectory
    log = BoltzmannFollower(float(beta)).log_respond(at.game, reward.astype(float), steps.pi1)
    s, b = np.array(steps.states), np.array(steps.follower_actions)
    return float(log[s, b].sum()), float(beta * _values(at.game, steps.pi1, reward)[s, b].sum())


def _values(game: TwoAgentMDP, pi1: Exact, reward: Exact) -> Exact:
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
        q = (beta * _values(at.game, at.trajectory.pi1, reward)).astype(float)
        s, b = np.array(at.trajectory.states), np.array(at.trajectory.follower_actions)
        direct = float((q[s, b] - normalised * logsumexp(q[s], axis=1)).sum())
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
    """Return whether two pairs make one Boltzmann policy: β times differences of Q are the same."""
    pi1 = exact(np.ones(game.shape[:2], dtype=int)) / game.n_leader_actions
    first, second = (beta * _values(game, pi1, reward) for reward, beta in pairs)
    return bool((first - first[:, :1] == second - second[:, :1]).all())


def repaired_scaling(at: Scaled, *, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: the normal form lies in the simplex and makes the same policy."""
    reward, beta = _normal_form(at.reward, factor * at.beta)
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


def identified_normal_form(at: Pairs) -> Outcome:
    """Decide: two pairs make the same policy iff their normal forms are the same."""
    first, second = (_normal_form(*pair) for pair in (at.first, at.second))
    one_form = bool((first[0] == second[0]).all()) and first[1] == second[1]
    one_policy = _same_policy(at.game, at.first, at.second)
    shown = f"same normal form: {one_form}, same policy: {one_policy}"
    return Outcome(one_form == one_policy, shown)


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
            (draw(rewards(game, constant=False, exact=True)), Fraction(draw(st.integers(1, 4)), 2))
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
            reward = draw(rewards(game, constant=False, min_value=least, exact=True))
            reward = reward / reward.sum() if simplex else reward
            beta = Fraction(draw(st.integers(1, 8)), 2)
            return Scaled(game, reward, beta, Fraction(draw(st.integers(1, 9)), 10))

        return drawn()

    return strategy


def controlled(*, free: bool = True) -> SearchStrategy[Pairs]:
    """Return a strategy for pairs in a game whose follower goes where it likes, if `free`.

    The second pair is an image of the first that makes the same policy, or close to such an image.
    """
    from hypothesis import strategies as st

    @st.composite
    def drawn(draw: st.DrawFn) -> Pairs:
        n = draw(st.integers(2, 3))
        kernel = np.tile(np.eye(n, dtype=int), (n, 1, 1, 1)) if free else np.ones((n, 1, n, n), int)
        game = TwoAgentMDP(kernel, Fraction(draw(st.sampled_from(POSITIVE))))
        reward, beta = draw(vectors_of(n, constant=False)), Fraction(draw(st.integers(1, 4)), 2)
        scale = Fraction(draw(st.integers(1, 6)), 2)
        image = scale * reward + draw(st.integers(-2, 2))
        moved = draw(st.sampled_from([0, 0, Fraction(1, 1000)]))
        image[draw(st.integers(0, n - 1))] += moved
        return Pairs(game, (reward, beta), (image, beta / scale))

    return drawn()


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
    ),
    Claim(
        "likelihood-repaired",
        "Section 5.1, likelihood, second line",
        "Its logarithm is Σ (β Q − log Σ_b exp β Q).",
        _observed,
        log_softmax,
        "definition",
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
        "Where A2 can go anywhere, two pairs make the same policy iff they have the same normal "
        "form, with min r = 0 and Σ r = 1: so all pairs ((1−t)u + t r, β/t), u uniform, do.",
        controlled,
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
