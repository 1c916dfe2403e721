"""Tables of the plan: its tree, findings about it, its windows, mappings, and what another plan does differently."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime

from presman.analysis.lint_case import Finding, Severity
from presman.analysis.plan_view import CONTAINER, GROUP, Difference, GroupRule, PlanLine, Window, parts_text
from presman.columns import Column, State, Table
from presman.formats import ABSENT, count, number
from presman.tables.groups import VERDICT_MARKS, cpu_bar

Line = Column[PlanLine]
Finds = Column[Finding]
Opened = Column[Window]
Rule = Column[GroupRule]
Differs = Column[Difference]

SEVERITY_MARKS: dict[Severity, tuple[str, State]] = {
    Severity.ERROR: ("✕", "bad"),
    Severity.WARNING: ("▲", "warn"),
    Severity.NOTE: ("·", "note"),
}
"""The glyph and the state that go with each severity."""

_VIEW = "DBA_RSRC_PLAN_DIRECTIVES"


def _name(row: PlanLine) -> str:
    what = {GROUP: "", CONTAINER: f" runs {row.runs or 'no plan'}"}.get(row.kind, f" ({row.kind})")
    return "  " * row.depth + row.name + what


def _limit(row: PlanLine) -> str:
    if row.limit is None:
        return ABSENT
    percent = "" if row.limit_percent is None else f" ({row.limit_percent}%)"
    return f"{number(row.limit)}{percent}"


def _servers(row: PlanLine) -> str:
    if row.servers_limit is None:
        return ABSENT
    percent = "" if row.servers_percent is None else f" ({row.servers_percent}%)"
    return f"{row.servers_limit}{percent}"


def _timeout(row: PlanLine) -> str:
    if row.queue_timeout is None:
        return row.critical or ABSENT
    return " ".join(part for part in (f"{row.queue_timeout} s", row.timeout_action, row.critical) if part)


def _pool(row: PlanLine) -> str:
    if row.pool is None:
        return ABSENT
    return f"{row.pool}" + ("" if row.pool_timeout is None else f", {row.pool_timeout} s")


def _rules(row: PlanLine) -> str:
    return "; ".join(part for part in (row.switch, row.ends, row.comments) if part) or ABSENT


def _verdict(row: PlanLine) -> str:
    return ABSENT if row.verdict is None else f"{VERDICT_MARKS[row.verdict][0]} {row.verdict.value}"


def _levels(row: PlanLine) -> str:
    return " ".join(f"{100 * part:.2f}" for part in row.by_level if part) or "0"


def when(at: datetime | None) -> str:
    """Return an instant with its day, in the user's zone; ``-`` for None."""
    return ABSENT if at is None else f"{at.astimezone():%m-%d %H:%M:%S}"


def _line(row: PlanLine) -> Hashable:
    return row.con_id, row.depth, row.kind, row.name


