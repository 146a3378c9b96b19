"""Makers: what solvers find is repaired where it can be, and otherwise stated with its width."""

import json
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from depth import share
from forgery import sealed
from hypothesis import given, strategies as st
from proofs import a_game, a_reward, best_policy, environment, observed

import iirl_opt as iirl
from iirl_opt.certificate import Certificate, certify, class_halfspaces
from iirl_opt.certificate.dyadic import masses, sums
from iirl_opt.certificate.registry import CERTIFIED
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import Infeasible, InvalidArgument, InvalidPolicy, NotCertified
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.game.exact import exact_optimum
from iirl_opt.occupancy import policy_improvement
from iirl_opt.occupancy.proof import optimality
from iirl_opt.rewards import violation, witness
from iirl_opt.rewards.inclusion_proof import class_inclusion, inclusion
from iirl_opt.verification import angle_bound

SEEDS = st.integers(0, 10_000)


def a_problem(seed, *, floats=False, n=4):
    rng = np.random.default_rng(seed)
    return rng, a_game(rng, "4/5", floats=floats, n=n), a_reward(rng, 1.0, n)


@share(0.6)
@given(seed=SEEDS, floats=st.booleans())
def test_what_an_occupancy_program_finds_is_certified(seed, floats):
    _, game, reward = a_problem(seed, floats=floats)
    measure = iirl.OccupancyMeasure(game)
    visits = measure.expected(np.eye(4)[0])
    cap = 0.7 * float(measure.maximise(np.eye(4)[0]).value)
    for side in ([], [iirl.budget(visits, cap, name="visits")]):
        found = certify(measure.maximise(reward, subject_to=side))
        assert found.check().reasons == ()
        assert found.matches(game, reward=reward)
        assert found.upper - found.lower <= 1e-6 * abs(reward).max() / 0.2
        assert found.excess <= 1e-6
    with pytest.raises(Infeasible) as caught:
        measure.maximise(reward, subject_to=[iirl.budget(visits - 6, -7.0, name="below")])
    assert certify(caught.value).check().reasons == ()


def test_equations_and_a_held_leader_are_part_of_the_proof():
    _, game, reward = a_problem(1)
    measure = iirl.OccupancyMeasure(game)
    half = (measure.expected(np.eye(4)[2]) == 0.5).set_label("visits")
    for side in ([half], measure.hold_leader(iirl.uniform_policy(4, 2))):
        assert isinstance(side[0], cp.Constraint)
        found = iirl.certify(measure.maximise(reward, subject_to=side))
        assert found.check().reasons == ()
        assert found.excess == 0
        assert found.lower == found.upper


def test_an_exact_optimum_is_the_value_by_hand():
    stay, go = [1, 0], [0, 1]
    game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2", start=[1, 0])
    best = iirl.certify(iirl.OccupancyMeasure(game).maximise([0.0, 1.0]))
    assert best.lower == best.upper == 1
    assert list(best.values) == [1, 2]
    assert best.claim == "no joint policy earns more than 1; the stated one earns at least 1"


@pytest.mark.parametrize("discount", [0.9, 1 - 1e-9])
def test_many_states_are_refined_beyond_rounding(discount):
    game, reward = iirl.random_game(60, 2, 2, rng=0, discount=discount)
    game = iirl.TwoAgentMDP(game.kernel, discount)
    reward[7] = -1e12
    rows = game.rational.rows.take(4 * np.arange(60))
    gamma = game.exact_discount
    values = sums(rows, gamma, as_fractions(reward))
    missed = values - gamma * rows.times(values) - as_fractions(reward)
    assert max(map(abs, missed)) <= Fraction(1, 2**110)
    start = as_fractions(game.start)
    mass = masses(rows, gamma, start)
    assert max(map(abs, mass - gamma * rows.transposed(mass) - start)) <= Fraction(1, 2**150)


