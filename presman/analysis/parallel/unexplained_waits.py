"""Waits that the server counts did not explain: no view shows them any more once the servers are held again."""

from types import MappingProxyType

from msgspec.structs import replace

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, Executing
from presman.rows.queries import RecordType
from presman.rows.session_rows import Session
from presman.rows.session_state import is_queued
from presman.rows.snapshot import Section, Snapshot, UnexplainedWait


class UnexplainedWaits:
    """Queued statements that earlier readings have shown to wait although they were first and had room.

    A recorded poll has those of its recorder.
    """

    def __init__(self) -> None:
        self._seen: dict[Executing, int] = {}

    def add(self, reading: Reading) -> None:
        """Add a reading."""
        for head in reading.heads:
            if head.cause is Cause.UNEXPLAINED:
                pairs = ((head.target, head.in_use), (head.allowed, head.held))
                free = min((most - held for most, held in pairs if most is not None and held is not None), default=0)
                self._note(head.statement.executing(), free)

    def _note(self, who: Executing, servers: int) -> None:
        self._seen[who] = max(servers, self._seen.get(who, 0))

    def added_to(self, snapshot: Snapshot) -> Snapshot:
        """Return the next poll with those that are still queued."""
        for row in snapshot.rows(UnexplainedWait):
            self._note(row[:4], row.servers)
        if self._seen and snapshot.section(Session).problem is None:
            queued = (row for row in snapshot.rows(Session) if is_queued(row.event, row.state))
            still = {(row.inst_id, row.sid, row.serial, row.sql_id) for row in queued}
            self._seen = {who: servers for who, servers in self._seen.items() if who in still}
        if not self._seen:
            return snapshot
        rows = tuple(UnexplainedWait(*who, servers) for who, servers in sorted(self._seen.items()))
        sections: dict[RecordType, Section] = {**snapshot.sections, UnexplainedWait: Section(rows, snapshot.at)}
        return replace(snapshot, sections=MappingProxyType(sections))
