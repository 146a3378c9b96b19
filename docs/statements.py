"""Links from docstrings to the statements that they rest on.

A docstring names its theorem, equation or algorithm under **Source**. Here each name becomes a link
to the row of the statement in *The mathematics*, which links to the code: so both ways.
"""

import re
from typing import Any

__all__ = ["link", "setup"]

NAME = re.compile(
    r"(?<![`\w-])(Theorem [123]|Lemmas? [123]|Corollary [12]|Proposition 1|Algorithms? [1-4])"
    r"(?![`\w])"
)
BEGIN = re.compile(r"\s*(?:\*\*Source\*\*|Sources?:)")


def link(lines: list[str]) -> None:
    """Link the statements in the paragraphs of a docstring that say its source, in place."""
    inside = False
    for i, line in enumerate(lines):
        inside = bool(line.strip()) and (inside or "**Source**" in line or bool(BEGIN.match(line)))
        if inside:
            lines[i] = NAME.sub(_role, line)


def _role(name: re.Match[str]) -> str:
    label = name[1].lower().replace("s ", " ").replace(" ", "-")
    return f":ref:`{name[1]} <statement-{label}>`"


def _on_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: Any) -> None:
    link(lines)


def setup(app: Any) -> dict[str, bool]:
    """Join the build, behind what else changes docstrings."""
    app.connect("autodoc-process-docstring", _on_docstring, priority=900)
    return {"parallel_read_safe": True}
