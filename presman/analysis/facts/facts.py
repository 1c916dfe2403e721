"""Facts: one snapshot with its indexes, built once, read by all the modules that judge it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from math import isfinite
from operator import itemgetter
from typing import Any, TypeVar

from msgspec import Struct

from presman.analysis.facts import cdb_plan
from presman.analysis.facts.cdb_plan import ROOT, Allotment
from presman.analysis.facts.deltas import Deltas
from presman.analysis.facts.dop import story
from presman.analysis.facts.longops import Work, operations
from presman.analysis.facts.plan_book import (
    DORMANT,
    NOTHING,
    OTHER_GROUPS,
    UNNAMED,
    Branch,
    PlanBook,
    PlanShares,
    plan_name,
)
from presman.analysis.facts.row_cache import RowCache
from presman.analysis.readings.detail_readings import Operation
from presman.analysis.readings.statement_readings import DopStory
from presman.base.release import Release
from presman.records.cursor_rows import PlanXml, SqlText
from presman.records.group_rows import ConsumerGroup, GroupMetric
from presman.records.gv_servers import ServerProcesses
from presman.records.instance_rows import ActiveService, Database, Instance, Osstat, Parameter, Pdb
from presman.records.parallel_rows import PxProcess, PxProcessSysstat, PxSession
from presman.records.plan_rows import (
    CdbPlanDirective,
    ConsumerGroupDefinition,
    ContainerPlan,
    ContainerPlanDirective,
    Plan,
    PlanDirective,
    RsrcPlan,
)
from presman.records.session_rows import IDLE_STATUSES, Session, SessionCount, SessionInfo, SessionLongops
from presman.records.snapshot import Snapshot

_TAKING_PART = (Instance, RsrcPlan, ConsumerGroup, PxProcessSysstat, Osstat, Session, PxSession)


class Facts(Struct, frozen=True, dict=True):
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
        """The plans in force in the container connected to."""
        since_12 = self.snapshot.release >= Release(12, 1)
        return self.cache.call(PlanBook.read, self.snapshot.rows(Plan), self.snapshot.rows(PlanDirective), since_12)

    @cached_property
    def _books(self) -> Mapping[int, PlanBook]:
        rows = self.snapshot.rows
        return self.cache.call(_books, rows(ContainerPlan), rows(ContainerPlanDirective))

    def book_of(self, con_id: int) -> PlanBook:
        """Return the plans of a container: in the root the DBA_ views have the root's only, the CDB_ views all."""
        if con_id <= ROOT or (self.inside is None and not self._asked_of_containers):
            return self.book
        return self.book if self.inside == con_id else self._books.get(con_id, NO_BOOK)

    @property
    def books(self) -> tuple[PlanBook, ...]:
        """The plans of the container connected to, then those of the others."""
        return (self.book, *self._books.values())

    def book_with(self, plan: str) -> tuple[PlanBook, int]:
        """Return the plans among which `plan` is, and their container: that connected to if there is none."""
        here = self.inside or 0
        if plan not in self.book.directives:
            found = next(((book, con_id) for con_id, book in self._books.items() if plan in book.directives), None)
            return found or (self.book, here)
        return self.book, here

    @cached_property
    def _asked_of_containers(self) -> bool:
        section = self.snapshot.section(ContainerPlanDirective)
        return bool(section.rows) or section.problem is not None

    @cached_property
    def own_containers(self) -> frozenset[int]:
        """The pluggable databases that V$RSRC_PLAN shows a plan of."""
        return frozenset(con_id for _, con_id in self.plan_rows if con_id > 2)

    @cached_property
    def inside(self) -> int | None:
        """The pluggable database connected to, None in the root and without containers. It sees its own plan only."""
        seen = {con_id for _, con_id in self.plan_rows} | {row.con_id for row in self.snapshot.rows(Pdb)}
        return min(seen) if len(seen) == 1 and min(seen) > 2 else None

    @cached_property
    def pdbs(self) -> Mapping[int, str]:
        """Open containers by CON_ID, the seed left out."""
        return {
            row.con_id: row.name
            for row in self.snapshot.rows(Pdb)
            if row.con_id > 2 and not row.open_mode.startswith("MOUNT")
        }

    def container_name(self, con_id: int) -> str:
        """Return a pluggable database's name, its number where that is not known, "" for what is none."""
        return self.pdbs.get(con_id) or (f"container {con_id}" if con_id > 2 else "")

    @cached_property
    def shares(self) -> Mapping[int, PlanShares]:
        """The plan's figures by instance; instances that run the same plans share one object."""
        rows = self.snapshot.rows
        read = rows(Plan), rows(PlanDirective), rows(ContainerPlan), rows(ContainerPlanDirective)
        known = self.cache.call(_trees_of, *read)
        found: dict[int, PlanShares] = {}
        containers = self._containers()
        for inst_id in self.inst_ids:
            given = tuple(self.allotments(inst_id).items())
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
        given = self.allotments(inst_id)
        branches = tuple(self._container(inst_id, con_id, given.get(con_id, Allotment())) for con_id in pdbs)
        return Branch("", (100.0,), by_weight=True, branches=branches)

    def _container(self, inst_id: int, con_id: int, given: Allotment) -> Branch:
        """Return a pluggable database with its plan: without one all is for OTHER_GROUPS.

        Where the directives of its plan are not visible its groups stand together, unnamed.
        """
        name, plan = self.pdbs.get(con_id, ""), self.plan_of(inst_id, con_id)
        cap = f"{self.container_name(con_id)} ({given.limited_by})" if given.limit is not None else ""
        tree = self.book_of(con_id).tree(plan, con_id, given.limit)
        inside = tree.branches
        if not inside:
            inside = (Branch(plan, (1.0,), (con_id, UNNAMED if plan else OTHER_GROUPS), given.limit),)
        return Branch(
            name,
            (float(given.shares or 1),),
            limit=given.limit,
            servers=given.servers,
            by_weight=tree.by_weight or not tree.branches,
            branches=inside,
            cap=cap,
        )

    def allotments(self, inst_id: int) -> Mapping[int, Allotment]:
        """Return what each pluggable database is given on an instance."""
        if inst_id not in self._allotments:
            self._allotments[inst_id] = cdb_plan.allotments(self, inst_id, self.num_cpus(inst_id))
        return self._allotments[inst_id]

    @cached_property
    def _allotments(self) -> dict[int, Mapping[int, Allotment]]:
        return {}

    def cdb_directives(self, inst_id: int) -> Mapping[int, CdbPlanDirective]:
        """Return the CDB plan's directive for each container, the default one where none is about it."""
        return cdb_plan.directives(self, inst_id)

    def setting(self, inst_id: int, con_id: int, name: str) -> int | None:
        """Return a number that a container has set a parameter to for itself, None if it has not (or to 0)."""
        value = self.parameter_of(inst_id, con_id, name).strip()
        return (int(value) or None) if value.isascii() and value.isdecimal() else None

    def parameter_of(self, inst_id: int, con_id: int, name: str) -> str:
        """Return what a container has set a parameter to for itself, "" if it has not."""
        return self._settings.get((inst_id, con_id, name), "")

    def own_target(self, inst_id: int, con_id: int) -> int | None:
        """Return the PARALLEL_SERVERS_TARGET of a container on an instance, None where it has none of its own."""
        row = self.plan_rows.get((inst_id, con_id))
        shown = row.parallel_servers_total if row is not None and row is not self.top_rows[inst_id] else 0
        return self.setting(inst_id, con_id, "parallel_servers_target") or shown or None

    @cached_property
    def services(self) -> Mapping[str, frozenset[int]]:
        """The instances on which each service runs (V$ACTIVE_SERVICES), none where that cannot be read."""
        found: dict[str, set[int]] = {}
        for row in self.snapshot.rows(ActiveService):
            found.setdefault(row.name, set()).add(row.inst_id)
        return {name: frozenset(inst_ids) for name, inst_ids in found.items()}

    @cached_property
    def shown_servers_limits(self) -> Mapping[tuple[int, str], int]:
        """PARALLEL_SERVERS_LIMIT of V$RSRCMGRMETRIC by container and group."""
        return {
            (row.con_id, row.consumer_group_name): row.parallel_servers_limit
            for row in self.snapshot.rows(GroupMetric)
            if row.parallel_servers_limit is not None
        }

    @cached_property
    def _settings(self) -> Mapping[tuple[int, int, str], str]:
        return {(row.inst_id, row.con_id, row.name): row.value for row in self.snapshot.rows(Parameter)}

    def num_cpus(self, inst_id: int, con_id: int = 0) -> float:
        """Return the CPUs that Resource Manager hands out; 0.0 where no view tells.

        V$RSRCMGRMETRIC says it; else CPU_COUNT if the instance is caged, else the host's CPUs.
        """
        known = self.capacities
        places = (con_id, ROOT, 0) if self.inside is None else (con_id, self.inside)
        own = next((cpus for place in places if (cpus := known.get((inst_id, place), 0)) > 0), 0)
        if own > 0:
            return float(own)
        row = self.top_rows.get(inst_id)
        count = self.number(inst_id, "cpu_count") or 0
        if row is not None and row.instance_caging == "ON" and count:
            return float(count)
        return self.host_cpus(inst_id) or float(count)

    def host_cpus(self, inst_id: int) -> float | None:
        """Return V$OSSTAT's NUM_CPUS."""
        value = self.osstat.get((inst_id, "NUM_CPUS"))
        return value if value is not None and isfinite(value) and value > 0 else None

    @cached_property
    def sessions(self) -> Mapping[tuple[int, int], Session]:
        """V$SESSION by (instance, SID)."""
        return by_session(self.snapshot.rows(Session))

    @cached_property
    def session_counts(self) -> tuple[SessionCount, ...]:
        """How many sessions there are by instance, container, group and status: the database's count.

        Where it could not be read, that of the sessions which could.
        """
        section = self.snapshot.section(SessionCount)
        if section.problem is None and SessionCount in self.snapshot.sections:
            return section.rows
        rows = self.snapshot.rows(Session)
        found = Counter((row.inst_id, row.con_id, row.resource_consumer_group, row.status) for row in rows)
        return tuple(SessionCount(*key, number) for key, number in found.items())

    @cached_property
    def unlisted(self) -> int | None:
        """How many sessions, all idle, were counted but not read; None where they could not be counted."""
        if self.snapshot.lists_idle:
            return 0
        if self.snapshot.section(SessionCount).problem is not None:
            return None
        counted = sum(row.sessions for row in self.session_counts if row.status in IDLE_STATUSES)
        listed = sum(row.status in IDLE_STATUSES for row in self.snapshot.rows(Session))
        return max(0, counted - listed)

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
            row.consumer_group_id: row.consumer_group
            for row in self.snapshot.rows(ConsumerGroupDefinition)
            if row.status not in DORMANT
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


NO_BOOK = PlanBook()
"""The plans of a container that cannot be read."""


def _trees_of(*_rows: Any) -> dict[Hashable, PlanShares]:
    """Return a store for the figures of the trees made of some rows, by all that went into them besides."""
    return {}


def _books(plans: tuple[ContainerPlan, ...], rows: tuple[ContainerPlanDirective, ...]) -> dict[int, PlanBook]:
    """Return the plans of each container from what the CDB_ views say."""
    directives: dict[int, list[PlanDirective]] = {}
    for row in rows:
        directives.setdefault(row.con_id, []).append(PlanDirective._make(row[1:]))
    named: dict[int, list[Plan]] = {}
    for each in plans:
        named.setdefault(each.con_id, []).append(Plan._make(each[1:]))
    return {con_id: PlanBook.read(named.get(con_id, ()), found) for con_id, found in directives.items()}
