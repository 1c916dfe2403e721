"""Plans of a snapshot: which plan is in force where, their directives, and the number of CPUs they divide."""

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from presman.analysis.caches import RowCache
from presman.analysis.facts.deltas import Deltas
from presman.analysis.facts.plan_book import PlanBook, plan_name
from presman.analysis.facts.system_facts import ROOT, SystemFacts
from presman.analysis.readings.reading import is_one_queue
from presman.base.release import Release
from presman.base.sums import grouped, maxima
from presman.rows.group_rows import (
    ConsumerGroup,
    ContainerPlan,
    ContainerPlanDirective,
    GroupMetric,
    Plan,
    PlanDirective,
    RsrcPlan,
)
from presman.rows.instance_rows import SEED, Pdb
from presman.rows.queries import RecordType
from presman.rows.snapshot import Snapshot

NO_BOOK = PlanBook()
"""The plans of a container if they cannot be read."""

_OF_AUTONOMOUS = "DWCS_PLAN"
_OF_AUTONOMOUS_OLTP = ("OLTP_PLAN", "HIGH")
"""The plans of Autonomous Databases (CS_RESOURCE_MANAGER.UPDATE_PLAN_DIRECTIVE), the second with a group of it: another
database may have its own plan of that name."""


class PlanBooks(Struct, frozen=True, dict=True):
    """The plans of each container and their directives; `inside` is the pluggable database connected to, or None."""

    snapshot: Snapshot
    cache: RowCache
    inside: int | None

    @cached_property
    def connected(self) -> PlanBook:
        """The plans in force in the container connected to."""
        since_12 = self.snapshot.release >= Release(12, 1)
        return self.cache.call(PlanBook.read, self.snapshot.rows(Plan), self.snapshot.rows(PlanDirective), since_12)

    @cached_property
    def _books(self) -> Mapping[int, PlanBook]:
        rows = self.snapshot.rows
        return self.cache.call(_books, rows(ContainerPlan), rows(ContainerPlanDirective))

    def of(self, con_id: int) -> PlanBook:
        """Return the plans of a container: in the root the DBA_ views have only the root's, the CDB_ views all."""
        section = self.snapshot.section(ContainerPlanDirective)
        if con_id <= ROOT or (self.inside is None and not section.rows and section.problem is None):
            return self.connected
        return self.connected if self.inside == con_id else self._books.get(con_id, NO_BOOK)

    def record_of(self, con_id: int) -> RecordType:
        """Return the record that has the directives of a container's plans."""
        return PlanDirective if self.of(con_id) is self.connected else ContainerPlanDirective

    @property
    def all(self) -> tuple[PlanBook, ...]:
        """The plans of the container connected to, then those of the others."""
        return (self.connected, *self._books.values())

    def having(self, plan: str) -> tuple[PlanBook, int]:
        """Return the plans that contain `plan`, and their container: the connected one if no container has it."""
        connected = (self.connected, self.inside or 0)
        if plan in self.connected.directives:
            return connected
        return next(((book, con_id) for con_id, book in self._books.items() if plan in book.directives), connected)


