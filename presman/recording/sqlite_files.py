"""SQLite files of recordings: made, connected for writing, and read as what a stranger may have changed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from presman.recording.schema import APPLICATION_ID, FORMAT

BUSY_SECONDS = 5.0
"""How long a recorder waits for another one that writes to the same file."""

_LONGEST_VALUE = 128 << 20
_MAGIC = b"SQLite format 3\0"
_RESCUED = "its schema or its end is damaged, the rest is read"


def which_file(path: Path) -> tuple[int, int]:
    """Return device and number of a file: another one under its name has others. Raises OSError."""
    found = path.stat()
    return found.st_dev, found.st_ino


def other_than_a_recording(path: Path) -> str:
    """Return what a file is if it is no recording, else "". Raises OSError."""
    with path.open("rb") as file:
        head = file.read(100)
    if head[:16] != _MAGIC:
        return "is no recording of presman"
    if int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        return "is a SQLite file, but no recording of presman"
    return ""


def make_private(path: Path) -> None:
    """Make the file before SQLite does, readable for the user alone: it will hold SQL texts. Raises OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def remove_blank(path: Path) -> None:
    """Remove a file in which there is no table, and what SQLite has beside it; one that cannot be looked into stays."""
    log = Path(f"{path}-wal")
    try:
        if path.stat().st_size:
            # Without a log nothing can be in it, and no room is needed for the file by which SQLite reads one.
            way = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
            with closing(_opened(f"{path.resolve().as_uri()}?{way}")) as connection:
                if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    return
    except (OSError, sqlite3.Error):
        return
    remove_recording(path)


def remove_recording(path: Path) -> None:
    """Remove a file and what SQLite has beside it."""
    for end in ("", "-wal", "-shm"):
        with suppress(OSError):
            Path(f"{path}{end}").unlink()


def connected(path: Path) -> sqlite3.Connection:
    """Connect for writing."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    if not path.stat().st_size:
        own = f"application_id={APPLICATION_ID}", f"user_version={FORMAT}"
        for pragma in ("page_size=8192", "auto_vacuum=INCREMENTAL", *own):
            connection.execute(f"PRAGMA {pragma}")
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "cache_size=-1024"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def connected_for_reading(path: Path, tell: Callable[[str], None]) -> sqlite3.Connection:
    """Connect for reading. Nothing that a file brings along is executed: no view, no trigger, no function.

    `tell` hears of damage for which SQLite would not open it.
    """
    address = path.resolve().as_uri()
    connection = _opened(f"{address}?mode=ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        # A folder that may not be written has no room for the files by which SQLite knows of writers: there is none.
        connection.close()
        connection = _opened(f"{address}?immutable=1")
    except (UnicodeDecodeError, sqlite3.DatabaseError):  # SQLite quotes the damaged bytes in its message
        _rescue(connection)
        tell(cut_short(path) or _RESCUED)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "cache_size=-2048"):
        connection.execute(f"PRAGMA {pragma}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    connection.text_factory = _text
    return connection


def _opened(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _rescue(connection: sqlite3.Connection) -> None:
    """Let SQLite read what it can of a file that is cut short, or of a schema with some definitions damaged.

    With this setting it takes a schema as read up to the first damaged definition, and a file as long as it is. The
    first statement still fails.
    """
    connection.execute("PRAGMA writable_schema=ON")
    with suppress(UnicodeDecodeError, sqlite3.DatabaseError):
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def cut_short(path: Path) -> str:
    """Say how much of a file is missing, by the number of pages and their size in its header; "" if it is all there."""
    with path.open("rb") as file:
        header = file.read(32)
        there = file.seek(0, os.SEEK_END)
    whole = int.from_bytes(header[16:18]) * int.from_bytes(header[28:32])
    if len(header) < 32 or there >= whole:
        return ""
    missing = f"{there / 1e6:.1f} of {whole / 1e6:.1f} MB are there"
    return f"it is cut short, {missing}: what was recorded last is lost, the rest is read"


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
