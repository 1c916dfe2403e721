"""Sums: rows grouped by a key, and totals of figures some of which may be unknown."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import itemgetter
from typing import Any, TypeVar

Row = TypeVar("Row")
Value = TypeVar("Value")
RowKey = TypeVar("RowKey", bound=Hashable)
Number = TypeVar("Number", int, float)


def grouped(rows: Iterable[Row], key: Callable[[Row], RowKey]) -> dict[RowKey, list[Row]]:
    """Return rows grouped by a key, in their original order."""
    found: dict[RowKey, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def summed(pairs: Iterable[tuple[RowKey, Number]]) -> dict[RowKey, Number]:
    """Return the sum of the numbers of each key, in the order in which the keys came."""
    found: dict[RowKey, Number] = {}
    for key, number in pairs:
        found[key] = found.get(key, 0) + number
    return found


def maxima(pairs: Iterable[tuple[RowKey, Value]]) -> dict[RowKey, Value]:
    """Return the largest value of each key, in the order of these values."""
    return dict(sorted(pairs, key=itemgetter(1)))


def sum_of_known(parts: Iterable[float | None]) -> float | None:
    """Return the sum of the known parts, None if none is known."""
    known = [each for each in parts if each is not None]
    return sum(known) if known else None


def added(parts: Iterable[Number | None]) -> Number | None:
    """Return the sum, None if a part is unknown."""
    try:
        return sum(parts)  # type: ignore[arg-type]
    except TypeError:  # None was among them
        return None


def sums_of(rows: Iterable[Sequence[Any]]) -> list[Any]:
    """Return the sum of each column, None if a row has no value.

    >>> sums_of([(1, None), (2, 3)])
    [3, None]
    """
    columns = list(zip(*rows, strict=True))
    try:
        return list(map(sum, columns))
    except TypeError:  # None was among them
        return [None if None in values else sum(values) for values in columns]


def largest(parts: Iterable[Number | None]) -> Number | None:
    """Return the largest, None if a part is unknown or there is none."""
    values = list(parts)
    return None if None in values else max(values, default=None)  # type: ignore[type-var]


def median(values: Iterable[float]) -> float:
    """Return the middle value, or the mean of the two in the middle: the module statistics takes 0.3 MB of memory.

    Raises IndexError if there is none.
    """
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
