"""Facts: one snapshot with its indexes, built once, read by all the modules that judge it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeVar

from presman.analysis.facts.deltas import Deltas
from presman.analysis.facts.dop import story
from presman.analysis.facts.longops import Work, operations
from presman.analysis.facts.plan_book import NOTHING, OTHER_GROUPS, UNNAMED, Branch, PlanBook, PlanShares, plan_name
from presman.analysis.facts.row_cache import RowCache
from presman.analysis.readings.detail_readings import Operation
from presman.analysis.readings.statement_readings import DopStory
from presman.records.cursor_rows import PlanXml, SqlText
from presman.records.group_rows import ConsumerGroup, GroupMetric
from presman.records.gv_servers import ServerProcesses
from presman.records.instance_rows import Database, Instance, Osstat, Parameter, Pdb
from presman.records.parallel_rows import PxProcess, PxProcessSysstat, PxSession
from presman.records.plan_rows import CdbPlanDirective, ConsumerGroupDefinition, Plan, PlanDirective, RsrcPlan
from presman.records.session_rows import Session, SessionInfo, SessionLongops
from presman.records.snapshot import Snapshot

ROOT = 1
"""CON_ID of a container database's root; 0 is a database without containers, 2 the seed."""

DORMANT_CDB = frozenset({"PENDING", "LEGACY"})
DEFAULT_PDB = "ORA$DEFAULT_PDB_DIRECTIVE"
"""The directive of the containers that no other one names."""
_TAKING_PART = (Instance, RsrcPlan, ConsumerGroup, PxProcessSysstat, Osstat, Session, PxSession)


