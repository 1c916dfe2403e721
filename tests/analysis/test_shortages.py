"""What runs short is an alert: CPU without a plan, the host's CPU, session pools, time in the queue, servers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis import analyse
from presman.analysis.readings.group_readings import ActiveSessionPool
from presman.analysis.readings.reading import Reading
from presman.records.group_rows import GroupMetric
from presman.records.instance_rows import Osstat, Parameter
from presman.records.parallel_rows import PxProcessSysstat
from presman.tabs.shortage_alerts import shortages
from tests.analysis.make import active_plan, group, instance, row, snapshot
from tests.tui.readings import busy


def two_polls(used: float, cpu_managed: str = "OFF", busy_part: float = 1.0, host: int = 8) -> Reading:
    """One group that uses so many of 8 CPUs for two seconds, on a host that is busy to that part."""
    fixed: list[Any] = [instance(), active_plan(cpu_managed=cpu_managed), row(Parameter, name="cpu_count", value="8")]
    fixed += [row(Osstat, stat_name="NUM_CPUS", value=float(host)), row(GroupMetric, num_cpus=8)]
    times = (
        {"BUSY_TIME": 0.0, "IDLE_TIME": 0.0},
        {"BUSY_TIME": 200.0 * busy_part, "IDLE_TIME": 200.0 * (1 - busy_part)},
    )
    first, then = ([row(Osstat, stat_name=name, value=value) for name, value in each.items()] for each in times)
    before = snapshot(*fixed, *first, group("OTHER_GROUPS"))
    after = group("OTHER_GROUPS", consumed_cpu_time=round(2000 * used))
    return analyse(before, snapshot(*fixed, *then, after, after=2.0, number=2))


def texts(reading: Reading) -> list[str]:
    return [alert.short for alert in shortages(reading)]


@pytest.mark.parametrize(
    ("used", "managed", "told"),
    [
        (8.0, "OFF", ["8.0 of 8.0 CPUs used, no plan divides them"]),
        (7.5, "OFF", []),  # 94 %
        (8.0, "ON", []),
    ],
)
def test_cpu_is_full_and_no_plan_divides_it(used: float, managed: str, told: list[str]) -> None:
    assert texts(two_polls(used, managed)) == told


@pytest.mark.parametrize(
    ("used", "busy_part", "told"),
    [
        (4.0, 1.0, ["12.0 of the host's 16 CPUs are used by others"]),
        (4.0, 0.94, []),
        (12.5, 1.0, []),  # 3.5 of 16 is less than a quarter
    ],
)
def test_the_host_works_for_others(used: float, busy_part: float, told: list[str]) -> None:
    assert texts(two_polls(used, "ON", busy_part, host=16)) == told


@pytest.mark.parametrize(
    ("pool", "state", "text"),
    [
        (
            ActiveSessionPool(4, 15, 552.0, 600),
            "bad",
            "the first for 9:12; 2 of 4 allowed work",
        ),
        (ActiveSessionPool(4, 15, 30.0, 600), "warn", "timeout 10:00"),
        (ActiveSessionPool(4, 15, 30.0, None), "warn", "they wait without end"),
        (ActiveSessionPool(None, 1, 30.0, None), "warn", "2 of - allowed work"),
    ],
)
def test_sessions_wait_for_their_pool(pool: ActiveSessionPool, state: str, text: str) -> None:
    reading = two_polls(1.0, "ON", 0.1)
    groups = tuple(each._replace(pool=pool, active_sessions=2) for each in reading.groups)
    (alert,) = shortages(replace(reading, groups=groups))
    assert alert.state == state
    assert alert.text.startswith(f"OTHER_GROUPS: {pool.queued} wait for the session pool")
    assert text in alert.text


def test_a_statement_is_about_to_time_out() -> None:
    reading = busy()
    left = (301.0, 130.0, 299.0)
    queue = tuple(replace(each, timeout_left=seconds) for each, seconds in zip(reading.queue, left, strict=False))
    (alert,) = [each for each in shortages(replace(reading, queue=queue)) if "queued" in each.short]
    assert alert.short == "2 queued time out within 5:00"
    assert f"{queue[1].group} {queue[1].sql_id} in 2:10" in alert.text


def test_no_server_is_left() -> None:
    def reading(in_use: int) -> Reading:
        used = row(PxProcessSysstat, statistic="Servers In Use", value=in_use)
        return analyse(
            None, snapshot(instance(), active_plan(), used, row(Parameter, name="parallel_max_servers", value="32"))
        )

    assert texts(reading(32)) == ["all 32 parallel servers in use"]
    assert texts(reading(31)) == []
