"""Figures of a fleet: one line for each database, for the screen, `presman fleet --format` and central stores."""

from collections.abc import Mapping, Sequence

from presman.analysis.fleet import ConnectionState, Member, rank
from presman.analysis.readings.reading import SEVERITY_WORDS
from presman.base.formats import ABSENT, count, duration, number, retry
from presman.base.text import with_more
from presman.figures.figure import COUNT, CPUS, NAME, PERCENT, SECONDS, TEXT, WORD, Bar, Figure, State, Table

Database = Figure[Member]

_WORDS = {**SEVERITY_WORDS, "note": "unknown"}
_SEVERITIES: dict[str, tuple[str, State]] = {"bad": ("✕", "bad"), "warn": ("▲", "warn"), "note": ("?", "note")}


def past(row: Member, key: str) -> Sequence[float | None]:
    """Return the values of a trend column."""
    return row.past.queued if key == "queue_past" else row.past.cpu_percent


def why(row: Member) -> str:
    """Return the reason for a database's state: why no data arrives, else the worst problem, or why there is none."""
    if row.connection is ConnectionState.LATE and row.age is not None:
        late = f"no answer for {duration(row.age)}"
        return f"{late}: {row.reason}" if row.reason else late
    if row.connection is not ConnectionState.LIVE:
        if row.retry_in is None:
            return with_more(row.reason, row.outlook)
        return f"{retry(row.retry_in, wants_password=row.wants_password)}: {row.reason}"
    return "" if row.key_figures is None else row.key_figures.worst


def _severity(row: Member) -> str:
    return "" if row.key_figures is None else row.key_figures.severity


def _alerts(row: Member) -> str:
    if row.key_figures is None:
        return ABSENT
    sign, _ = _SEVERITIES.get(row.key_figures.severity, ("", ""))
    doubt = "?" if row.key_figures.unknown and row.key_figures.alerts else ""
    return f"{sign} {row.key_figures.alerts}{doubt}".strip()


def _alert_state(row: Member) -> State:
    return _SEVERITIES.get(_severity(row), ("", ""))[1]


def _cpu_bar(row: Member) -> Bar | None:
    found = row.key_figures
    if found is None or found.used is None or not found.capacity:
        return None
    # Databases differ in size: each bar is relative to the database's own CPUs, and all have the same full length.
    return Bar(100.0, 100 * found.used / found.capacity, 100 * (found.waiting or 0.0) / found.capacity)


def _cpus(row: Member) -> str:
    found = row.key_figures
    if found is None or found.used is None:
        return ABSENT
    return f"{number(found.used)}/{ABSENT if found.capacity is None else f'{found.capacity:g}'}"


def _servers(row: Member) -> str:
    found = row.key_figures
    return ABSENT if found is None else f"{count(found.servers_in_use)}/{count(found.servers_target)}"


def _servers_state(row: Member) -> State:
    found = row.key_figures
    if found is None or not found.queued or found.servers_in_use is None or not found.servers_target:
        return ""
    return "warn" if found.servers_in_use >= found.servers_target else ""


def _age(row: Member) -> str:
    """Return an age in five characters: ``0:03``, ``59:59``, ``2h00``, ``12d``."""
    if row.age is None or row.age < 3600:
        return duration(row.age)
    hours, rest = divmod(int(row.age), 3600)
    return f"{hours}h{rest // 60:02}" if hours < 24 else f"{hours // 24}d"


def _queue_state(row: Member) -> State:
    return "warn" if row.key_figures is not None and row.key_figures.queued else ""


def _weight(row: Member) -> tuple[bool, bool, int] | None:
    """Return the sort key of alerts: the worst of them, then their number."""
    found = row.key_figures
    return None if found is None else (found.severity == "bad", found.severity == "warn", found.alerts)


STATES: Mapping[ConnectionState, str] = {
    ConnectionState.LIVE: "at most two intervals old",
    ConnectionState.LATE: "older, because the database does not answer or its recorder does not write",
    ConnectionState.LOST: "no connection, tried again after 1 to 60 seconds; in a central store its recorder has "
    "stopped or lost it, or the store does not answer",
    ConnectionState.REFUSED: "not retried by itself, because wrong passwords lock accounts: Enter, then F5 retries; a "
    "locked account is retried every ten minutes, and config.ini is read for another password",
    ConnectionState.STARTING: "nothing was read yet",
    ConnectionState.STOPPED: "its recorder was stopped, or there is no more data",
}
"""What each state of a connection means."""

# fmt: off
CAPACITY = Database("capacity_cpus", "CPUs", CPUS, "The CPUs that Resource Manager manages, of all instances.",
                    "key_figures.capacity")
