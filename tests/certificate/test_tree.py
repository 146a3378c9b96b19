"""Search trees: honest ones of all followers pass, forged ones fail, and both checkers agree."""

import json
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from depth import share
from forgery import edited, rewritten, sealed
from hypothesis import given, strategies as st
from proofs import DISCOUNTS, SCALES
from trees import FOLLOWERS, a_search_tree, forgeries, truth

import iirl_opt as iirl
from iirl_opt import recheck
from iirl_opt.certificate import Certificate, CommitmentBound, certify
from iirl_opt.certificate.boxes import BITS, exp_bounds
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.commitment.tree_proof import commitment_bound
from iirl_opt.errors import FileProblem, InvalidArgument


def library_says(text):
    try:
        return bool(Certificate.from_json(text).check())
    except FileProblem:
        return False


def example(kind, seed=0):
    return a_search_tree(np.random.default_rng(seed), 1.0, "9/10", False, kind)


@pytest.mark.parametrize("kind", FOLLOWERS)
@share(0.2)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from(SCALES),
    discount=st.sampled_from(DISCOUNTS),
    floats=st.booleans(),
)
def test_the_best_commitment_of_every_follower_is_proved(kind, seed, scale, discount, floats):
    c = a_search_tree(np.random.default_rng(seed), scale, discount, floats, kind)
    assert c.check().reasons == ()
    text = c.to_json()
    assert recheck.check(text) == c.claim
    assert Certificate.from_json(text).to_json() == text
    best, stated = truth(c)
    assert c.lower <= stated <= best <= c.upper
    assert c.upper - c.lower <= abs(best) / 2**40 or (best == 0 and c.upper - c.lower < scale)


@pytest.mark.parametrize("kind", FOLLOWERS)
@given(seed=st.integers(0, 10**6))
@share(0.15)
def test_no_forged_tree_passes_unless_it_is_true(kind, seed):
    rng = np.random.default_rng(seed)
    c = example(kind, seed)
    texts = [edited(c, rng) for _ in range(6)]
    bodies = [body | {"claim": rewritten(body, c.claim)} for body in forgeries(c, rng)]
    texts += map(sealed, bodies)
    for text in texts:
        passes = library_says(text)
        assert recheck.holds(text) is passes
        if passes:
            claimed = Certificate.from_json(text)
            best, stated = truth(claimed)
            assert claimed.lower <= stated
            assert best <= claimed.upper


def test_the_kinds_of_forgery_that_must_fail_do():
    failed = set()
    for seed in range(8):
        c = example("Boltzmann", seed)
        if len(c.leaves) > 2:
            every = forgeries(c, np.random.default_rng(0))
            failed |= {i for i, body in enumerate(every) if not library_says(sealed(body))}
    assert set(range(14)) <= failed


def test_a_bound_that_the_search_reached_in_its_time_is_proved():
    game, reward = iirl.random_game(9, 2, 2, rng=3)
    problem = CommitmentProblem(game, reward, iirl.BoltzmannFollower(2))
    early, full = commitment_bound(problem, time_limit=0), commitment_bound(problem)
    assert early.check()
    assert early.lower <= full.lower <= full.upper <= early.upper
    assert len(early.leaves) < len(full.leaves)
    assert full.upper - full.lower < abs(full.lower) / 2**40


@pytest.mark.parametrize("power", [-40, 13, 40])
@pytest.mark.parametrize("kind", ["optimal, mix", "greedy, first"])
def test_scaling_both_rewards_by_a_power_of_two_changes_nothing(kind, power):
    game, reward = iirl.random_game(4, 2, 2, rng=2)
    _, own = iirl.random_game(4, 2, 2, rng=3)
    one, scaled = (
        commitment_bound(
            CommitmentProblem(
                game, 2.0**k * reward, FOLLOWERS[kind][0], follower_reward=2.0**k * own
            )
        )
        for k in (0, power)
    )
    factor = Fraction(2) ** power
    assert (scaled.lower, scaled.upper) == (factor * one.lower, factor * one.upper)
    assert scaled.nodes == one.nodes


def test_a_stated_commitment_need_not_be_the_best():
    game, reward = iirl.random_game(4, 2, 2, rng=1)
    problem = CommitmentProblem(game, reward, iirl.BoltzmannFollower(2))
    best = commitment_bound(problem)
    other = [1 - a for a in best.actions]
    stated = commitment_bound(problem, other)
    assert stated.actions == tuple(other)
    assert stated.check()
    assert stated.lower < best.lower <= stated.upper


def test_commitments_to_every_follower_certify():
    game, reward = iirl.random_game(4, 2, 2, rng=0)
    _, own = iirl.random_game(4, 2, 2, rng=1)
    for follower, theirs in ((iirl.BoltzmannFollower(2), None), (iirl.OptimalFollower(), own)):
        problem = CommitmentProblem(game, reward, follower, follower_reward=theirs)
        plan = iirl.commitment.Automatic(exact=True).plan(problem)
        found = certify(plan)
        assert isinstance(found, CommitmentBound)
        assert found.check()
        assert float(found.lower) == pytest.approx(plan.value)


def test_followers_that_a_file_cannot_state_are_refused_by_name():
    game, reward = iirl.random_game(2, 2, 2, rng=0)
    follower = iirl.ProportionalFollower(lambda q: 1 + q)
    with pytest.raises(InvalidArgument, match="a certificate cannot state"):
        commitment_bound(CommitmentProblem(game, reward, follower))
    follower = iirl.ProportionalFollower(np.exp)
    assert commitment_bound(CommitmentProblem(game, reward, follower)).model == "boltzmann"


def test_too_many_leaves_are_refused_with_their_number():
    game, reward = iirl.random_game(6, 2, 2, rng=0)
    problem = CommitmentProblem(game, reward, iirl.BoltzmannFollower(2))
    with pytest.raises(InvalidArgument, match="most_leaves is 2: "):
        commitment_bound(problem, most_leaves=2)


@given(st.fractions(-200, 0), st.integers(0, 120))
def test_exponentials_are_enclosed(x, shift):
    x /= 2**shift
    low, high = exp_bounds(x)
    with localcontext() as context:
        context.prec = 80
        true = (Decimal(x.numerator) / Decimal(x.denominator)).exp() * 2**BITS
        assert low <= true <= high
    assert high - low <= 3


def test_a_certificate_of_another_shape_is_no_tree():
    c = example("optimal, first")
    for changes in (
        {"nodes": ()},
        {"nodes": ((), ())},
        {"allowed": ((),) * c.instance.shape[0]},
        {"allowed": ()},
        {"actions": ()},
        {"model": "magic"},
        {"ties": "random"},
        {"leaves": ()},
        {"numbers": np.array([Fraction(2)], dtype=object)},
    ):
        assert not replace(c, **changes).check(), changes


def test_nested_lists_of_a_document_are_read_with_care():
    body = json.loads(example("optimal, first").to_json())
    for name, value in (("nodes", [[0.5]]), ("nodes", 1), ("leaves", [{}]), ("leaves", [1]),
                        ("allowed", [["0"]]), ("incumbent", None), ("ties", None)):  # fmt: skip
        text = sealed(body | {name: value})
        assert not library_says(text)
        assert not recheck.holds(text)