# fmt: off
PLAN: Table[PlanLine] = Table(
    "plan", "Plan",
    (
        Line("name", "Group or subplan", 20, _name,
             f"{_VIEW}.GROUP_OR_SUBPLAN, indented below the plan or container it is part of.", most=34),
        Line("parts", "directive", 10, parts_text,
             f"{_VIEW}.MGMT_P1 to MGMT_P8: percent of what the levels above leave, or shares where the plan divides by "
             "weight (RATIO, and plans of pluggable databases).", sort=parts_text, most=22),
        Line("share", "min %", 6, lambda row: f"{100 * row.share:.2f}",
             "Guaranteed minimum: percent of all CPU it gets when everyone is busy, nested plans multiplied in: "
             "presman 1.x's `emphasis`, summed over the levels.", sort=lambda row: row.share, align="right"),
        Line("guaranteed", "min CPU", 7, lambda row: number(row.guaranteed),
             "The guaranteed minimum in CPUs of all instances, never above the limit.", sort=lambda row: row.guaranteed,
             align="right"),
        Line("entitled", "now CPU", 7, lambda row: number(row.entitled),
             "Entitlement now: CPUs it may claim among those with demand since the last poll. - without demand.",
             sort=lambda row: row.entitled, align="right"),
        Line("used", "use CPU", 7, lambda row: number(row.used),
             "CPUs used since the last poll (V$RSRC_CONSUMER_GROUP.CONSUMED_CPU_TIME); of a subplan, by its groups.",
             sort=lambda row: row.used, align="right"),
        Line("bar", "CPU", 10, lambda row: number(row.used),
             "█ CPUs used, ▒ waited for, │ entitlement now, ┊ limit.", sort=lambda row: row.used, bar=cpu_bar,
             flexible=True, narrow=False),
        Line("limit", "CPU limit", 9, _limit,
             f"CPUs at {_VIEW}.UTILIZATION_LIMIT, limits above multiplied in; in brackets the directive's percent.",
             sort=lambda row: row.limit, align="right"),
        Line("servers", "PX limit", 9, _servers,
             f"Parallel servers it may hold: {_VIEW}.PARALLEL_SERVER_LIMIT, else UTILIZATION_LIMIT, of the target.",
             sort=lambda row: row.servers_limit, align="right"),
        Line("degree", "DOP", 4, lambda row: count(row.degree_limit),
             f"{_VIEW}.PARALLEL_DEGREE_LIMIT_P1.", sort=lambda row: row.degree_limit, align="right"),
        Line("timeout", "queue", 9, _timeout,
             f"{_VIEW}.PARALLEL_QUEUE_TIMEOUT in seconds and PQ_TIMEOUT_ACTION (18 and later), then "
             "PARALLEL_STMT_CRITICAL.", sort=lambda row: row.queue_timeout, narrow=False, most=22),
        Line("pool", "pool", 5, _pool,
             f"{_VIEW}.ACTIVE_SESS_POOL_P1, the sessions that may work at a time, and QUEUEING_P1, their timeout.",
             sort=lambda row: row.pool, align="right", narrow=False, most=10),
        Line("verdict", "verdict", 14, _verdict, "What happens to the group's CPU now; see the tab CPU.",
             sort=_verdict, state=lambda row: "" if row.verdict is None else VERDICT_MARKS[row.verdict][1],
             narrow=False, most=26),
        Line("levels", "by level %", 10, _levels,
             "The guaranteed minimum level by level, in percent of all CPU (presman 1.x's `emphasis`).",
             narrow=False, most=16),
        Line("rules", "switches and other limits", 14, _rules,
             f"{_VIEW}: SWITCH_* and SWITCH_GROUP, idle times, undo, estimates, PGA; then the comment.", narrow=False,
             most=60),
    ),
    _line, "No directives of this plan can be read: DBA_RSRC_PLAN_DIRECTIVES gave none, or no plan is active.",
)
FINDINGS: Table[Finding] = Table(
    "findings", "Findings about the plans",
    (
        Finds("severity", "Severity", 9, lambda row: f"{SEVERITY_MARKS[row.severity][0]} {row.severity.value}",
              "error: the plan cannot do what it says; warning: it probably does not do what is meant; note: to know.",
              sort=lambda row: list(Severity).index(row.severity), state=lambda row: SEVERITY_MARKS[row.severity][1]),
        Finds("rule", "Rule", 18, lambda row: row.rule, "The rule's stable name.", sort=lambda row: row.rule,
              narrow=False, most=24),
        Finds("plan", "Plan", 12, lambda row: row.plan, "The plan it is about.", sort=lambda row: row.plan,
              narrow=False, most=20),
        Finds("text", "Finding", 30, lambda row: row.text, "What is doubtful and why; Enter shows all of it.",
              flexible=True),
        Finds("source", "Source", 20, lambda row: row.source, "The manual that describes what it is about.",
              narrow=False, most=60),
    ),
    lambda row: (row.rule, row.plan, row.subject), "No finding: nothing about the plans in force is doubtful.",
)
WINDOWS: Table[Window] = Table(
    "windows", "Plan changes",
    (
        Opened("inst", "Inst", 4, lambda row: str(row.inst_id), "INST_ID.", sort=lambda row: row.inst_id,
               align="right"),
        Opened("con", "Con", 4, lambda row: str(row.con_id), "CON_ID.", sort=lambda row: row.con_id, align="right"),
        Opened("since", "since", 14, lambda row: when(row.since), "V$RSRC_PLAN_HISTORY.START_TIME.",
               sort=lambda row: row.since.timestamp() if row.since else None),
        Opened("until", "until", 14, lambda row: when(row.until), "V$RSRC_PLAN_HISTORY.END_TIME; - while it lasts.",
               sort=lambda row: row.until.timestamp() if row.until else None),
        Opened("plan", "Plan", 16, lambda row: row.plan or "(none)", "V$RSRC_PLAN_HISTORY.NAME.",
               sort=lambda row: row.plan, flexible=True),
        Opened("by", "set by", 20, lambda row: row.window or ("scheduler" if row.by_scheduler else "user, parameter"),
               "V$RSRC_PLAN_HISTORY.WINDOW_NAME where ENABLED_BY_SCHEDULER is TRUE, else a user or parameter.",
               sort=lambda row: row.window, state=lambda row: "warn" if row.by_scheduler else ""),
        Opened("kept", "windows", 8, lambda row: "may" if row.switches_allowed else "may not",
               "Whether scheduler windows may change it (ALLOWED_AUTOMATED_SWITCHES).",
               sort=lambda row: row.switches_allowed, narrow=False),
    ),
    lambda row: (row.inst_id, row.con_id, row.since, row.plan), "V$RSRC_PLAN_HISTORY gave no rows.",
)
MAPPINGS: Table[GroupRule] = Table(
    "mappings", "Mappings",
    (
        Rule("attribute", "Attribute", 12, lambda row: row.attribute, "DBA_RSRC_GROUP_MAPPINGS.ATTRIBUTE.",
             sort=lambda row: row.attribute, most=24),
        Rule("value", "Value", 14, lambda row: row.value, "DBA_RSRC_GROUP_MAPPINGS.VALUE.",
             sort=lambda row: row.value, flexible=True),
        Rule("group", "Group", 16, lambda row: row.group if row.in_plan else f"{row.group} (not in the plan)",
             "DBA_RSRC_GROUP_MAPPINGS.CONSUMER_GROUP. A group the plan does not name: OTHER_GROUPS.",
             sort=lambda row: row.group, state=lambda row: "" if row.in_plan else "dim", most=36),
    ),
    lambda row: (row.attribute, row.value), "DBA_RSRC_GROUP_MAPPINGS gave no rows.",
)
DIFFERENCES: Table[Difference] = Table(
    "differences", "Differences",
    (
        Differs("name", "Group or subplan", 18, lambda row: row.name, "What the plans treat differently.",
                sort=lambda row: row.name, most=30),
        Differs("fact", "directive", 16, lambda row: row.fact, "Which of its directives.", sort=lambda row: row.fact),
        Differs("before", "active plan", 20, lambda row: row.before, "What the active plan says.", most=40),
        Differs("after", "chosen plan", 20, lambda row: row.after, "What the chosen plan says.", flexible=True),
    ),
    lambda row: (row.name, row.fact), "The plans do not differ.",
)
