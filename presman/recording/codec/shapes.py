"""Shapes: which record a section is of and which fields it had when it was written, and how its values are checked.

Instants are whole microseconds; damaged bytes are a DamagedError.
"""

from collections.abc import Iterable, Mapping, Sequence
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
    """Bytes that no recorder wrote; the text says in a few words what is wrong with them."""


class ChangedError(DamagedError):
    """Bytes that are others than were written, or are not there any more: no stranger's doing."""


def microseconds(at: datetime) -> int:
    """Return the microseconds since 1970 of an aware instant."""
    return (at - EPOCH) // _MICROSECOND


def instant(microseconds: int) -> datetime:
    """Return the instant in UTC. Raises DamagedError for one that no calendar has."""
    if not _EARLIEST <= microseconds <= _LATEST:
        raise DamagedError("a time that does not exist")
    return EPOCH + timedelta(microseconds=microseconds)


MOST_FIELDS = 400
"""Fields a record may have; the largest has some sixty."""

MOST_ROWS = 200_000
"""Rows that a section may have: the sessions of a large cluster, the idle ones too, are some ten thousand."""

FEW_VALUES, VALUES_PER_BYTE, MOST_VALUES = 1_500_000, 8, 2_500_000
"""Values that any poll may unfold to, how many more for each byte that its chain takes in the file, and no more than
that. 40,000 sessions have 2,400,000 values, in 1,300,000 bytes."""

MOST_MEMORY = 56 << 20
"""Bytes of memory that the values of one poll may take: three polls, which may be there at once, and presman itself
then have less than 300 MB. 40,000 sessions take 22 MB."""

POINTER, _FLOAT = 8, 32

_MOST_DOUBTFUL = 1 << 20
"""Characters of a poll that are looked at one by one, in a third of a second: a recorder has cleaned them already."""


_LEAST, _MOST = 1e-20, 1e20
"""The second is a little more than the largest number of 64 bits."""

Column = Sequence[Any]
Rows = tuple[tuple[Any, ...], ...]


class Room:
    """What the values of a poll take of the memory, at `most` so many bytes; None where nobody counts them.

    How many characters are to be cleaned is always counted.
    """

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.taken = 0
        self._doubtful = 0

    def held(self, values: Column, known: dict[Any, Any]) -> Column:
        """Return a column, or the next part of it, in which equal values are one object; `known` has those before.

        Raises DamagedError where there is no room for it.
        """
        if self.most is None:
            return values
        if float in set(map(type, values)):  # 0.0 and -0.0 are equal and not the same
            self.take((POINTER + _FLOAT) * len(values))
            return values
        new = set(values).difference(known)
        self.take(POINTER * len(values) + sum(map(getsizeof, new)))
        known.update(zip(new, new, strict=True))
        return list(map(known.__getitem__, values))

    def take(self, memory: int) -> None:
        """Take so many bytes. Raises DamagedError."""
        self.taken += memory
        if self.most is not None and self.taken > self.most:
            raise DamagedError("it unfolds to more than a recorder writes")

    def doubt(self, characters: int) -> None:
        """Count characters of texts that do not look clean. Raises DamagedError."""
        self._doubtful += characters
        if self._doubtful > _MOST_DOUBTFUL:
            raise DamagedError("it has more texts to be cleaned than a recorder leaves")


class Field(NamedTuple):
    """A field as it was written: its kind of value, the type as which it is read, how long texts with lines may be.

    Lines of other texts (0) become one.
    """

    kind: type[Any]
    read_as: Any
    longest: int

    def checked(self, values: Column, room: Room, *, is_wide: bool = False) -> Column:
        """Return the values of a stranger's column, cleaned. Raises DamagedError for numbers that no figure has.

        Whole numbers need no look unless they are `is_wide`, of more than 64 bits.
        """
        if self.kind is str:
            texts = {value for value in set(values) if value is not None}
            if not all_clean(texts, self.longest):
                cleaned = self._cleaned(texts, room)
                return [cleaned.get(value, value) for value in values]
        may_be_any = self.kind is float or (is_wide and self.kind is int)
        if may_be_any and not all(_LEAST < abs(value) < _MOST for value in values if value):
            raise DamagedError("a number larger or smaller than any figure")
        return values

    def _cleaned(self, texts: Iterable[str], room: Room) -> dict[str, str]:
        """Return texts with what is shown for them, but for those of ASCII that are clean."""
        doubtful = [each for each in texts if not (each.isascii() and all_clean((each,), self.longest))]
        room.doubt(sum(map(len, doubtful)))
        return {each: clean_lines(each, self.longest) if self.longest else clean(each) for each in doubtful}


class Shape(NamedTuple):
    """A record as it was when written, beside the one of today.

    `record` is None for one that this presman does not know. `fields` are those written, None for one that today's
    record lacks; `indexes` tells for each of today's fields its number among them, -1 for one that was not written.
    """

    name: str
    record: RecordType | None
    fields: tuple[Field | None, ...]
    indexes: tuple[int, ...]

    @property
    def lacking(self) -> frozenset[str]:
        """Today's fields that were not written."""
        today = self.record._fields if self.record is not None else ()  # type: ignore[attr-defined]
        return frozenset(name for name, index in zip(today, self.indexes, strict=True) if index < 0)

    def rows(self, columns: Mapping[int, Column], length: int) -> Rows:
        """Return columns, by their number when written, as rows of today's record.

        Raises ValueError for columns of other lengths.
        """
        if not length or self.record is None:
            return ()
        nulls = null_row(self.record)
        found = [
            columns[index] if index >= 0 else (null,) * length for index, null in zip(self.indexes, nulls, strict=True)
        ]
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
    """Read what `shape_text` wrote, by this presman or another. Raises DamagedError."""
    name, *fields = text.split(" ")
    if not name.isidentifier() or not 0 < len(fields) <= MOST_FIELDS or len(set(fields)) < len(fields):
        raise DamagedError("a section of no record")
    record = _records().get(name)
    types = field_types(record) if record is not None else {}
    indexes = tuple(fields.index(each) if each in fields else -1 for each in types)
    return Shape(name, record, tuple(_field(each, *types[each]) if each in types else None for each in fields), indexes)


def _field(name: str, kind: type[Any], optional: bool) -> Field:
    # A datetime may be lacking whatever the annotation says: no other value stands for none.
    value: Any = Annotated[datetime, Meta(tz=True)] | None if kind is datetime else kind | None if optional else kind
    longest = min(LONG_TEXTS.get(name, 0), LONGEST_DOCUMENT)
    return Field(kind, value, longest)
