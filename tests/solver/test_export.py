"""LP and MPS files: other solvers read them and find the same optimum."""

import re
import shutil
import subprocess
from pathlib import Path

import cvxpy as cp
import highspy
import pytest

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
@pytest.mark.parametrize("name", MODELS)
def test_glpsol_reads_the_file_to_the_same_optimum(
    name: str, suffix: str, flag: str, tmp_path: Path
) -> None:
    model = read_model(name)
    path = write_program(program(model), tmp_path / f"model{suffix}")
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
    value = answer(model).quantities["value"]
    assert -float(objective[1]) == pytest.approx(value, rel=1e-6, abs=1e-6)


def test_names_of_variables_and_constraints_stand_in_the_file(tmp_path: Path) -> None:
    path = write_program(program(read_model("goal-twice-the-start")), tmp_path / "model.lp")
    text = path.read_text()
    for name in ("r(0)", "V(0)(2)", "optimal(0)(1)", "simplex_sum", "goal_twice_the_start"):
        assert name in text


def test_what_is_no_linear_program_is_refused(tmp_path: Path) -> None:
    x = cp.Variable(2, name="x")
    square = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1])
    with pytest.raises(InvalidArgument, match="no linear program"):
        write_program(square, tmp_path / "model.lp")
    with pytest.raises(InvalidArgument, match="form"):
        write_program(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]), tmp_path / "model.txt")
    assert not list(tmp_path.iterdir())


def test_writing_leaves_the_program_as_it_was(tmp_path: Path) -> None:
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [(x >= 1).set_label("low")])
    write_program(problem, tmp_path / "model.mps")
    assert solve(problem).value == pytest.approx(2)
