"""A sweep gives the same files on one process, two, and a Dask cluster that loses a worker."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import iirl
from sweep_cells import end_once, process_of

from iirl_opt.errors import InvalidArgument
from iirl_opt.experiments import Cell, commitment, dask_executor, run_cells

distributed = pytest.importorskip("distributed", reason="needs iirl-opt[sweep]")

COMPARE = ("small-maze", "--learners", "active", "--runs", 2, "--episodes", 3)
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


@pytest.mark.process
@pytest.mark.oracle
def test_files_are_the_same_on_one_process_two_and_a_cluster(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(commitment.FIGURE_7, scales={"small": few_cells})
    monkeypatch.setattr(commitment, "FIGURE_7", few)
    for command in (("compare", *COMPARE), ("figure", 7)):
        found = []
        for name, how in (("one", ()), ("two", ("--jobs", 2)), ("dask", ("--scheduler", cluster))):
            folder = tmp_path / f"{command[0]}-{name}"
            assert iirl(*command, *how, "--out", folder).err == ""
            found.append(kept(folder))
        assert {Path(name).suffix for name in found[0]} == {".json", ".csv", ".parquet", ".png"}
        assert found[0] == found[1] == found[2]


@pytest.mark.process
@pytest.mark.oracle
def test_a_worker_of_a_cluster_that_is_killed_costs_nothing(cluster: str, tmp_path: Path) -> None:
    cells = [Cell("test", "none", "end", i, {"folder": str(tmp_path)}) for i in range(8)]
    with dask_executor(cluster) as executor:
        found = run_cells(cells, end_once, executor=executor)
        assert executor.submit(process_of).result() != os.getpid()
    assert (tmp_path / "ended").exists()
    assert [result.values for result in found] == [{"seed": seed} for seed in range(8)]


@pytest.mark.parametrize("address", ["bogus", "", "foo://a:1", "tcp://", 3])
def test_what_is_no_address_is_refused(address: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"scheduler is .*tcp://"), dask_executor(address):
        pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--scheduler", "127.0.0.1:1", "--jobs", 2), "--jobs beside --scheduler"),
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
