"""The page of a row: its session, group, reasons, degree and text. Pure: lines from a row and a reading."""

from collections.abc import Iterable
from typing import Any

from presman.analysis.alerts.queue_alerts import head_sentence
from presman.analysis.collapsed_rows import collapse_sessions, collapsed_servers
from presman.analysis.facts.cursor_facts import hints
from presman.analysis.groups.verdicts import in_words
from presman.analysis.parallel.counted_servers import holdings
from presman.analysis.readings import statement_readings
from presman.analysis.readings.group_readings import GroupReading, Verdict, verdict_words
from presman.analysis.readings.reading import InstanceReading, Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.wait_readings import WaitReading
from presman.base.formats import ABSENT, as_of, count, counted, duration, many, number, percent, spelled, throughput
from presman.figures.drawing.lines import Line
from presman.figures.figure import Table
from presman.figures.histogram_figures import SpanFacts
from presman.figures.session_figures import SESSIONS, why_in_group
from presman.figures.statement_figures import (
    QUEUE,
    first_of_queue,
    in_view,
    queue_position,
    starts_in_words,
    timeout_source,
)
from presman.rows.session_state import ON_CPU, comma_serial
from presman.tui.pages.detail_lines import BLANK, fact, section, sentence, title, unblocking

_LABEL = 16


def page(row: Any, table: Table[Any], reading: Reading) -> list[Line]:
    """Return the page of any row."""
    if isinstance(row, statement_readings.QueuedStatement):
        return queued(row, reading)
    if isinstance(row, statement_readings.RunningStatement):
        return running(row, reading)
    if isinstance(row, SessionReading):
        return session(row, reading)
    return group(row, reading) if isinstance(row, GroupReading) else plain_row(row, table)


def again(row: Any, table: Table[Any], reading: Reading) -> Any | None:
    """Return the same row in a later reading, None if it is gone. A queued statement may now be running.

    Rows that are not part of a reading (a line of the plan, a finding, a container) are returned unchanged.
    """
    identity = table.identity(row)
    rows: Iterable[Any]
    match row:
        case statement_readings.ParallelStatement():
            rows = (*reading.queue, *reading.running)
        case SessionReading():
            rows = collapse_sessions(reading.sessions, unfolded=True)
        case GroupReading():
            rows = reading.groups
        case InstanceReading():
            rows = reading.header.instances
        case WaitReading():
            rows = reading.waits
        case _:
            return row
    return next((other for other in rows if table.identity(other) == identity), None)


def queued(row: statement_readings.QueuedStatement, reading: Reading) -> list[Line]:
    """Return the page of a queued statement."""
    lines = [*_head("Queued", row), BLANK, title("Why it waits")]
    position = f"{queue_position(row, reading)} in the queue of {row.group}{in_view(reading)}"
    long, age = f", queued for {spelled(row.waited)}", reading.age_of("V$SESSION")
    if age and not row.waited_ago and row.waited is not None:
        position = f"{as_of(f'{position}: {row.event}', age)}{long} by now"
    else:
        position = as_of(f"{position}{long}: {row.event}", age)
    lines.append(sentence(f"{position[:1].upper()}{position[1:]}."))
    head = reading.head_of((row.con_id, row.group))
    if head is not None:
        first = first_of_queue(row, head, reading)
        about = f"{first[0].upper()}{first[1:]}, {head.statement.sql_id}," if first else "It"
        lines.append(sentence(f"{about} {head.sentence}.", "warn"))
    if row.no_timeout:
        lines.append(sentence(f"Whether its group has a queue timeout is not known ({row.no_timeout})."))
    elif row.timeout_left is None:
        lines.append(sentence(f"Its group has no queue timeout{timeout_source(row)}: it waits until it starts."))
    else:
        left = f"{duration(row.timeout_left)}{timeout_source(row)}"
        lines.append(sentence(f"It reaches its queue timeout in {left}: then {row.at_timeout}.", "warn"))
    if words := starts_in_words(row, reading):
        lines.append(sentence(words))
    lines += unblocking(row, reading)
    lines += section("What it wants", [fact("servers", _wants(row.wants))])
    return lines + _degree_and_text(row, reading)


def _degree_and_text(row: statement_readings.ParallelStatement, reading: Reading) -> list[Line]:
    """Return the end of the pages of queued and running statements: degree, holders in the group, text."""
    why = dop_lines(row.dop, row.requested, row.sql_text)
    return [*why, *_same_group(row, reading), *sql_lines(row.sql_text, row.no_text)]


