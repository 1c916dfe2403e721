"""Properties of a reading's rows: calculated by hand, each near its threshold."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.facts.plan_book import NOTHING
from presman.analysis.groups.entitlement import Host, Load, frame_of, has_spare_host, host_of, lacks_little, lasting
from presman.analysis.readings.group_readings import ActiveSessionPool, GroupReading, GroupTotals, Verdict
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import Operation
from presman.analysis.readings.statement_readings import Cause
from presman.analysis.readings.wait_readings import Bucket
from presman.analysis.view_availability import without_impossible
from tests.services.fleet.members import key_figures
from tests.tui.readings import busy, group, instance


@pytest.mark.parametrize(
    ("longest", "timeout", "near"),
    [(300.0, 600, True), (299.0, 600, False), (None, 600, False), (300.0, None, False), (700.0, 600, True)],
)
def test_a_pool_is_near_its_timeout_five_minutes_before(longest: float | None, timeout: int | None, near: bool) -> None:
    assert ActiveSessionPool(4, 1, longest, timeout).near_timeout is near


@pytest.mark.parametrize(
    ("facts", "text", "level", "rank"),
    [
        ({"verdict": Verdict.NOT_THROTTLED}, None, "good", 2),
        ({"px_queued": 3, "head_waited": 221.0, "head_cause": Cause.GROUP}, "3 queued 3:41", "warn", 1),
        ({"px_queued": 3, "head_waited": 221.0, "timeout_left": 300.0}, "3 queued 3:41 (timeout 5:00)", "bad", 0),
        ({"px_queued": 3, "head_waited": 221.0, "timeout_left": 301.0}, "3 queued 3:41", "warn", 1),
        ({"px_queued": 1, "queue_hurts": True}, "1 queued", "bad", 0),
        ({"px_queued": 1, "head_cause": Cause.NEVER_FITS}, "1 queued", "warn", 1),
        ({"pool": ActiveSessionPool(4, 2, 9.0, 600), "active_sessions": 3}, "pool 3/4 +2 0:09", "warn", 1),
        ({"pool": ActiveSessionPool(4, 2, 301.0, 600)}, "pool 3/4 +2 5:01", "bad", 0),
        ({"blocked": 8}, "8 servers blocked", "warn", 1),
    ],
)  # fmt: skip
def test_the_worst_state_of_a_group_and_its_rank(
    facts: dict[str, Any], text: str | None, level: str, rank: int
) -> None:
    found = group("BATCH", **facts)
    assert (found.states[0].level, found.rank) == (level, rank)
    assert text is None or found.states[0].text.startswith(text)


def test_other_states_follow_the_worst() -> None:
    found = group("BATCH", px_queued=3, head_waited=221.0, timeout_left=10.0, blocked=8)
    assert found.state.text == "3 queued 3:41 · 8 blocked"
    alone = group("BATCH", blocked=8)
    assert alone.state.text == "8 servers blocked", "in full where it is the only one"


def test_percents_of_a_group() -> None:
    row = group("A", 6.0, 2.0, all_used=8.0)
    assert (row.consumed_percent, row.used_percent, row.throttled_percent, row.wanted) == (75.0, 25.0, 25.0, 8.0)
    assert group("A", 6.0, 2.0, all_used=0.0).consumed_percent is None
    assert row._replace(cpu_waits_per_s=40.0).cpu_wait_ms == 50.0
    assert row._replace(cpu_waits_per_s=0.0).cpu_wait_ms is None
    unmanaged = row._replace(verdict=Verdict.NOT_MANAGED)
    assert (unmanaged.wanted, unmanaged.throttled_percent) == (None, None)
    assert (row._replace(doubt="x").wanted, row._replace(doubt="x").throttled_percent) == (None, None)


def test_whether_a_group_is_judged() -> None:
    row = group("A", verdict=Verdict.UNKNOWN)
    assert row._replace(counters=GroupTotals(), doubt="").is_judged
    assert not row._replace(counters=GroupTotals(), doubt="counted wrong").is_judged
    assert not row._replace(verdict=Verdict.THROTTLED).is_judged
    assert row._replace(verdict=Verdict.CONTENDED).is_judged


def test_small_rows() -> None:
    assert Operation("Table Scan", "SALES", 30, 120, "Blocks", None).progress == 0.25
    assert Operation("Table Scan", "SALES", 30, 0, "Blocks", None).progress == 0.0
    assert key_figures(used=6.0, capacity=8.0).cpu_percent == 75.0
    assert (key_figures(used=None).cpu_percent, key_figures(capacity=None).cpu_percent) == (None, None)
    assert Bucket(1024, 9, 4).estimated_delta_us == 0.75 * 1024 * 4
    assert Bucket(1024, 9, 4).estimated_us == 0.75 * 1024 * 9
    assert Bucket(1024, 9, None).estimated_delta_us is None


def of_instances(*rows: GroupReading, instances: int = 2) -> Reading:
    found = busy()
    header = replace(found.header, instances=tuple(instance(number) for number in range(1, instances + 1)))
    return replace(found, header=header, groups=rows)


def test_the_verdict_of_a_cluster_is_about_the_instance_that_waits_most() -> None:
    total = group("A", verdict=Verdict.STARVED)
    one, two = (group("A", waiting=waiting, inst_id=number, verdict=Verdict.STARVED)
                for number, waiting in ((1, 1.0), (2, 3.0)))  # fmt: skip
    well = two._replace(verdict=Verdict.IDLE)
    other = group("B", waiting=9.0, inst_id=1, verdict=Verdict.STARVED)
    assert of_instances(total, one, two, other).judged(total) is total, "all instances have it"
    assert of_instances(total, one, well, other).judged(total) is one
    assert of_instances(total, one, two, instances=3).judged(total) is two, "the third does not have it"
    assert of_instances(total, well).judged(total) is total
    assert of_instances(total, one, two).judged(one) is one


def test_groups_of_an_instance() -> None:
    total, one = group("A"), group("A", inst_id=1)
    assert of_instances(total, one).instance_groups(1) == (one,)
    assert of_instances(total, one).instance_groups(0) == (total,)
    assert of_instances(total, one, instances=1).instance_groups(1) == (total,)


def test_more_cpu_than_there_is_cannot_be() -> None:
    """With 24 CPUs a usage of up to 31 is accepted: a quarter more, and one."""
    for used, is_believed in ((31.0, True), (31.5, False)):
        rows = group("A", used - 1.0), group("B", 1.0)
        found = without_impossible(rows, (instance(),))
        assert (found is rows) is is_believed
        assert {row.doubt for row in found} == {"" if is_believed else "32 of 24 CPUs used is impossible"}
    two = instance(), instance(2)
    rows = group("A", 70.0), group("A", 10.0, inst_id=1), group("A", 60.0, inst_id=2)
    assert [row.doubt for row in without_impossible(rows, two)] == [
        "60 of 24 CPUs used is impossible", "", "60 of 24 CPUs used is impossible",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("busy_part", "cpus", "host"),
    [
        (0.98, 32.0, Host.FULL),
        (0.9, 32.0, Host.FULL),
        (0.89, 32.0, Host.UNKNOWN),  # 3.52 idle
        (0.75, 32.0, Host.SPARE),  # 8 idle, of 24 CPUs a quarter is 6
        (0.8125, 32.0, Host.SPARE),  # 6 idle
        (0.82, 32.0, Host.UNKNOWN),
        (None, 32.0, Host.UNKNOWN),
        (0.5, None, Host.UNKNOWN),
    ],
)
def test_known_facts_of_the_host(busy_part: float | None, cpus: float | None, host: Host) -> None:
    assert host_of(replace(instance(), host_busy=busy_part, host_cpus=cpus)) is host


def test_a_caged_instance_on_a_larger_host() -> None:
    caged = replace(instance(), caging="ON", num_cpus=24.0, host_cpus=32.0, host_busy=0.5)
    assert has_spare_host(caged)
    assert has_spare_host(replace(caged, host_busy=None))
    for facts in ({"caging": "OFF"}, {"host_cpus": 24.0}, {"host_cpus": None}, {"host_busy": 0.99}):
        assert not has_spare_host(replace(caged, **facts)), facts


def test_demand_and_entitlement_of_a_group() -> None:
    assert Load(2.0, 3.0, 9).wanted == 5.0
    assert Load(0.0, 0.0, 9).wanted == 9.0, "open waits are not counted yet"
    assert Load(2.0, 0.0, 9).wanted == 2.0
    assert Load(0.0, 3.0, 9).wanted == 3.0
    assert Load(2.0, 2.0, lasting=0.5).due(3.0) == 2.0
    assert Load(2.0, 2.0).due(3.0) == 3.0
    assert [lasting(*counts) for counts in ((0, 0), (4, 2), (2, 4), (0, 3))] == [1.0, 0.5, 0.5, 0.0]


def test_whether_all_cpus_are_used_by_the_groups_seen() -> None:
    def of(used: float, capacity: float = 8.0, inside: bool = False, **facts: Any) -> Any:
        here = replace(instance(), **{"num_cpus": capacity, "host_busy": None} | facts)
        return frame_of(here, NOTHING, {(0, "A"): Load(used, 0.0)}, whole_plan=True, inside=inside)

    assert (of(8.0).full, of(8.0).divided) == (True, True)
    assert (of(4.0).full, of(4.0).divided) == (False, False)
    assert not of(0.0, 0.0).full
    assert of(1.0, inside=True).divided
    assert not of(1.0, inside=True, host_busy=0.5, host_cpus=8.0).divided
    assert lacks_little(8.0, 8.0)
    assert not lacks_little(1.0, 8.0)
