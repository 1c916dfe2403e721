"""How much the counters of the consumer groups and sessions grew since the last poll."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from presman.analysis.deltas import difference
from presman.analysis.facts import Facts
from presman.rows import ConsumerGroup, Session, SessionInfo


class Growth(NamedTuple):
    """Differences of V$RSRC_CONSUMER_GROUP's counters; milliseconds, megabytes, counts."""

    requests: int
    cpu_wait_time: int
    consumed_cpu_time: int
    yields: int
    io_service_time: int
    small_read_megabytes: int
    small_write_megabytes: int
    large_read_megabytes: int
    large_write_megabytes: int
    small_read_requests: int
    small_write_requests: int
    large_read_requests: int
    large_write_requests: int
    pqs_queued: int
    pqs_completed: int
    pq_servers_used: int


class SessionGrowth(NamedTuple):
    """Differences of V$RSRC_SESSION_INFO's counters: milliseconds on and waiting for CPU, megabytes, requests."""

    consumed_cpu_time: int
    cpu_wait_time: int
    small_read_megabytes: int
    small_write_megabytes: int
    large_read_megabytes: int
    large_write_megabytes: int
    small_read_requests: int
    small_write_requests: int
    large_read_requests: int
    large_write_requests: int


GroupPlace = tuple[int, int, str]
"""A consumer group's row: instance, container, name."""

_group_counters = attrgetter(*Growth._fields)
_session_counters = attrgetter(*SessionGrowth._fields)


def of_groups(facts: Facts) -> dict[GroupPlace, Growth]:
    """Return the growth of every group whose counters ran on in the same plan window of the same instance."""
    deltas = facts.deltas
    before = {(row.inst_id, row.con_id, row.name): row for row in deltas.before(ConsumerGroup)}
    if not before:
        return {}
    found: dict[GroupPlace, Growth] = {}
    same: dict[tuple[int, int], bool] = {}
    for row in facts.snapshot.rows(ConsumerGroup):
        inst_id, con_id = row.inst_id, row.con_id
        old = before.get((inst_id, con_id, row.name))
        if (inst_id, con_id) not in same:
            same[inst_id, con_id] = deltas.same_window(inst_id, con_id)
        if old is None or not same[inst_id, con_id]:
            continue
        grown = difference(_group_counters(row), _group_counters(old))
        if grown is not None:
            found[inst_id, con_id, row.name] = Growth._make(grown)
    return found


def of_sessions(facts: Facts) -> Mapping[tuple[int, int], tuple[Any, ...]]:
    """Return the growth (as :class:`SessionGrowth` orders it) of each session, by instance and SID.

    V$RSRC_SESSION_INFO has no serial number, so V$SESSION's serial and logon time tell a SID's users apart.
    """
    deltas = facts.deltas
    infos = {(row.inst_id, row.sid): row for row in deltas.before(SessionInfo)}
    if not infos:
        return {}
    sessions = {(row.inst_id, row.sid): row for row in deltas.before(Session)}
    found: dict[tuple[int, int], tuple[Any, ...]] = {}
    same = {inst_id: deltas.same_start(inst_id) for inst_id in facts.inst_ids}
    for place, now in facts.sessions.items():
        info, old_info, old = facts.infos.get(place), infos.get(place), sessions.get(place)
        if info is None or old_info is None or old is None or not same[place[0]]:
            continue
        if old.serial != now.serial or old.logon_time != now.logon_time:
            continue
        grown = difference(_session_counters(info), _session_counters(old_info))
        if grown is not None:
            found[place] = grown
    return found
