"""Soft-optimal partners: what their answers tell of the reward, and what they do not.

A partner who maximises reward plus entropy (at temperature one here) answers by
``log π2(b | s) = Q(s, b) − V(s)``. Answers are computed by sweeps in floats, on instances whose
values are of the size of a few units; ranks, and rewards that should answer alike, are exact.

Sources: Cao, Cohen & Szpruch 2021, theorem 1 and section 4.1; Rolland et al. 2022, the rank of two
experts; the rest is ours (`iirl_opt.verification.identifiable`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.claims.arithmetic import Exact, exact, is_constant, leave
from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.instances import POSITIVE, Case, Exchange, cases
from iirl_opt.claims.problems import nearest, showing
from iirl_opt.exact.linear import echelon
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS"]

PLACE = "soft-optimal partners"

# Answers that are alike agree to NEAR; answers that are not differ by more than FAR.
NEAR, FAR = 1e-9, 1e-8

SOFT = {"model": "soft-optimal", "temperature": 1}


def logs(problem: Exact, reward: Exact, discount: Fraction) -> NDArray[np.float64]:
    """Return the soft-optimal answer (S, B) in logarithms, by sweeps: a reward (S,) or (S, B)."""
    kernel, gamma = problem.astype(float), float(discount)
    own = reward.astype(float).reshape(len(reward), -1)
    values = np.zeros(len(reward))
    for _ in range(100_000):
        q = own + gamma * kernel @ values
        better = q.max(axis=1) + np.log(np.exp(q - q.max(axis=1, keepdims=True)).sum(axis=1))
        if np.abs(better - values).max() <= 1e-15 * max(1.0, float(np.abs(better).max())):
            break
        values = better
    return np.asarray(q - better[:, None])


def _apart(at: Case, one: Exact, two: Exact, problems: Sequence[Exact]) -> float:
    """Return by how much the answers to two rewards differ, at most."""
    differences = (logs(p, one, at.discount) - logs(p, two, at.discount) for p in problems)
    return max(float(np.abs(difference).max()) for difference in differences)


def _null(matrix: Exact) -> list[Exact]:
    """Return a basis of the vectors that a matrix takes to zero."""
    reduced, pivots = echelon(matrix)
    free = [j for j in range(matrix.shape[1]) if j not in pivots]
    found = []
    for j in free:
        vector = exact(np.zeros(matrix.shape[1], dtype=int))
        vector[j] = Fraction(1)
        for row, pivot in enumerate(pivots):
            vector[pivot] = -reduced[row, j]
        found.append(vector)
    return found


def _differences(problem: Exact) -> Exact:
    """Return the rows ``P_b(s, ·) − P_1(s, ·)`` of all states and other actions."""
    return np.asarray((problem[:, 1:] - problem[:, :1]).reshape(-1, problem.shape[2]))


def _lead(problem: Exact, discount: Fraction, values: Exact) -> Exact:
    """Return ``V(s) − γ (P_b V)(s)``, (S, B): the reward that makes all actions as good."""
    return np.asarray(values[:, None] - discount * (problem @ values))


def _told(
    at: Case, problems: Sequence[Exact], alike: Sequence[Exact], enough: bool, words: str
) -> Outcome:
    """Decide that rewards along some directions answer alike, and another one does iff not enough.

    Parameters
    ----------
    alike : directions that should show in no answer; the constants are not among them.
    enough : whether all else is said to be told.
    """
    for direction in alike:
        apart = _apart(at, at.reward, at.reward + direction, problems)
        if apart > NEAR:
            return Outcome(False, f"{words}, and a reward that should answers otherwise: {apart:g}")
    if enough != (not alike):
        return Outcome(False, f"{words}, and {len(alike)} dimensions beside the constants are left")
    (other,) = at.other
    if enough and not is_constant((other - at.reward).ravel()):
        apart = _apart(at, at.reward, other, problems)
        return Outcome(apart > FAR, f"{words}, and another reward's answers differ by {apart:g}")
    return Outcome(True, words)


def one_commitment(at: Case, *, lacking: int = 1) -> Outcome:
    """Decide: one commitment tells state rewards up to constants iff the rank is N − 1."""
    problem = at.problem()
    rows, n = _differences(problem), len(at.reward)
    rank = len(echelon(rows)[1]) if len(rows) else 0
    beside = [v for v in _null(rows) if not is_constant(v)] if rank < n - lacking else []
    beside = [v - v[-1] for v in beside][: n - 1 - rank]
    alike = [_lead(problem, at.discount, v)[:, 0] for v in beside]
    return _told(at, [problem], alike, rank == n - lacking, f"rank {rank} of {n - 1}")


def _soft_equations(at: Case, *, free: bool = False) -> tuple[Exact, list[Exact]]:
    """Return the equations on V_1 and V_2 of two commitments, and their problems.

    They say that both make one reward: of states, or of states and answers if `free`.
    """
    one, two = at.problem(0), at.problem(1)
    n, n_b = one.shape[:2]
    unit = exact(np.eye(n, dtype=int))

    def lead(problem: Exact, b: int) -> Exact:
        return np.asarray(unit - at.discount * problem[:, b])

    nothing = 0 * unit
    rows = [np.hstack([lead(one, b), -lead(two, b)]) for b in range(n_b)]
    if not free:
        rows += [np.hstack([lead(one, b) - lead(one, 0), nothing]) for b in range(1, n_b)]
    return np.vstack(rows), [one, two]


def _null_beside(system: Exact, n: int) -> list[Exact]:
    """Return null vectors (V_1, V_2) that with the constants make all of them."""
    vectors = _null(system)
    whole = [exact(np.ones(2 * n, dtype=int))]
    for vector in vectors:
        if len(echelon(np.vstack([*whole, vector]))[1]) > len(whole):
            whole.append(vector)
    return whole[1:]


def stacked(at: Case) -> Outcome:
    """Decide: two commitments tell state rewards iff their stacked differences have rank N − 1."""
    system, problems = _soft_equations(at)
    rank = len(echelon(np.vstack([_differences(p) for p in problems]))[1])
    n = len(at.reward)
    alike = [_lead(problems[0], at.discount, x[:n])[:, 0] for x in _null_beside(system, n)]
    return _told(at, problems, alike, rank == n - 1, f"stacked rank {rank} of {n - 1}")


def whole_system(at: Case, *, values: int = 2) -> Outcome:
    """Decide: two commitments tell state rewards up to the null vectors of (r, V_1, V_2)."""
    system, problems = _soft_equations(at)
    n = len(at.reward)
    rank = len(echelon(system)[1])
    alike = [_lead(problems[0], at.discount, x[:n])[:, 0] for x in _null_beside(system, n)]
    return _told(at, problems, alike, rank == values * n - 1, f"rank {rank} of {2 * n - 1}")


def two_experts(at: Case, *, lacking: int = 1) -> Outcome:
    """Decide: two commitments tell rewards (S, B) iff [I − γP_1b, −(I − γP_2b)] has rank 2N − 1."""
    system, problems = _soft_equations(at, free=True)
    n, rank = len(at.reward), len(echelon(system)[1])
    alike = [_lead(problems[0], at.discount, x[:n]) for x in _null_beside(system, n)]
    enough = rank == 2 * n - lacking
    return _told(_by_answers(at), problems, alike, enough, f"rank {rank} of {2 * n - 1}")


def _by_answers(at: Case) -> Case:
    """Return a case with its reward as one of states and answers, and another that differs once."""
    wide = np.array([at.reward] * at.game.n_follower_actions, dtype=object).T
    moved = wide.copy()
    moved[0, -1] = moved[0, -1] + 1
    return replace(at, reward=wide, other=(moved,))


def any_two(at: Case) -> Outcome:
    """Decide: two commitments that leave different problems tell rewards (S, B)."""
    one, two = at.problem(0), at.problem(1)
    if (one == two).all():
        return untried("both commitments leave the same problem")
    system, problems = _soft_equations(at, free=True)
    n = len(at.reward)
    alike = [_lead(problems[0], at.discount, x[:n]) for x in _null_beside(system, n)]
    words = f"{len(alike)} dimensions beside the constants left"
    return _told(_by_answers(at), problems, alike, True, words)


def discount_shows(at: Case) -> Outcome:
    """Decide: no reward explains one answer of a partner with another discount."""
    problem, (theirs,) = at.problem(), at.other
    if theirs == at.discount or not at.discount:
        return untried("the discounts are the same, or that of the model is zero")
    seen = logs(problem, at.reward, theirs)
    kernel, gamma = problem.astype(float), float(at.discount)
    values = float(theirs / at.discount) * _soft_values(problem, at.reward, theirs)
    fits = values[:, None] + seen - gamma * (kernel @ values)
    off = np.abs(fits - fits[:, :1]).max()
    found = exact(fits[:, 0].tolist()) if off <= NEAR else at.reward
    apart = float(np.abs(logs(problem, found, at.discount) - seen).max())
    shown = ", ".join(f"{x:.6g}" for x in fits[:, 0])
    return Outcome(apart > NEAR, f"the reward ({shown}) explains it within {apart:.1g}")


def _soft_values(problem: Exact, reward: Exact, discount: Fraction) -> NDArray[np.float64]:
    """Return the soft values (S,): those of the answer, with its entropy."""
    seen = logs(problem, reward, discount)
    play, gamma = np.exp(seen), float(discount)
    chain = (play[:, :, None] * problem.astype(float)).sum(axis=1)
    own = reward.astype(float) - (play * seen).sum(axis=1)
    return np.asarray(np.linalg.solve(np.eye(len(own)) - gamma * chain, own))


def is_boltzmann(at: Case) -> Outcome:
    """Decide: the answer is the softmax of the *optimal* action values."""
    problem, gamma = at.problem().astype(float), float(at.discount)
    values = np.zeros(len(at.reward))
    for _ in range(100):  # discounts of claims are 0 and 1/2
        q = at.reward.astype(float)[:, None] + gamma * problem @ values
        values = q.max(axis=1)
    boltzmann = q - np.log(np.exp(q - values[:, None]).sum(axis=1))[:, None] - values[:, None]
    apart = float(np.abs(boltzmann - logs(at.problem(), at.reward, at.discount)).max())
    return Outcome(apart <= NEAR, f"the logarithms differ by {apart:.3g}")


# Instances


def _soft_cases(
    episodes: int,
    discounts: Sequence[str] = ("1/2", "9/10", "1/3"),
    n_b: int = 1,
    *,
    hasty: bool = False,
) -> Callable[[], SearchStrategy[Case]]:
    """Return the function that makes cases beside another reward, or the partner's own discount."""

    def strategy() -> SearchStrategy[Case]:
        from hypothesis import strategies as st

        from iirl_opt.testing.arrays import rewards

        def other(game: TwoAgentMDP) -> SearchStrategy[tuple[Any, ...]]:
            theirs = st.sampled_from([Fraction(1, 4), Fraction(3, 4)])
            drawn = theirs if hasty else rewards(game, exact=True)
            return st.tuples(drawn)

        return cases(
            episodes=episodes,
            min_states=2,
            min_follower_actions=n_b,
            discounts=discounts,
            other=other,
        )

    return strategy