def _wants(wants: statement_readings.Servers | None) -> str:
    """Return how many servers a statement wants, and the source of that number."""
    if wants is None:
        return "not known: its plan could not be read"
    if wants.source is statement_readings.WantsSource.MEAN:
        return f"not known; those queued in its group wanted {wants.low} each on average in the last minute"
    if wants.low == wants.high or wants.source is statement_readings.WantsSource.DEGREE:
        return f"{wants} parallel servers, by {wants.source.value}"
    text = f"{wants} parallel servers: one set by {wants.source.value}"
    return f"{text}; Oracle does not document whether the queue then counts the DOP or twice the DOP"


def _coordinator(row: statement_readings.RunningStatement) -> str:
    if row.idle is not None:
        keeps = f"keeps {counted(row.servers, 'server')}, because its cursor is neither fetched to the end nor closed"
        return f"Idle holder: the coordinator has been INACTIVE for {row.idle_time} and {keeps}."
    if row.orphaned:
        return f"It is gone with instance {row.inst_id}: it does not run any more, but its servers are not freed yet."
    if not row.status and not row.event:
        return "The coordinator's session is not visible: what it waits for is not known."
    verb = "" if row.event.startswith(ON_CPU) or not row.event else "waits for "
    does = f"The coordinator is {row.status or 'there'}: {verb}{row.event or 'what it does is not known'}"
    return f"{as_of(does, row.seen_ago)}."


def running(row: statement_readings.RunningStatement, reading: Reading) -> list[Line]:
    """Return the page of a running statement."""
    lines = [
        *_head("Running", row),
        BLANK,
        title("What it does"),
        sentence(_coordinator(row), "" if row.idle is None else "bad"),
        fact("elapsed", statement_readings.elapsed_time(row)),
        BLANK,
        title("What it holds"),
        fact("servers", f"{row.servers} in {counted(row.sets, 'server set')}"),
    ]
    if len(row.servers_by_instance) > 1:
        where = ", ".join(f"instance {inst}: {n}" for inst, n in sorted(row.servers_by_instance.items()))
        lines.append(fact("by instance", where))
    got = _known((row.degree, count(row.degree)), (row.requested, f"{count(row.requested)} requested"), joint=" of ")
    lost = f"▼ {got}: downgraded by {percent(row.downgraded)} %"
    lines.append(fact("degree", lost, "warn") if row.downgraded > 0 else fact("degree", got))
    return lines + _degree_and_text(row, reading)


_FROM = ("program", "module", "service", "machine")
"""The fields on the origin of a session; the facts have the same names as labels."""


def _head(what: str, row: statement_readings.ParallelStatement) -> list[Line]:
    """Return the title of a statement's page, and its session."""
    heading = title(f"{what} statement {row.sql_id or '(unknown)'} of {row.group}")
    session = f"instance {row.inst_id}, SID {row.sid}, SERIAL# {row.serial or 'not known'}"
    origin = (fact(name, getattr(row, name)) for name in ("user", *_FROM))
    return [heading, BLANK, *origin, fact("session", session), _cursor(row)]


def _cursor(row: statement_readings.ParallelStatement | SessionReading) -> Line:
    return fact("cursor", _known((row.sql_id or None, f"SQL_ID {row.sql_id}"), (row.child, f"child {row.child}")))


_IN_MEMORY = {
    "px_in_memory": "In-memory parallel execution (px_in_memory):",
    "px_in_memory_imc": "In-memory column store (px_in_memory_imc):",
}
"""Types in OTHER_XML whose value is yes or no, and the words before it."""


def dop_lines(dop: statement_readings.DopFacts, requested: int | None, sql_text: str = "") -> list[Line]:
    """Return sentences on how a statement got its degree of parallelism."""
    lines = [BLANK, title("Why it has this degree")]
    if hinted := hints(sql_text):
        lines.append(sentence(f"Its SQL text has the hint{'s' * (len(hinted) > 1)} {', '.join(hinted)}."))
    lines += [sentence(text) for text in dop_sentences(dop, requested)]
    shown = ("dop", "derived_", "queuing_reason", *_IN_MEMORY)
    others = sorted(each for each in dop.facts.items() if not each[0].startswith(shown))
    return [*lines, *(fact(name, text, "dim") for name, text in others)]


