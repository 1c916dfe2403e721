"""Turns driver tuples into row records: the place where NULL, time zones and hostile text are dealt with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from functools import cache, lru_cache
from types import NoneType
from typing import Any, get_args, get_type_hints

from presman.rows import RecordType
from presman.text import clean, clean_lines

LONG_TEXTS = frozenset({"sql_text", "other_xml"})
"""Fields whose line ends survive."""


def to_records(record: RecordType, rows: Iterable[tuple[Any, ...]], zone: tzinfo = UTC) -> tuple[Any, ...]:
    """Return `rows` as records. `zone` is the zone of the database's DATE columns.

    Raises ValueError or TypeError if a value does not fit its field's type.
    """
    make = _maker(record, zone)
    return tuple([make(row) for row in rows])


@cache
def field_types(record: RecordType) -> Mapping[str, tuple[type[Any], bool]]:
    """Return for each field of `record` its type and whether NULL is kept as None."""
    types: dict[str, tuple[type[Any], bool]] = {}
    for name, hint in get_type_hints(record).items():
        members = [member for member in get_args(hint) if member is not NoneType] or [hint]
        types[name] = (members[0], bool(get_args(hint)))
    return types


@cache
def _maker(record: RecordType, zone: tzinfo) -> Callable[[tuple[Any, ...]], Any]:
    """Compile one function for the record: hundreds of rows pass at each poll, so no loop per field."""
    values: list[str] = []
    environment: dict[str, Any] = {"new": vars(record)["_make"].__get__(None, record)}
    for index, (name, (kind, optional)) in enumerate(field_types(record).items()):
        environment[f"c{index}"] = _converter(kind, name, zone)
        null = {int: "0", float: "0.0", str: "''"}.get(kind, "None") if not optional else "None"
        # Most values are of the right type already, and a call costs three times as much as this look.
        own = f"v if v.__class__ is {kind.__name__} else " if kind in {int, float} else ""
        values.append(f"{null} if (v := r[{index}]) is None else {own}c{index}(v)")
    # The text holds field numbers and the names of two types only: nothing from outside is compiled.
    code = f"lambda r: new(({', '.join(values)},))"
    return eval(code, environment)  # type: ignore[no-any-return]  # noqa: S307


def _converter(kind: type[Any], name: str, zone: tzinfo) -> Callable[[Any], Any]:
    if kind is str:
        return _long_text if name in LONG_TEXTS else _text
    if kind is datetime:
        return lambda value: _utc(value, value.fold, zone)
    return kind


def _long_text(value: Any) -> str:
    return clean_lines(str(value))


@lru_cache(maxsize=4096)
def _text(value: Any) -> str:
    """Clean a short text. The same few thousand names come at every poll: each is cleaned, and kept, once."""
    return clean(str(value))


@lru_cache(maxsize=1024)
def _utc(value: datetime, _fold: int, zone: tzinfo) -> datetime:
    """Return an instant in UTC. The same ones come at each poll; `fold` tells two of one clock time apart."""
    return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)
