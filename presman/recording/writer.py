"""Writer of a recording: each poll of one database in one transaction, figures and snapshot together."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, select

from presman.analysis.readings.reading import Reading
from presman.analysis.totals import queued_now
from presman.analysis.trends.database_events import DatabaseEvent, EventWatch
from presman.base.run_status import other_writer
from presman.base.sums import added, sum_of_known
from presman.base.text import clean
from presman.recording.codec.poll_codec import THOROUGH, FrameEncoder, is_old, pack_block, unpack_block
from presman.recording.codec.shapes import DamagedError, microseconds
from presman.recording.figure_writer import FigureWriter, TextKeeper
from presman.recording.fleet_rows import LOST, STOPPED, FleetRowWriter, is_written
from presman.recording.measure_tables import MICRO, NOT_KNOWN, scaled
from presman.recording.schema import BLOCKS, DATABASES, EVENTS, POLLS, insert, next_number, run, run_named
from presman.recording.statement_lives import StatementLives
from presman.recording.store import Store
from presman.recording.store_errors import RecordingError, StoreLostError
from presman.rows.snapshot import Snapshot

# ---- Snapshot writer: the chain of frames of one database. Each poll is first its own block; a full chain becomes one


CHAIN = 256
"""Polls of a chain, all of which one damaged byte can destroy: some twenty minutes at five seconds."""

_NEW_BLOCK = insert(BLOCKS)


class SnapshotWriter:
    """Writes snapshots. After a failed transaction, create a new one, which begins a new chain."""

    def __init__(self, database_id: int) -> None:
        self._database_id = database_id
        self._begin()

    def _begin(self) -> None:
        self._encoder = FrameEncoder(THOROUGH)
        self._frames: list[bytes] = []
        self._first_poll = self._first_at = 0
        self._last_at: datetime | None = None

    def write(self, snapshot: Snapshot, poll: int, connection: Connection) -> None:
        """Write a snapshot; with the last one of a chain, join the chain into one block.

        If the clock went back, another chain begins: readers find a poll of a chain by its time.
        """
        if self._last_at is not None and snapshot.at < self._last_at:
            self.finish(self._last_at, connection)
        at, self._last_at = microseconds(snapshot.at), snapshot.at
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
        """Join the unfinished chain into one block at the end of a recording."""
        if len(self._frames) > 1 and last_at is not None:
            self._write(self._first_poll, self._frames, self._first_at, microseconds(last_at), connection)
        self._begin()

    def _write(self, poll: int, frames: list[bytes], first_at: int, last_at: int, connection: Connection) -> None:
        row = {
            "database_id": self._database_id,
            "poll": poll,
            "chain": self._first_poll,
            "polls": len(frames),
            "first_at": first_at,
            "last_at": last_at,
            "content": pack_block(frames),
        }
        if len(frames) > 1:
            _replace_chain(row, connection)
        else:
            run_named(connection, _NEW_BLOCK, [row])


def join_last_chain(database_id: int, connection: Connection) -> None:
    """Join the polls left by a killed recorder into one block; damaged ones stay as they are."""
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


# ---- Writer of a recording: each poll of one database in one transaction, figures and snapshot together


_NEW_POLL, _NEW_EVENT = insert(POLLS), insert(EVENTS)


class RecordingWriter:
    """Appends the polls of one database to a store. Raises RecordingError, StoreLostError if the store may come back.

    When `append` returns, the poll is stored even if the process is killed. When it raises, nothing was written, and it
    may be retried. `every` is the seconds between two polls, None if unknown. `before` is the writer of the previous
    day's file. Not thread-safe.
    """

    _lives: StatementLives

    def __init__(
        self, store: Store, target: str, kind: str, every: float | None = None, before: RecordingWriter | None = None
    ) -> None:
        self._every = every
        self._store = store
        self._target = clean(target)
        self._kind = kind
        self._watch = EventWatch()
        self._ready = False
        self._database_id = self._poll = self._event = 0
        self._lives_before: StatementLives | None = before._lives if before is not None and before._poll else None
        self._name = ""
        self._last_at: datetime | None = None
        self._pending: list[DatabaseEvent] = []
        self._seen: int | None = None

    def append(self, snapshot: Snapshot, reading: Reading) -> int:
        """Write a poll; return its number among the polls of this database in the store."""
        # A poll that is tried again must not find its events twice.
        self._pending += self._watch.add(reading, snapshot) if self._last_at != snapshot.at else []
        self._last_at = snapshot.at
        try:
            with self._store.transaction() as connection:
                if not self._ready:
                    self._prepare(connection)
                self._write(snapshot, reading, connection)
        except BaseException as error:
            self._ready = False  # the writers remember rows that were not written: the next poll makes new writers
            if self._store.is_conflict(error.__cause__):
                raise StoreLostError(
                    f"{self._store.name}: {self._other} writes {self._target} at the same time"
                ) from error
            raise
        self._event += len(self._pending)
        self._pending = []
        self._poll += 1
        return self._poll - 1

    def note(self, event: DatabaseEvent) -> None:
        """Add an event that is in no reading; it is written with the next poll."""
        self._pending.append(event)

    def lose(self, reason: str) -> None:
        """Record that the database cannot be reached, for readers of the store. Raises RecordingError.

        The recording is ended as by `close`: by the time the database comes back, old polls may have been removed, and
        polls that depend on removed ones would be lost.
        """
        try:
            with self._store.transaction() as connection:
                if not self._ready:
                    self._prepare(connection)
                self._end(connection)
                self._fleet.mark(LOST, reason, connection)
        finally:
            self._ready = False

    def close(self, *, lost: bool = False) -> None:
        """End the recording: the polls written last become one block. Raises RecordingError.

        If the database was `lost`, its row keeps saying so.
        """
        if self._ready:
            with self._store.transaction() as connection:
                self._end(connection)
                if not lost:
                    self._fleet.mark(STOPPED, "its recorder was stopped", connection)
        self._ready = False

    def _end(self, connection: Connection) -> None:
        self._snapshots.finish(self._last_at, connection)
        self._lives.close(connection)

    def _stop_if_another_writes(self, upcoming: int, connection: Connection) -> None:
        """Raise RecordingError for a newcomer once another recorder is seen to write, until then StoreLostError.

        A recorder that has written before tries again later. `upcoming` is the number of the next poll in the store.
        """
        if self._every is None or not is_written(connection, self._database_id, self._every):
            return
        c = POLLS.c
        newest = select(c.at).where(c.database_id == self._database_id, c.poll == upcoming - 1)
        tried = None if self._last_at is None else microseconds(self._last_at)
        # A poll of its own may be in the store although its answer was lost.
        if (self._poll and upcoming == self._poll) or connection.execute(newest).scalar() == tried:
            return
        if self._seen is None:
            self._seen = upcoming
        other = f"{self._store.name}: {self._other}"
        if not self._poll and upcoming == self._seen:  # it may have been killed, and this one started in its place
            raise StoreLostError(f"{other} wrote {self._target} a moment ago")
        raise (StoreLostError if self._poll else RecordingError)(f"{other} writes {self._target} at the same time")

    @property
    def _other(self) -> str:
        """Words for the other recorder; its process is known on the same machine only."""
        pid = other_writer(self._store.name, self._target)
        return "another recorder" if pid is None else f"another recorder (process {pid})"

    def _prepare(self, connection: Connection) -> None:
        """Find the database and the end of its recording."""
        found = connection.execute(
            select(DATABASES.c.database_id, DATABASES.c.name).where(DATABASES.c.target == self._target)
        ).first()
        if found is None:
            row = {"target": self._target, "name": "", "kind": self._kind}
            result = connection.execute(DATABASES.insert().values(row))
            assert result.inserted_primary_key is not None
            self._database_id, self._name = result.inserted_primary_key[0], ""
        else:
            self._database_id, self._name = found
        upcoming = next_number(connection, POLLS.c.poll, self._database_id, first=0)
        self._stop_if_another_writes(upcoming, connection)
        self._poll = upcoming
        self._event = next_number(connection, EVENTS.c.event, self._database_id, first=0)
        join_last_chain(self._database_id, connection)
        self._figures = FigureWriter(connection, self._database_id)
        self._lives = StatementLives(connection, self._database_id, self._every, self._lives_before)
        self._fleet = FleetRowWriter(connection, self._database_id, self._every)
        self._snapshots = SnapshotWriter(self._database_id)
        self._texts = TextKeeper()
        self._ready = True

    def _write(self, snapshot: Snapshot, reading: Reading, connection: Connection) -> None:
        poll, at = self._poll, microseconds(snapshot.at)
        if (name := reading.header.database) and name != self._name:
            connection.execute(DATABASES.update().where(DATABASES.c.database_id == self._database_id).values(name=name))
            self._name = name
        row = _poll_row(snapshot, reading) | {"database_id": self._database_id, "poll": poll}
        run_named(connection, _NEW_POLL, [row])
        self._snapshots.write(snapshot, poll, connection)
        self._figures.write(reading, poll, connection, self._texts)
        self._lives.write(reading, poll, connection)
        self._fleet.write(reading, connection)
        self._texts.write(at, connection)
        events = [
            (self._database_id, number, microseconds(each.at), each.kind, each.group, each.sql_id, each.text)
            for number, each in enumerate(self._pending, self._event)
        ]
        run(connection, _NEW_EVENT, events)


def _poll_row(snapshot: Snapshot, reading: Reading) -> dict[str, Any]:
    groups, servers, queued = reading.cluster_groups(), reading.header.servers, queued_now(reading)
    waits = [group.waiting for group in groups if group.used is not None]
    return {
        "at": microseconds(snapshot.at),
        "number": snapshot.number,
        "epoch": snapshot.epoch,
        "interval_us": None if reading.interval is None else round(reading.interval * MICRO),
        "queued": NOT_KNOWN if queued is None else queued,
        "servers_in_use": servers.in_use,
        "servers_target": servers.target,
        "used_cpus": scaled(sum_of_known(group.used for group in groups)),
        "waited_cpus": scaled(added(waits) if waits else None),
    }