def has_degree(dop: statement_readings.DopFacts) -> bool:
    """Return whether a plan contains a degree: that of a serial statement has other facts only."""
    degrees = (dop.degree, dop.cpu_degree, dop.io_degree)
    why = dop.reason or dop.operation_reason or dop.queuing_reason or dop.unread
    return bool(why) or any(each is not None for each in degrees)


def dop_sentences(dop: statement_readings.DopFacts, requested: int | None) -> list[str]:
    """Return the sentences on a degree; what the plan does not contain is not guessed."""
    degrees = ((dop.cpu_degree, "CPU"), (dop.io_degree, "I/O"))
    by = [f"{degree} from {resource}" for degree, resource in degrees if degree is not None]
    sentences = [f"Automatic DOP derived {' and '.join(by)}."] if by else []
    if dop.degree is not None:
        derived = max(dop.cpu_degree or 0, dop.io_degree or 0)
        less = f"{dop.degree}, less than the {derived} derived" if dop.degree < derived else f"DOP {dop.degree}"
        sentences.append(f"The optimizer chose {less}.")
    reasons = (
        ("Reason in the plan", dop.reason),
        ("Reason of the operation", dop.operation_reason),
        ("Queuing reason in the plan", dop.queuing_reason),
    )
    sentences += [f"{what}: {reason}." for what, reason in reasons if reason]
    if requested is not None:
        sentences.append(f"The execution asked for DOP {requested}.")
    sentences += [f"{words} {dop.facts[name]}." for name, words in _IN_MEMORY.items() if dop.facts.get(name)]
    if dop.unread:
        sentences.append(f"V$SQL_PLAN.OTHER_XML is {dop.unread}.")
    return sentences or ["V$SQL_PLAN.OTHER_XML does not say, or could not be read."]


def _same_group(row: GroupReading | statement_readings.ParallelStatement, reading: Reading) -> list[Line]:
    name = row.name if isinstance(row, GroupReading) else row.group
    held = [each for each in reading.running if (each.con_id, each.group) == (row.con_id, name)]
    largest = sorted(held, key=lambda statement: -statement.servers)[:8]
    return section(f"Who holds servers in {name}", map(_holder, largest))


def _holder(each: statement_readings.RunningStatement) -> Line:
    idle = f", ○ idle for {each.idle_time}" if each.idle is not None else ""
    place = f"{each.who}{comma_serial(each.serial)}"
    long = "an unknown time" if each.elapsed is None else statement_readings.elapsed_time(each)
    text = f"{counted(each.servers, 'server')}, {place}, {each.sql_id or 'SQL_ID not known'}, running for {long}{idle}"
    return sentence(text, "bad" if idle else "")


def sql_lines(text: str, no_text: str = "") -> list[Line]:
    """Return the section with the SQL text; `no_text` is why there is none."""
    body = text.split("\n") if text else [no_text or "not known: V$SQL was not read for it, or no longer has it"]
    return section("SQL text", map(sentence, body))


def session(row: SessionReading, reading: Reading) -> list[Line]:
    """Return the page of a session, with its parallel statement if it has one."""
    lines = [title(f"Session {row.inst_id}:{row.sid}{comma_serial(row.serial)} of {row.user}"), BLANK]
    seen_ago = reading.age_of("V$SESSION")
    since = "" if row.last_call is None else f" for {duration(row.last_call)}"
    servers = _known((row.px_servers, f"{row.px_servers}"), (row.dop, f"DOP {count(row.dop)}"))
    lines += [
        *(fact(name, getattr(row, name)) for name in _FROM),
        fact("logged on", f"{row.logon.astimezone():%Y-%m-%d %H:%M:%S}" if row.logon else ABSENT),
        fact("status", as_of(f"{row.status}{since}", seen_ago)),
        BLANK,
        title("Resource Manager"),
        fact("group", row.group),
    ]
    if text := why_in_group(row):
        lines.append(sentence(text, "warn"))
    lines += [
        fact("state", row.state),
        *_consumption(row),
        fact("parallel", " ".join(part for part in (row.px_role.partition(" +")[0], row.pq_status) if part)),
        fact("servers", as_of(servers, reading.age_of("V$PX_SESSION"))),
        *section("Now", [fact("waits for", _wait(row, seen_ago)), _cursor(row)]),
    ]
    return lines + _statement_of(row, reading)


