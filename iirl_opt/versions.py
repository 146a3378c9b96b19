"""Versions: of the packages that results may depend on, for checkpoints, documents and reports."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version

__all__ = ["PACKAGES", "show_versions", "version_of", "versions", "versions_in_words"]

# What limits the threads of numerical libraries.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

PACKAGES = ("iirl-opt", "numpy", "scipy", "cvxpy", "highspy")


def versions() -> dict[str, str]:
    """Return the versions that results may depend on, by package."""
    return {name: version_of(name) for name in PACKAGES}


def version_of(package: str) -> str:
    """Return the version of an installed package, or ``unknown``."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def show_versions() -> None:
    """Print what a report of a fault should say: versions, the machine, and which extras are there.

    Nothing of it is imported for this. On the command line: ``iirl-opt --versions``.

    **Cost** a look at the metadata of each package.

    Examples
    --------
    >>> show_versions()  # doctest: +ELLIPSIS
    iirl-opt ...
    Python ...
    """
    print(versions_in_words())


def versions_in_words() -> str:
    """Return what `show_versions` prints."""
    cores = os.cpu_count() or 0
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    limits = {name: os.environ[name] for name in THREADS if name in os.environ}
    needed, extras = _requirements()
    lines = {
        "iirl-opt": version_of("iirl-opt"),
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "cores": f"{cores}, {usable} of them usable",
        "threads": ", ".join(f"{k}={v}" for k, v in limits.items()) or "no limit is set",
        **{name: version_of(name) for name in (needed or PACKAGES[1:])},
    }
    for extra, names in extras.items():
        found = [(name, version_of(name)) for name in names]
        lines[f"[{extra}]"] = ", ".join(
            f"{name} {'absent' if known == 'unknown' else known}" for name, known in found
        )
    width = max(map(len, lines))
    return "\n".join(f"{name:{width}}  {said}" for name, said in lines.items())


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Return the packages that this one needs, and by extra those that it can use."""
    try:
        declared = requires("iirl-opt") or []
    except PackageNotFoundError:
        return [], {}
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in declared:
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", line)
        if extra is None:
            needed.append(name)
        elif extra[1] != "dev":
            extras.setdefault(extra[1], []).append(name)
    return needed, dict(sorted(extras.items()))
