"""View of a plan: its tree with directives and figures, who set it, mappings; and the comparison of two plans.

It is built only on request: the plan tab, `presman lint` and `once` call it, a poll does not.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.facts.cdb_plan import SHARES, whole_servers
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import PENDING, UNNAMED, Branch, Key, PlanPosition, leaves, positions
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.groups import entitlement
from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.reading import CLUSTER, Reading
from presman.base.sums import grouped, sum_of_known
from presman.rows.group_rows import ContainerGroupMapping, GroupMapping, PlanDirective, RsrcPlanHistory
from presman.rows.queries import null_row
from presman.rows.snapshot import Snapshot

GROUP, SUBPLAN, CONTAINER = "group", "subplan", "container"
"""The kinds of lines in the tree."""


class PlanRow(NamedTuple):
    """One line of a plan's tree: a consumer group, a subplan or a container at `depth` (0 is the top).

    `share` is the guaranteed minimum as a fraction of all CPU and `by_level` are its parts, level by level.
    `guaranteed`, `entitled` and `limit` are CPUs of the cluster, `servers_limit` is in parallel servers. `entitled`,
    `used`, `waiting` and `verdict` are None if the plan is not the active one. Percentages and seconds are the
    directive's. `servers_target` is what `servers_percent` is a percentage of, None if another limit is the lower one.
    `capacity` is the number of all CPUs. `runs` is the plan of a container. `weighed_by` is the source of
    its part if that is not SHARES. `limited_by` is the owner of the limit that holds a group, if it is not the group's
    own. `servers_unclear` is why it is not known how many servers it may hold.
    """

    depth: int
    kind: str
    con_id: int
    name: str
    parts: tuple[float, ...]
    by_weight: bool
    share: float
    by_level: tuple[float, ...]
    guaranteed: float | None
    entitled: float | None
    limit: float | None
    limit_percent: int | None
    servers_limit: int | None
    servers_percent: int | None
    servers_target: int | None
    degree_limit: int | None
    queue_timeout: int | None
    timeout_action: str
    critical: str
    pool: int | None
    pool_timeout: int | None
    switch: str
    ends: str
    used: float | None
    waiting: float | None
    verdict: Verdict | None
    comments: str
    capacity: float
    runs: str = ""
    weighed_by: str = ""
    limited_by: str = ""
    servers_unclear: str = ""


class PlanPeriod(Struct, frozen=True):
    """One activation of a plan (V$RSRC_PLAN_HISTORY); `until` is None while it lasts, `window` is the scheduler's."""

    inst_id: int
    con_id: int
    plan: str
    since: datetime | None
    until: datetime | None
    by_scheduler: bool
    window: str
    switches_allowed: bool


class GroupRule(Struct, frozen=True):
    """Sessions whose `attribute` has `value` go to `group`; `in_plan` is whether the plan names that group.

    `in_plan` is None if the plan shown does not belong to the container of the rule. `container` is that container's
    name, "" outside of one.
    """

    attribute: str
    value: str
    group: str
    in_plan: bool | None
    container: str = ""


class PlanRun(Struct, frozen=True):
    """A plan ("" for none) and the instances that run it."""

    plan: str
    instances: tuple[int, ...]


class PlanView(Struct, frozen=True):
    """All data of one plan. `unallocated` is the fraction that no group is given; `plans` are those available.

    `instances` are those that run it, empty if it is not active; `elsewhere` is what the other instances run. The
    limits of the lines are parts of `capacity`, the CPUs of the instances that run it (of the cluster if none does),
    and of `target`, parallel servers of the cluster. `doubt` is why its numbers may be shares instead of percent, or
    the other way round, "" if it is clear.
    """

    plan: str
    active: bool
    instances: tuple[int, ...]
    elsewhere: tuple[PlanRun, ...]
    method: str
    set_by: str
    unallocated: float
    capacity: float
    target: int | None
    lines: tuple[PlanRow, ...]
    windows: tuple[PlanPeriod, ...]
    mappings: tuple[GroupRule, ...]
    plans: tuple[str, ...]
    doubt: str = ""


class Difference(Struct, frozen=True):
    """One difference between two plans for a group or subplan: `before` in the first, `after` in the second plan."""

    name: str
    fact: str
    before: str
    after: str


NOT_KNOWN = "not known"


def plan_name(reading: Reading) -> str:
    """Return the plan's name, "none" if no plan is active, "not known" if no view shows it."""
    if reading.header.plan:
        return reading.header.plan
    return NOT_KNOWN if reading.why_unavailable("V$RSRC_PLAN") else "none"


