"""Figures of the plan: its tree, findings about it, windows, mappings, and the differences from another plan."""

from datetime import datetime

from presman.analysis.plans.lint_rules import Finding
from presman.analysis.plans.plan_view import CONTAINER, GROUP, Difference, GroupRule, PlanPeriod, PlanRow, parts_text
from presman.base.formats import ABSENT, number
from presman.figures.figure import COUNT, CPUS, FLAG, NUMBER, TEXT, WORD, Figure, Table, Unit
from presman.figures.group_figures import cpu_bar, verdict_text

Line = Figure[PlanRow]
Finds = Figure[Finding]
Opened = Figure[PlanPeriod]
Rule = Figure[GroupRule]
Differs = Figure[Difference]

_VIEW = "DBA_RSRC_PLAN_DIRECTIVES"


def _name(row: PlanRow) -> str:
    what = {GROUP: "", CONTAINER: f" runs {row.runs or 'no plan'}"}.get(row.kind, f" ({row.kind})")
    return "  " * row.depth + row.name + what


def _limit(row: PlanRow) -> str:
    if row.limit is None:
        return ABSENT
    if not row.limit_percent:
        return number(row.limit)
    above = row.limit * 100 / min(100, row.limit_percent)  # all CPUs, or the limit of what it is in
    return f"{number(row.limit)} ({row.limit_percent} % of {above:.3g})"


def _servers(row: PlanRow) -> str:
    if row.servers_limit is None:
        return "?" if row.servers_unclear else ABSENT
    is_its_own = row.servers_percent is not None and row.servers_target is not None
    return f"{row.servers_limit}" + (f" ({row.servers_percent} %)" if is_its_own else "")


def _timeout(row: PlanRow) -> str:
    if row.queue_timeout is None:
        return row.critical or ABSENT
    return " ".join(part for part in (f"{row.queue_timeout} s", row.timeout_action, row.critical) if part)


def _pool(row: PlanRow) -> str:
    if row.pool is None:
        return ABSENT
    return f"{row.pool}" + ("" if row.pool_timeout is None else f", {row.pool_timeout} s")


def _rules(row: PlanRow) -> str:
    return "; ".join(part for part in (row.switch, row.ends, row.comments) if part) or ABSENT


def _levels(row: PlanRow) -> str:
    return " ".join(f"{100 * part:.2f}" for part in row.by_level if part) or "0"


def when(at: datetime | None) -> str:
    """Return an instant with its day, in the user's zone; ``-`` for None."""
    return ABSENT if at is None else f"{at.astimezone():%m-%d %H:%M:%S}"


_PERCENT = Unit("percent", lambda value: f"{value:.2f}", 6)
_DAY = Unit("instant", when, 14, "left")


def _mapped_to(row: GroupRule) -> str:
    group = f"{row.group} of {row.container}" if row.container else row.group
    return f"{group} (not in the plan)" if row.in_plan is False else group


