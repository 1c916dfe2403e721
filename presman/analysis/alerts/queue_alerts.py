"""Alerts of the parallel queue: heads that wait, idle or blocked holders of servers, downgrades."""

from collections.abc import Sequence
from typing import NamedTuple

from presman.analysis import totals
from presman.analysis.goals import share
from presman.analysis.parallel.counted_servers import why_not_counted
from presman.analysis.readings.reading import AGE, AGO, Alert, Reading, Severity
from presman.analysis.readings.statement_readings import (
    QueuedStatement,
    QueueHead,
    RunningStatement,
    downgrade_in_words,
    group_title,
    is_downgrade,
    urgency,
)
from presman.base.formats import counted, duration, percent, spelled
from presman.base.sums import summed
from presman.rows.session_state import comma_serial

IDLE = "○"
"""The glyph of idle holders."""

SOON = 300.0
"""Seconds before a timeout from which it is an alert."""


def heads(reading: Reading) -> list[Alert]:
    """Return alerts with the reason why each queue waits, the most urgent first."""
    return [_head(head, reading) for head in sorted(reading.heads, key=urgency)]


def counted_only(reading: Reading) -> list[Alert]:
    """Return alerts about groups with queued statements that no view lists: V$RSRC_CONSUMER_GROUP still counts them."""
    found, listed = [], {_group_of(head) for head in reading.heads}  # by V$SESSION's last answer
    for name, number in reading.queued_by_group().items():
        if name in listed:
            continue
        short = f"{name}: {number} queued, why they wait is not known"
        text = f"{short} (counted by V$RSRC_CONSUMER_GROUP): {reading.why_unknown('queue')}"
        found.append(Alert("warn", "▲", text, short, "queue_waits", name))
    return found


def head_sentence(head: QueueHead, first: str = "", age: str = "") -> str:
    """Return why a queue waits, with the group and the statement; `first` comes before that, its `age` after it."""
    named = head.statement.sql_id or head.statement.user or "(no SQL_ID)"
    return f"{_group_of(head)}: {first}head {named}{age} {head.sentence}"


def _group_of(head: QueueHead) -> str:
    return group_title(head) if head.group else "unknown group"


def _head(head: QueueHead, reading: Reading) -> Alert:
    """Return the alert about one queue. The list of statements may be older than servers and counts.

    The waiting time is current if V$RSRC_SESSION_INFO shows it.
    """
    listed = sum((each.con_id, each.group) == (head.con_id, head.group) for each in reading.queue)
    name = _group_of(head)
    queued = reading.queued_by_group().get(name, listed)
    age = reading.age_of("V$SESSION") or 0.0
    old, first = (AGE, f" head{AGE},") if age else ("", "")
    then = old if head.statement.waited_ago else ""
    long = duration(head.statement.waited)
    waited = f" head{old} now {long}," if old and not then else f" head {long}{then},"
    waited = first if head.statement.waited is None else waited
    short = f"{name}: {queued} queued,{waited} {head.why}"
    named = head.statement.sql_id or head.statement.user or "(no SQL_ID)"
    whole = f"{name}: {queued} queued,{waited} {named} {head.sentence}"
    between = (whole, f"{name}: {queued} queued,{first} {head.why}", f"{name}:{first} {head.why}")
    # Without an amount no threshold can lower the severity: that it never starts is critical however short it waits.
    amount = None if head.never_starts else head.statement.waited
    state: Severity = "bad" if head.is_critical else "warn"
    waits = f"the first {duration(amount)}, together {spelled(head.queue_waited)}{then}; "
    few = f"{listed} of {queued} queued are listed" if queued > listed and not age else ""
    waits = f"{few or f'{listed} wait'}{'' if then else old}, {waits}"
    waits = f"1 waits {spelled(head.queue_waited)}{then}; " if listed == 1 and not few else waits
    text = head_sentence(head, waits if head.is_critical and not head.never_starts else "", old)
    return Alert(state, "✕" if head.is_critical else "▲", text, short, "queue_waits", name, amount, between, age)


