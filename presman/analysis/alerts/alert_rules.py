"""Alert rules: one list, for screens, texts, checks and event counts.

This module has the rules of CPU (less than is due, a limit, no plan, a shared host), rules of other causes that hold
sessions back (a quiesced database, session pools, I/O limits, a plan change), and the all-clear if no rule reports
anything. The rules of the parallel queue are in `queue_alerts.py`.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from math import inf
from typing import cast

from presman.analysis.alerts import queue_alerts
from presman.analysis.alerts.rule_book import RULE_BOOK, dated, silent_views
from presman.analysis.caches import once
from presman.analysis.facts.plan_book import OTHER_GROUPS
from presman.analysis.groups.entitlement import lacks_little
from presman.analysis.readings.container_readings import IoVerdict, MissedMinimum
from presman.analysis.readings.group_readings import LIMITED, ActiveSessionPool, GroupReading, Verdict
from presman.analysis.readings.reading import AGE, Alert, InstanceReading, Quiesce, Reading, Severity, instance_name
from presman.analysis.view_availability import LONG
from presman.base.formats import clock, counted, duration, listed, number, spelled
from presman.base.sums import added, sum_of_known, summed
from presman.rows.session_state import QUIESCE_PLAN, QUIESCE_WAIT

FULL = 0.95
"""The part of the CPUs from which they count as all in use."""

_MUCH = 0.1
"""The part of the CPUs from which waiting for that much CPU is reported."""

OTHERS = 0.25
"""The part of a host's CPUs that other processes must use to be named if they do not slow down this database."""


_KEYS: Mapping[Verdict, str] = {
    Verdict.STARVED: "cpu_starved",
    Verdict.SHORT: "cpu_starved",
    Verdict.ZERO_SHARE: "cpu_zero_share",
    Verdict.CAPPED: "cpu_capped",
    Verdict.NEAR_LIMIT: "cpu_capped",
}
"""A nearly starved group is reported by the same rule as a starved one, with lower severity."""


def groups_held_off(reading: Reading) -> list[Alert]:
    """Return alerts about groups that are below their entitlement, nothing at all, or are held by a limit."""
    held_off = [row for row in reading.cluster_groups() if row.verdict in _KEYS]
    return [_group(reading.judged(row), row.verdict) for row in held_off]


def _group(group: GroupReading, verdict: Verdict) -> Alert:
    wants = f"; wants {number(group.wanted)}" if group.wanted is not None else ""
    where = f" on instance {group.inst_id}" if group.inst_id else ""
    if group.limited_by:
        cpus = f"{number(group.limit_used)} of {number(group.limit_allowed)} CPUs{where}"
        short = f"{group.title}: {group.limited_by} {verdict.value}, {cpus}"
        wants = f"; the group uses {number(group.used)}{wants}"
    else:
        short = f"{group.title} {_words(group)}{where}"
    # A nearly starved group is less severe, whatever thresholds are set.
    amount = None if group.verdict is Verdict.SHORT else group.throttled_percent
    state = cast(Severity, verdict.level)
    return Alert(state, verdict.glyph, f"CPU: {short}{wants}", short, _KEYS[verdict], group.title, amount)


def _words(group: GroupReading) -> str:
    """Return the verdict on a group's CPU, with the CPUs it uses, as shown after its name."""
    if group.verdict is Verdict.ZERO_SHARE:
        return f"gets only what others leave, {number(group.used)} CPUs"
    most = group.limit if group.verdict in LIMITED else group.entitled
    words, cpus = str(group.verdict.value), f"{number(group.used)} of {number(most)} CPUs"
    if group.verdict is Verdict.SHORT:
        used, due = group.used or 0.0, min(group.wanted or 0.0, group.entitled or 0.0)
        words = f"is {'a little ' if lacks_little(used, due) else ''}below its entitlement"
    return f"{words}, {cpus}"


def cpu_without_plan(reading: Reading) -> list[Alert]:
    """Return alerts if all CPUs are in use and no plan divides them: those of an instance, or a container's due."""
    found = _containers_without_plan(reading)
    for each in reading.header.instances:
        used = _used(reading, each.inst_id)
        may_be_divided = each.cpu_managed == "ON" or is_plan_unknown(each, reading)
        if may_be_divided or used is None or not each.num_cpus or used < FULL * each.num_cpus:
            continue
        short = f"{number(used)} of {number(each.num_cpus)} CPUs used{_where(each, reading)}, no plan{AGE} divides them"
        text = f"CPU: {short}: sessions that ask for most get most"
        found.append(Alert("warn", "▲", text, short, "cpu_without_plan", _subject(each, reading)))
    return found


