"""Deltas of the counters of consumer groups, containers and sessions since the last poll, and the resulting I/O rates.

The I/O is that of the database, not that of the storage cells.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from presman.analysis.facts.deltas import Deltas, difference
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.session_facts import by_session
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.readings.group_readings import IoRates
from presman.base.sums import added
from presman.rows.group_rows import CPU_COLUMNS, IO_COLUMNS, ConsumerGroup
from presman.rows.instance_rows import RsrcPdb
from presman.rows.session_rows import Session, SessionInfo


class CounterDeltas(NamedTuple):
    """Differences of V$RSRC_CONSUMER_GROUP's counters; milliseconds, megabytes, counts."""

    requests: int
    cpu_wait_time: int
    cpu_waits: int
    consumed_cpu_time: int
    yields: int
    io_service_time: int
    io_service_waits: int
    small_read_megabytes: int
    small_write_megabytes: int
    large_read_megabytes: int
    large_write_megabytes: int
    small_read_requests: int
    small_write_requests: int
    large_read_requests: int
    large_write_requests: int


class SessionRates(NamedTuple):
    """The use of a session: CPUs, CPUs waited for, MB and I/O requests per second; None without a delta."""

    used: float | None = None
    waiting: float | None = None
    io_mb: float | None = None
    io_requests: float | None = None


IDLE = SessionRates(0.0, 0.0, 0.0, 0.0)

GroupKey = tuple[int, int, str]
"""A consumer group's row: instance, container, name."""

_group_key = itemgetter(*map(ConsumerGroup._fields.index, ("inst_id", "con_id", "name")))
_group_counters = itemgetter(*(ConsumerGroup._fields.index(name) for name in CounterDeltas._fields))
_SESSION_COUNTERS = (*CPU_COLUMNS, *IO_COLUMNS)
_io_of = itemgetter(*map(CounterDeltas._fields.index, IO_COLUMNS))
_session_counters = itemgetter(*(SessionInfo._fields.index(name) for name in _SESSION_COUNTERS))

_CONTAINER_COLUMNS = tuple(name for name in CounterDeltas._fields if name in RsrcPdb._fields)
_container_counters = itemgetter(*map(RsrcPdb._fields.index, _CONTAINER_COLUMNS))
CONTAINER_IO = frozenset(name for name in _CONTAINER_COLUMNS if name.startswith(("small_", "large_")))
_NO_GROWTH = CounterDeltas._make([0] * len(CounterDeltas._fields))


def by_group(rows: Iterable[ConsumerGroup]) -> dict[GroupKey, ConsumerGroup]:
    """Return an index of the groups' rows."""
    rows = tuple(rows)
    return dict(zip(map(_group_key, rows), rows, strict=True))


def of_groups(
    deltas: Deltas, rows: Mapping[GroupKey, ConsumerGroup], before: Mapping[GroupKey, ConsumerGroup]
) -> dict[GroupKey, CounterDeltas]:
    """Return the deltas of every group whose counters continued in the same plan window of the same instance.

    A counter that has values in only one of the two reads grows by 0 here; `known_only` takes its figures out.
    """
    same = {place for place in {key[:2] for key in rows} if deltas.same_window(*place)}
    pairs = ((key, row, old) for key, row in rows.items() if (old := before.get(key)) and key[:2] in same)
    if changed := deltas.changed(ConsumerGroup).intersection(CounterDeltas._fields):
        no_growth: dict[str, Any] = dict.fromkeys(changed, 0)
        pairs = ((key, row._replace(**no_growth), old._replace(**no_growth)) for key, row, old in pairs)
    grown = ((key, difference(_group_counters(row), _group_counters(old))) for key, row, old in pairs)
    return {key: CounterDeltas._make(counters) for key, counters in grown if counters is not None}


