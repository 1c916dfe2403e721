"""Lives of parallel statements: queued, running, idle, gone; written when something of it changes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, select

from presman.analysis.readings.reading import Reading
from presman.recording.measure_tables import ARRIVALS, kept
from presman.recording.row_commands import insert, run_named, update
from presman.recording.schema import ARRIVED, STATEMENTS
from presman.watch.arrivals import ArrivalTracker
from presman.watch.statement_spans import Span, Spans

SEEN_EVERY = timedelta(minutes=1)
"""Time after which it is written again that a statement is still there."""
_SEEN_EVERY_US = SEEN_EVERY // timedelta(microseconds=1)
_CHANGING = ("consumer_group", "servers", "queued_at", "started_at", "idle_at", "ended_at", "first_seen", "last_seen")
_NEW_LIFE, _NEW_ARRIVAL = insert(STATEMENTS), insert(ARRIVED)
_CHANGE = update(STATEMENTS, _CHANGING, ("database_id", "statement"))


class StatementLives:
    """Writes the statements of one database, and the arrivals: what is known of each that is over.

    After a transaction that failed a new one is needed; statements that are there then begin once more.
    """

    def __init__(self, connection: Connection, database_id: int) -> None:
        self._database_id = database_id
        self._spans = Spans()
        self._tracker = ArrivalTracker()
        of = STATEMENTS.c
        self._next = 1 + (_highest(connection, of.statement, of.database_id, database_id))
        self._next_arrived = 1 + (_highest(connection, ARRIVED.c.statement, ARRIVED.c.database_id, database_id))
        self._known: dict[int, tuple[Span, int, dict[str, Any]]] = {}
        self._last: datetime | None = None

    def write(self, reading: Reading, poll: int, connection: Connection) -> None:
        """Write what changed with this reading."""
        since, self._last = self._last, reading.at
        self._spans.add(reading)
        at = kept(reading.at)
        new, changed = [], []
        alive = self._spans.open
        ended = [] if since is None else self._spans.ended_since(since)
        still: dict[int, tuple[Span, int, dict[str, Any]]] = {}
        for span in (*ended, *alive):
            known = self._known.get(id(span))
            life = _life(span)
            if known is None:
                number = self._next
                self._next += 1
                life |= {"last_seen": at}
                new.append(_who(span) | life | {"database_id": self._database_id, "statement": number})
            else:
                number, before = known[1], known[2]
                unchanged = life == {key: value for key, value in before.items() if key != "last_seen"}
                if unchanged and at - before["last_seen"] < _SEEN_EVERY_US:
                    life = before
                else:
                    life |= {"last_seen": at}
                    changed.append(life | {"database_id": self._database_id, "statement": number})
            if span.ended is None:
                still[id(span)] = (span, number, life)
        self._known = still
        run_named(connection, _NEW_LIFE, new)
        run_named(connection, _CHANGE, changed)
        self._arrive(reading, poll, connection)

    def _arrive(self, reading: Reading, poll: int, connection: Connection) -> None:
        rows = []
        for arrival in self._tracker.add(reading):
            values = {each.key: each.kept(arrival) for each in ARRIVALS}
            rows.append(values | {"database_id": self._database_id, "statement": self._next_arrived, "poll": poll})
            self._next_arrived += 1
        run_named(connection, _NEW_ARRIVAL, rows)


def _highest(connection: Connection, column: Any, database: Any, database_id: int) -> int:
    return connection.execute(select(func.max(column)).where(database == database_id)).scalar() or 0


def _who(span: Span) -> dict[str, Any]:
    return {
        "inst_id": span.inst_id, "sid": span.sid, "serial": span.serial, "sql_id": span.sql_id,
        "con_id": span.con_id, "user": span.user,
    }  # fmt: skip


def _life(span: Span) -> dict[str, Any]:
    # When an idle holder became so is read off a moving clock: to the second it is always the same.
    idle = None if span.idle is None else round(kept(span.idle) / 10_000_000) * 10_000_000
    return {
        "consumer_group": span.group, "servers": span.servers, "queued_at": kept(span.queued),
        "started_at": kept(span.started), "idle_at": idle, "ended_at": kept(span.ended),
        "first_seen": kept(span.first_seen),
    }  # fmt: skip
