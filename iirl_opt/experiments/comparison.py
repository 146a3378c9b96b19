"""Comparisons: several learners on a game file of the user's, run for run from one beginning.

A cell is one run of one learner, computed as in Figure 3; the follower is that of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from iirl_opt.experiments.figure import document
from iirl_opt.experiments.learning import compute, summarise_regrets
from iirl_opt.experiments.sweep import Cell, Sweep, run_cells
from iirl_opt.library.learners import check_learner
from iirl_opt.versions import versions

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
        There is no such learner.
    """
    for name in learners:
        check_learner(name)
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
    how : jobs, checkpoint, resume, progress; see `iirl_opt.experiments.sweep.run_cells`.

    Raises
    ------
    InvalidArgument
        A learner is named twice.
    """
    about = {"command": "compare", "file": Path(cells[0].game).name, "versions": versions()}
    results = run_cells(cells, compute, about=about, **how)
    return document(results, {**about, "summary": summarise_regrets(results)})
