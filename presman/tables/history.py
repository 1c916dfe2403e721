"""Tables of what only shows over time: the queue compared with usual, and the downgrades seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from presman.analysis.reading import Usual
from presman.analysis.usual import Comparison
from presman.columns import Column, State, Table
from presman.formats import ABSENT, clock, count, duration, number, percent
from presman.watch.ledger import Downgrade

Compared = Column[Comparison]
Downgraded = Column[Downgrade]


def _group(row: Comparison) -> Hashable:
    return row.con_id, row.name


def _both(text: Callable[[Usual], str]) -> Callable[[Comparison], str]:
    """Return what shows the hour and the plan side by side."""
    return lambda row: f"{ABSENT if row.hour is None else text(row.hour)} / {text(row.plan) if row.plan else ABSENT}"


def _hour(value: Callable[[Usual], float | None]) -> Callable[[Comparison], float | None]:
    return lambda row: None if row.hour is None else value(row.hour)


def _state(row: Comparison) -> State:
    return "bad" if row.worse else ""


# fmt: off
USUAL: Table[Comparison] = Table(
    "usual", "Worse than usual?",
    (
        Compared("group", "Group", 12, lambda row: row.name, "Consumer group.", sort=lambda row: row.name, most=22),
        Compared("now", "queue now", 9,
                 lambda row: number(row.now.mean_queue) + (" ▲" if row.worse else ""),
                 "Statements queued, the mean of the last minute by Little's law: change of PQ_QUEUED_TIME / time; "
                 "those queued at this instant until a minute was watched. ▲: more than twice that of the last hour.",
                 sort=lambda row: row.now.mean_queue, align="right", state=_state),
        Compared("queue", "hour / plan", 13, _both(lambda usual: number(usual.mean_queue)),
                 "The same over the last hour (what was watched of it, else AVG_QUEUED_PARALLEL_STMTS of "
                 "V$RSRCMGRMETRIC_HISTORY as it was read at first) and since the plan was activated.",
                 sort=_hour(lambda usual: usual.mean_queue), align="right"),
        Compared("queued", "% queued", 9, _both(lambda usual: percent(usual.percent_queued)),
                 "Percent of the statements that came which had to queue, hour / since the plan: PQS_QUEUED / "
                 "(PQS_COMPLETED + PQ_QUEUE_TIME_OUTS + running + queued).",
                 sort=_hour(lambda usual: usual.percent_queued), align="right"),
        Compared("wait", "mean wait", 13, _both(lambda usual: duration(usual.mean_wait)),
                 "Mean wait of those that had to queue, hour / since the plan: PQ_QUEUED_TIME / PQS_QUEUED.",
                 sort=_hour(lambda usual: usual.mean_wait), align="right"),
        Compared("share", "% of life", 9,
                 _both(lambda usual: percent(None if usual.queued_share is None else 100 * usual.queued_share)),
                 "Percent of their life that statements spent in the queue, hour / since the plan: PQ_QUEUED_TIME / "
                 "(PQ_QUEUED_TIME + PQ_ACTIVE_TIME).", sort=_hour(lambda usual: usual.queued_share), align="right"),
        Compared("servers", "servers each", 13, _both(lambda usual: number(usual.mean_servers)),
                 "Servers per statement, hour / since the plan: PQ_SERVERS_USED / PQS_COMPLETED. It jumps with DOP.",
                 sort=_hour(lambda usual: usual.mean_servers), align="right", narrow=False),
        Compared("timeouts", "timeouts", 9, _both(lambda usual: count(usual.timeouts)),
                 "Statements that waited for longer than PARALLEL_QUEUE_TIMEOUT, hour / since the plan "
                 "(PQ_QUEUE_TIME_OUTS).", sort=_hour(lambda usual: usual.timeouts), align="right"),
    ),
    _group, "No group has had a parallel statement.",
)

LEDGER: Table[Downgrade] = Table(
    "ledger", "Downgrades seen",
    (
        Downgraded("at", "At", 8, lambda row: clock(row.at), "When it was first seen.", sort=lambda row: row.at),
        Downgraded("group", "Group", 12, lambda row: row.group, "Consumer group.", sort=lambda row: row.group),
        Downgraded("sql_id", "SQL_ID", 13, lambda row: row.sql_id or ABSENT, "V$SESSION.SQL_ID of the coordinator.",
                   sort=lambda row: row.sql_id),
        Downgraded("degree", "DOP got/req", 11, lambda row: f"{count(row.degree)}/{count(row.requested)}",
                   "Degree it got and degree it asked for (V$PX_SESSION.DEGREE, REQ_DEGREE).",
                   sort=lambda row: row.degree, align="right"),
        Downgraded("percent", "▼ %", 4, lambda row: percent(row.percent), "Percent of the degree that was lost.",
                   sort=lambda row: row.percent, align="right", state=lambda _row: "warn"),
        Downgraded("user", "User", 10, lambda row: row.user, "V$SESSION.USERNAME.", sort=lambda row: row.user,
                   flexible=True),
    ),
    tuple, "No downgrade was seen since presman began to watch.",
)
# fmt: on