def is_plan_unknown(instance: InstanceReading, reading: Reading) -> bool:
    """Whether it is not known if a plan divides the CPUs of an instance, because V$RSRC_PLAN does not show it."""
    return not instance.cpu_managed and bool(instance.plan or reading.why_unavailable("V$RSRC_PLAN"))


def _containers_without_plan(reading: Reading) -> list[Alert]:
    """Return one note for all of them: between containers the CDB plan divides.

    They are the pluggable databases that use all CPU they are entitled to and have no group but OTHER_GROUPS.
    """
    groups = [row for row in reading.cluster_groups() if row.in_plan and row.container]
    named = Counter(row.con_id for row in groups)
    alone = (row for row in groups if row.name == OTHER_GROUPS and named[row.con_id] == 1 and not row.doubt)
    full = {Verdict.CONTENDED, Verdict.CAGED, *LIMITED}
    rows = [row for row in alone if row.verdict in full and (row.used or 0.0) >= FULL * (row.entitled or inf)]
    if not rows:
        return []
    names, one = listed([row.container for row in rows]), len(rows) == 1
    use = f"use{'s' * one} all {'it is' if one else 'they are'} entitled to"
    short = f"no plan{AGE} divides CPU inside {names}, which {use}"
    waited = number(sum(row.waiting or 0.0 for row in rows))
    text = f"CPU: {short}: sessions wait for {waited} more, and all sessions share equally"
    return [Alert("note", "·", text, short, "cpu_without_plan", names)]


def host_shared(reading: Reading) -> list[Alert]:
    """Return alerts about full hosts that also work for others."""
    found = []
    for each in reading.header.instances:
        used, here = _used(reading, each.inst_id), reading.instance_groups(each.inst_id)
        if used is None or each.host_busy is None or not each.host_cpus:
            continue
        others, beside = each.host_busy * each.host_cpus - used, _used_beside(reading, each)
        held_up = any(row.verdict is Verdict.HOST for row in here)
        if not held_up and (each.host_busy < FULL or others - beside < OTHERS * each.host_cpus):
            continue
        short = f"{number(others)} of the host's {each.host_cpus:.0f} CPUs are used by others{_where(each, reading)}"
        of_these = f"{number(min(beside, others))} of them by other instances of this database"
        limited = f"{of_these}, each with a plan of its own" if beside else "no plan of this database limits them"
        text = f"CPU: the host is {100 * each.host_busy:.0f} % busy, {short}: {limited}"
        found.append(Alert("warn", "▲", text, short, "host_shared", _subject(each, reading)))
    return found


def _used_beside(reading: Reading, instance: InstanceReading) -> float:
    """Return the CPUs that other instances of the database are known to use on the host of an instance."""
    beside = [each for each in reading.header.instances if each.host and each.host == instance.host]
    return sum_of_known(_used(reading, each.inst_id) for each in beside if each.inst_id != instance.inst_id) or 0.0


def _used(reading: Reading, inst_id: int) -> float | None:
    """Return the CPUs that all groups of an instance use, None if not known or impossible.

    A group without a row in V$RSRC_CONSUMER_GROUP uses none.
    """
    groups = [group for group in reading.instance_groups(inst_id) if group.is_listed()]
    return added(None if group.doubt else group.used for group in groups) if groups else None


def _where(at: InstanceReading | MissedMinimum, reading: Reading) -> str:
    return f" on instance {at.inst_id}" if len(reading.header.instances) > 1 else ""


def _subject(instance: InstanceReading, reading: Reading) -> str:
    return str(instance.inst_id) if len(reading.header.instances) > 1 else ""


NEWS = 600.0
"""Seconds for which a change of plan is shown as an alert, and for which recent events come before older ones."""

STARTED_LATELY = 3600.0
"""Seconds for which the start of an instance is shown as an alert."""


def quiesced(reading: Reading) -> list[Alert]:
    """Return the alert that only SYS and SYSTEM get in, with the session that quiesces and the number that wait."""
    found = reading.quiesce
    if found is None:
        return []
    state = _QUIESCE_WORDS.get(found.state, f"quiesced, or being quiesced (plan {QUIESCE_PLAN})")
    quiescers, waited = listed((found.by or found.was_by)[:2]), "waits" if found.by else "was seen to wait"
    by = f" (by {quiescers}, who {waited} for `{QUIESCE_WAIT}`)" if quiescers else ""
    first = "" if found.longest is None else f", the first for {duration(found.longest)}"
    waits = "" if found.waiting is None else f"; {counted(found.waiting, 'session')} wait{'s' * (found.waiting == 1)}"
    short = f"the database is {state}{f' by {quiescers}' * bool(quiescers)}{waits}"
    whom = "them" if found.waiting else "other users"
    text = f"The database is {state}{by}{waits}{first}: ALTER SYSTEM UNQUIESCE lets {whom} in"
    return [Alert("bad", "✕", text, short, "quiesced", age=_quiesce_age(found, reading))]


