"""CPU per group: rates, what ends a delta, and the verdict."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.facts.plan_book import PlanBook, PlanShares
from presman.analysis.groups.entitlement import Load, frame_of, lasting, verdict, worst
from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.reading import Reading
from presman.rows.group_rows import CdbPlanDirective, ConsumerGroup, GroupMetric, PlanDirective, RsrcPlanHistory
from presman.rows.instance_rows import Database, Osstat, Parameter, Pdb
from presman.rows.session_rows import Session
from presman.rows.snapshot import Section, Snapshot
from tests.analysis.make import NOON, active_plan, directive, group, instance, row, snapshot
from tests.tui import readings as screens

FIXED = [instance(), active_plan(), row(GroupMetric, consumer_group_name="A", num_cpus=16)]


def between(before: list[Any], after: list[Any], seconds: float = 2.0) -> Reading:
    return analyse(snapshot(*before), snapshot(*after, after=seconds, number=2))


def cluster(reading: Reading, name: str) -> GroupReading:
    return next(each for each in reading.cluster_groups() if each.name == name)


def test_cpus_are_milliseconds_over_the_interval_of_the_two_reads() -> None:
    before = group("A", consumed_cpu_time=1000, cpu_wait_time=500, yields=10, requests=4)
    after = group("A", consumed_cpu_time=17_000, cpu_wait_time=4500, yields=14, requests=10)
    found = cluster(between([*FIXED, before], [*FIXED, after], 2.0), "A")
    assert (found.used, found.waiting, found.yields_per_s, found.requests_per_s) == (8.0, 2.0, 2.0, 3.0)
    assert (found.capacity, found.used_percent, found.throttled_percent) == (16.0, 50.0, 20.0)


def test_the_interval_is_that_of_the_groups_own_section() -> None:
    before = snapshot(*FIXED, group("A", consumed_cpu_time=0))
    after = snapshot(*FIXED, group("A", consumed_cpu_time=4000), after=2.0)
    late = Section(after.rows(ConsumerGroup), NOON + timedelta(seconds=4))
    reading = analyse(before, snapshot(after=2.0, sections={**after.sections, ConsumerGroup: late}))
    assert cluster(reading, "A").used == 1.0
    assert reading.interval == 2.0


def test_io_is_per_second_and_its_service_time_per_request() -> None:
    before = group("A", small_read_requests=100, io_service_time=50)
    after = group("A", small_read_requests=300, large_read_requests=50, large_read_megabytes=60, io_service_time=550)
    io = cluster(between([*FIXED, before], [*FIXED, after], 2.0), "A").io
    assert io is not None
    assert (io.small_read_requests, io.large_read_mb, io.mb, io.requests, io.service_ms) == (100, 30, 30, 125, 2.0)


def history(sequence: int, **values: Any) -> RsrcPlanHistory:
    return row(RsrcPlanHistory, sequence=sequence, name="DAY", start_time=NOON, **values)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], []),
        ([history(3)], [history(4)]),
        ([history(3)], [history(3, end_time=NOON), history(4)]),
        ([active_plan("DAY")], [active_plan("NIGHT")]),
        ([instance()], [instance(startup_time=NOON)]),
    ],
    ids=["counter went back", "new window", "window ended", "other plan", "restart"],
)
def test_what_ends_a_delta(before: list[Any], after: list[Any]) -> None:
    counts = (5000, 4000) if not before else (1000, 4000)
    old = [*before, group("A", consumed_cpu_time=counts[0], active_sessions=1)]
    new = [*after, group("A", consumed_cpu_time=counts[1], active_sessions=1)]
    found = cluster(between(old, new), "A")
    assert (found.used, found.waiting, found.io, found.yields_per_s) == (None, None, None, None)
    assert found.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([instance(), active_plan(), history(3)], []),
        ([], [instance(), active_plan(), history(3)]),
        ([history(2, end_time=NOON), history(3)], [history(3), history(2, end_time=NOON)]),
    ],
    ids=["now unreadable", "was unreadable", "other order"],
)
def test_a_failed_read_does_not_end_a_delta(before: list[Any], after: list[Any]) -> None:
    counter = {"active_sessions": 1}
    reading = between([*before, group("A", **counter)], [*after, group("A", consumed_cpu_time=4000, **counter)])
    assert cluster(reading, "A").used == 2.0


@pytest.mark.parametrize("changes", [{"epoch": 2}, {"target": "another"}])
def test_nothing_is_subtracted_across_a_reconnect_or_a_target(changes: dict[str, Any]) -> None:
    rows = [*FIXED, group("A", consumed_cpu_time=10, active_sessions=1)]
    reading = analyse(snapshot(*rows), snapshot(*rows, after=2.0, **changes))
    assert (reading.interval, cluster(reading, "A").used) == (None, None)


@pytest.mark.parametrize("seconds", [0.0, -5.0, 0.01])
def test_reads_at_one_instant_or_backwards_give_no_rate(seconds: float) -> None:
    reading = between([group("A", active_sessions=1)], [group("A", active_sessions=1, consumed_cpu_time=9)], seconds)
    assert (reading.interval, cluster(reading, "A").used) == (None, None)


def test_a_column_that_the_source_lacks_is_no_zero() -> None:
    at = NOON + timedelta(seconds=2)
    section = Section((group("A", active_sessions=1),), at, absent=frozenset({"consumed_cpu_time"}))
    reading = analyse(snapshot(group("A")), snapshot(after=2.0, sections={ConsumerGroup: section}))
    assert cluster(reading, "A").used is None


SAMPLE = {  # Oracle's own: 16 CPUs; running, waiting, allocation in CPUs
    "ADHOC": (1.76, 8.4, 0.8),
    "BATCH": (2.88, 0.4, 2.4),
    "ETL": (0.0, 0.0, 2.4),
    "INTERACTIVE": (10.4, 6.8, 5.6),
    "OTHER_GROUPS": (0.32, 0.08, 0.8),
    "SYS_GROUP": (0.0, 0.0, 4.0),
}


def test_oracles_sample_is_throttled_everywhere_and_yet_conformant() -> None:
    rows = [directive("DAY", name, round(allocation / 0.16)) for name, (_, _, allocation) in SAMPLE.items()]
    before = [*FIXED, *rows, *[group(name) for name in SAMPLE]]
    after = [
        group(name, consumed_cpu_time=round(used * 60_000), cpu_wait_time=round(waiting * 60_000))
        for name, (used, waiting, _) in SAMPLE.items()
    ]
    reading = between(before, [*FIXED, *rows, *after], 60.0)
    assert sum(each.used or 0 for each in reading.cluster_groups()) == pytest.approx(15.36)
    assert {name: cluster(reading, name).guaranteed for name in SAMPLE} == pytest.approx(
        {name: allocation for name, (_, _, allocation) in SAMPLE.items()}
    )
    verdicts = {name: cluster(reading, name).verdict for name in SAMPLE}
    busy = {"ADHOC", "BATCH", "INTERACTIVE", "OTHER_GROUPS"}
    assert verdicts == {name: Verdict.CONTENDED if name in busy else Verdict.IDLE for name in SAMPLE}
    assert [each.name for each in reading.cluster_groups()] == [
        "INTERACTIVE", "SYS_GROUP", "BATCH", "ETL", "ADHOC", "OTHER_GROUPS",
    ]  # fmt: skip


def plan(*rows: PlanDirective) -> PlanShares:
    return PlanBook.read([], rows).shares("P")


def judge(shares: PlanShares, loads: dict[str, Load], name: str, **given: Any) -> Verdict:
    whole_plan = given.pop("whole_plan", True)
    usual = {"num_cpus": 16.0, "cpu_managed": "ON", "caging": "OFF", "host_busy": None}
    here = replace(screens.instance(), **usual | given)
    world = frame_of(here, shares, {(0, group): load for group, load in loads.items()}, whole_plan)
    return verdict((0, name), world, world.full)


HALVES = plan(directive("P", "A", 50), directive("P", "B", 50), directive("P", "Z", 0))


@pytest.mark.parametrize(
    ("loads", "given", "expected"),
    [
        ({"A": Load(4, 0)}, {"cpu_managed": "OFF"}, Verdict.NOT_MANAGED),
        ({}, {}, Verdict.UNKNOWN),
        ({"A": Load(0, 0)}, {}, Verdict.IDLE),
        ({"A": Load(4, 0.01)}, {}, Verdict.NOT_THROTTLED),
        ({"A": Load(8, 4), "B": Load(8, 4)}, {}, Verdict.CONTENDED),
        ({"A": Load(8, 4), "B": Load(8, 4)}, {"caging": "ON", "host_cpus": 32.0}, Verdict.CAGED),
        ({"A": Load(2, 6), "B": Load(14, 0)}, {}, Verdict.STARVED),
        ({"A": Load(2, 6), "B": Load(14, 0)}, {"whole_plan": False}, Verdict.THROTTLED),
        ({"A": Load(0, 0, waiters=3), "B": Load(16, 0)}, {}, Verdict.STARVED),
    ],
)
def test_verdicts(loads: dict[str, Load], given: dict[str, Any], expected: Verdict) -> None:
    assert judge(HALVES, loads, "A", **given) is expected


def test_a_group_without_share_may_hang() -> None:
    assert judge(HALVES, {"Z": Load(0.0, 2), "A": Load(16, 2)}, "Z") is Verdict.ZERO_SHARE


def test_a_group_that_the_plan_does_not_name_has_no_known_share() -> None:
    assert judge(HALVES, {"X": Load(1, 2), "A": Load(15, 2)}, "X") is Verdict.THROTTLED


@pytest.mark.parametrize(
    ("outside", "expected"),
    [
        (Load(6, 4), Verdict.THROTTLED),  # by the plan, 5 of 16 are for A and 11 for X and B, or 8 for A
        (Load(6, 0), Verdict.THROTTLED),  # nor is it known if X waits for none
        (Load(0.1, 0), Verdict.STARVED),
    ],
)
def test_what_groups_outside_the_plan_used_is_no_proof_of_starvation(outside: Load, expected: Verdict) -> None:
    """A and B are due half each of what is divided: of 16 CPUs that is 8, without the 6 of X it is 5."""
    in_plan = {"A": Load(4.5, 7.5), "B": Load(11.5 - outside.used, 4)}
    assert judge(HALVES, in_plan | {"X": outside}, "A") is expected
    assert judge(HALVES, {"A": Load(2, 6), "B": Load(12, 0), "X": Load(2, 0)}, "A") is Verdict.STARVED


def test_a_limit_explains_a_wait_on_an_idle_host_its_own_and_that_of_its_subplan() -> None:
    own = plan(directive("P", "A", 90, utilization_limit=25), directive("P", "B", 10))
    assert judge(own, {"A": Load(3.9, 10)}, "A") is Verdict.CAPPED
    assert judge(own, {"A": Load(2.0, 10)}, "A") is Verdict.NOT_EXHAUSTED, "14 of 16 CPUs were not used"
    assert judge(own, {"A": Load(2.0, 10), "B": Load(14.0, 0)}, "A") is Verdict.STARVED
    rows = [directive("P", "SUB", 50, type="PLAN", utilization_limit=40), directive("P", "B", 50)]
    shared = plan(*rows, directive("SUB", "C", 50), directive("SUB", "D", 50))
    loads = {"C": Load(3.2, 5), "D": Load(3.2, 5), "B": Load(1, 0)}
    assert judge(shared, loads, "C") is Verdict.CAPPED
    assert judge(shared, loads, "B") is Verdict.NOT_THROTTLED


def test_the_worst_instance_speaks_for_the_cluster() -> None:
    assert worst([Verdict.NOT_THROTTLED, Verdict.STARVED, Verdict.CONTENDED]) is Verdict.STARVED
    assert worst([]) is Verdict.UNKNOWN
    assert {worst([each]) for each in Verdict} == set(Verdict)


def test_instances_are_kept_apart_and_summed() -> None:
    fixed: list[Any] = [instance(1), instance(2), active_plan(inst_id=1), active_plan(inst_id=2)]
    fixed += [row(GroupMetric, inst_id=i, num_cpus=8) for i in (1, 2)]
    fixed += [directive("DAY", "A", 60, utilization_limit=50), directive("DAY", "B", 40)]
    old = [group(name, i) for name in "AB" for i in (1, 2)]
    new = [group("A", 1, consumed_cpu_time=8000), group("A", 2, consumed_cpu_time=2000), group("B", 1), group("B", 2)]
    reading = between(fixed + old, fixed + new)
    assert [(each.inst_id, each.name, each.used) for each in reading.groups] == [
        (0, "A", 5.0), (0, "B", 0.0), (1, "A", 4.0), (1, "B", 0.0), (2, "A", 1.0), (2, "B", 0.0),
    ]  # fmt: skip
    total = cluster(reading, "A")
    assert (total.capacity, total.limit, total.share, total.guaranteed) == (16.0, 8.0, 0.6, 8.0)


def test_the_cluster_is_due_what_its_instances_are_due_and_says_the_worst() -> None:
    """Of 8 CPUs on instance 1 A is due 60 %, 4.8, and gets 4 of 8 wanted; on instance 2, with 4, A has all it wants."""
    fixed: list[Any] = [instance(1), instance(2), active_plan(inst_id=1), active_plan(inst_id=2)]
    fixed += [row(GroupMetric, inst_id=inst_id, num_cpus=cpus) for inst_id, cpus in ((1, 8), (2, 4))]
    fixed += [directive("DAY", "A", 60), directive("DAY", "B", 40)]
    old = [group(name, i) for name in "AB" for i in (1, 2)]
    busy = {"consumed_cpu_time": 8000, "cpu_wait_time": 8000}
    new = [group("A", 1, **busy), group("B", 1, **busy), group("A", 2, consumed_cpu_time=2000), group("B", 2)]
    total = cluster(found := between(fixed + old, fixed + new), "A")
    own = {each.inst_id: each for each in found.groups if each.name == "A"}
    assert (own[1].entitled, own[2].entitled) == pytest.approx((4.8, 2.4))
    assert (total.used, total.waiting, total.entitled) == pytest.approx((5.0, 4.0, 7.2))
    assert (total.capacity, total.share, total.guaranteed) == (12.0, 0.6, pytest.approx(7.2))
    assert (own[1].verdict, own[2].verdict, total.verdict) == (Verdict.SHORT, Verdict.NOT_THROTTLED, Verdict.SHORT)


def test_one_instance_without_a_delta_leaves_the_sum_open() -> None:
    fixed = [instance(i) for i in (1, 2)]
    old = [group("A", 1, active_sessions=1)]
    new = [group("A", 1, active_sessions=1, consumed_cpu_time=4000), group("A", 2, active_sessions=1)]
    reading = between([*fixed, *old], [*fixed, *new])
    assert cluster(reading, "A").used is None
    assert [each.used for each in reading.groups if each.inst_id] == [2.0, None]


def test_the_same_group_of_two_containers_is_two_groups() -> None:
    fixed: list[Any] = [
        instance(),
        row(Database, cdb="YES"),
        row(GroupMetric, con_id=0, num_cpus=16),
        active_plan("CDB_PLAN", con_id=1),
        active_plan("PDB_PLAN", con_id=3),
        active_plan("PDB_PLAN", con_id=4),
        row(Pdb, con_id=2, name="PDB$SEED", open_mode="READ ONLY"),
        row(Pdb, con_id=3, name="SALES", open_mode="READ WRITE"),
        row(Pdb, con_id=4, name="HR", open_mode="READ WRITE"),
        row(Pdb, con_id=5, name="OLD", open_mode="MOUNTED"),
        row(CdbPlanDirective, plan="CDB_PLAN", pluggable_database="SALES", shares=3, parallel_server_limit=50),
        row(CdbPlanDirective, plan="CDB_PLAN", pluggable_database="HR", shares=1, utilization_limit=20),
        row(CdbPlanDirective, plan="CDB_PLAN", pluggable_database="OLD", shares=9),
        directive("PDB_PLAN", "A", 3, parallel_server_limit=50),
        directive("PDB_PLAN", "B", 1),
    ]
    reading = analyse(None, snapshot(*fixed))
    shares = {(each.con_id, each.name): each.share for each in reading.cluster_groups()}
    assert shares == pytest.approx({(3, "A"): 9 / 16, (3, "B"): 3 / 16, (4, "A"): 3 / 16, (4, "B"): 1 / 16})
    limits = {(each.con_id, each.name): each.limit for each in reading.cluster_groups()}
    assert limits == {(3, "A"): None, (3, "B"): None, (4, "A"): pytest.approx(3.2), (4, "B"): pytest.approx(3.2)}
    servers = {(each.con_id, each.name): each.servers_limit for each in reading.cluster_groups()}
    assert servers == {(3, "A"): 32, (3, "B"): None, (4, "A"): 64, (4, "B"): None}


def test_groups_outside_the_plan_are_shown_only_when_active() -> None:
    rows = [*FIXED, directive("DAY", "A", 100), group("QUIET"), group("_ORACLE_BACKGROUND_GROUP_", active_sessions=2)]
    assert [each.name for each in analyse(None, snapshot(*rows)).groups] == ["A", "_ORACLE_BACKGROUND_GROUP_"]


@pytest.mark.parametrize(
    ("rows", "cpus"),
    [
        ([row(GroupMetric, num_cpus=12), row(Osstat, stat_name="NUM_CPUS", value=64)], 12),
        ([row(Parameter, name="cpu_count", value="8"), row(Osstat, stat_name="NUM_CPUS", value=64)], 64),
        (
            [
                active_plan(instance_caging="ON"),
                row(Parameter, name="cpu_count", value="8"),
                row(Osstat, stat_name="NUM_CPUS", value=64),
            ],
            8,
        ),
        ([row(Parameter, name="cpu_count", value="8")], 8),
        ([], None),
    ],
)
def test_capacity(rows: list[Any], cpus: float | None) -> None:
    (found,) = analyse(None, snapshot(instance(), *rows)).header.instances
    assert found.num_cpus == cpus


def test_the_host_is_busy_by_its_own_ticks() -> None:
    def ticks(busy: float, idle: float) -> list[Any]:
        return [row(Osstat, stat_name="BUSY_TIME", value=busy), row(Osstat, stat_name="IDLE_TIME", value=idle)]

    found = between([instance(), *ticks(100, 1000)], [instance(), *ticks(250, 1050)]).header.instances[0]
    assert found.host_busy == 0.75
    assert (
        between([instance(), *ticks(100, 1000)], [instance(), *ticks(50, 1050)]).header.instances[0].host_busy is None
    )


COUNTERS = ["consumed_cpu_time", "cpu_wait_time", "yields", "requests", "large_read_megabytes", "io_service_time"]


@given(st.lists(st.fixed_dictionaries({name: st.integers(0, 2**40) for name in COUNTERS}), min_size=2, max_size=6))
def test_no_rate_is_ever_negative(sequence: list[dict[str, int]]) -> None:
    snapshots = [
        snapshot(*FIXED, group("A", active_sessions=1, **values), after=2.0 * number)
        for number, values in enumerate(sequence)
    ]
    for old, new, before, after in zip(snapshots, snapshots[1:], sequence, sequence[1:], strict=False):
        found = cluster(analyse(old, new), "A")
        if any(after[name] < before[name] for name in COUNTERS):
            assert (found.used, found.waiting, found.io) == (None, None, None)
        else:
            assert found.used == (after["consumed_cpu_time"] - before["consumed_cpu_time"]) / 2000
            assert found.io is not None
            assert min(found.used, found.waiting or 0, found.io.mb, found.io.requests) >= 0


def test_without_the_groups_view_active_sessions_are_counted_from_the_sessions() -> None:
    rows = [row(Session, sid=sid, resource_consumer_group="A", status="ACTIVE") for sid in (1, 2)]
    (found,) = analyse(None, snapshot(*rows, row(Session, sid=3, resource_consumer_group="B"))).groups
    assert (found.name, found.active_sessions, found.in_plan) == ("A", 2, False)


def test_inside_a_pluggable_database_no_group_is_called_starved() -> None:
    fixed: list[Any] = [instance(), active_plan(con_id=3), row(GroupMetric, con_id=3, num_cpus=8)]
    fixed += [directive("DAY", "A", 9), directive("DAY", "B", 1)]
    old = [group("A", con_id=3), group("B", con_id=3)]
    new = [
        group("A", con_id=3, consumed_cpu_time=1000, cpu_wait_time=9000),
        group("B", con_id=3, consumed_cpu_time=15000),
    ]
    found = cluster(between([*fixed, *old], [*fixed, *new]), "A")
    assert (found.verdict, found.entitled, found.capacity) == (Verdict.THROTTLED, None, 8.0)


def test_a_container_whose_plan_cannot_be_read_still_takes_its_part() -> None:
    def poll(cpu: int, after: float) -> Snapshot:
        rows: list[Any] = [instance(), row(Database, cdb="YES"), row(GroupMetric, con_id=1, num_cpus=16)]
        rows += [active_plan("CDB", con_id=1), active_plan("SEEN", con_id=3), active_plan("HIDDEN", con_id=4)]
        rows += [row(Pdb, con_id=con_id, name=f"P{con_id}", open_mode="READ WRITE") for con_id in (3, 4, 5)]
        rows += [row(CdbPlanDirective, plan="CDB", pluggable_database=name, shares=1) for name in ("P3", "P5")]
        rows += [row(CdbPlanDirective, plan="CDB", pluggable_database="P4", shares=2, utilization_limit=50)]
        rows += [directive("SEEN", "A", 100)]
        for name, con_id in [("A", 3), ("X", 4), ("Y", 4), ("OTHER_GROUPS", 5)]:
            rows.append(group(name, con_id=con_id, consumed_cpu_time=cpu, cpu_wait_time=cpu))
        return snapshot(*rows, after=after)

    reading = analyse(poll(0, 0), poll(8000, 2))
    found = {(each.con_id, each.name): each for each in reading.cluster_groups()}
    assert set(found) == {(3, "A"), (4, "X"), (4, "Y"), (5, "OTHER_GROUPS")}
    assert (found[3, "A"].entitled, found[3, "A"].share, found[5, "OTHER_GROUPS"].share) == (4.0, 0.25, 0.25)
    assert {key: each.verdict for key, each in found.items()} == {
        (3, "A"): Verdict.CONTENDED,
        (4, "X"): Verdict.CAPPED,
        (4, "Y"): Verdict.CAPPED,
        (5, "OTHER_GROUPS"): Verdict.CONTENDED,
    }


def test_a_group_that_came_in_the_interval_is_due_only_a_part() -> None:
    assert Load(2.0, 2.0).due(9.0) == 4.0
    assert Load(2.0, 2.0).due(3.0) == 3.0
    assert Load(2.0, 2.0, lasting=0.5).due(9.0) == 2.0
    assert (lasting(2, 8), lasting(8, 2), lasting(4, 4), lasting(0, 0)) == (0.25, 0.25, 1.0, 1.0)
