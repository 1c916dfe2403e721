"""Snapshot writer: the chain of frames of one database. Each poll is a block at once; a whole chain becomes one."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select

from presman.codec.encoder import FrameEncoder, PackedFrame
from presman.codec.frame_blocks import QUICK, THOROUGH, long_texts, pack_block, unpack_block
from presman.codec.packing import DamagedError, Room
from presman.codec.values import microseconds
from presman.recording.row_commands import insert, run_named
from presman.recording.schema import BLOCKS
from presman.recording.text_keeper import TextKeeper
from presman.records.snapshot import Snapshot

CHAIN = 256
"""Polls of a chain: what one damaged byte can cost, some twenty minutes at five seconds."""

_LARGEST_CHAIN = 6 << 20
"""Bytes of frames after which a chain ends early, so that a recorder of a large database stays small."""
_NEW_BLOCK = insert(BLOCKS)


class SnapshotWriter:
    """Writes snapshots. After a transaction that failed a new one is needed; it begins a new chain."""

    def __init__(self, database_id: int) -> None:
        self._database_id = database_id
        self._begin()

    def _begin(self) -> None:
        self._encoder = FrameEncoder()
        self._frames: list[PackedFrame] = []
        self._bytes = 0
        self._first_poll = 0
        self._first_at = 0

    def write(self, snapshot: Snapshot, poll: int, connection: Connection, texts: TextKeeper) -> None:
        """Write a snapshot; the last one of a chain packs the chain into one block."""
        at = microseconds(snapshot.at)
        frame = self._encoder.add(snapshot)
        if not self._frames:
            self._first_poll, self._first_at = poll, at
        self._frames.append(frame)
        self._bytes += len(frame.bare) + sum(map(len, frame.parts.values())) + sum(map(len, frame.texts))
        texts.keep_all(long_texts([frame]))
        if len(self._frames) >= CHAIN or self._bytes >= _LARGEST_CHAIN:
            self._write(self._first_poll, self._frames, self._first_at, at, connection)
            self._begin()
        else:
            self._write(poll, [frame], at, at, connection)

    def finish(self, last_at: datetime | None, connection: Connection) -> None:
        """Pack what there is of a chain into one block: the recording ends here."""
        if len(self._frames) > 1 and last_at is not None:
            self._write(self._first_poll, self._frames, self._first_at, microseconds(last_at), connection)
        self._begin()

    def _write(self, poll: int, frames: list[PackedFrame], first_at: int, last_at: int, connection: Connection) -> None:
        packs = len(frames) > 1
        content = pack_block(frames, THOROUGH if packs else QUICK)
        if packs:
            connection.execute(
                delete(BLOCKS).where(BLOCKS.c.database_id == self._database_id, BLOCKS.c.chain == self._first_poll)
            )
        row = {
            "database_id": self._database_id, "poll": poll, "chain": self._first_poll, "polls": len(frames),
            "first_at": first_at, "last_at": last_at, "content": content,
        }  # fmt: skip
        run_named(connection, _NEW_BLOCK, [row])


def pack_again(database_id: int, connection: Connection) -> None:
    """Pack the polls that a recorder left behind which was killed; what is damaged stays as it is."""
    c = BLOCKS.c
    last = select(c.chain).where(c.database_id == database_id).order_by(c.poll.desc()).limit(1).scalar_subquery()
    rows = connection.execute(
        select(BLOCKS).where(c.database_id == database_id, c.chain == last).order_by(c.poll)
    ).all()
    if len(rows) < 2:
        return
    apart: dict[str, bytes] = {}

    def tokens(keys: list[bytes]) -> dict[bytes, str]:
        """Return what stands for texts that are kept apart: they only pass through."""
        apart.update((f"apart {key.hex()}", key) for key in keys)
        return {key: f"apart {key.hex()}" for key in keys}

    try:
        room = Room()
        frames = [frame for row in rows for frame in unpack_block(row.content, tokens, room)]
    except DamagedError:
        return
    content = pack_block(frames, THOROUGH, known=apart)
    connection.execute(delete(BLOCKS).where(c.database_id == database_id, c.chain == rows[0].chain))
    packed = rows[0]._asdict() | {"polls": len(frames), "last_at": rows[-1].last_at, "content": content}
    run_named(connection, _NEW_BLOCK, [packed])
