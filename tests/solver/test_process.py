"""What a solve does to the process: nothing; and what Ctrl-C does to a solve: it ends it."""

import subprocess
import sys
import textwrap
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import cvxpy as cp
import numpy as np
import pytest

from iirl_opt.solver import Clarabel, HiGHS, LiveProgram, Named, Status, solve

# A child that sets its own handler: one started in the background inherits that Ctrl-C is ignored.
CHILD = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import cvxpy as cp, numpy as np
from iirl_opt.errors import Interrupted
from iirl_opt.solver import HiGHS, LiveProgram, solve
def press(after=1.0):
    threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    return time.monotonic() + after
"""

MARKET_SPLIT = """
weights = np.random.default_rng(3).integers(0, 100, (5, 40))
take = cp.Variable(40, boolean=True)
off = cp.Variable(10, nonneg=True)
both = np.hstack([np.eye(5), -np.eye(5)])
rows = [weights @ take + both @ off == weights.sum(axis=1) // 2]
problem = cp.Problem(cp.Minimize(cp.sum(off)), rows)
"""

LARGE = """
rng = np.random.default_rng(0)
x = cp.Variable(1000)
problem = cp.Problem(cp.Minimize(rng.random(1000) @ x), [rng.random((700, 1000)) @ x >= 1, x >= 0])
"""


def child(*parts):
    """Run a child process to its end and return what it printed."""
    code = "\n".join(textwrap.dedent(part) for part in parts)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.process
def test_a_signal_ends_a_mixed_integer_program_and_ctrl_c_keeps_its_incumbent():
    """In one process: each solve also shows that the one that was ended before left no trace."""
    rang, status, value, bound, late, ended = child(
        CHILD,
        MARKET_SPLIT,
        """
        class TooLong(Exception): pass
        def ring(*_): raise TooLong
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            solve(problem)
        except TooLong:
            print("rang")

        at = press(0.7)
        try:
            solve(problem)
        except Interrupted as stop:
            s = stop.solved
            print(s.status.name, s.value, s.bound, time.monotonic() - at)
            assert np.allclose(off.value.sum(), s.value)

        press(0.5); press(0.55)  # the second does not wait
        try:
            solve(problem)
        except KeyboardInterrupt:
            print("ended")
        """,
    )
    assert (rang, status, ended) == ("rang", "INTERRUPTED", "ended")
    assert 0 <= float(bound) <= float(value)
    # The promise of the documentation, not a benchmark: without it this takes an hour.
    assert float(late) < 20


@pytest.mark.process
def test_ctrl_c_ends_a_linear_program():
    words = child(
        CHILD,
        LARGE,
        """
        for solver in (HiGHS(presolve=False), HiGHS(), HiGHS("ipm")):
            press(0.4)
            try:
                for _ in range(1000):
                    solve(problem, solver)
            except KeyboardInterrupt as stop:
                print(type(stop).__name__)
        """,
    )
    assert len(words) == 3
    assert set(words) <= {"Interrupted", "KeyboardInterrupt"}


@pytest.mark.process
def test_ctrl_c_ends_a_live_program_which_can_go_on_afterwards():
    words = child(
        CHILD,
        """
        rng = np.random.default_rng(0)
        live = LiveProgram(rng.random(400), rng.random((300, 400)), np.ones(300), np.inf, lower=0.0)
        press(0.4)
        try:
            while True:
                live.change_objective(rng.random(400))
                live.solve()
        except KeyboardInterrupt:
            print("ended")
        live.change_objective(np.ones(400))
        value = live.solve().value
        rows = live._engine.program.matrix
        fresh = LiveProgram(np.ones(400), rows, np.ones(300), np.inf, lower=0.0).solve()
        print(abs(fresh.value - value) < 1e-6)
        """,
    )
    assert words == ["ended", "True"]


def problems():
    """Every way through the door: plain, compiled by cvxpy, mixed-integer, conic, of others."""
    x, n = cp.Variable(3, name="x"), cp.Variable(3, integer=True, name="n")
    simplex = [x >= 0, cp.sum(x) == 1]
    return [
        (cp.Problem(cp.Minimize(np.arange(3.0) @ x), simplex), HiGHS(), 0.0),
        (cp.Problem(cp.Minimize(cp.norm1(x - 1)), simplex), HiGHS(), 2.0),
        (cp.Problem(cp.Minimize(cp.sum_squares(x)), simplex), HiGHS(), 1 / 3),
        (cp.Problem(cp.Maximize(cp.sum(n)), [2 * n <= 5, n >= 0]), HiGHS(), 6.0),
        (cp.Problem(cp.Minimize(cp.norm(x)), simplex), Clarabel(), 3**-0.5),
        (cp.Problem(cp.Minimize(cp.norm(x)), simplex), Named("SCS"), 3**-0.5),
    ]


def test_solving_in_threads_leaves_the_process_as_it_was():
    import signal

    def state():
        return (
            list(warnings.filters),
            warnings.showwarning,
            np.geterr(),
            signal.getsignal(signal.SIGINT),
        )

    def work(seed):
        out = []
        for problem, solver, value in problems():
            solved = solve(problem, solver)
            out.append((solved.value, value))
        live = LiveProgram([1.0], [[1.0]], [float(seed)], [np.inf])
        out.append((live.solve().value, float(seed)))
        return out, np.geterr()

    before = state()
    with ThreadPoolExecutor(8) as pool:
        every = list(pool.map(work, range(1, 33)))
    assert state() == before
    for pairs, errors in every:
        assert errors == before[2]
        for value, expected in pairs:
            assert value == pytest.approx(expected, abs=1e-3)


@pytest.mark.process
def test_a_thread_that_prints_while_highs_first_runs_loses_nothing():
    words = child(
        """
        import threading
        import cvxpy as cp
        from iirl_opt.solver import solve
        stop, count = threading.Event(), 0
        def talk():
            global count
            while not stop.is_set():
                print("word", flush=True); count += 1
        thread = threading.Thread(target=talk); thread.start()
        x = cp.Variable()
        for _ in range(20):
            solve(cp.Problem(cp.Minimize(x), [x >= 1]))
        stop.set(); thread.join()
        print(count)
        """
    )
    assert words.count("word") == int(words[-1])
    assert len(words) == int(words[-1]) + 1


def test_a_solve_outside_the_main_thread_needs_no_second_thread():
    found = []
    thread = threading.Thread(
        target=lambda: found.append(solve(problems()[0][0], throw=False).status)
    )
    thread.start()
    thread.join()
    assert found == [Status.OPTIMAL]