@dataclass(frozen=True)
class Facts:
    """The current snapshot, its deltas, and lookups into it."""

    snapshot: Snapshot
    deltas: Deltas
    cache: RowCache

    @classmethod
    def of(cls, previous: Snapshot | None, current: Snapshot, cache: RowCache | None = None) -> Facts:
        """Index `current`."""
        return cls(current, Deltas.between(previous, current), cache or RowCache())

    @cached_property
    def inst_ids(self) -> tuple[int, ...]:
        """The instances that any view speaks of, in order."""
        return tuple(
            sorted(set[int]().union(*(map(_first, self.snapshot.section(kind).rows) for kind in _TAKING_PART)))
        )

    @cached_property
    def instances(self) -> Mapping[int, Instance]:
        """V$INSTANCE by instance."""
        return {row.inst_id: row for row in self.snapshot.rows(Instance)}

    @cached_property
    def database(self) -> Database | None:
        """V$DATABASE, None where it cannot be read."""
        return next(iter(self.snapshot.rows(Database)), None)

    @cached_property
    def cdb(self) -> bool:
        """Whether this is a container database."""
        return bool(self.database and self.database.cdb == "YES")

    @cached_property
    def parameters(self) -> Mapping[tuple[int, str], str]:
        """Parameter values by (instance, name): the instance's own, not those that containers set for themselves."""
        rows = sorted(self.snapshot.rows(Parameter), key=lambda row: -row.con_id)
        return {(row.inst_id, row.name): row.value for row in rows}

    def number(self, inst_id: int, name: str) -> int | None:
        """Return a parameter's value as a number, None if it is not there or not one."""
        value = self.parameters.get((inst_id, name), "").strip()
        return int(value) if value.isascii() and value.isdigit() else None

    @cached_property
    def plan_rows(self) -> Mapping[tuple[int, int], RsrcPlan]:
        """V$RSRC_PLAN by (instance, container): the top plan where it says so."""
        rows: dict[tuple[int, int], RsrcPlan] = {}
        for row in self.snapshot.rows(RsrcPlan):
            key = (row.inst_id, row.con_id)
            if key not in rows or (row.is_top_plan == "TRUE" and rows[key].is_top_plan != "TRUE"):
                rows[key] = row
        return rows

    @cached_property
    def top_rows(self) -> Mapping[int, RsrcPlan]:
        """V$RSRC_PLAN by instance: the row of the whole instance, or of the container connected to."""
        rows: dict[int, RsrcPlan] = {}
        for (inst_id, con_id), row in self.plan_rows.items():
            if inst_id not in rows or con_id < rows[inst_id].con_id:
                rows[inst_id] = row
        return rows

    def plan_of(self, inst_id: int, con_id: int) -> str:
        """Return the name of the plan that rules a container of an instance, "" if none can be read."""
        row = self.plan_rows.get((inst_id, con_id))
        if row is None and con_id <= ROOT:
            row = self.top_rows.get(inst_id)
        if row is not None:
            return plan_name(row.name)
        window = self.deltas.windows.get((inst_id, con_id))
        if window is None and con_id <= ROOT:
            return plan_name(self.parameters.get((inst_id, "resource_manager_plan"), ""))
        return plan_name(window.plan) if window else ""

    @cached_property
    def book(self) -> PlanBook:
        """The plans in force."""
        return self.cache.call(PlanBook.read, self.snapshot.rows(Plan), self.snapshot.rows(PlanDirective))

    @cached_property
    def pdbs(self) -> Mapping[int, str]:
        """Open containers by CON_ID, the seed left out."""
        return {
            row.con_id: row.name
            for row in self.snapshot.rows(Pdb)
            if row.con_id > 2 and not row.open_mode.startswith("MOUNT")
        }

    @cached_property
    def shares(self) -> Mapping[int, PlanShares]:
        """The plan's figures by instance; instances that run the same plans share one object."""
        known = self.book.known
        found: dict[int, PlanShares] = {}
        containers = self._containers()
        given = tuple(self.snapshot.rows(CdbPlanDirective))
        for inst_id in self.inst_ids:
            plans = tuple((con_id, self.pdbs.get(con_id), self.plan_of(inst_id, con_id)) for con_id in containers)
            key = plans, self.plan_of(inst_id, ROOT), given
            if key not in known:
                runs_plans = any(plan for _, _, plan in plans)
                known[key] = PlanShares.of(self._tree(inst_id, containers)) if runs_plans else NOTHING
            found[inst_id] = known[key]
        return found

    def _containers(self) -> tuple[int, ...]:
        """Return the containers that run plans of their own."""
        from_plans = {con_id for _, con_id in self.plan_rows}
        from_groups = {row.con_id for row in self.snapshot.rows(ConsumerGroup)}
        return tuple(sorted(from_plans | from_groups | (set(self.pdbs) if from_plans else set()) or {0}))

    def _tree(self, inst_id: int, containers: tuple[int, ...]) -> Branch:
        pdbs = [con_id for con_id in containers if con_id > 2]
        if not pdbs:
            # The root of a container database runs the CDB plan; groups of its own have no share in it.
            con_id = containers[0]
            return self.book.tree(self.plan_of(inst_id, con_id), con_id)
        given = self.cdb_directives(inst_id)
        branches = tuple(self._container(inst_id, con_id, given.get(con_id)) for con_id in pdbs)
        return Branch("", (100.0,), by_weight=True, branches=branches)

    def _container(self, inst_id: int, con_id: int, directive: CdbPlanDirective | None) -> Branch:
        """Return a pluggable database with its plan: without one all is for OTHER_GROUPS.

        From the root the directives of the PDB's plan are not visible; then its groups stand together, unnamed.
        """
        name, plan = self.pdbs.get(con_id, ""), self.plan_of(inst_id, con_id)
        weight = float(directive.shares or 1) if directive else 1.0
        limit = percent_fraction(directive.utilization_limit) if directive else None
        tree = self.book.tree(plan, con_id, limit)
        inside = tree.branches
        if not inside:
            inside = (Branch(plan, (1.0,), (con_id, UNNAMED if plan else OTHER_GROUPS), limit),)
        servers = percent_fraction(directive.parallel_server_limit) if directive else None
        return Branch(name, (weight,), None, limit, servers, None, tree.by_weight or not tree.branches, inside)

    def cdb_directives(self, inst_id: int) -> Mapping[int, CdbPlanDirective]:
        """Return the CDB plan's directive for each container, the default one where none names it."""
        plan = self.plan_of(inst_id, ROOT)
        rows = {
            row.pluggable_database: row
            for row in self.snapshot.rows(CdbPlanDirective)
            if row.plan == plan and row.status not in DORMANT_CDB
        }
        found = ((con_id, rows.get(name) or rows.get(DEFAULT_PDB)) for con_id, name in self.pdbs.items())
        return {con_id: row for con_id, row in found if row is not None}

    def setting(self, inst_id: int, con_id: int, name: str) -> int | None:
        """Return a parameter that a container has set for itself, None if it has not (or to 0)."""
        for row in self.snapshot.rows(Parameter):
            if (row.inst_id, row.con_id, row.name) == (inst_id, con_id, name) and row.value.strip().isdecimal():
                return int(row.value) or None
        return None

    @cached_property
    def sessions(self) -> Mapping[tuple[int, int], Session]:
        """V$SESSION by (instance, SID)."""
        return by_session(self.snapshot.rows(Session))

    def session(self, inst_id: int, sid: int, serial: int | None) -> Session | None:
        """Return a session if it is still the same one: a SID is used again by others."""
        row = self.sessions.get((inst_id, sid))
        if row is None or (serial and row.serial and row.serial != serial):
            return None
        return row

    @cached_property
    def servers(self) -> ServerProcesses:
        """What tells the parallel servers of GV$ queries from those of statements."""
        rows = self.snapshot.rows
        return ServerProcesses.of(rows(Instance), rows(PxProcess), rows(Session), len(self.inst_ids) > 1)

    @cached_property
    def infos(self) -> Mapping[tuple[int, int], SessionInfo]:
        """V$RSRC_SESSION_INFO by (instance, SID)."""
        return by_session(self.snapshot.rows(SessionInfo))

    @cached_property
    def group_names(self) -> Mapping[int, str]:
        """Consumer groups by id: 11.2 names no group in V$RSRC_SESSION_INFO."""
        names = {row.id: row.name for row in self.snapshot.rows(ConsumerGroup) if row.con_id <= ROOT}
        return names | {
            row.consumer_group_id: row.consumer_group for row in self.snapshot.rows(ConsumerGroupDefinition)
        }

    @cached_property
    def _names_by_container(self) -> Mapping[tuple[int, int], str]:
        return {(row.con_id, row.id): row.name for row in self.snapshot.rows(ConsumerGroup)}

    def original_group(self, info: SessionInfo) -> str:
        """Return the group the active plan put a session in at first, "" if not known. Ids are each container's own."""
        name = self._names_by_container.get((info.con_id, info.orig_consumer_group_id), "")
        own = info.con_id <= ROOT or len(self.pdbs) < 2
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
    def capacities(self) -> Mapping[tuple[int, int], int]:
        """NUM_CPUS of V$RSRCMGRMETRIC by (instance, container)."""
        found: dict[tuple[int, int], int] = {}
        for row in self.snapshot.rows(GroupMetric):
            key = (row.inst_id, row.con_id)
            found[key] = max(row.num_cpus, found.get(key, 0))
        return found

    @cached_property
    def osstat(self) -> Mapping[tuple[int, str], float]:
        """V$OSSTAT by (instance, statistic)."""
        return {(row.inst_id, row.stat_name): row.value for row in self.snapshot.rows(Osstat)}

    @cached_property
    def _stories(self) -> Mapping[Any, DopStory]:
        return by_cursor((row, story(row.other_xml)) for row in self.snapshot.rows(PlanXml))

    @cached_property
    def _texts(self) -> Mapping[Any, str]:
        return by_cursor((row, row.sql_text) for row in self.snapshot.rows(SqlText))

    @cached_property
    def operations(self) -> Mapping[Work, tuple[Operation, ...]]:
        """Operations that are not done, by instance and SID of the session or coordinator and SQL_ID."""
        section = self.snapshot.section(SessionLongops)
        age = (self.snapshot.at - section.at).total_seconds() if section.at else 0.0
        several = len(self.inst_ids) > 1 or any(row.parallel == "YES" for row in self.instances.values())
        # What a session that ended left behind is not the work of the one that has its SID now.
        rows = [row for row in section.rows if self._is_of_now(row)]
        return operations(rows, self._coordinators, max(0.0, age), several=several)

    def _is_of_now(self, row: SessionLongops) -> bool:
        place = (row.inst_id, row.sid)
        return place not in self.sessions or self.session(*place, row.serial) is not None

    @cached_property
    def _coordinators(self) -> Mapping[tuple[int, int], tuple[int, int]]:
        """The coordinator's instance and SID by those of its server."""
        return {
            (row.inst_id, row.sid): (row.qcinst_id, row.qcsid)
            for row in self.snapshot.rows(PxSession)
            if row.qcinst_id is not None and row.qcsid
        }

    def story(self, inst_id: int, sql_id: str, child: int | None) -> DopStory:
        """Return what the cursor's plan says of its DOP, silent where it was not read."""
        return of_cursor(self._stories, inst_id, sql_id, child) or SILENT

    def text(self, inst_id: int, sql_id: str, child: int | None) -> str:
        """Return the statement's text, "" where it was not read. All children of a statement have the same."""
        return of_cursor(self._texts, inst_id, sql_id, child) or self._texts.get(sql_id, "")


