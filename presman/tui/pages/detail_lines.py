"""Lines of the details of a statement or session: commands, its cursor with its plan, its servers. Pure."""

from collections.abc import Callable, Iterable, Sequence

from presman.analysis.advice.ending import ending
from presman.analysis.advice.unblock import unblock_of
from presman.analysis.parallel.usual import Comparison
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import CursorCost, Detail, PlanStep, ServerWork, SessionReading
from presman.analysis.readings.statement_readings import (
    ParallelStatement,
    QueuedStatement,
    RunningStatement,
    UsualQueue,
)
from presman.base.formats import (
    ABSENT,
    amount_of_data,
    clock,
    compact,
    count,
    counted,
    duration,
    microseconds,
    number,
    percent,
)
from presman.base.text import one_line
from presman.figures.drawing.lines import Line, bar_runs
from presman.figures.figure import Bar
from presman.rows.queries import Focus
from presman.tabs.drill_down import Statement
from presman.tui.pages.advice_lines import candidates_lines, command_lines, why_not_ended

Row = ParallelStatement | SessionReading
BLANK: Line = ()
_LABEL = 24
_SERVERS = 32
_BAR = 16


def focus_of(row: object) -> Focus | None:
    """Return the session and cursor to read in detail for a row, None for rows without a session."""
    if isinstance(row, ParallelStatement):
        return Focus(row.inst_id, row.sid, row.sql_id, row.child, isinstance(row, RunningStatement))
    if isinstance(row, SessionReading):
        return Focus(row.inst_id, row.sid, row.sql_id, row.child, row.px_servers > 0)
    if isinstance(row, Statement):
        return Focus(row.inst_id, 0, row.sql_id, row.child, coordinator=False)
    return None


def detail_lines(row: Row, reading: Reading, width: int) -> list[Line]:
    """Return the sections on a row of `reading`."""
    lines = [] if isinstance(row, SessionReading) else [*_actions(row, reading), *_groups(row, reading)]
    detail = reading.detail
    if detail is None or (detail.sid, detail.inst_id) != (row.sid, row.inst_id):
        about = "Plan, servers and statistics are read only while this page is open; at this moment it was not."
        return [*lines, BLANK, sentence(about, "dim")]
    lines += section("Progress", _progress(detail))
    lines += section("Executions of this cursor so far", cost_lines(detail.cost))
    lines += plan_lines(detail, width)
    lines += section("Servers at work", _servers(detail) if detail.servers else ())
    return lines + section("Session statistics: since the last poll, since logon", _statistics(detail))


def plan_lines(detail: Detail, width: int) -> list[Line]:
    """Return the section with the plan of a cursor."""
    return section("Plan", map(sentence, xplan(detail.plan, detail.plan_hash, width - 3)))


def title(text: str) -> Line:
    """Return a heading."""
    return ((text, "title"),)


def section(heading: str, lines: Iterable[Line]) -> list[Line]:
    """Return lines below their heading, [] without any."""
    found = list(lines)
    return [BLANK, title(heading), *found] if found else []


def fact(label: str, text: str, style: str = "", width: int = 16) -> Line:
    """Return one labelled fact."""
    return ((f"  {label:<{width - 1}} ", "dim"), (text or ABSENT, style))


def sentence(text: str, style: str = "") -> Line:
    """Return one sentence."""
    return (("  ", ""), (text, style))


def _fact(label: str, text: str, style: str = "") -> Line:
    return fact(label, text, style, _LABEL)


def unblocking(row: QueuedStatement, reading: Reading) -> list[Line]:
    """Return the lines on the ends that would let the head of a statement's queue start."""
    found = unblock_of(row, reading)
    waiter = "it" if row.position == 1 else f"the head of {row.group}'s queue"
    return section(f"What would let {waiter} start", [] if found is None else candidates_lines(found))


def _actions(row: ParallelStatement, reading: Reading) -> list[Line]:
    """Return the commands for the statement itself."""
    commands, against = ending(row, reading).commands, why_not_ended(row, reading)
    lines = section("Commands to copy (presman runs none of them by itself)", command_lines(commands)) or [BLANK]
    return [*lines, *([sentence(against)] if against else [])]