def _acted() -> SearchStrategy[Case]:
    """Return a strategy for two commitments, to either action, that leave different problems."""

    def asked(at: Case) -> Case:
        n, n_a, n_b = at.game.shape
        uniform = exact(np.ones((n, n_b), dtype=int)) / n_b
        units = exact(np.eye(n_a, dtype=int))
        played = tuple(Exchange(units[[a] * n], uniform) for a in range(2))
        return replace(at, episodes=played, other=(at.reward,))

    drawn = cases(min_states=2, min_leader_actions=2, discounts=("1/2", "9/10"))
    return drawn.map(asked).filter(lambda at: bool((at.problem(0) != at.problem(1)).any()))


def _turned() -> SearchStrategy[Case]:
    """Return a strategy for three states, in one of which the follower's actions differ at all."""
    from hypothesis import strategies as st

    state = st.integers(0, 2)
    first = st.lists(st.lists(state, min_size=2, max_size=2), min_size=2, max_size=2)
    rest = st.lists(state, min_size=4, max_size=4)
    return st.tuples(first, rest).map(
        lambda drawn: _moves_case(
            [drawn[0], *([[x] * 2 for x in drawn[1][i : i + 2]] for i in (0, 2))],
            "1/2",
            [0, 1, 2],
            2,
            exact([1, 0, 0]),
        )
    )


