"""Case of a lint rule: what it looks at, and the findings it returns."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property

from msgspec import Struct

from presman.analysis.facts.plan_book import PlanShares
from presman.analysis.plans.plan_view import PlanPeriod
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.instance_readings import ServerPool
from presman.rows.plan_rows import PlanDirective


class Severity(Enum):
    """How much a finding matters, in the words shown."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(Struct, frozen=True):
    """One doubt: the rule's name, how much it matters, the plan and its group (or "") it is about, why, and whence."""

    rule: str
    severity: Severity
    plan: str
    subject: str
    text: str
    source: str


class Case(Struct, frozen=True, dict=True):
    """One plan in force as one container runs it, with all that a rule may want to know.

    `reached` are the groups that sessions are in, are mapped to or are switched to; `by_weight` tells that level 1
    holds shares, `doubt` why it may be the other way round. `degree_limit` is PARALLEL_DEGREE_LIMIT where it is a
    number; `cpu_limits_servers` is that of the plan book. `cpu_managed` tells that Resource Manager may manage CPU by
    the plan: not where the plan has nothing but limits on runaway calls.
    """

    plan: str
    con_id: int
    top: bool
    by_weight: bool
    rows: tuple[PlanDirective, ...]
    shares: PlanShares
    groups: Mapping[str, GroupReading]
    reached: frozenset[str]
    mapped: tuple[tuple[str, str, str], ...]
    pool: ServerPool
    degree_limit: int | None
    degree_policy: str
    windows: tuple[PlanPeriod, ...]
    tree_groups: frozenset[str]
    doubt: str = ""
    cpu_limits_servers: bool = True
    cpu_managed: bool = True

    @cached_property
    def directives(self) -> dict[str, PlanDirective]:
        """The directives of consumer groups by name."""
        return {row.group_or_subplan: row for row in self.rows if row.type != "PLAN"}

    def share(self, group: str) -> float | None:
        """Return the guaranteed share of a group, None for one the active tree has not."""
        return self.shares.shares.get((self.con_id, group))

    @cached_property
    def divides(self) -> bool:
        """Whether the plan gives any group of its container a part of the CPUs."""
        return self.shares.divides(self.con_id)

    def servers_limit(self, row: PlanDirective) -> int | None:
        """Return the servers a directive lets its group hold; None without a limit or a known target."""
        percent = row.parallel_server_limit
        if percent is None and self.cpu_limits_servers:
            percent = row.utilization_limit
        if percent is None or percent >= 100 or self.pool.target is None:
            return None
        return self.pool.target * percent // 100

    def finding(self, rule: str, severity: Severity, subject: str, text: str, source: str) -> Finding:
        """Return a finding about this plan."""
        return Finding(rule, severity, self.plan, subject, text, source)
