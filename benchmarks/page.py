"""``python benchmarks/page.py`` writes the page of speeds and the README's rows from the results.

Both are made from ``results.json`` beside this file alone, and a test holds them to it, so that no
figure stands in a document that was not measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from headlines import CLAIMS, FURTHER, Claim

__all__ = ["PAGE", "README", "RESULTS", "as_page", "as_readme", "as_text"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results.json"
PAGE, README = ROOT / "docs/speed.rst", ROOT / "README.md"

# Between these lines of the README stands what is written here.
BEGIN, END = "<!-- speed: written by benchmarks/page.py -->", "<!-- end of speed -->"

NOW, BEFORE = "now", "before"

INTRODUCTION = """.. index::
   ! single: speed
   ! single: benchmark
   ! single: memory

Speed
=====

Every table is written by ``python benchmarks``, which runs this library and its peers in turn, in
one process, on the same input, and beside them, in the same turns, an earlier commit of the library
(*before*). Times are CPU seconds, medians of the runs with their quartiles; *wall* is the median by
the clock. The machine's speed drifts, so trust ratios within a case and take absolute times for
orientation. *× first* is a row's CPU time as a multiple of the first row's of its case; *answer* is
the objective, or the mean of an array, and *differs* the largest difference between the answer and
that of the first row, over all runs and entries, as a share of its largest entry. *Peak* is by how
many megabytes a run raises the memory of the process. *Absent* is what did not exist before. Growth
is fitted by least squares on logarithms, with standard errors.

"""


def seconds(time: float) -> str:
    """Return a time as a person reads it."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if time >= 0.9995 * unit:
            return f"{number(time / unit)} {name}"
    return "0 s" if time == 0 else f"{time:.2g} s"


def number(value: float) -> str:
    """Return three digits of a number, more of a large whole one."""
    if not np.isfinite(value):
        return "–" if np.isnan(value) else "∞"
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    if abs(value) >= 99.95:
        return f"{value:,.0f}" if abs(value) < 1e6 else f"{value:.3g}"
    return f"{value:.3g}"


def as_text(row: dict[str, Any]) -> str:
    """Return a case as lines for the terminal."""
    lines = [f"  {row['title']}"]
    lines += [
        "    " + "  ".join(f"{cell:<{width}}" for cell, width in cells) for cells in _lines(row)
    ]
    return "\n".join(line.rstrip() for line in lines)


def as_page(result: dict[str, Any]) -> str:
    """Return the page of the documentation."""
    head = ("job", BEFORE, NOW, "before/now", "peer", "peer/now")
    parts = [INTRODUCTION, _table(head, _summary(result))]
    for name, group in result["groups"].items():
        title = group["title"]
        parts.append(f"{title}\n{'-' * len(title)}\n\n{group['text']}\n\n")
        parts.append(_table(HEAD, [line for row in group["rows"] for line in _page_lines(row)]))
        if group["fits"]:
            parts.append(_table(FIT_HEAD, _fit_lines(group["fits"])))
        parts.append(_conditions(name, group))
    return "".join(parts).rstrip() + "\n"


def as_readme(result: dict[str, Any], text: str) -> str:
    """Return the README with its rows of speeds written anew."""
    lines = ["| job | here | beside it | ratio |", "| --- | --- | --- | --- |"]
    for claim in CLAIMS:
        if (found := _compared(result, claim)) is None:
            continue
        now, before, peer = found
        other, name = (peer, claim.name) if claim.peer else (before, "an earlier commit")
        there = "" if other is None else f"{seconds(other)}, {name}"
        lines.append(f"| {claim.text} | {seconds(now)} | {there} | {_ratio(other, now)} |")
    before_it, rest = text.split(BEGIN)
    table = "\n\n" + "\n".join(lines) + "\n\n"
    return before_it + BEGIN + table + END + rest.split(END)[1]


HEAD = (
    ("contestant", 26),
    ("CPU", 9),
    ("quartiles", 19),
    ("wall", 9),
    ("runs", 4),
    ("× first", 7),
    ("answer", 10),
    ("differs", 8),
    ("before", 9),
    ("before/now", 10),
    ("peak MB", 7),
    ("figures", 0),
)
FIT_HEAD = ("family", "contestant", "of", "in", "grows with exponent", "R²", "before")


def _lines(row: dict[str, Any]) -> Iterator[list[tuple[str, int]]]:
    """Return the cells of a case, a line a contestant, with their widths."""
    first = None
    for label, contestant in row["contestants"].items():
        entry, old = contestant.get(NOW, {}), contestant.get(BEFORE, {})
        median = _median(entry.get("cpu"))
        first = median if first is None else first
        older = _median(old.get("cpu"))
        texts = [
            label,
            *_times(entry),
            number(median / first) if median and first else "",
            _precise(entry.get("value")),
            _apart(entry.get("differs")),
            seconds(older) if older else old.get("note", ""),
            number(older / median) if older and median else "",
            _peak(entry, old),
            _figures(entry, old),
        ]
        yield [(text, width) for text, (_, width) in zip(texts, HEAD, strict=True)]


def _times(entry: dict[str, Any]) -> list[str]:
    times = entry.get("cpu")
    if not times:
        return [entry.get("note", ""), "", "", ""]
    low, high = np.quantile(times, [0.25, 0.75])
    spread = f"{seconds(low)} – {seconds(high)}" if len(times) > 1 else ""
    middle, wall = np.median(times), np.median(entry["wall"])
    return [seconds(middle), spread, seconds(wall), str(len(times))]


