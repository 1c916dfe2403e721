"""Schema of a recording: checked before anything is read, upgraded before anything is written.

A view in place of a table would be executed by its readers, a trigger by its writers.
"""

import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, inspect, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from presman.base.text import clean, one_line
from presman.recording.measure_tables import selects
from presman.recording.schema import APPLICATION_ID, FORMAT, LAYOUT, META, METADATA
from presman.recording.statement_limits import StatementLimits
from presman.recording.store_errors import DamagedStoreError, ForeignSchemaError, RecordingError

_MOST = 200
"""The most definitions that are checked; presman creates 26."""

_WORD = re.compile(r"\w+")

_FOREIGN = text(
    "SELECT c.relname FROM pg_catalog.pg_class c WHERE c.relname IN :names AND pg_catalog.pg_table_is_visible(c.oid)"
    " AND (c.relkind <> 'r' OR c.relhasrules OR c.relrowsecurity OR c.relhassubclass OR c.relhastriggers AND :writing"
    " OR EXISTS (SELECT 1 FROM pg_catalog.pg_attrdef d WHERE d.adrelid = c.oid"
    " AND pg_catalog.pg_get_expr(d.adbin, d.adrelid) !~ '^nextval[(]''[^'']*''\\:\\:regclass[)]$')"
    " OR EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('c', 'f', 'x'))"
    " OR EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid"
    " AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL))"
    " OR EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0"
    " AND a.atttypid >= 16384))"
).bindparams(bindparam("names", sorted(METADATA.tables), expanding=True))

"""Finds the first table of presman that is not a plain table, or that executes something when a row is written.

That is a default other than a sequence's number, a generated column, a check, an index on an expression, or a
user-defined type."""

_SHADOWED = text(
    "SELECT 'operator' AS kind FROM pg_catalog.pg_operator o WHERE o.oid OPERATOR(pg_catalog.>=) {first}"
    " AND pg_catalog.pg_operator_is_visible(o.oid) AND o.oprleft OPERATOR(pg_catalog.<) {first}"
    " AND o.oprright OPERATOR(pg_catalog.<) {first}"
    " AND o.oprname OPERATOR(pg_catalog.~) '^([=<>+*/-]|<>|!=|<=|>=|[|][|])$'::pg_catalog.text UNION ALL"
    " SELECT 'function' FROM pg_catalog.pg_proc p WHERE p.oid OPERATOR(pg_catalog.>=) {first}"
    " AND pg_catalog.pg_function_is_visible(p.oid) AND p.proname OPERATOR(pg_catalog.~)"
    " '^(length|sum|max|min|count|to_timestamp|clock_timestamp|row_number|nextval)$'::pg_catalog.text"
    " AND NOT EXISTS (SELECT 1"
    " FROM pg_catalog.unnest(p.proargtypes::pg_catalog.oid[]) t(kind) WHERE t.kind OPERATOR(pg_catalog.>=) {first})"
    " LIMIT 1".replace("{first}", "16384::pg_catalog.oid").replace("::", r"\:\:")
)
"""Finds user-defined operators and functions of numbers and texts with the name of a built-in: presman's queries would
run them. Objects from OID 16384 on are not PostgreSQL's own. This query names everything with its schema, so that it
uses only PostgreSQL's own objects."""


class Definition(NamedTuple):
    """A row of sqlite_master: kind (table, view, index, trigger), name, table, SQL."""

    kind: str
    name: str
    table: str
    sql: str


def definitions(connection: sqlite3.Connection) -> list[Definition]:
    """Return the definitions of a file, up to the first that cannot be read."""
    found: list[Definition] = []
    cursor = connection.execute(f"SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT {_MOST}")
    try:
        for row in cursor:
            found.append(Definition(*("" if each is None else str(each).strip() for each in row)))
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:  # not caused by the content of the file
            raise
    return found


