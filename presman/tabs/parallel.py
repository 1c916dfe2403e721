"""Tab 4 Parallel: the queue of parallel statements: which wait, why, what lets them start, which hold the servers."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from presman.analysis.advice.to_do import to_do
from presman.analysis.caches import once
from presman.analysis.collapsed_rows import collapse_queue
from presman.analysis.goals import share
from presman.analysis.parallel.counted_servers import Counted
from presman.analysis.parallel.usual import Comparison
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import Reading, is_one_queue
from presman.analysis.readings.statement_readings import (
    QueuedStatement,
    RunningStatement,
    downgrade_in_words,
    group_title,
    is_downgrade,
    urgency,
)
from presman.analysis.trends import Watch
from presman.analysis.trends.statement_runs import StatementRun
from presman.base.formats import as_of, count, counted, duration, listed, percent
from presman.figures.drawing.lines import Line, Run, length, spark, wrap
from presman.figures.group_figures import PARALLEL_GROUPS, held_servers
from presman.figures.history_figures import GOALS, LEDGER, USUAL
from presman.figures.instance_figures import DOWNGRADES, SERVERS
from presman.figures.statement_figures import QUEUE, RUNNING, forecast_record, why_no_forecast
from presman.tabs.alerts import queue_unavailable
from presman.tabs.parts import Key, Moment, Rows, Tab, alike_in_groups, on_one_instance, servers_scale
from presman.tabs.table_notes import statements_folded, unavailable

_MANAGED = {
    "FULL": "one queue per consumer group",
    "FIFO": "one queue for all",
    "STARTUP": "instances are starting",
    "OFF": "no plan manages parallel execution",
    "DISABLED": "no memory left for the queue",
}
"""The meanings of V$RSRC_PLAN.PARALLEL_EXECUTION_MANAGED."""

_NAMED = 2

_HALF_HOUR = 1800.0
_NEARLY_AN_HOUR = 3480.0
"""Seconds that count as a full hour: with one mark a minute, up to two minutes of it are always missing."""

_MINUTES = 12
"""Minutes of downgrades in the sparkline."""


def queue_line(reading: Reading, watch: Watch) -> Line:
    """Return how the queue is managed, servers in use against target and maximum, those in no group, and downgrades."""
    header, pool = reading.header, reading.header.servers
    facts: list[Run] = [(" Queue ", "dim"), (header.px_managed.upper() or "?", ""), (f" {_management(reading)}", "dim")]
    in_use = as_of(count(pool.in_use), reading.age_of("V$PX_PROCESS_SYSSTAT"))
    # Statements that bypass the queue use servers, too, but V$RSRC_PLAN does not count those against the target.
    in_queue = as_of(count(pool.counted), reading.age_of("V$RSRC_PLAN"))
    facts += [("   in use ", "dim"), (in_use, "")]
    target, equals, parts = header.target.partition(" = ")
    if pool.counted is None:
        facts.append(("  target ", "dim"))
    elif in_queue == in_use == count(pool.in_use):
        facts.append((" of target ", "dim"))
    else:
        facts += [("  against the target ", "dim"), (in_queue, ""), (" of ", "dim")]
    facts += [(target, ""), (f"{equals}{parts}", "dim")]
    facts += [("  max ", "dim"), (as_of(count(pool.maximum), reading.age_of("V$SYSTEM_PARAMETER")), "")]
    if reading.unmanaged_servers:
        outside = f"   {count(reading.unmanaged_servers)} in use that no group counts"
        facts += [(outside, "note"), (_uncounted(reading), "note")]
    if reading.monitor_servers:
        monitors = as_of(counted(reading.monitor_servers, "server"), reading.age_of("V$PX_PROCESS"))
        facts.append((f"   monitors: {monitors}", "dim"))
    if reading.statements_to_come:
        facts.append((f"   {reading.statements_to_come} plans still to be read", "note"))
    return (*facts, *_downgrades(reading, watch))


def _management(reading: Reading) -> str:
    """Return what the management of the queue means; a container or another instance may have a different one."""
    name = reading.header.px_managed.upper()
    is_same = all(each.one_queue is is_one_queue(name) for each in reading.heads)
    return _MANAGED.get(name, "") if is_same else "not everywhere"


def _uncounted(reading: Reading) -> str:
    """Return the owners of servers that no group counts if they are certain, else the possible owners, idle ones first.

    The statement of an idle holder may have bypassed the queue although its group queues: no view shows that.
    """
    counts = Counted.of(reading)
    outside = [each for each in reading.running if counts.of_statement(each, everybody=False) is False]
    held_then = reading.age_of("V$PX_SESSION")
    if sum(each.servers for each in outside) == reading.unmanaged_servers:
        return as_of(f": {_named(outside, 'and')}", held_then)
    maybe = [each for each in reading.running if counts.of_statement(each, everybody=False) is None]
    maybe.sort(key=lambda each: each.idle is None)
    if not outside and not maybe:
        return " (statements that did not queue, GV$ queries)"
    return as_of(f": perhaps {_named([*outside, *maybe], 'or')}", held_then)


def _named(statements: Sequence[RunningStatement], last: str) -> str:
    more = [f"{len(statements) - _NAMED} more"] if len(statements) > _NAMED else []
    return listed([*(each.who for each in statements[:_NAMED]), *more], last)


def forecasts_note(moment: Moment) -> Mapping[str, str]:
    """Return how good the forecasts of this queue have been, or why there are none, as the note beside them."""
    note = forecast_record(moment.reading) or why_no_forecast(moment.reading)
    return {"starts_in_s": note} if note else {}


def goal_line(reading: Reading) -> Line:
    """Return how the service goals were met over half an hour and a day; () if config.ini has none."""
    runs: list[Run] = [(" GOALS  ", "title")]
    for each in reading.goals:
        time = "30 min" if each.watched >= _HALF_HOUR else duration(each.watched)
        recent = f"{percent(share(*each.recent))} % of {sum(each.recent)} in {time}"
        day = f", {percent(share(*each.day))} % of {sum(each.day)} in a day" if each.watched > _HALF_HOUR else ""
        wanted = f", {100 * each.goal.part:g} % wanted"
        runs += [(" · " if len(runs) > 1 else "", "dim"), (f"{each.group} within {duration(each.goal.seconds)}: ", "")]
        fares = f"{recent}{day}{wanted}: {each.state}" if each.state else f"nothing started in {time}{day}{wanted}"
        runs.append((fares, "warn" if each.state == "missed" else ""))
    return tuple(run for run in runs if run[0]) if reading.goals else ()


def in_one_line(line: Line, width: int) -> Line:
    """Return as many whole runs of a line as fit; the explanation of the queue's management is dropped first."""
    runs = list(line)
    if length(runs) > width:
        runs = [run for run in runs if run[0].strip() not in _MANAGED.values()]
    while len(runs) > 1 and length(runs) > width:
        runs.pop()
    return tuple(runs)


