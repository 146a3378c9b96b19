"""Partners that lose something: which error is meant, and what is convex of it; and preferences.

A response π to a commitment may (a) lose ε of value, ``V* − V_π ≤ ε``, or (b) play actions that are
each within ε of the best, ``V*(s) − Q*(s, b) ≤ ε``. The first is convex in the reward and linear
with W ≥ V*; the second is neither, and allows more.

Source: ours, of `iirl_opt.rewards.suboptimal` and `iirl_opt.rewards.preferences`; Poiani, Curti,
Metelli & Restelli 2024 (arXiv 2401.03857) for one agent. All is exact: values of every
deterministic policy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import (
    Exact,
    action_values,
    exact,
    policies_of,
    policy_values,
    stochastic,
)
from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.instances import POSITIVE, Case, case, cases
from iirl_opt.claims.problems import nearest, showing
from iirl_opt.observation import Suboptimality

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS"]

PLACE = "suboptimal partners, ours"

# What is declared is the loss itself, or beside it by such a share.
BESIDE = (0, Fraction(1, 50), Fraction(-1, 50), Fraction(1, 10**12), Fraction(-1, 10**12))


def _losses(at: Case, reward: Exact) -> Exact:
    """Return ``V* − V_π`` by the definition: V* is the best of every deterministic policy."""
    problem, pi2 = at.problem(), at.episodes[0].pi2
    every = policies_of(*problem.shape[:2])
    values = [
        policy_values(problem, reward, stochastic(choices, problem.shape[1]), at.discount)
        for choices in every
    ]
    best = np.array([max(column) for column in np.array(values, dtype=object).T], dtype=object)
    return np.asarray(best - policy_values(problem, reward, pi2, at.discount))


def _behind(at: Case, reward: Exact) -> Exact:
    """Return by how much each action that was played is short of the best one, (S,)."""
    q = action_values(at.problem(), reward, at.discount)
    gaps = q.max(axis=1)[:, None] - q
    played = exact((at.episodes[0].pi2 > 0).astype(int))
    return np.asarray((gaps * played).max(axis=1))


def membership(at: Case, *, of_actions: bool = False) -> Outcome:
    """Decide: a reward is in the set of a declared loss iff the definition says so."""
    from iirl_opt.rewards.feasible import FeasibleRewards

    lost = _behind(at, at.reward) if of_actions else _losses(at, at.reward)
    share, start = at.other
    size = exact(at.game.exact_start) @ lost if start else max(lost)
    said = size * (1 + share)
    pi1, pi2 = at.episodes[0].pi1, at.episodes[0].pi2
    known = FeasibleRewards(at.game)
    known = known.observe(pi1, pi2, suboptimality=Suboptimality(said, start=start))
    inside = known.contains(at.reward, exact=True)
    return Outcome(inside == (size <= said), f"{size} against {said}")


def gauge(at: Case, *, of_actions: bool = False) -> Outcome:
    """Decide: what is lost under a sum of rewards is at most the sum of what is lost."""
    of = _behind if of_actions else _losses
    one, other = at.reward, at.other[0]
    both, parts = max(of(at, one + other)), max(of(at, one)) + max(of(at, other))
    return Outcome(both <= parts, f"{both} against {parts}")


def one_step(at: Case, *, factor: Fraction | None = None) -> Outcome:
    """Decide: a response loses at most what its worst action does, or that over 1 − γ."""
    lost, short = max(_losses(at, at.reward)), max(_behind(at, at.reward))
    bound = short if factor is None else factor * short / (1 - at.discount)
    return Outcome(lost <= bound, f"it loses {lost}, its actions at most {short}")


@dataclass(frozen=True, eq=False)
class Walks:
    """Two walks through a game, a reward, and a shift of it."""

    at: Case
    better: tuple[int, ...]
    worse: tuple[int, ...]
    shift: Fraction


def shifted(walks: Walks) -> Outcome:
    """Decide: a comparison of two walks is the same when the reward is shifted."""

    def worth(reward: Exact) -> Any:
        gamma = walks.at.discount
        sums = (
            sum((gamma**h * reward[s] for h, s in enumerate(walk)), Fraction(0))
            for walk in (walks.better, walks.worse)
        )
        return next(sums) - next(sums)

    before, after = worth(walks.at.reward), worth(walks.at.reward + walks.shift)
    return Outcome(before == after, f"{before}, and {after} after a shift by {walks.shift}")


def _answered_once(**bounds: Any) -> SearchStrategy[Case]:
    """Return a strategy for cases of one episode with at least two states and two actions."""
    least = {"min_states": 2, "min_follower_actions": 2, "constant": False, "discounts": POSITIVE}
    return cases(episodes=1, **{**least, **bounds})


def _declared() -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    both = st.tuples(st.sampled_from(BESIDE), st.booleans())
    return _answered_once().flatmap(lambda at: both.map(lambda said: replace(at, other=said)))


def _pairs() -> SearchStrategy[Case]:
    """Return a strategy for cases with a second reward; half of them of `_between`'s game."""
    from hypothesis import strategies as st

    from iirl_opt.testing.arrays import rewards

    drawn = _answered_once(other=lambda game: rewards(game, exact=True).map(lambda r: (r,)))
    own = st.lists(st.integers(0, 2), min_size=6, max_size=6).map(lambda x: _between(x[:3], x[3:]))
    return st.one_of(drawn, own)


