"""Arrays as records: what is kept of chains, ready for JSON, to the last bit.

An array is the base64 text of its bytes, little-endian and in C order. Shape and type are those of
the array that it is read into, so a text of anything else is refused.
"""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import InvalidArgument

__all__ = ["read_into", "written"]


def written(array: NDArray[Any]) -> str:
    """Return an array as text."""
    content = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return binascii.b2a_base64(content, newline=False).decode("ascii")


def read_into(name: str, texts: object, arrays: Sequence[NDArray[Any]]) -> None:
    """Fill arrays from their texts, in order: all of them or none.

    Raises
    ------
    InvalidArgument
        There are not as many texts, or one is of another array, or holds no finite numbers.
    """
    if not isinstance(texts, list) or len(texts) != len(arrays):
        raise InvalidArgument(name, "is no list of them", f"{len(arrays)} arrays", texts)
    read = []
    for i, (text, array) in enumerate(zip(texts, arrays, strict=True)):
        try:
            content = binascii.a2b_base64(text, strict_mode=True)
        except (TypeError, ValueError):
            content = b""
        if len(content) != array.nbytes:
            allowed = f"base64 of {array.nbytes} bytes"
            raise InvalidArgument(f"{name}[{i}]", f"is {text!r:.60}", allowed, text)
        numbers = np.frombuffer(content, array.dtype.newbyteorder("<")).reshape(array.shape)
        if not np.isfinite(numbers).all():
            raise InvalidArgument(f"{name}[{i}]", "is not finite", "finite numbers", numbers)
        read.append(numbers)
    for array, numbers in zip(arrays, read, strict=True):
        array[...] = numbers
