"""Every kind: honest claims pass at every scale, no false one does, claims carry their width.

Whether a claim is true is decided by other computations in rationals, see `truth`.
"""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from depth import share
from forgery import edited, leaves, other, rewritten, sealed, tightened
from hypothesis import assume, given, strategies as st
from proofs import DISCOUNTS, KINDS, SCALES, honest, loosened
from truth import is_true

import iirl_opt as iirl
from iirl_opt.certificate import Certificate
from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.game.entries import RowBlocks
from iirl_opt.occupancy.proof import optimality
from iirl_opt.rewards.inclusion_proof import class_inclusion
from iirl_opt.verification import angle_bound

SEEDS = st.integers(0, 10_000)
# Of each of ten kinds.
FEWER = share(1 / 3)


@pytest.mark.parametrize("kind", KINDS)
@FEWER
@given(
    seed=SEEDS,
    scale=st.sampled_from(SCALES),
    discount=st.sampled_from(DISCOUNTS),
    floats=st.booleans(),
)
def test_honest_claims_pass_at_every_scale_and_discount(kind, seed, scale, discount, floats):
    certificate = honest(kind, seed, scale, discount, floats=floats)
    assume(certificate is not None)  # a few constrained programs and sums of rows are degenerate
    assert certificate.check().reasons == ()
    assert is_true(certificate)
    loose = loosened(certificate)
    assert loose is None or (loose.check().reasons == () and is_true(loose))


@pytest.mark.parametrize("kind", KINDS)
@FEWER
@given(data=st.data())
def test_no_false_claim_passes(kind, data):
    rng = np.random.default_rng(data.draw(SEEDS))
    place = [data.draw(st.sampled_from(options)) for options in (SCALES, DISCOUNTS)]
    first = honest(kind, data.draw(SEEDS), *place, floats=data.draw(st.booleans()))
    assume(first is not None)
    for c in filter(None, (first, loosened(first))):
        strong = tightened(c, rng)
        assert strong is None or not strong.check(), strong.claim
        text = edited(c, rng)
        try:
            again = Certificate.from_json(text)
        except FileProblem:
            continue
        assert not again.check() or is_true(again), text


@pytest.mark.parametrize("kind", KINDS)
def test_some_edit_of_every_field_fails(kind):
    rng = np.random.default_rng(0)
    certificate = honest(kind, 1)
    body = json.loads(certificate.to_json())
    fields = {}
    for path in leaves(body):
        key = path[:2] if path[0] == "instance" else path[:1]
        tried = fields.setdefault(key, [])
        for _ in range(8 if len(tried) < 64 and all(tried) else 0):
            changed = json.loads(certificate.to_json())
            where = changed
            for step in path[:-1]:
                where = where[step]
            where[path[-1]] = other(where[path[-1]], rng)
            if path != ("claim",):
                changed["claim"] = rewritten(changed, certificate.claim)
            try:
                again = Certificate.from_json(sealed(changed))
                passed = bool(again.check())
            except FileProblem:
                passed = False
            assert not passed or is_true(again), (kind, path)
            tried.append(passed)
    survivors = {key for key, passed in fields.items() if all(passed)}
    # Labels that the claim does not name, the name of an episode, and side constraints of none.
    harmless = {("instance", name) for name in ("states", "leader_actions", "follower_actions")}
    empty = {(name,) for name in ("rows", "bounds", "equal", "right", "prices", "equal_prices")}
    assert survivors <= harmless | empty | {("episode",), ("digest",), ("on_values",), ("inner",)}


# A Boltzmann follower is another one at another scale: see the tests of trees.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "search tree"])
@FEWER
@given(seed=SEEDS, power=st.sampled_from([-40, -7, 13, 40]))
def test_scaling_by_a_power_of_two_changes_nothing(kind, seed, power):
    one, scaled = (honest(kind, seed, 2.0**k, 0.9, floats=True) for k in (0, power))
    assert (one is None) == (scaled is None)
    assume(one is not None)
    assert scaled.check()
    by_reward = {"lower", "upper", "gain", "advantage", "margin"}
    for name, form in one.forms.items():
        if not form.startswith("number") or getattr(one, name) is None:
            continue
        factor = Fraction(2) ** power if name in by_reward else 1
        assert getattr(scaled, name) == factor * getattr(one, name), name


