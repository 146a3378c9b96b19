"""Sister classes share their verbs: what the page "The cvxpy models" says of each holds."""

import inspect
import re
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import Infeasible, InvalidArgument, InvalidReward
from iirl_opt.solver import solve

PAGE = (Path(__file__).parents[1] / "docs" / "cvxpy_models.rst").read_text("utf-8")
SECTION = PAGE.partition("Which verb where")[2].partition("Feasible rewards\n---")[0]


def table():
    """The cells of the page by (verb, class)."""
    rows = [re.findall(r"- (.*)", row) for row in SECTION.partition("* a:")[0].split("\n   * ")[1:]]
    classes = [name.strip("`") for name in rows[0][1:]]
    return {
        (row[0].strip("`"), c): cell
        for row in rows[1:]
        for c, cell in zip(classes, row[1:], strict=True)
    }


CELLS = table()
CLASSES = {c: getattr(iirl, c, None) or getattr(iirl.commitment, c) for _, c in CELLS}
REASONS = dict(re.findall(r"^\* ([a-z]): (.*)$", SECTION, re.MULTILINE))


@pytest.mark.parametrize(("verb", "name"), list(CELLS))
def test_the_verb_is_there_or_the_page_says_why_not(verb, name):
    assert (CELLS[verb, name] == "yes") == hasattr(CLASSES[name], verb)
    assert CELLS[verb, name] == "yes" or CELLS[verb, name] in REASONS


def test_every_public_verb_that_two_sisters_have_is_in_the_table_and_every_reason_is_used():
    verbs = [
        {v for v, held in inspect.getmembers(c, callable) if not v.startswith("_")}
        for c in CLASSES.values()
    ]
    of_a_record = {verb for verb in dir(iirl.printing.Tabular) if not verb.startswith("_")}
    shared = {v for v in set().union(*verbs) if sum(v in own for own in verbs) > 1} - of_a_record
    assert shared <= {verb for verb, _ in CELLS} | {"constraints"}
    assert set(CELLS.values()) - {"yes"} == set(REASONS)


# How an argument is taken, wherever a sister has it.
KINDS = {
    "solver": inspect.Parameter.KEYWORD_ONLY,
    "tolerance": inspect.Parameter.KEYWORD_ONLY,
    "domain": inspect.Parameter.KEYWORD_ONLY,
    "norm": inspect.Parameter.KEYWORD_ONLY,
    "price": inspect.Parameter.KEYWORD_ONLY,
    "rng": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "answer": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "reward": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "r": inspect.Parameter.POSITIONAL_OR_KEYWORD,
}


def test_an_argument_is_taken_in_one_way_wherever_it_stands():
    seen = set()
    for owner in CLASSES.values():
        for verb, held in inspect.getmembers(owner, inspect.isfunction):
            for name, parameter in inspect.signature(held).parameters.items():
                if name in KINDS and not verb.startswith("_"):
                    assert parameter.kind is KINDS[name], (owner, verb, name)
                    seen.add(name)
    assert seen == KINDS.keys()


GAME, TRUTH = iirl.random_game(4, 2, 2, rng=3)
PI1 = iirl.uniform_policy(4, 2)
KNOWN = iirl.FeasibleRewards(GAME).observe(PI1, iirl.OptimalFollower().respond(GAME, TRUTH, PI1))


# Rows of one's own on a reward.


def rows_on(r):
    return [(r[1] >= 3 * r[0]).set_label("mine"), [r[2] <= 0.5]]


@pytest.mark.parametrize("method", ["lifted", "cuts"])
@pytest.mark.parametrize("price", [None, 0.5])
def test_rows_of_ones_own_are_a_function_of_the_reward(method, price):
    c = np.array([1.0, 0.0, 0.5, 0.0])
    found = KNOWN.maximise(c, subject_to=rows_on, method=method, price=price)
    assert found.reward[1] >= 3 * found.reward[0] - 1e-9
    assert solve(KNOWN.problem(c, subject_to=rows_on, price=price)).value == pytest.approx(
        found.value
    )
    assert "mine" in found.solved.duals
    near = KNOWN.nearest(TRUTH / TRUTH.sum(), subject_to=rows_on)
    assert near.reward[1] >= 3 * near.reward[0] - 1e-9


def test_rows_of_ones_own_stand_beside_a_domain_and_an_auxiliary_variable():
    x = cp.Variable(4, name="x")

    def spread(r):
        return [x >= r - 0.25, x >= 0, cp.sum(x) <= 0.1]

    c = np.array([1.0, 0.0, 0.0, 0.0])
    found = iirl.FeasibleRewards(GAME).maximise(c, subject_to=spread)
    assert found.value == pytest.approx(0.35)
    boxed = KNOWN.maximise(c, domain=iirl.RewardBox(0.5), subject_to=lambda r: [r[0] <= 0.125])
    assert boxed.value == pytest.approx(0.125)


class Odd:
    def __init__(self, rows):
        self.rows = rows

    def constraints(self, r):
        return self.rows(r)


