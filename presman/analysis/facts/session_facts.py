"""Sessions of a snapshot: who is there, in which group, at what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TypeVar

from msgspec import Struct

from presman.analysis.facts.longops import Work, operations
from presman.analysis.facts.plan_book import PENDING
from presman.analysis.facts.system_facts import ROOT, SystemFacts
from presman.analysis.readings.detail_readings import Operation
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import Instance
from presman.rows.plan_rows import ConsumerGroupDefinition
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
from presman.rows.session_state import ServerProcesses, is_waiting
from presman.rows.snapshot import Snapshot


class SessionFacts(Struct, frozen=True, dict=True):
    """Lookups into what a snapshot says of sessions."""

    snapshot: Snapshot
    system: SystemFacts

    @cached_property
    def by_place(self) -> Mapping[tuple[int, int], Session]:
        """V$SESSION by (instance, SID)."""
        return by_session(self.snapshot.rows(Session))

    @cached_property
    def users(self) -> Sequence[Session]:
        """V$SESSION without background processes, which are there where others name them."""
        rows = self.snapshot.rows(Session)
        return [row for row in rows if row.type != BACKGROUND] if any(row.type == BACKGROUND for row in rows) else rows

    @cached_property
    def blocked(self) -> Mapping[tuple[int, int], Session]:
        """The sessions of V$SESSION that wait for another session now, by (instance, SID)."""
        rows = self.snapshot.rows(Session)
        return {(row.inst_id, row.sid): row for row in rows if row.blocking_session and is_waiting(row.state)}

    @cached_property
    def counts(self) -> tuple[SessionCount, ...]:
        """How many sessions there are by instance, container, group and status: the database's count.

        Where it could not be read, that of the sessions which could.
        """
        section = self.snapshot.section(SessionCount)
        if section.problem is None and SessionCount in self.snapshot.sections:
            return section.rows
        found = Counter((row.inst_id, row.con_id, row.resource_consumer_group, row.status) for row in self.users)
        return tuple(SessionCount(*key, number) for key, number in found.items())

    @cached_property
    def unlisted(self) -> int | None:
        """How many sessions, all idle, were counted but not read; None where they could not be counted."""
        if self.snapshot.lists_idle:
            return 0
        if self.snapshot.section(SessionCount).problem is not None:
            return None
        counted = sum(row.sessions for row in self.counts if row.status in IDLE_STATUSES)
        listed = sum(row.status in IDLE_STATUSES for row in self.snapshot.rows(Session))
        return max(0, counted - listed)

    def find(self, inst_id: int, sid: int, serial: int | None) -> Session | None:
        """Return a session if it is still the same one: a SID is used again by others."""
        row = self.by_place.get((inst_id, sid))
        if row is None or (serial and row.serial and row.serial != serial):
            return None
        return row

    @cached_property
    def servers(self) -> ServerProcesses:
        """What tells the parallel servers of GV$ queries from those of statements."""
        rows = self.snapshot.rows
        return ServerProcesses.of(rows(Instance), rows(PxProcess), rows(Session), len(self.system.inst_ids) > 1)

    @cached_property
    def infos(self) -> Mapping[tuple[int, int], SessionInfo]:
        """V$RSRC_SESSION_INFO by (instance, SID)."""
        return by_session(self.snapshot.rows(SessionInfo))

    @cached_property
    def group_names(self) -> Mapping[int, str]:
        """Consumer groups by id: 11.2 names no group in V$RSRC_SESSION_INFO."""
        names = {row.id: row.name for row in self.snapshot.rows(ConsumerGroup) if row.con_id <= ROOT}
        return names | {
            row.consumer_group_id: row.consumer_group
            for row in self.snapshot.rows(ConsumerGroupDefinition)
            if row.status != PENDING
        }

    @cached_property
    def _names_by_container(self) -> Mapping[tuple[int, int], str]:
        return {(row.con_id, row.id): row.name for row in self.snapshot.rows(ConsumerGroup)}

    def original_group(self, info: SessionInfo) -> str:
        """Return the group the active plan put a session in at first, "" if not known. Ids are each container's own."""
        name = self._names_by_container.get((info.con_id, info.orig_consumer_group_id), "")
        own = info.con_id <= ROOT or len(self.system.pdbs) < 2
        return name or (self.group_names.get(info.orig_consumer_group_id, "") if own else "")

    def group_of(self, session: Session) -> str:
        """Return the consumer group a session is in now."""
        info = self.infos.get((session.inst_id, session.sid))
        if info is not None:
            name = info.current_consumer_group or self.group_names.get(info.current_consumer_group_id, "")
            if name:
                return name
        return session.resource_consumer_group

    @cached_property
    def operations(self) -> Mapping[Work, tuple[Operation, ...]]:
        """Operations that are not done, by instance and SID of the session or coordinator and SQL_ID."""
        section = self.snapshot.section(SessionLongops)
        age = (self.snapshot.at - section.at).total_seconds() if section.at else 0.0
        several = len(self.system.inst_ids) > 1 or any(row.parallel == "YES" for row in self.system.instances.values())
        # What a session that ended left behind is not the work of the one that has its SID now.
        rows = [row for row in section.rows if self._is_of_now(row)]
        return operations(rows, self._coordinators, max(0.0, age), several=several)

    def _is_of_now(self, row: SessionLongops) -> bool:
        place = (row.inst_id, row.sid)
        return place not in self.by_place or self.find(*place, row.serial) is not None

    @cached_property
    def _coordinators(self) -> Mapping[tuple[int, int], tuple[int, int]]:
        """The coordinator's instance and SID by those of its server."""
        return {
            (row.inst_id, row.sid): (row.qcinst_id, row.qcsid)
            for row in self.snapshot.rows(PxSession)
            if row.qcinst_id is not None and row.qcsid
        }


_Sessions = TypeVar("_Sessions", Session, SessionInfo)
_place = itemgetter(0, 2)


def by_session(rows: tuple[_Sessions, ...]) -> dict[tuple[int, int], _Sessions]:
    """Index by (instance, SID). Of both records the first field is the instance and the third the SID."""
    return dict(zip(map(_place, rows), rows, strict=True))
