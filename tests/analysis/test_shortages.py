"""Shortages and limits as alerts: CPU, session pools, queue waits, servers, I/O limits, a new plan."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.alerts.alert_rules import by_rules, wrong
from presman.analysis.assemble import analyse
from presman.analysis.readings.container_readings import IoVerdict, LimitedContainer
from presman.analysis.readings.group_readings import ActiveSessionPool
from presman.analysis.readings.reading import Alert, Reading, SwitchedPlan
from presman.analysis.readings.statement_readings import Cause
from presman.base.formats import duration
from presman.rows.group_rows import GroupMetric, RsrcPlanHistory
from presman.rows.instance_rows import Osstat, Parameter
from presman.rows.session_rows import PxProcessSysstat
from tests.analysis.make import NOON, active_plan, group, instance, row, snapshot
from tests.tui.readings import busy, quiet


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


SHORT = {"cpu_without_plan", "host_shared", "session_pool", "queue_timeout", "servers_at_maximum"}


def shortages(reading: Reading) -> list[Alert]:
    return [alert for alert in wrong(reading) if alert.key in SHORT]


def texts(reading: Reading) -> list[str]:
    return [alert.short for alert in shortages(reading)]


@pytest.mark.parametrize(
    ("used", "managed", "expected"),
    [
        (8.0, "OFF", ["8.0 of 8.0 CPUs used, no plan divides them"]),
        (7.5, "OFF", []),  # 94 %
        (8.0, "ON", []),
    ],
)
def test_cpu_is_full_and_no_plan_divides_it(used: float, managed: str, expected: list[str]) -> None:
    assert texts(two_polls(used, managed)) == expected


@pytest.mark.parametrize(
    ("used", "busy_part", "expected"),
    [
        (4.0, 1.0, ["12.0 of the host's 16 CPUs are used by others"]),
        (4.0, 0.94, []),
        (12.5, 1.0, []),  # 3.5 of 16 is less than a quarter
    ],
)
def test_the_host_works_for_others(used: float, busy_part: float, expected: list[str]) -> None:
    assert texts(two_polls(used, "ON", busy_part, host=16)) == expected


@pytest.mark.parametrize(
    ("pool", "state", "text"),
    [
        (
            ActiveSessionPool(4, 15, 552.0, 600),
            "bad",
            "the first for 9:12; 2 of 4 allowed active",
        ),
        (ActiveSessionPool(4, 15, 30.0, 600), "warn", "timeout 10:00"),
        (ActiveSessionPool(4, 15, 30.0, None), "warn", "without a timeout"),
        (ActiveSessionPool(None, 1, 30.0, None), "warn", "2 active (ACTIVE"),
    ],
)
def test_sessions_wait_for_their_pool(pool: ActiveSessionPool, state: str, text: str) -> None:
    reading = two_polls(1.0, "ON", 0.1)
    groups = tuple(each._replace(pool=pool, active_sessions=2) for each in reading.groups)
    (alert,) = shortages(replace(reading, groups=groups))
    assert alert.state == state
    assert alert.text.startswith(f"OTHER_GROUPS: {pool.queued} wait{'s' * (pool.queued == 1)} for the session pool")
    assert text in alert.text


def test_a_statement_is_about_to_time_out() -> None:
    reading = busy()
    left = (301.0, 130.0, 299.0)
    queue = tuple(replace(each, timeout_left=seconds) for each, seconds in zip(reading.queue, left, strict=False))
    (alert,) = [each for each in shortages(replace(reading, queue=queue)) if "queued" in each.short]
    assert alert.short == "2 queued time out within 5:00"
    assert f"{queue[1].group} {queue[1].sql_id} in 2:10" in alert.text


@pytest.mark.parametrize(
    ("action", "left", "state", "text"),
    [
        ("CANCEL", 299.0, "bad", "✕ 1 queued times out within 5:00, the first: {row} in 4:59 (PARALLEL_QUEUE_TIMEOUT)"),
        (
            "RUN", 0.0, "note",
            "▶ 1 queued starts at its timeout, within 5:00, perhaps with fewer servers, the first: {row} in 0:00 "
            "(PQ_TIMEOUT_ACTION RUN)",
        ),
        (
            "", 22.0, "warn",
            "▲ 1 queued reaches its timeout within 5:00, the first: {row} in 0:22 "
            "(PQ_TIMEOUT_ACTION was not read: CANCEL ends it, RUN starts it)",
        ),
    ],
)  # fmt: skip
def test_the_timeout_action_decides_the_severity(action: str, left: float, state: str, text: str) -> None:
    first, *_ = busy().queue
    reading = replace(quiet(), queue=(replace(first, timeout_left=left, timeout_action=action),))
    (alert,) = by_rules(reading)
    assert (alert.key, alert.state) == ("queue_timeout", state)
    assert f"{alert.glyph} {alert.text}" == text.format(row=f"{first.group} {first.sql_id}")


def test_one_group_ends_its_statements_and_another_starts_them() -> None:
    queue = [replace(each, timeout_left=60.0) for each in busy().queue[:3]]
    actions = ("CANCEL", "RUN", "RUN")
    reading = replace(
        quiet(),
        queue=tuple(replace(each, timeout_action=action) for each, action in zip(queue, actions, strict=True)),
    )
    assert [(alert.state, alert.short) for alert in by_rules(reading)] == [
        ("bad", "1 queued times out within 5:00"),
        ("note", "2 queued start at their timeout, within 5:00, perhaps with fewer servers"),
    ]


def test_a_head_that_its_timeout_starts_is_not_stuck_for_good() -> None:
    reading = busy()
    head = replace(reading.heads[0], cause=Cause.NEVER_FITS)

    def states(action: str) -> list[str]:
        at_timeout = replace(head, statement=replace(head.statement, timeout_left=900.0, timeout_action=action))
        return [alert.state for alert in by_rules(replace(quiet(), heads=(at_timeout,)))]

    assert (states("CANCEL"), states("RUN")) == (["bad"], ["warn"])


def test_no_server_is_left() -> None:
    def reading(in_use: int) -> Reading:
        used = row(PxProcessSysstat, statistic="Servers In Use", value=in_use)
        return analyse(
            None, snapshot(instance(), active_plan(), used, row(Parameter, name="parallel_max_servers", value="32"))
        )

    assert texts(reading(32)) == ["all 32 parallel servers in use"]
    assert texts(reading(31)) == []


LIMITED = LimitedContainer(
    *(1, 3, "SALES", None, 1.6, None, 200, IoVerdict.THROTTLED),
    sentence="Uses 193 of 200 MB/s (MAX_MBPS): held.",
    held_by="MAX_MBPS",
)


def test_a_container_is_held_by_its_io_limit() -> None:
    (alert,) = wrong(replace(quiet(), io_limited=(LIMITED, LIMITED._replace(con_id=4, verdict=IoVerdict.NEAR))))
    assert alert.short == "SALES: I/O throttled 1.6 ms each by MAX_MBPS"
    assert alert.text == "SALES I/O: Uses 193 of 200 MB/s (MAX_MBPS): held"
    assert (alert.state, alert.key, alert.subject) == ("warn", "io_limit", "SALES")


@pytest.mark.parametrize(
    ("seconds", "window", "ending"),
    [
        (599.0, "NIGHT", "DAY_PLAN to NIGHT_PLAN, by the window NIGHT"),
        (42.0, "", "DAY_PLAN to NIGHT_PLAN, no view shows who set it"),
        (600.0, "NIGHT", ""),
    ],
)
def test_a_plan_was_switched(seconds: float, window: str, ending: str) -> None:
    reading = quiet()
    switched = SwitchedPlan(reading.at - timedelta(seconds=seconds), "NIGHT_PLAN", "DAY_PLAN", window)
    found = [alert for alert in wrong(replace(reading, switched=switched)) if alert.key == "plan_switched"]
    assert [alert.state for alert in found] == ["note"] * bool(ending)
    assert all(alert.text.startswith(f"Plan switched {duration(seconds)} ago") for alert in found)
    assert all(alert.text.endswith(ending) for alert in found)


def test_the_newest_change_of_plan_is_found_in_the_history() -> None:
    history = [
        row(RsrcPlanHistory, con_id=0, name=name, start_time=NOON - timedelta(minutes=minutes), window_name=window)
        for name, minutes, window in (("DAY_PLAN", 90, ""), ("NIGHT_PLAN", 5, "NIGHT"))
    ]
    found = analyse(None, snapshot(instance(), active_plan(), *history)).switched
    assert found == SwitchedPlan(NOON - timedelta(minutes=5), "NIGHT_PLAN", "DAY_PLAN", "NIGHT")
    assert analyse(None, snapshot(instance(), active_plan(), history[0])).switched is None


def test_every_rule_has_a_key_of_its_own() -> None:
    found = wrong(busy())
    assert all(alert.key and alert.text and alert.short for alert in found)
    assert {alert.key for alert in found} == {"queue_waits", "cpu_starved", "cpu_capped", "idle_holder", "downgraded"}
    assert len({(alert.key, alert.subject) for alert in found}) == len(found)


def test_heads_come_by_their_wait_and_idle_holders_have_the_longest() -> None:
    found = busy()
    waits = {"BATCH": 10.0, "ETL": 400.0}
    heads = tuple(replace(each, statement=replace(each.statement, waited=waits[each.group])) for each in found.heads)
    idle = tuple(
        replace(found.running[0], sid=sid, idle=seconds) for sid, seconds in ((1, 70.0), (2, 1330.0), (3, 5.0))
    )
    alerts = by_rules(replace(found, heads=heads, running=idle))
    assert [(each.subject, each.amount) for each in alerts if each.key == "queue_waits"] == [
        ("ETL", 400.0),
        ("BATCH", 10.0),
    ]
    assert [(each.short, each.amount) for each in alerts if each.key == "idle_holder"] == [
        ("3 idle holders keep 96 servers", 1330.0)
    ]
