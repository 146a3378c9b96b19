"""Live programs: whatever changed and in whichever order, the answer is that of a fresh program."""

import sys

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from commands import child
from hypothesis import given, strategies as st

from iirl_opt.commitment.stackelberg import StackelbergCommitment
from iirl_opt.errors import Infeasible, InvalidArgument, LimitReached, Unbounded
from iirl_opt.game.generate import random_game
from iirl_opt.solver import Clarabel, HiGHS, LiveProgram, Status, solve

INF = np.inf
seeds = st.integers(0, 2**32 - 1)


def assert_optimal(live, solved, objective, matrix, rows, columns, maximise=False):
    """Assert the optimality conditions of a point and multipliers by arithmetic of our own."""
    x, y = solved.primal["x"], solved.duals["rows"]
    (low, high), (lower, upper) = rows, columns
    activity = matrix @ x
    near = 1e-7 * (1 + np.abs(x).max()) * (1 + np.abs(y).max(initial=0))
    assert live.shape == matrix.shape
    assert np.all(activity >= low - near)
    assert np.all(activity <= high + near)
    assert np.all(x >= lower - near)
    assert np.all(x <= upper + near)
    assert np.all(y[activity < high - near] <= near)
    assert np.all(y[activity > low + near] >= -near)
    # Where a variable may still grow (shrink), the Lagrangian does not fall that way.
    slope = (-1 if maximise else 1) * np.asarray(objective) + matrix.T @ y
    assert np.all(slope[x < upper - near] >= -near)
    assert np.all(slope[x > lower + near] <= near)
    assert solved.value == pytest.approx(objective @ x, abs=near)


def drawn(rng, m, n):
    """A feasible and bounded program: rows around the activity of a point of the box."""
    matrix = rng.integers(-3, 4, (m, n)).astype(float)
    inside = matrix @ rng.uniform(-1, 1, n)
    low = np.where(rng.random(m) < 0.4, -INF, inside - rng.uniform(0, 1, m))
    high = np.where(rng.random(m) < 0.3, INF, inside + rng.uniform(0, 1, m))
    return matrix, low, high


def test_a_program_in_closed_form_and_its_price():
    live = LiveProgram([1.0, 2.0], [[1.0, 1.0]], [-INF], [3.0], lower=0.0, maximise=True)
    solved = live.solve()
    assert solved.value == pytest.approx(6)
    assert solved.primal["x"] == pytest.approx([0, 3])
    assert solved.duals["rows"] == pytest.approx([2])
    live.change_objective([5.0, 2.0])
    assert live.solve().value == pytest.approx(15)
    live.change_rows([-INF], [4.0])
    assert live.solve().value == pytest.approx(20)
    live.add_rows([[1.0, 0.0]], [-INF], [1.0])
    solved = live.solve()
    assert solved.primal["x"] == pytest.approx([1, 3])
    assert solved.duals["rows"] == pytest.approx([2, 3])
    live.add_columns([10.0], [[1.0], [0.0]], upper=2.0)
    assert live.solve().value == pytest.approx(27)
    live.remove_columns([0])
    solved = live.solve()
    assert solved.primal["x"] == pytest.approx([2, 2])
    assert repr(live) == "LiveProgram(2 rows, 2 columns)"


@given(seed=seeds, steps=st.lists(st.sampled_from("crakd"), min_size=1, max_size=6))
def test_after_any_changes_the_answer_is_optimal_for_the_program_as_it_stands(seed, steps):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 6)), int(rng.integers(0, 6))
    matrix, low, high = drawn(rng, m, n)
    c, lower, upper = rng.normal(size=n), np.full(n, -1.0), np.full(n, 1.0)
    live = LiveProgram(c, matrix, low, high, lower=lower, upper=upper)
    live.solve()
    for step in steps:
        m, n = matrix.shape
        if step == "c":
            c = rng.normal(size=n)
            live.change_objective(c)
        elif step == "r":
            centre = matrix @ rng.uniform(-1, 1, n)
            low, high = centre - 0.5, centre + 0.5
            live.change_rows(low, high)
        elif step == "a":
            # The present point keeps these rows; what was far from it may become infeasible.
            new = rng.integers(-3, 4, (2, n)).astype(float)
            at = live.solve(throw=False).primal.get("x", np.zeros(n))
            below, above = new @ at - 0.1, np.full(2, INF)
            matrix = np.vstack([matrix, new])
            low, high = np.append(low, below), np.append(high, above)
            live.add_rows(new, below, above)
        elif step == "k":
            new = rng.integers(-3, 4, (m, 1)).astype(float)
            c, matrix = np.append(c, -1.0), np.hstack([matrix, new])
            lower, upper = np.append(lower, 0.0), np.append(upper, 0.5)
            live.add_columns([-1.0], new, 0.0, 0.5)
        elif n > 1:
            matrix, c, lower, upper = matrix[:, 1:], c[1:], lower[1:], upper[1:]
            live.remove_columns([0])
    solved = live.solve(throw=False)
    fresh = LiveProgram(c, matrix, low, high, lower=lower, upper=upper).solve(throw=False)
    assert solved.status is fresh.status
    if solved.status is Status.OPTIMAL:
        assert solved.value == pytest.approx(fresh.value, abs=1e-8)
        assert_optimal(live, solved, c, matrix, (low, high), (lower, upper))
        assert solved.residuals.largest() < 1e-8