def test_a_penalty_that_nobody_pays_widens_nothing():
    game, reward = iirl.random_game(50, 2, 2, rng=0)
    game = iirl.TwoAgentMDP(game.kernel, 0.999)
    reward = np.repeat(reward, 4).reshape(50, 2, 2)
    reward[3, 1, 1] = -1e12
    proof = optimality(game, reward, best_policy(game, reward))
    assert proof.check()
    assert 0 <= proof.upper - proof.lower <= Fraction(1, 10**6)


def test_a_witness_may_be_a_joint_reward():
    rng, game, _ = a_problem(2)
    reward = rng.integers(-5, 6, (4, 2, 2)).astype(float)
    seen = [observed(game, reward, rng) for _ in range(2)]
    found = witness(game, reward, seen, -np.sign(reward))
    assert found.check()
    assert found.loss == 0
    assert found.margin == np.abs(reward).sum()
    assert witness(game, reward, [], -np.sign(reward)).check()


@share(0.6)
@given(seed=SEEDS, episodes=st.integers(1, 3))
def test_witnesses_from_a_solver_are_repaired(seed, episodes):
    rng, game, reward = a_problem(seed)
    seen = [observed(game, reward, rng) for _ in range(episodes)]
    feasible = iirl.FeasibleRewards(game)
    for one in seen:
        feasible = feasible.add(one)
    for h in class_halfspaces(reward):
        found = feasible.maximise(-as_reals(h), domain=iirl.RewardBox())
        if found.solved.value > 1e-3:
            proof = witness(game, found.reward, seen, h)
            assert proof.check().reasons == ()
            assert proof.loss == 0
            return
    assert feasible.dimension() <= 2  # the class alone explains the responses


@share(0.6)
@given(seed=SEEDS, joint=st.booleans())
def test_half_spaces_that_are_combinations_of_the_conditions_are_proved(seed, joint):
    rng = np.random.default_rng(seed)
    game = a_game(rng, "4/5", floats=False, n=4, n_b=3)
    shape = game.shape if joint else (4,)
    reward = rng.integers(-3, 4, shape).astype(float)
    seen = [observed(game, reward, rng) for _ in range(2)]
    feasible = iirl.FeasibleRewards(game)
    for one in seen:
        feasible = feasible.add(one)
    columns = np.eye(int(np.prod(shape)))
    gaps = np.array([feasible.gaps(e.reshape(shape)) for e in columns])
    y = rng.integers(0, 3, (2, 4, 3)).astype(float)
    h = np.tensordot(gaps, y, axes=3)
    found = inclusion(game, seen, [h], [y * (1 + 1e-9 * rng.normal(size=y.shape))])
    assert found.check().reasons == ()
    assert found.slack <= Fraction(1, 10**12)


@given(seed=SEEDS)
def test_noisy_multipliers_of_an_ideal_environment_are_repaired(seed):
    rng = np.random.default_rng(seed)
    game, reward, seen = environment("ideal", rng, 1.0, "9/10", False)
    noisy = np.zeros((4, 1, 4, 2))
    noisy[range(4), 0, range(4), 1] = 1 + 1e-8 * rng.normal(size=4)
    for multipliers in (None, noisy):
        found = class_inclusion(game, reward, [seen], multipliers=multipliers)
        assert found.check().reasons == ()
        assert found.tan == 0


def test_a_class_that_floats_only_nearly_show_is_an_angle():
    rng = np.random.default_rng(0)
    game, reward, seen = environment("ideal", rng, 1.0, 0.9, True)
    found = class_inclusion(game, reward, [seen])
    assert found.check().reasons == ()
    assert 0 < found.tan < Fraction(1, 10**12)
    assert "has a tangent of at most" in found.claim


