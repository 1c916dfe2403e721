"""Alerts of what holds back: a quiesced database, session pools, I/O limits of containers; a plan that changed."""

from __future__ import annotations

from presman.analysis.readings.alert import Alert
from presman.analysis.readings.container_readings import IoVerdict
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import Reading
from presman.base.formats import clock, counted, duration
from presman.records.wait_events import QUIESCE_PLAN, QUIESCE_WAIT

NEWS = 600.0
"""Seconds for which a change of plan is told."""


def quiesced(reading: Reading) -> list[Alert]:
    """Tell that nobody but SYS and SYSTEM gets in, who sees to that, and how many wait."""
    found = reading.quiesce
    if found is None:
        return []
    state = _QUIESCE_WORDS.get(found.state, f"quiesced, or being quiesced (plan {QUIESCE_PLAN})")
    who = " and ".join(found.by[:2])
    by = f" (by {who}, who waits for `{QUIESCE_WAIT}`)" if who else ""
    first = "" if found.longest is None else f", the first for {duration(found.longest)}"
    waits = "" if found.waiting is None else f"; {counted(found.waiting, 'session')} wait{'s' * (found.waiting == 1)}"
    short = f"the database is {state}{f' by {who}' * bool(who)}{waits}"
    text = f"The database is {state}{by}{waits}{first}: ALTER SYSTEM UNQUIESCE lets them in"
    return [Alert("bad", "✕", text, short, "quiesced")]


_QUIESCE_WORDS = {"QUIESCING": "being quiesced", "QUIESCED": "quiesced"}


def session_pools(reading: Reading) -> list[Alert]:
    """Tell where sessions wait for the active session pool of their group."""
    return [_pool(group) for group in reading.cluster_groups() if group.pool is not None and group.pool.queued]


def _pool(group: GroupReading) -> Alert:
    pool = group.pool
    assert pool is not None
    wait = "" if pool.longest is None else f", the first for {duration(pool.longest)}"
    verb = "waits" if pool.queued == 1 else "wait"
    short = f"{group.title}: {pool.queued} {verb} for the session pool{wait}"
    allowed = "" if pool.allowed is None else f" of {pool.allowed} allowed"
    work = "" if group.active_sessions is None else f"; {group.active_sessions}{allowed} active (ACTIVE_SESS_POOL_P1)"
    end = "without a timeout" if pool.timeout is None else f"timeout {duration(pool.timeout)}"
    end = end if pool.timeout_known else "the timeout is not known"
    near = pool.near_timeout
    glyph = "✕" if near else "▲"
    amount = None if near else pool.longest  # close to its end it is bad whatever the threshold
    return Alert("bad" if near else "warn", glyph, f"{short}{work}; {end}", short, "session_pool", group.title, amount)


def io_limits(reading: Reading) -> list[Alert]:
    """Tell which containers MAX_IOPS or MAX_MBPS hold back."""
    found = []
    several = len(reading.header.instances) > 1
    for each in reading.io_limited:
        if each.verdict is IoVerdict.THROTTLED:
            where = f" on instance {each.inst_id}" if several else ""
            held = f"{each.io_throttle_ms or 0.0:.1f} ms each"
            short = f"{each.name}{where}: I/O throttled {held} by {each.nearest or 'its limit'}"
            text = f"{each.name}{where} I/O: {each.sentence}".removesuffix(".")
            subject = f"{each.name} on {each.inst_id}" if several else each.name
            found.append(Alert("warn", "▲", text, short, "io_limit", subject))
    return found


def plan_switched(reading: Reading) -> list[Alert]:
    """Tell that the plan changed a short while ago; who did it is in no view, but for a scheduler's window."""
    found = reading.switched
    ago = (reading.at - found.at).total_seconds() if found is not None else NEWS
    if found is None or not 0 <= ago < NEWS:
        return []
    plan, before = found.plan or "no plan", found.before or "no plan"
    short = f"plan switched {duration(ago)} ago: {plan} after {before}"
    by = f"by the window {found.window}" if found.window else "no view shows who set it"
    return [Alert("note", "┆", f"Plan switched {duration(ago)} ago, at {clock(found.at)}: {plan} after {before}, {by}",
                  short, "plan_switched", plan)]  # fmt: skip
