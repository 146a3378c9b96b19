"""``python benchmarks [GROUP …]``: time this library and its peers, and write what the page shows.

Ours and every peer run in turn in one process on the same input, and in the same turns an earlier
checkout of the library with ``--before``, so that ratios within a row hold when the speed of the
machine drifts; absolute times are for orientation. ``--out FILE`` keeps the results of other
groups that it holds, so the table may be measured piece by piece; ``python benchmarks/page.py``
writes the page and the README's rows from ``benchmarks/results.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
from contextlib import ExitStack, closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cases import GROUPS, group
from desk import ENVIRONMENT, RemoteDesk
from measure import BEFORE, LEFT, NOW, TROUBLES, Place, fits, measured
from page import as_text

PACKAGES = ("cvxpy", "highspy", "numpy", "scipy", "quantecon", "numba")
ROOT = Path(__file__).resolve().parents[1]

# Answers that differ by more are no answers to the same question.
AGREEMENT = 1e-6


def run_group(name: str, places: dict[str, Place], quick: bool) -> tuple[dict[str, Any], int]:
    """Measure the cases of a group, printing each when it is done; return also what failed."""
    began, module = time.perf_counter(), group(name)
    rows, failures = [], 0
    for index, case in enumerate(module.cases(quick)):
        try:
            rows.append(measured(name, index, case, places, quick))
        except TROUBLES as cause:
            print(f"  {case.title}: {cause}", flush=True)
            failures += 1
            continue
        print(as_text(rows[-1]), flush=True)
    found = []
    if module.GROWTH:
        found = fits(rows, module.GROWTH, getattr(module, "EXPONENTIAL", False))
    result = {
        "title": module.TITLE,
        "text": (module.__doc__ or "").strip(),
        "rows": rows,
        "fits": found,
        "seconds": round(time.perf_counter() - began, 1),
    }
    return result, failures + count_failures(rows)


def count_failures(rows: list[dict[str, Any]]) -> int:
    """Return how many contestants of this checkout ended in an error, or with another answer.

    It must have all that is measured; what takes too long is no error.
    """
    entries = (one.get(NOW, {}) for row in rows for one in row["contestants"].values())
    return sum(
        not entry.get("note", LEFT).startswith(LEFT) or entry.get("differs", 0.0) > AGREEMENT
        for entry in entries
    )


def conditions(checkouts: dict[str, Path]) -> dict[str, Any]:
    """Return what was measured on what."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commits": {where: _commit(path) for where, path in checkouts.items()},
        "machine": f"{_processor()}, {os.cpu_count()} cores, one thread",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
    }


def main() -> None:
    """Run the groups that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS], metavar="GROUP")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: about a minute in all")
    parser.add_argument("--out", type=Path, help="write or update a result file (JSON)")
    parser.add_argument("--before", type=Path, help="a checkout to put beside this one")
    given = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    checkouts, failures = {NOW: ROOT}, 0
    if given.before:
        checkouts[BEFORE] = given.before.resolve()
    result: dict[str, Any] = {"groups": {}}
    if given.out and given.out.exists():
        result = json.loads(given.out.read_text())
    with ExitStack() as stack:
        places: dict[str, Place] = {
            where: stack.enter_context(closing(RemoteDesk(path)))
            for where, path in checkouts.items()
        }
        for name in given.groups or GROUPS:
            print(f"\n{name}", flush=True)
            found, failed = run_group(name, places, given.quick)
            result["groups"][name] = {**found, "measured": conditions(checkouts)}
            print(f"  {found['seconds']} s", flush=True)
            failures += failed
            if given.out:
                done = result["groups"]
                result["groups"] = {one: done[one] for one in GROUPS if one in done}
                given.out.write_text(json.dumps(result, indent=1) + "\n")
    if failures:
        raise SystemExit(f"{failures} contestants failed, or differ by more than {AGREEMENT:g}")


def _commit(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=7"],
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or "no commit"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    main()
