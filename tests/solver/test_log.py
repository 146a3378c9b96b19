"""What is told of solves: a line to a logger, the solver's own log to whoever asks."""

import io
import logging
import subprocess
import sys
import threading
from contextlib import redirect_stdout

import cvxpy as cp
import numpy as np
import pytest

from iirl_opt.errors import InvalidArgument
from iirl_opt.game.generate import random_game
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.solver import LiveProgram, Named, solve

x = cp.Variable(3, name="x")
PLAIN = cp.Problem(cp.Minimize(cp.sum(x)), [(x >= [1, 2, 3]).set_label("low")])
NONE = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, cp.sum(x) <= 2])
WHOLE = cp.Problem(cp.Maximize(cp.sum(cp.Variable(2, boolean=True))))
BALL = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 1])
NAME = "iirl_opt.solver"


@pytest.mark.parametrize(
    ("problem", "solver", "said"),
    [
        (PLAIN, None, "LP of 3 rows, 3 columns by HIGHS: OPTIMAL, value 6, residuals ≤ "),
        (NONE, None, "LP of 4 rows, 3 columns by HIGHS: INFEASIBLE"),
        (WHOLE, None, "MIP of 0 rows, 2 columns by HIGHS: OPTIMAL, value 2"),
        (cp.Problem(cp.Minimize(cp.sum_squares(x))), None, "QP of 0 rows, "),
        (BALL, "clarabel", "by CLARABEL: OPTIMAL, value -1.7"),
    ],
)
def test_a_solve_is_a_line_at_level_info(problem, solver, said, caplog):
    with caplog.at_level(logging.INFO, NAME):
        solve(problem, solver, throw=False)
    records = [r for r in caplog.records if r.name == NAME]
    assert [r.levelname for r in records] == ["INFO"]
    assert said in records[0].message
    assert " s" in records[0].message


def test_every_run_of_the_solver_is_a_line_at_level_debug(caplog):
    with caplog.at_level(logging.DEBUG, NAME):
        solve(PLAIN)
        LiveProgram.of(PLAIN).solve()
    levels = [r.levelname for r in caplog.records if r.name == NAME]
    assert levels.count("INFO") == 2
    assert levels.count("DEBUG") >= 3
    assert any("live LP of 3 rows" in r.message for r in caplog.records)


def test_the_library_installs_no_handler_and_is_quiet_by_default(capfd):
    solve(PLAIN)
    LiveProgram.of(PLAIN).solve()
    assert capfd.readouterr() == ("", "")
    logger = logging.getLogger(NAME)
    assert not logger.handlers
    assert not logging.getLogger("iirl_opt").handlers
    assert logger.level == logging.NOTSET


def test_the_log_of_highs_is_written_where_python_writes():
    live = LiveProgram.of(PLAIN)
    for ask in (lambda: solve(PLAIN, verbose=True), lambda: live.solve(verbose=True)):
        with redirect_stdout(io.StringIO()) as told:
            ask()
        assert "Objective value" in told.getvalue()
        # What was asked for once is not for ever.
        with redirect_stdout(io.StringIO()) as told:
            solve(PLAIN)
            live.solve()
        assert told.getvalue() == ""


@pytest.mark.parametrize("solver", ["clarabel", "SCS", Named("HIGHS")])
def test_other_solvers_show_theirs(solver, capfd):
    solve(PLAIN, solver)
    assert capfd.readouterr().out == ""
    solve(PLAIN, solver, verbose=True)
    assert len(capfd.readouterr().out) > 200


def test_threads_may_be_loud():
    told, values = io.StringIO(), []

    def work(k: int) -> None:
        y = cp.Variable(2, name="y")
        problem = cp.Problem(cp.Minimize(cp.sum(y)), [y >= k])
        values.append(solve(problem, verbose=bool(k % 2)).value)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    with redirect_stdout(told):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(values) == pytest.approx([0, 2, 4, 6])
    assert told.getvalue().count("Model status") == 2


LOUD = """
import cvxpy as cp, os, sys
from iirl_opt.solver import solve
x = cp.Variable(2)
problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
assert solve(problem, verbose=True).value == 2
sys.stdout = None
os.close(1)
assert solve(problem, verbose=True).value == 2
"""


@pytest.mark.process
def test_a_log_that_nobody_can_read_ends_no_solve():
    command = [sys.executable, "-c", LOUD]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Model status") == 1
    assert "Copyright" not in done.stdout


# A solver by its name, wherever one is an argument.


@pytest.mark.parametrize("name", ["HIGHS", "highs", "Clarabel", "scs"])
def test_a_name_is_a_solver_wherever_one_is_asked_for(name):
    game, reward = random_game(4, 2, 2, rng=0)
    feasible = FeasibleRewards(game)
    expected = feasible.maximise(reward).value
    assert feasible.maximise(reward, solver=name).value == pytest.approx(expected, abs=1e-4)
    assert solve(PLAIN, name).solver == name.upper()


@pytest.mark.parametrize(
    ("name", "near"), [("higs", "HIGHS"), ("CLARABELL", "CLARABEL"), ("Sc", "SCS")]
)
def test_a_name_that_is_none_is_answered_by_the_nearest(name, near):
    game, reward = random_game(3, 2, 2, rng=0)
    for ask in (
        lambda: solve(PLAIN, name),
        lambda: FeasibleRewards(game).maximise(reward, solver=name),
    ):
        with pytest.raises(InvalidArgument, match=f"allowed a name among {near}, "):
            ask()


@pytest.mark.parametrize("solver", ["clarabel", "", 3, object, np.zeros(2)])
def test_a_live_program_takes_highs_alone(solver):
    with pytest.raises(InvalidArgument, match="solver is"):
        LiveProgram.of(PLAIN, solver)
    assert LiveProgram.of(PLAIN, "highs").solve().value == pytest.approx(6)