def _moves_case(goes_to: Any, discount: str, reward: Any, episodes: int, other: Any) -> Case:
    """Return a case with deterministic moves (S, A, B); episode t is of leader action t."""
    moves = np.array(goes_to)
    game = TwoAgentMDP(np.eye(len(moves), dtype=int)[moves], Fraction(discount))
    n, n_a, n_b = game.shape
    uniform = exact(np.ones((n, n_b), dtype=int)) / n_b
    played = [Exchange(exact(np.eye(n_a, dtype=int)[[a] * n]), uniform) for a in range(episodes)]
    return Case(game, exact(reward), tuple(played), (other,))


def _at_zero() -> Case:
    return _moves_case([[[0, 1]], [[1, 0]]], "0", [0, 1], 1, exact([1, 0]))


def _twice_stacked() -> Case:
    goes_to = [[[0, 2], [0, 1]], [[1, 1], [2, 2]], [[1, 1], [2, 2]]]
    return _moves_case(goes_to, "1/2", [0, 1, 2], 2, exact([1, 0, 0]))


def _no_choice() -> Case:
    return _moves_case([[[0], [1]], [[1], [0]]], "1/2", [0, 1], 2, exact([1, 0]))


def _hasty() -> Case:
    return _moves_case([[[0, 1]], [[1, 1]]], "9/10", [0, 1], 1, Fraction(1, 2))


