"""System: the instances, parameters, containers and hosts of a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import isfinite
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.caches import RowCache, once
from presman.base.sums import grouped
from presman.rows.group_rows import ConsumerGroup, RsrcPlan
from presman.rows.instance_rows import SEED, ActiveService, Database, Instance, Osstat, Parameter, Pdb
from presman.rows.queries import Scope
from presman.rows.session_rows import PxProcessSysstat, PxSession, Session
from presman.rows.snapshot import GoneInstance, Snapshot

ROOT = 1
"""CON_ID of a container database's root; 0 is a database without containers, 2 the seed."""

_TAKING_PART = (Instance, RsrcPlan, ConsumerGroup, PxProcessSysstat, Osstat, Session, PxSession)
_first = itemgetter(0)


class _Containers(NamedTuple):
    """The pluggable databases by CON_ID: names, those open on each instance and anywhere, and where each is closed."""

    names: Mapping[int, str]
    open_on: Mapping[int, Mapping[int, str]]
    open_anywhere: Mapping[int, str]
    closed: frozenset[tuple[int, int]]

    @classmethod
    def read(cls, rows: Iterable[Pdb]) -> _Containers:
        """Sort the rows of V$PDBS."""
        names, closed = {}, set()
        open_on: dict[int, dict[int, str]] = {}
        for row in rows:
            own = open_on.setdefault(row.inst_id, {})
            if row.con_id > SEED:
                names[row.con_id] = row.name
                if row.open_mode.startswith("MOUNT"):
                    closed.add((row.inst_id, row.con_id))
                else:
                    own[row.con_id] = row.name
        anywhere = {con_id: name for own in open_on.values() for con_id, name in own.items()}
        return cls(names, open_on, anywhere, frozenset(closed))


class ParameterFacts(Struct, frozen=True, dict=True):
    """Lookups into the parameters of instances, and those set in containers."""

    snapshot: Snapshot

    @cached_property
    def by_name(self) -> Mapping[tuple[int, str], str]:
        """Parameter values by (instance, name): the instance's own, not those set in containers."""
        # In descending order of CON_ID, so that the row of the instance (0, or 1 for the root) remains.
        rows = sorted(self.snapshot.rows(Parameter), key=lambda row: -row.con_id)
        return {(row.inst_id, row.name): row.value for row in rows}

    def number(self, inst_id: int, name: str) -> int | None:
        """Return a parameter's value as a number, None if it is missing or not a number."""
        value = self.by_name.get((inst_id, name), "").strip()
        return int(value) if value.isascii() and value.isdigit() else None

    def setting(self, inst_id: int, con_id: int, name: str) -> int | None:
        """Return a parameter's numeric value set in a container, None if it is not set there (or set to 0)."""
        value = self.of_container(inst_id, con_id, name).strip()
        return (int(value) or None) if value.isascii() and value.isdecimal() else None

    def amount(self, inst_id: int, con_id: int, name: str) -> float | None:
        """Return a parameter's value set in a container, which may have a fraction; None if it is not set there."""
        value = self.of_container(inst_id, con_id, name).strip()
        try:
            return float(value) if value and isfinite(float(value)) and float(value) > 0 else None
        except ValueError:
            return None

    def of_container(self, inst_id: int, con_id: int, name: str) -> str:
        """Return a parameter's value set in a container, "" if it is not set there."""
        return self._settings.get((inst_id, con_id, name), "")

    @cached_property
    def _settings(self) -> Mapping[tuple[int, int, str], str]:
        return {(row.inst_id, row.con_id, row.name): row.value for row in self.snapshot.rows(Parameter)}


@once
def answering(system: SystemFacts) -> frozenset[int]:
    """Return the instances with rows in all views that always have some of each instance, without V$INSTANCE."""
    sections = (system.snapshot.section(record) for record in (RsrcPlan, ConsumerGroup, Session))
    found = [frozenset(map(_first, each.rows)) for each in sections if each.rows and not each.problem]
    return frozenset.intersection(*found) if found else frozenset()


