"""Views agree: none contradicts another, and values fit the meaning of Oracle's columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import pytest

from presman.base.release import Release
from presman.sources.simulator.executions import SessionIds
from tests.scenarios import with_short_past
from tests.sources.simulator.conftest import Played
from tests.thorough import some


@pytest.fixture(scope="module", params=["pdb", "rac"])
def seen(request: pytest.FixtureRequest) -> Iterator[Played]:
    played = Played(with_short_past(request.param), release=Release(23))
    yield played.to(130)
    played.source.close()


def rows(played: Played, name: str, /, **kinds: type[Any]) -> list[Any]:
    """Return a view's rows with these columns."""
    record = NamedTuple("record", list(kinds.items()))  # type: ignore[misc]
    return played.view(f"GV${name}", record)


def of_instance(found: list[Any]) -> dict[int, dict[str, Any]]:
    """Return from rows of instance, name and value a dictionary of values by name for each instance."""
    statistics: dict[int, dict[str, Any]] = defaultdict(dict)
    for inst_id, name, value in found:
        statistics[inst_id][name.strip()] = value
    return statistics


GROUP = (
    *("cpu_wait_time", "cpu_waits", "consumed_cpu_time", "yields", "io_service_time", "io_service_waits"),
    *("small_read_megabytes", "small_write_megabytes", "large_read_megabytes", "large_write_megabytes"),
    *("small_read_requests", "small_write_requests", "large_read_requests", "large_write_requests"),
    *("current_pqs_active", "current_pq_servers_active", "current_pqs_queued", "pqs_queued", "pqs_completed"),
    *("pq_servers_used", "pq_active_time", "pq_queued_time", "pq_queue_time_outs"),
)


def test_a_container_has_what_its_groups_have(seen: Played) -> None:
    columns = {"inst_id": int, "con_id": int, **dict.fromkeys(GROUP, int)}
    sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0] * len(GROUP))
    for inst_id, con_id, *values in rows(seen, "RSRC_CONSUMER_GROUP", **columns):
        sums[inst_id, con_id] = [one + other for one, other in zip(sums[inst_id, con_id], values, strict=True)]
    containers = rows(seen, "RSRC_PDB", **columns)
    assert bool(containers) == seen.source.simulation.plans.cdb
    for inst_id, con_id, *values in containers:
        for name, value, total in zip(GROUP, values, sums[inst_id, con_id], strict=True):
            assert value == pytest.approx(total, abs=20), name  # each group's value is rounded


METRIC = {
    "cpu_consumed_time": 1.0, "cpu_wait_time": 1.0, "avg_running_sessions": 1e-3, "avg_waiting_sessions": 1e-3,
    "avg_active_parallel_stmts": 1e-3, "avg_queued_parallel_stmts": 1e-3,
    "avg_active_parallel_servers": 1e-3, "avg_queued_parallel_servers": 1e-3,
}  # fmt: skip


@pytest.mark.parametrize("suffix", ["", "_HISTORY"])
def test_a_minute_of_a_container_is_that_of_its_groups(seen: Played, suffix: str) -> None:
    kinds = {"inst_id": int, "con_id": int, "begin_time": str, **dict.fromkeys(METRIC, float)}
    sums: dict[tuple[Any, ...], list[float]] = defaultdict(lambda: [0.0] * len(METRIC))
    for inst_id, con_id, begin, *values in rows(seen, f"RSRCMGRMETRIC{suffix}", **kinds):
        key = inst_id, con_id, begin
        sums[key] = [one + other for one, other in zip(sums[key], values, strict=True)]
    containers = rows(seen, f"RSRCPDBMETRIC{suffix}", **kinds)
    assert bool(containers) == seen.source.simulation.plans.cdb
    for inst_id, con_id, begin, *values in containers:
        for (name, slack), value, total in zip(METRIC.items(), values, sums[inst_id, con_id, begin], strict=True):
            assert value == pytest.approx(total, abs=20 * slack), name


def test_a_minutes_rates_are_those_of_its_sums(seen: Played) -> None:
    kinds = {
        "intsize_csec": int, "cpu_consumed_time": float, "cpu_wait_time": float, "num_cpus": int,
        "running_sessions_limit": float, "avg_running_sessions": float, "avg_waiting_sessions": float,
        "cpu_utilization_limit": float, "cpu_exhausted": float,
    }  # fmt: skip
    for name in ("RSRCMGRMETRIC", "RSRCPDBMETRIC"):
        for row in rows(seen, name, **kinds):
            seconds = row.intsize_csec / 100
            assert 59 <= seconds <= 61
            assert row.avg_running_sessions == pytest.approx(row.cpu_consumed_time / 1000 / seconds, abs=0.01)
            assert row.avg_waiting_sessions == pytest.approx(row.cpu_wait_time / 1000 / seconds, abs=0.01)
            assert row.running_sessions_limit == pytest.approx(row.num_cpus * row.cpu_utilization_limit / 100, abs=0.01)
            assert 0 <= row.cpu_exhausted <= 100