def _groups(row: ParallelStatement, reading: Reading) -> list[Line]:
    """Return the groups of a statement's session: mapped, original, now, and why it was switched."""
    key = (row.inst_id, row.sid, row.serial)
    session = next((each for each in reading.sessions if (each.inst_id, each.sid, each.serial) == key), None)
    if session is None:
        return []
    how = f" (by {session.mapping_attribute})" if session.mapping_attribute else ""
    lines = [BLANK, title("Consumer group"), _fact("mapped", f"{session.mapped_group or ABSENT}{how}")]
    lines += [_fact("original", session.original_group), _fact("now", session.group)]
    if session.last_action:
        because = f", because of {session.last_action_reason}" if session.last_action_reason else ""
        action = f"{session.last_action}{because}, at {clock(session.last_action_time)}"
        lines.append(_fact("last action", action, "warn"))
    return lines


def _progress(detail: Detail) -> Iterable[Line]:
    if not detail.operations:
        yield sentence("V$SESSION_LONGOPS lists no unfinished operation of it.", "dim")
    for each in detail.operations:
        left = f", {duration(each.remaining)} left" if each.remaining is not None else ""
        name = f"{each.name} {each.target}".strip()
        done = f"{100 * each.progress:.0f} %, {each.done:,} of {each.total:,} {each.units}{left}"
        yield ((f"  {name:<{_LABEL}}", "dim"), *bar_runs(Bar(1.0, each.progress), _BAR), (f" {done}", ""))


def cost_lines(cost: CursorCost | None) -> Iterable[Line]:
    """Yield the cost of the executions of a cursor (V$SQL), nothing if it was not read."""
    if cost is None:
        return
    yield _fact("executions", f"{cost.executions:,} done, {cost.running} running now")
    parts = (
        (cost.elapsed, "elapsed"),
        (cost.cpu, "CPU"),
        (cost.io_wait, "I/O wait"),
        (cost.concurrency_wait, "concurrency wait"),
    )
    longest = max((seconds for seconds, _ in parts if seconds is not None), default=0.0)
    times = (f"{_as_long(seconds, longest)} {what}" for seconds, what in parts if seconds is not None)
    yield _fact("each, on average", ", ".join(times))
    yield _fact("servers each", number(cost.servers))
    blocks = f"{compact(cost.buffer_gets)} buffer gets, {compact(cost.disk_reads)} disk reads"
    yield _fact("rows, blocks each", f"{compact(cost.rows)} rows, {blocks}")
    yield _fact("data each", f"{amount_of_data(cost.megabytes)} read, {amount_of_data(cost.written)} written")
    if cost.offloaded is not None:
        saved = "" if cost.saved is None else f", {percent(100 * cost.saved)} % of that not sent"
        yield _fact("storage filtered", f"{percent(100 * cost.offloaded)} % of the bytes read{saved}")


def _as_long(seconds: float, longest: float) -> str:
    """Return a time beside others up to the `longest`: all in clock form if that is, but for the shortest."""
    return duration(seconds) if longest >= 60.0 and seconds >= 1.0 else microseconds(1e6 * seconds)


def _servers(detail: Detail) -> Iterable[Line]:
    for skew in detail.skew:
        cpu = "no CPU yet" if skew.cpu is None else f"the busiest has {number(skew.cpu, 2)} times the mean CPU"
        read = "" if skew.megabytes is None else f", {number(skew.megabytes, 2)} times the mean MB read"
        # A server set takes as long as its busiest server: twice the mean is marked.
        style = "warn" if (skew.cpu or 1.0) >= 2 else ""
        yield sentence(f"Set {skew.server_set}: {counted(skew.servers, 'server')}; {cpu}{read}.", style)
    most = max((each.cpu for each in detail.servers), default=0.0)
    for each in detail.servers[:_SERVERS]:
        yield _server(each, most)
    if len(detail.servers) > _SERVERS:
        yield sentence(f"… and {len(detail.servers) - _SERVERS} more", "dim")


def _server(each: ServerWork, most: float) -> Line:
    name = f"  {each.server_set}.{each.number:<3} {each.name:<5} {each.inst_id}:{each.sid:<6}"
    figures = f" {number(each.cpu):>7} s CPU {number(each.megabytes, 0):>9} MB  "
    return ((name, "dim"), *bar_runs(Bar(most, each.cpu) if most else None, _BAR), (figures, ""), (each.event, "dim"))


def _statistics(detail: Detail) -> Iterable[Line]:
    for each in detail.statistics:
        yield ((f"  {each.name:<54}", "dim"), (f"{count(each.delta):>16} {count(each.total):>20}", ""))


