"""Names for formats that do not take all labels: each label gets one, and no two the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

__all__ = ["distinct_names"]


def distinct_names(
    labels: Iterable[Any], kind: str, allowed: re.Pattern[str], reserved: Collection[str] = ()
) -> list[str]:
    """Return a name for each label: the label itself where the format takes it.

    Others keep their letters, with ``_`` for what is not allowed, the first letter of `kind` in
    front where no name may begin so, and a number behind where another label has the name.

    Parameters
    ----------
    allowed : the names that the format takes, wholly; ASCII letters, digits and ``_`` behind a
        letter are among them.
    reserved : names that have a meaning of their own.

    **Cost** arithmetic.

    Examples
    --------
    >>> distinct_names(["hall", "a room", "a_room", 7], "state", re.compile(r"[a-z]\\w*"))
    ['hall', 'a_room_2', 'a_room', 's7']
    """
    given = list(labels)

    def fits(label: Any) -> bool:
        return isinstance(label, str) and bool(allowed.fullmatch(label)) and label not in reserved

    taken = {label for label in given if fits(label)} | set(reserved)
    names = []
    for label in given:
        name = label
        if not fits(label):
            plain = re.sub(r"[^A-Za-z0-9_]+", "_", str(label)).strip("_")[:60]
            plain = plain if plain[:1].isalpha() else f"{kind[0]}{plain}"
            name, count = plain, 1
            while name in taken:
                count += 1
                name = f"{plain}_{count}"
            taken.add(name)
        names.append(name)
    return names