def _consumption(row: SessionReading) -> list[Line]:
    """Return the consumption of a session; a coordinator with its servers, as in its row of the table."""
    servers = collapsed_servers(row)
    cpu = ((row.used, f"uses {number(row.used, 2)}"), (row.waiting, f"waits for {number(row.waiting, 2)} CPUs"))
    io = ((row.io_mb, throughput(row.io_mb)), (row.io_requests, f"{number(row.io_requests)} requests/s"))
    return [
        *([fact("of", f"the coordinator and its {counted(servers, 'server')}")] if servers else []),
        fact("CPU", _known(*cpu)),
        fact("I/O", _known(*io, joint=" in ")),
        *(
            fact(each.head, each.show(row))
            for each in SESSIONS.columns
            if each.path.removeprefix("amounts.") in row.amounts
        ),
    ]


def _wait(row: SessionReading, seen_ago: float | None) -> str:
    if not row.event or row.waited is None:
        return as_of(row.event or ABSENT, seen_ago)
    return as_of(f"{row.event} ({row.wait_class or 'class not known'}), for {duration(row.waited)}", seen_ago)


def _statement_of(row: SessionReading, reading: Reading) -> list[Line]:
    key = (row.inst_id, row.sid, row.serial)
    rows = (*reading.queue, *reading.running)
    found = next((each for each in rows if (each.inst_id, each.sid, each.serial) == key), None)
    return [] if found is None else [BLANK, *page(found, QUEUE, reading)]


def group(row: GroupReading, reading: Reading) -> list[Line]:
    """Return the page of a consumer group."""
    instances = reading.header.instances
    if row.inst_id == 0 and len(instances) > 1:
        where = "the cluster"
    else:
        where = f"instance {row.inst_id or (instances[0].inst_id if instances else 1)}"
    cpu = _known((row.used, f"uses {number(row.used)}"), (row.wanted, f"wants {number(row.wanted)}"))
    statements = _known(
        (row.px_active, many(row.px_active, "statement")),
        (row.px_servers, many(row.px_servers, "server")),
        joint=" on ",
    )
    sessions = _known(
        (row.active_sessions, f"{count(row.active_sessions)} active"),
        (row.execution_waiters, f"{count(row.execution_waiters)} of them waiting for a time slice"),
    )
    lines, words = [title(f"Consumer group {row.title} on {where}"), BLANK], verdict_words(row.verdict, row.limited_by)
    lines += [
        fact("CPU", f"{words}: {cpu} of {number(row.capacity)}" if cpu else words),
        sentence(in_words(reading, row)),
        fact("entitled now", _known((row.entitled, f"{number(row.entitled)} CPUs at the groups' current demand"))),
        fact("guaranteed", _guaranteed(row)),
        fact("limit", _limit(row, reading)),
        fact("throttled", _known((row.throttled_percent, f"{percent(row.throttled_percent)} % of its demand"))),
        fact("sessions", sessions),
        *([fact("quiesced", f"{counted(row.held, 'session')} held", "warn")] if row.held else []),
        *_session_pool(row),
        BLANK,
        title("Parallel execution"),
        fact("now", _known((statements or None, statements), (row.px_queued, f"{count(row.px_queued)} queued"))),
        *_not_counted(row, reading),
        fact("servers limit", _servers_limit(row)),
        fact("since the plan", _totals(row)),
        fact("timeouts", count(row.totals.timeouts)),
    ]
    if (head := reading.head_of((row.con_id, row.name))) is not None:
        lines += section("Why its head waits", [sentence(head_sentence(head), "warn")])
    return lines + section("I/O", _io(row)) + _same_group(row, reading) + _instances_of(row, reading)


def _known(*parts: tuple[object, str], joint: str = ", ") -> str:
    """Return the parts of a fact whose figures are known; "" without any."""
    return joint.join(words for figure, words in parts if figure is not None)


def _not_counted(row: GroupReading, reading: Reading) -> list[Line]:
    """Return a note on held servers that the group does not count, although the list of holders has them."""
    if row.inst_id and len(reading.header.instances) > 1:
        return []
    beside = holdings(reading, row.con_id, row.name).uncounted
    return [fact("not counted", f"{counted(beside, 'more server')} (statements that did not queue)")] if beside else []