def usual_lines(found: Comparison) -> list[Line]:
    """Return a group's queue now, over the last hour and since its plan was activated."""
    worse, first = "Worse than usual. " * found.worse, "The last minute" if found.now.seconds else "Now"
    lines = [sentence(f"{worse}{first}, what is known of the last hour, since the plan:")]
    stretches = (found.now, found.hour, found.plan)
    rows: tuple[tuple[str, Callable[[UsualQueue], str]], ...] = (
        ("seconds known", lambda each: count(each.seconds)),
        ("queued on average", lambda each: number(each.mean_queue)),
        ("% that had to queue", lambda each: percent(each.percent_queued)),
        ("mean wait", lambda each: duration(each.mean_wait)),
        ("% of time queued", lambda each: percent(None if each.queued_share is None else 100 * each.queued_share)),
        ("servers each", lambda each: number(each.mean_servers)),
        ("timeouts", lambda each: count(each.timeouts)),
    )
    for label, text in rows:
        cells = "".join(f"{ABSENT if each is None else text(each):>12}" for each in stretches)
        lines.append(_fact(label, cells, "warn" if found.worse else ""))
    return lines


# ---- An execution plan as text, in the familiar layout of DBMS_XPLAN.


_Part = tuple[str, Callable[[PlanStep], str], bool]
"""Head, text, and whether it is right-aligned."""


def _scaled(value: int | None) -> str:
    """Return a number shortened like in DBMS_XPLAN: 40M, 6250K."""
    if value is None:
        return ""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "K")):
        # Four digits stay as they are, as in DBMS_XPLAN.
        if value >= 10 * size:
            return f"{value // size}{unit}"
    return str(value)


def _time(seconds: int | None) -> str:
    return "" if seconds is None else f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _id(step: PlanStep) -> str:
    return f"{'*' if step.access or step.filter else ' '}{step.id:>3}"


_PARTS: tuple[_Part, ...] = (
    ("Id", _id, True),
    ("Operation", lambda step: " " * min(step.depth, 60) + step.operation, False),
    ("Name", lambda step: step.name, False),
    ("Rows", lambda step: _scaled(step.rows), True),
    ("Bytes", lambda step: _scaled(step.bytes), True),
    ("Cost", lambda step: _scaled(step.cost), True),
    ("Time", lambda step: _time(step.seconds), False),
    ("Pstart", lambda step: step.partitions[0], True),
    ("Pstop", lambda step: step.partitions[1], True),
    ("TQ", lambda step: step.queue, True),
    ("IN-OUT", lambda step: step.in_out, False),
    ("PQ Distrib", lambda step: step.distribution, False),
)
_ALWAYS = frozenset({"Id", "Operation", "Name"})
_FIRST_TO_GO = ("Bytes", "Pstart", "Pstop", "Time", "Rows", "Cost", "PQ Distrib", "IN-OUT", "TQ", "Name")
"""The columns to omit if there is no room, in this order."""

_LONGEST = 2000


def xplan(plan: Sequence[PlanStep], plan_hash: int | None = None, width: int | None = None) -> list[str]:
    """Return the lines of a plan: the table, then the predicates. Columns without any value are omitted.

    If `width` is given, columns that do not fit are omitted too.
    """
    if not plan:
        return []
    columns = {}
    for head, text, right in _PARTS:
        cells = [text(step) for step in plan]
        if head in _ALWAYS or any(cell.strip() for cell in cells):
            widest = max(len(head), *map(len, cells))
            columns[head] = [cell.rjust(widest) if right else cell.ljust(widest) for cell in (head, *cells)]
    for head in _FIRST_TO_GO:
        if width is not None and sum(len(cells[0]) + 3 for cells in columns.values()) + 1 > width:
            columns.pop(head, None)
    rows = ["| " + " | ".join(cells) + " |" for cells in zip(*columns.values(), strict=True)]
    rule = "-" * len(rows[0])
    lines = [] if plan_hash is None else [f"Plan hash value: {plan_hash}", ""]
    return [*lines, rule, rows[0], rule, *rows[1:], rule, *_predicates(plan)]


def _predicates(plan: Sequence[PlanStep]) -> list[str]:
    both = ((step, kind, text) for step in plan for kind, text in (("access", step.access), ("filter", step.filter)))
    found = [f"{step.id:>4} - {kind}({one_line(text, _LONGEST)})" for step, kind, text in both if text]
    return ["", "Predicate Information (identified by operation id):", *found] if found else []
