"""Annotations as a reader wants them: short names, public ones linked, aliases by what they hold.

An *annotation* is a string, as ``from __future__ import annotations`` leaves it, or an object. Each
name in it is looked up in the module where it stands. A public name becomes a link to its page, a
name of another library one by the list of ``names.py``; an alias of this library is written out.
"""

import re
import sys
import types
import typing
from typing import Any

from names import OUTSIDE, PUBLIC
from sphinx.util.typing import stringify_annotation

WORD = re.compile(r"""(?P<text>"[^"]*"|'[^']*')|(?P<name>[A-Za-z_][\w.]*)""")
SHORT = {"np": "numpy", "cp": "cvxpy", "nx": "networkx", "st": "hypothesis.strategies"}
# Aliases that have a page of their own; others are written out, if that is short.
EVERYWHERE = {"ArrayLike": "numpy.typing.ArrayLike", "NDArray": "numpy.ndarray"}
LONG = 120
PLAIN = {"None", "str", "int", "float", "bool", "bytes", "tuple", "list", "dict", "object", "set"}


def _written_out(value: Any) -> str:
    """Return an alias as text, or nothing where its own name says more."""
    origin = typing.get_origin(value)
    if origin is typing.Literal:
        return " | ".join(f'"{arg}"' for arg in typing.get_args(value))
    if str(value).startswith(("numpy.ndarray", "NDArray")):
        return "numpy.ndarray"
    if isinstance(value, types.UnionType) or origin is not None:
        return stringify_annotation(value, "smart").replace("~", "")
    return ""


def _linked(word: str, names: dict[str, Any], depth: int) -> str:
    head, _, rest = word.partition(".")
    full = f"{SHORT[head]}.{rest}" if head in SHORT and rest else word
    last = full.rpartition(".")[2]
    if full in PLAIN:
        return full
    if last in PUBLIC and (full == last or full.startswith("iirl_opt")):
        return f":obj:`{last} <{PUBLIC[last]}>`"
    if last in EVERYWHERE:
        return f":obj:`{last} <{EVERYWHERE[last]}>`"
    value = names.get(word)
    text = _written_out(value)
    if depth and text and len(text) < LONG:
        return _rendered(text, names, depth - 1)
    known = f"{getattr(value, '__module__', '')}.{last}"
    for name in (known, full):
        if name in OUTSIDE:
            return f":obj:`{last} <{name}>`"
    return last


def _rendered(text: str, names: dict[str, Any], depth: int = 3) -> str:
    def word(found: re.Match[str]) -> str:
        if found["text"]:
            return f'``"{found["text"][1:-1]}"``'
        return _linked(found["name"], names, depth)

    flat = re.sub(r"NDArray\[[^\]]*\]", "numpy.ndarray", text)
    flat = re.sub(r"numpy\.ndarray\[.*?dtype\[[^\]]*\]\]", "numpy.ndarray", flat)
    flat = re.sub(r"(?:typing\.)?Annotated\[(\w+),[^\]]*\]", r"\1", flat)
    # A role must be followed by white space or certain marks, of which this is none.
    return WORD.sub(word, flat).replace("`[", "`\\ [")


def type_of(annotation: Any, owner: Any) -> str:
    """Return an annotation as reStructuredText, by the names of its owner's module."""
    if annotation in ("", types.NoneType) or "_empty" in str(annotation):
        return ""
    text = annotation if isinstance(annotation, str) else _written_out(annotation)
    text = text or stringify_annotation(annotation, "smart").replace("~", "")
    owner = getattr(owner, "__wrapped__", owner)
    module = sys.modules.get(getattr(owner, "__module__", ""), None)
    return _rendered(text, vars(module) if module else {})
