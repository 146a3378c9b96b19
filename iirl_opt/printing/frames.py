"""Columns to data frames of other libraries, by narwhals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias, get_args

from iirl_opt.checks import Rule, one_of
from iirl_opt.errors import InvalidArgument, MissingExtra

__all__ = ["BACKEND", "Backend", "frame_of", "library_for", "load_narwhals", "of_one_type"]

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
# What an argument `backend` may be.
BACKEND: Rule = one_of(*BACKENDS)

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


def library_for(backend: Backend | None) -> Backend:
    """Return the library of that name or, without one, the first that is installed.

    Raises
    ------
    MissingExtra
        None is installed.
    InvalidArgument
        This one is not installed.
    """
    installed = [name for name in BACKENDS if find_spec(name) is not None]
    if not installed:
        raise MissingExtra(f"a table of {', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}", "tables")
    if backend is not None and backend not in installed:
        allowed = f"one that is: {', '.join(installed)}"
        raise InvalidArgument("backend", f"is {backend}, which is not installed", allowed, backend)
    return backend or installed[0]


def frame_of(columns: Mapping[str, Any], backend: Backend) -> Any:
    """Return columns, arrays or lists of one type, as a frame of a library.

    Raises
    ------
    MissingExtra
        narwhals is not installed.
    """
    nw = load_narwhals()
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