@given(seed=SEEDS)
def test_a_constant_hypothesis_is_a_class_too(seed):
    env = iirl.ideal_environment([2, 2, 2], 0.9)
    seen = iirl.observe(env.game, np.ones((3, 1)), [[1, 0]] * 3)
    found = class_inclusion(env.game, [2.0, 2.0, 2.0], [seen])
    assert found.check().reasons == ()
    assert found.claim.endswith("is constant")


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 10**9)])
def test_the_angle_of_three_states_is_its_closed_form(epsilon):
    reward = as_fractions([0, 1, 5])
    phi, _, w = class_halfspaces(reward)
    rows = [phi + epsilon * w, -phi + epsilon * w]
    third = Fraction(1, 3)
    kernel = np.full((3, 1, 2, 3), third, dtype=object)
    for s, row in enumerate(rows):
        kernel[s, 0, 1] = third - min(third / max(row), (1 - third) / max(-row)) * row
    game = iirl.TwoAgentMDP(kernel, "9/10")
    found = angle_bound(game, reward)
    assert found.tan_squared == epsilon**2 * (w @ w) / (phi @ phi)
    assert found.check().reasons == ()
    with pytest.raises(InvalidArgument, match="no ray is farther"):
        angle_bound(game, reward, bound=found.tan_squared * Fraction(999, 1000))
    with pytest.raises(InvalidArgument, match="on the side of the hypothesis"):
        angle_bound(game, -reward)


@pytest.mark.parametrize("n", [1, 2])
def test_angles_of_one_and_two_states_are_zero(n):
    env = iirl.strict_environment(range(n), 0.9, 0.1, rational=True)
    found = angle_bound(env.game, range(n))
    assert found.tan_squared == 0
    assert found.check().reasons == ()


def test_rays_of_many_states_are_refined():
    reward = np.arange(45) % 7
    env = iirl.strict_environment(reward, 0.9, 1e-3)
    found = angle_bound(env.game, reward)
    assert found.check().reasons == ()
    assert float(found.tan_squared) == pytest.approx((43e-3) ** 2, rel=1e-6)


def test_what_the_numbers_do_not_say_is_refused():
    rng = np.random.default_rng(0)
    game, reward, seen = environment("ideal", rng, 1.0, "9/10", False)
    with pytest.raises(InvalidArgument, match="halfspaces are not proved"):
        inclusion(game, [seen], [4 * (reward.mean() - reward)])
    with pytest.raises(InvalidArgument, match="halfspaces sum to"):
        inclusion(game, [seen], [[1.0, 0, 0, 0]])
    with pytest.raises(InvalidArgument, match="halfspaces have width 3"):
        inclusion(game, [seen], [[1, 0, -1]])
    with pytest.raises(InvalidArgument, match="multipliers are 1 of"):
        class_inclusion(game, reward, [seen], multipliers=[np.zeros((1, 4, 2))])
    with pytest.raises(InvalidArgument, match="is not all that explains"):
        class_inclusion(game, reward, [])
    with pytest.raises(InvalidArgument, match="explains the response"):
        violation(game, reward, seen, 0, 1)
    with pytest.raises(InvalidArgument, match="state is -1"):
        violation(game, reward, seen, -1, 1)
    with pytest.raises(InvalidArgument, match="is no witness"):
        witness(game, -reward, [seen], reward)
    with pytest.raises(InvalidArgument, match="halfspace has shape"):
        witness(game, reward, [seen], [1.0])
    first, second = np.eye(2)[[0] * 4], np.eye(2)[[1] * 4]
    leader = np.ones((4, 1))
    with pytest.raises(InvalidPolicy, match="no improvement"):
        policy_improvement(game, reward, (leader, first), (leader, second))


def test_certify_says_what_it_can_certify():
    for answer in (3, None, "proof", iirl.Verdict.CONFIRMED):
        with pytest.raises(NotCertified, match="VerificationReport"):
            certify(answer)
    env = iirl.ideal_environment([0, 1, 2], 0.9)
    report = iirl.verify_affine([0, 1, 2], env, [[1, 0]] * 3)
    assert certify(certify(report)).check()


