"""Versions: of the packages that results may depend on, for checkpoints and documents."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["PACKAGES", "version_of", "versions"]

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