@pytest.mark.parametrize("known", [iirl.FeasibleRewards(GAME), KNOWN], ids=["nothing", "one"])
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (lambda r: None, r"\(r\) is None; allowed a list"),
        (lambda r: True, r"\(r\) is True; allowed a list"),
        (lambda r: r[0] >= 1, r"\(r\) is Inequality.*; allowed a list"),
        (lambda r: [True], r"\(r\)\[0\] is True; allowed a Constraint: compare"),
        (lambda r: [r >= 0, r[0]], r"\(r\)\[1\] is .*: compare the expression with <="),
        (lambda r: [cp.Variable(name="x") >= 0], r"\(r\)\[0\] holds x and not the reward"),
        (lambda r: [(cp.Variable(name="x") >= 0).set_label("u")], r"\(r\)\[0\] \(u\) holds x"),
    ],
)
def test_rows_that_are_none_are_refused_by_name(known, rows, said):
    c = [1.0, 0.0, 0.0, 0.0]
    for ask in (known.maximise, known.problem, known.nearest):
        with pytest.raises(InvalidArgument, match="subject_to" + said):
            ask(c, subject_to=rows)
        with pytest.raises(InvalidArgument, match="domain.constraints" + said):
            ask(c, domain=Odd(rows))
    with pytest.raises(InvalidArgument, match="domain.constraints" + said):
        known.chebyshev_centre(domain=Odd(rows))


@pytest.mark.parametrize("rows", [True, [], [cp.Variable(name="x") >= 0], cp.Variable(), list])
def test_rows_on_another_variable_are_refused_with_what_is_allowed(rows):
    with pytest.raises(InvalidArgument, match=r"subject_to is .*a function of the reward"):
        KNOWN.maximise([1.0, 0.0, 0.0, 0.0], subject_to=rows)


# Membership, the nearest, the dimension.


def test_domains_say_what_lies_in_them():
    simplex, box = iirl.RewardSimplex(), iirl.RewardBox(2.0)
    assert simplex.contains([0.25] * 4)
    assert simplex.contains(np.full((2, 2, 2), 0.125))
    assert not simplex.contains([0.5, 0.5, 0.1])
    assert not simplex.contains([1.5, -0.5])
    assert simplex.contains([1.1, -0.1], tolerance=0.2)
    assert box.contains([2.0, -2.0])
    assert not box.contains([2.1])
    for domain in (simplex, box):
        r = cp.Variable(4)
        for c in np.random.default_rng(0).standard_normal((3, 4)):
            solve(cp.Problem(cp.Maximize(c @ r), domain.constraints(r)))
            assert domain.contains(r.value, tolerance=1e-7)
        for wrong in ([], [np.nan], "a", None, 1.0):
            with pytest.raises(InvalidReward, match="reward"):
                domain.contains(wrong)


def test_the_measures_of_policies_are_those_that_a_measure_contains():
    measure = iirl.OccupancyMeasure(GAME)
    best = measure.maximise(TRUTH).measure
    other = measure.maximise(-TRUTH).measure
    assert measure.contains(best)
    assert measure.contains((best + other).ravel() / 2)
    assert not measure.contains(best * 1.01)
    assert not measure.contains(2 * best - other)
    with pytest.raises(InvalidArgument, match="measure has shape"):
        measure.contains(np.ones(3))


@pytest.mark.parametrize("norm", [1, 2])
def test_the_nearest_of_a_class_is_the_best_scale_and_shift(norm):
    truth = np.array([0.0, 1.0, 3.0])
    aff = iirl.AffineClass(truth)
    assert aff.nearest(2 * truth + 1, norm=norm).value == pytest.approx(0, abs=1e-6)
    guess = np.array([1.0, 0.0, 4.0])
    found = aff.nearest(guess, norm=norm)
    assert aff.contains(found.reward, tolerance=1e-6)
    grid = [(a, b) for a in np.linspace(0, 3, 61) for b in np.linspace(-2, 2, 81)]
    least = min(np.linalg.norm(a * truth + b - guess, norm) for a, b in grid)
    assert found.value <= least + 1e-7
    assert found.value >= least - 0.1
    assert aff.nearest(-truth, norm=norm).constant
    assert (aff.dimension(), iirl.AffineClass([1, 1]).dimension()) == (2, 1)
    with pytest.raises(InvalidReward, match="reward has shape"):
        aff.nearest([1.0, 2.0])
    with pytest.raises(InvalidReward, match="r has shape"):
        aff.constraints(cp.Variable(2))


def test_rows_of_a_class_are_asked_for_by_state():
    aff = iirl.AffineClass([0.0, 1.0, 3.0])
    r = cp.Variable(3)
    limits = [*aff.constraints(r), r >= 0, cp.sum(r) == 1]
    solved = solve(cp.Problem(cp.Maximize(r[2]), limits))
    rows = aff.by_row(solved, states=["a", "b", "c"])
    assert rows == {(s,): rows[s,] for s in "abc"}
    assert sorted(map(abs, rows.values()), reverse=True) == [abs(m) for m in rows.values()]
    assert aff.by_row(solved) == {("abc".index(s),): m for (s,), m in rows.items()}
    for state, allowed in enumerate((0.01, 0.02, 0.01)):
        scale, shift = cp.Variable(), cp.Variable()
        image = scale * aff.reward + shift + allowed * np.eye(3)[state]
        moved = solve(cp.Problem(cp.Maximize(r[2]), [r == image, scale >= 0, *limits[2:]]))
        assert moved.value <= solved.value + rows["abc"[state],] * allowed + 1e-7
    contrary = cp.Problem(
        cp.Maximize(r[2]), [*aff.constraints(r), (r[2] <= r[0] - 1).set_label("no")]
    )
    with pytest.raises(Infeasible) as error:
        solve(contrary)
    assert set(aff.by_row(error.value)) == {(0,), (1,), (2,)}
    with pytest.raises(InvalidArgument, match="states are 2"):
        aff.by_row(solved, states=["a", "b"])
    with pytest.raises(InvalidArgument, match="holds x"):
        aff.by_row({"x": [1.0]})
