from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_type_hints

import pytest
from msgspec.structs import replace

from presman.base.release import Release
from presman.output import v1_tables
from presman.rows.group_rows import ConsumerGroup, ConsumerGroupDefinition, GroupMetric, Plan, PlanDirective
from presman.rows.instance_rows import Osstat, Parameter
from presman.rows.queries import Scope
from presman.rows.session_rows import SessionInfo
from presman.rows.snapshot import Section, Snapshot
from tests.output.readings import AT, on_two_instances, reading


def row(record: type[Any], **values: Any) -> Any:
    """A record with zeros, empty texts and NULLs but for `values`."""
    blank = {int: 0, float: 0.0, str: ""}
    given = {name: blank.get(kind) for name, kind in get_type_hints(record).items()} | {"inst_id": 1}
    return record(**{name: value for name, value in (given | values).items() if name in record._fields})


def snapshot(rows: Sequence[Any]) -> Snapshot:
    sections = {
        kind: Section(tuple(item for item in rows if type(item) is kind)) for kind in {type(item) for item in rows}
    }
    return Snapshot("demo", "simulator", Release(19), Scope.CLUSTER, AT, 2, 1, 0.0, 0, sections)


def metric(name: str, used_ms: int, inst_id: int = 1, con_id: int = 0, waited_ms: int = 0, csec: int = 6000) -> Any:
    return row(
        GroupMetric, inst_id=inst_id, con_id=con_id, consumer_group_name=name, cpu_consumed_time=used_ms,
        cpu_wait_time=waited_ms, num_cpus=8, intsize_csec=csec, cpu_utilization_limit=50.0,
    )  # fmt: skip


def test_cpu_percent_is_of_capacity_and_the_interval_is_measured() -> None:
    given = snapshot([metric("A", 120_000, waited_ms=30_500, csec=3000), row(Osstat, stat_name="NUM_CPUS", value=16.0)])
    table = v1_tables.cpu(given, reading())
    # 120 s of 8 CPUs x 30 s; of the host's 16 CPUs it is half of that; the host was 75 % busy
    assert table.rows == ((1, "A", 8, 120.0, 50.0, 30.5, 50.0, 25.0, 75.0),)
    assert table.columns == v1_tables.CPU


def test_the_percentage_of_a_host_with_unknown_cpus_is_unknown() -> None:
    other = row(Osstat, inst_id=2, stat_name="NUM_CPUS", value=16.0)
    table = v1_tables.cpu(snapshot([metric("A", 120_000), other]), reading())
    assert [line[7] for line in table.rows] == [None]


def test_two_idle_groups_have_zero_percent() -> None:
    table = v1_tables.cpu(snapshot([metric("A", 0), metric("B", 0, csec=0)]), reading())
    assert [line[4] for line in table.rows] == [0.0, None]


def test_instances_are_kept_apart() -> None:
    given = snapshot([metric("A", 48_000, 2), metric("A", 24_000, 1), metric("B", 0, 1)])
    table = v1_tables.cpu(given, on_two_instances())
    assert table.values(4) == {"A@1": 5.0, "B@1": 0.0, "A@2": 10.0}


def test_containers_are_separate() -> None:
    table = v1_tables.cpu(snapshot([metric("A", 1, con_id=3), metric("A", 2, con_id=4)]), reading())
    assert list(table.values(3)) == ["A#3", "A#4"]


def session(group: str, *megabytes: int, inst_id: int = 1, **more: Any) -> Any:
    names = ("small_read_megabytes", "large_read_megabytes", "small_write_megabytes", "large_write_megabytes")
    return row(
        SessionInfo, inst_id=inst_id, current_consumer_group=group, **dict(zip(names, megabytes, strict=False)), **more
    )


def test_io_percent_adds_up_to_a_hundred_on_each_instance() -> None:
    given = snapshot(
        [session("A", 1, 2, 3, 4, sql_canceled=1), session("A", 10), session("ORA$X", 60), session("A", 5, inst_id=2)]
    )
    table = v1_tables.session_io(given, reading())
    assert table.rows == (
        (1, "A", 2, 11, 2, 3, 4, 1, 20, 25.0),
        (1, "ORA$X", 1, 60, 0, 0, 0, 0, 60, 75.0),
        (2, "A", 1, 5, 0, 0, 0, 0, 5, 100.0),
    )


