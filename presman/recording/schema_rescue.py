"""Schema rescue: a SQLite file whose schema is damaged read with that of a new recording, in a copy of it.

A recording of today's format always has its tables in the same pages: they are made first and in the same order. So
the pages of the schema can be taken from a new one. Files that were brought up to date from an older format are laid
out otherwise, and say so.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from presman.recording.schema import LAYOUT, METADATA
from presman.recording.schema_check import definitions, foreign_definition, is_damaged

_HEADER, _PAGES = 100, slice(28, 32)
_FREE = slice(32, 40)
_LAYOUT = slice(60, 64)
_POINTER_MAP = 2


def has_layout_of_today(path: Path) -> bool:
    """Whether a file was made with the tables of today, so that its tables are where those of a new one are."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(_HEADER)[_LAYOUT], "big") == LAYOUT


def is_whole(connection: sqlite3.Connection) -> bool:
    """Whether the schema of a file of today's format has all tables and columns, or more than damage explains."""
    try:
        found = definitions(connection)
        if foreign_definition(found):
            return not is_damaged(found)
        return all(
            [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')] == table.c.keys()
            for name, table in METADATA.tables.items()
        )
    except sqlite3.OperationalError:  # nothing that is in the file
        return True
    except (UnicodeDecodeError, sqlite3.DatabaseError):  # SQLite quotes the damaged bytes in its message
        return False


def rescued(path: Path, folder: Path, make: Callable[[Path], None]) -> Path:
    """Return a copy of a file, in `folder`, with the schema of a new recording, which `make` makes. Raises OSError."""
    fresh, copy = folder / "fresh.presman", folder / path.name
    make(fresh)
    for suffix in ("", "-wal"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            shutil.copyfile(source, copy.with_name(copy.name + suffix))
    content = fresh.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    with copy.open("r+b") as file:
        file.seek(0, 2)
        pages = max(file.tell(), len(content)) // size
        for number in _schema_pages(fresh, len(content) // size):
            page = bytearray(content[(number - 1) * size : number * size])
            if number == 1:
                page[_PAGES], page[_FREE] = pages.to_bytes(4, "big"), bytes(8)
            file.seek((number - 1) * size)
            file.write(page)
        file.truncate(pages * size)
    return copy


def _schema_pages(fresh: Path, pages: int) -> list[int]:
    """Return the numbers of the pages that only the schema has: in a new file each table has but one."""
    with closing(sqlite3.connect(fresh)) as connection:
        roots = {root for (root,) in connection.execute("SELECT rootpage FROM sqlite_master")}
    return [number for number in range(1, pages + 1) if number not in roots | {_POINTER_MAP}]