_Sessions = TypeVar("_Sessions", Session, SessionInfo)
_first, _place = itemgetter(0), itemgetter(0, 2)


def by_session(rows: tuple[_Sessions, ...]) -> dict[tuple[int, int], _Sessions]:
    """Index by (instance, SID). Of both records the first field is the instance and the third the SID."""
    return dict(zip(map(_place, rows), rows, strict=True))


def of_cursor(index: Mapping[Any, Any], inst_id: int, sql_id: str, child: int | None) -> Any:
    """Look a cursor up, on another instance if need be; any child where the session does not say which."""
    if child is None:
        return index.get(sql_id)
    return index.get((inst_id, sql_id, child)) or index.get((sql_id, child))


SILENT = DopStory()


def by_cursor(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Index by (instance, SQL_ID, child) and, for a cursor read on another instance, by what is left of that."""
    index: dict[Any, Any] = {}
    for row, value in pairs:
        index[row.inst_id, row.sql_id, row.child_number] = value
        index.setdefault((row.sql_id, row.child_number), value)
        index.setdefault(row.sql_id, value)
    return index


def percent_fraction(percent: int | None) -> float | None:
    """Return a limit in percent as a fraction, None if it limits nothing."""
    return None if percent is None or not 0 <= percent < 100 else percent / 100
