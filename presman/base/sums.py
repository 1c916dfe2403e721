"""Sums: rows by what they have in common, and figures of several where some may not be known."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Row = TypeVar("Row")
RowKey = TypeVar("RowKey", bound=Hashable)
Number = TypeVar("Number", int, float)


def grouped(rows: Iterable[Row], key: Callable[[Row], RowKey]) -> dict[RowKey, list[Row]]:
    """Return rows by what they have in common, in the order in which they come."""
    found: dict[RowKey, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def sum_of_known(parts: Iterable[float | None]) -> float | None:
    """Return the sum of the parts that are known, None where none is."""
    known = [each for each in parts if each is not None]
    return sum(known) if known else None


def added(parts: Iterable[Number | None]) -> Number | None:
    """Return the sum, None where a part is not known."""
    try:
        return sum(parts)  # type: ignore[arg-type]
    except TypeError:  # None was among them
        return None


def largest(parts: Iterable[Number | None]) -> Number | None:
    """Return the largest, None where a part is not known, or there is none."""
    values = list(parts)
    return None if None in values else max(values, default=None)  # type: ignore[type-var]
