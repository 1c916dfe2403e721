"""Figures that need history: the queue compared with its usual length, downgrades, events."""

from collections.abc import Callable

from presman.analysis.goals import GoalReading, share
from presman.analysis.parallel.usual import Comparison
from presman.analysis.readings.statement_readings import UsualQueue
from presman.analysis.trends import database_events as kinds
from presman.analysis.trends.database_events import DatabaseEvent, kind_in_words
from presman.analysis.trends.statement_runs import StatementRun
from presman.base.formats import ABSENT, count, duration, number, percent
from presman.figures.figure import COUNT, INSTANT, NAME, PERCENT, SECONDS, SESSIONS, TEXT, TOTAL, Figure, State, Table

Aim = Figure[GoalReading]
Compared = Figure[Comparison]
Downgraded = Figure[StatementRun]


def _both(text: Callable[[UsualQueue], str]) -> Callable[[Comparison], str]:
    """Return a function that writes the values of the hour and of the plan side by side."""
    return lambda row: f"{ABSENT if row.hour is None else text(row.hour)} / {text(row.plan) if row.plan else ABSENT}"


def _hour(value: Callable[[UsualQueue], float | None]) -> Callable[[Comparison], float | None]:
    return lambda row: None if row.hour is None else value(row.hour)


def newest(usual: UsualQueue) -> str:
    """Return how many statements are queued, as a mean of the last minute; a value of this instant is marked."""
    is_instant = not usual.seconds and usual.mean_queue is not None
    return f"{number(usual.mean_queue)}{' now' * is_instant}"


def _share(usual: UsualQueue) -> float | None:
    return None if usual.queued_share is None else 100 * usual.queued_share


# fmt: off
USUAL: Table[Comparison] = Table(
    "usual", "Worse than usual?",
    (
        Compared("consumer_group", "Group", TEXT, "Consumer group.", "name", width=12, most=22),
        Compared("mean_queue", "last minute", SESSIONS, "Statements queued, the mean of the last minute by Little's "
                 "law: change of PQ_QUEUED_TIME / time; `now`: those queued at the poll, until presman has watched for "
                 "a minute. ▲: 2 or more, and more than twice that of the last hour.", "now.mean_queue",
                 text=lambda row: newest(row.now) + (" ▲" if row.worse else ""),
                 state=lambda row: "warn" if row.worse else ""),
        Compared("usual_queue", "hour / plan", SESSIONS, "The same over the last hour, as far as it is known (what "
                 "presman watched, and before that AVG_QUEUED_PARALLEL_STMTS of V$RSRCMGRMETRIC_HISTORY), and since "
                 "the plan was activated. Of an hour that begins in V$RSRCMGRMETRIC_HISTORY the other columns are not "
                 "known.", "hour.mean_queue", text=_both(lambda usual: number(usual.mean_queue)), width=13),
        Compared("queued_percent", "% queued", PERCENT, "Percent of the statements that had to queue, hour / since the "
                 "plan: PQS_QUEUED / (PQS_COMPLETED + PQ_QUEUE_TIME_OUTS + running + queued).", "hour.percent_queued",
                 text=_both(lambda usual: percent(usual.percent_queued)), width=9),
        Compared("mean_wait_s", "mean wait", SECONDS,
                 "How long each statement queued in that hour, of all that queued in it, / since the plan: change of "
                 "PQ_QUEUED_TIME / (those queued when it began + change of PQS_QUEUED).",
                 "hour.mean_wait", text=_both(lambda usual: duration(usual.mean_wait)), width=13, most=17),
        Compared("queued_share_percent", "% of time", PERCENT,
                 "Percent of their elapsed time that statements were queued, hour / since the plan: PQ_QUEUED_TIME / "
                 "(PQ_QUEUED_TIME + PQ_ACTIVE_TIME).", _hour(_share), text=_both(lambda usual: percent(_share(usual)))),
        Compared("mean_servers", "servers each", COUNT,
                 "Servers per statement, hour / since the plan: PQ_SERVERS_USED / PQS_COMPLETED. It follows the DOP.",
                 "hour.mean_servers", text=_both(lambda usual: number(usual.mean_servers)), width=13, narrow=False),
        Compared("timeouts", "timeouts", COUNT, "Statements that reached PARALLEL_QUEUE_TIMEOUT, hour / since the plan "
                 "(PQ_QUEUE_TIME_OUTS).", "hour.timeouts", text=_both(lambda usual: count(usual.timeouts)), width=9),
    ),
    lambda row: (row.con_id, row.name), "No group has had a parallel statement.",
    json="usual",
)

