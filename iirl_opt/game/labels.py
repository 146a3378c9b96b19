"""Labels: the names of states and actions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from iirl_opt.errors import InvalidGame, UnknownLabel

__all__ = ["Labels"]


class Labels(tuple[Any, ...]):
    """The names of states or actions: a tuple whose `index` is a dictionary look-up."""

    kind: str
    _index: dict[Any, int]

    def __new__(cls, names: Iterable[Any], kind: str) -> Self:
        self = super().__new__(cls, map(_plain, names))
        self.kind = kind
        try:
            self._index = {name: i for i, name in enumerate(self)}
        except TypeError as problem:
            raise InvalidGame(f"{kind} labels", f"hold an {problem}", "hashables", self) from None
        if len(self._index) < len(self):
            double = next(name for i, name in enumerate(self) if self._index[name] != i)
            raise InvalidGame(f"{kind} {double!r}", "is named twice", "distinct labels", double)
        return self

    def index(self, name: Any, *_: Any) -> int:
        """Return the position of a label, or raise `UnknownLabel`."""
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise UnknownLabel(self.kind, name, tuple(self)) from None

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self), self.kind


def _plain(name: Any) -> Any:
    """Return a label with NumPy's scalars, in tuples too, as Python's."""
    if type(name) is tuple:
        return tuple(map(_plain, name))
    return name.item() if isinstance(name, np.generic) else name
