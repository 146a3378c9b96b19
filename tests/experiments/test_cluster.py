"""A sweep gives the same files on one process, two, and a Dask cluster that loses a worker."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import LONGEST, RUN, iirl, start
from sweep_cells import Shared, end_once, process_of, slow

import iirl_opt.experiments.cluster as cluster_module
from iirl_opt.errors import InvalidArgument, WorkersLost
from iirl_opt.experiments import Cell, commitment, dask_executor, run_cells

distributed = pytest.importorskip("distributed", reason="needs iirl-opt[sweep]")

COMPARE = ("two-rooms", "--learners", "active", "--runs", 2, "--episodes", 2)
SIZE = {"size": [3, 2, 2]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a scheduler with two worker processes, which nannies start again."""
    with (
        pytest.MonkeyPatch.context() as patch,
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            silence_logs=50,
        ) as found,
    ):
        patch.setenv("PYTHONWARNINGS", "ignore")
        yield found.scheduler_address


def kept(folder: Path) -> dict[str, bytes]:
    """What a sweep wrote that has no times."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".jsonl"}


def few_cells(seed: int) -> list[Cell]:
    levels = [0.5, 0.0]
    games = [("small", {"epsilon": level, **SIZE}) for level in levels]
    return [Cell(7, game, "epsilon-greedy", seed, facts) for game, facts in games]


@pytest.fixture
def small_cluster() -> Iterator[Any]:
    """A scheduler with one worker, in this process; a worker may be taken away."""
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
    ) as found:
        yield found


def files_are_the_same(
    hows: dict[str, tuple[object, ...]],
    commands: Iterable[tuple[object, ...]],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever computes a sweep, its files are the same; figure 7 has few cells."""
    few = replace(commitment.FIGURE_7, scales={"small": few_cells})
    monkeypatch.setattr(commitment, "FIGURE_7", few)
    for command in commands:
        found = []
        for name, how in hows.items():
            own = folder / f"{command[0]}-{name}"
            assert iirl(*command, *how, "--out", own).err == ""
            found.append(kept(own))
        assert {Path(name).suffix for name in found[0]} == {".json", ".csv", ".parquet", ".png"}
        assert found.count(found[0]) == len(hows)


