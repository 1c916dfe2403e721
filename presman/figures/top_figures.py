"""Figures of the tab Top: active sessions by wait class, the busiest statements, blocked and blocking sessions."""

from collections.abc import Hashable
from typing import NamedTuple

from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.session_list import Blocking
from presman.analysis.trends.sql_minutes import SqlActivity
from presman.base.formats import ABSENT, duration
from presman.base.text import one_line
from presman.figures.figure import COUNT, NAME, PERCENT, SECONDS, SESSIONS, TEXT, Figure, Table
from presman.rows.session_state import comma_serial

_SHOWN_SQL = 200
_SAMPLED = "Sampled by presman from V$SESSION at each poll; a sample stands for the time since the one before."


class ClassActivity(NamedTuple):
    """A wait class: its active sessions now and on average over a minute and the window; its `seconds` in the window.

    `share` is its part of those of all classes (0..1).
    """

    name: str
    now: int | None
    minute: float | None
    window: float | None
    seconds: float | None
    share: float | None


class TopStatement(NamedTuple):
    """A statement over the window, with the servers it holds `now` and its text.

    `now` is None if V$PX_SESSION does not show it, `no_text` is why the text is missing.
    """

    activity: SqlActivity
    now: int | None
    sql_text: str
    no_text: str = ""


ByClass = Figure[ClassActivity]
Top = Figure[TopStatement]
Holds = Figure[Blocking]


def _of(name: str) -> Figure[Blocking]:
    """Return a figure of a blocked or blocking session, as in the table of sessions."""
    from presman.figures.session_figures import SESSIONS as ALL

    figure: Figure[SessionReading] = ALL.column(name)
    return Holds(
        figure.key,
        figure.head,
        figure.unit,
        figure.help,
        lambda row: figure.value(row.session) if row.session else None,
        text=lambda row: figure.show(row.session) if row.session else ABSENT,
        width=figure.width,
        most=figure.most,
        narrow=figure.narrow,
        sortable=False,
    )


def _tree(row: Blocking) -> str:
    who = row.session
    name = f"{who.inst_id}:{who.sid}{comma_serial(who.serial)}" if who else f"{row.name} (not seen)"
    return ("  " * (row.depth - 1) + "└ " if row.depth else "") + name


def _doing(row: Blocking) -> str:
    who = row.session
    if who is None:
        return "not a user session: a background process, or gone"
    if who.status == "INACTIVE":
        idle = "idle" if who.last_call is None else f"idle for {duration(who.last_call)}"
        return f"{idle}, and holds what others wait for" if row.below else "idle"
    return who.event or ABSENT


def _statement(row: TopStatement) -> Hashable:
    return row.activity.con_id, row.activity.sql_id


# fmt: off
CLASSES_TABLE: Table[ClassActivity] = Table(
    "wait_classes", "Active sessions by wait class",
    (
        ByClass("wait_class", "Wait class", NAME, "V$SESSION.WAIT_CLASS; sessions that wait for nothing are on CPU (or "
                "in the host's run queue). Scheduler is Resource Manager: sessions throttled, queued, or waiting for "
                "the active session pool.", "name", width=14),
        ByClass("active_now", "now", COUNT, "Active user sessions in it now (V$SESSION). At the poll.", "now"),
        ByClass("active_minute", "1 min", SESSIONS, f"Average active sessions over the last minute. {_SAMPLED}",
                "minute"),
        ByClass("active_window", "window", SESSIONS, f"Average active sessions over the window of the charts (w). "
                f"{_SAMPLED}", "window"),
        ByClass("db_time_s", "DB time", SECONDS, "Time that sessions spent in it in the window: average x time "
            f"watched, an estimate of DB time. {_SAMPLED}", "seconds", narrow=False),
        ByClass("share_percent", "%", PERCENT, "Its part of the DB time of all classes in the window.",
                lambda row: None if row.share is None else 100 * row.share, width=4),
    ),
    lambda row: row.name, "No session was active.",
)

_COLUMNS: tuple[Figure[TopStatement], ...] = (
    Top("sql_id", "SQL_ID", NAME, "V$SESSION.SQL_ID.", "activity.sql_id", width=13),
    Top("avg_on_cpu", "on CPU", SESSIONS, "Average sessions on CPU (or in the run queue) in the window, its parallel "
        f"servers' too. {_SAMPLED}", "activity.on_cpu"),
    Top("avg_waiting", "waiting", SESSIONS, "Average sessions that waited, idle waits left out, in the window. "
        f"{_SAMPLED}", "activity.waiting", width=7),
    Top("avg_servers", "servers", SESSIONS, "Average parallel servers it held in the window (V$PX_SESSION at each "
        "poll).", "activity.servers", width=7),
    Top("servers_now", "now", COUNT, "Parallel servers it holds now (V$PX_SESSION). At the poll.", "now"),
    Top("consumer_group", "Group", TEXT, "V$SESSION.RESOURCE_CONSUMER_GROUP of the first session seen.",
        "activity.group", width=12, most=22),
    Top("user", "User", TEXT, "V$SESSION.USERNAME of the first session seen.", "activity.user", width=10, most=20),
    Top("sql_text", "SQL", NAME, "V$SQL.SQL_FULLTEXT on one line; in brackets the reason if there is none. The texts "
        "of the busiest statements are read once a minute, twenty at a time, and kept.", "sql_text",
        text=lambda row: one_line(row.sql_text, _SHOWN_SQL) or row.no_text or ABSENT, width=12, flexible=True),
)

TOP_BY_CPU: Table[TopStatement] = Table(
    "top_by_cpu", "Top SQL by CPU", _COLUMNS, _statement, "No statement was active.",
    order="avg_on_cpu", descending=True,
)
TOP_OF_SCOPE: Table[TopStatement] = Table(
    "top_of_scope", "Top SQL", _COLUMNS, _statement, "No statement was active.", order="avg_on_cpu", descending=True,
)
TOP_BY_SERVERS: Table[TopStatement] = Table(
    "top_by_servers", "Top SQL by servers", _COLUMNS, _statement, "No statement held parallel servers.",
    order="avg_servers", descending=True,
)

BLOCKERS: Table[Blocking] = Table(
    "blockers", "Blocked sessions",
    (
        Holds("session", "Session", NAME, "inst:sid,serial. Below each session (└) those that wait for it "
              "(V$SESSION.BLOCKING_INSTANCE, BLOCKING_SESSION while STATE is WAITING). At the poll.", _tree, width=18,
              most=30, sortable=False, state=lambda row: "bad" if not row.depth else ""),
        Holds("holds_up", "holds up", COUNT, "Sessions that wait for it, directly or not.",
              lambda row: row.below or None, sortable=False),
        _of("user"),
        Holds("does", "does", NAME, "What it waits for (V$SESSION.EVENT), or how long it has been INACTIVE "
              "(LAST_CALL_ET).", _doing, width=20, flexible=True, sortable=False),
        _of("waited_s"),
        _of("sql_id"),
        _of("consumer_group"),
        _of("program"),
    ),
    lambda row: row.name, "No session waits for another one.",
)
# fmt: on
