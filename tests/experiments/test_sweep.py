"""Sweeps give the same results whatever the order, the processes and the interruptions."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import LONGEST, start
from scipy import stats
from sweep_cells import (
    Shared,
    UnreadableFunction,
    count_of_calls,
    draw,
    end_always,
    end_each_once,
    end_once,
    fail_at_two,
    interrupted,
    leave,
    not_a_number,
    slow,
    unreadable,
)

from iirl_opt.checkpoint import Checkpoint
from iirl_opt.errors import FileProblem, InvalidArgument, InvalidValue, WorkersLost
from iirl_opt.experiments.sweep import Cell, CellResult, run_cells, summarise

CELLS = [Cell("test", "none", "draw", seed, {"n": n}) for seed in (0, 1) for n in (1, 2, 3)]
ABOUT = {"scale": "tiny", "versions": {"a": "1"}}


def values(results: list[CellResult]) -> list[Any]:
    return [(result.cell, result.values) for result in results]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[CellResult], str]:
    path = tmp_path_factory.mktemp("straight") / "cells.jsonl"
    results = run_cells(CELLS, draw, checkpoint=path, about=ABOUT)
    return results, path.read_text()


def test_results_depend_on_neither_order_nor_processes(
    straight: tuple[list[CellResult], str],
) -> None:
    backwards = run_cells(CELLS[::-1], draw, jobs=2)
    assert values(backwards[::-1]) == values(straight[0])
    assert [result.cell for result in backwards] == CELLS[::-1]


def test_every_worker_has_one_thread_and_the_caller_keeps_its_own(
    straight: tuple[list[CellResult], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {result.values["threads"] for result in straight[0]} == {"1"}
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    [result] = run_cells(CELLS[:1], draw)
    assert result.values["threads"] == "1"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_cells_have_randomness_of_their_own() -> None:
    cell = CELLS[0]
    others = [*CELLS[1:], *(replace(cell, **{name: "x"}) for name in ("figure", "game", "method"))]
    drawn = {other.rng().random() for other in others}
    assert len(drawn) == len(others)
    assert cell.rng().random() not in drawn
    assert cell.rng().random() == Cell(**json.loads(cell.key)).rng().random()


@pytest.mark.parametrize("torn", [b"", b'{"cell": {"fig'])
@pytest.mark.parametrize("kept", [0, 3, 6])
def test_a_crash_loses_nothing_that_was_written(
    straight: tuple[list[CellResult], str], tmp_path: Path, kept: int, torn: bytes
) -> None:
    results, text = straight
    whole = b"".join(text.encode().splitlines(keepends=True)[: 1 + kept])
    path = tmp_path / "cells.jsonl"
    path.write_bytes(whole + torn)
    seen: list[CellResult] = []
    again = run_cells(CELLS, draw, checkpoint=path, about=ABOUT, resume=True, progress=seen.append)
    assert values(again) == values(results)
    assert values(seen) == values(results)
    assert path.read_bytes().startswith(whole)
    written = [json.loads(line)["record"]["cell"] for line in path.read_text().splitlines()[1:-1]]
    assert [Cell(**cell) for cell in written] == CELLS


def test_finished_cells_are_not_computed_again(tmp_path: Path) -> None:
    cells = [Cell("test", "none", "count", i, {"folder": str(tmp_path)}) for i in range(4)]
    path = tmp_path / "cells.jsonl"
    run_cells(cells[:2], count_of_calls, checkpoint=path)
    run_cells(cells, count_of_calls, checkpoint=path, resume=True)
    assert sorted(trace.name.split("-")[0] for trace in tmp_path.glob("?-*")) == list("0123")
    run_cells(cells[:1], count_of_calls, checkpoint=path)
    with Checkpoint(path, {"compute": "sweep_cells.count_of_calls"}, begin="resume") as work:
        assert (len(work.records), work.complete) == (1, True)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({**ABOUT, "scale": "paper"}, "scale 'tiny', now it is 'paper'"),
        ({**ABOUT, "versions": {"a": "2"}}, "versions"),
        ({**ABOUT, "seed": 1}, "seed None, now it is 1"),
        ({}, "scale 'tiny', now it is None"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused_by_name(
    straight: tuple[list[CellResult], str], tmp_path: Path, about: dict[str, Any], message: str
) -> None:
    path = tmp_path / "cells.jsonl"
    path.write_text(straight[1] + "torn")
    with pytest.raises(FileProblem, match=message):
        run_cells(CELLS, draw, checkpoint=path, about=about, resume=True)
    assert path.read_text() == straight[1] + "torn"


def test_a_checkpoint_of_another_computation_or_form_is_refused(
    straight: tuple[list[CellResult], str], tmp_path: Path
) -> None:
    path = tmp_path / "cells.jsonl"
    path.write_text(straight[1])
    with pytest.raises(FileProblem, match="compute"):
        run_cells(CELLS, fail_at_two, checkpoint=path, about=ABOUT, resume=True)
    for spoilt, line in (("no json\n", 1), ("[]\n", 1), (straight[1] + "{}\n", 9)):
        path.write_text(spoilt)
        with pytest.raises(FileProblem) as caught:
            run_cells(CELLS, draw, checkpoint=path, about=ABOUT, resume=True)
        assert caught.value.line == line


def test_a_failure_is_raised_and_what_was_finished_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    with pytest.raises(InvalidArgument, match="n is 2"):
        run_cells(CELLS, fail_at_two, checkpoint=path)
    record = json.loads(path.read_text().splitlines()[1])["record"]
    assert record["cell"]["parameters"] == {"n": 1}


def test_what_progress_raises_ends_the_sweep(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"

    def interrupt(result: CellResult) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(CELLS, draw, checkpoint=path, progress=interrupt)
    assert len(path.read_text().splitlines()) == 2
    resumed = run_cells(CELLS, draw, checkpoint=path, resume=True)
    assert len(resumed) == len(CELLS)


def test_bad_arguments_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="twice"):
        run_cells([*CELLS, CELLS[0]], draw)
    with pytest.raises(InvalidArgument, match="jobs is 0"):
        run_cells(CELLS, draw, jobs=0)
    with pytest.raises(InvalidArgument, match="without a checkpoint"):
        run_cells(CELLS, draw, resume=True)
    assert run_cells([], draw, checkpoint=tmp_path / "cells.jsonl") == []


# Executors


def test_threads_give_what_processes_give_and_are_left_open(
    straight: tuple[list[CellResult], str],
) -> None:
    with ThreadPoolExecutor(2) as threads:
        found = run_cells(CELLS, draw, executor=threads)
        assert threads.submit(int, "1").result() == 1
    numbers = [[result.values["x"] for result in results] for results in (found, straight[0])]
    assert numbers[0] == numbers[1]


def test_what_is_no_executor_or_is_shut_down_is_refused() -> None:
    wrong: Any
    for wrong in (2, "threads", ThreadPoolExecutor, object()):
        with pytest.raises(InvalidArgument, match="executor"):
            run_cells(CELLS, draw, executor=wrong)
    threads = ThreadPoolExecutor(1)
    with pytest.raises(InvalidArgument, match="jobs is 2 beside an executor"):
        run_cells(CELLS, draw, executor=threads, jobs=2)
    threads.shutdown()
    with pytest.raises(WorkersLost, match="after shutdown: 6 of the cells are unfinished"):
        run_cells(CELLS, draw, executor=threads)


class Waiting(ThreadPoolExecutor):
    """Threads that say which calls were given to them."""

    given: list[Any]

    def submit(self, *call: Any, **more: Any) -> Any:
        self.given = [*getattr(self, "given", []), super().submit(*call, **more)]
        return self.given[-1]


def test_what_is_not_wanted_any_more_is_cancelled() -> None:
    with Waiting(1) as threads:
        cells = [Cell("test", "none", "draw", i, {"n": 1}) for i in range(100)]
        with pytest.raises(KeyboardInterrupt):
            run_cells(cells, slow, executor=threads, progress=lambda _: interrupt())
    assert threads.given[-1].cancelled()


def test_calls_that_an_executor_cancels_are_told_and_what_was_done_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    cells = [Cell("test", "none", "draw", i, {"n": 1}) for i in range(50)]
    threads = ThreadPoolExecutor(1)

    def end(_: CellResult) -> None:
        threads.shutdown(wait=False, cancel_futures=True)

    with pytest.raises(WorkersLost, match="cancelled its calls"):
        run_cells(cells, slow, executor=threads, checkpoint=path, progress=end)
    assert path.read_text().count('"record"') >= 1


def interrupt() -> None:
    raise KeyboardInterrupt


def test_a_worker_that_is_killed_once_costs_nothing(tmp_path: Path) -> None:
    cells = [Cell("test", "none", "end", i, {"folder": str(tmp_path)}) for i in range(6)]
    path = tmp_path / "cells.jsonl"
    results = run_cells(cells, end_once, jobs=2, checkpoint=path)
    assert [result.values["seed"] for result in results] == list(range(6))
    assert (tmp_path / "ended").exists()
    with Checkpoint(path, {"compute": "sweep_cells.end_once"}, begin="resume") as work:
        assert sorted(record["cell"]["seed"] for record in work.records) == list(range(6))


@pytest.mark.skipif(os.name != "posix", reason="signals that are blocked")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_worker_starts_leaves_none_half_started(
    sign: signal.Signals, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from multiprocessing import popen_spawn_posix, resource_tracker, util

    resource_tracker.ensure_running()  # which is a process that is started first, by the same call

    def interrupted(*given: Any) -> int:
        worker = util_spawn(*given)
        started.append(worker)
        if (status := Path(f"/proc/{worker}/status")).exists():  # a terminal sends SIGINT to all
            [blocked] = re.findall(r"^SigBlk:\s*(\w+)", status.read_text(), re.MULTILINE)
            assert int(blocked, 16) & 1 << signal.SIGINT - 1
        os.kill(os.getpid(), sign)
        return worker

    started: list[int] = []
    util_spawn = util.spawnv_passfds
    monkeypatch.setattr(popen_spawn_posix.util, "spawnv_passfds", interrupted)
    before = [signal.signal(each, signal.default_int_handler) for each in (signal.SIGINT, sign)]
    try:
        with pytest.raises(KeyboardInterrupt):
            run_cells(CELLS[:1], draw, jobs=2)
        assert signal.getsignal(sign) is signal.default_int_handler
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        for which, handler in zip((sign, signal.SIGINT), before[::-1], strict=True):
            signal.signal(which, handler)
    for worker in started:
        with suppress(ChildProcessError):  # one that nobody has waited for is half started
            os.waitpid(worker, 0)
    assert started
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("own", [False, True])
def test_workers_that_are_killed_again_are_an_error_that_keeps_what_was_done(
    tmp_path: Path, own: bool
) -> None:
    cells = [Cell("test", "none", "end", i, {"last": 1}) for i in range(3)]
    path = tmp_path / "cells.jsonl"
    executor: Executor | None = ProcessPoolExecutor(1) if own else None
    with pytest.raises(WorkersLost, match="none 1, end") as caught:
        run_cells(cells, end_always, checkpoint=path, executor=executor)
    assert caught.value.left == 2
    # The pool of one worker had no other cell; who made an executor gave it all of them.
    assert len(caught.value.lost) == (2 if own else 1)
    with Checkpoint(path, {"compute": "sweep_cells.end_always"}, begin="resume") as work:
        assert [record["cell"]["seed"] for record in work.records] == [0]


def test_each_cell_that_a_pool_lost_is_submitted_once_more(tmp_path: Path) -> None:
    cells = [Cell("test", "none", "end", i, {"folder": str(tmp_path)}) for i in range(2)]
    results = run_cells(cells, end_each_once)
    assert [result.values["seed"] for result in results] == [0, 1]


def test_a_process_gets_what_its_cells_share_once(tmp_path: Path) -> None:
    cells = [Cell("test", "none", "shared", i) for i in range(9)]
    results = run_cells(cells, Shared(str(tmp_path)), jobs=2)
    assert [result.values["seed"] for result in results] == list(range(9))
    readers = [trace.name.partition("-")[0] for trace in tmp_path.iterdir()]
    assert len(readers) == len(set(readers)) <= 2


def serial() -> Executor:
    """An executor that computes within `submit`."""

    class Serial(Executor):
        def submit(self, call: Any, /, *given: Any, **more: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(call(*given, **more))
            return future

    return Serial()


@pytest.mark.parametrize("make", [None, serial, lambda: ThreadPoolExecutor(1)])
def test_who_leaves_or_is_interrupted_in_a_cell(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    for compute, error in ((leave, RuntimeError), (interrupted, KeyboardInterrupt)):
        executor = None if make is None else make()
        with pytest.raises(error) as caught:
            run_cells(CELLS[:1], compute, executor=executor, checkpoint=path, restart=True)
        assert "In the worker" in caught.value.__notes__[0]
        assert compute is interrupted or "SystemExit: 0" in str(caught.value)
        assert executor is None or executor.submit(int, "1").result() == 1


def test_what_is_computed_within_submit_is_kept_cell_by_cell(tmp_path: Path) -> None:
    path, seen = tmp_path / "cells.jsonl", []

    def progress(result: CellResult) -> None:
        seen.append(result)
        assert path.read_text().count('"record"') == len(seen)

    run_cells(CELLS, draw, executor=serial(), checkpoint=path, progress=progress)
    assert len(seen) == len(CELLS)


def test_an_executor_that_takes_no_more_is_told_with_the_cell(tmp_path: Path) -> None:
    class Full(ThreadPoolExecutor):
        def submit(self, *call: Any, **more: Any) -> Any:
            if call[-1].seed == 1:
                raise OSError("no room")
            return super().submit(*call, **more)

    with Full(1) as full, pytest.raises(WorkersLost, match="OSError: no room"):
        run_cells(CELLS, draw, executor=full)


def test_what_no_checkpoint_can_hold_and_what_no_pipe_takes_are_told() -> None:
    with pytest.raises(InvalidValue, match=r"not_a_number returns for none 0, draw, n 1 cannot"):
        run_cells(CELLS[:1], not_a_number)
    with pytest.raises(RuntimeError, match="Unreadable"):
        run_cells(CELLS[:1], unreadable)
    for jobs in (1, 2):
        with pytest.raises(WorkersLost, match=r"cannot read what .*ValueError: not here"):
            run_cells(CELLS[:jobs], UnreadableFunction(""), jobs=jobs)
    with pytest.raises(WorkersLost, match="pickle"):
        run_cells(CELLS[:1], lambda cell: {})
    with pytest.raises(InvalidArgument, match="parameters cannot be written as JSON"):
        run_cells([Cell("test", "none", "draw", 0, {"n": {1, 2}})], draw)


def test_a_checkpoint_of_cells_that_are_not_planned_is_refused_by_line(tmp_path: Path) -> None:
    path, results = tmp_path / "cells.jsonl", run_cells(CELLS[:2], draw, executor=None)
    one, two = ({**asdict(result)} for result in results)
    about = {"compute": "sweep_cells.draw"}
    for records, message in (
        ([one, two], ":3: is of a cell that is not in this sweep: none 0, draw, n 2"),
        ([one, one], ":3: repeats the cell of line 2"),
        ([{**one, "values": 3}], ":2: holds no finished cell"),
        ([{**one, "seconds": "x"}], ":2: holds no finished cell"),
        ([{"cell": 1}], ":2: holds no finished cell"),
    ):
        with Checkpoint(path, about, begin="restart") as work:
            for record in records:
                work.append(record)
        before = path.read_bytes()
        with pytest.raises(FileProblem, match=message):
            run_cells([CELLS[0], CELLS[2]], draw, checkpoint=path, resume=True)
        assert path.read_bytes() == before


def test_an_unfinished_checkpoint_goes_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run_cells(CELLS, draw, checkpoint=path, progress=lambda _: interrupt())
    before = path.read_bytes()
    with pytest.raises(FileProblem, match="unfinished, with 1 record; allowed to resume"):
        run_cells(CELLS, draw, checkpoint=path)
    with pytest.raises(InvalidArgument, match="restart is set beside resume"):
        run_cells(CELLS, draw, checkpoint=path, resume=True, restart=True)
    assert path.read_bytes() == before
    seen: list[CellResult] = []
    run_cells(CELLS, draw, checkpoint=path, restart=True, progress=seen.append)
    assert len(path.read_text().splitlines()) == 2 + len(CELLS)
    with Checkpoint(path, {}, begin="new"), pytest.raises(FileProblem, match="another process"):
        run_cells(CELLS, draw, checkpoint=path)


# Summaries


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_interval_is_students(confidence: float) -> None:
    runs = np.random.default_rng(0).normal(size=(7, 4, 2))
    summary = summarise(runs, confidence)
    expected = stats.t.interval(confidence, 6, runs.mean(axis=0), stats.sem(runs, axis=0))
    np.testing.assert_allclose((summary.low, summary.high), expected, rtol=1e-12)
    np.testing.assert_allclose(summary.mean, runs.mean(axis=0))


def test_the_interval_covers_as_often_as_it_says() -> None:
    runs = np.random.default_rng(1).normal(3, 2, size=(5, 20_000))
    summary = summarise(runs)
    covered = (summary.low <= 3) & (summary.high >= 3)
    assert abs(covered.mean() - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 20_000)


def test_one_run_and_missing_numbers_have_no_interval() -> None:
    assert summarise([[1.0, 2.0]]).record() == {
        "runs": 1,
        "mean": [1.0, 2.0],
        "low": [None, None],
        "high": [None, None],
    }
    record = summarise([[1.0, np.nan], [1.0, 2.0]]).record()
    assert record["mean"] == record["low"] == record["high"] == [1.0, None]
    assert summarise([1.0, 1.0]).record()["low"] == 1.0


@pytest.mark.parametrize(("runs", "confidence"), [([], 0.95), (1.0, 0.95), ([1.0], 1), ([1.0], 0)])
def test_no_runs_and_no_confidence_are_refused(runs: object, confidence: float) -> None:
    with pytest.raises(InvalidArgument):
        summarise(runs, confidence)


@pytest.mark.process
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_parent(how: signal.Signals, tmp_path: Path) -> None:
    code = (
        "from sweep_cells import *\n"
        "from iirl_opt.experiments.sweep import run_cells\n"
        "if __name__ == '__main__':\n"
        f"    folder = {str(tmp_path)!r}\n"
        "    cells = [Cell('test', 'none', 'wait', i, {'folder': folder}) for i in range(3)]\n"
        "    run_cells(cells, wait, jobs=2)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    folders = (Path(__file__).parents[1],)
    paths = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
    options = {"env": {"PYTHONPATH": os.pathsep.join(paths)}, "stderr": subprocess.DEVNULL}
    with start([sys.executable, script], **options) as parent:
        try:
            until = time.monotonic() + LONGEST
            while len(workers := list(tmp_path.glob("[0-9]*"))) < 2:
                assert time.monotonic() < until
                time.sleep(0.05)
            parent.send_signal(how)
            parent.wait(LONGEST)
        finally:
            parent.kill()
    until = time.monotonic() + LONGEST
    while any(is_running(int(worker.name)) for worker in workers):
        assert time.monotonic() < until
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that has ended but was not fetched yet is not running.
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST,
    )
    return not state.stdout.startswith("Z") and bool(state.stdout)