def foreign_definition(found: list[Definition]) -> str:
    """Return the first definition that is not presman's, in words; "" if all of them are.

    Definitions of an older presman may have other columns and joins, but no other words.
    """
    ours, words = _definitions(), _words_by_kind()
    if len(found) >= _MOST:  # the rest was not checked
        return f"schema of {_MOST} definitions or more"
    for each in found:
        is_of_key = each.kind == "index" and not each.sql and each.table in METADATA.tables
        is_own = each.name in ours and ours[each.name][:3] == each[:3] and words[each.kind].issuperset(_words(each.sql))
        if not is_own and not is_of_key:
            return one_line(clean(f"{each.kind} {each.name}"), 80)
    return ""


def is_damaged(found: list[Definition]) -> bool:
    """Whether definitions may be presman's with some bytes changed: each has the length of its own."""
    ours, changed = list(_definitions().values()), [each for each in found if each.sql]
    lengths = [tuple(map(len, each)) for each in ours]
    return [tuple(map(len, each)) for each in changed] == lengths[: len(changed)]


def verify(connection: sqlite3.Connection) -> None:
    """Raise sqlite3.Error if the file of a connection defines anything that is not presman's."""
    if foreign := foreign_definition(definitions(connection)):
        raise ForeignSchemaError(f"its {foreign} is not what a recorder makes")


@cache
def _definitions() -> Mapping[str, Definition]:
    """Return the definitions of presman by name, in the order of their creation."""
    dialect = sqlite.dialect()
    tables = {each.name: str(CreateTable(each).compile(dialect=dialect)).strip() for each in METADATA.tables.values()}
    views = {name: f'CREATE VIEW "{name}" AS {select}' for name, select in selects("sqlite").items()}
    kinds = (("table", tables), ("view", views))
    return {name: Definition(kind, name, name, sql) for kind, texts in kinds for name, sql in texts.items()}


@cache
def _words_by_kind() -> Mapping[str, frozenset[str]]:
    """Return all words of presman's own tables and views: none of them computes or checks a value."""
    kinds = {each.kind for each in _definitions().values()}
    return {kind: _words(" ".join(each.sql for each in _definitions().values() if each.kind == kind)) for kind in kinds}


def _words(sql: str) -> frozenset[str]:
    return frozenset(_WORD.findall(sql))


# ---- Schema rescue: a copy of a SQLite file with a damaged schema gets the schema of a new recording


_HEADER, _PAGES = 100, slice(28, 32)
_FREE = slice(32, 40)
_LAYOUT = slice(60, 64)
"""The header of a SQLite file (SQLite's file format): its bytes, and where it has the number of pages, the list of free
pages, and PRAGMA user_version."""
_POINTER_MAP = 2
"""The page with the pointer map of a file that can be vacuumed in steps: it is about the file's own pages."""


def has_layout_of_today(path: Path) -> bool:
    """Whether a file was created with today's tables, so that they are on the same pages as in a new file."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(_HEADER)[_LAYOUT], "big") == LAYOUT


def is_whole(connection: sqlite3.Connection) -> bool:
    """Whether the schema of a file of today's format is complete, or differs by more than damage can explain."""
    try:
        found = definitions(connection)
        if foreign_definition(found):
            return not is_damaged(found)
        tables = METADATA.tables.items()
        infos = ((each, connection.execute(f'PRAGMA table_info("{name}")')) for name, each in tables)
        return all([row[1] for row in info] == each.c.keys() for each, info in infos)
    except sqlite3.OperationalError:  # not caused by the content of the file
        return True
    except (UnicodeDecodeError, sqlite3.DatabaseError):  # SQLite quotes the damaged bytes in its message
        return False


def copied(path: Path, folder: Path) -> Path:
    """Return a copy of a file and of its log in `folder`. Raises OSError."""
    for suffix in ("", "-wal"):
        if (source := path.with_name(path.name + suffix)).exists():
            shutil.copyfile(source, folder / source.name)
    return folder / path.name


