"""Declared suboptimality: what a response may lose, from one reward and from programs over all."""

import itertools
import pickle
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from campaigns.suboptimality import known_at, membership, mistaken, play, run
from depth import share
from hypothesis import given, strategies as st
from kkt import assert_kkt

import iirl_opt as iirl
from iirl_opt.errors import IIRLError, InvalidArgument, InvalidObservation, InvalidReward
from iirl_opt.observation import Suboptimality, record_trajectory
from iirl_opt.rewards import worst_regret

seeds = st.integers(0, 2**32 - 1)
STAY, GO = [[1, 0], [1, 0]], [[0, 1], [1, 0]]
ANY = [[1], [1]]


def two_rooms(discount="1/2"):
    """Whoever is in the first room may stay or go over to the second, and stays there."""
    return iirl.TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount)


def stayed(**given):
    """The rewards of one who stayed, which loses r1 − r0 in the first room."""
    return iirl.FeasibleRewards(two_rooms()).observe(ANY, STAY, **given)


# One reward.


@share(0.1)
@given(seed=seeds)
def test_membership_is_regret_at_most_what_is_declared_by_brute_force(seed):
    faults, _ = membership(seed)
    assert not faults


@share(0.1)
@given(seed=seeds)
def test_the_truth_is_kept_by_its_own_loss_and_refused_at_half_of_it(seed):
    kept, halved, least, own = run(seed % 1000)
    assert kept
    assert not halved
    assert least <= own + 1e-7


def test_the_boundary_is_decided_exactly():
    r = [Fraction(1, 3), Fraction(2, 3)]
    assert stayed(suboptimality="1/3").contains(r, exact=True)
    assert not stayed(suboptimality=Fraction(1, 3) - Fraction(1, 10**30)).contains(r, exact=True)
    share_left = {"share": Fraction(1, 3)}  # it stays for 2/3, the best is 1
    assert stayed(suboptimality=Suboptimality(**share_left)).contains(r, exact=True)
    less = Suboptimality(share=Fraction(1, 3) - Fraction(1, 10**30))
    assert not stayed(suboptimality=less).contains(r, exact=True)


def test_the_start_is_exact_too():
    game = iirl.TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2", start=["1/3", "2/3"])
    for less, inside in ((0, True), (Fraction(1, 10**30), False)):
        said = Suboptimality(Fraction(1, 3) - less, start=True)
        known = iirl.FeasibleRewards(game).observe(ANY, STAY, suboptimality=said)
        assert known.contains([0, 1], exact=True) is inside


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_membership_has_the_unit_of_the_reward_at_every_scale(scale, shift):
    reward = scale * (shift + np.array([0.0, 1.0]))
    assert stayed(suboptimality=scale * (1 + 1e-6)).contains(reward)
    assert not stayed(suboptimality=scale * (1 - 1e-6)).contains(reward)


def test_a_penalty_that_nobody_meets_excuses_nothing():
    kernel = np.zeros((3, 1, 3, 3))
    kernel[0, 0, [0, 1, 2], [0, 1, 2]] = kernel[1:, 0, :, 1] = 1
    kernel[2, 0] = np.eye(3)[2]
    game = iirl.TwoAgentMDP(kernel, "999/1000")
    pi1, pi2 = np.ones((3, 1)), np.eye(3)[[0, 0, 0]]
    reward = [0.0, 1e-3, -1e9]
    own = iirl.FeasibleRewards(game).observe(pi1, pi2).losses(reward)[0, 0]
    assert own == pytest.approx(0.999, rel=1e-6)
    for factor, inside in ((1.001, True), (0.999, False)):
        known = iirl.FeasibleRewards(game).observe(pi1, pi2, suboptimality=factor * own)
        assert known.contains(reward) is inside


def test_what_is_violated_is_named():
    (row,) = stayed(suboptimality=0.25).violations([0.0, 1.0])
    assert (row.episode, row.state, row.action, round(row.slack, 9)) == (1, 0, None, 0.75)
    (row,) = stayed(suboptimality=Suboptimality(0.25, start=True)).violations([0.0, 1.0])
    assert (row.state, row.action, round(row.slack, 9)) == (None, None, 0.25)  # it starts in both


