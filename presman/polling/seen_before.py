"""Memory of what polls have seen and no view tells any more: instances, who quiesces, queues that wait too long."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from presman.rows.instance_rows import Instance
from presman.rows.queries import RecordType
from presman.rows.session_rows import Session, SessionInfo
from presman.rows.session_state import QUIESCE_STATES, is_quiescing, long_queues
from presman.rows.snapshot import CriticalQueue, GoneInstance, Quiescer, Section

REMEMBERED = timedelta(hours=1)
"""For how long an instance that is gone is told of: one that was taken out for good is no news for ever."""


class SeenBefore:
    """What was seen of one database.

    Its open instances, by when they were seen last: V$INSTANCE has no row of one that is gone. They are remembered over
    reconnections, but not over another scope, another database, or a clock that goes back. Who quiesces it: once all
    calls have ended no view names him, and the quiesce goes on. The parallel queues that wait for too long: until when
    they do, the polls before decide.
    """

    def __init__(self) -> None:
        self._instances: dict[int, GoneInstance] = {}
        self._of: tuple[object, ...] = ()
        self._at: datetime | None = None
        self._quiescers: tuple[Quiescer, ...] = ()
        self._critical: tuple[CriticalQueue, ...] = ()

    def note_instances(
        self, rows: Collection[Instance], at: datetime, of: tuple[object, ...], targets: Mapping[int, int]
    ) -> None:
        """Take what V$INSTANCE told at an instant `of` a database in a scope, and the `targets` of its instances."""
        if self._of != of or (self._at is not None and at < self._at):
            self._instances = {}
        self._of, self._at = of, at
        there = [row for row in rows if not row.status or row.status.startswith("OPEN")] or rows
        self._instances |= {
            row.inst_id: GoneInstance(row.inst_id, row.instance_name, at, targets.get(row.inst_id) or None)
            for row in there
        }

    def note_sessions(
        self, sessions: Collection[Session], infos: Iterable[SessionInfo], instances: Iterable[Instance]
    ) -> None:
        """Take what V$SESSION, V$RSRC_SESSION_INFO and V$INSTANCE tell.

        Who quiesced the database is forgotten when it is quiesced no more.
        """
        found = (row for row in sessions if is_quiescing(row.event, row.state))
        now = tuple(Quiescer(row.inst_id, row.sid, row.username) for row in found)
        goes_on = any(row.active_state in QUIESCE_STATES for row in instances)
        self._quiescers = now or (self._quiescers if goes_on else ())
        self._critical = tuple(CriticalQueue(*each) for each in sorted(long_queues(sessions, infos, self._critical)))

    def sections(self, at: datetime) -> dict[RecordType, Section]:
        """Return what there is to tell; instances only that were not there when V$INSTANCE was last asked."""
        kept = self._instances.values()
        gone = tuple(each for each in kept if each.last_seen != self._at and at - each.last_seen < REMEMBERED)
        found = {GoneInstance: gone, Quiescer: self._quiescers, CriticalQueue: self._critical}
        return {record: Section(rows, at) for record, rows in found.items() if rows}
