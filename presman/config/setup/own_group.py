"""The consumer group that presman's own session is in, and what the plan in force may do to it there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from presman.base.formats import counted
from presman.base.release import Release
from presman.rows.plan_rows import ConsumerGroupDefinition, PlanDirective, RsrcPlan
from presman.rows.queries import load
from presman.rows.session_rows import SessionInfo
from presman.rows.snapshot import Section
from presman.sources import Request, Source

_RECORDS = (SessionInfo, ConsumerGroupDefinition, RsrcPlan, PlanDirective)

OTHER_GROUPS = "OTHER_GROUPS"
SYS_GROUP = "SYS_GROUP"

CURE = (
    "put presman's user into a group that comes before the others (DBMS_RESOURCE_MANAGER.SET_CONSUMER_GROUP_MAPPING), "
    "so that it can poll when the database is busiest"
)


def own_group(source: Source, release: Release, inst_id: int, sid: int) -> Iterator[str]:
    """Yield the group of the session, then a line for each thing that the plan may do to it, and what helps.

    Raises SourceError if the connection is lost.
    """
    queries = load(release)
    answer = source.read([Request(queries[record]) for record in _RECORDS])
    found = dict(zip(_RECORDS, answer.sections, strict=True))
    info = next((row for row in found[SessionInfo].rows if (row.inst_id, row.sid) == (inst_id, sid)), None)
    if info is None:
        yield "not known: V$RSRC_SESSION_INFO does not show presman's session"
        return
    names = {row.consumer_group_id: row.consumer_group for row in found[ConsumerGroupDefinition].rows}
    group = info.current_consumer_group or names.get(info.current_consumer_group_id, "")
    plans = [row for row in found[RsrcPlan].rows if row.inst_id == inst_id]
    plans.sort(key=lambda row: row.is_top_plan != "TRUE")
    plan = next((row for row in plans if row.con_id == info.con_id), plans[0] if len(plans) == 1 else None)
    if not group or plan is None:
        yield f"{group or 'none'}, under no plan that can be read"
        return
    yield f"{group} under {plan.name}"
    hazards = list(_hazards(group, plan, found))
    yield from (f"warning: {hazard}" for hazard in hazards)
    if hazards:
        yield CURE


def _hazards(group: str, plan: RsrcPlan, found: Mapping[type[Any], Section]) -> Iterator[str]:
    rows = _in_force(plan.name, found[PlanDirective].rows)
    row = rows.get(group) or rows.get(OTHER_GROUPS)
    if row is None:
        return
    if plan.cpu_managed == "ON" and group != SYS_GROUP:
        levels = [(level, getattr(row, f"mgmt_p{level}")) for level in range(1, 9)]
        given = ", ".join(f"{part} at level {level}" for level, part in levels if part)
        yield f"when CPU is short it may be throttled: the plan gives its group {given or 'no share'}"
    if row.utilization_limit is not None and row.utilization_limit < 100:
        yield f"its group never gets more than {row.utilization_limit} % of the CPU"
    if row.active_sess_pool_p1 is not None:
        yield f"its group may have {counted(row.active_sess_pool_p1, 'active session')} at once: it may be queued"
    if row.switch_group:
        yield f"long calls are switched: {row.switch_group}"
    if row.max_idle_time is not None:
        yield f"sessions idle for {row.max_idle_time} s are ended: poll more often than that"


def _in_force(plan: str, directives: Iterable[PlanDirective]) -> dict[str, PlanDirective]:
    """Return the directive of each group that a plan or a plan below it names."""
    rows = [row for row in directives if not row.status]
    found: dict[str, PlanDirective] = {}
    seen, todo = {plan}, [plan]
    while todo:
        name = todo.pop()
        for row in rows:
            if row.plan == name and row.type == "PLAN" and row.group_or_subplan not in seen:
                seen.add(row.group_or_subplan)
                todo.append(row.group_or_subplan)
            elif row.plan == name and row.type != "PLAN":
                found.setdefault(row.group_or_subplan, row)
    return found