def _quiesce_age(found: Quiesce, reading: Reading) -> float:
    """Return the age of the newest answer that shows the quiesce."""
    shows = {"V$SESSION": found.by, "V$RSRC_PLAN": reading.header.plan == QUIESCE_PLAN, "V$INSTANCE": found.state}
    ages = (reading.age_of(view) or 0.0 for view, is_shown in shows.items() if is_shown)
    return min(ages, default=reading.age_of("V$SESSION") or 0.0)


_QUIESCE_WORDS = {"QUIESCING": "being quiesced", "QUIESCED": "quiesced"}


def session_pools(reading: Reading) -> list[Alert]:
    """Return alerts about sessions that wait for the active session pool of their group."""
    groups = ((group, group.pool) for group in reading.cluster_groups())
    return [_pool(group, pool, reading) for group, pool in groups if pool is not None and pool.queued]


def _pool(group: GroupReading, pool: ActiveSessionPool, reading: Reading) -> Alert:
    wait = "" if pool.longest is None else f", the first for {duration(pool.longest)}"
    short = f"{group.title}: {pool.queued} wait{'s' * (pool.queued == 1)} for the session pool{wait}"
    full = [row for row in reading.groups if row.inst_id in pool.waits_on and row.title == group.title] or [group]
    active, most = added(row.active_sessions for row in full), added(row.pool and row.pool.allowed for row in full)
    allowed = "" if most is None else f" of {most} allowed"
    work = "" if active is None else f"; {active}{allowed} active{pool.where} (ACTIVE_SESS_POOL_P1)"
    failed, end = group.sessions.pool_timeouts, pool.end
    end += f"; {counted(failed, 'call')} failed at it since the plan was activated" if failed else ""
    text = f"{short}{AGE}{work}; {end}"
    if pool.near_timeout:  # bad whatever the threshold
        return Alert("bad", "✕", text, short, "session_pool", group.title)
    return Alert("warn", "▲", text, short, "session_pool", group.title, pool.longest)


def io_limits(reading: Reading) -> list[Alert]:
    """Return alerts about containers that MAX_IOPS or MAX_MBPS hold back."""
    found = []
    several = len(reading.header.instances) > 1
    for each in reading.io_limited:
        if each.verdict is IoVerdict.THROTTLED:
            where = f" on instance {each.inst_id}" if several else ""
            held = f"{each.io_throttle_ms or 0.0:.1f} ms each"
            short = f"{each.name}{where}: I/O throttled {held} by {each.held_by or 'its limits'}"
            text = f"{each.name}{where} I/O: {each.sentence}".removesuffix(".")
            subject = f"{each.name} on {each.inst_id}" if several else each.name
            found.append(Alert("warn", "▲", text, short, "io_limit", subject))
    return found


def minimums_missed(reading: Reading) -> list[Alert]:
    """Return alerts about containers that wait for CPU below their CPU_MIN_COUNT: more of it is set than there is."""
    several = len(reading.header.instances) > 1
    found = []
    for each in sorted(reading.missed_minimums, key=lambda each: each.used - each.least):
        short = f"{each.words}{_where(each, reading)}"
        promised = f"CPU_MIN_COUNT of all open containers adds up to {each.minima:g} of {each.capacity:g} CPUs"
        subject = f"{each.name} on {each.inst_id}" if several else each.name
        lacks = 100 * (1 - each.used / each.least)
        found.append(Alert("warn", "▲", f"CPU: {short}: {promised}", short, "cpu_minimum", subject, lacks))
    return found


