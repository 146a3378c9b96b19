"""A figure is found by its number, and its document is complete and repeatable."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.experiments.commitment import FIGURE_6
from iirl_opt.experiments.figure import FIGURES, find_figure, run_figure
from iirl_opt.experiments.sweep import Cell


def tiny(seed: int) -> list[Cell]:
    sizes = {"size": [3, 2, 2]}
    return [Cell(6, "small", "boltzmann", seed, {"beta": beta, **sizes}) for beta in (0.0, 5.0)]


FIGURE = replace(FIGURE_6, scales={"tiny": tiny, "other": tiny})


@pytest.mark.parametrize("number", FIGURES)
def test_every_figure_is_where_it_is_said_to_be(number: int | str) -> None:
    figure = find_figure(number)
    assert figure.number == number
    assert {"small", "paper"} <= figure.scales.keys()
    for scale in figure.scales:
        cells, others = figure.cells(scale, 0), figure.cells(scale, 1)
        assert len({cell.key for cell in cells}) == len(cells) == len(others)
        assert {cell.key for cell in cells} != {cell.key for cell in others}
        assert {cell.figure for cell in cells} == {number}


def test_an_unknown_figure_scale_or_seed_is_refused_with_what_there_is() -> None:
    with pytest.raises(InvalidArgument, match=r"figure is 2; allowed .*6, 7"):
        find_figure(2)
    with pytest.raises(InvalidArgument, match="scale is 'huge'; allowed tiny, other"):
        FIGURE.cells("huge", 0)
    with pytest.raises(InvalidArgument, match="seed is -1"):
        FIGURE.cells("tiny", -1)


def test_a_document_says_what_was_asked_and_is_the_same_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    document = run_figure(FIGURE, "tiny", seed=3, checkpoint=path)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert (document["figure"], document["scale"], document["seed"]) == (6, "tiny", 3)
    assert {"iirl-opt", "numpy"} <= document["versions"].keys()
    assert [cell["parameters"]["beta"] for cell in document["cells"]] == [0, 5]
    assert all(statement["holds"] for statement in document["statements"])
    path.write_text(path.read_text()[:-20])
    assert run_figure(FIGURE, "tiny", seed=3, checkpoint=path, resume=True) == document
    with pytest.raises(FileProblem, match="seed 3, now it is 4"):
        run_figure(FIGURE, "tiny", seed=4, checkpoint=path, resume=True)
    with pytest.raises(FileProblem, match="scale 'tiny', now it is 'other'"):
        run_figure(FIGURE, "other", seed=3, checkpoint=path, resume=True)