class _TimeoutWording(NamedTuple):
    """Wording of an alert about statements near their timeout: severity, action, and the parameter behind it."""

    state: Severity
    glyph: str
    does: str
    why: str


_AT_TIMEOUT = {
    "CANCEL": _TimeoutWording("bad", "✕", "time{s} out within {soon}", "PARALLEL_QUEUE_TIMEOUT"),
    "RUN": _TimeoutWording(
        "note", "▶", "start{s} at {its} timeout, within {soon}, perhaps with fewer servers", "PQ_TIMEOUT_ACTION RUN"
    ),
    "": _TimeoutWording(
        "warn",
        "▲",
        "reach{es} {its} timeout within {soon}",
        "PQ_TIMEOUT_ACTION was not read: CANCEL ends it, RUN starts it",
    ),
}


def timeouts(reading: Reading) -> list[Alert]:
    """Return alerts about statements close to PARALLEL_QUEUE_TIMEOUT: CANCEL ends a statement, RUN starts it."""
    soon = [each for each in reading.queue if each.timeout_left is not None and each.timeout_left <= SOON]
    by_action = {action: [each for each in soon if each.timeout_action == action] for action in _AT_TIMEOUT}
    return [_timeout(found, _AT_TIMEOUT[action]) for action, found in by_action.items() if found]


def _timeout(soon: list[QueuedStatement], wording: _TimeoutWording) -> Alert:
    first = min(soon, key=lambda each: each.timeout_left or 0.0)
    words = {"s": "s", "es": "es", "its": "its"} if len(soon) == 1 else {"s": "", "es": "", "its": "their"}
    short = f"{len(soon)} queued {wording.does.format(soon=duration(SOON), **words)}"
    named = f"{first.group} {first.sql_id or first.user} in {duration(first.timeout_left)}"
    by = f", by {first.timeout_by}" if first.timeout_by else ""
    text = f"{short}, the first: {named} ({wording.why}{by})"
    return Alert(wording.state, wording.glyph, text, short, "queue_timeout", group_title(first))


def idle_holders(reading: Reading) -> list[Alert]:
    """Return alerts about idle holders of servers."""
    idle = [statement for statement in reading.running if statement.idle is not None]
    if not idle:
        return []
    held, (by_list, by_servers) = sum(statement.servers for statement in idle), _where_old(reading)
    named = _first_three([_idle_in_words(each, AGO if by_list else "") for each in idle])
    longest = max(statement.idle or 0.0 for statement in idle)
    # It may have rows of some instances only, or rows without a coordinator.
    least = "at least " if reading.why_unavailable("V$PX_SESSION") and not by_servers else ""
    keep = f"keep{'s' * (len(idle) == 1)} {least}{counted(held, 'server')}"
    short = f"{counted(len(idle), 'idle holder')}{by_list} {keep}{by_servers}"
    # The limit of their group may not count these servers: then their end gives the group no more room.
    doubt = next((why for each in idle if (why := why_not_counted(each, reading))), "")
    text = "; ".join(filter(None, (f"{short}: {named}", doubt)))
    brief = f"{counted(len(idle), 'idle holder')}{by_list}"
    return [Alert("warn", IDLE, text, short, "idle_holder", amount=longest, others=(brief,))]


def _idle_in_words(each: RunningStatement, ago: str) -> str:
    time = f"{duration(each.idle)}{ago}" if each.idle_known else "an unknown time"
    return f"{each.who}{comma_serial(each.serial)} ({each.servers}, idle {time})"


def _where_old(reading: Reading) -> tuple[str, str]:
    """Return where an alert about holders has the age: after the facts of V$SESSION, and of V$PX_SESSION.

    If neither answers, all is old.
    """
    ages = [reading.age_of(view) for view in ("V$SESSION", "V$PX_SESSION")]
    return ("", "") if all(ages) else (AGE if ages[0] else "", AGE if ages[1] else "")


def _first_three(statements: Sequence[str]) -> str:
    return ", ".join(statements[:3]) + " …" * (len(statements) > 3)


