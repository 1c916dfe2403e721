"""Caches: rows computed on first access, and results kept as long as the same rows come again.

Rows cost nothing on pages that do not show them, and data that is read once a minute is processed once a minute. A
result that several callers need from a reading is computed for the first of them, and is freed with the reading.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

T = TypeVar("T")


class LazyRows(Sequence[T]):
    """The rows that `make` returns, made once, on first access. Equal to a tuple of the same rows.

    `make` must be pure, because the first access may come late and from another thread; it is released afterwards, with
    all that it refers to.
    """

    __slots__ = ("_made", "_make", "looked")

    def __init__(self, make: Callable[[], tuple[T, ...]]) -> None:
        self._make: Callable[[], tuple[T, ...]] | None = make
        self._made: tuple[T, ...] = ()
        self.looked = False

    def make(self) -> tuple[T, ...]:
        """Make the rows if they do not exist yet, without counting as an access."""
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
        """Pickle as the rows themselves."""
        return tuple, (self.make(),)

    def __repr__(self) -> str:
        return repr(self._rows())


def prepare(before: object, after: object) -> None:
    """Make the rows of `after` if those of `before` were accessed, so that the next access does not wait."""
    if isinstance(before, LazyRows) and before.looked and isinstance(after, LazyRows):
        after.make()


Made = TypeVar("Made")


class RowCache:
    """The last result of each function, with the rows it was made from.

    Plans are read once a minute and histories once; a snapshot keeps the same tuples until they are read again. Code
    that analyses poll after poll holds one of these and passes it in; without one everything is made again.
    """

    def __init__(self) -> None:
        self._made: dict[Callable[..., Any], tuple[tuple[Any, ...], Any]] = {}

    def call(self, make: Callable[..., Made], *rows: Any) -> Made:
        """Return `make(*rows)`, reusing the last result if each of `rows` is the identical object."""
        # One result for each function: rows that were read again replace the older ones, so the cache does not grow.
        known = self._made.get(make)
        if known is None or any(old is not new for old, new in zip(known[0], rows, strict=True)):
            known = self._made[make] = rows, make(*rows)
        return cast(Made, known[1])


Asked = TypeVar("Asked")


def once(work: Callable[[Asked], Made]) -> Callable[[Asked], Made]:
    """Cache the result of `work` in the frozen struct (with a dict) given to it; a changed copy has none.

    `work` must be pure, and its result must not be changed.
    """

    name = f"{work.__module__}.{work.__qualname__}"

    @wraps(work)
    def kept(asked: Asked) -> Made:
        known = vars(asked)
        if name not in known:
            known[name] = work(asked)
        return cast(Made, known[name])

    return kept
