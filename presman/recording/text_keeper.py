"""Text keeper: long texts, each once for all databases of a recording, known by a hash."""

from __future__ import annotations

from hashlib import blake2b

from sqlalchemy import Connection

from presman.recording.row_commands import insert, run
from presman.recording.schema import TEXTS

_KEEP = insert(TEXTS, "ON CONFLICT (hash) DO UPDATE SET last_at = excluded.last_at")

HASH = 16
"""Bytes by which a text is known."""


class TextKeeper:
    """Collects the long texts of a poll and writes them before what refers to them."""

    def __init__(self) -> None:
        self._new: dict[bytes, str] = {}

    def keep(self, text: str) -> bytes:
        """Return the hash of a text that will be written."""
        found = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH).digest()
        self._new[found] = text
        return found

    def write(self, at: int, connection: Connection) -> None:
        """Write what was collected; what is there already is marked as in use at the instant `at`."""
        if not self._new:
            return
        # In the order of their hashes: two recorders that write the same ones would else wait for each other.
        run(connection, _KEEP, [(key, self._new[key].replace("\0", ""), at) for key in sorted(self._new)])
        self._new = {}