def _peak(entry: dict[str, Any], old: dict[str, Any]) -> str:
    text = number(entry["memory"]) if "memory" in entry else ""
    return f"{text} [before {number(old['memory'])}]" if "memory" in old else text


def _apart(share: float | None) -> str:
    return "" if share is None else f"{share:.0e}" if share else "0"


def _precise(value: float | None) -> str:
    return "" if value is None else f"{value:.7g}"


def _figures(entry: dict[str, Any], old: dict[str, Any]) -> str:
    """Return further numbers, medians (and the largest) of the runs, with what they were before."""
    parts = []
    for name, values in entry.get("figures", {}).items():
        text = f"{name} {number(_median(values) or 0.0)}"
        if len(values) > 1 and max(values) > min(values):
            text += f" (at most {number(max(values))})"
        if earlier := old.get("figures", {}).get(name):
            text += f" [before {number(_median(earlier) or 0.0)}]"
        parts.append(text)
    return "; ".join(parts)


def _page_lines(row: dict[str, Any]) -> Iterator[list[str]]:
    """Return the cells of a case for the page: its title above its contestants."""
    each = (f"{key} = {_size(value)}" for key, value in row["sizes"].items())
    sizes = ", ".join(size for size in each if size not in row["title"])
    title = row["title"] if not sizes else f"{row['title']} ({sizes})"
    yield [f"**{title}**"]
    yield from ([text for text, _ in cells] for cells in _lines(row))


def _size(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _fit_lines(fits: list[dict[str, Any]]) -> Iterator[list[str]]:
    older = {_fit_key(fit): fit for fit in fits if fit["where"] == BEFORE}
    for fit in fits:
        if fit["where"] == NOW:
            old = older.get(_fit_key(fit))
            yield [
                fit["family"],
                fit["contestant"],
                fit["of"],
                f"{fit['over']} = {fit['from']:,.0f} – {fit['to']:,.0f}",
                _exponent(fit),
                f"{fit['r2']:.3f}",
                "" if old is None else _exponent(old),
            ]


def _fit_key(fit: dict[str, Any]) -> tuple[str, str, str]:
    return fit["family"], fit["contestant"], fit["of"]


def _exponent(fit: dict[str, Any]) -> str:
    text = f"{fit['exponent']:.2f} ± {fit['error']:.2f}"
    return text + (" × a unit" if fit["a unit"] else "")


def _table(head: tuple[Any, ...], lines: Iterable[list[str]]) -> str:
    """Return a table without the columns that are empty."""
    names = [name if isinstance(name, str) else name[0] for name in head]
    lines = list(lines)
    kept = [i for i in range(len(names)) if i == 0 or any(line[i:] and line[i] for line in lines)]
    text = [".. csv-table::", "   :header-rows: 1", ""]
    for line in [names, *lines]:
        cells = [line[i] for i in kept if line[i:]]
        text.append("   " + ", ".join('"' + cell.replace("`", "'") + '"' for cell in cells))
    return "\n".join(text) + "\n\n"


def _conditions(name: str, group: dict[str, Any]) -> str:
    what = group["measured"]
    packages = ", ".join(f"{one} {two}" for one, two in what["versions"].items())
    commits = what["commits"]
    against = f", before: commit {commits[BEFORE]}" if BEFORE in commits else ""
    return (
        f"``python benchmarks {name}``, {group['seconds']:.0f} s on {what['date']}, commit "
        f"{commits[NOW]}{against}; {what['machine']}; Python {what['python']}, {packages}.\n\n"
    )


def _summary(result: dict[str, Any]) -> Iterator[list[str]]:
    """Return the lines of the table of all claims."""
    for claim in (*CLAIMS, *FURTHER):
        if (found := _compared(result, claim)) is not None:
            now, before, peer = found
            yield [
                claim.text,
                "" if before is None else seconds(before),
                seconds(now),
                _ratio(before, now),
                "" if peer is None else f"{seconds(peer)}, {claim.peer}",
                _ratio(peer, now),
            ]


def _ratio(other: float | None, now: float) -> str:
    return "" if other is None else f"{number(other / now)} ×"


def _compared(
    result: dict[str, Any], claim: Claim
) -> tuple[float, float | None, float | None] | None:
    """Return median CPU seconds of a claim: now, before, of its peer; None if not measured."""
    if claim.group not in result["groups"]:
        return None
    rows = {row["title"]: row for row in result["groups"][claim.group]["rows"]}
    contestants = rows[claim.title]["contestants"]
    entry = contestants[claim.contestant]
    now = _median(entry[NOW].get("cpu"))
    if now is None:
        return None
    peer = _median(contestants[claim.peer][NOW].get("cpu")) if claim.peer else None
    return now, _median(entry.get(BEFORE, {}).get("cpu")), peer


def _median(values: list[float] | None) -> float | None:
    return float(np.median(values)) if values else None


def main() -> None:
    """Write both documents."""
    result = json.loads(RESULTS.read_text())
    PAGE.write_text(as_page(result))
    README.write_text(as_readme(result, README.read_text()))


if __name__ == "__main__":
    main()
