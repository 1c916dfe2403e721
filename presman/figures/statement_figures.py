"""Figures of parallel statements: of those in the queue, and of those that hold servers."""

from collections.abc import Callable, Hashable, Sequence

from presman.analysis.advice.unblock import unblock_of
from presman.analysis.collapsed_rows import CollapsedStatements, kind_of
from presman.analysis.readings.forecast_readings import LEAST_JUDGED
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import (
    ParallelStatement,
    QueuedStatement,
    QueueHead,
    RunningStatement,
    StartForecast,
    group_title,
)
from presman.base.formats import ABSENT, clock, count, duration
from presman.base.text import one_line
from presman.figures.figure import COUNT, NAME, NUMBER, PERCENT, SECONDS, TEXT, WORD, Bar, Figure, Figures, State, Table
from presman.rows.session_state import NEXT_IN_LINE, comma_serial

Queued = Figure[QueuedStatement]
Running = Figure[RunningStatement]

_SHOWN_SQL = 400


def statement_identity(row: ParallelStatement) -> Hashable:
    """Return the identity of a statement across polls: session, SQL and instance; of folded ones, their common kind."""
    if isinstance(row, CollapsedStatements):
        return kind_of(row)
    return row.inst_id, row.sid, row.serial, row.sql_id


def running_state(row: RunningStatement) -> str:
    """Return the notes on a running statement, problems first."""
    if row.orphaned:
        return f"✕ gone with inst {row.inst_id}"
    if row.status == "KILLED":
        return "✕ killed, being cleaned up"
    kind = f"{row.kind.name}, " if row.kind is not None else ""
    if row.idle is not None:
        return f"○ {kind}{'sniped' if row.status == 'SNIPED' else 'idle holder'} {row.idle_time}"
    unseen = "just ended, or idle" if row.status == "INACTIVE" else "coordinator not visible"
    doing = kind + (one_line(row.event, 40) or unseen)
    if row.queued:
        doing = f"{kind}queued with another statement"
    if row.blocker:
        doing = f"{doing}, blocked by {row.blocker}"
    if row.downgraded > 0:
        return f"▼ downgraded {row.downgraded:.0f} %, {doing}"
    return f"{'●' if row.event else '?'} {doing}"


def _running_color(row: RunningStatement) -> State:
    is_hampered = row.downgraded > 0 or row.blocker or row.orphaned
    return "bad" if row.idle is not None else "warn" if is_hampered else ""


def _degree_why(row: ParallelStatement) -> str:
    return row.dop.why or ABSENT


def timeout_source(row: QueuedStatement) -> str:
    """Return in brackets the older answer of a view that shows a statement's timeout; "" if the timeout is current."""
    return f" (by {row.timeout_by})" if row.timeout_by else ""


_TIMEOUT_GLYPHS = {"RUN": "▶", "CANCEL": "✕"}


def _all_of(row: QueuedStatement) -> Sequence[QueuedStatement]:
    """Return the statements that a row of the queue represents."""
    return row.same if isinstance(row, CollapsedStatements) else (row,)


def _time_of(name: str) -> Callable[[QueuedStatement], str]:
    """Return a function that writes a time of a row; for folded statements, the range of the known times."""

    def shown(row: QueuedStatement) -> str:
        found = [getattr(each, name) for each in _all_of(row)]
        known = [each for each in found if each is not None]
        ends = dict.fromkeys((duration(min(known)), duration(max(known)))) if known else (ABSENT,)
        return "-".join(ends) + "?" * (0 < len(known) < len(found))

    return shown


def _shared(text: Callable[[QueuedStatement], str], several: str = "several") -> Callable[[QueuedStatement], str]:
    """Return a function that writes a text of a row; for folded statements the text they all share, else `several`."""

    def shown(row: QueuedStatement) -> str:
        first, *others = dict.fromkeys(map(text, _all_of(row)))
        return several if others else first

    return shown


def _timeout(row: QueuedStatement) -> str:
    if row.timeout_left is None:
        return "?" if row.no_timeout else ABSENT
    return f"{_time_of('timeout_left')(row)} {_TIMEOUT_GLYPHS.get(row.timeout_action, '?')}"


def _timeout_state(row: QueuedStatement) -> State:
    near = row.timeout_left is not None and row.timeout_left < 60
    return "" if not near or row.timeout_action == "RUN" else "bad"


def when(starts: StartForecast | None) -> str:
    """Return when a queued statement should start, in a word."""
    return ABSENT if starts is None else "timeout" if starts.timeout else duration(starts.median)


