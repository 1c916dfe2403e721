"""Shapes: which record a section is of and which fields it had when it was written, and how its values are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache, partial
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from presman.base.text import clean, clean_lines
from presman.recording.codec.values import DamagedError
from presman.rows.conversion import LONG_TEXTS, LONGEST_DOCUMENT, field_types, null_row
from presman.rows.queries import RecordType, by_query

MOST_FIELDS = 400
"""Fields a record may have; the largest has some sixty."""

MOST_ROWS = 200_000
"""Rows that a section may have: the sessions of a large cluster, the idle ones too, are some ten thousand."""

FEW_VALUES, VALUES_PER_BYTE, MOST_VALUES = 1_500_000, 8, 2_500_000
"""Values that any poll may unfold to, how many more for each byte that its chain takes in the file, and no more than
that: two polls of so many take 300 MB. 40,000 sessions have 2,400,000 values, in 1,300,000 bytes."""

_LEAST, _MOST = 1e-20, 1e20
"""The second is a little more than the largest number of 64 bits."""

Column = Sequence[Any]
Rows = tuple[tuple[Any, ...], ...]


class Field(NamedTuple):
    """A field as it was written: its kind of value, the type as which it is read, how its texts are cleaned."""

    kind: type[Any]
    read_as: Any
    clean: Callable[[str], str]

    def checked(self, values: Column, *, is_wide: bool = False) -> Column:
        """Return the values of a stranger's column, cleaned. Raises DamagedError for numbers that no figure has.

        Whole numbers need no look unless they are `is_wide`, of more than 64 bits.
        """
        if self.kind is str:
            cleaned = {value: self.clean(value) for value in set(values) if value is not None}
            if any(value != own for value, own in cleaned.items()):
                return [None if value is None else cleaned[value] for value in values]
        may_be_any = self.kind is float or (is_wide and self.kind is int)
        if may_be_any and not all(_LEAST < abs(value) < _MOST for value in values if value):
            raise DamagedError("a number larger or smaller than any figure")
        return values


class Shape(NamedTuple):
    """A record as it was when written, beside the one of today.

    `record` is None for one that this presman does not know. `fields` are those written, None for one that today's
    record lacks; `places` tells for each of today's fields its number among them, -1 for one that was not written.
    """

    name: str
    record: RecordType | None
    fields: tuple[Field | None, ...]
    places: tuple[int, ...]

    @property
    def lacking(self) -> frozenset[str]:
        """Today's fields that were not written."""
        today = self.record._fields if self.record is not None else ()  # type: ignore[attr-defined]
        return frozenset(name for name, place in zip(today, self.places, strict=True) if place < 0)

    def rows(self, columns: Mapping[int, Column], length: int) -> Rows:
        """Return columns, by their number when written, as rows of today's record.

        Raises ValueError for columns of other lengths.
        """
        if not length or self.record is None:
            return ()
        nulls = null_row(self.record)
        found = [
            columns[place] if place >= 0 else (null,) * length for place, null in zip(self.places, nulls, strict=True)
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
    return {record.__name__: record for record in by_query().values()}


@lru_cache(maxsize=256)
def shape_of(text: str) -> Shape:
    """Read what `shape_text` wrote, by this presman or another. Raises DamagedError."""
    name, *fields = text.split(" ")
    if not name.isidentifier() or not 0 < len(fields) <= MOST_FIELDS or len(set(fields)) < len(fields):
        raise DamagedError("a section of no record")
    record = _records().get(name)
    types = field_types(record) if record is not None else {}
    places = tuple(fields.index(each) if each in fields else -1 for each in types)
    return Shape(name, record, tuple(_field(each, *types[each]) if each in types else None for each in fields), places)


def _field(name: str, kind: type[Any], optional: bool) -> Field:
    # A datetime may be lacking whatever the annotation says: no other value stands for none.
    value: Any = Annotated[datetime, Meta(tz=True)] | None if kind is datetime else kind | None if optional else kind
    longest = min(LONG_TEXTS.get(name, 0), LONGEST_DOCUMENT)
    return Field(kind, value, partial(clean_lines, longest=longest) if longest else clean)
