"""LP and MPS files: other solvers read them and find the same optimum."""

import re
import shutil
import subprocess
from pathlib import Path

import cvxpy as cp
import highspy
import numpy as np
import pytest
import scipy.sparse as sp

from iirl_opt.errors import InvalidArgument
from iirl_opt.library import answer, program, read_model
from iirl_opt.solver import solve, write_program

MODELS = ["goal-twice-the-start", "puterman-3-1-1", "correlated-budget", "figure-1", "random-50"]


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize("name", MODELS)
def test_highs_reads_the_file_to_the_same_optimum(name: str, suffix: str, tmp_path: Path) -> None:
    model = read_model(name)
    path = write_program(program(model), tmp_path / f"model{suffix}")
    solver = highspy.Highs()
    solver.setOptionValue("log_to_console", False)
    solver.readModel(str(path))
    solver.run()
    value = answer(model).quantities["value"]
    # The programs maximise; the files hold the equivalent minimisation.
    assert -solver.getInfo().objective_function_value == pytest.approx(value, abs=1e-6)


@pytest.mark.oracle
@pytest.mark.skipif(shutil.which("glpsol") is None, reason="glpsol (glpk-utils) is not installed")
@pytest.mark.parametrize(("suffix", "flag"), [(".lp", "--lp"), (".mps", "--freemps")])
@pytest.mark.parametrize("name", [*MODELS, "norm", "whole", "no rows", "empty rows", "odd names"])
def test_glpsol_reads_the_file_to_the_same_optimum(
    name: str, suffix: str, flag: str, tmp_path: Path
) -> None:
    if name in MODELS:
        model = read_model(name)
        problem, value = program(model), answer(model).quantities["value"]
    else:
        problem = odd_problem() if name == "odd names" else shaped(name)
        value = -float(solve(problem).value or 0)
    path = write_program(problem, tmp_path / f"model{suffix}")
    report = tmp_path / "report.txt"
    subprocess.run(
        ["glpsol", flag, path, "-o", report],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    objective = re.search(r"Objective:.* = (\S+)", report.read_text())
    assert objective is not None
    assert -float(objective[1]) == pytest.approx(value, rel=1e-6, abs=1e-6)


def test_names_of_variables_and_constraints_stand_in_the_file(tmp_path: Path) -> None:
    path = write_program(program(read_model("goal-twice-the-start")), tmp_path / "model.lp")
    text = path.read_text()
    for name in ("r(0)", "V(1)(2)", "optimal(1)(1)", "simplex_sum", "goal_twice_the_start"):
        assert name in text


x = cp.Variable(3, name="x")
half = cp.Variable((2, 2), name="half", symmetric=True)
wide = cp.Variable((2, 3), name="wide", nonneg=True)
counts = cp.Variable(2, name="counts", integer=True)
bent = cp.Variable(name="bent", bounds=[0, 4])
scale = cp.Parameter(name="scale", value=2.0)

# What cvxpy makes of each is larger than what was written: an objective, and constraints by label.
SHAPES: dict[str, tuple[cp.Expression, dict[str, cp.Constraint]]] = {
    "norm": (cp.norm1(x), {"low": x >= [1, 2, 3], "sum": cp.sum(x) == 7}),
    "largest": (cp.sum_largest(x, 2), {"tail": x[1:] <= 9, "low": x >= -1, "total": sum(x) >= 2}),
    "maximum": (cp.max(x) + cp.norm_inf(x), {"scaled": scale * x <= 8, "part": x[::2] >= -3}),
    "symmetric": (
        cp.sum(cp.abs(half)),
        {"half": half >= np.array([[1, 2], [2, 4]]), "one": half[1] >= 1},
    ),
    "matrix": (
        cp.max(wide),
        {"rows": cp.sum(wide, axis=1) >= x[:2], "all": wide <= 7, "x": x == 1},
    ),
    "whole": (
        cp.norm1(counts) + bent,
        {"counts": counts >= 0.5, "bent": bent + x >= 3, "x": x == 1},
    ),
    "one cap": (cp.norm1(x - 3), {"capped": cp.abs(x) <= 2, "row": x[0] + x[1] == 1}),
    "no rows": (cp.max(cp.Variable(2, boolean=True, name="b")[:1]), {}),
    "empty rows": (cp.norm1(x), {"always": cp.Constant([1, 2]) >= 0, "zero": 0 * x <= 1}),
}
LINEAR = re.compile(r"([A-Za-z]+)(?:\(([\d,]+)\))?")


def shaped(name: str) -> cp.Problem:
    objective, rows = SHAPES[name]
    return cp.Problem(cp.Minimize(objective), [row.set_label(own) for own, row in rows.items()])


def read_back(path: Path) -> highspy.HighsLp:
    solver = highspy.Highs()
    solver.setOptionValue("log_to_console", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    return solver.getLp()


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize("name", SHAPES)
def test_whatever_cvxpy_adds_each_named_row_is_that_of_its_constraint(
    name: str, suffix: str, tmp_path: Path
) -> None:
    problem = shaped(name)
    program = read_back(write_program(problem, tmp_path / f"model{suffix}"))
    columns, rows = list(program.col_names_), list(program.row_names_)
    assert len(set(columns)) == len(columns) == program.num_col_
    assert len(set(rows)) == len(rows) == program.num_row_
    rng = np.random.default_rng(1)
    values = {v.name(): v.project(rng.normal(size=v.shape)) for v in problem.variables()}
    for variable in problem.variables():
        variable.value = values[variable.name()]
    start = np.array(program.a_matrix_.start_)
    by_column = program.a_matrix_.format_ == highspy.MatrixFormat.kColwise
    outer = np.repeat(np.arange(start.size - 1), np.diff(start))
    pairs = (program.a_matrix_.index_, outer) if by_column else (outer, program.a_matrix_.index_)
    matrix = sp.coo_array((program.a_matrix_.value_, pairs), shape=(len(rows), len(columns)))
    for label, constraint in SHAPES[name][1].items():
        if not (constraint.args[0].is_affine() and constraint.args[1].is_affine()):
            assert any(row.startswith(label) for row in rows)
            continue
        gap = constraint.args[0].value - constraint.args[1].value
        for index in np.ndindex(constraint.shape):
            here = rows.index(f"{label}({','.join(map(str, index))})" if index else label)
            terms = matrix.tocsr()[[here]].tocoo()
            activity = 0.0
            for j, coefficient in zip(terms.col, terms.data, strict=True):
                own, at = LINEAR.fullmatch(columns[j]).groups()
                entry = tuple(map(int, at.split(","))) if at else ()
                activity += coefficient * np.asarray(values[own])[entry]
            low, high = program.row_lower_[here], program.row_upper_[here]
            bound = low if np.isfinite(low) and abs(low) < 1e20 else high
            assert abs(activity - bound) == pytest.approx(abs(np.asarray(gap)[index]))


def test_what_cvxpy_added_says_so(tmp_path: Path) -> None:
    program = read_back(write_program(shaped("one cap"), tmp_path / "model.mps"))
    users = {"x(0)", "x(1)", "x(2)"}, {"capped(0)", "capped(1)", "capped(2)", "row"}
    for names, own in zip((program.col_names_, program.row_names_), users, strict=True):
        assert own < set(names)
        assert all(re.fullmatch(r"(row_of_)?aux\(\d\)\(\d+\)", n) for n in set(names) - own)


def test_of_variables_with_a_pattern_the_free_entries_are_columns(tmp_path: Path) -> None:
    pattern = cp.Variable((3, 3), name="pattern", sparsity=([0, 1], [2, 2]))
    diagonal = cp.Variable((2, 2), name="diagonal", diag=True)
    total = (cp.sum(pattern) + cp.trace(diagonal) >= 1).set_label("total")
    problem = cp.Problem(cp.Minimize(cp.norm1(pattern) + diagonal[0, 0]), [total])
    program = read_back(write_program(problem, tmp_path / "model.lp"))
    own = {"pattern(0,2)", "pattern(1,2)", "diagonal(0,0)", "diagonal(1,1)"}
    assert {name for name in program.col_names_ if not name.startswith("aux")} == own


# Words of the formats, first letters of numbers, blanks, other alphabets, lengths, names twice.
ODD = ["end", "ST", "e1", "2 x", "", "größe γ", "γ", "a b", "a_b", "a b", "x(0)", "aux(0)", "inf"]
ODD += ["n" * 300, "n" * 299, "[1]", "row_of_aux(0)(0)", "a:b", "free", "added", "\n", "a\\b", "'"]


def odd_problem() -> cp.Problem:
    others = cp.hstack([cp.Variable(nonneg=True, name=own) for own in ODD])
    pair = cp.Variable(2, name="x")
    rows = [(pair[0] >= k + 1).set_label(own) for k, own in enumerate(ODD)]
    return cp.Problem(cp.Minimize(cp.norm1(pair) + cp.sum(others)), rows)


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_odd_names_stay_apart_and_the_file_says_what_stands_for_them(
    suffix: str, tmp_path: Path
) -> None:
    path = write_program(odd_problem(), tmp_path / f"model{suffix}")
    program = read_back(path)
    said = dict(re.findall(r"^[\\*] (\S+) stands for (.*)$", path.read_text("utf-8"), re.MULTILINE))
    rows_read, columns_read = list(program.row_names_), list(program.col_names_)
    for names in (rows_read, columns_read):
        assert len(set(names)) == len(names)
        assert max(map(len, names)) <= 255
    # The k-th row asks for k + 1: whatever it is called, it is in its place and accounted for.
    own = [n for n in rows_read if not n.startswith("row_of_aux(0)_")]
    sides = dict(
        zip(rows_read, np.abs([program.row_lower_, program.row_upper_]).min(0), strict=True)
    )
    for k, label in enumerate(ODD):
        name = next(n for n in own if sides[n] == k + 1)
        assert name == label or name in said


def test_coefficients_that_would_be_lost_are_refused_and_small_ones_kept(tmp_path: Path) -> None:
    rows = [(x[0] + 1e-11 * x[1] >= 1).set_label("small")]
    text = write_program(cp.Problem(cp.Minimize(x[0]), rows), tmp_path / "small.mps").read_text()
    assert float(re.search(r"x\(1\) +small +(\S+)", text)[1]) == -1e-11
    rows = [(x[0] + 1e-13 * x[1] >= 1).set_label("tiny")]
    with pytest.raises(
        InvalidArgument, match=r"row tiny, column x\(1\) has the coefficient .1e-13"
    ):
        write_program(cp.Problem(cp.Minimize(x[0]), rows), tmp_path / "tiny.lp")
    assert not (tmp_path / "tiny.lp").exists()


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (cp.Problem(cp.Minimize(x[0]), [cp.norm(x) <= 1]), "in it Pnorm.* is no linear part"),
        (cp.Problem(cp.Maximize(cp.norm1(x))), "objective is not convex"),
        (cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1]), "objective is quadratic"),
        (cp.Problem(cp.Minimize(x[0] * cp.Parameter(name="p"))), "parameter p has no value"),
        (cp.Problem(cp.Minimize(np.nan * x[0])), "NaN"),
        (cp.Problem(cp.Minimize(3), [cp.Constant(1) <= 0]), "has no variable"),
    ],
)
def test_what_is_no_linear_program_is_refused(
    problem: cp.Problem, said: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        write_program(problem, tmp_path / "model.lp")
    assert not list(tmp_path.iterdir())


def test_another_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="form"):
        write_program(shaped("norm"), tmp_path / "model.txt")
    assert not list(tmp_path.iterdir())


def test_writing_leaves_the_program_as_it_was(tmp_path: Path) -> None:
    problem = shaped("norm")
    write_program(problem, tmp_path / "model.mps")
    assert solve(problem).value == pytest.approx(7)