def test_partners_of_different_quality_are_in_one_set():
    known = stayed(suboptimality=2).observe(ANY, GO)
    assert known.contains([0, 1.5])
    assert not known.contains([0, 2.5])
    assert not known.contains([1.5, 0])  # who went is optimal
    assert [row.episode for row in known.violations([0, 2.5])] == [1]
    assert known.observe(ANY, STAY, suboptimality=0.1).violations([0, 1.5])[0].episode == 3


@pytest.mark.parametrize("discount", ["0.9", "0.999999"])
@pytest.mark.parametrize("start", [False, True])
def test_a_hundredth_of_a_loss_is_told_apart_at_every_discount(discount, start):
    rng = np.random.default_rng(0)
    game, reward = iirl.random_game(4, 2, 2, rng=0, discount=discount)
    seen = rng.dirichlet(np.ones(2), 4), np.eye(2)[rng.integers(0, 2, 4)]
    lost = iirl.FeasibleRewards(game).observe(*seen).losses(reward)[0]
    lost = game.start @ lost if start else lost.max()
    assert lost > 0
    for loss, kept in ((1.01 * lost, True), (0.99 * lost, False)):
        said = Suboptimality(float(loss), start=start)
        known = iirl.FeasibleRewards(game).observe(*seen, suboptimality=said)
        assert known.contains(reward) is known.contains(reward, exact=True) is kept


def test_a_loss_of_nothing_is_an_optimal_response():
    plain = iirl.FeasibleRewards(two_rooms()).observe(ANY, GO)
    for nothing in (0, "0", 0.0, Suboptimality(0), Suboptimality(share=0)):
        known = iirl.FeasibleRewards(two_rooms()).observe(ANY, GO, suboptimality=nothing)
        assert known.observations == plain.observations
    assert Suboptimality(0, start=True).nothing is False


# Compatibility.


@share(0.1)
@given(seed=seeds, scale=st.floats(1e-3, 1e3), shift=st.floats(-10, 10))
def test_compatibility_knows_neither_scale_nor_shift(seed, scale, shift):
    _, game, reward, pi1, pi2 = play(seed)
    known = iirl.FeasibleRewards(game).observe(pi1, pi2)
    found = known.compatibility(reward)
    assert known.compatibility(scale * reward + shift) == pytest.approx(found, rel=1e-6, abs=1e-9)
    assert known.compatibility(np.full(reward.shape, shift)) == 0
    assert found * np.ptp(reward) == pytest.approx(known.losses(reward).max(), rel=1e-9)


@share(0.05)
@given(seed=seeds)
def test_no_reward_is_more_compatible_than_the_most_compatible(seed):
    game, truth, answers = mistaken(seed)
    known = known_at(game, answers, 1.0)
    found = known.most_compatible()
    assert known.compatibility(found.reward) == pytest.approx(found.loss, abs=1e-7)
    assert np.ptp(found.reward) == pytest.approx(1)
    draws = np.random.default_rng(seed).random((20, game.n_states))
    assert found.loss <= min(map(known.compatibility, [truth, *draws])) + 1e-7
    contrast = truth - truth.mean()
    along = known.most_compatible(contrast)
    assert contrast @ along.reward == pytest.approx(1)
    # The truth, in the unit of the contrast, loses no less.
    assert along.loss <= known.losses(truth / (contrast @ truth)).max() + 1e-7


class Prizes:
    """Rewards between 1/5 and 1/2, of span 3/10 at most, the first of them larger than another."""

    def constraints(self, r):
        return [r >= 0.2, r <= 0.5, (r[0] >= r[1] + 0.1).set_label("first")]


@share(0.05)
@given(seed=seeds)
def test_of_a_domain_no_reward_is_more_compatible_whatever_its_span(seed):
    game, _, answers = mistaken(seed)
    known, n = known_at(game, answers, 1.0), game.n_states
    least = known.most_compatible().loss
    # Each of these has a multiple, shifted, of every reward.
    for everywhere in (iirl.RewardSimplex(), iirl.RewardBox(0.1)):
        assert known.most_compatible(domain=everywhere).loss == pytest.approx(least, abs=1e-7)
    contrast = np.eye(n)[0] - np.eye(n)[1]
    along = known.most_compatible(contrast, domain=iirl.RewardSimplex()).loss
    assert along == pytest.approx(known.most_compatible(contrast).loss, abs=1e-7)
    found = known.most_compatible(domain=Prizes())
    assert np.ptp(found.reward) == pytest.approx(1)
    draws = np.random.default_rng(seed).uniform(0.2, 0.4, (10, n))
    draws[:, 0] = draws[:, 1] + 0.1
    assert least - 1e-7 <= found.loss <= min(map(known.compatibility, draws)) + 1e-7


