"""Store errors: each trouble of a database of recordings as an error of one line, free of secrets."""

import sqlite3

from presman.base.errors import InputError
from presman.base.text import clean, one_line


class ForeignSchemaError(sqlite3.DatabaseError):
    """A file defines what presman does not make: it is neither read nor written."""


class RecordingError(InputError):
    """A recording cannot be opened, read or written; the text is one line free of secrets."""


class LargeNumberError(RecordingError):
    """What is to be written has a number that no database keeps: whoever it was read of may be a stranger."""


class DamagedStoreError(RecordingError):
    """Something of the store cannot be read, now or ever; the rest may be."""


class StoreLostError(RecordingError):
    """The store cannot be written now: a full disk, a lock, a server that is away. It may come back."""


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
    """Return what the database of a store of this name said as an error; `is_lost` where it may come back."""
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
    # Names of tables and columns are in the file: those that a reader misses are damaged.
    if any(words in lowered for words in _DAMAGES) or ("no such" in lowered and not writing):
        return DamagedStoreError(f"{name} is damaged: {message}")
    return kind(f"{name}: {message}")
