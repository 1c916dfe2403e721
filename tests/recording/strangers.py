"""Malicious files by name: real recordings with additions that no recorder writes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from presman.recording.schema import METADATA

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"
_LEVELS = 10
"""Levels of a tree of pages in which all branches lead to the same page below: 25 ** 10 rows in one megabyte."""

ENDS = ("-wal", "-shm", "-journal")

Harm = Callable[[Path], None]


def _run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode=DELETE")
        for each in statements:
            file.execute(each)


def _defined(path: Path, statement: str, *values: object) -> None:
    """Change the schema of a file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode=DELETE")
        file.execute("PRAGMA writable_schema=ON")
        file.execute(statement, values)


def _view(table: str) -> str:
    return f'CREATE VIEW "{table}" AS ' + ENDLESS.format(
        ", ".join(f'i AS "{each.name}"' for each in METADATA.tables[table].columns)
    )


def endless_view(table: str) -> Harm:
    """An endless view in place of a table."""
    return lambda path: _run(path, f'DROP TABLE "{table}"', _view(table))


def endless_view_called_a_table(table: str) -> Harm:
    """The same view, which the schema calls a table."""
    change = "UPDATE sqlite_master SET sql = ?, rootpage = 0 WHERE name = ?"
    return lambda path: _defined(path, change, _view(table), table)


def behind_many_definitions(path: Path) -> None:
    """An endless view after 300 definitions of presman's own, beyond those that a short check would read."""
    own = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = 'sqlite_autoindex_meta_1'"
    number = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)"
    _defined(path, f"{number} INSERT INTO sqlite_master SELECT m.* FROM n, ({own}) m")
    _defined(path, "DELETE FROM sqlite_master WHERE name = 'events' AND type = 'table'")
    _defined(path, "INSERT INTO sqlite_master VALUES ('view', 'events', 'events', 0, ?)", _view("events"))


def page_size(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[16:18], "big")


def endless_pages(table: str) -> Harm:
    """A tree of pages in which all branches of a page lead to the same page below."""

    def harm(path: Path) -> None:
        root = _filled(path, table)
        size = page_size(path)
        content = bytearray(path.read_bytes())
        page = bytes(content[(root - 1) * size : root * size])
        assert page[0] in {2, 5}, "an interior page"
        below = int.from_bytes(page[8:12], "big")
        for _ in range(_LEVELS):
            content += _leading(page, below)
            below = len(content) // size
        content[(root - 1) * size : root * size] = _leading(page, below)
        content[28:32] = below.to_bytes(4, "big")
        path.write_bytes(content)

    return harm


def _filled(path: Path, table: str) -> int:
    """Put more rows into a table than one page holds; return its first page."""
    columns = list(METADATA.tables[table].columns)
    last = max(place for place, each in enumerate(columns) if each.primary_key)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode=DELETE")
        row = list(file.execute(f'SELECT * FROM "{table}" LIMIT 1').fetchone() or (1,) * len(columns))
        many = 9000 if table != "blocks" else 400  # one row of blocks takes as much as a hundred others
        rows = [[*row[:last], 100_000 + number, *row[last + 1 :]] for number in range(many)]
        file.execute("BEGIN")
        file.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(columns))})', rows)
        file.execute("COMMIT")
        found = file.execute("SELECT rootpage FROM sqlite_master WHERE name = ? AND type = 'table'", (table,))
        return int(found.fetchone()[0])


def _leading(page: bytes, to: int) -> bytes:
    """Return a page whose branches all lead to one page."""
    made = bytearray(page)
    made[8:12] = to.to_bytes(4, "big")
    for cell in range(int.from_bytes(page[3:5], "big")):
        place = int.from_bytes(page[12 + 2 * cell : 14 + 2 * cell], "big")
        made[place : place + 4] = to.to_bytes(4, "big")
    return bytes(made)


def sparse(then: Harm) -> Harm:
    """The same, in a sparse file that claims to have 200 GB."""

    def harm(path: Path) -> None:
        then(path)
        with path.open("r+b") as file:
            size = page_size(path)
            pages = (200 << 30) // size
            file.truncate(pages * size)
            file.seek(28)
            file.write(pages.to_bytes(4, "big"))

    return harm


def many_polls(path: Path) -> None:
    """Blocks of one byte that claim to have 10,000 polls each."""
    number = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= 1000)"
    poll, at = "1000000 + 10000 * i", "(SELECT max(last_at) FROM blocks) + i"
    _run(path, f"{number} INSERT INTO blocks SELECT 1, {poll}, {poll}, 10000, {at}, {at}, x'00' FROM n")


def beside(end: str, make: Harm) -> Harm:
    """A file beside the recording, under a name that SQLite uses."""
    return lambda path: make(path.with_name(path.name + end))


def _instead(make: Harm) -> Harm:
    def harm(path: Path) -> None:
        path.unlink()
        make(path)

    return harm


def _zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.write(bytes.fromhex("377f0682002de218") + bytes(24))
        file.truncate(1 << 40)


