"""Facts: one snapshot with its indexes, built once, read by all the modules that judge it."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from presman.analysis.caches import RowCache
from presman.analysis.facts.cursor_facts import CursorFacts
from presman.analysis.facts.deltas import Deltas
from presman.analysis.facts.division import PlanDivision
from presman.analysis.facts.plan_facts import PlanFacts
from presman.analysis.facts.session_facts import SessionFacts
from presman.analysis.facts.system_facts import SystemFacts
from presman.rows.snapshot import Snapshot


class Facts(Struct, frozen=True, dict=True):
    """The current snapshot, its deltas, and lookups into it by what they are about."""

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
        """What plans give to containers and groups."""
        return PlanDivision(self.snapshot, self.system, self.plans, self.cache)

    @cached_property
    def sessions(self) -> SessionFacts:
        """Sessions, their groups, and what they do."""
        return SessionFacts(self.snapshot, self.system)

    @cached_property
    def cursors(self) -> CursorFacts:
        """Texts of statements, and why their DOP is what it is."""
        return CursorFacts(self.snapshot)