def plan_view(reading: Reading, snapshot: Snapshot, plan: str = "") -> PlanView:
    """Return the view of `plan`, or of the active one of the first instance. An unknown plan has no lines."""
    facts = Facts.of(None, snapshot)
    name = plan or reading.header.plan
    runs = [PlanRun(plan, tuple(instances)) for plan, instances in plans_by_instance(facts, 0).items()]
    on = next((run.instances for run in runs if run.plan == name), ())
    active = bool(on) or name == reading.header.plan
    book, con_id = facts.plans.books.having(name)
    shares = facts.division.shares[on[0]] if on else book.shares(name, con_id)
    # If only some instances run the plan, its figures are the sums of these, not those of the cluster.
    partly = 0 < len(on) < len(facts.system.inst_ids)
    shown = [row for row in reading.groups if active and row.inst_id in (on if partly else (CLUSTER,))]
    rows = grouped(shown, lambda row: (row.con_id, row.name))
    instances = [each for each in reading.header.instances if not partly or each.inst_id in on]
    cpus, target = {each.inst_id: each.num_cpus or 0.0 for each in instances}, reading.queue_target()
    capacity = sum(cpus.values())
    trees = [(facts.division.shares[inst_id].root, number) for inst_id, number in cpus.items() if inst_id in on]
    placed = _together(trees or [(shares.root, capacity)])
    lines = tuple(_with_plan(_line(*each, capacity, target, rows, shares.unclear), facts, on) for each in placed)
    if any(facts.plans.server_wide(inst_id) for inst_id in on):
        lines = tuple(line._replace(guaranteed=None) for line in lines)
    windows = plan_windows(snapshot)
    return PlanView(
        plan=name,
        active=active,
        instances=on,
        elsewhere=tuple(run for run in runs if active and run.plan != name),
        method=book.methods.get(name, ""),
        set_by=_set_by(facts, tuple(each for each in windows if not on or each.inst_id in on)) if active else "",
        unallocated=shares.unallocated,
        capacity=capacity,
        target=target,
        lines=lines,
        windows=windows,
        mappings=_mappings(facts, lines),
        plans=_plans(facts, runs),
        doubt=book.doubt(name, con_id),
    )


def _together(trees: Sequence[tuple[Branch, float]]) -> Iterable[tuple[PlanPosition, float]]:
    """Yield every branch of the trees of some instances, with its part of all their CPUs and the CPUs where it exists.

    The trees differ in the containers that are open. `trees` has each with the CPUs of its instance.
    """
    whole = sum(cpus for _, cpus in trees)
    if len({id(root) for root, _ in trees}) == 1:  # instances with the same plan and containers share one tree
        yield from ((each, whole) for each in positions(trees[0][0]))
        return
    parts: dict[tuple[str | Key, ...], list[tuple[PlanPosition, float]]] = {}
    for root, cpus in trees:
        path: list[str | Key] = []
        for each in positions(root):
            path[each.depth :] = [each.branch.key or each.branch.name]
            parts.setdefault(tuple(path), []).append((each, cpus))
    for _, found in sorted(parts.items(), key=lambda item: _container_of(item[1][0][0].branch)):
        first, capacity = found[0][0], sum(cpus for _, cpus in found)
        levels = (zip(*(each.by_level for each, _ in found), strict=True)) if whole else ()
        by_level = [sum(part * cpus for part, (_, cpus) in zip(level, found, strict=True)) / whole for level in levels]
        share = sum(each.share * cpus for each, cpus in found) / whole if whole else first.share
        yield first._replace(share=share, by_level=tuple(by_level) or first.by_level), capacity


def _container_of(branch: Branch) -> int:
    return min((leaf.key[0] for leaf in leaves(branch) if leaf.key), default=0)


def plans_by_instance(facts: Facts, con_id: int) -> dict[str, list[int]]:
    """Return the instances, in order, that run each plan in a container that is open there."""
    there = [each for each in facts.system.inst_ids if con_id <= ROOT or con_id in facts.plans.containers(each)]
    return grouped(there, lambda inst_id: facts.plans.plan_of(inst_id, con_id))


def _plans(facts: Facts, runs: Iterable[PlanRun]) -> tuple[str, ...]:
    """Return the plans to choose from: those in force, then those that are not only parts of others."""
    rows = [plan for book in facts.plans.books.all for plan in book.plans]
    ordered = sorted(rows, key=lambda row: (row.sub_plan == "YES", row.plan))
    known = dict.fromkeys(plan for book in facts.plans.books.all for plan in book.directives)
    named = dict.fromkeys([run.plan for run in runs] + [row.plan for row in ordered] + sorted(known))
    return tuple(name for name in named if name in known)