# fmt: off
PLAN: Table[PlanRow] = Table(
    "plan", "Plan",
    (
        Line("name", "Group or subplan", TEXT, f"{_VIEW}.GROUP_OR_SUBPLAN, indented below the plan or container it is "
             "part of.", "name", text=_name, sortable=False, width=20, most=34),
        Line("directive", "directive", TEXT,
             f"{_VIEW}.MGMT_P1 to MGMT_P8: percent of what the levels above leave, or shares where the plan divides by "
             "weight (RATIO, and plans of pluggable databases).", parts_text, width=10, most=22),
        Line("guaranteed_percent", "min %", _PERCENT,
             "Guaranteed minimum: percent of all CPU it gets when everyone is busy, with subplans multiplied in: "
             "presman 1.x's `emphasis`, summed over the levels.", lambda row: 100 * row.share),
        Line("guaranteed_cpus", "min CPU", CPUS, "The guaranteed minimum in CPUs of all instances, never above the "
             "limit.", "guaranteed", narrow=False),
        Line("entitled_cpus", "entitled", CPUS, "Entitlement now: its CPUs among the groups with demand since the last "
             "poll. - without demand.", "entitled"),
        Line("used_cpus", "use CPU", CPUS, "CPUs used since the last poll (V$RSRC_CONSUMER_GROUP.CONSUMED_CPU_TIME); "
             "of a subplan: the sum of its groups.", "used"),
        Line("cpu_bar", "CPU", CPUS, "█ CPUs used, ▒ waited for, │ entitlement now, ┊ limit.", "used", side="left",
             width=10, bar=cpu_bar, flexible=True, narrow=False),
        Line("limit_cpus", "CPU limit", CPUS, f"CPUs at {_VIEW}.UTILIZATION_LIMIT, limits above multiplied in; in "
             "brackets the directive's percent, of all CPUs or of the limit above it.", "limit", text=_limit, width=17),
        Line("px_servers_limit", "PX of target", COUNT, f"Parallel servers it may hold: {_VIEW}.PARALLEL_SERVER_LIMIT, "
             "else UTILIZATION_LIMIT, of the target; without either what its pluggable database may hold. In brackets "
             "the percent of the target. ?: what a limit of a subplan means for servers is not documented.",
             "servers_limit", text=_servers, width=12),
        Line("degree_limit", "DOP", COUNT, f"{_VIEW}.PARALLEL_DEGREE_LIMIT_P1.", "degree_limit"),
        Line("queue_timeout", "queue", TEXT, f"{_VIEW}.PARALLEL_QUEUE_TIMEOUT in seconds and PQ_TIMEOUT_ACTION (18 and "
             "later), then PARALLEL_STMT_CRITICAL.", "queue_timeout", text=_timeout, width=9, narrow=False, most=22),
        Line("session_pool", "pool", TEXT, f"{_VIEW}.ACTIVE_SESS_POOL_P1, the sessions that may work at a time, and "
             "QUEUEING_P1, their timeout.", "pool", text=_pool, side="right", width=5, narrow=False, most=10),
        Line("verdict", "state", WORD, "What happens to the group's CPU now; see the CPU tab.", "verdict",
             text=verdict_text, order=verdict_text, width=14, narrow=False, most=28,
             state=lambda row: "" if row.verdict is None else row.verdict.level),
        Line("rules", "other rules", TEXT, f"{_VIEW}: SWITCH_* and SWITCH_GROUP, idle times, undo, estimates, PGA; "
             "then the comment.", _rules, sortable=False, width=14, narrow=False, most=60),
        Line("by_level", "by level %", TEXT, "The guaranteed minimum level by level, in percent of all CPU (presman "
             "1.x's `emphasis`).", _levels, sortable=False, narrow=False, most=16),
    ),
    lambda row: (row.con_id, row.depth, row.kind, row.name),
    "No directives of this plan can be read: DBA_RSRC_PLAN_DIRECTIVES gave none, or no plan is active.",
    json="assessment.plan.lines",
)
FINDINGS: Table[Finding] = Table(
    "findings", "Findings about the plans",
    (
        Finds("severity", "Severity", WORD, "error: the plan cannot do what it says; warning: it probably does not do "
              "what is meant; note: worth knowing.", "severity", text=lambda row: row.severity.text,
              order=lambda row: row.severity.rank, width=9, state=lambda row: row.severity.level),
        Finds("rule", "Rule", TEXT, "The rule's stable name.", "rule", width=18, narrow=False, most=24),
        Finds("plan", "Plan", TEXT, "The plan it is about.", "plan", width=12, most=20),
        Finds("text", "Finding", TEXT, "What is doubtful and why; Enter shows the full text.", "text", sortable=False,
              width=30, most=150, flexible=True),
        Finds("source", "Source", TEXT, "The manual that describes what it is about.", "source", sortable=False,
              width=20, narrow=False, most=60),
    ),
    lambda row: (row.rule, row.plan, row.subject), "No finding, as far as could be seen.",
    json="assessment.findings",
)
WINDOWS: Table[PlanPeriod] = Table(
    "windows", "Plan changes",
    (
        Opened("inst_id", "Inst", NUMBER, "INST_ID.", "inst_id"),
        Opened("con_id", "Con", NUMBER, "CON_ID.", "con_id"),
        Opened("since", "since", _DAY, "V$RSRC_PLAN_HISTORY.START_TIME.", "since"),
        Opened("until", "until", _DAY, "V$RSRC_PLAN_HISTORY.END_TIME; - while it lasts.", "until"),
        Opened("plan", "Plan", TEXT, "V$RSRC_PLAN_HISTORY.NAME.", "plan", text=lambda row: row.plan or "(none)",
               width=16, flexible=True),
        Opened("set_by", "set by", TEXT, "V$RSRC_PLAN_HISTORY.WINDOW_NAME where ENABLED_BY_SCHEDULER is TRUE, else a "
               "user or parameter.", "window",
               text=lambda row: row.window or ("scheduler" if row.by_scheduler else "user, parameter"), width=20,
               state=lambda row: "warn" if row.by_scheduler else ""),
        Opened("switches_allowed", "windows", FLAG,
               "Whether scheduler windows may change it (ALLOWED_AUTOMATED_SWITCHES).", "switches_allowed",
               text=lambda row: "may" if row.switches_allowed else "may not", width=8, narrow=False),
    ),
    lambda row: (row.inst_id, row.con_id, row.since, row.plan), "V$RSRC_PLAN_HISTORY has no rows.",
    json="assessment.plan.windows",
)
MAPPINGS: Table[GroupRule] = Table(
    "mappings", "Mappings",
    (
        Rule("attribute", "Attribute", TEXT, "DBA_RSRC_GROUP_MAPPINGS.ATTRIBUTE.", "attribute", width=12, most=24),
        Rule("value", "Value", TEXT, "DBA_RSRC_GROUP_MAPPINGS.VALUE.", "value", width=14, flexible=True),
        Rule("consumer_group", "Group", TEXT,
             "DBA_RSRC_GROUP_MAPPINGS.CONSUMER_GROUP. A group the plan does not name: OTHER_GROUPS.", "group",
             text=_mapped_to, width=16, most=36, state=lambda row: "" if row.in_plan else "dim"),
    ),
    lambda row: (row.container, row.attribute, row.value), "DBA_RSRC_GROUP_MAPPINGS has no rows.",
    json="assessment.plan.mappings",
)
DIFFERENCES: Table[Difference] = Table(
    "differences", "Differences",
    (
        Differs("name", "Group or subplan", TEXT, "Where the plans differ.", "name", width=18, most=30),
        Differs("directive", "directive", TEXT, "Which of its directives.", "fact", width=16),
        Differs("before", "active plan", TEXT, "What the active plan says.", "before", sortable=False, width=20,
                most=40),
        Differs("after", "chosen plan", TEXT, "What the chosen plan says.", "after", sortable=False, width=20,
                flexible=True),
    ),
    lambda row: (row.name, row.fact), "The plans do not differ.",
)
# fmt: on
