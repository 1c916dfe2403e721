"""Rules about plans: each is a small pure function from one plan in force to findings.

Every finding says why it matters and which of Oracle's manuals describes the subject.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from presman.analysis.facts.plan_book import OTHER_GROUPS, PlanShares, bypasses_queue
from presman.analysis.plans.plan_view import PlanPeriod
from presman.analysis.readings.group_readings import GroupReading, Marked
from presman.analysis.readings.reading import ServerPool
from presman.base.formats import counted
from presman.rows.group_rows import PlanDirective


class Severity(Marked):
    """The importance of a finding."""

    ERROR = "error", "✕", "bad"
    WARNING = "warning", "▲", "warn"
    NOTE = "note", "·", "note"


class Finding(Struct, frozen=True):
    """One doubt: the rule's name, its importance, the plan and the group (or "") it is about, reason and source."""

    rule: str
    severity: Severity
    plan: str
    subject: str
    text: str
    source: str


class Case(Struct, frozen=True, dict=True):
    """One plan in force as one container runs it, with all input of the rules.

    `reached` are the groups that sessions are in, are mapped to or are switched to. `by_weight` means that level 1
    holds shares; `doubt` is why it may be the other way round. `degree_limit` is PARALLEL_DEGREE_LIMIT if it is a
    number. `cpu_limits_servers` is that of the plan book. `cpu_managed` means that Resource Manager may manage CPU by
    the plan: not if the plan has only limits on runaway calls.
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
        """Return the guaranteed share of a group, None for a group that is not in the active tree."""
        return self.shares.shares.get((self.con_id, group))

    @cached_property
    def divides(self) -> bool:
        """Whether the plan gives any group of its container a part of the CPUs."""
        return self.shares.divides(self.con_id)

    def servers_limit(self, row: PlanDirective) -> int | None:
        """Return the servers that a directive allows its group; None without a limit or a known target."""
        percent = row.parallel_server_limit
        if percent is None and self.cpu_limits_servers:
            percent = row.utilization_limit
        if percent is None or percent >= 100 or self.pool.target is None:
            return None
        return self.pool.target * percent // 100


TINY = 0.01
"""A guaranteed share below this is negligible."""

PDB_GROUPS = 8
"""Consumer groups that the plan of a pluggable database may have."""

ACTIONS = frozenset({"CANCEL_SQL", "KILL_SESSION", "LOG_ONLY"})
"""Values of SWITCH_GROUP that are not a group."""

_LEVEL_COLUMNS = tuple(f"mgmt_p{level}" for level in range(1, 9))
_DIRECTIVES = "Database Reference: DBA_RSRC_PLAN_DIRECTIVES"
_METHODS = "PL/SQL Packages and Types Reference: DBMS_RESOURCE_MANAGER.CREATE_PLAN"
_GUIDE = "Administrator's Guide: Managing Resources with Oracle Database Resource Manager"
_QUEUE = "VLDB and Partitioning Guide: Parallel Statement Queuing"
_PDB_PLANS = "Database Reference: RESOURCE_MANAGER_PLAN (limits of PDB plans)"

Found = Iterator[tuple[str, str] | tuple[str, str, Severity]]
"""The findings of a rule: subject ("" for the plan itself), text, and a severity if it is not the rule's own."""


Find = TypeVar("Find", bound="Callable[[Any], Found]")


class LintRule(NamedTuple):
    """One rule: its importance, the manual for its subject, and the function that finds.

    A rule `of_cpu` finds nothing if Resource Manager does not manage CPU.
    """

    key: str
    severity: Severity
    source: str
    of_cpu: bool
    find: Callable[[Any], Found]

    def findings(self, case: Any) -> Iterator[Finding]:
        """Yield its findings in a case."""
        if self.of_cpu and not case.cpu_managed:
            return
        for found in self.find(case):
            severity = found[2] if len(found) == 3 else self.severity
            yield Finding(self.key, severity, case.plan, found[0], found[1], self.source)


