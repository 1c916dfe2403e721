"""Shapes: which record a section is of and which fields it had when it was written, as one text."""

from __future__ import annotations

from datetime import datetime
from functools import cache, lru_cache
from types import NoneType
from typing import Any, NamedTuple

from presman.codec.column_codec import tags_of
from presman.codec.packing import DamagedError
from presman.records.conversion import LONG_TEXTS, LONGEST_DOCUMENT, field_types, null_row
from presman.records.rows import RecordType, by_query

MOST_FIELDS = 400
"""Fields a record may have; the largest has some thirty."""


class Shape(NamedTuple):
    """A record as it was when written, beside the one of today.

    `record` is None for one that this presman does not know. `places` tells for each of today's fields its number
    among the written ones, -1 for one that was not written; `kinds` the types a written field may have, and `tags`
    the first bytes of columns that have no others; `longest` the characters of its texts, 0 for one line.
    """

    name: str
    fields: tuple[str, ...]
    record: RecordType | None
    places: tuple[int, ...]
    kinds: tuple[frozenset[type[Any]] | None, ...]
    tags: tuple[frozenset[int], ...]
    longest: tuple[int, ...]

    @property
    def is_of_today(self) -> bool:
        """Whether the record has the same fields in the same order today."""
        return self.places == tuple(range(len(self.fields)))

    @property
    def lacking(self) -> frozenset[str]:
        """Today's fields that were not written."""
        today = self.record._fields if self.record is not None else ()  # type: ignore[attr-defined]
        return frozenset(name for name, place in zip(today, self.places, strict=True) if place < 0)

    def nulls(self) -> tuple[Any, ...]:
        """Return what today's fields have in a row of NULLs."""
        return tuple(null_row(self.record)) if self.record is not None else ()


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
    if record is None:
        count = len(fields)
        return Shape(name, tuple(fields), None, (), (None,) * count, (frozenset(),) * count, (0,) * count)
    types = field_types(record)
    places = tuple(fields.index(each) if each in fields else -1 for each in types)
    kinds = tuple(_kinds(*types[each]) if each in types else None for each in fields)
    tags = tuple(frozenset[int]() if each is None else tags_of(each) for each in kinds)
    longest = tuple(min(LONG_TEXTS.get(each, 0), LONGEST_DOCUMENT) for each in fields)
    return Shape(name, tuple(fields), record, places, kinds, tags, longest)


def _kinds(kind: type[Any], optional: bool) -> frozenset[type[Any]]:
    kinds: set[type[Any]] = {kind, int} if kind is float else {kind}
    # A datetime may be lacking whatever the annotation says: no other value stands for none.
    return frozenset(kinds | {NoneType} if optional or kind is datetime else kinds)