def between(starts: StartForecast | None) -> str:
    """Return the earliest and latest expected start, which holds in 8 cases of 10."""
    return ABSENT if starts is None or starts.low is None else f"{duration(starts.low)}-{duration(starts.high)}"


def starts_in(row: QueuedStatement) -> str:
    """Return the earliest and latest expected start, as one time if both are shown the same.

    For folded statements, the earliest and latest of all: the latest is ? if one of them has none.
    """
    if isinstance(row, CollapsedStatements):
        found = [each.starts for each in row.same]
        lows = [each.low for each in found if each is not None and each.low is not None]
        highs = [each.high for each in found if each is not None and each.high is not None]
        alike = set(map(_range, set(found)))
        if len(alike) == 1 or row.starts is None or row.starts.low is None:
            return alike.pop() if len(alike) == 1 else ABSENT
        return f"{duration(min(lows))}-{duration(max(highs)) if len(highs) == len(found) else '?'}"
    return _range(row.starts)


def _range(starts: StartForecast | None) -> str:
    low, _, high = between(starts).partition("-")
    return when(starts) if low in {high, ""} else f"{low}-{high}"


def forecast_record(reading: Reading, *, since: bool = False) -> str:
    """Return in words how good the start forecasts have been, and `since` when; "" if none has been judged yet."""
    behind = reading.forecast
    if behind is None or not behind.record.judged:
        return ""
    record = behind.record
    again = ", calculated again from the recording" if behind.worked_out_again else ""
    when = f", since {clock(behind.judged_since)}" if since and behind.judged_since is not None else ""
    if record.judged < LEAST_JUDGED:
        return f"{record.in_words()}: too few to judge forecasts by{again}{when}"
    return f"{record.in_words()}, half within {duration(record.median_error)} of its middle{again}{when}"


NO_START = "starts in: no forecast, "
"""The beginning of the note on a queue without a forecast; the ends of running statements may still be known."""


def why_no_forecast(reading: Reading) -> str:
    """Return why no start in the queue is forecast; "" if one is, if there is no forecaster, or if reasons differ."""
    reasons = {each.starts.why_none for each in reading.queue if each.starts is not None}
    return f"{NO_START}{reasons.pop()}" if len(reasons) == 1 and reasons != {""} else ""


def queue_position(row: QueuedStatement, reading: Reading) -> str:
    """Return a statement's position in its queue; the order of those that have waited equally long is not known."""
    queue = (each for each in reading.queue if (each.con_id, each.group) == (row.con_id, row.group))
    alike = [each.position for each in queue if each.waits_like(row)]
    if len(alike) < 2 or row.event == NEXT_IN_LINE:
        return f"number {row.position}"
    if min(alike) == 1:
        return f"one of the first {len(alike)}"
    return f"one of the numbers {min(alike)} to {max(alike)}, which have waited alike,"


def in_view(reading: Reading) -> str:
    """Return the words for a position or a head that are those of the queue in view, "" if all of it is in view."""
    return " in view" if reading.why_unknown("queue") else ""


def first_of_queue(row: QueuedStatement, head: QueueHead, reading: Reading) -> str:
    """Return how the head of its queue relates to a statement, "" if it is the head itself.

    A head that has waited equally long may start before it or after it.
    """
    if row.executing() == head.statement.executing():
        return ""
    return "another of them" if row.waits_like(head.statement) else f"the head{in_view(reading)}"


def starts_in_words(row: QueuedStatement, reading: Reading) -> str:
    """Return when a queued statement should start, as a sentence; "" without a forecaster.

    "" also without a forecast of a head that should start when running statements end: the ways to start it say so.
    """
    starts = row.starts
    if starts is None:
        return ""
    if starts.timeout:
        return "It should reach its queue timeout before it starts."
    if starts.median is None:
        found = unblock_of(row, reading)
        if found is not None and found.wait is not None and found.head.statement.executing() == row.executing():
            return ""
        return f"There is no forecast of its start: {starts.why_none}."
    between = f"between {duration(starts.low)} and {duration(starts.high)} in 8 cases of 10"
    return f"It should start in {duration(starts.median)}, {between}."


def no_forecast(row: QueuedStatement) -> str:
    """Return why a statement has no forecast: `timeout`, or the fact that is not known; "" if it has one."""
    if row.starts is None:
        return ""
    return "timeout" if row.starts.timeout else row.starts.why_none


def stands_for(row: QueuedStatement) -> int:
    """Return how many statements a row of the queue represents."""
    return len(_all_of(row))


