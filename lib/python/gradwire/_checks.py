# SPDX-License-Identifier: MIT
"""Arguments as values of C. ctypes would cut off what does not fit, without a word."""

import operator
import os
from typing import Any, List, Optional, Sequence

_WIRES = ("shm", "ipc", "tcp", "verbs")
U32_MAX = 2**32 - 1
COUNT_MAX = 2**62  # elements: more than any memory


def whole(name: str, value: Any, low: int = 0, high: int = U32_MAX) -> int:
    """An integer within bounds."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {value!r} is not an integer") from None
    if not low <= number <= high:
        raise ValueError(f"{name}: {number} is not in {low} to {high}")
    return number


def whole_numbers(name: str, values: Sequence[int], length: int) -> List[int]:
    """One integer from 0 for each rank."""
    try:
        numbers = [operator.index(value) for value in values]
    except TypeError:
        raise TypeError(f"{name}: {values!r} is not a sequence of integers") from None
    if len(numbers) != length:
        raise ValueError(f"{name}: it has {len(numbers)} numbers instead of one per rank, {length}")
    for number in numbers:
        whole(name, number, high=COUNT_MAX)
    return numbers


def milliseconds(name: str, seconds: Optional[float]) -> int:
    """Seconds as an unsigned number of milliseconds; None is 0, the default."""
    if seconds is None:
        return 0
    try:
        number = float(seconds)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: {seconds!r} is not a number of seconds") from None
    if not 0 < number <= U32_MAX // 1000:
        raise ValueError(f"{name}: {seconds} s is not above 0 and at most {U32_MAX // 1000} s")
    return max(1, round(number * 1000))


def text(name: str, value: Any) -> bytes:
    """A str or path as a C string."""
    try:
        encoded = os.fsencode(value)
    except TypeError:
        raise TypeError(f"{name}: {value!r} is not a str or a path") from None
    if b"\0" in encoded:
        raise ValueError(f"{name}: {value!r} has a null character")
    return encoded


def optional(name: str, value: Any) -> Optional[bytes]:
    """The same, or None as NULL."""
    return None if value is None else text(name, value)


def word(name: str, value: Any, known: Sequence[str]) -> int:
    """The number of a word among the known ones."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}: {value!r} is not one of {' '.join(known)}")
    return known.index(value)


def wire(value: Any) -> Optional[bytes]:
    """The name of a wire, None as NULL."""
    if value is not None:
        word("wire", value, _WIRES)
    return optional("wire", value)


def instance(name: str, value: Any, kind: type) -> Any:
    """A value of that class."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}: {type(value).__name__} is not a gradwire.{kind.__name__}")
    return value
