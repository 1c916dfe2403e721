"""Facts: one snapshot with its indexes, built once, read by all modules that judge it.

They include the parts of the CPUs that the plans in force give each container and each group.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.caches import RowCache
from presman.analysis.facts.cdb_plan import Allocation, allocations
from presman.analysis.facts.cursor_facts import CursorFacts
from presman.analysis.facts.deltas import Deltas
from presman.analysis.facts.plan_book import NOTHING, OTHER_GROUPS, UNNAMED, Branch, Key, PlanShares
from presman.analysis.facts.plan_facts import PlanFacts
from presman.analysis.facts.session_facts import SessionFacts, Work
from presman.analysis.facts.system_facts import ROOT, SystemFacts
from presman.base.sums import grouped
from presman.rows.group_rows import ConsumerGroup, ContainerPlan, ContainerPlanDirective, Plan, PlanDirective
from presman.rows.session_rows import SessionLongops
from presman.rows.snapshot import PromisedEnd, Snapshot


class PlanDivision(Struct, frozen=True, dict=True):
    """The trees of the plans in force, and their figures."""

    snapshot: Snapshot
    system: SystemFacts
    plans: PlanFacts
    cache: RowCache

    @cached_property
    def shares(self) -> Mapping[int, PlanShares]:
        """The plan's figures by instance; instances with the same plans in the same containers share one object.

        A container that is not open on an instance has no part of its CPUs. Limits on parallel servers are still
        present: they are parts of the cluster's target, wherever the container is open.
        """
        rows = self.snapshot.rows
        read = rows(Plan), rows(PlanDirective), rows(ContainerPlan), rows(ContainerPlanDirective)
        known = self.cache.call(_no_shares, *read)
        found: dict[int, PlanShares] = {}
        open_on = self._containers()
        for inst_id, containers in open_on.items():
            given = tuple(self.allocations(inst_id).items())
            names, plan_of = self.system.pdb_names, self.plans.plan_of
            plans = tuple((con_id, names.get(con_id), plan_of(inst_id, con_id)) for con_id in containers)
            # All that a tree depends on besides the rows that were read.
            key = plans, plan_of(inst_id, ROOT), given
            if key not in known:
                runs_plans = any(plan for _, _, plan in plans)
                known[key] = PlanShares.of(self._tree(inst_id, containers)) if runs_plans else NOTHING
            found[inst_id] = known[key]
        return found if len(set(open_on.values())) < 2 else _with_servers_of_all(found, open_on)

    @cached_property
    def with_different_plans(self) -> tuple[int, ...]:
        """Open instances whose plans differ: one of those that have the same plans in the same containers."""
        return tuple({id(self.shares[inst_id]): inst_id for inst_id in self.system.inst_ids}.values())

    def naming_most(self, keys: Set[Key]) -> PlanShares:
        """Return the figures of the first instance that has most of these groups: on others their PDB may be closed."""
        found = map(self.shares.__getitem__, self.system.inst_ids)
        return max(found, key=lambda each: len(each.shares.keys() & keys))

    def _containers(self) -> dict[int, tuple[int, ...]]:
        """Return the containers that have plans of their own on each instance."""
        keys = {(row.inst_id, row.con_id) for row in self.snapshot.rows(ConsumerGroup)}
        keys.update(self.plans.plan_rows)
        if self.system.pdb_names:
            seen = self.system.all_ids if self.plans.plan_rows else ()
            keys.update((inst_id, con_id) for inst_id in seen for con_id in self.system.open_pdbs(inst_id))
            keys = {key for key in keys if not self.system.is_closed(*key)}
        found: dict[int, tuple[int, ...]] = dict.fromkeys(self.system.all_ids, ())
        for inst_id, con_id in sorted(keys):
            found[inst_id] += (con_id,)
        return {inst_id: containers or (0,) for inst_id, containers in found.items()}

    def _tree(self, inst_id: int, containers: tuple[int, ...]) -> Branch:
        pdbs = [con_id for con_id in containers if con_id > 2]
        if not pdbs:
            # The root of a container database runs the CDB plan, in which its own groups have no share.
            con_id = containers[0]
            return self.plans.books.connected.tree(self.plans.plan_of(inst_id, con_id), con_id)
        given = self.allocations(inst_id)
        branches = tuple(self._container(inst_id, con_id, given.get(con_id, Allocation())) for con_id in pdbs)
        return Branch("", (100.0,), by_weight=True, branches=branches)

    def _container(self, inst_id: int, con_id: int, given: Allocation) -> Branch:
        """Return the branch of a pluggable database with its plan: without one all goes to OTHER_GROUPS.

        If the directives of its plan are not visible, its groups are one unnamed branch.
        """
        name, plan = self.system.pdb_names.get(con_id, ""), self.plans.plan_of(inst_id, con_id)
        cap = f"{self.system.container_name(con_id)} ({given.limited_by})" if given.limit is not None else ""
        tree = self.plans.books.of(con_id).tree(plan, con_id, given.limit)
        all_of_it = Branch(plan, (1.0,), (con_id, UNNAMED if plan else OTHER_GROUPS), given.limit)
        return Branch(
            name,
            (given.weight,),
            limit=given.limit,
            servers=given.servers,
            by_weight=tree.by_weight or not tree.branches,
            branches=tree.branches or (all_of_it,),
            cap=cap,
        )

    def allocations(self, inst_id: int) -> Mapping[int, Allocation]:
        """Return the allocation of each pluggable database on an instance."""
        if inst_id not in self._allocations:
            self._allocations[inst_id] = allocations(self.plans, inst_id, self.plans.num_cpus(inst_id))
        return self._allocations[inst_id]

    @cached_property
    def _allocations(self) -> dict[int, Mapping[int, Allocation]]:
        return {}


def _with_servers_of_all(
    found: Mapping[int, PlanShares], open_on: Mapping[int, tuple[int, ...]]
) -> dict[int, PlanShares]:
    """Return the figures of each instance, with the server limits of containers that are open elsewhere."""
    every: dict[Key, float] = {}
    for each in found.values():
        every = {**each.servers, **every}
    whole: dict[int, PlanShares] = {}
    for inst_id, each in found.items():
        elsewhere = {key: part for key, part in every.items() if key[0] not in open_on[inst_id]}
        whole[inst_id] = replace(each, servers={**elsewhere, **each.servers})
    return whole


def _no_shares(*_rows: Any) -> dict[Hashable, PlanShares]:
    """Return a cache for the figures of the trees built from these rows, by all other inputs."""
    return {}


class Facts(Struct, frozen=True, dict=True):
    """The current snapshot, its deltas, and lookups into it by subject."""

    snapshot: Snapshot
    deltas: Deltas
    cache: RowCache

    @classmethod
    def of(cls, previous: Snapshot | None, current: Snapshot, cache: RowCache | None = None) -> Facts:
        """Index `current`."""
        return cls(current, Deltas.between(previous, current), cache or RowCache())

    @cached_property
    def system(self) -> SystemFacts:
        """Instances, parameters, containers, hosts."""
        return SystemFacts(self.snapshot, self.cache)

    @cached_property
    def plans(self) -> PlanFacts:
        """Plans in force, their directives, the CPUs that they divide."""
        return PlanFacts(self.snapshot, self.deltas, self.system, self.cache)

    @cached_property
    def division(self) -> PlanDivision:
        """The figures of plans by container and group."""
        return PlanDivision(self.snapshot, self.system, self.plans, self.cache)

    @cached_property
    def sessions(self) -> SessionFacts:
        """Sessions, their groups, and their activity."""
        return SessionFacts(self.snapshot, self.system)

    @cached_property
    def promised_ends(self) -> Mapping[tuple[int, int, int, str], PromisedEnd]:
        """Predicted ends of statements in earlier readings, by session and SQL_ID."""
        return {row[:4]: row for row in self.snapshot.rows(PromisedEnd)}

    @cached_property
    def earlier_operations(self) -> Mapping[Work, list[SessionLongops]]:
        """V$SESSION_LONGOPS of the previous poll by session or coordinator and SQL_ID."""
        rows = self.deltas.previous.rows(SessionLongops) if self.deltas.previous is not None else ()
        return grouped(rows, lambda row: (row.inst_id, row.qcsid or row.sid, row.sql_id))

    @cached_property
    def cursors(self) -> CursorFacts:
        """Texts of statements, and the reasons for their DOP."""
        return CursorFacts(self.snapshot)
