"""I/O of containers against MAX_IOPS and MAX_MBPS: rates since the last poll (V$RSRC_PDB), and the limit in effect."""

from collections.abc import Iterable

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.groups.counter_deltas import CONTAINER_IO, CounterDeltas, of_containers, rates
from presman.analysis.readings.container_readings import IoVerdict, Limited, LimitedContainer, PdbReading
from presman.analysis.readings.group_readings import IoRates
from presman.analysis.readings.reading import CLUSTER
from presman.rows.instance_rows import PdbMetric, RsrcPdb
from presman.rows.queries import null_row

NEAR = 0.95
"""Fraction of a limit from which it counts as reached."""

FELT = 0.1
"""Milliseconds: I/O that is held back for less than this on average does not count as throttled."""


def limits_of(facts: Facts, inst_id: int, con_id: int) -> tuple[int | None, int | None]:
    """Return MAX_IOPS and MAX_MBPS of a container: its own, else those inherited from the root; None if not set."""
    # 0 means no limit, and counts as not set. The instance's own value has CON_ID 0, or 1 in the root.
    setting, where = facts.system.parameters.setting, (con_id, 0, ROOT)
    requests = next((cap for each in where if (cap := setting(inst_id, each, "max_iops"))), None)
    return requests, next((cap for each in where if (cap := setting(inst_id, each, "max_mbps"))), None)


def held_by(minute: PdbMetric, requests: int | None, megabytes: int | None) -> str:
    """Return which limit held I/O back in the last full minute, if any; "" if it may be either.

    If both are set, it is the limit that was nearly used up in that minute: current use changes from poll to poll.
    """
    pairs = (("MAX_IOPS", minute.iops, requests), ("MAX_MBPS", minute.iombps, megabytes))
    limits = [(name, used, limit) for name, used, limit in pairs if limit is not None]
    if len(limits) == 1:
        return limits[0][0]
    return " and ".join(name for name, used, limit in limits if used is not None and used >= NEAR * limit)


def io_limited(rows: tuple[PdbReading, ...]) -> tuple[PdbReading, ...]:
    """Return the rows with I/O limits, those of instances if there are several: a limit applies to each instance."""
    by_instance = tuple(row for row in rows if row.inst_id != CLUSTER)
    return tuple(row for row in by_instance or rows if row.iops_limit is not None or row.mb_limit is not None)


def io_verdict(row: Limited) -> IoVerdict:
    """Return the effect of the limits: throttled refers to the last full minute; rates are current."""
    if row.iops_limit is None and row.mb_limit is None:
        return IoVerdict.FREE
    if (row.io_throttle_ms or 0.0) >= FELT:
        return IoVerdict.THROTTLED
    if row.io is None:
        return IoVerdict.UNKNOWN
    return IoVerdict.NEAR if reached(row) else IoVerdict.UNDER


def io_sentence(row: Limited) -> str:
    """Return the verdict as one sentence with its figures; "" without a limit."""
    pairs = ((row.iops_limit, "IOPS (MAX_IOPS)"), (row.mb_limit, "MB/s (MAX_MBPS)"))
    used = ("", "") if row.io is None else (f"{row.io.requests:.0f} of ", f"{row.io.mb:.0f} of ")
    limits = [f"{part}{limit} {of}" for part, (limit, of) in zip(used, pairs, strict=True) if limit is not None]
    if not limits:
        return ""
    held, of = row.io_throttle_ms, " and ".join(limits)
    if held is not None and held >= FELT:  # the minute and now are two times: each is named
        now = f"now it uses {of}" if row.io is not None else f"what it uses now of {of} is not known"
        by = row.held_by or "one of its limits"
        return f"In {_MINUTE} {by} throttled it: each I/O waited {held:.1f} ms on average; {now}."
    verb = "Uses" if row.io is not None else "What it uses now is not known; it may use"
    return ": ".join(filter(None, (f"{verb} {of}", _consequence(row)))) + "."


_MINUTE = "the last full minute"
"""Of which V$RSRCPDBMETRIC has the throttling."""


def _consequence(row: Limited) -> str:
    """Return the effect of limits that do not throttle in words, "" if neither use nor throttling is known."""
    nearest = reached(row)
    if row.io_throttle_ms is not None:
        near = f"{nearest} is nearly reached, but " if nearest else ""
        return f"{near}no I/O was throttled in {_MINUTE}"
    if row.io is None:
        return ""
    return f"{nearest} is nearly reached" if nearest else "below its limits"


def worst_io(verdicts: Iterable[IoVerdict]) -> IoVerdict:
    """Return the verdict for a container on several instances: it is not good if one instance is unknown."""
    return min(verdicts, key=lambda each: each.rank, default=IoVerdict.UNKNOWN)


def reached(row: Limited) -> str:
    """Return the limit with the highest use if it is nearly used up, else ""."""
    if row.io is None:
        return ""
    pairs = (("MAX_IOPS", row.io.requests, row.iops_limit), ("MAX_MBPS", row.io.mb, row.mb_limit))
    part, name = max(((used / limit, name) for name, used, limit in pairs if limit), default=(0.0, ""))
    return name if part >= NEAR else ""


def grown_io(facts: Facts, deltas: CounterDeltas | None) -> IoRates | None:
    """Return a container's I/O per second; None without a delta, or if the I/O columns are missing."""
    seconds, changed = facts.deltas.interval(RsrcPdb), facts.deltas.changed(RsrcPdb)
    lacks = facts.snapshot.section(RsrcPdb).absent >= CONTAINER_IO or not changed.isdisjoint(CONTAINER_IO)
    if deltas is None or not seconds or lacks:
        return None
    return rates(deltas, seconds)


def limited_containers(facts: Facts) -> tuple[LimitedContainer, ...]:
    """Return the containers with MAX_IOPS or MAX_MBPS, on each instance separately; empty outside of a CDB."""
    names = {(row.inst_id, row.con_id): row.pdb_name for row in facts.snapshot.rows(RsrcPdb) if row.con_id > 2}
    limits = {key: limit for key in sorted(names) if (limit := limits_of(facts, *key)) != (None, None)}
    grown = {inst_id: of_containers(facts, inst_id) for inst_id in {key[0] for key in limits}}
    minutes = {(row.inst_id, row.con_id): row for row in facts.snapshot.rows(PdbMetric)} if limits else {}
    nothing = null_row(PdbMetric)
    found = []
    for key, limit in limits.items():
        name = names[key] or facts.system.container_name(key[1])
        io, minute = grown_io(facts, grown[key[0]].get(key[1])), minutes.get(key, nothing)
        row = LimitedContainer(*key, name, io, minute.avg_io_throttle, *limit, held_by=held_by(minute, *limit))
        found.append(row._replace(verdict=io_verdict(row), nearest=reached(row), sentence=io_sentence(row)))
    return tuple(found)
