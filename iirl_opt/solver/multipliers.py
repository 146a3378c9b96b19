"""Multipliers and rays asked by what their rows speak of, in the labels of a game.

A record holds them by constraint, as arrays in the order of the rows. A model knows what each of
its rows says; ``model.by_row(answer)`` brings the two together, as a mapping from what a row speaks
of to its number, the largest first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import array_of_floats
from iirl_opt.errors import InvalidArgument
from iirl_opt.solver.records import Solved

__all__ = ["by_size", "multipliers_of", "rows_under"]

Array = NDArray[np.float64]
Key = TypeVar("Key", bound=Hashable)

_NUMBERS = array_of_floats()


def multipliers_of(answer: Any) -> Mapping[str, ArrayLike]:
    """Return what an answer holds by the names of constraints: multipliers, or a Farkas ray.

    Parameters
    ----------
    answer : a `Solved`; a record or an error with one; or such a mapping itself.

    Raises
    ------
    InvalidArgument
        It is none of these, or holds neither, as that of a mixed-integer program.
    """
    if isinstance(answer, Mapping):
        return answer
    solved = answer if isinstance(answer, Solved) else getattr(answer, "solved", None)
    allowed = "a Solved, a record or an error that holds one, or multipliers by constraint"
    if solved is None and hasattr(answer, "solved"):
        raise InvalidArgument("answer", "was found without a solver", allowed, answer)
    if not isinstance(solved, Solved):
        raise InvalidArgument("answer", f"is {type(answer).__name__}", allowed, answer)
    found = solved.duals or solved.farkas
    if not found:
        status = f"has no multipliers and no ray: its status is {solved.status.name}"
        raise InvalidArgument("answer", status, f"{allowed}, of a linear program", answer)
    return found


def rows_under(given: Mapping[str, ArrayLike], label: str, size: int) -> Array | None:
    """Return the numbers of the rows under a label, (size,), or None where there are none.

    Raises
    ------
    InvalidArgument
        They are so many that they belong to another model, or to two copies of this one.
    """
    if label not in given:
        return None
    if f"{label} (2)" in given:
        raise InvalidArgument(
            "answer",
            f"holds the rows {label!r} of several copies of this model",
            "those of one, as a mapping from labels without numbers",
            given,
        )
    rows = np.ravel(_NUMBERS(f"answer[{label!r}]", given[label]))
    if rows.size != size:
        found = f"has {rows.size} rows"
        raise InvalidArgument(f"answer[{label!r}]", found, f"the {size} of this model", rows.size)
    return rows


def by_size(pairs: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    """Return pairs as a mapping, the largest numbers first; equal ones in the order given."""
    return dict(sorted(pairs, key=lambda pair: -abs(pair[1])))