def changed(place: int, content: bytes) -> Harm:
    """Other bytes in the header."""

    def harm(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(place)
            file.write(content)

    return harm


_EVENTS = ", ".join(each.name for each in METADATA.tables["events"].columns)
_OF_POLLS = "SELECT rootpage FROM sqlite_master WHERE name = 'polls'"

REFUSED: Mapping[str, Harm] = {
    **{f"endless view {each}": endless_view(each) for each in METADATA.tables},
    "view called a table": endless_view_called_a_table("meta"),
    "another view called a table": endless_view_called_a_table("blocks"),
    "behind many definitions": behind_many_definitions,
    "trigger": lambda path: _run(path, "CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM polls; END"),
    "generated column": lambda path: _run(path, "ALTER TABLE meta ADD COLUMN more AS (hex(zeroblob(30000000)))"),
    "virtual table": lambda path: _run(path, "DROP TABLE events", f"CREATE VIRTUAL TABLE events USING fts5({_EVENTS})"),
    "index on an expression": lambda path: _run(path, "CREATE INDEX i ON meta (hex(value))"),
    "table of somebody else": lambda path: _run(path, "CREATE TABLE other (a)"),
    "name of two lines": lambda path: _defined(
        path, "UPDATE sqlite_master SET name='x\ny', tbl_name='x\ny' WHERE name='events'"
    ),
    **{f"pipe beside it, {end}": beside(end, os.mkfifo) for end in ENDS},
    **{f"folder beside it, {end}": beside(end, Path.mkdir) for end in ENDS},
    **{f"zeros beside it, {end}": beside(end, _zeros) for end in ENDS},
    "pipe": _instead(os.mkfifo),
    "folder": _instead(Path.mkdir),
    "zeros": _instead(_zeros),
    "link to itself": _instead(lambda path: path.symlink_to(path)),
    "pages of 0": changed(16, b"\0\0"),
    "reserved": changed(20, b"\xff"),
    "UTF-16": changed(56, b"\0\0\0\2"),
    "schema format": changed(44, b"\0\0\0\x09"),
}
"""Files that are refused."""

_OWN_ARRIVALS = "INSERT INTO arrived (database_id, statement, poll) VALUES (1, 900, 3), (1, 901, 4)"
_OWN_DATABASES = "WITH n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i <= 10000)"

FOREIGN_VALUES: Mapping[str, Harm] = {
    "fleet of texts": lambda path: _run(path, "UPDATE fleet SET polled_at = 'a', every_us = 'b', alerts = x'ff00'"),
    "fleet without end": lambda path: _run(
        path, "UPDATE fleet SET queued = 9e999, used_cpus = -9e999, link_at = 9e999"
    ),
    "polls of texts": lambda path: _run(path, "UPDATE polls SET used_cpus = 'a', queued = 'b', interval_us = x'00'"),
    "groups without end": lambda path: _run(path, "UPDATE group_cases SET statements_queued_total = 9e999"),
    "buckets without end": lambda path: _run(path, "UPDATE buckets SET upper_us = 9e999"),
    "waits without end": lambda path: _run(path, "UPDATE bucket_waits SET waits_1 = 1e308, waits_2 = 1e308"),
    "arrivals of nothing": lambda path: _run(path, _OWN_ARRIVALS),
    "many databases": lambda path: _run(
        path, f"{_OWN_DATABASES} INSERT INTO databases SELECT i, 'd' || i, 'D', 'simulator' FROM n"
    ),
}
"""Files with presman's tables, but with values that it never writes."""

BOUNDED: Mapping[str, Harm] = {
    "with rowid": lambda path: _defined(
        path, "UPDATE sqlite_master SET sql = replace(sql, 'WITHOUT ROWID', '') WHERE name = 'polls'"
    ),
    "without rowid": lambda path: _defined(
        path, "UPDATE sqlite_master SET sql = sql || ' WITHOUT ROWID' WHERE name = 'databases'"
    ),
    "pages of another table": lambda path: _defined(
        path, f"UPDATE sqlite_master SET rootpage = ({_OF_POLLS}) WHERE name = 'blocks'"
    ),
    "pages of the schema": lambda path: _defined(path, "UPDATE sqlite_master SET rootpage = 1 WHERE name = 'meta'"),
    "other kinds": lambda path: _defined(
        path, "UPDATE sqlite_master SET sql = replace(sql, 'INTEGER', 'TEXT') WHERE name = 'polls'"
    ),
    **{
        f"endless pages {each}": endless_pages(each)
        for each in ("polls", "events", "statements", "group_rows", "bucket_waits", "blocks")
    },
    "many polls": many_polls,
    "sparse": sparse(lambda path: None),
    "sparse, endless pages": sparse(endless_pages("polls")),
    "huge log": beside("-wal", _huge),
    "pages of 512": changed(16, b"\2\0"),
    "pages of 64K": changed(16, b"\0\1"),
    "many pages": changed(28, b"\x7f\xff\xff\xff"),
    "cache": changed(48, b"\x7f\xff\xff\xff"),
}
"""Files that are read in part, within limits."""
