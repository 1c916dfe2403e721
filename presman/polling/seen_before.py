"""Memory of earlier polls for what no view shows any more: missing instances, quiescers, long queues, starts."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from presman.rows.instance_rows import Instance
from presman.rows.queries import RecordType
from presman.rows.session_rows import PxSession, Session, SessionInfo
from presman.rows.session_state import QUIESCE_STATES, is_quiescing, long_queues
from presman.rows.snapshot import CriticalQueue, GoneInstance, MissingInstance, Quiescer, Section, StartedSession

REMEMBERED = timedelta(hours=1)
"""How long a missing instance is reported: it may have been removed from the cluster for good."""


class SeenBefore:
    """What earlier polls saw of one database.

    - The open instances and when each was last seen: V$INSTANCE has no row for an instance that is down. Also those
      that V$RSRC_PLAN showed, because V$INSTANCE may not answer just when an instance goes down. Instances are kept
      when presman reconnects, but not when the scope or the database changes, or the clock goes back.
    - The session that quiesces the database: once all calls have ended no view names it, although the quiesce goes on.
    - The parallel queues that wait too long: for these the limit is lower (:func:`long_queues`).
    - The sessions that got parallel servers while V$SESSION did not answer: its last rows still show them as queued
      when those servers are gone.
    """

    def __init__(self) -> None:
        self._instances: dict[int, GoneInstance] = {}
        self._planned: dict[int, MissingInstance] = {}
        self._planned_at: datetime | None = None
        self._of: tuple[object, ...] = ()
        self._at: datetime | None = None
        self._quiescers: tuple[Quiescer, ...] = ()
        self._critical: tuple[CriticalQueue, ...] = ()
        self._started: frozenset[StartedSession] = frozenset()
        self._held: Collection[PxSession] = ()

    def begin(self, at: datetime, of: tuple[object, ...]) -> None:
        """Begin the notes of a poll. `of` identifies the scope and database; if it changes, instances are forgotten."""
        if self._of != of or at < max(filter(None, (self._at, self._planned_at)), default=at):
            self._instances, self._planned = {}, {}
            self._at = self._planned_at = None
        self._of = of

    def note_plans(self, targets: Mapping[int, int], at: datetime) -> None:
        """Note the instances that V$RSRC_PLAN shows at an instant, with PARALLEL_SERVERS_TARGET."""
        self._planned_at = at
        self._planned |= {key: MissingInstance(key, "", at, target or None) for key, target in targets.items()}

    def note_instances(self, rows: Collection[Instance], at: datetime, targets: Mapping[int, int]) -> None:
        """Note the rows of V$INSTANCE at an instant, and PARALLEL_SERVERS_TARGET by instance (`targets`)."""
        self._at = at
        # Of a database that is mounted only, all instances count: none of them is gone.
        there = [row for row in rows if not row.status or row.status.startswith("OPEN")] or rows
        seen = (GoneInstance(row.inst_id, row.instance_name, at, targets.get(row.inst_id) or None) for row in there)
        self._instances |= {each.inst_id: each for each in seen}

    def note_sessions(
        self,
        sessions: Collection[Session],
        infos: Iterable[SessionInfo],
        instances: Iterable[Instance],
        servers: Collection[PxSession] = (),
    ) -> None:
        """Note the rows of V$SESSION, V$RSRC_SESSION_INFO, V$INSTANCE and V$PX_SESSION.

        The session that quiesced the database is forgotten once the database is no longer quiesced.
        """
        found = (row for row in sessions if is_quiescing(row.event, row.state))
        now = tuple(Quiescer(row.inst_id, row.sid, row.username) for row in found)
        goes_on = any(row.active_state in QUIESCE_STATES for row in instances)
        self._quiescers = now or (self._quiescers if goes_on else ())
        self._critical = tuple(CriticalQueue(*each) for each in sorted(long_queues(sessions, infos, self._critical)))
        self._started, self._held = frozenset(), servers

    def note_servers(self, rows: Iterable[PxSession]) -> None:
        """Note who got servers, by rows of V$PX_SESSION that are newer than those of V$SESSION."""
        self._started |= _coordinators(rows) - _coordinators(self._held)

    def sections(self, at: datetime) -> dict[RecordType, Section]:
        """Return the sections that have rows; only instances that were missing when V$INSTANCE was last read."""
        kept = self._instances.values()
        gone = tuple(each for each in kept if each.last_seen != self._at and at - each.last_seen < REMEMBERED)
        found: dict[RecordType, tuple[Any, ...]] = {
            GoneInstance: gone,
            MissingInstance: self._missing(at, {each.inst_id for each in gone}),
            Quiescer: self._quiescers,
            CriticalQueue: self._critical,
            StartedSession: tuple(sorted(self._started)),
        }
        return {record: Section(rows, at) for record, rows in found.items() if rows}

    def _missing(self, at: datetime, gone: Collection[int]) -> tuple[MissingInstance, ...]:
        """Return the instances that may be gone; none if V$INSTANCE answered at this poll, or V$RSRC_PLAN did not."""
        if self._at == at or self._planned_at != at:
            return ()
        names = {each.inst_id: each.instance_name for each in self._instances.values()}
        missing = (each for each in self._planned.values() if each.last_seen != at and each.inst_id not in gone)
        recent = (each for each in missing if at - each.last_seen < REMEMBERED)
        return tuple(each._replace(instance_name=names.get(each.inst_id, "")) for each in recent)


def _coordinators(rows: Iterable[PxSession]) -> set[StartedSession]:
    named = (row for row in rows if row.qcsid)
    return {StartedSession(*row.coordinator, row.qcserial) for row in named if row.qcserial is not None}