def _downgrades(reading: Reading, watch: Watch) -> Line:
    counted = sum(value for name, value in watch.queue_marks.downgrades(reading).items() if is_downgrade(name))
    if not counted:
        return ()
    minutes = watch.queue_marks.downgraded_by_minute(reading, _MINUTES)
    trend = f" {spark(minutes, len(minutes))}" if any(minutes) else ""
    return (("   downgraded in the last hour ", "dim"), (f"▼ {counted}{trend}", "warn"))


def by_class(counted: Mapping[str, int]) -> str:
    """Return the downgraded parallel operations by class, with the names of V$SYSSTAT."""
    found = [(value, name) for name, value in sorted(counted.items()) if value and is_downgrade(name)]
    text = ", ".join(f"{count(value)} {downgrade_in_words(name)}" for value, name in found)
    return f"last hour: {text}" if text else ""


def summary(reading: Reading, width: int, most: int = 2) -> list[Line]:
    """Return who holds the servers in at most `most` lines, for screens without room for a table.

    The queue's management follows if it fits; no text is cut in the middle.
    """
    held = holders(reading)
    managed = _management(reading)
    words: Line = ((f" · {reading.header.px_managed.upper()}: {managed}", "dim"),) if managed else ()
    runs, more = [*held, *words], False
    while len(runs) > 2 and len(wrap((*runs, *_MORE[:more]), width, 6)) > most:
        more = len(runs) <= len(held)
        runs.pop()
        while runs[-1] == _BETWEEN:
            runs.pop()
    return wrap((*runs, *_MORE[:more]), width, 6)


_BETWEEN: Run = (" · ", "dim")
_MORE: Line = ((" · …", "dim"),)


def holders(reading: Reading) -> Line:
    """Return who holds the servers: groups, the largest holder first, instances, and servers that no group counts."""
    groups = [each for each in reading.cluster_groups() if each.px_servers or each.px_queued]
    groups.sort(key=lambda each: (-(each.px_servers or 0), each.name))
    runs: list[Run] = [(" SERVERS  ", "title")]
    for index, each in enumerate(groups):
        runs += [*([_BETWEEN] if index else []), (_held(each), "warn" if each.is_full else "")]
    if not groups:
        unknown = any(each.px_servers is None for each in reading.cluster_groups())
        runs.append(("who holds any is not known" if unknown else "no group holds any", "dim"))
    if reading.unmanaged_servers:
        runs.append((f" · others {count(reading.unmanaged_servers)}", "dim"))
    if len(reading.header.instances) > 1:
        parts = (f"{each.inst_id}: {count(each.servers.in_use)}" for each in reading.header.instances)
        runs.append((f" · by instance {', '.join(parts)}", "dim"))
    return tuple(runs)


def _held(group: GroupReading) -> str:
    most = count(group.may_hold) if group.may_hold is not None else "?" if group.limit_view else ""
    limit = f" of {most}" if most else ""
    queued = f", {group.px_queued} queued" if group.px_queued else ""
    return f"{group.name} {held_servers(group)}{limit}{queued}"


@once
def in_order(reading: Reading) -> Mapping[tuple[int, str], int]:
    """Return the ranks of the queues (container and group): that of DO comes first, then the most urgent."""
    step = to_do(reading)
    about = step.subject if step is not None and step.tab == "parallel" else ""
    heads = sorted(reading.heads, key=lambda head: (group_title(head) != about, urgency(head)))
    return {(head.con_id, head.group): rank for rank, head in enumerate(heads)}


