"""Text keeper: long texts, each once for all databases of a recording, known by a hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from presman.codec.frame_blocks import text_hash
from presman.recording.compiled_statements import run
from presman.recording.schema import TEXTS


def _insert(insert: Any) -> Any:
    """Return the insert that marks a text as in use where it is there already."""
    return insert.on_conflict_do_update(index_elements=["hash"], set_={"last_at": insert.excluded.last_at})


_INSERTS = {"sqlite": _insert(sqlite.insert(TEXTS)), "postgresql": _insert(postgresql.insert(TEXTS))}


class TextKeeper:
    """Collects the long texts of a poll and writes them before what refers to them."""

    def __init__(self) -> None:
        self._new: dict[bytes, str] = {}

    def keep(self, text: str) -> bytes:
        """Return the hash of a text that will be written."""
        found = text_hash(text)
        self._new[found] = text
        return found

    def keep_all(self, texts: Mapping[bytes, str]) -> None:
        """Take texts whose hashes are known."""
        self._new |= texts

    def write(self, at: int, connection: Connection) -> None:
        """Write what was collected; what is there already is marked as in use at the instant `at`."""
        if not self._new:
            return
        statement = _INSERTS[connection.dialect.name]
        # In the order of their hashes: two recorders that write the same ones would else wait for each other.
        rows = [{"hash": key, "text": self._new[key].replace("\0", ""), "last_at": at} for key in sorted(self._new)]
        run(connection, statement, rows)
        self._new = {}