GOALS: Table[GoalReading] = Table(
    "goals", "Goals of service",
    (
        Aim("consumer_group", "Group", TEXT, "Consumer group that the goal is about.", "group", width=12, most=22),
        Aim("wanted_percent", "wanted", PERCENT, "Percent of its parallel statements that should start in time "
            "(goal of config.ini).", lambda row: 100 * row.goal.part),
        Aim("within_s", "within", SECONDS, "Seconds after it came in which a statement starts in time.",
            "goal.seconds"),
        Aim("state", "30 min", NAME, "met or missed over the last half hour; empty without a statement.", "state",
            state=lambda row: "warn" if row.state == "missed" else ""),
        Aim("recent_percent", "30 min %", PERCENT, "Percent that started in time in the last half hour, of those that "
            "presman saw.", lambda row: share(*row.recent)),
        Aim("recent_statements", "of", COUNT, "Statements of the last half hour that started, or waited too long.",
            lambda row: sum(row.recent)),
        Aim("day_percent", "day %", PERCENT, "The same of the last 24 hours, as far as presman watched.",
            lambda row: share(*row.day)),
        Aim("day_statements", "day", COUNT, "Statements of the last 24 hours.", lambda row: sum(row.day)),
        Aim("good_total", "in time", TOTAL, "Statements that started in time, since presman watches.", "good"),
        Aim("bad_total", "too late", TOTAL, "Statements that waited for longer, whether they have started or not, "
            "since presman watches.", "bad"),
        Aim("watched_s", "watched", SECONDS, "How long presman has watched.", "watched"),
    ),
    lambda row: str(row.goal), "config.ini has no goal.", json="goals",
)

LEDGER: Table[StatementRun] = Table(
    "ledger", "Downgrades seen",
    (
        Downgraded("at", "At", INSTANT, "When it was first seen.", "downgraded_at"),
        Downgraded("consumer_group", "Group", TEXT, "Consumer group.", "group", width=12),
        Downgraded("sql_id", "SQL_ID", NAME, "V$SESSION.SQL_ID of the coordinator.", "sql_id", width=13),
        Downgraded("degree", "DOP got/req", COUNT, "Degree it got and degree it asked for (V$PX_SESSION.DEGREE, "
                   "REQ_DEGREE).", "degree", text=lambda row: f"{count(row.degree)}/{count(row.requested)}"),
        Downgraded("downgraded_percent", "▼ %", PERCENT, "Percent of the degree that was lost.", "downgraded",
                   state=lambda _row: "warn"),
        Downgraded("user", "User", TEXT, "V$SESSION.USERNAME.", "user", width=10, flexible=True),
    ),
    lambda row: (row.inst_id, row.sid, row.serial, row.downgraded_at),
    "No downgrade was seen in what presman has read of the last hour.",
)


Event = Figure[DatabaseEvent]

_GRAVE = frozenset({kinds.ALERT_THERE, kinds.ALERT_BEGAN, kinds.ALERT_WORSE, kinds.LOST, kinds.TIMEOUT})


def _event_state(row: DatabaseEvent) -> State:
    return "warn" if row.kind in _GRAVE else ""


# fmt: off
EVENTS: Table[DatabaseEvent] = Table(
    "event_list", "Events",
    (
        Event("at", "At", INSTANT, "The first poll that showed it; before the first poll, the time in "
              "V$RSRC_PLAN_HISTORY or V$INSTANCE.STARTUP_TIME. The newest is on top.", "at",
              text=lambda row: row.at.astimezone().strftime("%m-%d %H:%M:%S"), width=14),
        Event("event", "Event", TEXT, "The kind of event: a queue began or ended, a plan, directive, parameter, "
              "instance or CPU state changed, a downgrade, a timeout of a queue or a session pool, an alert that "
              "began, grew worse, got better or ended, a connection that came back, a time without polls, a clock that "
              "went back.", "kind", text=lambda row: kind_in_words(row.kind), width=17, state=_event_state),
        Event("consumer_group", "Group", TEXT, "Consumer group it is about.", "group", width=12, most=22, narrow=False),
        Event("what", "What", TEXT, "What happened, in words.", "text", width=30, flexible=True, vital=True),
    ),
    tuple, "No event was seen.",
    order="at", descending=True,
)