def _of_several(row: QueuedStatement, words: str, more: int = 0) -> str:
    """Return `words` with the number of statements that a row represents, and `more`; "" for a single one."""
    return words.format(len(row.same) + more) if isinstance(row, CollapsedStatements) else ""


def _wanted(row: QueuedStatement) -> str:
    return str(row.wants.times(stands_for(row))) if row.wants else ABSENT


def _coordinator(row: ParallelStatement) -> str:
    return f"{row.inst_id}:{row.sid}{comma_serial(row.serial)}"


def _session_order(row: ParallelStatement) -> tuple[int, int]:
    return row.inst_id, row.sid


def _program(row: QueuedStatement) -> str:
    return row.module or row.program


def _text(row: ParallelStatement) -> str:
    return one_line(row.sql_text, _SHOWN_SQL) or row.no_text or ABSENT


# fmt: off
QUEUED: Figures[QueuedStatement] = Figures(
    Queued("inst_id", "Inst", NUMBER, "Instance of the query coordinator; none where folded statements differ.",
           "inst_id", text=_shared(lambda row: str(row.inst_id), ABSENT), narrow=False),
    Queued("sid", "SID", NUMBER, "V$SESSION.SID of the query coordinator.", "sid"),
    Queued("serial", "Serial", NUMBER, "V$SESSION.SERIAL# of the query coordinator.", "serial"),
    Queued("consumer_group", "Group", TEXT, "Consumer group of the session (V$RSRC_SESSION_INFO, "
           "V$SESSION.RESOURCE_CONSUMER_GROUP).", "group", width=12, most=22, text=group_title, vital=True),
    Queued("position", "#", NUMBER, "Place in the queue of its group, 1 is the head; the plan decides between groups. "
           "From V$SESSION: the longest waiting is first. At the poll.", "position",
           order=lambda row: (row.position, row.group), width=3, state=lambda row: "warn" if row.position == 1 else ""),
    Queued("user", "User", TEXT, "V$SESSION.USERNAME.", "user", width=12, narrow=False),
    Queued("sql_id", "SQL_ID", NAME, "V$SESSION.SQL_ID. `x9`: nine identical statements of one user and group, in the "
           "place of the first; times are from the least to the most of them, ? where some have none; u unfolds them.",
           "sql_id", text=lambda row: f"{row.sql_id or ABSENT}{_of_several(row, ' x{}')}", width=13, most=18,
           vital=True),
    Queued("child_number", "Child", NUMBER, "V$SESSION.SQL_CHILD_NUMBER.", "child"),
    Queued("waited_s", "Waited", SECONDS, "How long it has been queued: the age of the wait `resmgr:pq queued` in "
           "V$SESSION, or V$RSRC_SESSION_INFO.CURRENT_PQ_QUEUED_TIME where that is longer. At the poll.", "waited",
           text=_time_of("waited"), most=11, vital=True),
    Queued("starts_in_s", "Starts in", SECONDS, "How soon it should start, as a range that holds in 8 cases of 10. "
           "presman plays 40 possible courses of the queue by its rules (target, limits, order of the plan). They "
           "begin with the statements that run now, and go by how long such statements last (V$SESSION_LONGOPS, those "
           "of the same SQL_ID that ended, else of its group, else all) and by what came in the last hour. The "
           "statement's page has the middle, too. `timeout`: it reaches its timeout first. Empty where it is not "
           "known; the page says why. Of V$SESSION, V$PX_SESSION. At the poll.",
           "starts.median", text=starts_in, width=9, most=15, narrow=False),
    Queued("starts_low_s", "at least", SECONDS, "The earliest start: in 8 cases of 10 it starts between this and "
           "the latest.", "starts.low"),
    Queued("starts_high_s", "at most", SECONDS, "The latest start: in 8 cases of 10 it starts between the earliest "
           "and this.", "starts.high"),
    Queued("no_forecast", "no forecast because", NAME, "Why there is no such figure: `timeout` where it reaches its "
           "timeout first, else what is not known. Empty where there is one.", no_forecast),
    Queued("timeout_left_s", "Timeout in", SECONDS, "Time left to PARALLEL_QUEUE_TIMEOUT of its group's directive. "
           "Then: ✕ it ends with ORA-07454 (always before 18, later with PQ_TIMEOUT_ACTION CANCEL), ▶ it starts at "
           "once and may be downgraded (RUN), ? which of the two is not known. Empty without a timeout; ? alone: "
           "whether it has one is not known.",
           "timeout_left", text=_timeout, state=_timeout_state, most=17, narrow=False),
    Queued("timeout_action", "then", NAME, "What happens at the timeout: CANCEL or RUN (PQ_TIMEOUT_ACTION). Empty "
           "where it was not read.", "timeout_action"),
    Queued("requested_dop", "DOP req", COUNT, "Degree of parallelism asked for (V$RSRC_SESSION_INFO.DOP).",
           "requested"),
    Queued("dop", "DOP req/ch", COUNT, "Degree of parallelism asked for (V$RSRC_SESSION_INFO.DOP) and the one the "
           "optimizer chose (V$SQL_PLAN.OTHER_XML, `dop`): requested/chosen.", "dop.degree",
           text=lambda row: f"{count(row.requested)}/{count(row.dop.degree)}",
           order=lambda row: row.dop.degree if row.dop.degree is not None else row.requested),
    Queued("dop_reason", "DOP reason", NAME, "Why the optimizer chose that degree (V$SQL_PLAN.OTHER_XML, "
           "`dop_reason`), in Oracle's words; without one screens have what automatic DOP derived from CPU and I/O.",
           "dop.reason", text=_shared(_degree_why), order=lambda row: row.dop.why, width=22, narrow=False),
    Queued("queuing_reason", "queuing reason", NAME, "Why it queues (V$SQL_PLAN.OTHER_XML, `queuing_reason`), in "
           "Oracle's words.", "dop.queuing_reason"),
    Queued("servers_low", "at least", COUNT, "Parallel servers it will take, at least.", "wants.low"),
    Queued("servers_high", "Servers", COUNT, "Parallel servers it will take: DOP x server sets (2 with a producer and "
           "a consumer, else 1), from the first of these that is known: V$RSRC_SESSION_INFO.PQ_SERVERS, where it is "
           "the DOP or up to four times it; a running execution of the same cursor (V$PX_SESSION); its plan "
           "(V$SQL_PLAN.OBJECT_NODE: the data flow tree with most sets). A range where there is one set (it is not "
           "documented what the queue counts then) or where the sets are not known; ~ is the mean of its group's queue "
           "in the last minute (V$RSRCMGRMETRIC), where no DOP is known. Folded statements: the sum.", "wants.high",
           text=_wanted, order=lambda row: row.wants.high * stands_for(row) if row.wants else None, vital=True),
    Queued("servers_source", "from", WORD, "Where that number comes from: PQ_SERVERS, one that runs, its plan, its DOP "
           "alone (one or two sets), or the mean of its group's queue.", "wants.source"),
    Queued("reason", "Why", WORD, "Why it waits, one of never_fits, group_limit, container_limit, target, "
           "behind_in_queue, other_queue, order_of_plan, quiesced, unknown (V$SESSION, V$RSRC_PLAN, "
           "V$RSRC_CONSUMER_GROUP, directives of the plan).", "reason"),
    Queued("event", "Wait event", TEXT, "V$SESSION.EVENT.", "event"),
    Queued("program", "Program", TEXT, "V$SESSION.PROGRAM.", "program"),
    Queued("module", "Module", TEXT, "V$SESSION.MODULE.", "module"),
    Queued("service", "Service", TEXT, "V$SESSION.SERVICE_NAME.", "service"),
    Queued("machine", "Machine", TEXT, "V$SESSION.MACHINE.", "machine"),
    Queued("client", "Module", TEXT, "V$SESSION.MODULE, or PROGRAM where it is empty.", _program,
           text=_shared(_program), width=18, narrow=False),
    Queued("session", "QC inst:sid,serial", TEXT, "Instance, SID and SERIAL# of the query coordinator (V$SESSION). "
           "`+8`: of the first of nine.", _coordinator,
           text=lambda row: f"{_coordinator(row)}{_of_several(row, ' +{}', -1)}", order=_session_order, width=18,
           narrow=False),
    Queued("sql_text", "SQL", NAME, "V$SQL.SQL_FULLTEXT; on one line.", "sql_text", text=_text, width=12,
           flexible=True),
)
"""All figures of a statement that waits."""