def _staying(discount: Any = "1/2") -> Case:
    """Return who stays with nothing, where it could go to where there is something for ever."""
    return case([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount, [0, 1], [0, 0])


def _near_staying() -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    return st.one_of(_answered_once(deterministic=True), st.sampled_from(POSITIVE).map(_staying))


def _between(one: Any = (2, 1, 0), other: Any = (2, 0, 2)) -> Case:
    """Return who goes on from each of three states, and two rewards."""
    weights = np.zeros((3, 1, 2, 3), dtype=int)
    weights[[0, 1, 2], 0, 0, [0, 1, 2]] = weights[[0, 1, 2], 0, 1, [1, 2, 2]] = 1
    return case(weights, "1/2", one, [1, 1, 1], other=(exact(list(other)),))


def _walks(*, equal: bool) -> SearchStrategy[Walks]:
    """Return a strategy for pairs of walks, of the same length or not."""
    from hypothesis import strategies as st

    @st.composite
    def drawn(draw: st.DrawFn) -> Walks:
        at = draw(cases(constant=False, min_states=2, discounts=POSITIVE))
        state = st.integers(0, len(at.reward) - 1)
        first = draw(st.lists(state, min_size=1, max_size=4))
        size = len(first) if equal else draw(st.integers(1, 4))
        second = draw(st.lists(state, min_size=size, max_size=size))
        return Walks(
            at, tuple(first), tuple(second), Fraction(draw(st.sampled_from([-3, -1, 1, 2])))
        )

    return drawn()


def _longer() -> Walks:
    """Return a step in a state beside two steps there."""
    return Walks(_staying(), (1, 1), (1,), Fraction(1))


def _loses(at: Case) -> Any:
    """Return what the answer loses; the files have no name for what its actions do."""
    reward = [float(x) for x in at.reward]
    question = {"family": "feasible_rewards", "ask": "compatibility", "target": reward}
    lost, short = max(_losses(at, at.reward)), max(_behind(at, at.reward))
    expect = {"loss[1]": float(lost)} | {"compatibility": ("at_least", float(short))}
    return showing(at.game, at.reward, question=question, observations=at.seen, expect=expect)


def _mixture(at: Case) -> Any:
    why = "files declare what is lost of value, not by single actions"
    question = {"family": "feasible_rewards", "ask": "compatibility", "target": [1, 0, 0]}
    return nearest(why, at.game, at.reward, question=question, observations=at.seen)


def _compared(walks: Walks) -> Any:
    why = "files refuse to compare trajectories of different lengths"
    return nearest(why, walks.at.game, walks.at.reward, observations=walks.at.seen)


CLAIMS = (
    Claim(
        "suboptimal-loss",
        PLACE,
        "A reward is in the set of a declared loss iff no deterministic response is better by more "
        "than that, in any state or from the start.",
        _declared,
        membership,
    ),
    Claim(
        "suboptimal-convex",
        PLACE,
        "What a response loses of value is a convex function of the reward, and grows with it.",
        _pairs,
        gauge,
    ),
    Claim(
        "suboptimal-actions-convex",
        PLACE,
        "How short the worst action of a response is of the best one is a convex function of the "
        "reward.",
        _pairs,
        lambda at: gauge(at, of_actions=True),
        "false as stated",
        counterexample=_between,
        problem=_mixture,
    ),
    Claim(
        "suboptimal-one-step",
        PLACE,
        "A response whose actions are each within ε of the best loses at most ε of value.",
        _near_staying,
        one_step,
        "false as stated",
        counterexample=_staying,
        problem=_loses,
    ),
    Claim(
        "suboptimal-one-step-repaired",
        PLACE,
        "A response whose actions are each within ε of the best loses at most ε/(1 − γ) of value; "
        "who stays with nothing loses that.",
        _near_staying,
        lambda at: one_step(at, factor=Fraction(1)),
        "repaired",
    ),
    Claim(
        "preference-shift",
        PLACE,
        "By how much one walk is better than another is the same under a shift of the reward.",
        lambda: _walks(equal=True),
        shifted,
        "needs a condition",
        outside=lambda: _walks(equal=False),
        counterexample=_longer,
        problem=_compared,
    ),
)
