"""Sessions of a snapshot: identity, group, activity, and progress of long operations (V$SESSION_LONGOPS)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TypeVar

from msgspec import Struct

from presman.analysis.facts.plan_book import PENDING
from presman.analysis.facts.system_facts import ROOT, SystemFacts
from presman.analysis.readings.session_readings import Operation
from presman.rows.group_rows import ConsumerGroup, ConsumerGroupDefinition
from presman.rows.instance_rows import Instance
from presman.rows.session_rows import (
    BACKGROUND,
    IDLE_STATUSES,
    PxProcess,
    PxSession,
    Session,
    SessionCount,
    SessionInfo,
    SessionLongops,
)
from presman.rows.session_state import QUEUE_WAITS, ServerProcesses, is_queued, is_waiting
from presman.rows.snapshot import Snapshot

SessionKey = tuple[int, int]
"""Instance and SID of a session."""

Work = tuple[int, int, str]
"""Instance and SID of the session or coordinator, and the SQL_ID."""


def operations(
    rows: Iterable[SessionLongops],
    coordinators: Mapping[SessionKey, SessionKey],
    age: float = 0.0,
    *,
    several: bool = False,
) -> Mapping[Work, tuple[Operation, ...]]:
    """Return the unfinished operations of each statement, the one with the most time left first.

    Each parallel server lists its own part: parts of one operation on one target are added up, and the slowest gives
    the time left. `coordinators` has a server's coordinator, which may be on another instance; the view has only its
    SID. With `several` instances, the work of a server that is not among them cannot be assigned. `age` is how many
    seconds ago the rows were read: the time left is reduced by it, and is unknown for an operation that should be over.
    """
    parts: dict[Work, dict[tuple[str, str], list[SessionLongops]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if 0 <= row.sofar < row.totalwork:
            key = (row.inst_id, row.sid)
            if several and row.qcsid not in {0, row.sid} and key not in coordinators:
                continue
            inst_id, sid = coordinators.get(key, (row.inst_id, row.qcsid or row.sid))
            parts[inst_id, sid, row.sql_id][row.opname, row.target].append(row)
    found = {}
    for work, named in parts.items():
        whole = [_operation(name, target, parts_of_work, age) for (name, target), parts_of_work in named.items()]
        found[work] = tuple(sorted(whole, key=lambda each: (-(each.remaining or 0.0), each.name, each.target)))
    return found


def _operation(name: str, target: str, rows: list[SessionLongops], age: float) -> Operation:
    remaining_times = [row.time_remaining for row in rows if row.time_remaining is not None]
    remaining = max(remaining_times) - age if remaining_times else None
    return Operation(
        name=name,
        target=target,
        done=sum(row.sofar for row in rows),
        total=sum(row.totalwork for row in rows),
        units=rows[0].units,
        remaining=remaining if remaining is not None and (remaining > 0 or not age) else None,
    )


class SessionFacts(Struct, frozen=True, dict=True):
    """Lookups into the sessions of a snapshot."""

    snapshot: Snapshot
    system: SystemFacts

    @cached_property
    def by_key(self) -> Mapping[tuple[int, int], Session]:
        """V$SESSION by (instance, SID)."""
        return by_session(self.snapshot.rows(Session))

    @cached_property
    def users(self) -> Sequence[Session]:
        """V$SESSION without background processes, which it has only if other rows refer to them."""
        return [row for row in self.snapshot.rows(Session) if row.type != BACKGROUND]

    @cached_property
    def queued(self) -> Sequence[Session]:
        """The sessions of V$SESSION that wait in the parallel queue."""
        return queued(self.snapshot.rows(Session))

    @cached_property
    def blocked(self) -> Mapping[tuple[int, int], Session]:
        """The sessions of V$SESSION that wait for another session now, by (instance, SID)."""
        rows = self.snapshot.rows(Session)
        return {(row.inst_id, row.sid): row for row in rows if row.blocking_session and is_waiting(row.state)}

    @cached_property
    def counts(self) -> tuple[SessionCount, ...]:
        """Number of sessions by instance, container, group and status, as counted by the database.

        If that could not be read, the sessions that were read are counted.
        """
        section = self.snapshot.section(SessionCount)
        if section.problem is None and SessionCount in self.snapshot.sections:
            return section.rows
        found = Counter((row.inst_id, row.con_id, row.resource_consumer_group, row.status) for row in self.users)
        return tuple(SessionCount(*key, number) for key, number in found.items())

    @cached_property
    def unlisted(self) -> int | None:
        """Number of sessions, all idle, that were counted but not read; None if they could not be counted."""
        if self.snapshot.lists_idle:
            return 0
        if self.snapshot.section(SessionCount).problem is not None:
            return None
        counted = sum([row.sessions for row in self.counts if row.status in IDLE_STATUSES])
        return max(0, counted - sum([row.status in IDLE_STATUSES for row in self.snapshot.rows(Session)]))

    def find(self, inst_id: int, sid: int, serial: int | None) -> Session | None:
        """Return a session if it is still the same one: a SID is used again by others."""
        row = self.by_key.get((inst_id, sid))
        if row is None or (serial and row.serial and row.serial != serial):
            return None
        return row

    @cached_property
    def servers(self) -> ServerProcesses:
        """The facts that distinguish the parallel servers of GV$ queries from those of statements."""
        rows = self.snapshot.rows
        return ServerProcesses.of(rows(Instance), rows(PxProcess), rows(Session), len(self.system.inst_ids) > 1)

    @cached_property
    def infos(self) -> Mapping[tuple[int, int], SessionInfo]:
        """V$RSRC_SESSION_INFO by (instance, SID)."""
        return by_session(self.snapshot.rows(SessionInfo))

    @cached_property
    def group_names(self) -> Mapping[int, str]:
        """Consumer groups by id: 11.2 has no group names in V$RSRC_SESSION_INFO. No group has the id 0."""
        names = {row.id: row.name for row in self.snapshot.rows(ConsumerGroup) if row.con_id <= ROOT and row.id}
        defined = (row for row in self.snapshot.rows(ConsumerGroupDefinition) if row.status != PENDING)
        return names | {row.consumer_group_id: row.consumer_group for row in defined}

    @cached_property
    def _names_by_container(self) -> Mapping[tuple[int, int], str]:
        return {(row.con_id, row.id): row.name for row in self.snapshot.rows(ConsumerGroup) if row.id}

    def original_group(self, info: SessionInfo) -> str:
        """Return the group that the active plan first put a session in, "" if not known. Ids are per container."""
        name = self._names_by_container.get((info.con_id, info.orig_consumer_group_id), "")
        ids_are_unique = info.con_id <= ROOT or len(self.system.pdbs) < 2
        return name or (self.group_names.get(info.orig_consumer_group_id, "") if ids_are_unique else "")

    def group_of(self, session: Session) -> str:
        """Return the consumer group a session is in now."""
        info = self.infos.get((session.inst_id, session.sid))
        name = "" if info is None else info.current_consumer_group
        if info is not None and not name:
            name = self.group_names.get(info.current_consumer_group_id, "")
        return name or session.resource_consumer_group

    @cached_property
    def operations(self) -> Mapping[Work, tuple[Operation, ...]]:
        """Unfinished operations, by instance and SID of the session or coordinator and SQL_ID."""
        section = self.snapshot.section(SessionLongops)
        age = (self.snapshot.at - section.at).total_seconds() if section.at else 0.0
        several = len(self.system.inst_ids) > 1 or any(row.parallel == "YES" for row in self.system.instances.values())
        # Rows of a session that ended do not belong to the session that has its SID now.
        known, find = self.by_key, self.find
        rows = [
            row for row in section.rows if (row.inst_id, row.sid) not in known or find(row.inst_id, row.sid, row.serial)
        ]
        return operations(rows, self._coordinators_of(rows), max(0.0, age), several=several)

    def _coordinators_of(self, rows: Iterable[SessionLongops]) -> Mapping[SessionKey, SessionKey]:
        """Return the coordinator's instance and SID by those of its server, for the servers among these rows."""
        at_work = {(row.inst_id, row.sid) for row in rows}
        known = ((row, row.qcinst_id) for row in self.snapshot.rows(PxSession) if (row.inst_id, row.sid) in at_work)
        return {(row.inst_id, row.sid): (on, row.qcsid) for row, on in known if on is not None and row.qcsid}


def queued(rows: Iterable[Session]) -> list[Session]:
    """Return the sessions that wait in the parallel queue."""
    return [row for row in rows if row.event in QUEUE_WAITS and is_queued(row.event, row.state)]


_Sessions = TypeVar("_Sessions", Session, SessionInfo)
_session_key = itemgetter(0, 2)


def by_session(rows: tuple[_Sessions, ...]) -> dict[tuple[int, int], _Sessions]:
    """Return an index by (instance, SID). In both records the first field is the instance and the third the SID."""
    return dict(zip(map(_session_key, rows), rows, strict=True))