@given(seed=seeds)
def test_from_the_basis_of_an_optimum_nothing_is_left_to_do_and_from_any_other_it_is_found(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    matrix, low, high = drawn(rng, m, n)
    c, lower, upper = rng.normal(size=n), np.full(n, -1.0), np.full(n, 1.0)
    arguments = {"lower": lower, "upper": upper}
    fresh = LiveProgram(c, matrix, low, high, **arguments).solve()
    picked = np.zeros(m + n, dtype=bool)
    picked[rng.permutation(m + n)[:m]] = True
    live = LiveProgram(c, matrix, low, high, **arguments)
    live.start_from({"x": picked[:n], "rows": picked[n:]})
    solved = live.solve()
    assert solved.value == pytest.approx(fresh.value, abs=1e-8)
    assert_optimal(live, solved, c, matrix, (low, high), (lower, upper))
    # Every column at its lower bound, where the costs want it: the basis of the rows is optimal.
    least = LiveProgram(np.abs(c), matrix, -INF, INF, **arguments)
    least.start_from({})
    assert least.solve().iterations == 0


@pytest.mark.parametrize(
    "basic",
    [
        {"y": True},
        {"x": True},
        {"x": [True, False, True], "rows": [True]},
        {"x": [1, 0], "rows": False},
        {"rows": False},
        {"x": [[True], [False, True]], "rows": False},
        {"x": np.ma.array([True, False], mask=[True, False]), "rows": False},
    ],
)
def test_a_basis_that_the_program_cannot_have_is_refused(basic):
    live = LiveProgram([1.0, 2.0], [[1.0, 1.0]], [1.0], [1.0], lower=0.0)
    with pytest.raises(InvalidArgument, match="basis"):
        live.start_from(basic)
    x = cp.Variable(2, name="x", nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.norm1(x)), [(x[0] + x[1] == 1).set_label("rows")])
    plain = cp.Problem(cp.Minimize(cp.sum(x)), [(np.ones(2) @ x == 1).set_label("rows")])
    with pytest.raises(InvalidArgument, match="basis"):
        solve(plain, basis=basic)
    with pytest.raises(InvalidArgument, match="initial is given beside a basis"):
        solve(plain, initial={x: [1.0, 0.0]}, basis=basic)
    # A program that cvxpy compiles begins anywhere.
    assert solve(problem, basis=basic).value == pytest.approx(1)


def test_one_name_of_a_variable_and_a_constraint_is_told():
    x = cp.Variable(1, name="c")
    twins = cp.Problem(cp.Minimize(cp.sum(x)), [(x >= 1).set_label("c")])
    with pytest.raises(InvalidArgument, match="'c', a variable and a constraint"):
        LiveProgram.of(twins).start_from({"c": True})
    with pytest.raises(InvalidArgument, match="'c', a variable and a constraint"):
        solve(twins, basis={"c": True})


@pytest.mark.parametrize("kind", [np.asarray, sp.csc_array, sp.csr_array, sp.coo_array])
def test_what_becomes_of_a_given_matrix_is_nothing_to_the_program(kind):
    matrix = kind(np.array([[1.0, 1.0]]))
    live = LiveProgram([1.0, 2.0], matrix, [1.0], [1.0], lower=0.0)
    (matrix if kind is np.asarray else matrix.data)[:] = 4.0
    assert live.solve().value == pytest.approx(1.0)


