"""Step to take now, or that the trouble ends by itself: one function of a Reading, for screens, texts and checks.

Rules: ending a session for a queue comes before everything else but a quiesce, and is shown only if :mod:`queue_step`
has proof that it helps. Critical alerts come before warnings. Among equal ones, something that the DBA can do (set a
plan, raise a limit, check a session) comes before a wait, which is added after it for the users who wait in the queue.
If only a plan can cure it, the step names the change to the plan.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from presman.analysis.advice.contenders import Unblock
from presman.analysis.advice.ending import NEARLY_DONE, Ending, ending, ends_in, objection, refusal
from presman.analysis.advice.head_step import lasting_cure, look_at_blocker, slowed_by
from presman.analysis.advice.queue_step import queue_step
from presman.analysis.advice.step import Proof, Step, ToDo
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.alert_rules import NEWS, found_now, instances_gone, is_wrong, worst_first, wrong
from presman.analysis.alerts.unchecked import unchecked
from presman.analysis.caches import once
from presman.analysis.groups.entitlement import has_spare_host
from presman.analysis.readings.container_readings import IoVerdict
from presman.analysis.readings.group_readings import ActiveSessionPool, GroupReading, Verdict
from presman.analysis.readings.reading import Alert, EarlierAdvice, Reading, UncheckedAlert
from presman.analysis.readings.statement_readings import RunningStatement, group_title
from presman.analysis.totals import downgraded
from presman.base.formats import ago, counted, duration, in_about, number, percent
from presman.base.sums import summed
from presman.rows.snapshot import GoneInstance


@once
def to_do(reading: Reading) -> ToDo | None:
    """Return the one thing to do now, None if nothing is wrong or nothing is known to help."""
    return _to_do(reading, decides=True)


@once
def to_do_for_now(reading: Reading) -> ToDo | None:
    """Return the same step, but without the sessions that a person would have to decide to end."""
    names_somebody = any(each.commands for found in unblock(reading) for each in found.candidates)
    return _to_do(reading, decides=False) if names_somebody else to_do(reading)


def _to_do(reading: Reading, *, decides: bool) -> ToDo | None:
    found = wrong(reading)
    if not is_wrong(found):
        return None
    # A quiesce comes first: it holds all users, not only those of the queue.
    queue = queue_step(reading, decides=decides)
    if queue is not None and queue.step is Step.END:
        return _with_others(queue, found)
    for state in ("bad", "warn", "note"):
        equals = [alert for alert in _lasting_first(worst_first(found), reading) if alert.state == state]
        # Something to do comes before a wait. Without either, the next lower severity may have a step.
        steps = [step for alert in equals if (step := _step(alert, queue, reading))]
        if steps:
            first = next((step for step in steps if step.step is not Step.WAIT), steps[0])
            if first is queue:
                return _with_others(first, found)
            waited = max((head.statement.waited or 0.0 for head in reading.heads), default=0.0)
            return _beside(first, queue if waited >= _LONG else None, reading)
    return None


_LONG = 60.0
"""Seconds of waiting from which the queue is mentioned, whatever else is to be done."""


def _beside(first: ToDo, queue: ToDo | None, reading: Reading) -> ToDo:
    """Return the first step; if the step for the queue is to wait, its words are added.

    The limit that the first step says to raise is not named twice.
    """
    if queue is None or first.step is Step.WAIT or queue.step is not Step.WAIT:
        return first
    beside, more = f"for the queue, {queue.short}", queue.text
    for pdb in (each for each in reading.io_limited if first.tab == "io" and each.name == first.subject):
        more = more.replace(slowed_by(pdb), "")
    text, shorter = f"{first.text}; for the queue, {more}", f"{first.text}; {beside}"
    return first._replace(text=text, between=(shorter, *first.between), beside=beside)


def _with_others(queue: ToDo, found: list[Alert]) -> ToDo:
    """Return the step for the queue, with the alerts about other things behind it where there is room for them."""
    # The step for the queue already is about the alerts of servers.
    lasting = [each for each in worst_first(found) if not _is_short_lived(each) and each.key not in _OF_THE_SERVERS]
    others = [each for each in lasting if each.state in {"bad", "warn"} or each.key == "cpu_capped"]
    if not others:
        return queue

    def beside(words: str) -> Iterator[str]:
        untold = [each.short for each in others if f" slows {each.subject}: " not in words]
        yield from (f"{words}; also {'; '.join(untold[:many])}" for many in (len(untold), 1) if untold)
        yield words

    # The effect of the step comes before other problems.
    longer = (each for each in queue.between if len(each) > len(queue.short))
    text, *between = chain.from_iterable(map(beside, (queue.text, *longer, queue.short)))
    return queue._replace(text=text, between=(*between, *queue.between))


def _is_short_lived(alert: Alert) -> bool:
    return alert.key == "cpu_starved" and alert.amount is None


def _lasting_first(found: Sequence[Alert], reading: Reading) -> list[Alert]:
    """Return alerts with short-lived ones last: those of groups that are a little below their entitlement.

    Downgrades are last, too: running statements keep their degree, so there is nothing to do about them at once.
    Instances that have been gone for a while are last, too: by then someone has found the reason, or stopped them.
    """
    old = {str(each.inst_id) for each in reading.gone if not _is_news(each, reading)}

    def is_behind(alert: Alert) -> bool:
        if alert.key == "instance_gone":
            return alert.subject in old
        return _is_short_lived(alert) or alert.key in _DOWNGRADES

    return sorted(found, key=is_behind)


def _is_news(gone: GoneInstance, reading: Reading) -> bool:
    return (reading.at - gone.last_seen).total_seconds() < NEWS


def _step(alert: Alert, queue: ToDo | None, reading: Reading) -> ToDo | None:
    """Return the step for an alert, None if nothing is known to help; `queue` is the step for the queue."""
    if alert.key in _OF_THE_QUEUE:
        return _cause_of(alert, reading) or queue or _counted_queue(reading)
    for old in reading.unchecked:
        if (old.alert.key, old.alert.subject) == (alert.key, alert.subject):
            return _step_before(old, reading)
    step = _advised(alert.bare(), reading)
    return step.aged(alert.age) if step is not None else None


def _advised(alert: Alert, reading: Reading) -> ToDo | None:
    advise = _ADVICE.get(alert.key)
    return advise(alert, reading) if advise is not None else None


def _step_before(old: UncheckedAlert, reading: Reading) -> ToDo | None:
    """Return the step from when an alert was last checked, with its age; no session is ended because of old figures."""
    found = old.advice
    if found is None:
        return None
    age = (reading.at - old.at).total_seconds()
    text = f"{found.text} ({ago(age)}: {old.why})"
    between = (f"{found.short.partition(', ')[0]} ({ago(age)})",)
    step = ToDo(Step(found.step), "", found.short, found.tab, subject=old.alert.subject, between=between)
    return step.aged(age)._replace(text=text)


def with_unchecked(before: Reading | None, reading: Reading) -> Reading:
    """Return a reading with those alerts of the previous one that it cannot check, and their steps at that time."""
    if before is None or before.target != reading.target:
        return reading
    if reading.lists_queue() and not (reading.unseen or reading.lacks_values() or before.unchecked):  # all answered
        return reading

    def advise(alert: Alert) -> EarlierAdvice | None:
        step = _advised(alert, before)
        if step is None or step.step is Step.END:
            return None
        return EarlierAdvice(step.step.value, step.text, step.short, step.tab)

    found = found_now(before), found_now(reading)
    return replace(reading, unchecked=unchecked(before, reading, found, before.unchecked, advise))


def _counted_queue(reading: Reading) -> ToDo | None:
    """Return the step to check the view that lists queued statements, if another view only counts them."""
    queued = sum(reading.queued_by_group().values())
    if not queued or reading.queue:
        return None
    which = "which statement is queued" if queued == 1 else f"which {counted(queued, 'statement')} are queued"
    text = f"check why V$SESSION does not show {which}: {reading.why_unknown('queue')}"
    return ToDo(Step.LOOK, text, "check V$SESSION: it does not show which statements are queued", "parallel")


def _cause_of(alert: Alert, reading: Reading) -> ToDo | None:
    """Return the step for the gone instance that alone makes the head of a queue too large; None without one.

    That holds only while the instance's end is recent.
    """
    fits_with = next((each.fits_with for each in reading.heads if group_title(each) == alert.subject), ())
    news = {str(each.inst_id) for each in reading.gone if each.inst_id in fits_with and _is_news(each, reading)}
    return next((_gone(each, reading) for each in instances_gone(reading) if each.subject in news), None)


_OF_THE_QUEUE = frozenset({"queue_waits", "queue_timeout"})
_DOWNGRADES = frozenset({"downgraded", "downgrades"})
_OF_THE_SERVERS = _OF_THE_QUEUE | _DOWNGRADES | {
    "goal_missed", "idle_holder", "blocked_holder", "servers_at_maximum", "instance_gone",
    "queue_length", "servers_used",
}  # fmt: skip
"""Alerts about the queue, holders of servers, and the number of servers: the step for the queue is about these."""


def _group(alert: Alert, reading: Reading) -> GroupReading | None:
    return next((row for row in reading.cluster_groups() if row.title == alert.subject), None)


def _blocked(_alert: Alert, reading: Reading) -> ToDo | None:
    held = [each for each in reading.running if each.blocker]
    return look_at_blocker(max(held, key=lambda each: each.servers), reading, "") if held else None


def _shareless(alert: Alert, reading: Reading) -> ToDo | None:
    rows = [row for row in reading.cluster_groups() if row.verdict is Verdict.ZERO_SHARE]
    row = next((row for row in rows if row.title == alert.subject), rows[0])
    names = [row.title, *(each.title for each in rows if each is not row)]
    named = " and ".join(names) if len(names) < 3 else f"{names[0]} and {counted(len(names) - 1, 'other')}"
    least = max(_least_share(each) for each in rows)
    share = f"or more{' each' * (len(names) > 1)}{_source_of_share(row, reading, least)}"
    nothing = "" if row.level is None else f"level {row.level} is guaranteed nothing; "
    text = f"give {named} {least} % of the CPUs {share}, or set another plan: {nothing}{_what_a_share_is(row, least)}"
    return ToDo(Step.CHANGE, text, f"give {named} {least} % {share}", "plan", subject=alert.subject)


def _starved(alert: Alert, reading: Reading) -> ToDo | None:
    group = _group(alert, reading)
    row = reading.judged(group) if group is not None else None
    if row is None or row.used is None or row.entitled is None:
        return None
    where = f" on instance {row.inst_id}" if row.inst_id else ""
    due = f"{number(row.used)} of {number(row.entitled)} CPUs that it is entitled to{where}"  # the figures of its alert
    text = f"check who uses the CPUs: {row.title} gets {due}"
    return ToDo(Step.LOOK, text, f"check who uses {row.title}'s CPUs", "cpu", subject=row.title)


def _pool(alert: Alert, reading: Reading) -> ToDo | None:
    row = _group(alert, reading)
    if row is None or row.pool is None:
        return None
    waits = _pool_waits(row.pool, row.sessions.pool_timeouts)
    if row.in_plan and not row.share:  # by the plan: whether others take all CPU changes from poll to poll
        least = _least_share(row)
        more = f"{_what_a_share_is(row, least)}; a larger pool gives no CPU"
        source = _source_of_share(row, reading, least)
        text = f"give {row.title} {least} % of the CPUs or more{source}: {waits}; {more}"
        short = f"give {row.title} {least} %{source}: {waits}"
        return ToDo(Step.CHANGE, text, short, "plan", subject=row.title)
    text = f"look at the active sessions of {row.title}{row.pool.where}, or raise ACTIVE_SESS_POOL_P1: {waits}"
    return ToDo(Step.LOOK, text, f"look at {row.title}'s sessions: {waits}", "overview", subject=row.title)


def _pool_waits(pool: ActiveSessionPool, failed: int | None) -> str:
    """Return how many sessions wait for a pool and have failed at its timeout, and when the next one fails."""
    left = "" if pool.timeout is None or pool.longest is None else duration(max(0.0, pool.timeout - pool.longest))
    until = f", the {'next' if failed else 'first'} fails in {left}" if left else ""
    so_far = f", {failed} {'has' if failed == 1 else 'have'} failed" if failed else ""
    return f"{pool.queued} wait{'s' * (pool.queued == 1)}{so_far}{until}"


_SHARE_STEP = 5
"""Percent of the CPUs: a share that lets a group without any go on, and costs the others no more than this."""


def _least_share(row: GroupReading) -> int:
    """Return the percent of the CPUs to give to a group without a share: in steps, and more than it uses now."""
    used = 100 * (row.used or 0.0) / row.capacity if row.capacity and not row.doubt else 0.0
    return min(100 - _SHARE_STEP, _SHARE_STEP * (1 + int((used + 1) // _SHARE_STEP)))


def _source_of_share(row: GroupReading, reading: Reading, least: int) -> str:
    """Return the level on which a group without a share could have one, and its source: unallocated, else the largest.

    A level divides the CPU that earlier levels leave, so if these leave nothing, a part of it is nothing.
    """
    others = [each for each in reading.cluster_groups() if each.con_id == row.con_id and each.share]
    most = max(others, key=lambda each: each.share, default=None)
    given = sum(each.share for each in reading.cluster_groups())
    if most is None:
        return _on_level(row)
    if row.level is None and given <= 1 - least / 100:
        return f", of the {percent(100 * (1 - given))} % that the plan leaves unallocated"
    if most.share < least / 100:
        return _on_level(row)
    return f"{_on_level(row)}, of the {percent(100 * most.share)} % of {most.title}"


def _on_level(row: GroupReading) -> str:
    return "" if row.level is None else " on level 1" if row.level == 2 else f" on a level before level {row.level}"


def _what_a_share_is(row: GroupReading, least: int) -> str:
    """Return the new share in CPUs, beside the CPUs that a group has without it and the CPUs that it wants."""
    wants = "" if row.wanted is None else f", {row.title} wants {number(row.wanted)}"
    has = f", it uses {number(row.used)} now" if least > _SHARE_STEP else ""
    return f"{least} % are {number(least / 100 * row.capacity)} CPUs{has}{wants}"


def _quiesced(_alert: Alert, reading: Reading) -> ToDo | None:
    found = reading.quiesce
    if found is None:
        return None
    by = found.by or found.was_by
    asking = f"ask {by[0]}" if by else "find out who quiesced the database"
    held = counted(found.waiting, "session") if found.waiting else "other users"
    more = f"{asking}{'' if by else ' and'} whether it may end"
    text = f"{more}: ALTER SYSTEM UNQUIESCE, by SYS or SYSTEM, lets {held} in"
    return ToDo(Step.LOOK, text, f"{asking}: ALTER SYSTEM UNQUIESCE lets {held} in", "top")


def _gone(alert: Alert, _reading: Reading) -> ToDo:
    """Return the step to check the instance that is gone: only its own log shows whether it was stopped."""
    what, then = f"find out why {alert.short.partition(',')[0]}", "start it if nobody stopped it"
    text = f"{what}, and {then}: its alert log says why; srvctl status database shows what runs"
    return ToDo(Step.LOOK, text, f"{what}; {then}", "events", subject=alert.subject)


def _no_plan(alert: Alert, _reading: Reading) -> ToDo:
    inside = bool(alert.subject) and not alert.subject.isdecimal()  # an alert about containers, not about an instance
    set_it = f"set a plan that divides CPU{f' inside {alert.subject}' if inside else ''}"
    why = alert.short if inside else "no plan divides the CPUs, and all are in use"
    return ToDo(Step.CHANGE, f"{set_it} (RESOURCE_MANAGER_PLAN): {why}", set_it, "plan", subject=alert.subject)


def _host(alert: Alert, _reading: Reading) -> ToDo:
    text = f"look at the host: {alert.text.removeprefix('CPU: ')}"
    return ToDo(Step.LOOK, text, "look at the host: other processes use its CPUs", "cpu", subject=alert.subject)


def _minimum(alert: Alert, reading: Reading) -> ToDo:
    """Return how more of each CPU_MIN_COUNT can be kept; CPUs that a container does not use go to others anyway."""
    there = {each.inst_id for each in reading.missed_minimums}
    spare = any(has_spare_host(each) for each in reading.header.instances if each.inst_id in there)
    short = "raise CPU_COUNT" if spare else "add CPUs, or decide whose CPU_MIN_COUNT to lower"
    why = f"{alert.short}{', and the host has CPUs to spare' * spare}"
    return ToDo(Step.CHANGE, f"{short}: {why}", short, "plan", subject=alert.subject)


def _io_limit(_alert: Alert, reading: Reading) -> ToDo | None:
    """Return which limit to raise: that of the container with the longest queue, else with the longest waits."""
    held = [each for each in reading.io_limited if each.verdict is IoVerdict.THROTTLED]
    if not held:
        return None
    queued = _queued_in_containers(reading)
    most = max(held, key=lambda each: (queued[each.con_id], each.io_throttle_ms or 0.0))
    raised = f"raise {most.held_by or 'MAX_IOPS or MAX_MBPS'} in {most.name} if it needs more I/O"
    many = sum(each.con_id == most.con_id for each in reading.queue) if queued[most.con_id] else 0
    waits = f", and {many} of its statements wait{'s' * (many == 1)} in the queue" if many else ""
    text = f"{raised}: the limit throttled it in the last full minute{waits}"
    return ToDo(Step.CHANGE, text, raised, "io", subject=most.name)


def _queued_in_containers(reading: Reading) -> Counter[int]:
    """Return the statements queued in each container: the mean of the last full minute, like waits for I/O.

    Without that it is the queue now: a statement that has just been queued may start before a DBA decides, so it does
    not count.
    """
    lasting = Counter(each.con_id for each in reading.queue if each.waited is None or each.waited >= NEARLY_DONE)
    minutes = ((row.con_id, row.px_queued_minute) for row in reading.cluster_groups())
    means = summed((con_id, mean) for con_id, mean in minutes if mean is not None)
    return Counter({**lasting, **{con_id: int(mean) for con_id, mean in means.items()}})


def _idle(_alert: Alert, reading: Reading) -> ToDo | None:
    """Return the step about idle holders that no queue waits for: end one only if no server is left."""
    idle = [each for each in reading.running if each.idle is not None]
    if not idle or reading.queue or reading.why_unknown("queue"):
        return None
    # If nothing speaks against ending some of them, only these are considered.
    idle = [each for each in idle if not objection(each)] or idle
    most = max(idle, key=lambda each: (each.servers, each.idle or 0.0))
    held = counted(most.servers, "server")
    if reading.header.servers.left() == 0 and not objection(most) and not reading.just_gone:
        holder = f"{most.who} (idle {most.idle_time})"
        affects = f"{most.user or most.who}, idle {most.idle_time}; what it has not committed is rolled back"
        commands = ending(most, reading).commands[:1]
        text = f"end {holder}: it keeps {held} and none is free{lasting_cure(reading)}"
        return ToDo(Step.END, text, f"end {holder}", "parallel", commands, affects, proven=(Proof.SERVERS_FREED,))
    text = f"nothing yet: {most.who} is idle with {held}, but no statement wants them; its user can close the cursor"
    return ToDo(Step.WAIT, text, f"nothing yet: no statement waits for {most.who}'s {held}", "parallel")


def _downgraded(_alert: Alert, reading: Reading) -> ToDo:
    """Return the step to wait: a statement that was downgraded keeps its degree until it ends."""
    found = downgraded(reading.running)
    if not found:
        short = "nothing yet: what was downgraded keeps its servers until it ends"
        return ToDo(Step.WAIT, f"{short}; if it goes on, see who takes the servers", short, "parallel")
    most = max(found, key=lambda each: each.downgraded)
    short = f"nothing yet: {most.who} keeps its DOP {most.degree} of {most.requested} until it ends"
    return ToDo(Step.WAIT, f"{short}; only a new run can have more servers", short, "parallel", subject=most.who)


_ADVICE: dict[str, Callable[[Alert, Reading], ToDo | None]] = {
    "cpu_starved": _starved,
    "cpu_zero_share": _shareless,
    "cpu_minimum": _minimum,
    "quiesced": _quiesced,
    "instance_gone": _gone,
    "session_pool": _pool,
    "cpu_without_plan": _no_plan,
    "host_shared": _host,
    "io_limit": _io_limit,
    "servers_at_maximum": _idle,
    "idle_holder": _idle,
    "blocked_holder": _blocked,
    "downgraded": _downgraded,
    "downgrades": _downgraded,
}
"""What to do by the key of the alert; for other alerts nothing is known to help."""


def offered(row: RunningStatement, reading: Reading) -> Ending:
    """Return the offer to end a running statement: commands if DO or TO START IT proves that its end helps.

    Otherwise return why there are none, as given by the head that it could help most.
    """
    found, step = unblock(reading), to_do(reading)
    own = [each for way in found for each in way.candidates if each.statement.executing() == row.executing()]
    answers = [each.commands for each in own if each.commands]
    commands = ending(row, reading).commands
    if step is not None and any(each in step.commands for each in commands):
        answers.append(commands)
    if answers:
        return Ending(answers[0])
    why = refusal(row) or next((each.why_not for each in sorted(own, key=lambda each: -each.frees)), "")
    return Ending((), why or next(_no_reason(row, found), ""))


def _no_reason(row: RunningStatement, found: Sequence[Unblock]) -> Iterator[str]:
    """Yield why there is no reason to end a statement that is no answer."""
    if row.blocker:
        yield f"it waits for {row.blocker}: look at that session first"
    if (left := ends_in(row)) is not None:
        yield f"it should end by itself {in_about(left)}"
    yield "no queue waits for the servers it holds" if found else "no queue waits for its servers"