HOLDERS: Figures[RunningStatement] = Figures(
    Running("session", "QC inst:sid,serial", TEXT, "Instance, SID and SERIAL# of the query coordinator (V$PX_SESSION, "
            "V$SESSION).", _coordinator, order=_session_order, width=18, narrow=False),
    Running("sql_id", "SQL_ID", NAME, "The statement the servers are held for: V$SESSION.SQL_ID of a server, else of "
            "the coordinator, or its PREV_SQL_ID if it executes nothing.", "sql_id", width=13, vital=True),
    Running("consumer_group", "Group", TEXT, "Consumer group of the coordinator (V$RSRC_SESSION_INFO, "
            "V$SESSION.RESOURCE_CONSUMER_GROUP).", "group", width=12, most=22, text=group_title, vital=True),
    Running("user", "User", TEXT, "V$SESSION.USERNAME of the coordinator.", "user", width=12, narrow=False),
    Running("servers", "Servers", COUNT, "Parallel servers it holds now, all instances (rows of V$PX_SESSION). The "
            "longest bar is the largest holder.", "servers", text=lambda row: str(row.servers), width=9,
            bar=lambda row: Bar(0.0, row.servers), vital=True),
    Running("degree", "DOP got/req", COUNT, "Degree it got and degree it asked for (V$PX_SESSION.DEGREE, REQ_DEGREE). "
            "▼: it got less: downgraded.", "degree",
            text=lambda row: f"{count(row.degree)}/{count(row.requested)}{' ▼' * (row.downgraded > 0)}",
            state=lambda row: "warn" if row.downgraded > 0 else ""),
    Running("elapsed_s", "Elapsed", SECONDS, "Since the execution began (V$SESSION.SQL_EXEC_START). Screens leave "
            "out what an older answer says.", "elapsed",
            text=lambda row: ABSENT if row.seen_ago else duration(row.elapsed)),
    Running("state", "State", TEXT, "What it does now. ○ idle holder: the coordinator is INACTIVE (LAST_CALL_ET shown) "
            "while its cursor keeps the servers, or SNIPED; ✕ its session was killed and is being cleaned up, or it is "
            "gone with its instance and these servers are not freed yet; ▼ downgraded: percent of the degree lost; ● "
            "what the coordinator waits for (V$SESSION.EVENT), and which session blocks it or one of its servers "
            "(FINAL_BLOCKING_SESSION); ? no view shows it. Before it SMON, RMAN or SYS, where it is not a user's "
            "statement.", running_state, order=lambda row: (row.idle is None, -(row.idle or 0), row.event), width=19,
            most=44, state=_running_color, vital=True),
    Running("progress_percent", "Progress", PERCENT, "Progress of the operation at work (V$SESSION_LONGOPS: SOFAR / "
            "TOTALWORK over all its processes), read once a minute, and at each poll while a statement is queued. A "
            "statement has several operations, so this is not the progress of the whole.",
            lambda row: None if row.progress is None else 100 * row.progress,
            text=lambda row: ABSENT if row.progress is None else f"{100 * row.progress:.0f} %", narrow=False),
    Running("servers_by_instance", "by instance", TEXT, "Servers it holds per instance, as instance:servers "
            "(V$PX_SESSION.INST_ID).",
            lambda row: " ".join(f"{inst}:{n}" for inst, n in sorted(row.servers_by_instance.items())), sortable=False,
            width=12, narrow=False),
    Running("dop_reason", "DOP reason", NAME, "Why the optimizer chose its degree (V$SQL_PLAN.OTHER_XML, "
            "`dop_reason`), in Oracle's words; without one screens have what automatic DOP derived from CPU and I/O.",
            "dop.reason", text=_degree_why, order=lambda row: row.dop.why, width=20, narrow=False),
    Running("sql_text", "SQL", NAME, "V$SQL.SQL_FULLTEXT; on one line.", "sql_text", text=_text, width=10,
            flexible=True, narrow=False),
)
"""All figures of a statement that holds servers."""
# fmt: on

QUEUE: Table[QueuedStatement] = Table(
    "queue",
    "Queued",
    QUEUED.pick(
        "position consumer_group inst_id waited_s starts_in_s timeout_left_s sql_id user dop dop_reason "
        "servers_high client session sql_text"
    ),
    statement_identity,
    "Nothing is queued.",
    json="queue",
    worst_first=True,
    stands_for=stands_for,
)

IN_QUEUE = QUEUED.pick(
    "inst_id sid serial consumer_group position user sql_id child_number waited_s timeout_left_s timeout_action "
    "requested_dop dop dop_reason queuing_reason servers_low servers_high servers_source event program module service "
    "machine sql_text starts_in_s starts_low_s starts_high_s no_forecast reason"
)
"""The figures of a waiting statement in files."""

RUNNING: Table[RunningStatement] = Table(
    "running",
    "Running",
    HOLDERS.pick(
        "sql_id consumer_group user session servers servers_by_instance degree dop_reason elapsed_s progress_percent "
        "state sql_text"
    ),
    statement_identity,
    "No parallel statement runs.",
    json="running",
)
