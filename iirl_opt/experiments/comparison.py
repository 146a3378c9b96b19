"""Comparisons: several learners on a game file of the user's, run for run from one beginning.

A cell is one run of one learner, computed as in Figure 3; the follower is that of the file. It is
read once, where the comparison is begun: what stands in it travels with the cells, so workers on
other machines need no such file, and its digest is in the checkpoint, so that a file that was
changed is not gone on with.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.experiments.figure import document
from iirl_opt.experiments.learning import regrets_of, summarise_regrets
from iirl_opt.experiments.sweep import Cell, Sweep, run_cells
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.follower.protocols import Follower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.library import read_model
from iirl_opt.library.learners import check_learner
from iirl_opt.versions import versions

if TYPE_CHECKING:
    pass

__all__ = ["compare_cells", "compare_runs"]


def compare_cells(
    file: str,
    learners: Sequence[str],
    *,
    episodes: int,
    runs: int,
    seed: int,
    asked: Mapping[str, Any] | None = None,
) -> list[Cell]:
    """Return the cells that compare learners on a file: runs differ in the first commitment.

    Parameters
    ----------
    asked : arguments of `read_model` for the file; those that ask for nothing change nothing.

    Raises
    ------
    InvalidArgument
        There is no such learner, or one is named twice.

    **Cost** arithmetic, one cell a run and learner; nothing is read or played.

    Examples
    --------
    >>> cells = compare_cells("two-rooms", ["active", "max-margin"], episodes=3, runs=2, seed=0)
    >>> [(cell.method, cell.parameters["run"]) for cell in cells]
    [('active', 0), ('max-margin', 0), ('active', 1), ('max-margin', 1)]
    """
    for name in learners:
        check_learner(name)
        if list(learners).count(name) > 1:
            raise InvalidArgument("learners", f"names {name} twice", "each once", learners)
    more = {name: value for name, value in (asked or {}).items() if value}
    more = {"asked": more} if more else {}
    return [
        Cell("compare", file, name, 0, {"run": seed + run, "episodes": episodes, **more})
        for run in range(runs)
        for name in learners
    ]


def compare_runs(cells: Sequence[Cell], **how: Unpack[Sweep]) -> dict[str, Any]:
    """Run the cells of `compare_cells` and return the document of the comparison, JSON-able.

    Parameters
    ----------
    how : jobs, executor, checkpoint, resume, restart, progress; see
        `iirl_opt.experiments.sweep.run_cells`.

    Raises
    ------
    InvalidArgument
        A learner is named twice.
    FileProblem
        The file is not there, or has no true reward.

    **Cost** one reading of the file; then that of `run_cells`, of which each cell is a run of
    `interact`.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> cells = compare_cells("two-rooms", ["algorithm-1"], episodes=2, runs=1, seed=0)
    >>> with ThreadPoolExecutor(1) as threads:
    ...     found = compare_runs(cells, executor=threads)
    >>> [round(regret, 9) for regret in found["cells"][0]["values"]["regrets"]]
    [1.0, 0.0]
    """
    cells = list(cells)
    if not cells:
        raise InvalidArgument("cells", "is empty", "at least one cell of `compare_cells`", cells)
    problem = read_model(cells[0].game, **cells[0].parameters.get("asked", {}))
    follower = problem.follower or OptimalFollower("first")
    problem_of_cells = ShippedProblem(
        pickle.dumps((problem.game, problem.need_truth(), follower), protocol=5)
    )
    cells = [replace(cell, game=problem.path.name) for cell in cells]
    about = {
        "command": "compare",
        "file": problem.path.name,
        "digest": problem.digest,
        "versions": versions(),
    }
    results = run_cells(cells, problem_of_cells, about=about, **how)
    return document(results, {**about, "summary": summarise_regrets(results)})


@dataclass(frozen=True)
class ShippedProblem:
    """The computation of a cell on a problem that goes where the cell goes.

    Attributes
    ----------
    packed : game, true reward and follower, pickled.
    """

    packed: bytes = field(repr=False)

    def __call__(self, cell: Cell) -> dict[str, Any]:
        """Return what `iirl_opt.experiments.learning.compute` does."""
        return regrets_of(cell, *_unpacked(self.packed))


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> tuple[TwoAgentMDP, NDArray[np.float64], Follower]:
    """Return the problem: a worker gets cells of one comparison, one after the other."""
    found: tuple[TwoAgentMDP, NDArray[np.float64], Follower] = pickle.loads(packed)
    return found