def test_a_value_that_adds_up_slowly_is_not_forgotten():
    """State 0 may stay or go on; staying earns nothing, and going 5e-7 for ten million steps."""
    stay, go = [1, 0], [0, 1]
    game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], 0.9999999, [1, 0])
    found = optimality(game, [0, 5e-7], np.array([[[1, 0]], [[1, 0]]]))
    assert found.lower == 0
    assert found.upper == pytest.approx(5, rel=1e-6)
    false = replace(found, upper=Fraction(0), values=[0, 0], claim="")
    assert "no choice is worth more" in str(false.check().reasons)
    carried = replace(false, upper=false.proved()[1], claim="")
    assert carried.check()
    assert carried.upper == Fraction(5e-7) / (1 - Fraction(0.9999999))


def test_a_cone_that_is_narrower_than_the_proof_is_widened():
    """A reward of tangent 2e-7 explains the answer: 1e-10 is false."""
    env = iirl.strict_environment([0, 1, 1, 2], 0.9, 1e-7)
    seen = [iirl.observe(env.game, np.ones((4, 1)), [[1, 0]] * 4)]
    found = class_inclusion(env.game, [0, 1, 1, 2], seen, tan=1e-10)
    assert 2e-7 < found.tan < 2e-6
    assert found.check()
    for tan in (Fraction(1, 10**10), Fraction(19, 10**8)):
        assert not replace(found, tan=tan, claim="").check()
    assert is_true(found)
    assert not is_true(replace(found, tan=Fraction(19, 10**8), claim=""))


def test_rows_of_a_tighter_environment_prove_nothing():
    wide, tight = (iirl.strict_environment([0, 1, 1, 2], 0.9, e) for e in (1e-2, 1e-4))
    found = angle_bound(tight.game, [0, 1, 1, 2])
    assert found.check()
    moved = replace(found, instance=angle_bound(wide.game, [0, 1, 1, 2]).instance)
    assert not moved.check()


def test_another_answer_does_not_prove_an_angle():
    env = iirl.strict_environment([0, 1, 1, 2], 0.9, 1e-3, rational=True)
    found = angle_bound(env.game, [0, 1, 1, 2])
    for s in range(4):
        answer = np.eye(2)[[int(k == s) for k in range(4)]]
        assert not replace(found, pi2=answer, claim="").check()
        seen = iirl.observe(env.game, np.ones((4, 1)), answer)
        with pytest.raises(InvalidArgument, match="leads on alike"):
            angle_bound(env.game, [0, 1, 1, 2], seen)


def test_what_cannot_be_read_is_no_certificate():
    c = honest("violation", 0)
    for wrong in (np.nan, np.inf, "x", None, 1j):
        with pytest.raises(InvalidArgument, match="advantage is not finite"):
            replace(c, advantage=wrong)
        with pytest.raises(InvalidArgument, match="values is not finite"):
            replace(c, values=[0.0, wrong, 1.0])


def test_without_a_discount_the_strict_test_shows_nothing():
    env = iirl.strict_environment([0, 1, 1], "1/2", 0.1, rational=True)
    myopic = iirl.TwoAgentMDP(RowBlocks.of(env.game.rational.rows), 0, follower_actions=2)
    with pytest.raises(InvalidArgument, match="the discount is positive"):
        angle_bound(myopic, [0, 1, 1])


def test_a_certificate_says_whose_it_is():
    c = honest("violation", 0)

    def with_rows_of_c(discount="4/5", **labels):
        rows = RowBlocks.of(c.instance.rows)
        return iirl.TwoAgentMDP(rows, discount, leader_actions=2, **labels)

    game = with_rows_of_c()
    seen = iirl.observe(game, c.pi1, c.pi2)
    assert c.matches(game)
    assert c.matches(game, reward=c.reward, observations=[seen])
    assert c.matches(game, reward=2 * c.reward).differences == ("the reward is another",)
    other_answer = iirl.observe(game, c.pi1, np.asarray(c.pi2)[:, ::-1])
    assert not c.matches(game, observations=[other_answer])
    assert not c.matches(game, observations=[seen, seen])
    named = with_rows_of_c(states=["x", "y", "z"])
    assert c.matches(named).differences == ("the labels of the states are others",)
    assert not c.matches(with_rows_of_c("3/5"))
    assert not honest("infeasibility", 0).matches(game, reward=c.reward)