def rescued(path: Path, folder: Path, make: Callable[[Path], None]) -> Path:
    """Return a copy of a file, in `folder`, with the schema of a new recording created by `make`. Raises OSError."""
    fresh, copy = folder / "fresh.presman", folder / path.name
    make(fresh)
    with closing(sqlite3.connect(fresh)) as connection:  # in a new file each table has a single page
        roots = {root for (root,) in connection.execute("SELECT rootpage FROM sqlite_master")}
    copied(path, folder)
    content = fresh.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    with copy.open("r+b") as file:
        file.seek(0, 2)
        pages = max(file.tell(), len(content)) // size
        for number in sorted({*range(1, len(content) // size + 1)} - roots - {_POINTER_MAP}):  # only of the schema
            page = bytearray(content[(number - 1) * size : number * size])
            if number == 1:
                page[_PAGES], page[_FREE] = pages.to_bytes(4, "big"), bytes(8)
            file.seek((number - 1) * size)
            file.write(page)
        file.truncate(pages * size)
    return copy


# ---- Store tables: created if missing, checked before anything is read.


def prepare_tables(connection: Connection, name: str, limits: StatementLimits) -> None:
    """Create the tables of a store for writing if they are missing, or upgrade them to today's format."""
    if connection.dialect.name == "postgresql":  # recorders that start together would create the tables twice
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({APPLICATION_ID})")
    _check_relations(connection, name, writing=True)
    if inspect(connection).has_table("meta"):
        if _format(connection, name) < FORMAT:
            limits.begin()
            for view in selects(connection.dialect.name):  # the blocks do not change
                connection.execute(text(f'DROP VIEW IF EXISTS "{view}"'))
            _create(connection)
            connection.execute(META.update().where(META.c.name == "format").values(value=str(FORMAT)))
            limits.end()
        return
    _create(connection)
    from presman import __version__

    facts = {"format": str(FORMAT), "made_by": f"presman {__version__}"}
    connection.execute(META.insert(), [{"name": name, "value": value} for name, value in facts.items()])


def damage_of_tables(
    connection: Connection, name: str, translating: Callable[[], AbstractContextManager[None]], *, writing: bool
) -> list[str]:
    """Return what is missing in a store that can be read nevertheless; `translating` translates errors.

    Raises RecordingError if it is not a recording, or its format is unknown.
    """
    _check_relations(connection, name, writing=writing)
    missing = sorted(set(METADATA.tables) - set(inspect(connection).get_table_names()))
    if len(missing) == len(METADATA.tables):
        raise RecordingError(f"{name} is not a recording of presman")
    damage = []
    try:
        with translating():
            _format(connection, name)
    except DamagedStoreError as error:
        if writing:
            raise
        reason = str(error).removeprefix(f"{name} is ")
        damage.append(f"its format cannot be read and is taken to be {FORMAT} ({reason})")
    if {"blocks", "polls"}.issubset(missing):
        raise DamagedStoreError(f"{name} is damaged: without {', '.join(missing)}")
    return [*damage, f"without {', '.join(missing)}"] if missing else damage


def _format(connection: Connection, name: str) -> int:
    """Return the format of a store. Raises RecordingError if it has none, or an unknown one."""
    version = connection.execute(META.select().where(META.c.name == "format")).first()
    number = str(version.value) if version is not None else ""
    if not number.isdecimal() or len(number) > 6:
        raise DamagedStoreError(f"{name} is not a recording of presman: it has no format")
    if int(number) > FORMAT:
        raise RecordingError(f"{name} has format {int(number)}; this presman reads up to {FORMAT}: install a newer one")
    if int(number) < LAYOUT:
        raise RecordingError(f"{name} has format {int(number)}, which no release of presman wrote")
    return int(number)


def _check_relations(connection: Connection, name: str, *, writing: bool) -> None:
    """Raise RecordingError if PostgreSQL has anything but plain tables; files are checked when connecting.

    Nor may it have operators and functions with the name of one of PostgreSQL's own.
    """
    if connection.dialect.name != "postgresql":
        return
    if (kind := connection.execute(_SHADOWED).scalar()) is not None:
        raise RecordingError(f"{name}: its own {kind} instead of PostgreSQL's is not what a recorder makes")
    if relation := connection.execute(_FOREIGN, {"writing": writing}).scalar():
        raise RecordingError(f"{name}: its {relation} is not what a recorder makes")


def _create(connection: Connection) -> None:
    """Create the missing tables, and the views."""
    METADATA.create_all(connection)
    for view, select in selects(connection.dialect.name).items():
        connection.execute(text(f'CREATE VIEW "{view}" AS {select}'))