def test_a_domain_of_multiples_has_affine_rows():
    class Round:
        def constraints(self, r):
            return [cp.norm(r) <= 1]

    class Whole:
        def constraints(self, r):
            return [r <= cp.Variable(2, integer=True, name="n")]

    for domain in (Round(), Whole()):
        with pytest.raises(InvalidArgument, match="domain has the row 0"):
            stayed().most_compatible(domain=domain)


def test_a_contrast_sums_to_zero_and_a_reward_varies():
    known = stayed()
    for wrong in ([1, 1], [0, 0], [1, -1, 0]):
        with pytest.raises(InvalidArgument, match="contrast"):
            known.most_compatible(wrong)
    one = iirl.FeasibleRewards(iirl.TwoAgentMDP([[[[1.0]]]], "1/2")).observe([[1]], [[1]])
    with pytest.raises(InvalidArgument, match="one state"):
        one.most_compatible()
    assert one.compatibility([3.0]) == 0


# Programs.


@share(0.1)
@given(seed=seeds)
def test_what_programs_find_is_in_the_set(seed):
    game, _, answers = mistaken(seed)
    rng = np.random.default_rng(seed)
    known = known_at(game, answers, float(rng.choice([0.3, 1.0])))
    objective = rng.normal(size=game.n_states)
    found = known.maximise(objective)
    program = known.problem(objective)
    assert_kkt(program, iirl.solve(program))
    assert known.contains(found.reward, tolerance=1e-7)
    assert known.contains(known.nearest(rng.random(game.n_states)).reward, tolerance=1e-7)


def test_a_loss_has_a_price():
    known = stayed(suboptimality=0.25)
    assert known.maximise([0, 1]).value == pytest.approx(0.625)  # r1 − r0 ≤ 1/4
    assert known.maximise([0, 1], price=10).value == pytest.approx(0.625)
    # r1 brings 1/2 a unit that more is lost: at a price below, all is given up.
    assert known.maximise([0, 1], price=0.4).value == pytest.approx(1 - 0.4 * 0.75)
    prices = known.by_row(known.maximise([0, 1]))
    assert prices[1, 0, None] == pytest.approx(0.5)


def test_a_loss_is_a_variable_of_ones_own():
    known = stayed(suboptimality=5.0).observe(ANY, GO)
    r, first, second = cp.Variable(2), cp.Variable(), cp.Variable()
    rows = known.constraints(r, suboptimality={1: 2 * first, 2: second})
    wanted = [r[1] - r[0] == 1, r[0] == 0]
    program = cp.Problem(cp.Minimize(first + second), rows + wanted)
    assert_kkt(program, iirl.solve(program))
    assert (first.value, second.value) == (pytest.approx(0.5), pytest.approx(0))
    both = known.constraints(r, suboptimality=first)
    assert iirl.solve(cp.Problem(cp.Minimize(first), both + wanted)).value == pytest.approx(1)
    constants = [{1: cp.Constant(x)} for x in (np.nan, np.inf, -1)]
    others = [{3: first}, {1: cp.square(first)}, {1: cp.Variable(2)}, {1: -1.0}]
    for wrong in (*constants, *others, {1: cp.Variable(complex=True)}):
        with pytest.raises(InvalidArgument, match="suboptimality"):
            known.constraints(r, suboptimality=wrong)


def test_a_share_takes_rewards_of_at_least_zero():
    known = stayed(suboptimality=Suboptimality(share=0.5))
    assert known.contains([1, 2.9])  # r0 + r1 is the best, 2 r0 what it gets
    assert not known.contains([1, 3.1])
    assert known.maximise([0, 1]).reward == pytest.approx([1 / 4, 3 / 4])
    with pytest.raises(InvalidReward, match="least zero"):
        known.contains([-1, 2])
    for search in (known.maximise, known.problem, known.nearest):
        with pytest.raises(InvalidArgument, match="share"):
            search([0, 1], domain=iirl.rewards.RewardBox())
    with pytest.raises(InvalidArgument, match="share"):
        known.widths(domain=iirl.rewards.RewardBox())


