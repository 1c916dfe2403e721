"""Caches: rows that are worked out when somebody looks at them, and results kept as long as the same rows come again.

What most pages do not show then costs nothing on those, and what is read each minute is worked out once a minute. What
several ask of a reading is worked out for the first of them, and goes with the reading.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

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

    def __getitem__(self, index: Any) -> Any:
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


Made = TypeVar("Made")


class RowCache:
    """What each function made last, and of which rows.

    Plans are read once a minute and histories once; a snapshot carries on the same tuples until they are read again.
    Whoever analyses poll after poll holds one of these and hands it in; without one everything is made again.
    """

    def __init__(self) -> None:
        self._made: dict[Callable[..., Any], tuple[tuple[Any, ...], Any]] = {}

    def call(self, make: Callable[..., Made], *rows: Any) -> Made:
        """Return `make(*rows)`, made last time if each of `rows` is the very object of last time."""
        known = self._made.get(make)
        if known is None or any(old is not new for old, new in zip(known[0], rows, strict=True)):
            known = self._made[make] = rows, make(*rows)
        return cast(Made, known[1])


Asked = TypeVar("Asked")


def once(work: Callable[[Asked], Made]) -> Callable[[Asked], Made]:
    """Cache the result of `work` in the frozen struct (with a dict) it is given; a changed copy has no cached result.

    `work` must be pure, and nobody may change what it returns.
    """

    name = f"{work.__module__}.{work.__qualname__}"

    @wraps(work)
    def kept(asked: Asked) -> Made:
        known = vars(asked)
        if name not in known:
            known[name] = work(asked)
        return cast(Made, known[name])

    return kept
