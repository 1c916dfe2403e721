"""Shapes: the record of a section, the fields it had when it was written, and the checks of its values.

Instants are whole microseconds; damaged bytes raise DamagedError.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from sys import getsizeof
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from presman.base.text import all_clean, clean, clean_lines
from presman.rows.queries import LONG_TEXTS, LONGEST_DOCUMENT, RecordType, by_query, field_types, null_row
from presman.rows.snapshot import REMEMBERED, SHOWN

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LATEST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND
_EARLIEST = (datetime.min.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND


class DamagedError(ValueError):
    """Bytes that no recorder wrote; the text says in a few words what is wrong."""


class ChangedError(DamagedError):
    """Bytes that have changed since they were written, or are missing: damage, not forgery."""


def microseconds(at: datetime) -> int:
    """Return the microseconds since 1970 of an aware instant."""
    return (at - EPOCH) // _MICROSECOND


def instant(microseconds: int) -> datetime:
    """Return the instant in UTC. Raises DamagedError if it is out of range."""
    if not _EARLIEST <= microseconds <= _LATEST:
        raise DamagedError("a time that does not exist")
    return EPOCH + timedelta(microseconds=microseconds)


MOST_FIELDS = 400
"""The most fields of a record; the largest has some sixty."""

MOST_ROWS = 200_000
"""The most rows of a section: a large cluster has some ten thousand sessions, idle ones included."""

FEW_VALUES, VALUES_PER_BYTE, MOST_VALUES = 1_500_000, 8, 2_500_000
"""Limits on the values of a poll: allowed for any poll, added for each byte of its chain in the file, and the most in
all. 40,000 sessions have 2,400,000 values in 1,300,000 bytes."""

MOST_MEMORY = 56 << 20
"""Bytes of memory that the values of one poll may take. Three polls may be in memory at once: with presman itself they
stay below 300 MB. 40,000 sessions take 22 MB."""

POINTER, _FLOAT = 8, 32
"""Bytes of memory that a reference to a value takes, and a number of its own."""

_MOST_DOUBTFUL = 1 << 20
"""The most characters of a poll that are cleaned, in a third of a second: a recorder has already cleaned its own."""


_LEAST, _MOST = 1e-20, 1e20
"""Limits of the absolute value of a number; the upper one is a little above the largest number of 64 bits."""

Column = Sequence[Any]
Rows = tuple[tuple[Any, ...], ...]


class MemoryBudget:
    """The memory that the values of a poll may take: `most` bytes, None for no limit.

    The characters to be cleaned are always limited.
    """

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.taken = self._doubtful = 0

    def held(self, values: Column, known: dict[Any, Any]) -> Column:
        """Return a column, or a part of it, with equal values as one object; `known` has those of previous parts.

        Raises DamagedError if there is no room for it.
        """
        if self.most is None:
            return values
        if float in set(map(type, values)):  # 0.0 and -0.0 are equal but not the same
            self.take((POINTER + _FLOAT) * len(values))
            return values
        new = set(values).difference(known)
        self.take(POINTER * len(values) + sum(map(getsizeof, new)))
        known.update(zip(new, new, strict=True))
        return list(map(known.__getitem__, values))

    def take(self, memory: int) -> None:
        """Count bytes of memory. Raises DamagedError if they are too many."""
        self.taken += memory
        if self.most is not None and self.taken > self.most:
            raise DamagedError("it decompresses to more than a recorder writes")

    def count_doubtful(self, characters: int) -> None:
        """Count characters of texts that must be cleaned. Raises DamagedError if they are too many."""
        self._doubtful += characters
        if self._doubtful > _MOST_DOUBTFUL:
            raise DamagedError("it has more texts to be cleaned than a recorder leaves")


class Field(NamedTuple):
    """A field as it was written: the kind of its values, the type to decode them as, the longest text with lines.

    If `longest` is 0, the lines of a text are joined.
    """

    kind: type[Any]
    read_as: Any
    longest: int

    def checked(self, values: Column, room: MemoryBudget, *, is_wide: bool = False) -> Column:
        """Return the values of a foreign column, cleaned. Raises DamagedError for impossible numbers.

        Integers are checked only if they may have more than 64 bits (`is_wide`).
        """
        if self.kind is str:
            texts = {value for value in set(values) if value is not None}
            if not all_clean(texts, self.longest):
                doubtful = [each for each in texts if not (each.isascii() and all_clean((each,), self.longest))]
                room.count_doubtful(sum(map(len, doubtful)))
                tidy = {each: clean_lines(each, self.longest) if self.longest else clean(each) for each in doubtful}
                return [tidy.get(value, value) for value in values]
        may_be_any = self.kind is float or (is_wide and self.kind is int)
        if may_be_any and not all(_LEAST < abs(value) < _MOST for value in values if value):
            raise DamagedError("a number larger or smaller than any figure")
        return values


class Shape(NamedTuple):
    """A record as it was when written, compared with today's.

    `record` is None if this presman does not know it. `fields` are those written, None for one that today's record
    lacks; `indexes` has the position among them of each of today's fields, -1 for one that was not written.
    """

    name: str
    record: RecordType | None
    fields: tuple[Field | None, ...]
    indexes: tuple[int, ...]

    @property
    def lacking(self) -> frozenset[str]:
        """The fields of today's record that were not written."""
        today = self.record._fields if self.record is not None else ()  # type: ignore[attr-defined]
        return frozenset(name for name, index in zip(today, self.indexes, strict=True) if index < 0)

    def rows(self, columns: Mapping[int, Column], length: int) -> Rows:
        """Return columns, given by their number when written, as rows of today's record.

        Raises ValueError if the columns have other lengths.
        """
        if not length or self.record is None:
            return ()
        nulls = null_row(self.record)
        found = [columns[at] if at >= 0 else (null,) * length for at, null in zip(self.indexes, nulls, strict=True)]
        make = self.record._make  # type: ignore[attr-defined]
        return tuple(map(make, zip(*found, strict=True)))


@cache
def shape_text(record: RecordType) -> str:
    """Return a record's name and its fields in order."""
    fields: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
    return " ".join((record.__name__, *fields))


@cache
def _records() -> dict[str, RecordType]:
    return {record.__name__: record for record in (*by_query().values(), *SHOWN, *REMEMBERED)}


@lru_cache(maxsize=256)
def shape_of(text: str) -> Shape:
    """Parse a text written by `shape_text` of this or another presman. Raises DamagedError."""
    name, *fields = text.split(" ")
    if not name.isidentifier() or not 0 < len(fields) <= MOST_FIELDS or len(set(fields)) < len(fields):
        raise DamagedError("a section of no record")
    record = _records().get(name)
    types = field_types(record) if record is not None else {}
    indexes = tuple(fields.index(each) if each in fields else -1 for each in types)
    return Shape(name, record, tuple(_field(each, *types[each]) if each in types else None for each in fields), indexes)


def _field(name: str, kind: type[Any], optional: bool) -> Field:
    # A datetime may be missing even if the annotation does not say so: no other value means that.
    value: Any = Annotated[datetime, Meta(tz=True)] | None if kind is datetime else kind | None if optional else kind
    return Field(kind, value, min(LONG_TEXTS.get(name, 0), LONGEST_DOCUMENT))