def test_entries_that_come_twice_are_summed():
    twice = sp.csc_array((np.ones(3), [0, 0, 0], [0, 2, 3]), shape=(1, 2))
    live = LiveProgram([1.0, 2.0], twice, [1.0], [1.0], lower=0.0)
    assert live.solve().value == pytest.approx(0.5)
    live.add_rows(twice, [2.0], [2.0])
    assert live.solve(throw=False).status is Status.INFEASIBLE
    live.change_rows([1.0, -INF], [1.0, INF])
    live.add_columns([0.1], sp.csc_array((np.ones(2), [0, 0], [0, 2]), shape=(2, 1)))
    assert live.solve().value == pytest.approx(0.05)
    assert twice.nnz == 3


@pytest.mark.parametrize("which", [[7], [0, 2], [2**40]])
def test_columns_that_are_not_there_cannot_be_removed(which):
    live = LiveProgram([1.0, 2.0], [[1.0, 1.0]], [1.0], [1.0], lower=0.0)
    with pytest.raises(InvalidArgument, match=r"which .*allowed 0 … 1"):
        live.remove_columns(which)
    assert live.solve().value == pytest.approx(1.0)


@given(seed=seeds)
def test_rounds_go_on_from_where_they_are_and_leave_what_solve_promises(seed):
    rng = np.random.default_rng(seed)
    matrix, low, high = drawn(rng, 5, 4)
    c = rng.normal(size=4)
    rounds = LiveProgram(c, matrix[:3], low[:3], high[:3], lower=-1.0, upper=1.0)
    first = rounds.advance()
    assert first is not None
    inside = matrix @ first.x
    low, high = np.minimum(low, inside), np.maximum(high, inside)
    rounds.add_rows(matrix[3:], low[3:], high[3:])
    second = rounds.advance()
    # Rows that hold already change nothing.
    assert second.iterations == 0
    assert c @ second.x == pytest.approx(c @ first.x)
    assert second.y.shape == (5,)
    solved = rounds.solve()
    assert solved.value == pytest.approx(c @ second.x, abs=1e-9)
    assert solved.residuals.largest() < 1e-8


def test_numbers_that_highs_drops_end_no_rounds_and_solve_counts_them():
    # In its second row HiGHS drops the last entry, so it lets x₀ be 0 there; it must be 1e-13.
    live = LiveProgram([1.0, 1.0], [[1.0, 1.0]], [1.0], [INF], lower=0.0, upper=1.0)
    assert live.advance().x.sum() == pytest.approx(1)
    live.add_rows([[1.0, -1e-13], [0.0, 1.0]], [0.0, 1.0], [INF, INF])
    after = live.advance()
    assert after.x == pytest.approx([0, 1])
    solved = live.solve()
    assert solved.primal["x"] == pytest.approx([1e-13, 1], rel=1e-9)


def test_a_round_without_a_point_is_none():
    empty = LiveProgram([1.0], [[1.0], [1.0]], [-INF, 2.0], [1.0, INF])
    assert empty.advance() is None
    assert LiveProgram([1.0], [[1.0]], [-INF], [1.0]).advance() is None
    slow = HiGHS(time_limit=0, presolve=False)
    matrix, low, high = drawn(np.random.default_rng(0), 40, 30)
    assert LiveProgram(np.ones(30), matrix, low, high, solver=slow).advance() is None


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_tiny_and_huge_objectives_are_not_lost(scale):
    live = LiveProgram([1.0, 1.0], [[1.0, 1.0]], [1.0], [1.0], lower=0.0)
    live.solve()
    live.change_objective([scale, 2 * scale])
    assert live.solve().primal["x"] == pytest.approx([1, 0])
    live.change_objective([2 * scale, scale])
    assert live.solve().value == pytest.approx(scale)


def test_an_infeasible_program_raises_with_a_ray_and_may_become_feasible_again():
    live = LiveProgram([1.0, 1.0], [[1.0, 1.0]], [-INF], [1.0], lower=0.0)
    live.solve()
    live.add_rows([[1.0, 1.0]], [2.0], [INF])
    with pytest.raises(Infeasible) as caught:
        live.solve()
    ray = caught.value.solved.farkas["rows"]
    # Their weighted sum asks of (x₀ + x₁)(y₀ + y₁) ≤ y₀ + 2 y₁ what no x ≥ 0 has.
    assert ray[0] > 0 > ray[1]
    assert ray[0] + ray[1] >= -1e-9
    assert ray[0] + 2 * ray[1] < 0
    assert caught.value.solved.value is None
    live.change_rows([-INF, 0.5], [1.0, INF])
    assert live.solve().value == pytest.approx(0.5)