def test_before_12_1_groups_are_known_by_number() -> None:
    given = snapshot(
        [
            session("", 3, current_consumer_group_id=77),
            row(ConsumerGroupDefinition, consumer_group_id=77, consumer_group="BATCH"),
        ]
    )
    assert v1_tables.session_io(given, reading()).rows[0][:2] == (1, "BATCH")


def test_parallel() -> None:
    given = row(
        ConsumerGroup, name="A", pq_active_time=12_345, current_pqs_active=2, current_pqs_queued=3, pq_queued_time=999,
        current_pq_servers_active=32, pq_queue_time_outs=4,
    )  # fmt: skip
    assert v1_tables.parallel(snapshot([given]), reading()).rows == ((1, "A", 12.35, 2, 3, 999, 32, 4),)


def directive(plan: str, name: str, kind: str = "CONSUMER_GROUP", status: str = "", **levels: int) -> Any:
    return row(PlanDirective, plan=plan, group_or_subplan=name, type=kind, status=status, **levels)


def test_emphasis_passes_down_the_remainder_and_nests() -> None:
    given = snapshot(
        [
            directive("DAYTIME", "SYS_GROUP", mgmt_p1=75),
            directive("DAYTIME", "SUB", "PLAN", mgmt_p2=80),
            directive("DAYTIME", "OTHER_GROUPS", mgmt_p3=100),
            directive("DAYTIME", "SYS_GROUP", status="PENDING", mgmt_p1=1),
            directive("SUB", "A", mgmt_p1=50),
            directive("SUB", "B", mgmt_p2=100),
        ]
    )
    table = v1_tables.emphasis(given, reading())
    assert {line[0]: line[1:4] for line in table.rows} == {
        "SYS_GROUP": (75.0, 0.0, 0.0),
        "SUB": (0.0, 20.0, 0.0),
        "A": (10.0, 0.0, 0.0),
        "B": (0.0, 10.0, 0.0),
        "OTHER_GROUPS": (0.0, 0.0, 5.0),
    }


def test_shares_are_shares() -> None:
    given = snapshot(
        [
            row(Plan, plan="DAYTIME", mgmt_method="RATIO"),
            directive("DAYTIME", "A", mgmt_p1=3),
            directive("DAYTIME", "B", mgmt_p1=1),
        ]
    )
    assert v1_tables.emphasis(given, reading()).values(1) == {"A": 75.0, "B": 25.0}


def test_a_plan_in_a_circle_ends() -> None:
    given = snapshot([directive("DAYTIME", "DAYTIME", "PLAN", mgmt_p1=100)])
    assert len(v1_tables.emphasis(given, reading()).rows) < 5


def test_a_group_in_two_subplans_appears_twice() -> None:
    given = snapshot(
        [
            directive("DAYTIME", "S", "PLAN", mgmt_p1=50),
            directive("DAYTIME", "G", mgmt_p1=50),
            directive("S", "G", mgmt_p1=100),
        ]
    )
    assert v1_tables.emphasis(given, reading()).values(1) == {"S": 50.0, "G": 50.0, "G (2)": 50.0}


def test_parameters_of_instances_that_differ() -> None:
    given = [row(Parameter, inst_id=i, name="cpu_count", value=value) for i, value in ((1, "8"), (2, "16"))]
    assert v1_tables.parameters(snapshot(given))["cpu_count"] == "8/16"


def test_the_screen_has_a_frame_and_bars() -> None:
    table = v1_tables.cpu(snapshot([metric("A", 48_000), metric("LONG", 0, csec=0)]), reading())
    lines = v1_tables.boxed(table).splitlines()
    assert {len(line) for line in lines} == {len(lines[0])}
    assert v1_tables.bars(table, 4) == "A     [ 10.00%] ##########\nLONG  [     -%]\n"
    assert lines[-2].split()[9] == "-", "the percentage of LONG is not known"
    huge = replace(table, rows=((1, "A", 0, 0.0, 5000.0),))
    assert v1_tables.bars(huge, 4).count("#") == 100


@pytest.mark.parametrize("measure", v1_tables.TABLES)
def test_without_values_a_table_has_no_rows(measure: str) -> None:
    table = v1_tables.TABLES[measure](snapshot([]), reading())
    assert table.rows == ()
    assert table.columns == v1_tables.COLUMNS[measure]
    assert v1_tables.boxed(table).count("\n") == 4
    assert v1_tables.bars(table, 1) == ""