@share(0.05)
@given(seed=seeds)
def test_the_worst_regret_of_the_set_is_that_of_an_enumeration(seed):
    game, _, answers = mistaken(seed, states=2, episodes=2)
    known, (pi1, pi2, _) = known_at(game, answers, 1 + 1e-9), answers[-1]
    found = worst_regret(known, pi1, pi2)
    own = iirl.rewards.advantages.Play(game, pi1, pi2, joint=False)
    every = itertools.product(np.eye(game.n_choices), repeat=game.n_states)
    measures = [own.measure(np.array(choice)) - own.measure(own.policy) for choice in every]
    best = max(known.maximise(each).value for each in measures)
    assert found.value == pytest.approx(best, abs=1e-6)


@share(0.02)
@given(seed=seeds)
def test_samples_are_inside_and_uniform_as_by_rejection(seed):
    game, _, answers = mistaken(seed, states=3, episodes=2)
    known = known_at(game, answers, 1.0)
    drawn = known.sample(150, 0, thin=4)
    assert all(known.contains(r, tolerance=1e-9) for r in drawn[::20])
    assert drawn.sum(axis=1) == pytest.approx(1)
    every = np.random.default_rng(seed).dirichlet(np.ones(3), 150)
    inside = every[[known.contains(r) for r in every]]
    if len(inside) > 40:
        apart = np.abs(drawn.mean(axis=0) - inside.mean(axis=0))
        assert (apart < 6 * inside.std(axis=0) / np.sqrt(40)).all()


def test_samples_know_shares_the_start_preferences_and_optimal_partners():
    known = stayed(suboptimality=Suboptimality(share=0.25, start=True))
    known = known.observe(ANY, GO).prefer((ANY, GO), (ANY, STAY), by=0.01)
    drawn = known.sample(50, 0)
    assert all(map(known.contains, drawn))
    least, most = (known.maximise([0, sign]).reward[1] for sign in (-1, 1))
    assert drawn[:, 1].min() < least + 0.1 * (most - least)
    assert drawn[:, 1].max() > most - 0.1 * (most - least)
    with pytest.raises(InvalidArgument, match="domain"):
        known.sample(1, 0, domain=iirl.rewards.RewardBox())
    with pytest.raises(InvalidArgument, match="losses"):
        stayed(suboptimality=Suboptimality(0, start=True)).sample(1, 0)


def test_where_only_constants_are_left_the_worst_regret_is_none():
    game, _, answers = mistaken(5027)
    known = known_at(game, answers, 0.0)
    assert not known.is_informative()
    found = worst_regret(known, *answers[-1][:2])
    assert found.constant
    assert found.value == pytest.approx(0, abs=1e-6)


# What is not built says so.


@pytest.mark.parametrize(
    "ask",
    [
        lambda known: known.explicit_rows(),
        lambda known: known.distinct_rows(),
        lambda known: known.observations,
        lambda known: known.chebyshev_centre(),
        lambda known: known.dimension(),
        lambda known: known.max_margin(),
        lambda known: known.slack([0, 1]),
        lambda known: iirl.rewards.regret_bound(known, ANY, STAY),
        lambda known: iirl.identify(known),
        lambda known: iirl.verification.prove_inclusion(known, [[-1, 1]]),
        lambda known: iirl.VerificationProtocol(known.game, [0, 1], feasible=known).history,
        lambda known: iirl.ActiveIRL(known.game, feasible=known).ask(),
        lambda known: iirl.learn.MaximumEntropy().choose(known, rng=0),
        lambda known: iirl.learn.AnalyticCentre().choose(known, rng=0),
        lambda known: iirl.rewards.witness(known.game, [0, 1], known.seen, [1, -1]),
        lambda known: iirl.rewards.inclusion(known.game, known.seen, [[-1, 1]]),
        lambda known: iirl.rewards.violation(known.game, [0, 1], known.seen[0], 0, 1),
        lambda known: iirl.bayesian.Evidence(known.game).observe(known.seen[0]),
    ],
)
def test_no_place_takes_a_suboptimal_response_for_an_optimal_one(ask):
    with pytest.raises(IIRLError, match="suboptimal"):
        ask(stayed(suboptimality=0.25))