class LintRules(list[LintRule]):
    """Rules about cases of one kind; among equally important ones, the first in the list comes first."""

    def rule(self, severity: Severity, source: str, *, of_cpu: bool = False) -> Callable[[Find], Find]:
        """Return the decorator that adds a function to the rules, under its name."""

        def add(find: Find) -> Find:
            self.append(LintRule(find.__name__.replace("_", "-"), severity, source, of_cpu, find))
            return find

        return add


RULES = LintRules()
"""All rules about a plan."""


@RULES.rule(Severity.ERROR, _GUIDE)
def no_other_groups(case: Case) -> Found:
    """A top plan must have a directive for all other sessions."""
    if case.top and OTHER_GROUPS not in case.tree_groups and case.rows:
        lacking = "The plan has no directive for OTHER_GROUPS"
        yield OTHER_GROUPS, f"{lacking}: sessions of groups it does not name have no directive at all."


@RULES.rule(Severity.ERROR, _GUIDE, of_cpu=True)
def zero_share(case: Case) -> Found:
    """A group without a share gets CPU only when no other group wants it."""
    for name in case.directives:
        if case.divides and case.share(name) == 0 and name in case.reached:
            then = "while the others want all CPU, they can hang (and hold locks) rather than just be slow"
            yield name, f"{name} is guaranteed nothing, and sessions can be in it: {then}."


@RULES.rule(Severity.ERROR, _DIRECTIVES, of_cpu=True)
def overfull_level(case: Case) -> Found:
    """The percentages of a level are parts of one whole."""
    for level, column in enumerate(_LEVEL_COLUMNS, start=1):
        total = sum(getattr(row, column) for row in case.rows)
        if total > 100 and not case.by_weight:
            yield "", f"Level {level} allocates {total} %; presman scales it down to 100."


@RULES.rule(Severity.WARNING, _METHODS, of_cpu=True)
def percent_or_shares(case: Case) -> Found:
    """CREATE_PLAN makes a plan of percentages by default, also if shares are meant."""
    if case.doubt:
        taken = "shares" if case.by_weight else "percent"
        meant = "MGMT_MTH of CREATE_PLAN says which is meant (EMPHASIS or RATIO)"
        yield "", f"Percent or shares? For {case.plan}, {case.doubt}. presman reads them as {taken}; {meant}."


@RULES.rule(Severity.ERROR, _PDB_PLANS)
def pdb_plan_with_subplans(case: Case) -> Found:
    """A pluggable database's plan has one tier."""
    for row in case.rows:
        if case.con_id > 2 and row.type == "PLAN":
            text = f"{row.group_or_subplan} is a subplan, which the plan of a pluggable database may not have."
            yield row.group_or_subplan, text


@RULES.rule(Severity.ERROR, _PDB_PLANS)
def pdb_plan_too_large(case: Case) -> Found:
    """A pluggable database's plan has at most eight groups."""
    if case.con_id > 2 and len(case.directives) > PDB_GROUPS:
        has = counted(len(case.directives), "group")
        yield "", f"The plan has {has}; that of a pluggable database may have {PDB_GROUPS}."


@RULES.rule(Severity.ERROR, _PDB_PLANS)
def pdb_plan_with_levels(case: Case) -> Found:
    """A pluggable database's plan has one level."""
    deep = [row.group_or_subplan for row in case.rows if any(getattr(row, name) for name in _LEVEL_COLUMNS[1:])]
    if case.con_id > 2 and deep:
        text = f"{', '.join(deep)} has an allocation below level 1; the plan of a pluggable database has one level."
        yield deep[0], text


@RULES.rule(Severity.WARNING, _GUIDE, of_cpu=True)
def tiny_other_groups(case: Case) -> Found:
    """Sessions that are not mapped, or are mapped to a group that is not in the plan, are in OTHER_GROUPS."""
    share = case.share(OTHER_GROUPS)
    if OTHER_GROUPS in case.directives and share is not None and 0 < share < TINY:
        sessions = "every session that is not mapped, or mapped to a group the plan does not name, is in it"
        yield OTHER_GROUPS, f"OTHER_GROUPS is guaranteed {100 * share:.2f} % of CPU, and {sessions}."


