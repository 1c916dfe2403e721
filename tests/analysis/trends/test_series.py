"""The hour of the metric history as points: windows may end at any second, and differ between instances."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.trends.series import CPUS, Series, metric_minutes
from presman.polling.poller import Poller
from presman.rows.group_rows import GroupMetricHistory
from presman.rows.instance_rows import Pdb, PdbMetricHistory
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.make import NOON, row, snapshot
from tests.output.readings import reading
from tests.thorough import some

MINUTE = NOON.timestamp() // 60 * 60


def window(before: float, used: float, *, inst_id: int = 1, name: str = "BATCH", **more: Any) -> GroupMetricHistory:
    """A window that ended so many seconds before noon."""
    of = {"intsize_csec": 6000} | more
    return row(
        GroupMetricHistory, inst_id=inst_id, consumer_group_name=name, end_time=NOON - timedelta(seconds=before),
        avg_running_sessions=used, avg_waiting_sessions=0.0, io_megabytes=0, **of,
    )  # fmt: skip


def used(*rows: Any, inst_id: int = 1) -> list[tuple[float, float]]:
    """The minutes before noon and the CPUs that an instance's group used then, oldest first."""
    points = metric_minutes(snapshot(*rows))
    return [
        ((MINUTE - at) / 60, values["used", inst_id, 0, "BATCH"])
        for at, values in sorted(points.items())
        if ("used", inst_id, 0, "BATCH") in values
    ]


def test_a_window_is_a_minute_whatever_second_it_ends_at() -> None:
    for second in range(60):
        found = used(*(window(second + 60 * number, float(number)) for number in range(1, 6)))
        assert [value for _, value in found] == [5, 4, 3, 2, 1], second
        assert [one - other for (one, _), (other, _) in pairwise(found)] == [1, 1, 1, 1], second


def test_windows_that_drift_past_half_a_minute_are_not_added_up() -> None:
    # Every window a second longer than a minute: their ends go from 12:00:33 back over half past to 11:54:27.
    found = used(*(window(27 + 61 * number, 8.0) for number in range(7)))
    assert [value for _, value in found] == [8.0] * 7


def test_instances_that_end_two_seconds_apart_around_half_past_are_one_point() -> None:
    first = [window(29 + 60 * number, 3.0) for number in range(3)]
    other = [window(31 + 60 * number, 4.0, inst_id=2) for number in range(3)]
    one, two = used(*first, *other), used(*first, *other, inst_id=2)
    assert [at for at, _ in one] == [at for at, _ in two]
    series = Series()
    series.fill(snapshot(*first, *other))
    start = MINUTE - 60 * 5
    cluster = series.buckets(("used", 0, 0, "BATCH"), start, 60.0, 7)
    assert [value for value in cluster if value is not None] == [7.0, 7.0, 7.0]


def test_an_instance_that_was_down_for_ten_minutes_keeps_its_time() -> None:
    found = used(window(20, 1.0), window(620, 2.0, inst_id=2), inst_id=2)
    assert [value for _, value in found] == [2.0]
    assert found[0][0] - used(window(20, 1.0))[0][0] == 10


def test_two_windows_in_a_minute_are_averaged_by_length() -> None:
    # A plan was switched: 20 seconds at 6.0 and 40 at 3.0 are 20/60 * 6 + 40/60 * 3 = 4 CPUs.
    found = used(window(5, 3.0, intsize_csec=4000), window(25, 6.0, intsize_csec=2000))
    assert [value for _, value in found] == [4.0]


def test_containers_whose_windows_end_at_another_second_than_those_of_groups() -> None:
    pdb = row(Pdb, con_id=3, name="SALES")
    minutes = [
        row(
            PdbMetricHistory, inst_id=1, con_id=3, end_time=NOON - timedelta(seconds=30 + 60 * number),
            avg_running_sessions=2.0, avg_waiting_sessions=1.0,
        )
        for number in range(3)
    ]  # fmt: skip
    points = metric_minutes(snapshot(pdb, *minutes, *(window(1 + 60 * number, 5.0) for number in range(3))))
    assert [point["pdb_used", 1, 3, "SALES"] for point in points.values()] == [2.0] * 3
    assert [point["used", 1, 0, "BATCH"] for point in points.values()] == [5.0] * 3


@pytest.mark.parametrize("scenario", some(["pdb"], ["mixed", "rac"]))
def test_no_hour_of_a_simulated_database_uses_more_cpus_than_it_has(scenario: str) -> None:
    # Windows a little longer than a minute, as a database has them: their ends drift past half past.
    source = SimulatorSource(scenario, seed=1, clock=lambda: 0.0, start=datetime(2026, 3, 14, 9, 0, 30, tzinfo=UTC))
    poller = Poller(source)
    poller.open()
    points = metric_minutes(poller.poll())
    cpus = sum(machine.capacity.cpu_count for machine in source.simulation.machines)
    poller.close()
    assert len(points) >= 58
    assert {round(other - one) for one, other in pairwise(sorted(points))} == {60}
    for values in points.values():
        assert sum(value for key, value in values.items() if key[0] == "used") <= cpus * 1.001


def test_without_rows_there_are_no_minutes() -> None:
    assert metric_minutes(snapshot()) == {}
    assert metric_minutes(snapshot(window(0, 1.0, intsize_csec=0))) == {}


def test_the_hour_before_has_the_cpus_of_that_time() -> None:
    """An instance had 8 CPUs two minutes ago and has 16; a container of it may use 4. The chart has its line there."""
    rows = [window(150, 1.0, num_cpus=8), window(90, 1.0, num_cpus=16), window(90, 1.0, num_cpus=4, con_id=3)]
    other = [window(90, 1.0, num_cpus=2, inst_id=2)]
    series = Series()
    series.fill(snapshot(*rows, *other))
    cpus = series.buckets(CPUS, MINUTE - 180, 60.0, 3)
    assert [each for each in cpus if each is not None] == [8.0, 18.0]
    nothing = Series()
    nothing.fill(snapshot(window(90, 1.0, num_cpus=None)))
    assert set(nothing.buckets(CPUS, MINUTE - 180, 60.0, 3)) == {None}


def test_a_monitor_that_is_left_running_keeps_two_hours() -> None:
    """A poll every 2 s for three hours; some minutes more are kept, so that the oldest go together."""
    series, first = Series(), reading()
    for number in range(5400):
        series.add(replace(first, at=first.at + timedelta(seconds=2 * number)))
    used = series.buckets(("used", 0, 0, first.groups[0].name), first.at.timestamp(), 600.0, 18)
    assert [number for number, each in enumerate(used) if each is not None] in ([*range(5, 18)], [*range(6, 18)])