def instances_gone(reading: Reading) -> list[Alert]:
    """Return alerts about instances that were there within the last hour and are gone, with their CPUs and servers.

    An instance that was never seen is known by the servers that are still held for its statements.
    """
    held = summed((row.inst_id, row.servers) for row in reading.running if row.orphaned)
    seen, found = {each.inst_id: each for each in reading.gone}, []
    for inst_id in dict.fromkeys((*seen, *held)):
        short, at, away = f"{instance_name(inst_id)} is gone", "", []
        if (last := seen.get(inst_id)) is not None:
            ago = duration((reading.at - last.last_seen).total_seconds())
            named = instance_name(inst_id, last.instance_name)
            is_new = inst_id in reading.just_gone
            short = f"{f'no view shows {named}' if is_new else f'{named} is gone'}, last seen {ago} ago"
            gone = "its CPUs and parallel servers are gone with it"
            at, away = f", at {clock(last.last_seen)}", [f"if it is gone, {gone}" if is_new else gone]
        if inst_id in held:
            away.append(f"{counted(held[inst_id], 'server')} still held on other instances for its statements")
        text = f"{short[:1].upper()}{short[1:]}{at}: {'; '.join(away)}"
        found.append(Alert("warn", "▲", text, short, "instance_gone", str(inst_id)))
    return found


def instances_started(reading: Reading) -> list[Alert]:
    """Return alerts about instances started within the last hour: their counters since startup are young, too."""
    found = []
    for each in reading.header.instances:
        if each.started is not None and each.uptime is not None and each.uptime < STARTED_LATELY:
            short = f"{instance_name(each.inst_id, each.name)} was started {duration(each.uptime)} ago"
            text = f"I{short[1:]}, at {clock(each.started)}: its counters since startup begin there"
            found.append(Alert("note", "┆", text, short, "instance_started", str(each.inst_id)))
    return found


def plan_switched(reading: Reading) -> list[Alert]:
    """Return the alert that the plan changed recently; no view shows who did it, except for a scheduler's window."""
    found = reading.switched
    ago = (reading.at - found.at).total_seconds() if found is not None else NEWS
    if found is None or not 0 <= ago < NEWS:
        return []
    plan, before = found.plan or "no plan", found.before or "no plan"
    short = f"plan switched {duration(ago)} ago: {before} to {plan}"
    by = f"by the window {found.window}" if found.window else "no view shows who set it"
    return [Alert("note", "┆", f"Plan switched {duration(ago)} ago, at {clock(found.at)}: {before} to {plan}, {by}",
                  short, "plan_switched", plan)]  # fmt: skip


RULES: tuple[Callable[[Reading], list[Alert]], ...] = (
    quiesced,
    instances_gone,
    queue_alerts.heads,
    queue_alerts.counted_only,
    queue_alerts.timeouts,
    queue_alerts.goals_missed,
    groups_held_off,
    minimums_missed,
    session_pools,
    cpu_without_plan,
    host_shared,
    io_limits,
    queue_alerts.servers_at_maximum,
    queue_alerts.idle_holders,
    queue_alerts.blocked_holders,
    queue_alerts.downgraded,
    queue_alerts.downgrades,
    instances_started,
    plan_switched,
)
"""Each returns its findings for a reading; its alerts have the rule's key."""

_AT_TIMEOUTS = frozenset({"queue_timeout", "session_pool"})
_RANK = {"bad": 0, "warn": 1, "good": 2, "note": 3}


def wrong(reading: Reading) -> list[Alert]:
    """Return the problems of the database and facts worth knowing, in the order of the rules.

    If config.ini has thresholds, these are the alerts that they gave when the reading was judged.
    """
    return by_rules(reading) if reading.alerts is None else list(reading.alerts)


def by_rules(reading: Reading) -> list[Alert]:
    """Return the findings of the rules, whatever thresholds are set."""
    return list(_found(reading))


@once
def _found(reading: Reading) -> tuple[Alert, ...]:
    kept = (each.shown(reading.at) for each in reading.unchecked)
    return (*(dated(each, reading) for each in found_now(reading)), *kept)


@once
def found_now(reading: Reading) -> tuple[Alert, ...]:
    """Return the findings of the rules, without those that only earlier polls could make."""
    return tuple(alert for rule in RULES for alert in rule(reading))


def is_wrong(found: list[Alert]) -> bool:
    """Return whether any alert needs attention: notes alone do not."""
    return any(alert.state in {"bad", "warn"} for alert in found)


def worst_first(found: list[Alert]) -> tuple[Alert, ...]:
    """Return the alerts worst first; idle holders, which can be ended at once, come right after the worst.

    Among equally bad ones, those that fail within minutes come first: calls that run into a timeout.
    """
    ranked = sorted(found, key=lambda alert: (_RANK.get(alert.state, 4), alert.key not in _AT_TIMEOUTS))
    idle = [alert for alert in ranked if alert.glyph == queue_alerts.IDLE]
    others = [alert for alert in ranked if alert.glyph != queue_alerts.IDLE]
    return (*others[:1], *idle, *others[1:])