def test_no_proof_matches_a_response_that_is_declared_suboptimal():
    seen = iirl.observe(two_rooms(), ANY, GO)
    proof = iirl.rewards.inclusion(two_rooms(), [seen], [[-1, 1]])
    assert proof.matches(two_rooms(), observations=[seen])
    declared = iirl.observe(two_rooms(), ANY, GO, suboptimality=0.1)
    assert "suboptimal" in proof.matches(two_rooms(), observations=[declared]).differences[0]
    hidden = iirl.rewards.lifted_rows.WholeResponse(two_rooms(), declared)
    with pytest.raises(InvalidArgument, match="suboptimal"):
        iirl.FeasibleRewards(two_rooms(), (hidden,))


def test_learners_by_programs_take_the_set_as_it_is():
    game, _, answers = mistaken(3)
    known = known_at(game, answers, 1.0)
    learner = iirl.InteractiveIRL(game, feasible=known)
    assert known.contains(learner.estimate(), tolerance=1e-7)
    assert learner.tell(answers[0][1], pi1=answers[0][0]).episode == 5


def test_a_trajectory_or_a_mask_is_not_declared_suboptimal():
    walk = record_trajectory(two_rooms(), ANY, [(0, 0, 1)])
    with pytest.raises(InvalidObservation, match="convex"):
        iirl.FeasibleRewards(two_rooms()).observe(ANY, walk, suboptimality=0.1)
    assert iirl.FeasibleRewards(two_rooms()).observe(ANY, walk, suboptimality=0).episodes
    with pytest.raises(InvalidObservation, match="mask"):
        iirl.observe(two_rooms(), ANY, np.array(STAY, dtype=bool), suboptimality=0.1)
    with pytest.raises(InvalidArgument, match="trajectories"):
        iirl.FeasibleRewards(two_rooms()).observe(ANY, walk).compatibility([0, 1])


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "much", True, [0.1], 1j])
def test_a_loss_is_a_number_of_at_least_zero(wrong):
    with pytest.raises(InvalidArgument):
        stayed(suboptimality=wrong)
    with pytest.raises(InvalidArgument):
        Suboptimality(share=wrong)


def test_a_declaration_says_one_thing_and_survives_copies():
    for wrong in ({}, {"loss": 1, "share": 0.5}, {"share": 1.5}, {"loss": 1, "start": 1}):
        with pytest.raises(InvalidArgument):
            Suboptimality(**wrong)
    known = stayed(suboptimality=Suboptimality("1/3", start=True))
    again = pickle.loads(pickle.dumps(known))
    assert again.seen == known.seen
    assert hash(again.seen[0]) == hash(known.seen[0])
    assert known.seen != stayed(suboptimality=Suboptimality("1/4", start=True)).seen


# From outside.


@pytest.mark.oracle
@share(0.1)
@given(seed=seeds)
def test_the_set_of_a_suboptimal_expert_is_that_of_poiani_and_others(seed):
    """Their explicit form: r = V − γPV − ζ, ζ ≥ 0 where the optimal expert does not play, feasible
    iff (I − γP_i)⁻¹ π_i ζ ≤ ξ_i for each other expert i (arXiv 2401.03857, one agent)."""
    rng = np.random.default_rng(seed)
    n, n_b, gamma = int(rng.integers(1, 5)), int(rng.integers(2, 4)), 0.9
    game, _ = iirl.random_game(n, 1, n_b, rng=seed, discount=gamma)
    kernel, v = game.matrix.reshape(n, n_b, n), rng.normal(size=n)
    optimal, other = np.eye(n_b)[rng.integers(n_b, size=n)], rng.dirichlet(np.ones(n_b), n)
    zeta = rng.exponential(size=(n, n_b)) * (optimal == 0)
    reward = (v[:, None] - gamma * kernel @ v - zeta)[:, None, :]
    chain = np.einsum("sb,sbt->st", other, kernel)
    xi = np.linalg.solve(np.eye(n) - gamma * chain, (other * zeta).sum(axis=1)).max()
    both = iirl.FeasibleRewards(game).observe(np.ones((n, 1)), optimal)
    for factor, inside in ((1.001, True), (0.999, False)):
        known = both.observe(np.ones((n, 1)), other, suboptimality=factor * xi)
        assert known.contains(reward) is inside