def _soft_left(at: Case, *, rewards: str = "state") -> Any:
    """Return what the commitments of a case tell, as a question."""
    kernels = [leave(at.kernel, episode.pi1) for episode in at.episodes]
    answers = [np.exp(logs(kernel, at.reward, at.discount)) for kernel in kernels]
    pairs = list(zip([x.pi1 for x in at.episodes], answers, strict=True))
    question = {"family": "soft_rewards", "ask": "identify", "rewards": rewards}
    twice = at if len(pairs) > 1 else replace(at, episodes=at.episodes * 2)
    system, _ = _soft_equations(twice, free=rewards != "state")
    left = system.shape[1] - len(echelon(system)[1])
    return showing(
        at.game,
        at.reward,
        question=question,
        follower=SOFT,
        observations=pairs,
        expect={"left": float(left), "identified": 0.0},
    )


def _explained(at: Case) -> Any:
    """Return the fit of the answer of a partner with another discount: it has no residual."""
    pi1 = at.episodes[0].pi1
    answer = np.exp(logs(at.problem(), at.reward, at.other[0]))
    return showing(
        at.game,
        at.reward,
        question={"family": "soft_rewards", "ask": "fit"},
        follower=SOFT,
        observations=[(pi1, answer)],
        expect={"residual": ("at_most", 1e-9)},
    )


def _softly(at: Case) -> Any:
    why = "a file has one follower"
    question = {"family": "commitment", "ask": "evaluate", "leader": at.episodes[0].pi1}
    return nearest(why, at.game, at.reward, question=question, follower=SOFT)


CLAIMS = (
    Claim(
        "soft-identified",
        f"{PLACE}, Cao, Cohen & Szpruch 2021",
        "One commitment tells state rewards up to a constant iff the differences of the follower's "
        "rows have rank N − 1.",
        _soft_cases(1),
        one_commitment,
        "needs a condition",
        outside=_soft_cases(1, ("0",), 2),
        counterexample=_at_zero,
        problem=_soft_left,
    ),
    Claim(
        "soft-stacked",
        f"{PLACE}, ours",
        "Two commitments tell state rewards up to a constant iff their differences, stacked, have "
        "rank N − 1.",
        _turned,
        stacked,
        "false as stated",
        counterexample=_twice_stacked,
        problem=_soft_left,
    ),
    Claim(
        "soft-whole-system",
        f"{PLACE}, ours",
        "Two commitments tell state rewards up to a constant iff the system in V_1 and V_2 has "
        "rank 2N − 1, and its null vectors are what they do not tell.",
        _soft_cases(2),
        whole_system,
        "repaired",
    ),
    Claim(
        "soft-any-two",
        f"{PLACE}, ours",
        "Two commitments that leave different problems tell rewards (S, B) up to a constant.",
        _acted,
        any_two,
        "false as stated",
        counterexample=_no_choice,
        problem=lambda at: _soft_left(at, rewards="follower"),
    ),
    Claim(
        "soft-two-experts",
        f"{PLACE}, Rolland et al. 2022",
        "Two commitments tell rewards (S, B) up to a constant iff [I − γP_1b, −(I − γP_2b)], "
        "stacked over b, has rank 2N − 1.",
        _soft_cases(2),
        two_experts,
    ),
    Claim(
        "soft-discount",
        f"{PLACE}, ours",
        "One answer of a partner with another discount is explained by no reward.",
        _soft_cases(1, hasty=True),
        discount_shows,
        "false as stated",
        counterexample=_hasty,
        problem=_explained,
    ),
    Claim(
        "soft-boltzmann",
        f"{PLACE}, ours",
        "A soft-optimal follower plays the softmax of its optimal action values.",
        _soft_cases(1, ("0",)),
        is_boltzmann,
        "needs a condition",
        outside=_soft_cases(1, POSITIVE[:1], 2),
        counterexample=_hasty,
        problem=_softly,
    ),
)