def blocked_holders(reading: Reading) -> list[Alert]:
    """Return alerts about holders of servers that wait for another session."""
    blocked = [statement for statement in reading.running if statement.blocker]
    if not blocked:
        return []
    held, (by_list, by_servers) = sum(statement.servers for statement in blocked), _where_old(reading)
    waits = ((s, session_words(s.blocker, reading, AGO if by_list else "") or s.blocker) for s in blocked)
    named = [f"{s.who}{comma_serial(s.serial)} ({s.servers}) waits for {of}" for s, of in waits]
    short = f"{counted(held, 'server')}{by_servers} held by blocked statements{by_list}"
    return [Alert("warn", "▲", f"{short}: {_first_three(named)}", short, "blocked_holder", amount=held)]


def session_words(blocker: str, reading: Reading, ago: str = "") -> str:
    """Return a blocking session in words, "" if it is not visible; its idle time was read so long `ago`."""
    found = next((each for each in reading.sessions if f"{each.inst_id}:{each.sid}" == blocker), None)
    if found is None:
        return ""
    if found.status != "INACTIVE" or found.last_call is None:
        return found.who
    return f"{found.who}, idle {duration(found.last_call)}{ago}"


def downgraded(reading: Reading) -> list[Alert]:
    """Return alerts about statements that run with fewer servers than they requested."""
    if not (running := totals.downgraded(reading.running)):
        return []
    short = f"{counted(len(running), 'statement')} downgraded"
    text = f"{short}: {_first_three([f'{s.sql_id} {s.degree}/{s.requested}' for s in running])}"
    return [Alert("warn", "▼", text, short, "downgraded", amount=len(running))]


def goals_missed(reading: Reading) -> list[Alert]:
    """Return alerts about goals of service of config.ini that were missed over the last half hour."""
    found = []
    for each in reading.goals:
        late = share(each.recent[1], each.recent[0])
        if each.state == "missed" and late is not None:
            within, wanted = duration(each.goal.seconds), f"{100 * each.goal.part:g} % wanted"
            short = f"{each.group}: {percent(100 - late)} % started within {within}, {wanted}"
            time = spelled(min(each.watched, 1800.0))
            many = f"{each.recent[0]} of {counted(sum(each.recent), 'statement')} in the last {time}"
            found.append(Alert("warn", "▲", f"Goal missed: {short} ({many})", short, "goal_missed", each.group, late))
    return found


def downgrades(reading: Reading) -> list[Alert]:
    """Return the alert about parallel operations downgraded since the last poll (V$SYSSTAT).

    An operation that is downgraded to serial, or ends between two polls, leaves no row in V$PX_SESSION.
    """
    found = [(each.name, each.delta) for each in reading.downgrades if each.delta and is_downgrade(each.name)]
    grown = summed((downgrade_in_words(name), delta) for name, delta in found)
    if not grown:
        return []
    short = f"{counted(sum(grown.values()), 'operation')} downgraded since the last poll"
    by_class = ", ".join(f"{grown[name]} {name}" for name in sorted(grown, reverse=True))  # largest loss first
    since = "" if reading.interval is None else f", {spelled(max(1, round(reading.interval)))} before"
    text = f"{short}{since}: {by_class} (V$SYSSTAT)"
    return [Alert("warn", "▼", text, short, "downgrades", amount=totals.downgrades_in_a_minute(reading))]


def servers_at_maximum(reading: Reading) -> list[Alert]:
    """Return alerts if no parallel server is left: statements that do not queue are downgraded, or fail."""
    pools = [each.servers for each in reading.header.instances if each.servers.maximum]
    full = [pool for pool in pools if pool.in_use is not None and pool.in_use >= (pool.maximum or 0)]
    if not full:
        return []
    where = ", ".join(str(pool.inst_id) for pool in full) if len(reading.header.instances) > 1 else ""
    short = f"all {sum(pool.maximum or 0 for pool in full)} parallel servers in use{' on ' if where else ''}{where}"
    text = f"{short} (PARALLEL_MAX_SERVERS): statements that do not queue are downgraded or run serially"
    return [Alert("warn", "▼", text, short, "servers_at_maximum", where)]