@once
def queue_rows(moment: Moment) -> tuple[QueuedStatement, ...]:
    """Return the queue, identical statements in one row unless they are unfolded."""
    choices, ranks = moment.choices, in_order(moment.reading)
    rows = sorted(moment.reading.queue, key=lambda row: ranks.get((row.con_id, row.group), len(ranks)))
    return tuple(rows) if choices.plain or choices.unfolded else collapse_queue(rows)


def gone_note(moment: Moment) -> str:
    """Return how many of the rows are no longer running, "" if all are."""
    gone = sum(each.orphaned for each in moment.reading.running)
    return f"{gone} of them gone with the instance" if gone else ""


@once
def compared(moment: Moment) -> tuple[Comparison, ...]:
    """Return each group's queue now against the last hour and the time since its plan was set, the worse ones first."""
    return tuple(sorted(moment.watch.queue_marks.compare(moment.reading), key=lambda each: not each.worse))


def hour_known(moment: Moment) -> str:
    """Return how much of the hour that queues are compared with is known; "" for all or nothing of it."""
    longest = max((each.hour.seconds or 0.0 for each in compared(moment) if each.hour is not None), default=0.0)
    return f"of the hour the last {duration(longest)} known" if 0 < longest < _NEARLY_AN_HOUR else ""


def downgraded(moment: Moment) -> Sequence[StatementRun]:
    """Return the downgrades of the last hour."""
    return moment.watch.runs.downgraded_since(moment.reading.at - timedelta(hours=1))


TAB = Tab(
    parts=(
        Rows(
            QUEUE,
            queue_rows,
            on_one_instance,
            lambda moment: statements_folded(queue_rows(moment)),
            column_notes=forecasts_note,
            measure="queue",
            news=True,
            unavailable=lambda moment: queue_unavailable(moment.reading),
        ),
        Rows(
            RUNNING,
            lambda moment: moment.reading.running,
            on_one_instance,
            gone_note,
            news=True,
            unavailable=unavailable("V$PX_SESSION"),
        ),
        Rows(
            PARALLEL_GROUPS,
            Moment.groups,
            alike_in_groups,
            lambda _: "█ held, of the target ┊ limit",
            servers_scale,
            filterable=False,
        ),
        Rows(
            SERVERS,
            lambda moment: moment.reading.header.instances,
            note=lambda _: "█ in use ┊ target",
            filterable=False,
        ),
        Rows(USUAL, compared, note=hour_known, filterable=False),
        Rows(
            LEDGER,
            downgraded,
            note=lambda moment: by_class(moment.watch.queue_marks.downgrades(moment.reading)),
            filterable=False,
            unavailable=lambda moment: "Not known yet: the last hour is being read." if moment.watch.lacks_past else "",
        ),
    ),
    for_text=(
        Rows(DOWNGRADES, lambda moment: moment.reading.downgrades),
        Rows(GOALS, lambda moment: moment.reading.goals),
    ),
    notes=(
        "WHY says why the head of a queue waits. TO START IT names what is proven to let it start: first "
        "statements that should end by themselves within 30 seconds (or may, when the present step is done), then idle "
        "holders, then up to three statements that lose the least work (in hours of a server) and hold the fewest "
        "servers. Statements joined by + must end together. Where it is not proven that ending a session helps, as "
        "when several queues want the same servers, it says so. The queue of DO comes first, then the most urgent "
        "one, here and in the table. Once you move the cursor, it is the queue of its row.",
        "c lists what can be copied: SQL_ID, text, sid,serial, commands, each with its key. 1 is the command for ① of "
        "the row's queue, or for the running statement under the cursor; then come ② and so on, the commands that "
        "start or cancel the waiting statement, and the other sessions that hold servers, with the reason why there "
        "is no command for them. Nothing is run. Where you can only wait, it says so.",
        "Identical queued statements are one row: `7xq3hjskd0abc x9` with the servers that all nine want, and the "
        "index and wait of the first. Enter lists them, u gives each a row; then a acts on one of them. The "
        "commands are for the head of the row's queue, folded or not.",
        "Starts in is the range in which a statement should start, in 8 cases of 10. Its page has the middle, too: in "
        "half of the possible courses of the queue it starts earlier, in half later. `41 of 50 started in the range "
        "forecast, half within 0:22 of its middle`: of the last 50 statements 41 started in the range first shown for "
        "them, and 25 within 0:22 of its middle. docs/forecast.md says what is assumed.",
        "W tries other limits of the plan, first the one that holds back the head of the row's queue: when each "
        "statement would start, and the script for the change. Nothing is changed in the database.",
        "g shows the statements over time instead of the tables: ░ queued █ running ▒ idle holder; more servers make "
        "a taller block.",
    ),
    keys=(Key("gantt", "g", "g", "Gantt", "Statements over time instead of the tables, and back."),),
    panel="presman.tui.panels.parallel_panel:ParallelPanel",
    over_time=True,
    progress=True,
    measure="parallel",
)