def _line(
    placed: PlanPosition,
    cpus: float,
    capacity: float,
    target: int | None,
    rows: Mapping[tuple[int, str], list[GroupReading]],
    unclear: Mapping[Key, str],
) -> PlanRow:
    branch, directive = placed.branch, placed.branch.directive
    row = directive or null_row(PlanDirective)
    below = [leaf.key for leaf in leaves(branch) if leaf.key is not None]
    found = [row for key in below for row in rows.get(key, ())]
    groups = found if branch.key is not None else []
    # The limit of a container may be lower than that of the plan: then the percentage is not a part of `target`.
    held = groups[0].may_hold if groups and groups[0].inst_id == CLUSTER else None
    why = unclear.get(branch.key, "") if branch.key else ""
    if _kind(branch) == SUBPLAN and branch.servers is not None:
        why = "what its limit means for servers is not documented"
    fraction = None if why else branch.servers
    servers = None if fraction is None or target is None else whole_servers(fraction, target)
    limit = None if branch.limit is None or not cpus else branch.limit * cpus
    due = placed.share * capacity
    claim = entitlement.together([each.entitled for each in found], [each.verdict for each in found])
    verdict = entitlement.worst([row.verdict for row in groups]) if groups else None
    return PlanRow(
        depth=placed.depth,
        kind=_kind(branch),
        con_id=_container_of(branch),
        name=branch.name or (branch.key[1] if branch.key else "") or "not visible",
        parts=branch.parts,
        by_weight=placed.by_weight,
        share=placed.share,
        by_level=placed.by_level,
        guaranteed=min(due, limit) if limit is not None else due if capacity else None,
        entitled=min(claim, limit) if claim is not None and limit is not None else claim,
        limit=limit,
        limit_percent=row.utilization_limit if directive else _percent(branch.limit),
        servers_limit=servers if held is None else held,
        servers_percent=_percent(fraction),
        servers_target=target if servers == (servers if held is None else held) else None,
        degree_limit=row.parallel_degree_limit_p1,
        queue_timeout=row.parallel_queue_timeout,
        timeout_action=row.pq_timeout_action,
        critical=row.parallel_stmt_critical if row.parallel_stmt_critical != "FALSE" else "",
        pool=row.active_sess_pool_p1,
        pool_timeout=row.queueing_p1,
        switch=switch_rule(row),
        ends="; ".join(_set_limits(row, _ENDS)),
        used=sum_of_known([each.used for each in found]),
        waiting=sum_of_known([each.waiting for each in found]),
        verdict=verdict,
        comments=row.comments,
        capacity=capacity,
        limited_by=next((each.limited_by for each in groups if each.verdict is verdict), ""),
        servers_unclear=why,
    )


def _with_plan(line: PlanRow, facts: Facts, on: tuple[int, ...]) -> PlanRow:
    open_on = [inst_id for inst_id in on if line.con_id in facts.plans.containers(inst_id)]
    if line.kind != CONTAINER or not open_on:
        return line
    by = facts.division.allocations(open_on[0])[line.con_id].weighed_by
    return line._replace(runs=facts.plans.plan_of(open_on[0], line.con_id), weighed_by="" if by == SHARES else by)


def _kind(branch: Branch) -> str:
    if branch.key is not None and branch.key[1] != UNNAMED:
        return GROUP
    return CONTAINER if branch.directive is None else SUBPLAN


def _percent(fraction: float | None) -> int | None:
    return None if fraction is None else round(100 * fraction)


_SWITCHES = (
    ("switch_time", "{} s of CPU"),
    ("switch_elapsed_time", "{} s elapsed"),
    ("switch_io_megabytes", "{} MB of I/O"),
    ("switch_io_reqs", "{} I/O requests"),
    ("switch_io_logical", "{} logical I/Os"),
)
_ENDS = (
    ("max_idle_time", "ends after {} s idle"),
    ("max_idle_blocker_time", "ends after {} s idle while it blocks"),
    ("max_est_exec_time", "refuses statements estimated at over {} s"),
    ("undo_pool", "undo at most {} KB"),
    ("session_pga_limit", "PGA of a session at most {} MB"),
)


def switch_rule(row: PlanDirective) -> str:
    """Return when a session leaves the group, and its target: ``after 300 s of CPU in a call: BATCH``; "" for never."""
    limits = _set_limits(row, _SWITCHES)
    if not limits or not row.switch_group:
        return ""
    call = " in a call" if row.switch_for_call == "TRUE" else ""
    guess = ", or if the optimizer expects it" if row.switch_estimate == "TRUE" else ""
    return f"after {' or '.join(limits)}{call}{guess}: {row.switch_group}"


def _set_limits(row: PlanDirective, words: Iterable[tuple[str, str]]) -> list[str]:
    """Return in words those limits of a directive that are set."""
    return [text.format(value) for name, text in words if (value := getattr(row, name)) is not None]


