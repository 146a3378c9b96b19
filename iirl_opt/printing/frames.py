"""Columns to data frames of other libraries, by narwhals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

from iirl_opt.errors import InvalidArgument, MissingExtra

__all__ = ["frame_of", "load_narwhals", "of_one_type"]

LARGEST = 2**63 - 1


def load_narwhals() -> Any:
    """Return narwhals.

    Raises
    ------
    MissingExtra
    """
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtra("reading and writing tables", "tables") from None
    return nw


def frame_of(columns: Mapping[str, Any], backend: str) -> Any:
    """Return columns, arrays or lists of one type, as a frame of a library.

    Raises
    ------
    MissingExtra
        narwhals is not installed.
    InvalidArgument
        The library is not installed.
    """
    nw = load_narwhals()
    if find_spec(backend) is None:
        raise InvalidArgument("backend", f"is {backend}, which is not installed", "one that is")
    return nw.from_dict(dict(columns), backend=backend).to_native()


def of_one_type(values: Sequence[Any]) -> list[Any]:
    """Return facts of one type, as columns need: as they are, as floats, or as texts."""
    kinds = {type(value) for value in values if value is not None}
    wide = int in kinds and any(
        isinstance(value, int) and not -LARGEST <= value <= LARGEST for value in values
    )
    if kinds <= {int, float} and len(kinds) == 2 and not wide:
        return [None if value is None else float(value) for value in values]
    if len(kinds) > 1 or wide or kinds == {Fraction}:
        return [None if value is None else _text(value) for value in values]
    if kinds == {str}:
        return [None if value is None else _text(value) for value in values]
    return list(values)


def _text(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.encode("utf-8", "backslashreplace").decode()