@given(seed=SEEDS, restricted=st.booleans())
def test_commitments_to_an_optimal_follower_are_optima(seed, restricted):
    _, game, reward = a_problem(seed, floats=bool(seed % 2))
    allowed = np.ones((4, 2), dtype=bool)
    if restricted:
        allowed[:2, seed % 2] = False
    problem = iirl.CommitmentProblem(game, reward, allowed=allowed)
    found = iirl.commitment.JointOptimum().plan(problem)
    proof = certify(found)
    assert proof.check().reasons == ()
    assert proof.matches(game, reward=reward, policy=(found.policy, found.response))
    assert proof.excess == 0
    assert proof.upper == proof.lower
    assert float(proof.upper) == pytest.approx(found.value, rel=1e-9, abs=1e-9)


def test_commitments_that_are_no_optima_of_the_game_are_not_certified_as_such():
    _, game, reward = a_problem(0)
    plan = iirl.commit(game, reward)
    worse = plan.policy[:, ::-1]
    reply = plan.problem.reply(worse)
    wrong = replace(plan, policy=worse, response=reply.response)
    proof = certify(wrong)
    assert proof.check()
    assert proof.lower < proof.upper
    with pytest.raises(NotCertified, match="constraints that it does not hold"):
        certify(replace(plan, bound=plan.value - 1))
    mixed = replace(plan, policy=np.full((4, 2), 0.5), problem=replaced(plan.problem, -reward))
    with pytest.raises(NotCertified, match="a stochastic commitment"):
        certify(mixed)


def replaced(problem, theirs):
    """Return a problem with another reward of the follower."""
    return CommitmentProblem(problem.game, problem.reward, follower_reward=theirs)


# The paper's size


def test_certificates_on_maze_maker_check_within_seconds():
    game, truth = iirl.maze_maker()
    found = iirl.game.modified_policy_iteration(game, truth)
    leader, follower = np.divmod(found.actions, game.n_follower_actions)
    pi1 = np.eye(game.n_leader_actions)[leader]
    pi2 = np.eye(game.n_follower_actions)[follower]
    proof = optimality(game, truth, (pi1, pi2))
    assert proof.upper - proof.lower <= Fraction(1, 10**9)
    seen = iirl.observe(
        game,
        pi1,
        np.eye(game.n_follower_actions)[exact_optimum(game, truth, pi1).optimal.argmax(axis=1)],
    )
    first = iirl.FeasibleRewards(game).add(seen).violations(-truth)[0]
    state, action = game.states.index(first.state), game.follower_actions.index(first.action)
    against = violation(game, -truth, seen, state, action)
    beyond = witness(game, truth, [seen], [*class_halfspaces(-truth)][-1])
    assert beyond.loss <= Fraction(1, 2**100)
    for certificate in (proof, against, beyond):
        again = Certificate.from_json(certificate.to_json())
        assert again.check().reasons == ()


def test_a_class_inclusion_of_many_states_is_exact():
    n = 90
    reward = np.random.default_rng(0).integers(0, 50, n)
    env = iirl.ideal_environment(reward, "9/10")
    seen = iirl.observe(env.game, np.ones((n, 1)), np.eye(2)[[0] * n])
    multipliers = (np.eye(1, n * 2, 2 * s + 1).reshape(1, n, 2) for s in range(n))
    found = class_inclusion(env.game, reward, [seen], multipliers=multipliers)
    assert found.on_gaps.data.size == n
    assert found.tan == 0
    assert found.check().reasons == ()
    assert Certificate.from_json(sealed(json.loads(found.to_json()))).check()


def test_the_message_names_whatever_has_a_maker():
    with pytest.raises(NotCertified, match=", ".join(CERTIFIED)):
        certify(3)
    named = {said.split()[0] for said in CERTIFIED}
    never = {"object", "Conflict", "RewardSolution"}  # which say what to do instead
    assert {kind.__name__ for kind in certify.registry} == named | never
