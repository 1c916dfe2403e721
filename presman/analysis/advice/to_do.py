"""Step to take now, or that it ends by itself: one function over a Reading, for screens, texts and checks.

The rules. Nobody is named to be ended but an idle holder, idle for longer than a pause between two fetches, whose
servers certainly count where the head is short, and who alone or with other idle ones lets it start. What should end by
itself soon is waited for. Where servers are held by who waits for a session, one looks at that session first. Whose
work would be lost is decided by a person, on the tab that lists them. Of what only a plan can cure, it says what.
That a head starts by itself is promised only where no other queue wants the same servers.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from presman.analysis.advice.candidate import Candidate
from presman.analysis.advice.contenders import listed, want_the_same
from presman.analysis.advice.unblock import Unblock, commands_to_end, release_of, unblock
from presman.analysis.alerts.alert_rules import is_wrong, worst_first, wrong
from presman.analysis.readings.alert import Alert
from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, QueueHead, RunningStatement, group_title
from presman.base.formats import ABSENT, counted, duration, in_about, number
from presman.records.commands import Command

LONG_IDLE = 120.0
"""Seconds of idleness from which a holder is no longer taken for one that pauses between two fetches."""


class Step(Enum):
    """What kind of thing is to be done."""

    END = "end"
    LOOK = "look"
    WAIT = "wait"
    CHANGE = "change"


_FIRST = (Step.END, Step.LOOK, Step.CHANGE, Step.WAIT)


class ToDo(NamedTuple):
    """What to do: a sentence, a `short` one for narrow lines, the name (not the key) of the tab that tells more.

    `command` is what `C` copies, None where nothing is to be run; `affects` whom it hits. `subject` is the group or
    container it is about.
    """

    step: Step
    text: str
    short: str
    tab: str
    command: Command | None = None
    affects: str = ""
    subject: str = ""


def to_do(reading: Reading) -> ToDo | None:
    """Return the one thing to do now, None where nothing is wrong or nothing is known to help."""
    found = wrong(reading)
    if not is_wrong(found):
        return None
    queue = _queue(reading)
    if queue is not None and queue.step is Step.END:
        return queue
    for alert in worst_first(found):
        advise = _ADVICE.get(alert.key)
        step = queue if alert.key in _OF_THE_QUEUE else advise(alert, reading) if advise is not None else None
        if step is not None:
            return step
    return None


_OF_THE_QUEUE = frozenset({"queue_waits", "queue_timeout"})


def _queue(reading: Reading) -> ToDo | None:
    """Return what to do about the parallel queue: for the head that can be helped best, else has waited longest."""
    found = [_head(each, reading) for each in sorted(unblock(reading), key=_urgency)]
    return min(found, key=lambda each: _FIRST.index(each.step), default=None)


def _urgency(found: Unblock) -> tuple[float, float]:
    left = found.head.statement.timeout_left
    return (left if left is not None and left <= 300.0 else 300.0, -found.head.statement.waited)


def _head(found: Unblock, reading: Reading) -> ToDo:
    """Return what to do about one head."""
    head = found.head
    name, whose = _name(head), _whose(head)
    if found.blocked:
        return _look_at_blocker(max(found.blocked, key=lambda each: each.servers), reading, name)
    if found.soon is not None:
        # That what wants too much starts once nothing else runs was seen, and is promised nowhere.
        return _wait_for(found, "may start by itself" if head.cause is Cause.NEVER_FITS else "should start by itself")
    chosen = found.candidates[: found.needed]
    if chosen and all(map(_may_be_ended, chosen)):
        return _end(found, chosen)
    if head.cause is Cause.NEVER_FITS:
        text = f"{whose} wants more servers than it may have: a lower DOP or another group lets it start"
        short = f"{name}: a lower DOP or another group lets its head start"
        return ToDo(Step.CHANGE, text, short, "parallel", subject=name)
    return _patience(found)


def _name(head: QueueHead) -> str:
    return group_title(head) if head.group else "the queue"


def _whose(head: QueueHead) -> str:
    """Return the head in words; where several have waited the same, that it is one of them."""
    return f"one of the first {head.equals + 1} of {_name(head)}" if head.equals else f"the head of {_name(head)}"


def _wait_for(found: Unblock, starts: str) -> ToDo:
    """Return that one waits for who should end: promised only where nobody else could take the servers."""
    name, whose, last = _name(found.head), _whose(found.head), found.by_itself[-1]
    about, who = in_about(last.remaining), _session(last)
    ends = "ends" if found.soon is not None else "should be done"
    when = f"when {who} {ends}" if len(found.by_itself) == 1 else _last(found, who)
    if found.rivals:
        text = f"wait: {whose} may start {about}, {when}; {want_the_same(found.rivals)}"
        short = f"wait: {name} may start {about}; so may {listed(found.rivals)}"
        return ToDo(Step.WAIT, text, short, "parallel", subject=name)
    text = f"wait: {whose} {starts} {about}, {when}"
    short = f"wait: {name} {starts.partition(' by ')[0]} {about}"
    return ToDo(Step.WAIT, text, short, "parallel", subject=name)


def _last(found: Unblock, who: str) -> str:
    return f"when {who}, the last of {len(found.by_itself)}, {'ends' if found.soon is not None else 'should be done'}"


def _may_be_ended(candidate: Candidate) -> bool:
    """Whether an end throws away no work, and certainly frees what it is ended for."""
    each = candidate.statement
    idle = each.idle is not None and each.idle >= LONG_IDLE and each.certain and not each.blocker
    return idle and candidate.frees == candidate.perhaps > 0 and bool(candidate.commands)


def _end(found: Unblock, chosen: tuple[Candidate, ...]) -> ToDo:
    each, command, name = chosen[0].statement, chosen[0].commands[0], _name(found.head)
    keeps = f"idle {duration(each.idle)}, keeps {counted(each.servers, 'server')}"
    more = f" and {counted(len(chosen) - 1, 'other idle holder')}" if len(chosen) > 1 else ""
    can = "may" if found.rivals else "can"
    same = f"; {want_the_same(found.rivals)}" if found.rivals else ""
    text = f"end {_session(each)} ({keeps}){more}: then {_whose(found.head)} {can} start{same}"
    short = f"end {_session(each)}{more}: {name} {can} start"
    affects = f"{each.user or ABSENT}, {keeps}; what it has not committed is rolled back"
    return ToDo(Step.END, text, short, "parallel", command, affects, name)


def _patience(found: Unblock) -> ToDo:
    """Return that one waits, as long as that is known, or that somebody must decide whose work to end."""
    name, whose = _name(found.head), _whose(found.head)
    if found.head.cause in {Cause.BEHIND, Cause.NOT_CHOSEN}:
        text = f"wait: {whose} has the servers it wants, and starts when its turn comes"
        return ToDo(Step.WAIT, text, f"wait: the head of {name} starts when its turn comes", "parallel", subject=name)
    if found.by_itself:
        return _wait_for(found, "can start")
    text = f"nobody is idle who could let {whose} start: wait, or decide whose work to end"
    return ToDo(Step.WAIT, text, f"wait, or decide whose work to end for {name}", "parallel", subject=name)


def _session(each: RunningStatement) -> str:
    return f"{each.user or '?'} {each.inst_id}:{each.sid}"


def _look_at_blocker(held: RunningStatement, reading: Reading, name: str) -> ToDo:
    session = next((each for each in reading.sessions if f"{each.inst_id}:{each.sid}" == held.blocker), None)
    idle = f", idle {duration(session.last_call)}" if session is not None and session.status == "INACTIVE" else ""
    who = f"{session.user} {held.blocker}{idle}" if session is not None else f"session {held.blocker}"
    text = f"look at {who}: {_session(held)} waits for it and holds {counted(held.servers, 'server')}"
    return ToDo(Step.LOOK, text, f"look at {who}: {_session(held)} waits for it", "top", subject=name)


def _group(alert: Alert, reading: Reading) -> GroupReading | None:
    return next((row for row in reading.cluster_groups() if row.title == alert.subject), None)


def _blocked(_alert: Alert, reading: Reading) -> ToDo | None:
    held = [each for each in reading.running if each.blocker]
    return _look_at_blocker(max(held, key=lambda each: each.servers), reading, "") if held else None


def _shareless(alert: Alert, reading: Reading) -> ToDo | None:
    names = [row.title for row in reading.cluster_groups() if row.verdict is Verdict.ZERO_SHARE]
    listed = " and ".join(names) if len(names) < 3 else f"{names[0]} and {counted(len(names) - 1, 'other')}"
    text = f"give {listed} a share on a level that is not used up, or set another plan: this one leaves them nothing"
    return ToDo(Step.CHANGE, text, f"give {listed} a share in the plan", "plan", subject=alert.subject)


def _starved(alert: Alert, reading: Reading) -> ToDo | None:
    row = _group(alert, reading)
    if row is None or row.used is None or row.entitled is None or row.wanted is None:
        return None
    short = number(max(0.0, min(row.wanted, row.entitled) - row.used))
    text = f"look who has the CPUs: {row.title} gets {short} less than the plan gives it"
    return ToDo(Step.LOOK, text, f"look who has {row.title}'s CPUs", "cpu", subject=row.title)


def _pool(alert: Alert, reading: Reading) -> ToDo | None:
    row = _group(alert, reading)
    if row is None or row.pool is None:
        return None
    pool = row.pool
    left = "" if pool.timeout is None or pool.longest is None else duration(max(0.0, pool.timeout - pool.longest))
    until = f", the first fails in {left}" if left else ""
    waits = f"{pool.queued} wait{until}"
    text = f"look at the sessions that work in {row.title}, or let more work (ACTIVE_SESS_POOL_P1): {waits}"
    return ToDo(Step.LOOK, text, f"look at {row.title}'s sessions: {waits}", "overview", subject=row.title)


def _no_plan(alert: Alert, _reading: Reading) -> ToDo:
    text = "set a plan that divides CPU (RESOURCE_MANAGER_PLAN): all CPUs are used and none does"
    return ToDo(Step.CHANGE, text, "set a plan that divides CPU", "plan", subject=alert.subject)


def _host(alert: Alert, _reading: Reading) -> ToDo:
    text = f"look at the host: {alert.text.removeprefix('CPU: ')}"
    return ToDo(Step.LOOK, text, "look at the host: others use its CPUs", "cpu", subject=alert.subject)


def _io_limit(alert: Alert, reading: Reading) -> ToDo | None:
    held = [each for each in reading.io_limited if alert.subject in {each.name, f"{each.name} on {each.inst_id}"}]
    if not held:
        return None
    limit = held[0].nearest or "MAX_IOPS or MAX_MBPS"
    text = f"raise {limit} in {held[0].name} if it is to do more: the limit holds its I/O back"
    return ToDo(Step.CHANGE, text, f"raise {limit} in {held[0].name} if it is to do more", "io", subject=alert.subject)


def _idle(_alert: Alert, reading: Reading) -> ToDo | None:
    """Return what to do about idle holders for whom no queue waits: end one only where no server is left."""
    idle = [each for each in reading.running if each.idle is not None]
    if not idle or reading.queue:
        return None
    most = max(idle, key=lambda each: (each.servers, each.idle or 0.0))
    held = counted(most.servers, "server")
    pool = reading.header.servers
    if pool.maximum and pool.in_use >= pool.maximum and most.certain and (most.idle or 0.0) >= LONG_IDLE:
        commands = commands_to_end(most, release_of(reading))
        who = f"{_session(most)} (idle {duration(most.idle)})"
        affects = f"{most.user or ABSENT}, idle {duration(most.idle)}; what it has not committed is rolled back"
        command = commands[0] if commands else None
        return ToDo(
            Step.END, f"end {who}: it keeps {held} and none is free", f"end {who}", "parallel", command, affects
        )
    text = f"nothing yet: nobody waits for the {held} that {_session(most)} keeps idle; its user can close the cursor"
    return ToDo(Step.WAIT, text, f"nothing yet: nobody waits for {_session(most)}'s {held}", "parallel")


_ADVICE: dict[str, Callable[[Alert, Reading], ToDo | None]] = {
    "cpu_starved": _starved,
    "cpu_zero_share": _shareless,
    "session_pool": _pool,
    "cpu_without_plan": _no_plan,
    "host_shared": _host,
    "io_limit": _io_limit,
    "servers_at_maximum": _idle,
    "idle_holder": _idle,
    "blocked_holder": _blocked,
}
"""What to do by the key of the alert; of the others nothing is known to help."""
