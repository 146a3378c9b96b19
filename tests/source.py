"""The package as text: every file of it parsed once, for all tests that read it."""

import ast
from functools import cache
from pathlib import Path

import iirl_opt

__all__ = ["PACKAGE", "parsed"]

PACKAGE = Path(iirl_opt.__file__).parent


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file, which nobody changes."""
    return ast.parse(path.read_text("utf-8"))