@RULES.rule(Severity.WARNING, _QUEUE)
def target_is_maximum(case: Case) -> Found:
    """Groups that bypass the queue need servers above the target."""
    pool = case.pool
    if pool.target is None or pool.maximum is None or pool.target < pool.maximum:
        return
    target, most = f"PARALLEL_SERVERS_TARGET ({pool.target})", f"PARALLEL_MAX_SERVERS ({pool.maximum})"
    then = "when the target is reached they find no servers and are downgraded"
    for name, row in case.directives.items():
        if bypasses_queue(row):
            text = f"Statements of {name} bypass the queue, but {target} leaves nothing below {most}: {then}."
            yield name, f"{text} Keep the target at 50 to 75 % of the maximum."


@RULES.rule(Severity.WARNING, _QUEUE)
def limit_below_degree(case: Case) -> Found:
    """Producers and consumers: a statement usually wants twice its degree. Of no servers, every degree is too high."""
    for name, row in case.directives.items():
        limit = case.servers_limit(row)
        if limit == 0:
            yield name, f"{name} may hold no parallel server: its part of the target is less than one. Raise the limit."
            continue
        degree = row.parallel_degree_limit_p1 if row.parallel_degree_limit_p1 is not None else case.degree_limit
        if limit is not None and degree is not None and degree > 1 and limit < 2 * degree and not bypasses_queue(row):
            wants = f"a statement of degree {degree} with two server sets wants {2 * degree}"
            seen = "on 12.1 one larger than the whole target was seen to start once nothing else ran"
            text = f"{name} may hold {limit} parallel servers, but {wants}, more than that even when the group is idle."
            text += f" Whether it then starts is not documented ({seen})."
            yield name, f"{text} Limit the degree to {max(1, limit // 2)}, or give more servers."


@RULES.rule(Severity.WARNING, _QUEUE)
def short_timeout(case: Case) -> Found:
    """A timeout shorter than the usual queue ends statements that only wait for their turn."""
    for name, row in case.directives.items():
        group, timeout = case.groups.get(name), row.parallel_queue_timeout
        if group is None or timeout is None or not group.totals.queued:
            continue
        usual = (group.totals.queued_ms or 0) / 1000 / group.totals.queued
        if timeout <= usual:
            then = row.pq_timeout_action or "CANCEL"
            queue = f"its statements queue {usual:.0f} s on average since the plan was activated"
            yield name, f"PARALLEL_QUEUE_TIMEOUT of {name} is {timeout} s, but {queue}: many that queue end in {then}."


@RULES.rule(Severity.WARNING, _GUIDE)
def window_swaps_plan(case: Case) -> Found:
    """Maintenance windows set plans of their own."""
    here = [window for window in case.windows if window.con_id in {case.con_id, 1 if case.con_id == 0 else case.con_id}]
    if case.top and (text := swapping_windows(here)):
        yield "", text


@RULES.rule(Severity.WARNING, _DIRECTIVES, of_cpu=True)
def limit_below_share(case: Case) -> Found:
    """A group cannot use more than its limit, whatever its guaranteed share is."""
    for name in case.directives:
        share, limit = case.share(name), case.shares.limits.get((case.con_id, name))
        if share is not None and limit is not None and limit < share - 1e-9:
            due = f"{name} is guaranteed {100 * share:.1f} % of CPU but limited to {100 * limit:.1f} %"
            yield name, f"{due}: the difference can never be used."


@RULES.rule(Severity.WARNING, _DIRECTIVES)
def switch_to_nowhere(case: Case) -> Found:
    """SWITCH_GROUP must be an action or a group of the plan."""
    for name, row in case.directives.items():
        target = row.switch_group
        if target and target not in ACTIONS and target not in case.tree_groups:
            text = f"{name} switches to {target}, which the plan does not name: sessions switched are in OTHER_GROUPS."
            yield name, text


