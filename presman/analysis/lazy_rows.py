"""Rows that are worked out when somebody looks at them: what most pages do not show costs nothing on those."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class LazyRows(Sequence[T]):
    """The rows that `make` returns, made once, at the first look. Equal to a tuple of the same rows.

    `make` must be pure, because the first look may come late and from another thread; it is forgotten afterwards,
    with all that it refers to.
    """

    __slots__ = ("_made", "_make", "looked")

    def __init__(self, make: Callable[[], tuple[T, ...]]) -> None:
        self._make: Callable[[], tuple[T, ...]] | None = make
        self._made: tuple[T, ...] = ()
        self.looked = False

    def make(self) -> tuple[T, ...]:
        """Make the rows, if they are not there yet, without this counting as a look."""
        make = self._make
        if make is not None:
            self._made = make()
            self._make = None
        return self._made

    def _rows(self) -> tuple[T, ...]:
        self.looked = True
        return self.make()

    def __len__(self) -> int:
        return len(self._rows())

    def __iter__(self) -> Iterator[T]:
        return iter(self._rows())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._rows()[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyRows):
            return self._rows() == other._rows()
        return self._rows() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rows())

    def __reduce__(self) -> tuple[type[tuple[T, ...]], tuple[tuple[T, ...]]]:
        """Be the rows themselves elsewhere."""
        return tuple, (self.make(),)

    def __repr__(self) -> str:
        return repr(self._rows())


def prepare(before: object, after: object) -> None:
    """Make the rows of `after` if somebody has looked at those of `before`: who looks again does not wait for them."""
    if isinstance(before, LazyRows) and before.looked and isinstance(after, LazyRows):
        after.make()
