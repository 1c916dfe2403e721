"""System: the instances, parameters, containers and hosts that a snapshot tells of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import isfinite
from operator import itemgetter

from msgspec import Struct

from presman.records.group_rows import ConsumerGroup
from presman.records.instance_rows import ActiveService, Database, Instance, Osstat, Parameter, Pdb
from presman.records.parallel_rows import PxProcessSysstat, PxSession
from presman.records.plan_rows import RsrcPlan
from presman.records.session_rows import Session
from presman.records.snapshot import Snapshot

ROOT = 1
"""CON_ID of a container database's root; 0 is a database without containers, 2 the seed."""

_TAKING_PART = (Instance, RsrcPlan, ConsumerGroup, PxProcessSysstat, Osstat, Session, PxSession)
_first = itemgetter(0)


class SystemFacts(Struct, frozen=True, dict=True):
    """Lookups into what a snapshot says of instances, parameters, containers and hosts."""

    snapshot: Snapshot

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
    def open_ids(self) -> tuple[int, ...]:
        """The instances that are open, in order; one that V$INSTANCE does not list, or without a STATUS, may be."""
        closed = {
            inst_id for inst_id, row in self.instances.items() if row.status and not row.status.startswith("OPEN")
        }
        return tuple(inst_id for inst_id in self.inst_ids if inst_id not in closed)

    def open_on(self, con_id: int) -> tuple[int, ...]:
        """Return the instances on which a container is open."""
        return self.open_ids

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

    def setting(self, inst_id: int, con_id: int, name: str) -> int | None:
        """Return a number that a container has set a parameter to for itself, None if it has not (or to 0)."""
        value = self.parameter_of(inst_id, con_id, name).strip()
        return (int(value) or None) if value.isascii() and value.isdecimal() else None

    def parameter_of(self, inst_id: int, con_id: int, name: str) -> str:
        """Return what a container has set a parameter to for itself, "" if it has not."""
        return self._settings.get((inst_id, con_id, name), "")

    @cached_property
    def _settings(self) -> Mapping[tuple[int, int, str], str]:
        return {(row.inst_id, row.con_id, row.name): row.value for row in self.snapshot.rows(Parameter)}

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
    def services(self) -> Mapping[str, frozenset[int]]:
        """The instances on which each service runs (V$ACTIVE_SERVICES), none where that cannot be read."""
        found: dict[str, set[int]] = {}
        for row in self.snapshot.rows(ActiveService):
            found.setdefault(row.name, set()).add(row.inst_id)
        return {name: frozenset(inst_ids) for name, inst_ids in found.items()}

    @cached_property
    def osstat(self) -> Mapping[tuple[int, str], float]:
        """V$OSSTAT by (instance, statistic); nothing where it has no values."""
        if "value" in self.snapshot.section(Osstat).absent:
            return {}
        return {(row.inst_id, row.stat_name): row.value for row in self.snapshot.rows(Osstat)}

    def host_cpus(self, inst_id: int) -> float | None:
        """Return V$OSSTAT's NUM_CPUS."""
        value = self.osstat.get((inst_id, "NUM_CPUS"))
        return value if value is not None and isfinite(value) and value > 0 else None