SERVERS_TARGET = Database("servers_target", "target", COUNT, "PARALLEL_SERVERS_TARGET of all instances.",
                          "key_figures.servers_target")
WORST_ALERT = Database("worst_alert", "worst", WORD,
                       "How severe the worst alert is: critical, warning, or ok; unknown if there is none, but not "
                       "all could be seen.",
                       lambda row: _WORDS.get(_severity(row)))
FLEET: Table[Member] = Table(
    "fleet", "Databases",
    (
        Database("target", "Database", NAME, "The section of config.ini, or what the recorder calls it.", "name",
                 width=12, most=40, vital=True),
        Database("state", "state", WORD,
                 f"How fresh its data is. {'. '.join(f'{state.text}: {means}' for state, means in STATES.items())}.",
                 "connection", text=lambda row: row.connection.text, order=rank, width=10, vital=True,
                 state=lambda row: row.connection.level),
        Database("alerts", "alerts", COUNT, "Critical alerts (✕) and warnings (▲), with the sign of the worst; ? if "
                 "not all could be seen. The rules and thresholds are those of `presman alerts`.", "key_figures.alerts",
                 text=_alerts, order=_weight, width=6, state=_alert_state),
        Database("cpu_percent", "CPU %", PERCENT,
                 "CPU used by all consumer groups since the last poll, in percent of the CPUs that Resource Manager "
                 "manages (CPU_COUNT when caged, else the host's).", "key_figures.cpu_percent", width=5),
        Database("throttled_percent", "throttled %", PERCENT, "Percent of CPU demand that had to wait since the last "
                 "poll: waited / (used + waited).", "key_figures.throttled_percent", width=11),
        Database("queued", "queue", COUNT, "Parallel statements that wait in the queue now.", "key_figures.queued",
                 width=5, state=_queue_state, vital=True),
        Database("head_waited_s", "head", SECONDS, "How long the first statement has been in the queue.",
                 "key_figures.head_waited", width=7, state=_queue_state),
        Database("servers_in_use", "servers", COUNT, "Parallel servers in use now, of PARALLEL_SERVERS_TARGET (above "
                 "it statements queue), over all instances.", "key_figures.servers_in_use", text=_servers, width=7,
                 most=12, state=_servers_state, vital=True),
        Database("age_s", "age", SECONDS, "How old the newest poll is.", "age", text=_age, width=5,
                 state=lambda row: "warn" if row.connection is ConnectionState.LATE else "dim"),
        Database("cpu_past", "past %", PERCENT, "CPU used in the last polls, in percent of the CPUs that Resource "
            "Manager manages; one scale for all databases.",
            "key_figures.cpu_percent", trend=True, sortable=False, width=7, most=24),
        Database("why", "why", TEXT,
                 "Why there is no data, else the worst alert and what is not known; where there is no alert, the views "
                 "that this is known by.",
                 why, width=24, most=60, flexible=True, narrow=False,
                 state=lambda row: _alert_state(row) if row.connection is ConnectionState.LIVE
                 else row.connection.level),
        Database("used_cpus", "CPUs █ wait ▒", CPUS, "CPUs used by all consumer groups since the last poll (█), and "
                 "waited for (▒), of those that Resource Manager manages; ▶ where demand is higher.",
                 "key_figures.used", text=_cpus, bar=_cpu_bar, side="left", narrow=False, width=17, most=25),
        Database("waited_cpus", "wait", CPUS, "CPUs that all consumer groups waited for since the last poll.",
                 "key_figures.waiting", narrow=False),
        Database("queue_past", "queued", COUNT, "Statements queued in the last polls; one scale for all databases.",
                 "key_figures.queued", trend=True, sortable=False, width=8, most=24, narrow=False),
        Database("plan", "plan", NAME, "The resource plan in force (V$RSRC_PLAN).", "key_figures.plan", width=8,
                 most=24, narrow=False),
    ),
    lambda row: row.name,
    "There is no database in this fleet.",
    json="databases",
    worst_first=True,
)
# fmt: on

_OF = {"alerts": WORST_ALERT, "servers_in_use": SERVERS_TARGET, "waited_cpus": CAPACITY}

WRITTEN: tuple[Figure[Member], ...] = tuple(
    figure
    for column in FLEET.columns
    for figure in ((column, _OF[column.key]) if column.key in _OF else (column,))
    if not figure.trend
)
"""The figures in files: each once; the number after a slash on screens is a column of its own."""

WORKED_OUT = frozenset({"cpu_percent", "throttled_percent"})
"""Figures that others already contain."""