def test_unbounded_and_infeasible_are_told_apart():
    live = LiveProgram([-1.0, 0.0], [[1.0, -1.0]], [0.0], [INF], lower=0.0)
    with pytest.raises(Unbounded):
        live.solve()
    live.add_rows([[0.0, 1.0]], [-INF], [-1.0])
    with pytest.raises(Infeasible):
        live.solve()


def test_a_time_limit_is_never_an_optimum_and_counts_for_each_solve_anew():
    game, reward = random_game(40, 3, 3, rng=0)
    problem = StackelbergCommitment(game, reward).problem()
    with pytest.raises(LimitReached):
        LiveProgram.of(problem, HiGHS(time_limit=0, presolve=False)).solve()
    patient = LiveProgram.of(problem, HiGHS(time_limit=60))
    for _ in range(3):
        assert patient.solve().status is Status.OPTIMAL


@pytest.mark.parametrize("seed", range(3))
def test_a_commitment_program_is_solved_again_for_other_rewards(seed):
    game, reward = random_game(12, 2, 3, rng=seed)
    problem = StackelbergCommitment(game, reward).problem()
    live = LiveProgram.of(problem)
    expected = solve(problem)
    solved = live.solve()
    assert solved.value == pytest.approx(expected.value)
    assert set(live.columns) == set(expected.primal)
    assert set(live.rows) == set(expected.duals) == set(solved.duals)
    for name, multipliers in expected.duals.items():
        assert solved.duals[name] == pytest.approx(multipliers, abs=1e-7)
    other = reward[::-1]
    live.change_objective(np.repeat(other, game.n_choices))
    again = solve(StackelbergCommitment(game, other).problem())
    assert live.solve().value == pytest.approx(again.value)


def test_a_value_program_is_solved_again_for_other_rewards():
    game, reward = random_game(12, 2, 3, rng=0)
    rows = np.repeat(np.eye(12), game.n_choices, axis=0) - game.discount * game.matrix
    live = LiveProgram(np.full(12, 1 / 12), rows, np.repeat(reward, game.n_choices), INF)
    live.solve()
    live.change_rows(np.repeat(reward[::-1], game.n_choices), INF)
    values = live.solve().primal["x"]
    q = reward[::-1] + game.discount * (game.matrix @ values).reshape(12, -1).max(axis=1)
    assert values == pytest.approx(q)


def test_only_simplex_methods_are_taken():
    for solver in (HiGHS("ipm"), HiGHS("pdlp"), Clarabel()):
        with pytest.raises(InvalidArgument, match="simplex method"):
            LiveProgram([1.0], [[1.0]], [0.0], [1.0], solver=solver)
    with pytest.raises(ValueError, match="nonsense"):
        LiveProgram([1.0], [[1.0]], [0.0], [1.0], solver=HiGHS(options={"nonsense": 1}))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda live: live.change_objective([1.0]), "objective has shape"),
        (lambda live: live.change_objective([1.0, np.nan]), r"objective\[1\] is nan"),
        (lambda live: live.change_rows([2.0], [1.0]), "cross"),
        (lambda live: live.change_rows([np.nan], [1.0]), r"row_lower\[0\] is nan"),
        (lambda live: live.change_rows([0.0, 0.0, 0.0], [1.0]), "have shapes"),
        (lambda live: live.add_rows([[1.0]], [0.0], [1.0]), "matrix has shape"),
        (lambda live: live.add_rows([[1.0, INF]], [0.0], [1.0]), r"matrix\[0, 1\] is inf"),
        (lambda live: live.add_columns([1.0, 1.0], [[1.0]]), "matrix has shape"),
    ],
)
def test_what_does_not_fit_is_named_and_changes_nothing(change, place):
    live = LiveProgram([1.0, 2.0], [[1.0, 1.0]], [1.0], [1.0], lower=0.0)
    with pytest.raises(InvalidArgument, match=place):
        change(live)
    assert live.solve().value == pytest.approx(1)


@pytest.mark.process
def test_nothing_is_printed():
    code = (
        "from iirl_opt.solver import LiveProgram\n"
        "live = LiveProgram([1.0], [[1.0]], [1.0], [2.0])\n"
        "live.solve(); live.change_objective([-1.0]); live.solve()"
    )
    done = child([sys.executable, "-c", code])
    assert done == (0, "", "")
