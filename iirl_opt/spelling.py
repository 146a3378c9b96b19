"""Words that are misspelt: the name that was meant, and which names there are."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = ["allowed_names", "nearest"]

# A list of names is shown whole up to so many; no slip of the
# pen is longer than so many letters, and no beginning shorter.
_FEW, _LONGEST, _BEGINNING = 8, 200, 3


def nearest(word: object, known: Iterable[object], *, share: float = 0.6) -> Any:
    """Return the one of some names that a word most likely stands for, or None.

    Upper case, and ``_`` or a space for ``-``, make no difference; else this share of the letters
    agree, or it is the beginning of the name.

    **Cost** arithmetic: some 10 µs a name.

    Examples
    --------
    >>> nearest("Maze_Makr", ["maze-maker", "two-rooms"])
    'maze-maker'
    >>> nearest("soup", ["maze-maker", "two-rooms"]) is None
    True
    """
    if len(text := str(word)) > _LONGEST:
        return None
    written: dict[str, object] = {}
    for name in known:
        written.setdefault(_folded(str(name)), name)
    folded = _folded(text)
    near = get_close_matches(folded, written, n=1, cutoff=share)
    if not near and len(folded) >= _BEGINNING:
        near = [name for name in written if name.startswith(folded)]
    return written[near[0]] if near else None


def allowed_names(word: object, known: Iterable[object]) -> str:
    """Return the names that are allowed in place of a word, the nearest first, shortened if long.

    Examples
    --------
    >>> allowed_names("activ", ["algorithm-1", "active"])
    'active (the nearest), algorithm-1'
    >>> allowed_names("lost", ["small", "paper"])
    'small, paper'
    >>> allowed_names("t", map(str, range(100)))
    '0, 1, 2, 3, 4, 5, … (100 in all)'
    """
    names = list(dict.fromkeys(known))
    near = nearest(word, names)
    if near is not None:
        names.sort(key=lambda name: name != near)
    shown = [str(name) for name in (names if len(names) <= _FEW else names[: _FEW - 2])]
    if near is not None:
        shown[0] += " (the nearest)"
    rest = f", … ({len(names)} in all)" if len(names) > len(shown) else ""
    return (", ".join(shown) or "none: there is nothing to choose from") + rest


def _folded(name: str) -> str:
    return name.strip().casefold().replace("_", "-").replace(" ", "-")
