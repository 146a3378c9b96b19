"""Quantities of a joint play: several at once, parameters, budgets, rows by state and choice."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from instances import games, policies

import iirl_opt as iirl
from iirl_opt.commitment import (
    AdmissibleCommitment,
    DeterministicCommitment,
    MixedCommitment,
    StackelbergCommitment,
)
from iirl_opt.errors import Infeasible, InvalidArgument, InvalidReward
from iirl_opt.occupancy import ChoiceRow, OccupancyMeasure, StateRow, budget
from iirl_opt.solver import LiveProgram, solve

GAME, REWARD = iirl.random_game(4, 2, 3, rng=5)
RNG = np.random.default_rng(0)
HAZARD, NOISE = RNG.random((4, 2, 3)), RNG.random(4)
HALF = {"*": ([[1.0, 0.0]], [0.5])}


def models():
    """One of every model that expects quantities, and variables of a play in it."""
    asked = iirl.CommitmentProblem(GAME, REWARD, iirl.EpsilonGreedyFollower(0.25))
    one = iirl.TwoAgentMDP(np.ones((1, 2, 3, 1), dtype=int), "1/2")
    mixed = iirl.CommitmentProblem(one, RNG.random((1, 2, 3)), iirl.EpsilonGreedyFollower(0.25))
    yield OccupancyMeasure(GAME)
    yield StackelbergCommitment(GAME, REWARD)
    yield AdmissibleCommitment(GAME, REWARD, HALF)
    yield DeterministicCommitment(asked)
    yield MixedCommitment(mixed)


def measure_of(game, start, policy):
    """The discounted frequencies (S·A·B,) of a joint policy, by one linear system."""
    chain = np.einsum("sab,sabt->st", policy, game.kernel)
    states = np.linalg.solve(np.eye(game.n_states) - game.discount * chain.T, start)
    return (states[:, None, None] * policy).ravel()


# Several at once.


@pytest.mark.parametrize("model", list(models()), ids=lambda model: type(model).__name__)
def test_several_quantities_are_what_each_is_alone(model):
    game = model._measured[0]
    joint, state = RNG.random(game.shape), RNG.random(game.n_states)
    for variable in model.expected(joint).variables():
        variable.value = RNG.random(variable.size)
    one, two = model.expected(joint).value, model.expected(state).value
    whole = np.broadcast_to(state[:, None, None], game.shape)
    assert model.expected(whole).value == pytest.approx(two)
    assert model.expected([joint, state]).value == pytest.approx([one, two])
    assert model.expected(np.stack([joint, whole])).value == pytest.approx([one, two])
    assert model.expected([list(state), list(state)]).value == pytest.approx([two, two])
    named = model.expected({"j": joint, "s": state})
    assert {key: float(e.value) for key, e in named.items()} == pytest.approx({"j": one, "s": two})
    assert model.expected({}) == {}
    flat = cp.Parameter((game.n_states, game.n_choices), value=joint.reshape(game.n_states, -1))
    assert model.expected(flat).value == pytest.approx(one)
    assert model.expected([flat, state]).value == pytest.approx([one, two])


def test_a_solution_says_in_numbers_what_its_measure_makes_expected():
    measure = OccupancyMeasure(GAME)
    best = measure.maximise(REWARD)
    assert best.expected(REWARD) == pytest.approx(best.value)
    quantities = {"hazard": HAZARD, "noise": NOISE}
    named = best.expected(quantities)
    expressions = measure.expected(quantities)
    assert named == pytest.approx({key: float(e.value) for key, e in expressions.items()})
    assert best.expected([HAZARD, NOISE]) == pytest.approx(list(named.values()))
    assert best.expected(cp.Parameter(4, value=NOISE)) == pytest.approx(named["noise"])
    assert type(best.expected(NOISE)) is float


# Budgets.


def test_budgets_of_several_quantities_have_prices_by_name():
    measure = OccupancyMeasure(GAME)
    alone = [budget(measure.expected(HAZARD), 3.0, name="h"), measure.expected(NOISE) <= 9.0]
    price = measure.maximise(REWARD, subject_to=alone).price["h"]
    assert price > 0
    vector = budget(measure.expected([HAZARD, NOISE]), [3.0, 9.0], name="caps")
    named = measure.expected({"h": HAZARD, "n": NOISE})
    for rows, names in (
        (vector, ["caps[0]", "caps[1]"]),
        (budget(named, {"h": 3.0, "n": 9.0}), ["h", "n"]),
        (budget(named, {"n": 9.0, "h": 3.0}, name="caps"), ["caps[h]", "caps[n]"]),
    ):
        assert [row.label for row in rows] == names
        for side in (rows, [rows]):
            best = measure.maximise(REWARD, subject_to=side)
            assert dict(best.price) == pytest.approx({names[0]: price, names[1]: 0.0}, abs=1e-8)
        assert iirl.certify(best).check()
    assert [row.label for row in budget(measure.expected([NOISE]), 1, name="n")] == ["n[0]"]
    both = budget(measure.expected({"v": [NOISE, HAZARD], "s": NOISE}), {"v": [1.0, 2.0], "s": 3.0})
    assert [row.label for row in both] == ["v[0]", "v[1]", "s"]
    clash = [budget(measure.expected(HAZARD), 3.0, name="occupancy")]
    assert measure.maximise(REWARD, subject_to=clash).price["occupancy"] == pytest.approx(price)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((lambda m: m.expected(NOISE), [1.0, 2.0]), "limit is"),
        ((lambda m: m.expected(NOISE), np.ones(2)), "limit is"),
        ((lambda m: m.expected([NOISE, NOISE]), [1.0, 2.0, 3.0]), r"limit has shape \(3,\)"),
        ((lambda m: m.expected([NOISE, NOISE]), [1.0, np.nan]), r"limit\[1\] is nan"),
        ((lambda m: m.expected({"a": NOISE}), {"b": 1.0}), "limit is for 'b'; allowed 'a'"),
        ((lambda m: {"a": NOISE}, {"a": 1.0}), r"expected\['a'\]"),
        ((lambda m: m.expected(NOISE), cp.Variable(name="x")), "limit holds the variable x"),
        ((lambda m: m.expected(NOISE), cp.Parameter(2)), r"limit has shape \(2,\)"),
        ((lambda m: m.variable[None], 1.0), r"expected has shape"),
        ((lambda m: 3.0, 1.0), "expected is 3.0"),
    ],
)
def test_budgets_that_are_none_are_refused_by_name(arguments, said):
    expected, limit = arguments
    with pytest.raises(InvalidArgument, match=said):
        budget(expected(OccupancyMeasure(GAME)), limit, name="x")


# Parameters.


def test_a_program_in_parameters_is_compiled_once_and_right_for_every_value():
    measure = OccupancyMeasure(GAME)
    reward, hazard = cp.Parameter(4, name="reward"), cp.Parameter((4, 6), name="hazard")
    limit = cp.Parameter(name="limit")
    cap = budget(measure.expected(hazard), limit, name="cap")
    problem = measure.problem(reward, subject_to=[cap])
    assert problem.is_dcp(dpp=True)
    with pytest.raises(InvalidArgument, match="reward has no value"):
        solve(problem)
    hazard.value, limit.value = HAZARD.reshape(4, 6), 3.0
    for seed in range(3):
        reward.value = np.random.default_rng(seed).random(4)
        plain = budget(measure.expected(HAZARD), 3.0, name="cap")
        best = measure.maximise(reward.value, subject_to=[plain])
        solved = solve(problem)
        assert solved.value == pytest.approx(best.value)
        assert float(solved.duals["cap"]) == pytest.approx(best.price["cap"], abs=1e-7)
        # Rows in parameters may stand beside numbers, too.
        assert measure.maximise(reward.value, subject_to=[cap]).value == pytest.approx(best.value)


def test_a_live_program_follows_twenty_rewards_from_where_it_stood():
    """Composed once; each answer is that of a program of its own, in fewer steps in all."""
    game, _ = iirl.random_game(12, 2, 2, rng=1)
    measure = OccupancyMeasure(game)
    reward = cp.Parameter(12, name="reward", value=np.zeros(12))
    cap = budget(measure.expected(RNG.random(12)), 6.0, name="cap")
    live = LiveProgram.of(measure.problem(reward, subject_to=[cap]))
    base, warm, cold = RNG.random(12), 0, 0
    for _ in range(20):
        reward.value = base + 0.01 * RNG.random(12)
        solved = live.solve()
        alone = solve(cp.Problem(cp.Maximize(measure.expected(reward.value)), [measure.flow, cap]))
        assert solved.value == pytest.approx(alone.value)
        assert measure.by_row(solved)[0,] == pytest.approx(solved.duals["flow"][0])
        warm, cold = warm + solved.iterations, cold + alone.iterations
    assert warm < cold / 2


def test_a_commitment_may_have_a_reward_in_parameters():
    weights = cp.Parameter(2, name="weights")
    model = StackelbergCommitment(GAME, NOISE * weights[0] + REWARD * weights[1])
    assert model.problem().is_dcp(dpp=True)
    with pytest.raises(InvalidArgument, match="reward: parameter weights has no value"):
        model.solve()
    for w in ([1.0, 0.0], [0.25, 2.0]):
        weights.value = w
        number = StackelbergCommitment(GAME, NOISE * w[0] + REWARD * w[1]).solve()
        assert model.solve().value == pytest.approx(number.value)
        assert solve(model.problem()).value == pytest.approx(number.value)


@pytest.mark.parametrize(
    ("quantity", "error", "said"),
    [
        (cp.Variable(4, name="x"), InvalidArgument, "quantity holds the variable x"),
        (cp.Parameter(4) * cp.Variable(name="x"), InvalidArgument, "the variable x"),
        (cp.Parameter(3), InvalidReward, r"quantity has shape \(3,\); allowed \(4,\) or \(4, 6\)"),
        ([NOISE, cp.Parameter(3)], InvalidReward, r"quantity\[1\] has shape"),
        ({"n": [1.0]}, InvalidReward, r"quantity\['n'\] has shape \(1,\)"),
        ([[1.0, 2.0]], InvalidReward, r"quantity\[0\] has shape \(2,\)"),
        ([[np.nan] * 4], InvalidReward, r"quantity\[0\]\[s=0\] is nan"),
        (cp.Parameter(4, complex=True), InvalidReward, "quantity is .*; allowed real numbers"),
        ([], InvalidReward, r"quantity has shape \(0,\)"),
        ("abcd", InvalidReward, "quantity is no array"),
        (None, InvalidReward, "quantity is no array"),
        ([[1.0], 2.0], InvalidReward, "quantity"),
    ],
)
def test_what_is_no_quantity_is_refused_by_name(quantity, error, said):
    for expected in (
        OccupancyMeasure(GAME).expected,
        OccupancyMeasure(GAME).maximise(REWARD).expected,
    ):
        with pytest.raises(error, match=said):
            expected(quantity)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (True, "subject_to is True"),
        ([True], r"subject_to\[0\] is True; allowed a Constraint: compare an expression"),
        ([[False]], r"subject_to\[0\]\[0\] is False"),
        ([cp.Variable(name="x")], r"subject_to\[0\] is .*: compare the expression with <="),
        ([cp.Variable(name="x") >= 0], r"subject_to\[0\] holds the variable x"),
        (
            [(OccupancyMeasure(GAME).expected(NOISE) <= 1).set_label("n")],
            r"\(n\) .*another measure",
        ),
        (lambda m: [cp.norm1(m.variable) <= 3], r"subject_to\[0\] is not linear"),
        (
            lambda m: [m.expected(NOISE) <= cp.Parameter(name="cap")],
            "parameter cap has no value",
        ),
    ],
)
def test_rows_that_are_none_of_a_measure_are_refused_by_name(rows, said):
    measure = OccupancyMeasure(GAME)
    with pytest.raises(InvalidArgument, match=said):
        measure.maximise(REWARD, subject_to=rows(measure) if callable(rows) else rows)


def test_a_method_that_solves_takes_numbers():
    with pytest.raises(InvalidReward, match="reward is Parameter"):
        OccupancyMeasure(GAME).maximise(cp.Parameter(4, name="p"))


# Rows by state and choice.


def numbers_of(game, rows):
    """The multipliers of the flow (S,) and of the choices (S·A·B,)."""
    flow = np.array([rows[s,] for s in game.states])
    choices = [
        (s, a, b) for s in game.states for a in game.leader_actions for b in game.follower_actions
    ]
    return flow, np.array([rows.get(key, 0.0) for key in choices])


@settings(max_examples=20)
@given(game=games(), data=st.data())
def test_multipliers_by_row_say_what_any_policy_earns_less(game, data):
    """Of every measure: the reward is what its start is worth and its budget buys, less bounds."""
    reward, hazard = (RNG.random(game.shape) for _ in range(2))
    measure = OccupancyMeasure(game)
    limit = 0.75 * measure.maximise(reward).expected(hazard)
    try:
        cap = budget(measure.expected(hazard), limit, name="cap")
        best = measure.maximise(reward, subject_to=[cap])
    except Infeasible as error:
        flow, bounds = numbers_of(game, measure.by_row(error))
        price, reward = float(error.solved.farkas["cap"]), np.zeros(game.shape)
        assert game.start @ flow + limit * price < 0
    else:
        flow, bounds = numbers_of(game, measure.by_row(best))
        price = best.price["cap"]
    assert bounds.min() >= -1e-7
    policy = data.draw(policies(game.n_states, game.n_choices)).astype(float).reshape(game.shape)
    mu = measure_of(game, game.start, policy)
    earned = game.start @ flow + price * (hazard.ravel() @ mu) - bounds @ mu
    assert reward.ravel() @ mu == pytest.approx(earned, abs=1e-6)


def test_rows_are_asked_for_by_label_and_know_their_parts():
    game = iirl.TwoAgentMDP(
        [[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]],
        0.5,
        start=[1, 0],
        states=["hall", "goal"],
        leader_actions=["-"],
        follower_actions=["stay", "go"],
    )
    measure = OccupancyMeasure(game)
    rows = measure.by_row(measure.maximise([0.0, 1.0]))
    assert rows["goal",] == pytest.approx(2.0)
    assert rows["hall", "-", "stay"] == pytest.approx(0.5)
    kinds = {type(row) for row in rows}
    assert kinds == {StateRow, ChoiceRow}
    assert next(iter(rows)).state == "goal"
    assert measure.by_row({"flow": [1.0, 3.0]}) == {("goal",): 3.0, ("hall",): 1.0}
    with pytest.raises(InvalidArgument, match="holds nothing"):
        measure.by_row({})
    with pytest.raises(InvalidArgument, match="has 1 rows; allowed the 2"):
        measure.by_row({"flow": [1.0]})
    with pytest.raises(InvalidArgument, match="has a measure of shape"):
        measure.by_row(OccupancyMeasure(GAME).maximise(REWARD))
    with pytest.raises(InvalidArgument, match="was found without a solver"):
        measure.by_row(iirl.commit(GAME, REWARD))


def test_rows_of_commitments_bound_what_admissible_policies_earn():
    allowed = np.array([[True, True]] * 3 + [[True, False]])
    free = StackelbergCommitment(GAME, REWARD, allowed=allowed)
    flow, forbidden = numbers_of(GAME, free.by_row(solve(free.problem())))
    assert forbidden.reshape(GAME.shape)[allowed].max(initial=0) == 0 <= forbidden.min()
    bound = AdmissibleCommitment(GAME, REWARD, {"*": ([[0.0, 1.0]], [0.5])}, allowed=allowed)
    rows = bound.by_row(solve(bound.problem()))
    y, closed = numbers_of(GAME, rows)
    rng = np.random.default_rng(1)
    for _ in range(20):
        policy = rng.dirichlet(np.ones(6), 4).reshape(GAME.shape)
        mu = measure_of(GAME, GAME.start, policy)
        assert np.repeat(REWARD, 6) @ mu <= GAME.start @ flow + forbidden @ mu + 1e-7
        mu = measure_of(GAME, bound.weights, policy)
        over = mu.reshape(GAME.shape)[:, 1] - 0.5 * mu.reshape(GAME.shape).sum(axis=1)
        paid = sum(rows["admissible", s, 0, b] * over[s, b] for s in range(4) for b in range(3))
        assert np.repeat(REWARD, 6) @ mu <= bound.weights @ y + paid + closed @ mu + 1e-7
    with pytest.raises(InvalidArgument, match="holds nothing"):
        bound.by_row({})
