"""Store errors: each error of a database of recordings in one line without secrets."""

import sqlite3

from presman.base.errors import InputError
from presman.base.text import clean, one_line


class ForeignSchemaError(sqlite3.DatabaseError):
    """A file defines objects that presman does not create: it is neither read nor written."""


class RecordingError(InputError):
    """A recording cannot be opened, read or written; the text is one line without secrets."""


class LargeNumberError(RecordingError):
    """A number is too large for the database; it may come from a hostile source."""


class DamagedStoreError(RecordingError):
    """A part of the store can never be read; the rest may be readable."""


class StoreLostError(RecordingError):
    """The store is unavailable now: a full disk, a lock, an unreachable server. It may come back."""


_DAMAGES = ("malformed", "not a database", "corrupt", "too big", "unfolds")
_TROUBLES = {
    "database or disk is full": "no room left on its disk",
    "attempt to write a readonly": "it may not be written",
    "readonly database": "it may not be written",
    "unable to open": "it cannot be opened",
    "locked": "another process keeps it locked",
    "disk i/o error": "its disk cannot be written or read",
}


def trouble(name: str, error: BaseException | None, *, is_file: bool, writing: bool, is_lost: bool) -> RecordingError:
    """Return a database error of the store `name` as a RecordingError; `is_lost` if the store may come back."""
    message = one_line(clean(str(error)), 200)
    kind = StoreLostError if is_lost else RecordingError
    if not is_file or isinstance(error, ForeignSchemaError):
        return kind(f"{name}: {message}")
    lowered = message.lower()
    if lowered == "interrupted":
        return RecordingError(f"{name} is damaged: reading it takes longer than a recording of its size can")
    for words, what in _TROUBLES.items():
        if words in lowered:
            return StoreLostError(f"{name}: {what}")
    # Names of tables and columns are in the file: for a reader, missing ones mean damage.
    if any(words in lowered for words in _DAMAGES) or ("no such" in lowered and not writing):
        return DamagedStoreError(f"{name} is damaged: {message}")
    return kind(f"{name}: {message}")
