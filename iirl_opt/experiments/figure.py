"""Figures: a plan of cells, a computation, what it is summed up to, and what it must show.

A *statement* is a sentence of the paper about its own picture, decided by code on our numbers. A
`Figure` is one value that a module of this package defines; to add one, add its place to `FIGURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack

from iirl_opt.brief import in_brief
from iirl_opt.errors import InvalidArgument
from iirl_opt.experiments.sweep import Cell, CellResult, Computation, Sweep, run_cells
from iirl_opt.spelling import allowed_names
from iirl_opt.versions import versions

__all__ = ["FIGURES", "Figure", "Statement", "document", "find_figure", "run_figure"]

# Where each figure is defined: module of this package and name.
FIGURES: Mapping[int | str, tuple[str, str]] = {
    1: ("posterior", "FIGURE_1"),
    3: ("learning", "FIGURE_3"),
    4: ("trajectories", "FIGURE_4"),
    6: ("commitment", "FIGURE_6"),
    7: ("commitment", "FIGURE_7"),
    "proposition-1": ("proposition", "PROPOSITION_1"),
    "transfer": ("transfer", "TRANSFER"),
}


@dataclass(frozen=True)
class Statement:
    """A sentence about a figure, whether it holds, and the numbers that decide it."""

    text: str
    holds: bool
    evidence: str


@dataclass(frozen=True)
class Figure:
    """An experiment of the paper.

    Attributes
    ----------
    number : in the paper, or a name: of a statement that is tried out, of the paper or ours.
    title : what the picture shows.
    source : where in the paper, and what is ours.
    scales : for each scale, the cells of a seed.
    compute : the computation of one cell.
    summarise : what the picture shows and the document keeps, JSON-able, from all results.
    judge : the paper's statements, decided on all results.
    draw : writes the picture of a summary to a path; needs matplotlib.

    Examples
    --------
    >>> figure = find_figure(7)
    >>> figure.title, list(figure.scales)
    ('Algorithm 3 against an ε-greedy follower', ['small', 'paper'])
    >>> cells = figure.cells("small", seed=0)
    >>> len(cells), str(cells[0])
    (176, 'maze-maker 0, epsilon-greedy, epsilon 1.0')
    """

    number: int | str
    title: str
    source: str
    scales: Mapping[str, Callable[[int], list[Cell]]]
    compute: Computation
    summarise: Callable[[Sequence[CellResult]], dict[str, Any]]
    judge: Callable[[Sequence[CellResult]], list[Statement]]
    draw: Callable[[Mapping[str, Any], Path], Path]

    __repr__ = in_brief

    def cells(self, scale: str, seed: int) -> list[Cell]:
        """Return the cells of a scale.

        Raises
        ------
        InvalidArgument
            There is no such scale, or the seed is negative.
        """
        if scale not in self.scales:
            raise InvalidArgument(
                "scale", f"is {scale!r}", allowed_names(scale, self.scales), scale
            )
        if seed < 0:
            raise InvalidArgument("seed", f"is {seed}", "a whole number ≥ 0", seed)
        return self.scales[scale](seed)


def find_figure(number: int | str) -> Figure:
    """Return a figure of the paper, by its number or name.

    Raises
    ------
    InvalidArgument
        The figure is not there: names those that are.

    **Cost** the import of the figure's module.

    Examples
    --------
    >>> find_figure(7).title
    'Algorithm 3 against an ε-greedy follower'
    >>> find_figure(2)
    Traceback (most recent call last):
        ...
    iirl_opt.errors.InvalidArgument: figure is 2; allowed 1, 3, 4, 6, 7, proposition-1, transfer
    """
    wanted = int(number) if str(number).isdecimal() else number
    if wanted not in FIGURES:
        raise InvalidArgument("figure", f"is {number}", allowed_names(number, FIGURES), number)
    module, name = FIGURES[wanted]
    figure: Figure = getattr(import_module(f"iirl_opt.experiments.{module}"), name)
    return figure


def run_figure(
    figure: Figure, scale: str = "small", *, seed: int = 0, **how: Unpack[Sweep]
) -> dict[str, Any]:
    """Compute a figure and return its document, JSON-able and the same every time.

    Parameters
    ----------
    scale : one of the figure's scales.
    seed : of its games and runs.
    how : jobs, executor, checkpoint, resume, restart, progress; see
        `iirl_opt.experiments.sweep.run_cells`.

    **Cost** that of `run_cells` for the cells of this scale.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> coins = Figure(
    ...     number="coins",
    ...     title="Two coins",
    ...     source="ours",
    ...     scales={"small": lambda seed: [Cell("coins", coin, "toss", seed) for coin in "ab"]},
    ...     compute=lambda cell: {"heads": int(cell.rng().integers(2))},
    ...     summarise=lambda results: {"heads": sum(one.values["heads"] for one in results)},
    ...     judge=lambda results: [],
    ...     draw=lambda summary, path: path,
    ... )
    >>> with ThreadPoolExecutor(1) as threads:
    ...     found = run_figure(coins, executor=threads)
    >>> found["title"], found["summary"]
    ('Two coins', {'heads': 2})
    """
    about = {"figure": figure.number, "scale": scale, "seed": seed, "versions": versions()}
    results = run_cells(figure.cells(scale, seed), figure.compute, about=about, **how)
    facts = {
        "title": figure.title,
        "source": figure.source,
        **about,
        "statements": [asdict(statement) for statement in figure.judge(results)],
        "summary": figure.summarise(results),
    }
    return document(results, facts)


def document(results: Sequence[CellResult], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts and the values of all cells as one JSON-able document."""
    cells = [{**asdict(result.cell), "values": result.values} for result in results]
    return {**facts, "cells": cells}