# ---- All-clear: the problems known to be absent, the views that show it, and what is not known.

_CLEARED_BY = {
    "queue_waits": "queue",
    "cpu_starved": "starved group",
    "cpu_zero_share": "starved group",
    "cpu_minimum": "starved group",
    "downgraded": "downgrade",
    "downgrades": "downgrade",
}
"""The problem that an alert of a rule shows, even if a threshold made the alert a note."""


def all_clear(reading: Reading) -> list[Alert]:
    """Return the problems known to be absent, with the time and views; views without an answer are left out."""
    alerted = {_CLEARED_BY[alert.key] for alert in by_rules(reading) if alert.key in _CLEARED_BY}
    alerted |= {"queue"} if reading.queue else set()
    unchecked = _unchecked(reading)
    known = [each for each in reading.basis if not each.lacking and each.what not in alerted | unchecked]
    if not known:
        return []
    where = f" in {reading.header.container}" if reading.header.container else ""
    where += f" on instance {reading.header.instances[0].inst_id}" if reading.part and reading.header.instances else ""
    whole = len(known) == len(reading.basis) and not unchecked
    views_read = tuple(dict.fromkeys(view for each in known for view in each.views))
    views = ", ".join(views_read)
    mean = " on average" * ((reading.interval or 0.0) > LONG)
    in_words = {"queue": "no queue now", "starved group": f"no starved group{mean}"}
    absent = ", ".join(in_words.get(each.what, f"no {each.what}") for each in known)
    if reading.interval and any(each.what != "queue" for each in known):  # the others need two polls
        absent += f" in {spelled(max(1, round(reading.interval)))}"
    names = [each.what for each in known]
    if busy := _pressed(reading):  # the plan may be met while everything is slow
        brief = short = busy
        text = f"{busy}; {f'{where.lstrip()}: ' * bool(where)}{absent}"
    elif whole:
        brief = f"Nothing is wrong now{where}"
        short = f"Nothing is wrong now{where}: no {listed(names, 'or')}"
        text = f"Nothing is wrong{where}: {absent}"
    else:
        text, short = absent.capitalize() + where, ", ".join(f"no {name}" for name in names).capitalize() + where
        brief = short
    between = (f"{brief} (by {views})", f"{short} (by {counted(len(views_read), 'view')})")
    return [Alert("note" if busy else "good", "▬" if busy else "●", f"{text} (by {views}).", short, others=between)]


def _unchecked(reading: Reading) -> set[str]:
    """Return the problems that the rules without a view would show now; their keys where it has no name."""
    rules = (rule.key for rule in RULE_BOOK.values() if not rule.asked)
    return {_CLEARED_BY.get(key, key) for key in rules if silent_views(key, reading)}


def _pressed(reading: Reading) -> str:
    """Return the instances with all CPUs in use while much more is waited for, in words; "" without any."""
    full = _full(reading)
    if not full:
        return ""
    numbers = f" of instance{'s' * (len(full) > 1)} {listed([str(each.inst_id) for each in full])}"
    where = numbers if len(reading.header.instances) > 1 else ""
    cpus, more = sum(each.num_cpus or 0.0 for each in full), sum(full.values())
    return f"All {cpus:.0f} CPUs{where} are in use, sessions wait for {number(more)} more"


def _full(reading: Reading) -> dict[InstanceReading, float]:
    """Return the instances with all CPUs in use while much more is waited for, and how much."""
    found = {}
    for each in reading.header.instances:
        used, rows = _used(reading, each.inst_id), reading.instance_groups(each.inst_id)
        waiting = sum(row.waiting or 0.0 for row in rows)
        if used is not None and each.num_cpus and used >= FULL * each.num_cpus and waiting >= _MUCH * each.num_cpus:
            found[each] = waiting
    return found


def basis_not_known(reading: Reading) -> list[Alert]:
    """Return the unknown facts, and why; for a queue that is only counted, its own alert covers it."""
    counted_only = {"queue"} if reading.queued_by_group() else set()
    lacking = [each for each in reading.basis if each.lacking and each.what not in counted_only]
    where = " on other instances"
    unknown = [f"a {each.what}{where * (each.lacking == reading.part)} ({each.lacking})" for each in lacking]
    short = f"not known: {', '.join(f'a {each.what}' for each in lacking)}"
    return [Alert("note", "?", f"Whether there is {', or '.join(unknown)} is not known.", short)] if unknown else []