@RULES.rule(Severity.NOTE, _DIRECTIVES, of_cpu=True)
def unallocated(case: Case) -> Found:
    """No group has a right to CPU that no level hands out."""
    if case.top and case.divides and not case.doubt and case.shares.unallocated >= TINY:
        rest = f"{100 * case.shares.unallocated:.1f} % of CPU is unallocated"
        cure = "Add it to a group, or put OTHER_GROUPS with 100 % at the last level"
        yield "", f"{rest}; it goes to the groups that want it, in proportion. {cure}."


@RULES.rule(Severity.NOTE, _DIRECTIVES)
def limit_caps_servers(case: Case) -> Found:
    """UTILIZATION_LIMIT also limits parallel servers."""
    for name, row in case.directives.items():
        percent = row.utilization_limit
        if (case.con_id, name) in case.shares.unclear:
            continue
        if percent is not None and percent < 100 and row.parallel_server_limit is None and case.cpu_limits_servers:
            text = f"UTILIZATION_LIMIT of {name} also limits its parallel servers to {percent} % of the target"
            yield name, f"{text}. Set PARALLEL_SERVER_LIMIT if that is not meant."


@RULES.rule(Severity.NOTE, _GUIDE)
def mapped_elsewhere(case: Case) -> Found:
    """Sessions mapped to a group that the plan does not name are in OTHER_GROUPS."""
    missing: dict[str, list[str]] = {}
    for attribute, value, group in case.mapped:
        if case.top and group not in case.tree_groups and case.rows:
            missing.setdefault(group, []).append(f"{attribute} {value}")
    for group, mapped in sorted(missing.items()):
        some = ", ".join(mapped[:3]) + (f" and {len(mapped) - 3} more" if len(mapped) > 3 else "")
        are = "are" if len(mapped) > 1 else "is"
        yield group, f"{some} {are} mapped to {group}, which the plan does not name: such sessions are in OTHER_GROUPS."


@RULES.rule(Severity.NOTE, _DIRECTIVES)
def pool_without_timeout(case: Case) -> Found:
    """An active session pool without a timeout lets sessions wait for ever."""
    for name, row in case.directives.items():
        if row.active_sess_pool_p1 is not None and row.queueing_p1 is None:
            allowed = counted(row.active_sess_pool_p1, "session")
            text = f"{name} allows {allowed} at a time, and the others wait without a timeout (QUEUEING_P1)"
            yield name, f"{text}: a waiting session may hold locks all that time."


@RULES.rule(Severity.NOTE, _QUEUE)
def queue_never_used(case: Case) -> Found:
    """Rules of the parallel queue do nothing while no statement may queue."""
    queues = any(row.parallel_stmt_critical == "QUEUE" for row in case.directives.values())
    if queues or case.degree_policy.upper() not in {"MANUAL", "LIMITED"}:
        return
    for name, row in case.directives.items():
        if row.parallel_server_limit is not None or row.parallel_queue_timeout is not None:
            why = f"PARALLEL_DEGREE_POLICY is {case.degree_policy} and no group has PARALLEL_STMT_CRITICAL = QUEUE"
            only = "statements queue only where a session or hint asks for it"
            yield name, f"{name} has directives for the parallel queue, but {why}: {only}."
            return


def swapping_windows(periods: Sequence[PlanPeriod]) -> str:
    """Return the finding about the windows of one container that change its plan, "" if none do."""
    now = next((window for window in periods if window.until is None), None)
    swaps = {window.window or "not named": window.plan for window in periods if window.by_scheduler}
    if not swaps or now is None or not now.switches_allowed:
        return ""
    swapped = ", ".join(f"{plan or 'no plan'} by {window}" for window, plan in sorted(swaps.items()))
    change = f"Scheduler windows change the plan ({swapped}): at night or on weekends other directives apply"
    return f"{change}. Set the plan with FORCE: to keep it, or take the plan out of the windows."