def plan_windows(snapshot: Snapshot) -> tuple[PlanPeriod, ...]:
    """Return the plan windows, newest first: one per instance and container."""
    # Windows whose start is not known come last, because the order is reversed.
    rows = sorted(
        snapshot.rows(RsrcPlanHistory),
        key=lambda row: (row.start_time is not None, row.start_time or snapshot.at, row.sequence, -row.inst_id),
        reverse=True,
    )
    return tuple(
        PlanPeriod(
            row.inst_id,
            row.con_id,
            row.name,
            row.start_time,
            row.end_time,
            row.enabled_by_scheduler == "TRUE",
            row.window_name,
            row.allowed_automated_switches != "FALSE",
        )
        for row in rows
    )


def _set_by(facts: Facts, windows: tuple[PlanPeriod, ...]) -> str:
    """Return who activated the plan and when, and whether scheduler windows may change it."""
    # From inside a pluggable database only its own windows are visible.
    now = min((each for each in windows if each.until is None), key=lambda each: max(each.con_id, ROOT), default=None)
    if now is None:
        return "V$RSRC_PLAN_HISTORY does not show when it was activated"
    since = f"{now.since.astimezone():%Y-%m-%d %H:%M:%S}" if now.since else "an unknown time"
    by = f"the scheduler window {now.window or '(not named)'}" if now.by_scheduler else "a user or parameter"
    setting = facts.system.parameters.by_name.get((now.inst_id, "resource_manager_plan"), "")
    barred = setting.upper().startswith("FORCE:") or not now.switches_allowed
    return f"set by {by}, {since}; scheduler windows may {'not ' * barred}change it"


def _mappings(facts: Facts, lines: tuple[PlanRow, ...]) -> tuple[GroupRule, ...]:
    """Return the mapping rules of each visible container; only those of the plan's container refer to its groups."""
    groups = {(line.con_id, line.name) for line in lines if line.kind == GROUP}
    seen = {con_id for con_id, _ in groups}
    here = facts.plans.inside or 0
    rows: Sequence[GroupMapping] = facts.snapshot.rows(ContainerGroupMapping)
    rows = rows or facts.snapshot.rows(GroupMapping)
    found = []
    for row in rows:
        if row.status != PENDING:
            con_id, group = row.con_id or here, row.consumer_group
            in_plan = (con_id, group) in groups if con_id in seen else None
            found.append(GroupRule(row.attribute, row.value, group, in_plan, facts.system.container_name(con_id)))
    return tuple(found)


def differences(before: PlanView, after: PlanView) -> tuple[Difference, ...]:
    """Return the changes from one plan to another: groups added or removed, and each changed fact of those in both."""
    old = {(line.kind, line.name): line for line in before.lines}
    new = {(line.kind, line.name): line for line in after.lines}
    found: list[Difference] = []
    for key in dict.fromkeys([*old, *new]):
        name = key[1]
        if key not in new:
            found.append(Difference(name, key[0], "there", "not there: its sessions are in OTHER_GROUPS"))
        elif key not in old:
            found.append(Difference(name, key[0], "not there", "there"))
        else:
            then, now = _facts(old[key]), _facts(new[key])
            found += [Difference(name, fact, then[fact], now[fact]) for fact in then if then[fact] != now[fact]]
    return tuple(found)


def _facts(line: PlanRow) -> dict[str, str]:
    def shown(value: object, unit: str = "") -> str:
        return "-" if value is None or value == "" else f"{value}{unit}"

    return {
        "level or shares": parts_text(line),
        "guaranteed": f"{100 * line.share:.2f} %",
        "CPU limit": shown(line.limit_percent, " %"),
        "server limit": shown(line.servers_percent, " %"),
        "degree limit": shown(line.degree_limit),
        "queue timeout": shown(line.queue_timeout, " s") + (f" {line.timeout_action}" if line.timeout_action else ""),
        "queue": shown(line.critical),
        "session pool": shown(line.pool),
        "switch": shown(line.switch),
        "limits": shown(line.ends),
    }


def parts_text(line: PlanRow) -> str:
    """Return a directive's allocation: ``L2 50 %`` per level, or its shares."""
    parts = [(level, part) for level, part in enumerate(line.parts, start=1) if part]
    if line.weighed_by:
        return f"{line.weighed_by} {line.parts[0]:g}"
    if line.by_weight:
        return f"{line.parts[0]:g} share{'s' * (line.parts[0] != 1)}" if line.parts and line.parts[0] else "no share"
    return ", ".join(f"L{level} {part:g} %" for level, part in parts) or "no share"
