"""Conversion of driver tuples to records: the place where NULL, time zones and hostile text are dealt with."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import cache, lru_cache
from types import NoneType
from typing import Any, TypeAlias, TypeVar, cast, get_args, get_type_hints

from presman.base.text import LONGEST, LONGEST_STATEMENT, clean, clean_lines
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import RsrcPdb

R = TypeVar("R")

RecordType: TypeAlias = type[tuple[Any, ...]]
"""One of the records."""

LONGEST_DOCUMENT = 250_000
"""Characters of a document that is read; real ones have a few thousand. A longer one, cut, could not be parsed."""

LONG_TEXTS = {"sql_text": LONGEST_STATEMENT, "other_xml": LONGEST_DOCUMENT}
"""Fields that are CLOBs in the database and whose line ends survive, and how many characters are kept of them."""

COUNTERS: frozenset[RecordType] = frozenset({ConsumerGroup, RsrcPdb})
"""Records of counters that Oracle always fills: a column of theirs without a value was not read."""

TOO_LONG = f"too long to be read: more than {LONGEST_DOCUMENT:,} characters"
"""What stands in a field whose document is too long to be kept."""


def to_records(record: RecordType, rows: Iterable[tuple[Any, ...]], zone: tzinfo = UTC) -> tuple[Any, ...]:
    """Return `rows` as records. `zone` is the zone of the database's DATE columns.

    Raises ValueError or TypeError if a value does not fit its field's type.
    """
    make = _maker(record, zone)
    return tuple([make(row) for row in rows])


def null_counters(record: RecordType, rows: Sequence[Sequence[Any]]) -> frozenset[str]:
    """Return the counters of `record` that are NULL in every row: what nobody counted is not 0."""
    if record not in COUNTERS or not rows:
        return frozenset()
    kinds = enumerate(field_types(record).items())
    counted = [(index, name) for index, (name, (kind, optional)) in kinds if kind is int and not optional]
    return frozenset(name for index, name in counted if all(row[index] is None for row in rows))


@cache
def has_long_texts(record: RecordType) -> bool:
    """Say whether a field of `record` is a CLOB in the database."""
    return not LONG_TEXTS.keys().isdisjoint(field_types(record))


def shortened(record: RecordType, rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return rows of the driver with no more of each text than `to_records` needs to see that it is too long."""
    limits = [LONG_TEXTS.get(name, LONGEST) + 1 for name in field_types(record)]
    return [
        tuple(value[:limit] if isinstance(value, str) else value for value, limit in zip(row, limits, strict=True))
        for row in rows
    ]


@cache
def field_types(record: RecordType) -> Mapping[str, tuple[type[Any], bool]]:
    """Return for each field of `record` its type and whether NULL is kept as None."""
    types: dict[str, tuple[type[Any], bool]] = {}
    for name, hint in get_type_hints(record).items():
        members = [member for member in get_args(hint) if member is not NoneType] or [hint]
        types[name] = (members[0], bool(get_args(hint)))
    return types


def null_row(record: type[R]) -> R:
    """Return the record that a row of NULLs makes: what is read of a row that is not there."""
    found: R = _null_row(cast(RecordType, record))
    return found


@cache
def _null_row(record: RecordType) -> Any:
    none_of: dict[type[Any], Any] = {int: 0, float: 0.0, str: ""}
    values = [None if optional else none_of.get(kind) for kind, optional in field_types(record).values()]
    return cast(Any, record)(*values)


@cache
def _maker(record: RecordType, zone: tzinfo) -> Callable[[tuple[Any, ...]], Any]:
    """Compile one function for the record: hundreds of rows pass at each poll, so no loop per field."""
    values: list[str] = []
    environment: dict[str, Any] = {"new": tuple.__new__, "record": record, "short": _short}
    for index, (name, (kind, optional)) in enumerate(field_types(record).items()):
        environment[f"c{index}"] = _converter(kind, name, zone)
        null = {int: "0", float: "0.0", str: "''"}.get(kind, "None") if not optional else "None"
        # Most values are of the right type already, and a call costs three times as much as this look.
        shortcut = f"v if v.__class__ is {kind.__name__} else " if kind in {int, float} else ""
        if environment[f"c{index}"] is _text:
            shortcut = f"short(v) if v.__class__ is str and len(v) <= {LONGEST} else "
        values.append(f"{null} if (v := r[{index}]) is None else {shortcut}c{index}(v)")
    # The text holds field numbers, a limit and the names of types only: nothing from outside is compiled.
    code = f"lambda r: new(record, ({', '.join(values)},))"
    return eval(code, environment)  # type: ignore[no-any-return]  # noqa: S307


def _converter(kind: type[Any], name: str, zone: tzinfo) -> Callable[[Any], Any]:
    if kind is str:
        return {"other_xml": _document, "sql_text": _lines}.get(name, _text)
    if kind is datetime:
        return lambda value: _utc(value, value.fold, zone)
    return kind


def _lines(value: Any) -> str:
    return clean_lines(str(value))


def _document(value: Any) -> str:
    text = str(value)
    return clean_lines(text, LONGEST_DOCUMENT) if len(text) <= LONGEST_DOCUMENT else TOO_LONG


def _text(value: Any) -> str:
    return clean(str(value))


@lru_cache(maxsize=4096)
def _short(text: str) -> str:
    """Clean a name. The same few thousand come at every poll: each is cleaned, and kept, once."""
    return clean(text)


@lru_cache(maxsize=1024)
def _utc(value: datetime, _fold: int, zone: tzinfo) -> datetime:
    """Return an instant in UTC. The same ones come at each poll; `fold` tells two of one clock time apart."""
    return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)
