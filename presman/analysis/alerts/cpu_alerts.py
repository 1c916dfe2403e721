"""Alerts of CPU: groups that get less than their due or are held by a limit, CPU without a plan, a host shared."""

from __future__ import annotations

from presman.analysis.readings.alert import Alert
from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.instance_readings import CLUSTER, InstanceReading
from presman.analysis.readings.reading import Reading
from presman.base.formats import number

FULL = 0.95
"""The part of the CPUs from which they count as all in use."""

OTHERS = 0.25
"""The part of a host's CPUs that somebody else must use to be named for it."""


def groups_held_off(reading: Reading) -> list[Alert]:
    """Tell which groups get less than their due, nothing at all, or are held by a limit."""
    rows = reading.cluster_groups()
    return [_group(row) for row in rows if row.verdict in {Verdict.STARVED, Verdict.ZERO_SHARE, Verdict.CAPPED}]


def _group(group: GroupReading) -> Alert:
    bad = group.verdict is not Verdict.CAPPED
    wants = f"; wants {number(group.wanted)}" if group.wanted is not None else ""
    if group.limited_by:
        cpus = f"{number(group.limit_used)} of {number(group.limit_allowed)} CPUs"
        short = f"{group.title}: {group.limited_by} at its limit, {cpus}"
        wants = f"; the group uses {number(group.used)}{wants}"
    else:
        most = group.limit if not bad else group.entitled
        of = "" if group.verdict is Verdict.ZERO_SHARE else f" of {number(most)}"
        cpus = f"{number(group.used)}{of} CPUs"
        short = f"{group.title} {group.verdict.value}, {cpus}"
    key = f"cpu_{group.verdict.name.lower()}"
    return Alert(
        "bad" if bad else "note",
        "✕" if bad else "▬",
        f"CPU: {short}{wants}",
        short,
        key,
        group.title,
        group.throttled_percent,
    )


def cpu_without_plan(reading: Reading) -> list[Alert]:
    """Tell where all CPUs are in use and no plan divides them."""
    found = []
    for each in reading.header.instances:
        used = _used(reading, each.inst_id)
        if each.cpu_managed == "ON" or used is None or not each.num_cpus or used < FULL * each.num_cpus:
            continue
        short = f"{number(used)} of {number(each.num_cpus)} CPUs used{_where(each, reading)}, no plan divides them"
        text = f"CPU: {short}: who asks for more gets more"
        found.append(Alert("warn", "▲", text, short, "cpu_without_plan", _subject(each, reading)))
    return found


def host_shared(reading: Reading) -> list[Alert]:
    """Tell where a full host works for somebody else, too."""
    found = []
    for each in reading.header.instances:
        used = _used(reading, each.inst_id)
        if used is None or each.host_busy is None or not each.host_cpus or each.host_busy < FULL:
            continue
        others = each.host_busy * each.host_cpus - used
        if others < OTHERS * each.host_cpus:
            continue
        short = f"{number(others)} of the host's {each.host_cpus:.0f} CPUs are used by others{_where(each, reading)}"
        busy = f"the host is {100 * each.host_busy:.0f} % busy"
        text = f"CPU: {busy}, {short}: no plan of this database limits them"
        found.append(Alert("warn", "▲", text, short, "host_shared", _subject(each, reading)))
    return found


def _used(reading: Reading, inst_id: int) -> float | None:
    """Return the CPUs that all groups of an instance use, None where that is not known, or cannot be.

    On one instance the cluster's rows are that instance's.
    """
    alone = len(reading.header.instances) == 1
    own = [group for group in reading.groups if group.inst_id == (CLUSTER if alone else inst_id)]
    used = [None if group.doubt else group.used for group in own]
    return None if None in used or not used else sum(each for each in used if each is not None)


def _where(instance: InstanceReading, reading: Reading) -> str:
    return f" on instance {instance.inst_id}" if len(reading.header.instances) > 1 else ""


def _subject(instance: InstanceReading, reading: Reading) -> str:
    return str(instance.inst_id) if len(reading.header.instances) > 1 else ""
