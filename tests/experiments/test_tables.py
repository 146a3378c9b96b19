"""Tidy tables: a row an episode, a level or a state, and what is written reads back equal."""

import json
import math
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from iirl_opt.errors import InvalidArgument
from iirl_opt.experiments import Cell, CellResult, tidy, write_tidy

FACTS = {"command": "compare", "file": "ä, b.toml", "versions": {"numpy": "2"}}


def result(values: object, method: str = "active", **parameters: object) -> CellResult:
    return CellResult(Cell("compare", 'ä, "b".toml', method, 3, parameters), values, 0.5)  # type: ignore[arg-type]


RESULTS = [
    result({"optimal_value": 0.1 + 0.2, "regrets": [1e-300, 1.0], "holds": True}, size=[3, 2], n=1),
    result({"optimal_value": None, "regrets": [0.0], "holds": False}, "other", n=2.5),
]


def test_a_row_is_an_episode_with_all_that_its_cell_says() -> None:
    rows = tidy(RESULTS)
    assert " ".join(rows[0]) == "figure game method seed size n episode optimal_value regret holds"
    assert [(row["episode"], row["regret"]) for row in rows] == [(1, 1e-300), (2, 1.0), (1, 0.0)]
    assert [row["size"] for row in rows] == ["[3, 2]", "[3, 2]", None]
    assert "seconds" not in rows[0]


@pytest.mark.oracle
def test_what_is_written_reads_back_equal(tmp_path: Path) -> None:
    cells = [{**vars(r.cell), "values": r.values} for r in RESULTS]
    document = {**FACTS, "summary": {}, "cells": cells}
    rows = tidy(document)
    assert rows == tidy(RESULTS)
    by_csv, by_parquet = write_tidy(document, tmp_path / "table")
    assert pl.read_parquet(by_parquet).to_dicts() == rows
    assert pl.read_csv(by_csv).to_dicts() == rows
    found = pd.read_csv(by_csv).to_dict("records")
    blank = [{k: None if v != v else v for k, v in row.items()} for row in found]
    assert blank == rows
    (metadata,) = [pl.read_parquet_metadata(by_parquet)["iirl_opt"]]
    assert json.loads(metadata) == FACTS
    before = by_parquet.read_bytes()
    assert write_tidy(document, tmp_path / "table")[1].read_bytes() == before


def test_cells_without_lists_are_a_row_each_and_empty_lists_lose_none() -> None:
    assert len(tidy([result({"x": 1}), result({"x": 2}, "b"), result({"x": []}, "c")])) == 3
    assert tidy([]) == []


@pytest.mark.parametrize(
    ("values", "parameters", "message"),
    [
        ({"regrets": [1], "more": [1]}, {}, "regrets has 1, more has 1"),
        ({"a": [1], "b": [1, 2]}, {}, "a has 1, b has 2"),
        ({"seed": 1}, {}, "two columns called 'seed'"),
        ({"x": 1}, {"x": 2}, "two columns called 'x'"),
    ],
)
def test_what_makes_no_table_is_told(
    values: object, parameters: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        tidy([result(values, **parameters)])


def test_what_is_no_sweep_is_told() -> None:
    with pytest.raises(InvalidArgument, match="has no cells"):
        tidy({"summary": math.inf})
    with pytest.raises(InvalidArgument, match="holds a int"):
        tidy([3])  # type: ignore[list-item]
