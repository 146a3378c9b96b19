"""Which stories of the gallery use a public name: read from the scripts, none of which is run."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import iirl_opt

EXAMPLES = Path(__file__).parents[2] / "examples"


def stories() -> dict[int, list[str]]:
    """Return a link to each story by the identity of the public objects that it uses."""
    found: dict[int, list[str]] = {}
    for script in sorted(EXAMPLES.glob("*/*.py")):
        tree = ast.parse(script.read_text("utf-8"))
        title = (ast.get_docstring(tree) or script.stem).splitlines()[0]
        page = script.relative_to(EXAMPLES).with_suffix("").as_posix()
        for used in {id(value): value for value in _used(tree)}:
            found.setdefault(used, []).append(f":doc:`{title} </auto_examples/{page}>`")
    return found


def _used(tree: ast.Module) -> Iterator[Any]:
    """Yield what a script takes from the library: ``iirl.solve``, or what it imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            names = ast.unparse(node).split(".")
            if names[0] == "iirl":
                yield _object("iirl_opt", names[1:])
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("iirl_opt"):
            for alias in node.names:
                yield _object(str(node.module), [alias.name])


def _object(module: str, names: list[str]) -> Any:
    """Return what stands under a path of names, or the last that does."""
    value: Any = iirl_opt
    for name in [*module.split(".")[1:], *names]:
        value = getattr(value, name, value)
    return value
