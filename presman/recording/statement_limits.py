"""Statement limits: how much SQLite may do with a file that may be a stranger's, and how a signal ends it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 32 << 20,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
}
"""A chain of polls is the longest value, the view of latencies the longest text."""

_EACH = 50_000
"""Steps of SQLite, a millisecond or so, after which is looked whether to go on."""

_STEPS, _STEPS_PER_BYTE = 50_000_000, 50
_ROWS, _BYTES_PER_ROW, _ROWS_OF_A_SERVER = 100_000, 8, 10_000_000
_TEXT, _BYTES_OF_A_SERVER = 16 << 20, 1 << 40
"""A report of 600 polls takes less than a step for each byte of the file, and a row for each 1,000."""


class StatementLimits:
    """What one question may take: steps, rows and text in proportion to the file, so that none is without end.

    A signal ends it, too. SQLite would lose what the signal's handler raises: `raise_again` raises it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._raised: BaseException | None = None
        self.most_rows = _ROWS_OF_A_SERVER
        self.most_bytes = _BYTES_OF_A_SERVER
        self.end()

    def begin(self) -> None:
        """Count anew: another question follows."""
        size = sum(bytes_on_disk(Path(f"{self._path}{end}")) for end in ("", "-wal"))
        self._looks_left: float = (_STEPS + _STEPS_PER_BYTE * size) // _EACH
        self._text_left: float = _TEXT + size
        self.most_rows = min(_ROWS + size // _BYTES_PER_ROW, _ROWS_OF_A_SERVER)
        self.most_bytes = _TEXT + size

    def end(self) -> None:
        """Bound nothing any more: what follows is presman's own; signals still end it."""
        self._looks_left = self._text_left = inf

    def hold(self, connection: sqlite3.Connection) -> None:
        """Have a connection keep to the limits."""
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        look = _looking(self._look)
        next(look)
        connection.set_progress_handler(look.__next__, _EACH)
        connection.text_factory = self._text

    def raise_again(self) -> None:
        """Raise what a signal's handler raised while SQLite was at work."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def _look(self, raised: BaseException | None) -> bool:
        """Return whether SQLite has to end; `raised` is what a signal's handler has raised."""
        self._raised = raised
        self._looks_left -= 1
        return raised is not None or self._looks_left < 0

    def _text(self, content: bytes) -> str:
        self._text_left -= len(content)
        if self._text_left < 0:
            raise sqlite3.DataError("it unfolds to more text than a recording of its size has")
        return content.decode("utf-8", "replace")


def _looking(look: Callable[[BaseException | None], Any]) -> Iterator[bool]:
    """Yield what `look` says. Python runs the handlers of signals as this goes on: there what they raise is caught."""
    ended = False
    while True:
        raised = None
        try:
            yield ended
        except GeneratorExit:
            raise
        except BaseException as error:
            raised = error
        ended = look(raised)


def bytes_on_disk(path: Path) -> int:
    """Return the bytes of a file that are there: one with a hole may say that it has terabytes. 0 where there is none.

    A file system that compresses has fewer than the file, which the limits leave room for.
    """
    with suppress(OSError):
        found = path.stat()
        return min(found.st_size, 512 * found.st_blocks)
    return 0
