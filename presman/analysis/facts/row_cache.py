"""A cache of what was made of rows that are read seldom: as long as the very same rows come again, so does that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class RowCache:
    """What each function made last, and of which rows.

    Plans are read once a minute and histories once; a snapshot carries on the same tuples until they are read again.
    Whoever analyses poll after poll holds one of these and hands it in; without one everything is made anew.
    """

    def __init__(self) -> None:
        self._made: dict[Callable[..., Any], tuple[tuple[Any, ...], Any]] = {}

    def call(self, make: Callable[..., T], *rows: Any) -> T:
        """Return `make(*rows)`, made last time if each of `rows` is the very object of last time."""
        known = self._made.get(make)
        if known is None or any(old is not new for old, new in zip(known[0], rows, strict=True)):
            known = self._made[make] = rows, make(*rows)
        return cast(T, known[1])
