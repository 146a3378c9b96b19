"""Tidy tables: a row an episode, a level or a state, and what is written reads back equal."""

import json
import math
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from iirl_opt.errors import InvalidArgument
from iirl_opt.experiments import Cell, CellResult, tidy, write_tidy
from iirl_opt.experiments.figure import document
from iirl_opt.versions import versions

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


# As names of files, games and methods may be, and what readers like to take for something else.
LABELS = [
    *("a,b", 'q"q', "two\nlines", "c\rr", "d\r\nd", '=HYPERLINK("http://x")', "nul\0", "", " x "),
    *(
        "NA",
        "nan",
        "null",
        "None",
        "true",
        "1",
        "1e3",
        "#x",
        "\ufeffx",
        "é😀",
        "\u2028",
        "'",
        "\\",
        '""',
    ),
]
HOSTILE = [
    CellResult(
        Cell("mine", label, "m", seed, {"again": label, "n": seed}),
        {"x": 0.1 * 3.0**-seed, "no": None, "holds": seed % 2 == 0, "some": seed % 3 or None},
        0.0,
    )
    for seed, label in enumerate(LABELS)
]
# What no type of a column holds: half a surrogate pair, unequal kinds, more than 64 bits.
ODD = [
    CellResult(Cell(figure, game, "m", 0, {"n": n}), {"x": x}, 0.0)
    for figure, game, n, x in ((7, "\udcff.toml", 1, 1), ("7", '"', 2.5, 2.5), (True, "", 2**70, 3))
]


def read_back(files: list[Path]) -> dict[str, list[dict[str, Any]]]:
    """What pandas and polars read from either file, by the types that the metadata says."""
    by_csv, by_parquet, metadata = files
    columns = json.loads(metadata.read_text())["columns"]
    names = {"string": pl.String, "int64": pl.Int64, "double": pl.Float64, "bool": pl.Boolean}
    unknown = {column["name"]: [""] for column in columns if column["type"] != "string"}
    frames = [
        pd.read_csv(
            by_csv,
            dtype={column["name"]: f"{column['type']}[pyarrow]" for column in columns},
            keep_default_na=False,
            na_values=unknown,
        ),
        pd.read_parquet(by_parquet, dtype_backend="pyarrow"),
    ]
    found = {
        "csv, polars": pl.read_csv(by_csv, schema={c["name"]: names[c["type"]] for c in columns}),
        "parquet, polars": pl.read_parquet(by_parquet),
    } | dict(zip(("csv, pandas", "parquet, pandas"), map(pl.from_pandas, frames), strict=True))
    as_json = {column["name"] for column in columns if column.get("json")}
    return {
        reader: [
            {k: json.loads(v) if k in as_json else v for k, v in row.items()}
            for row in frame.to_dicts()
        ]
        for reader, frame in found.items()
    }


@pytest.mark.oracle
@pytest.mark.parametrize("results", [RESULTS, HOSTILE, ODD, []], ids=["two", "labels", "odd", "no"])
def test_what_is_written_reads_back_equal(results: list[CellResult], tmp_path: Path) -> None:
    whole = {**FACTS, "summary": {}, "cells": document(results, {})["cells"]}
    rows = tidy(whole)
    assert rows == tidy(results)
    files = write_tidy(whole, tmp_path / "table")
    assert [path.name for path in files] == ["table.csv", "table.parquet", "table.meta.json"]
    assert sorted(tmp_path.iterdir()) == sorted(files)
    for reader, found in read_back(files).items():
        # pandas takes an empty field of a text for an empty text, quoted or not.
        blank = "" if reader == "csv, pandas" else None
        texts = {k for row in found for k, v in row.items() if isinstance(v, str)}
        known = [
            {k: blank if v is None and k in texts else v for k, v in row.items()} for row in rows
        ]
        assert found == known, reader
    before = [path.read_bytes() for path in files]
    assert [path.read_bytes() for path in write_tidy(whole, tmp_path / "table")] == before


@pytest.mark.oracle
def test_metadata_say_what_no_column_does_beside_csv_and_within_parquet(tmp_path: Path) -> None:
    whole = {**FACTS, "summary": {}, "cells": document([*RESULTS, *HOSTILE], {})["cells"]}
    (tmp_path / "table.json").write_text(json.dumps(whole, indent=1))
    _, by_parquet, beside = write_tidy(whole, tmp_path / "table")
    found = json.loads(beside.read_text())
    assert found == json.loads(pl.read_parquet_metadata(by_parquet)["iirl_opt"])
    assert {name: found[name] for name in FACTS} == FACTS
    assert found["seeds"] == [3, *(seed for seed in range(len(LABELS)) if seed != 3)]
    assert found["rows"] == 3 + len(LABELS)
    read = json.dumps(json.loads((tmp_path / "table.json").read_text()), sort_keys=True)
    assert found["document_sha256"] == sha256(read.encode()).hexdigest()
    # Results alone have the versions that are installed.
    of_results = json.loads(write_tidy(RESULTS, tmp_path / "mine")[-1].read_text())
    assert of_results["versions"] == versions()


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


WHOLE = document(RESULTS, FACTS)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"summary": math.inf}, "has no cells"),
        ({"cells": "none"}, "has no cells"),
        ({"cells": [3]}, r"cells\[0\] is 3"),
        ({"cells": [WHOLE["cells"][0], {"game": 1}]}, r"cells\[1\] has no 'figure'"),
        ({"cells": [{**WHOLE["cells"][0], "values": None}]}, r"cells\[0\]\['values'\] is None"),
        ({"cells": [{**WHOLE["cells"][0], "parameters": {1: 2}}]}, "a mapping of texts"),
        ([3], "holds a int"),
        (None, "results is None"),
        ([result({"x": {1, 2}})], r"'active' has {1, 2} as 'x', which is no JSON"),
        ([result({"x": [[math.nan]]})], "which is no JSON"),
        ([result({"x": 1}), result({"y": 1}, x=1)], "a column called 'x' of two kinds"),
    ],
)
def test_what_is_no_sweep_is_told(found: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=message):
        tidy(found)
    with pytest.raises(InvalidArgument, match=message):
        write_tidy(found, tmp_path / "table")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("found", "name", "message"),
    [
        ([result({"": 1})], "table", "the column ''"),
        ([result({"\ud800": 1})], "table", r"the column '\\ud800'"),
        ({**WHOLE, "summary": math.nan}, "table", "document cannot be written as JSON"),
        (RESULTS, "", "path is"),
        (RESULTS, "table.CSV", "path is"),
        (RESULTS, "a\0b", "path"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(
    found: Any, name: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        write_tidy(found, f"{tmp_path}/{name}")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_place_of_any_file_is_found_before_one_is_written(tmp_path: Path) -> None:
    (tmp_path / "table.meta.json").mkdir()
    with pytest.raises(IsADirectoryError, match="meta"):
        write_tidy(RESULTS, tmp_path / "table")
    with pytest.raises(FileNotFoundError):
        write_tidy(RESULTS, tmp_path / "nowhere" / "table")
    assert [path.name for path in tmp_path.iterdir()] == ["table.meta.json"]