class SystemFacts(Struct, frozen=True, dict=True):
    """Lookups into the instances, parameters, containers and hosts of a snapshot."""

    snapshot: Snapshot
    cache: RowCache

    @cached_property
    def all_ids(self) -> tuple[int, ...]:
        """The instances that occur in any view, in order."""
        rows = (self.snapshot.section(kind).rows for kind in _TAKING_PART)
        return tuple(sorted(set[int]().union(*(map(_first, each) for each in rows))))

    @cached_property
    def inst_ids(self) -> tuple[int, ...]:
        """The instances that are used, in order: those that are open, because the others have no data.

        All instances if none is open, as with a mounted standby database.
        """
        closed = self.not_open
        return tuple(inst_id for inst_id in self.all_ids if inst_id not in closed) if closed else self.all_ids

    @property
    def not_open(self) -> Mapping[int, str]:
        """V$INSTANCE.STATUS of the instances that are not open (STARTED, MOUNTED) while others are."""
        rows = self.snapshot.rows(Instance)
        found = {row.inst_id: row.status for row in rows if row.status and not row.status.startswith("OPEN")}
        return found if len(found) < len(self.all_ids) else {}

    def is_away(self, inst_id: int) -> bool:
        """Whether V$INSTANCE says that an instance is not open while others are."""
        rows = self.instances
        if self.snapshot.scope is Scope.INSTANCE or not rows or self.snapshot.section(Instance).problem:
            return False
        return (inst_id not in rows and inst_id not in answering(self)) or inst_id in self.not_open

    @cached_property
    def gone(self) -> tuple[GoneInstance, ...]:
        """The instances that were seen within the last hour and are not open now, by V$INSTANCE and the other views."""
        return tuple(row for row in self.snapshot.rows(GoneInstance) if row.inst_id not in answering(self))

    @property
    def part(self) -> str:
        """Why instances may be missing, "" if none is: queues and limits belong to the whole cluster."""
        if self.snapshot.scope is Scope.CLUSTER:
            return ""
        if not self.instances:
            return "whether there are other instances is not known"
        of_cluster = any(row.parallel == "YES" for row in self.instances.values())
        return "one instance of a cluster is read" if of_cluster else ""

    @property
    def is_alone(self) -> bool:
        """Whether V$INSTANCE shows that there is one instance, and that others may not be gone from a cluster."""
        rows = self.snapshot.rows(Instance)
        return len(self.all_ids) == len(rows) == 1 and rows[0].parallel != "YES"

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
    def parameters(self) -> ParameterFacts:
        """V$SYSTEM_PARAMETER: the settings of instances and containers."""
        return ParameterFacts(self.snapshot)

    @cached_property
    def _containers(self) -> _Containers:
        return self.cache.call(_Containers.read, self.snapshot.rows(Pdb))

    @property
    def pdbs(self) -> Mapping[int, str]:
        """Containers that are open on at least one instance, by CON_ID, without the seed."""
        return self._containers.open_anywhere

    @property
    def pdb_names(self) -> Mapping[int, str]:
        """Names of the containers by CON_ID, including those that are not open."""
        return self._containers.names

    def open_pdbs(self, inst_id: int) -> Mapping[int, str]:
        """Return the containers that are open on an instance; those open anywhere if V$PDBS does not show it."""
        return self._containers.open_on.get(inst_id, self.pdbs)

    def is_closed(self, inst_id: int, con_id: int) -> bool:
        """Whether V$PDBS says that a pluggable database is not open on an instance."""
        return (inst_id, con_id) in self._containers.closed

    def container_name(self, con_id: int) -> str:
        """Return a pluggable database's name, its number if the name is not known, "" for anything else."""
        return self.pdb_names.get(con_id) or (f"container {con_id}" if con_id > SEED else "")

    @cached_property
    def services(self) -> Mapping[str, frozenset[int]]:
        """The instances on which each service runs (V$ACTIVE_SERVICES), empty if that cannot be read."""
        found = grouped(self.snapshot.rows(ActiveService), lambda row: row.name)
        return {name: frozenset(row.inst_id for row in rows) for name, rows in found.items()}

    @cached_property
    def osstat(self) -> Mapping[tuple[int, str], float]:
        """V$OSSTAT by (instance, statistic), without missing values."""
        if "value" in self.snapshot.section(Osstat).absent:
            return {}
        return {(row.inst_id, row.stat_name): row.value for row in self.snapshot.rows(Osstat)}

    def host_cpus(self, inst_id: int) -> float | None:
        """Return V$OSSTAT's NUM_CPUS."""
        value = self.osstat.get((inst_id, "NUM_CPUS"))
        return value if value is not None and isfinite(value) and value > 0 else None