def test_servers_are_as_many_in_all_views(seen: Played) -> None:
    kinds = {"inst_id": int, "statistic": str, "value": int}
    process = of_instance(rows(seen, "PX_PROCESS_SYSSTAT", **kinds))
    there = rows(seen, "PX_PROCESS", inst_id=int, server_name=str, status=str, sid=int, is_gv=str)
    for inst_id, counted in process.items():
        own = [row for row in there if row.inst_id == inst_id and row.is_gv == "FALSE"]
        assert len(own) == counted["Servers Started"] == counted["Servers In Use"] + counted["Servers Available"]
        assert sum(row.status == "IN USE" for row in own) == counted["Servers In Use"] > 0
        assert all((row.status == "IN USE") == bool(row.sid) for row in own)
        assert counted["Servers In Use"] <= counted["Servers Highwater"] <= counted["Server Sessions"]
    assert len({(row.inst_id, row.server_name) for row in there}) == len(there)


def test_waits_are_as_many_in_all_views(seen: Played) -> None:
    events = rows(seen, "SYSTEM_EVENT", inst_id=int, event=str, total_waits=int)
    micro, milli = defaultdict(int), defaultdict(int)
    for row in rows(seen, "EVENT_HISTOGRAM_MICRO", inst_id=int, event=str, wait_time_micro=int, wait_count=int):
        micro[row.inst_id, row.event] += row.wait_count
        milli[row.inst_id, row.event, max(1, row.wait_time_micro // 1024)] += row.wait_count
    found = rows(seen, "EVENT_HISTOGRAM", inst_id=int, event=str, wait_time_milli=int, wait_count=int)
    assert {(row.inst_id, row.event, row.wait_time_milli): row.wait_count for row in found if row.wait_count} == {
        key: value for key, value in milli.items() if value
    }
    assert len(events) > 10
    for row in events:
        assert micro[row.inst_id, row.event] == row.total_waits
    several = len({row.inst_id for row in events}) > 1
    assert any(row.event == "gc cr block 2-way" for row in events) == several, "blocks come from another instance"


def test_the_host_has_the_time_that_passed(seen: Played) -> None:
    """In hundredths of a second, busy and idle time add up to that of all CPUs since the start."""
    simulation = seen.source.simulation
    seconds = 130 + simulation.scenario.header.warmup
    groups = rows(seen, "RSRC_CONSUMER_GROUP", inst_id=int, consumed_cpu_time=int, cpu_wait_time=int)
    for inst_id, host in of_instance(rows(seen, "OSSTAT", inst_id=int, stat_name=str, value=float)).items():
        assert host["BUSY_TIME"] + host["IDLE_TIME"] == pytest.approx(100 * host["NUM_CPUS"] * seconds, abs=2)
        own = [row for row in groups if row.inst_id == inst_id]
        assert host["RSRC_MGR_CPU_WAIT_TIME"] == pytest.approx(sum(row.cpu_wait_time for row in own) / 10, abs=10)
        assert host["BUSY_TIME"] >= sum(row.consumed_cpu_time for row in own) / 10 - 10
        assert 0 < host["IOWAIT_TIME"] < host["IDLE_TIME"]
        assert host["NUM_CPUS"] == 2 * host["NUM_CPU_CORES"]


def test_live_sessions_never_share_a_sid_and_rest_before_one_is_used_again() -> None:
    """With more sessions than one ring of numbers has."""
    ids = SessionIds(Random(1), {21, 607})
    dealt = [ids.take() for _ in range(9_000)]
    sids = [sid for sid, _ in dealt]
    assert len(set(sids)) == len(sids)
    assert min(sids) >= 20
    assert not {21, 607} & set(sids)
    assert max(sids) < 20 + 3 * 4001
    assert all(0 < serial < 65_535 for _, serial in dealt)
    for sid in sids[:17]:
        ids.give(sid)
    again, serial = ids.take()
    assert again == sids[0]
    assert serial > dealt[0][1]
    assert ids.take()[0] not in sids, "16 rest"
    assert ids.take(21)[0] == 21


WAITS = {"wait_class": str, "time_waited_micro": int}
NOW = {"wait_class": str, "state": str, "event": str}


@pytest.mark.parametrize("scenario", some(["mixed"], ["storm"]))
def test_sessions_wait_for_io_as_often_as_the_instance_counts(scenario: str) -> None:
    """The list of waits showed 2.7 sessions, from V$SYSTEM_EVENT, and the top statements 82, from V$SESSION."""
    played = Played(with_short_past(scenario))

    def waited() -> float:
        found = rows(played, "SYSTEM_EVENT", **WAITS)
        return sum(micros for name, micros in found if name == "User I/O") / 1e6

    played.to(60)
    before, seen = waited(), []
    for instant in range(61, 181, 2):
        found = rows(played.to(instant), "SESSION", **NOW)
        seen.append(sum((kind, state) == ("User I/O", "WAITING") for kind, state, _ in found))
    counted = (waited() - before) / (2 * len(seen))
    played.source.close()
    assert counted > 0.5
    assert counted / 2 < sum(seen) / len(seen) < counted * 2


def test_without_a_plan_no_session_waits_for_one() -> None:
    played = Played(with_short_past("noplan"))
    events = {row.event for row in rows(played.to(100), "SESSION", **NOW)}
    played.source.close()
    assert "SQL*Net message from client" in events
    assert "resmgr:cpu quantum" not in events
