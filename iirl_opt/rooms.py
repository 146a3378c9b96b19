"""Rooms: packages whose names are in the stub beside them, and are loaded when first used.

`lazy_loader` attaches them; what is added here is the name that was meant, where there is none.
"""

from __future__ import annotations

import lazy_loader  # type: ignore[import-untyped]

TYPE_CHECKING = False  # `typing` takes longer to load than the package
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["attach"]


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of the room that a file is the door of.

    A name that there is not is an `AttributeError` that says which is the nearest, of the room's
    own or of another's.
    """
    found, listed, names = lazy_loader.attach_stub(package, file)

    def __getattr__(name: str) -> Any:
        if name not in names and not name.startswith("_"):
            meant = _meant(name, package, names)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{meant}", name=name)
        return found(name)

    return __getattr__, listed, names


def _meant(name: str, package: str, names: list[str]) -> str:
    """Return in words which name is meant, or nothing."""
    from iirl_opt.spelling import nearest

    elsewhere = dict(_names_elsewhere(package))
    near = nearest(name, names)
    if name not in elsewhere and near is not None:
        return f"; the nearest is {near!r}"
    near = nearest(name, elsewhere, share=0.75)
    return "" if near is None else f"; there is {elsewhere[near]}.{near}"


def _names_elsewhere(package: str) -> Iterator[tuple[str, str]]:
    """Yield the public names of the other rooms, and the room of each; those at the top last."""
    import re
    from pathlib import Path

    root = Path(__file__).parent
    for stub in [*sorted(root.glob("*/__init__.pyi")), root / "__init__.pyi"]:
        room = ".".join(["iirl_opt", *stub.parent.relative_to(root).parts])
        if room != package:
            for name in re.findall(r"^    (\w+) as \1,$", stub.read_text("utf-8"), re.MULTILINE):
                yield name, room
