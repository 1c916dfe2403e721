"""Alerts of what runs short: CPU without a plan, the host's CPU, session pools, time in a queue, parallel servers."""

from __future__ import annotations

from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.instance_readings import CLUSTER, InstanceReading
from presman.analysis.readings.reading import Reading
from presman.base.formats import ABSENT, duration, number
from presman.tabs.alert import Alert

FULL = 0.95
"""The part of the CPUs from which they count as all in use."""

OTHERS = 0.25
"""The part of a host's CPUs that somebody else must use to be named for it."""

SOON = 300.0
"""Seconds before a timeout from which it is an alert."""


def shortages(reading: Reading) -> list[Alert]:
    """Return what runs short, in no order."""
    pools = [_pool(group) for group in reading.cluster_groups() if group.pool is not None and group.pool.queued]
    busy = [found for each in reading.header.instances for found in (_unmanaged(each, reading), _host(each, reading))]
    return [*pools, *(alert for alert in busy if alert is not None), *_timeouts(reading), *_servers(reading)]


def _used(reading: Reading, inst_id: int) -> float | None:
    """Return the CPUs that all groups of an instance use; on one instance the cluster's rows are that instance's."""
    alone = len(reading.header.instances) == 1
    used = [group.used for group in reading.groups if group.inst_id == (CLUSTER if alone else inst_id)]
    return None if None in used or not used else sum(each for each in used if each is not None)


def _where(instance: InstanceReading, reading: Reading) -> str:
    return f" on instance {instance.inst_id}" if len(reading.header.instances) > 1 else ""


def _unmanaged(instance: InstanceReading, reading: Reading) -> Alert | None:
    """Tell that all CPUs are in use and no plan divides them."""
    used = _used(reading, instance.inst_id)
    if instance.cpu_managed == "ON" or used is None or not instance.num_cpus or used < FULL * instance.num_cpus:
        return None
    cpus = f"{number(used)} of {number(instance.num_cpus)} CPUs used{_where(instance, reading)}"
    short = f"{cpus}, no plan divides them"
    return Alert("warn", "▲", f"CPU: {short}: who asks for more gets more", short)


def _host(instance: InstanceReading, reading: Reading) -> Alert | None:
    """Tell that a full host works for somebody else, too."""
    used = _used(reading, instance.inst_id)
    if used is None or instance.host_busy is None or not instance.host_cpus or instance.host_busy < FULL:
        return None
    others = instance.host_busy * instance.host_cpus - used
    if others < OTHERS * instance.host_cpus:
        return None
    short = (
        f"{number(others)} of the host's {instance.host_cpus:.0f} CPUs are used by others{_where(instance, reading)}"
    )
    text = f"CPU: the host is {100 * instance.host_busy:.0f} % busy, {short}: no plan of this database limits them"
    return Alert("warn", "▲", text, short)


def _pool(group: GroupReading) -> Alert:
    """Tell that sessions wait for the active session pool of their group."""
    pool = group.pool
    assert pool is not None
    wait = "" if pool.longest is None else f", the first for {duration(pool.longest)}"
    short = f"{group.title}: {pool.queued} wait for the session pool{wait}"
    allowed = ABSENT if pool.allowed is None else pool.allowed
    text = f"{short}; {group.active_sessions} of {allowed} allowed work (ACTIVE_SESS_POOL_P1)"
    if pool.timeout is None:
        return Alert("warn", "▲", f"{text}; they wait without end", short)
    near = pool.longest is not None and pool.timeout - pool.longest <= SOON
    return Alert("bad" if near else "warn", "✕" if near else "▲", f"{text}; timeout {duration(pool.timeout)}", short)


def _timeouts(reading: Reading) -> list[Alert]:
    """Tell who is about to run into PARALLEL_QUEUE_TIMEOUT."""
    soon = [each for each in reading.queue if each.timeout_left is not None and each.timeout_left <= SOON]
    if not soon:
        return []
    first = min(soon, key=lambda each: each.timeout_left or 0.0)
    short = f"{len(soon)} queued time{'s' * (len(soon) == 1)} out within {duration(SOON)}"
    who = f"{first.group} {first.sql_id or first.user} in {duration(first.timeout_left)}"
    return [Alert("bad", "✕", f"{short}, the first: {who} (PARALLEL_QUEUE_TIMEOUT)", short)]


def _servers(reading: Reading) -> list[Alert]:
    """Tell where no parallel server is left: what does not queue is downgraded, or fails."""
    pools = [each.servers for each in reading.header.instances if each.servers.maximum]
    full = [pool for pool in pools if pool.in_use >= (pool.maximum or 0)]
    if not full:
        return []
    where = ", ".join(str(pool.inst_id) for pool in full) if len(reading.header.instances) > 1 else ""
    short = f"all {sum(pool.maximum or 0 for pool in full)} parallel servers in use{' on ' if where else ''}{where}"
    text = f"{short} (PARALLEL_MAX_SERVERS): what does not queue is downgraded, or runs serially"
    return [Alert("warn", "▼", text, short)]
