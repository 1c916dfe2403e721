"""Amounts of sessions: the records of queries whose header says `amounts: session`, made of their select lists.

Such a query selects INST_ID, SID and numbers, which are added up over the rows of a session. Nobody reads them but by
their names, in `SessionReading.amounts`; so no record needs to be written.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from functools import cache
from typing import Any

from presman.rows.query_files import QueryError, QueryFile, parts, queries_folder, read_file


class SessionAmounts(tuple[Any, ...]):
    """A row of amounts of a session, which `inst_id` and `sid` name, the first two fields."""

    __slots__ = ()


@cache
def amount_records() -> Mapping[str, type[SessionAmounts]]:
    """Return the records by the stem of the query file that fills them. Raises QueryError for a broken file."""
    files = map(read_file, sorted(queries_folder().glob("*.sql")))
    return {file.path.stem: _record(file) for file in files if "amounts" in file.header}


def _record(file: QueryFile) -> type[SessionAmounts]:
    fields = tuple(parts(file.path, file.sql).fields)
    if file.header["amounts"] != "session" or fields[:2] != ("inst_id", "sid"):
        raise QueryError(f"{file.path}: amounts must be session, and the SELECT begin with inst_id and sid")
    name = "".join(part.capitalize() for part in file.path.stem.split("_"))
    types = {"inst_id": int, "sid": int, **dict.fromkeys(fields[2:], float | None)}
    members = {"__slots__": (), "__module__": __name__, "__doc__": file.answers, "__annotations__": types}
    return type(name, (namedtuple(name, fields), SessionAmounts), members)


def __getattr__(name: str) -> type[SessionAmounts]:
    """Find a record by its name, as pickle asks for it; imports ask for `__path__`, which reads no file."""
    for record in () if name.startswith("_") else amount_records().values():
        if record.__name__ == name:
            return record
    raise AttributeError(name)