@pytest.mark.oracle
def test_files_are_the_same_on_one_process_and_a_cluster(
    small_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hows = {"one": (), "dask": ("--scheduler", small_cluster.scheduler_address)}
    files_are_the_same(hows, [("figure", 7)], tmp_path, monkeypatch)


@pytest.mark.process
@pytest.mark.oracle
@pytest.mark.campaign
def test_files_are_the_same_on_one_process_two_and_a_cluster(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hows = {"one": (), "two": ("--jobs", 2), "dask": ("--scheduler", cluster)}
    files_are_the_same(hows, [("compare", *COMPARE), ("figure", 7)], tmp_path, monkeypatch)


@pytest.mark.process
@pytest.mark.oracle
@pytest.mark.campaign
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_command_and_not_the_cluster(
    cluster: str, tmp_path: Path, how: signal.Signals, code: int
) -> None:
    cells = 12
    words = ("two-rooms", "--learners", "active", "--runs", cells, "--episodes", 6)
    folder, other = tmp_path / "signal", tmp_path / "one"
    checkpoint = folder / "compare.jsonl"
    command = [*RUN, "compare", *words, "--scheduler", cluster, "--out", folder]
    with distributed.Client(cluster, set_as_default=False) as client:
        before = client.run(os.getpid)
        with start(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                until = time.monotonic() + LONGEST
                while not (checkpoint.exists() and '"record"' in checkpoint.read_text()):
                    assert process.poll() is None
                    assert time.monotonic() < until
                    time.sleep(0.02)
                process.send_signal(how)
                _, said = process.communicate(timeout=LONGEST)
            finally:
                process.kill()
        assert process.returncode == code, said
        assert len(said.splitlines()) == 1
        assert client.run(os.getpid) == before
    assert list(folder.iterdir()) == [checkpoint]
    assert 1 <= checkpoint.read_text().count('"record"') < cells
    resumed = iirl("compare", *words, "--scheduler", cluster, "--resume", "--out", folder)
    assert (resumed.code, resumed.err) == (0, "")
    assert iirl("compare", *words, "--jobs", 1, "--out", other).code == 0
    assert kept(folder) == kept(other)


@pytest.mark.process
@pytest.mark.oracle
@pytest.mark.campaign
def test_a_worker_of_a_cluster_that_is_killed_costs_nothing(cluster: str, tmp_path: Path) -> None:
    cells = [Cell("test", "none", "end", i, {"folder": str(tmp_path)}) for i in range(8)]
    with dask_executor(cluster) as executor:
        found = run_cells(cells, end_once, executor=executor)
        assert executor.submit(process_of).result() != os.getpid()
    assert (tmp_path / "ended").exists()
    assert [result.values for result in found] == [{"seed": seed} for seed in range(8)]


@pytest.mark.process
@pytest.mark.oracle
@pytest.mark.campaign
def test_a_worker_of_a_cluster_gets_what_its_cells_share_once(cluster: str, tmp_path: Path) -> None:
    cells = [Cell("test", "none", "shared", i) for i in range(20)]
    with dask_executor(cluster) as executor:
        for _ in range(2):
            found = run_cells(cells, Shared(str(tmp_path)), executor=executor)
            assert [result.values["seed"] for result in found] == list(range(20))
    # A copy that nobody needs just now may be dropped, and is then fetched again.
    assert 1 <= len(list(tmp_path.iterdir())) <= 5


@pytest.mark.oracle
def test_a_cluster_that_loses_its_last_worker_is_not_waited_for_for_ever(
    small_cluster: Any, tmp_path: Path
) -> None:
    path, said = tmp_path / "cells.jsonl", []
    cells = [Cell("test", "none", "slow", i) for i in range(50)]
    address = small_cluster.scheduler_address

    def lose(_: Any) -> None:
        small_cluster.scale(0)

    with (
        pytest.raises(WorkersLost, match=r"has no worker, for 0\.5 s: \d+ of the cells"),
        dask_executor(address, patience=0.5, say=said.append) as executor,
    ):
        run_cells(cells, slow, executor=executor, checkpoint=path, progress=lose)
    assert said == [f"scheduler '{address}' has no worker; waiting 0.5 s for one"]
    kept = path.read_text().count('"record"')
    assert 1 <= kept < 50
    with pytest.raises(InvalidArgument, match="has no worker"), dask_executor(address):
        pass
    small_cluster.scale(1)
    with dask_executor(address) as executor:
        found = run_cells(cells, slow, executor=executor, checkpoint=path, resume=True)
    assert [result.values["seed"] for result in found] == list(range(50))


@pytest.mark.process
@pytest.mark.oracle
@pytest.mark.campaign
def test_a_worker_of_another_version_is_refused_by_name(small_cluster: Any, tmp_path: Path) -> None:
    other = tmp_path / "iirl_opt-0.0.1.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: iirl-opt\nVersion: 0.0.1\n")
    address = small_cluster.scheduler_address
    command = (sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with (
        start([*command, "--no-nanny"], env={"PYTHONPATH": path}, **quiet) as worker,
        distributed.Client(address, set_as_default=False) as client,
    ):
        try:
            client.wait_for_workers(2, timeout=LONGEST)
            with (
                pytest.raises(InvalidArgument, match=r"iirl-opt 0\.0\.1; allowed iirl-opt"),
                dask_executor(address),
            ):
                pass
        finally:
            worker.kill()


def test_patience_is_a_number_of_seconds() -> None:
    for patience in (0, -1, float("nan"), float("inf"), "60", True):
        with (
            pytest.raises(InvalidArgument, match="patience"),
            dask_executor("127.0.0.1:1", patience=patience),  # type: ignore[arg-type]
        ):
            pass


@pytest.mark.parametrize(
    "address", ["bogus", "", "foo://a:1", "tcp://", 3, "a:0", "a:x", "a b:1", "tcp://[::1:1", None]
)
def test_what_is_no_address_is_refused_before_dask_is_imported(
    address: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "find_spec", lambda _name: True)
    monkeypatch.setitem(sys.modules, "distributed", None)  # an import of it would raise
    with pytest.raises(InvalidArgument, match=r"scheduler is .*tcp://"), dask_executor(address):
        pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--scheduler", "127.0.0.1:1", "--jobs", 2), "--jobs beside --scheduler"),
        (("--patience", 5), "--patience without --scheduler"),
        (("--scheduler", "127.0.0.1:1", "--patience", "nan"), "patience is nan"),
        (("--resume", "--restart"), "--resume stands beside --restart"),
        (("--scheduler", "bogus"), "scheduler is 'bogus'"),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything(
    tmp_path: Path, options: tuple[Any, ...], message: str
) -> None:
    done = iirl("figure", 7, *options, "--out", tmp_path)
    assert (done.code, list(tmp_path.iterdir())) == (2, [])
    assert message in done.err