def _session_pool(row: GroupReading) -> list[Line]:
    """Return the use of the group's active session pool, its waiters and their timeout; [] without a pool."""
    if row.pool is None:
        return []
    pool, active = row.pool, row.active_sessions
    limit = "the limit is not known" if pool.allowed is None else f"{pool.allowed} allowed active"
    joint = " active, " if pool.allowed is None else " of "
    text = limit if active is None else f"{count(active)}{joint}{limit}"
    if pool.queued:
        longest = "" if pool.longest is None else f", the first for {duration(pool.longest)}"
        text += f"; waiting: {pool.queued}{pool.where}{longest}, {pool.end}"
    failed = row.sessions.pool_timeouts
    text += f"; {counted(failed, 'call')} failed at the timeout since the plan was activated" if failed else ""
    return [fact("session pool", text, "warn" if pool.queued else "")]


def _guaranteed(row: GroupReading) -> str:
    if row.guaranteed is None:
        return "nothing, where CPU is not managed" if row.verdict is Verdict.NOT_MANAGED else ABSENT
    return f"{number(row.guaranteed)} CPUs when all are busy ({percent(100 * row.share)} %)"


def _limit(row: GroupReading, reading: Reading) -> str:
    if row.limit is None and row.limit_view and reading.why_unavailable("V$RSRCMGRMETRIC"):
        return f"not known ({row.limit_view})"
    unmanaged = ", not in force while CPU is not managed" if row.verdict is Verdict.NOT_MANAGED else ""
    return "none" if row.limit is None else f"{number(row.limit)} CPUs (UTILIZATION_LIMIT{unmanaged})"


def _servers_limit(row: GroupReading) -> str:
    if row.servers_limit is None and row.limit_view:
        return f"not known ({row.limit_view})"
    if row.servers_limit is None:
        whole = row.container_servers
        return "none" if whole is None else f"none of its own; its container may hold {counted(whole, 'server')}"
    part = row.servers_limit_percent
    source = " (V$RSRCMGRMETRIC)" if part is None else f", {count(part)} % of the target"
    return f"{counted(row.servers_limit, 'server')}{source}"


def _totals(row: GroupReading) -> str:
    totals = row.totals
    each = totals.queued_ms / 1000 / totals.queued if totals.queued and totals.queued_ms is not None else None
    return _known(
        (totals.completed, f"{count(totals.completed)} completed"),
        (totals.queued, f"{count(totals.queued)} had to queue"),
        (each, f"{duration(each)} each on average"),
    )


def _io(row: GroupReading) -> Iterable[Line]:
    if (io := row.io) is None:
        return
    each = _known((io.service_ms, f"{number(io.service_ms)} ms each"))
    yield fact("all", ", ".join(filter(None, (throughput(io.mb), f"{number(io.requests)} requests/s", each))))
    yield fact("large", f"{throughput(io.large_read_mb)} read, {throughput(io.large_write_mb)} written")
    yield fact("small", f"{throughput(io.small_read_mb)} read, {throughput(io.small_write_mb)} written")


def _instances_of(row: GroupReading, reading: Reading) -> list[Line]:
    rows = [each for each in reading.groups if each.inst_id and (each.con_id, each.name) == (row.con_id, row.name)]
    return section("By instance", map(_on_instance, rows) if len(rows) > 1 else [])


def _on_instance(each: GroupReading) -> Line:
    words = verdict_words(each.verdict, each.limited_by)
    cpu = _known((each.used, f"uses {number(each.used)} of {number(each.capacity)} CPUs"), (1, words))
    queued = each.px_queued, f"{count(each.px_queued)} queued"
    servers = _known((each.px_servers, many(each.px_servers, "server")), queued)
    return fact(f"instance {each.inst_id}", "; ".join(filter(None, (cpu, servers))))


def plain_row(row: Any, table: Table[Any]) -> list[Line]:
    """Return the page of any other row: its figures with their meanings."""
    name = f"{row.event} on instance {row.inst_id}" if isinstance(row, WaitReading) else ""
    name = f"Instance {row.inst_id} {row.name}" if isinstance(row, InstanceReading) else name
    name = f"{row.event or table.title}: {row.name}" if isinstance(row, SpanFacts) else name
    lines = [title(name or f"{table.title}: {table.columns[0].show(row).strip()}"), BLANK]
    label = max(_LABEL, *(len(column.head) + 2 for column in table.columns))
    for column in table.columns:
        lines.append(fact(column.head, column.show(row), width=label))
        lines.append(((" " * (label + 2), "dim"), (column.help, "dim")))
    return lines
