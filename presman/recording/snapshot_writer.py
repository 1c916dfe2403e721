"""Snapshot writer: the chain of frames of one database. Each poll is a block at once; a whole chain becomes one."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select

from presman.recording.codec.chain import THOROUGH, FrameEncoder, is_old, pack_block, unpack_block
from presman.recording.codec.values import DamagedError, microseconds
from presman.recording.row_commands import insert, run_named
from presman.recording.schema import BLOCKS
from presman.records.snapshot import Snapshot

CHAIN = 256
"""Polls of a chain: what one damaged byte can cost, some twenty minutes at five seconds."""

_NEW_BLOCK = insert(BLOCKS)


class SnapshotWriter:
    """Writes snapshots. After a transaction that failed a new one is needed; it begins a new chain."""

    def __init__(self, database_id: int) -> None:
        self._database_id = database_id
        self._begin()

    def _begin(self) -> None:
        self._encoder = FrameEncoder(THOROUGH)
        self._frames: list[bytes] = []
        self._first_poll = 0
        self._first_at = 0

    def write(self, snapshot: Snapshot, poll: int, connection: Connection) -> None:
        """Write a snapshot; the last one of a chain makes one block of the chain."""
        at = microseconds(snapshot.at)
        frame = self._encoder.add(snapshot)
        if not self._frames:
            self._first_poll, self._first_at = poll, at
        self._frames.append(frame)
        if len(self._frames) >= CHAIN or self._encoder.is_full:
            self._write(self._first_poll, self._frames, self._first_at, at, connection)
            self._begin()
        else:
            self._write(poll, [frame], at, at, connection)

    def finish(self, last_at: datetime | None, connection: Connection) -> None:
        """Make one block of what there is of a chain: the recording ends here."""
        if len(self._frames) > 1 and last_at is not None:
            self._write(self._first_poll, self._frames, self._first_at, microseconds(last_at), connection)
        self._begin()

    def _write(self, poll: int, frames: list[bytes], first_at: int, last_at: int, connection: Connection) -> None:
        row = {
            "database_id": self._database_id, "poll": poll, "chain": self._first_poll, "polls": len(frames),
            "first_at": first_at, "last_at": last_at, "content": pack_block(frames),
        }  # fmt: skip
        if len(frames) > 1:
            _replace_chain(row, connection)
        else:
            run_named(connection, _NEW_BLOCK, [row])


def join_last_chain(database_id: int, connection: Connection) -> None:
    """Make one block of the polls that a recorder left behind which was killed; what is damaged stays as it is."""
    c = BLOCKS.c
    last = select(c.chain).where(c.database_id == database_id).order_by(c.poll.desc()).limit(1).scalar_subquery()
    rows = connection.execute(
        select(BLOCKS).where(c.database_id == database_id, c.chain == last).order_by(c.poll)
    ).all()
    if len(rows) < 2 or any(not isinstance(row.content, bytes) or is_old(row.content) for row in rows):
        return
    try:
        frames = [frame for row in rows for frame in unpack_block(row.content)]
    except DamagedError:
        return
    joined = {"polls": len(frames), "last_at": rows[-1].last_at, "content": pack_block(frames)}
    _replace_chain(rows[0]._asdict() | joined, connection)


def _replace_chain(row: dict[str, object], connection: Connection) -> None:
    c = BLOCKS.c
    connection.execute(delete(BLOCKS).where(c.database_id == row["database_id"], c.chain == row["chain"]))
    run_named(connection, _NEW_BLOCK, [row])