class PlanFacts(Struct, frozen=True, dict=True):
    """Lookups into the plans of a snapshot."""

    snapshot: Snapshot
    deltas: Deltas
    system: SystemFacts
    cache: RowCache

    @cached_property
    def plan_rows(self) -> Mapping[tuple[int, int], RsrcPlan]:
        """V$RSRC_PLAN by (instance, container): the top plan if the view marks it."""
        rows: dict[tuple[int, int], RsrcPlan] = {}
        for row in self.snapshot.rows(RsrcPlan):
            key = (row.inst_id, row.con_id)
            if key not in rows or (row.is_top_plan == "TRUE" and rows[key].is_top_plan != "TRUE"):
                rows[key] = row
        return rows

    @cached_property
    def top_rows(self) -> Mapping[int, RsrcPlan]:
        """V$RSRC_PLAN by instance: the row of the whole instance, or of the container connected to."""
        # In descending order of CON_ID, so that the row with the lowest remains (1 is the root's).
        return {row.inst_id: row for row in sorted(self.plan_rows.values(), key=lambda row: -row.con_id)}

    def plan_of(self, inst_id: int, con_id: int) -> str:
        """Return the name of the plan in force in a container of an instance, "" if none can be read."""
        row = self._row_naming(inst_id, con_id)
        if row is not None:
            return plan_name(row.name)
        # Without V$RSRC_PLAN, its history and then the parameter show which plan should be in force.
        window = self.deltas.windows.get((inst_id, con_id))
        if window is None and con_id <= ROOT:
            return plan_name(self.system.parameters.by_name.get((inst_id, "resource_manager_plan"), ""))
        return plan_name(window.plan) if window else ""

    def is_plan_shown(self, inst_id: int, con_id: int) -> bool:
        """Whether V$RSRC_PLAN shows the plan of a container: others only show which one should be in force."""
        return self._row_naming(inst_id, con_id) is not None

    def _row_naming(self, inst_id: int, con_id: int) -> RsrcPlan | None:
        """Return the row of V$RSRC_PLAN that names the plan of a container, None without one."""
        if "name" in self.snapshot.section(RsrcPlan).absent:
            return None
        row = self.plan_rows.get((inst_id, con_id))
        return self.top_rows.get(inst_id) if row is None and con_id <= ROOT else row

    def managed(self, inst_id: int, con_id: int) -> str:
        """Return how parallel statements of a container are managed (PARALLEL_EXECUTION_MANAGED), "" if not known."""
        row = self.plan_rows.get((inst_id, con_id)) or self.top_rows.get(inst_id)
        return "" if row is None else row.parallel_execution_managed.upper()

    @cached_property
    def books(self) -> PlanBooks:
        """The plans that can be read, by container."""
        return PlanBooks(self.snapshot, self.cache, self.inside)

    @cached_property
    def own_containers(self) -> frozenset[int]:
        """The pluggable databases for which V$RSRC_PLAN shows a plan."""
        return frozenset(con_id for _, con_id in self.plan_rows if con_id > 2)

    def containers(self, inst_id: int) -> Mapping[int, str]:
        """Return the pluggable databases that are open on an instance, by CON_ID, with names if known.

        V$PDBS shows them; a container that it does not show counts as open if V$RSRC_PLAN shows its plan.
        """
        return self._containers.get(inst_id) or self.system.open_pdbs(inst_id)

    def open_on(self, con_id: int) -> tuple[int, ...]:
        """Return the instances on which a pluggable database is open."""
        return tuple(inst_id for inst_id in self.system.inst_ids if con_id in self.containers(inst_id))

    @cached_property
    def _containers(self) -> Mapping[int, Mapping[int, str]]:
        found: dict[int, dict[int, str]] = {}
        for inst_id, con_id in self.plan_rows:
            if con_id > SEED and not self.system.is_closed(inst_id, con_id):
                names = found.setdefault(inst_id, dict(self.system.open_pdbs(inst_id)))
                names.setdefault(con_id, self.system.pdb_names.get(con_id, ""))
        return found

    def cpu_managed(self, inst_id: int, con_id: int) -> bool:
        """Whether the plan of a container manages CPU, unless V$RSRC_PLAN says that it does not."""
        row = self.plan_rows.get((inst_id, con_id)) or self.top_rows.get(inst_id)
        return row is None or row.cpu_managed.upper() != "OFF"

    def has_one_queue(self, con_id: int) -> bool | None:
        """Whether a single queue serves all groups of a container, None if not known or if its instances differ."""
        inst_ids = self.open_on(con_id) or self.system.inst_ids
        found = {is_one_queue(self.managed(inst_id, con_id)) for inst_id in inst_ids}
        return found.pop() if len(found) == 1 else None

    @cached_property
    def autonomous(self) -> bool:
        """Whether this is an Autonomous Database: by its service, or by one of its plans with its groups."""
        if self.snapshot.cloud_service:
            return True
        plans = {row.name.rpartition(":")[2] for row in self.plan_rows.values()}
        plan, group = _OF_AUTONOMOUS_OLTP
        if _OF_AUTONOMOUS in plans or plan not in plans:
            return _OF_AUTONOMOUS in plans
        counted = {row.name for row in self.snapshot.rows(ConsumerGroup)}
        return group in counted | {row.group_or_subplan for row in self.snapshot.rows(PlanDirective)}

    def server_wide(self, inst_id: int) -> bool:
        """Whether CPU is divided over all instances of the server: then groups do not share the CPUs of an instance.

        RESOURCE_MANAGER_CPU_SCOPE shows it (since 23ai). V$RSRC_PLAN.CPU_SCOPE would, too, but it is not known which
        updates have it, and a missing column would lose all that is read from the view.
        """
        return self.system.parameters.by_name.get((inst_id, "resource_manager_cpu_scope"), "").upper() == "SERVER_WIDE"

    @cached_property
    def inside(self) -> int | None:
        """The pluggable database connected to, None in the root and without containers. It sees only its own plan."""
        seen = {con_id for _, con_id in self.plan_rows} | {row.con_id for row in self.snapshot.rows(Pdb)}
        return min(seen) if len(seen) == 1 and min(seen) > 2 else None

    def own_target(self, inst_id: int, con_id: int) -> int | None:
        """Return the PARALLEL_SERVERS_TARGET of a container on an instance, None if it has none of its own."""
        row = self.plan_rows.get((inst_id, con_id))
        shown = row.parallel_servers_total if row is not None and row is not self.top_rows[inst_id] else 0
        return self.system.parameters.setting(inst_id, con_id, "parallel_servers_target") or shown or None

    @cached_property
    def shown_servers_limits(self) -> Mapping[tuple[int, str], int]:
        """PARALLEL_SERVERS_LIMIT of V$RSRCMGRMETRIC by container and group."""
        rows = ((row, row.parallel_servers_limit) for row in self.snapshot.rows(GroupMetric))
        return {(row.con_id, row.consumer_group_name): limit for row, limit in rows if limit is not None}

    @cached_property
    def capacities(self) -> Mapping[tuple[int, int], int]:
        """NUM_CPUS of V$RSRCMGRMETRIC by (instance, container)."""
        return maxima(((row.inst_id, row.con_id), row.num_cpus) for row in self.snapshot.rows(GroupMetric))

    def num_cpus(self, inst_id: int, con_id: int = 0) -> float:
        """Return the CPUs that Resource Manager hands out; 0.0 if no view shows it.

        The sources are V$RSRCMGRMETRIC; else UTILIZATION_LIMIT on an Autonomous Database, where that is the number of
        CPUs; else CPU_COUNT if the instance is caged; else the host's CPUs.
        """
        known = self.capacities
        containers = (con_id, ROOT, 0) if self.inside is None else (con_id, self.inside)
        cpu_count = next((cpus for container in containers if (cpus := known.get((inst_id, container), 0)) > 0), 0)
        if cpu_count > 0:
            return float(cpu_count)
        row = self.top_rows.get(inst_id)
        if row is not None and self.autonomous and row.utilization_limit:
            return float(row.utilization_limit)
        count = self.system.parameters.number(inst_id, "cpu_count") or 0
        if row is not None and row.instance_caging == "ON" and count:
            return float(count)
        return self.system.host_cpus(inst_id) or float(count)


def _books(plans: tuple[ContainerPlan, ...], rows: tuple[ContainerPlanDirective, ...]) -> dict[int, PlanBook]:
    """Return the plans of each container from the rows of the CDB_ views."""
    named, directives = grouped(plans, lambda row: row.con_id), grouped(rows, lambda row: row.con_id)
    return {con_id: PlanBook.read(named.get(con_id, ()), found) for con_id, found in directives.items()}
