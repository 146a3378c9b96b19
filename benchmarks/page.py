"""``python benchmarks/page.py`` writes the page of speeds and the README's rows from the results.

Both are made from ``results.json`` beside this file alone, and a test holds them to it, so that no
figure stands in a document that was not measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["CLAIMS", "PAGE", "README", "RESULTS", "as_page", "as_readme", "as_text"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results.json"
PAGE, README = ROOT / "docs/speed.rst", ROOT / "README.md"

# Between these lines of the README stands what is written here.
BEGIN, END = "<!-- speed: written by benchmarks/page.py -->", "<!-- end of speed -->"

NOW, BEFORE = "now", "before"

INTRODUCTION = """Speed
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


class Claim(NamedTuple):
    """A row of the README: a job, whose time is put beside another's.

    Attributes
    ----------
    text : the job.
    group, title, contestant : where it was measured.
    against : the contestant to compare with; ``"before"`` for the earlier commit; None for none.
    name : of what it is compared with.
    """

    text: str
    group: str
    title: str
    contestant: str
    against: str | None = None
    name: str = ""


CLAIMS = (
    Claim(
        "Algorithm 1, 30 episodes of Maze-Maker (392 states, 6×4 actions)",
        "algorithm1",
        "Maze-Maker, 30 episodes",
        "InteractiveIRL",
        BEFORE,
        "an earlier commit",
    ),
    Claim(
        "the joint optimum of 100,000 states, 16 joint actions, with all its ties decided",
        "planning",
        "random, 5 successors, S = 100,000",
        "ours",
        "QuantEcon",
        "QuantEcon, without",
    ),
    Claim(
        "values of a policy, 4,000 states without structure",
        "evaluation",
        "evaluate, S = 4,000, γ = 0.9",
        "evaluate",
        "sparse LU",
        "SciPy's sparse LU",
    ),
    Claim(
        "whether a reward explains an answer, 4,000 states",
        "evaluation",
        "contains, S = 4,000, γ = 0.9",
        "contains",
        "sparse LU",
        "SciPy's sparse LU",
    ),
    Claim(
        "a feasible reward after 10 episodes of Maze-Maker",
        "feasible",
        "Maze-Maker, t = 10",
        "maximise",
        "explicit rows, highspy",
        "the printed rows, bare HiGHS",
    ),
    Claim(
        "the same on a random game of 200 states",
        "feasible",
        "paper's random game, t = 10",
        "maximise",
        "explicit rows, highspy",
        "the printed rows, bare HiGHS",
    ),
    Claim(
        "the occupancy program of 1,000 states, 16 joint actions",
        "occupancy",
        "random, S = 1,000",
        "maximise",
        "highspy, simplex",
        "bare HiGHS",
    ),
    Claim(
        "an occupancy program again for a reward nearby, 200 states",
        "live",
        "paper's random game, occupancy",
        "hot",
        "highspy, cold",
        "bare HiGHS",
    ),
    Claim(
        "the active learner, 30 episodes of 200 states",
        "active",
        "paper's random game, 30 episodes",
        "ActiveIRL",
        BEFORE,
        "an earlier commit",
    ),
    Claim(
        "a best deterministic commitment, proved, 14 states, A = B = 3, a Boltzmann follower",
        "search",
        "S = 14, A = B = 3",
        "BranchAndBound",
        BEFORE,
        "an earlier commit",
    ),
    Claim(
        "a proposal of the posterior after 10 commitments in Maze-Maker",
        "sampling",
        "Maze-Maker, t = 10",
        "compiled",
        "NumPy",
        "the same in NumPy",
    ),
    Claim(
        "`import iirl_opt`",
        "startup",
        "processes",
        "import iirl_opt",
        "import cvxpy",
        "`import cvxpy`",
    ),
)


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
    parts = [INTRODUCTION]
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
        if claim.group not in result["groups"]:
            continue
        here, there = _compared(result, claim)
        if there is None:
            lines.append(f"| {claim.text} | {seconds(here)} | | |")
        else:
            other = f"{seconds(there)}, {claim.name}"
            lines.append(f"| {claim.text} | {seconds(here)} | {other} | {number(there / here)} × |")
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1]


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
            number(entry["memory"]) if "memory" in entry else "",
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


def _compared(result: dict[str, Any], claim: Claim) -> tuple[float, float | None]:
    """Return the median CPU seconds of a claim, and of what it is compared with."""
    rows = {row["title"]: row for row in result["groups"][claim.group]["rows"]}
    contestants = rows[claim.title]["contestants"]
    here = _median(contestants[claim.contestant][NOW]["cpu"])
    assert here is not None
    if claim.against is None:
        return here, None
    old = claim.against == BEFORE
    entry = contestants[claim.contestant][BEFORE] if old else contestants[claim.against][NOW]
    return here, _median(entry["cpu"])


def _median(values: list[float] | None) -> float | None:
    return float(np.median(values)) if values else None


def main() -> None:
    """Write both documents."""
    result = json.loads(RESULTS.read_text())
    PAGE.write_text(as_page(result))
    README.write_text(as_readme(result, README.read_text()))


if __name__ == "__main__":
    main()