def of_sessions(facts: Facts) -> dict[tuple[int, int], SessionRates]:
    """Return the rates of each session that is the same as at the last poll, by instance and SID.

    V$RSRC_SESSION_INFO has no serial number, so V$SESSION's serial number and logon time identify the session of a SID.
    """
    deltas = facts.deltas
    seconds = deltas.interval(SessionInfo)
    infos = by_session(deltas.counters_before(SessionInfo))
    if not infos or seconds is None:
        return {}
    sessions = by_session(deltas.before(Session))
    absent = facts.snapshot.section(SessionInfo).absent  # a rate whose columns are missing is not 0
    gone: dict[str, None] = {name: None for name, columns in _MADE_OF.items() if not absent.isdisjoint(columns)}
    found: dict[tuple[int, int], SessionRates] = {}
    for key, now in facts.sessions.by_key.items():
        info, old_info, old = facts.sessions.infos.get(key), infos.get(key), sessions.get(key)
        if info is None or old_info is None or old is None or key[0] in deltas.restarted:
            continue
        if old.serial != now.serial or old.logon_time != now.logon_time:
            continue
        before, after = _session_counters(old_info), _session_counters(info)
        if before == after:
            found[key] = IDLE
        elif (grown := difference(after, before)) is not None:
            cpu, wait, a, b, c, d, e, f, g, h = grown
            megabytes, requests = (a + b + c + d) / seconds, (e + f + g + h) / seconds
            found[key] = SessionRates(cpu / 1000 / seconds, wait / 1000 / seconds, megabytes, requests)
    return {key: rates._replace(**gone) for key, rates in found.items()} if gone else found


_MADE_OF = {"used": CPU_COLUMNS[:1], "waiting": CPU_COLUMNS[1:], "io_mb": IO_COLUMNS[:4], "io_requests": IO_COLUMNS[4:]}
"""The counters of a session's rates."""


def rates(grown: CounterDeltas, seconds: float) -> IoRates:
    """Return the I/O of a group per second, and the mean service time of a request in milliseconds."""
    kinds = _io_of(grown)
    if not any(kinds):
        return IoRates(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None, grown.io_service_waits / seconds)
    requests = sum(kinds[4:])
    service_ms = grown.io_service_time / requests if requests else None
    return IoRates._make((*[kind / seconds for kind in kinds], service_ms, grown.io_service_waits / seconds))


def together(parts: Sequence[IoRates]) -> IoRates:
    """Return the sum over instances; service times are weighted by requests."""
    timed = [(row.service_ms, row.requests) for row in parts if row.service_ms is not None]
    requests = sum([count for _, count in timed])
    service_ms = sum([mean * count for mean, count in timed]) / requests if requests else None
    *kinds, _, waits = zip(*parts, strict=True)
    return IoRates._make((*map(sum, kinds), service_ms, added(waits)))


def of_containers(facts: Facts, inst_id: int) -> dict[int, CounterDeltas]:
    """Return the deltas of each container's counters within one instance start and one window of the CDB plan."""
    changed = facts.deltas.changed(RsrcPdb)
    cpu_missing = not (facts.snapshot.section(RsrcPdb).absent | changed).isdisjoint(CPU_COLUMNS)
    if cpu_missing or not facts.deltas.same_window(inst_id, ROOT):
        return {}
    before = {row.con_id: row for row in facts.deltas.before(RsrcPdb) if row.inst_id == inst_id}
    uncounted: dict[str, Any] = dict.fromkeys(changed.intersection(_CONTAINER_COLUMNS), 0)
    found = {}
    for row in facts.snapshot.rows(RsrcPdb):
        if row.inst_id == inst_id and row.con_id in before:
            now, old = (each._replace(**uncounted) for each in (row, before[row.con_id]))
            grown = difference(_container_counters(now), _container_counters(old))
            if grown is not None:
                found[row.con_id] = _NO_GROWTH._replace(**dict(zip(_CONTAINER_COLUMNS, grown, strict=True)))
    return found
