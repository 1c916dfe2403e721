"""The active session pool of a group: how many sessions may be active, which wait, how long, and the timeout."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import session_pools
from presman.analysis.assemble import analyse
from presman.analysis.readings.group_readings import ActiveSessionPool, GroupReading
from presman.analysis.readings.reading import AGE, CLUSTER
from presman.figures.group_figures import GROUPS
from presman.rows.group_rows import ContainerPlanDirective, PlanDirective
from presman.rows.session_rows import Session
from presman.rows.snapshot import Section
from tests.analysis.make import active_plan, directive, group, instance, row, snapshot

PLAN = directive("DAY", "BATCH", 50, active_sess_pool_p1=4, queueing_p1=600)


def waiter(sid: int, seconds: float, state: str = "WAITING", **more: Any) -> Session:
    return row(
        Session, sid=sid, serial=1, resource_consumer_group="BATCH", status="ACTIVE", event="resmgr:become active",
        state=state, wait_time_micro=int(seconds * 1e6), **more,
    )  # fmt: skip


def batch(*rows: Any, inst_id: int = CLUSTER) -> GroupReading:
    found = analyse(None, snapshot(active_plan(), directive("DAY", "OTHER_GROUPS", 50), *rows)).groups
    return next(each for each in found if (each.name, each.inst_id) == ("BATCH", inst_id))


def test_a_full_pool() -> None:
    given = group("BATCH", active_sessions=4, queue_length=3)
    found = batch(instance(), PLAN, given, waiter(11, 30), waiter(12, 552), waiter(13, 2))
    assert found.pool == ActiveSessionPool(allowed=4, queued=3, longest=552.0, timeout=600)
    assert GROUPS["session_pool"].show(found) == "4/4 +3 9:12"
    many = found._replace(active_sessions=1200)
    assert GROUPS["session_pool"].show(many) == "1200/4 +3 9:12"


def test_a_session_that_works_no_longer_waits_for_the_pool() -> None:
    found = batch(instance(), PLAN, group("BATCH", active_sessions=1), waiter(11, 30, state="WAITED SHORT TIME"))
    assert found.pool == ActiveSessionPool(4, 0, None, 600)
    assert GROUPS["session_pool"].show(found) == "1/4"


def test_without_a_directive_only_waiting_sessions_are_reported() -> None:
    plan = directive("DAY", "BATCH", 50)
    assert batch(instance(), plan, group("BATCH")).pool is None
    found = batch(instance(), plan, group("BATCH", active_sessions=2), waiter(11, 30))
    assert found.pool == ActiveSessionPool(None, 1, 30.0, None)
    assert GROUPS["session_pool"].show(found) == "2/- +1 0:30"


def test_instances_add_up() -> None:
    rows = [instance(1), instance(2), active_plan(inst_id=2), PLAN]
    rows += [group("BATCH", 1, queue_length=2), group("BATCH", 2, queue_length=1)]
    rows += [waiter(11, 30), waiter(12, 90, inst_id=2)]
    assert batch(*rows).pool == ActiveSessionPool(8, 3, 90.0, 600)
    assert batch(*rows, inst_id=2).pool == ActiveSessionPool(4, 1, 90.0, 600)


@pytest.mark.parametrize("lacking", [(), ("directives",), ("containers",), ("directives", "containers")])
def test_the_view_that_a_directive_comes_from_shows_whether_the_wait_ends(lacking: tuple[str, ...]) -> None:
    plain = snapshot(instance(), active_plan(), group("BATCH", active_sessions=4, queue_length=1))
    rows = {PlanDirective: (PLAN, directive("DAY", "OTHER_GROUPS", 50)), ContainerPlanDirective: ()}
    sections: dict[type[Any], Section] = {
        record: Section(own, plain.at, absent=frozenset({"queueing_p1"} if name in lacking else ()))
        for name, (record, own) in zip(("directives", "containers"), rows.items(), strict=True)
    }
    found = analyse(None, replace(plain, sections={**plain.sections, **sections})).groups
    (pool,) = [each.pool for each in found if each.name == "BATCH" and each.inst_id == CLUSTER]
    assert pool is not None
    is_read = "directives" not in lacking
    assert pool.end == ("timeout 10:00" if is_read else "the timeout is not known")
    assert pool.timeout == (600 if is_read else None)


@pytest.mark.parametrize(
    ("waited", "end", "is_near"),
    [
        (605, "timeout 10:00", True),  # the poll may be older than the failure
        (4210, "the timeout is not known (the plan's is 10:00, but one still waits 1:00:10 after it)", False),
    ],
)
def test_a_timeout_that_a_session_outlived_is_not_promised_again(waited: float, end: str, is_near: bool) -> None:
    pool = batch(instance(), PLAN, group("BATCH", active_sessions=4, queue_length=1), waiter(11, waited)).pool
    assert pool is not None
    assert (pool.end, pool.near_timeout) == (end, is_near)


def test_the_instance_whose_pool_is_full_is_named() -> None:
    """One instance has room for three more; both waiting sessions are on the other."""
    rows = [instance(1), instance(2), active_plan(), active_plan(inst_id=2), directive("DAY", "OTHER_GROUPS", 50), PLAN]
    rows += [group("BATCH", 1, active_sessions=4, queue_length=2), group("BATCH", 2, active_sessions=1)]
    found = analyse(None, snapshot(*rows, waiter(11, 30), waiter(12, 20)))
    (alert,) = session_pools(found)
    assert alert.text.replace(AGE, "") == (
        "BATCH: 2 wait for the session pool, the first for 0:30; 4 of 4 allowed active on instance 1 "
        "(ACTIVE_SESS_POOL_P1); timeout 10:00"
    )
    step = to_do(found)
    assert step is not None
    assert step.text.startswith("look at the active sessions of BATCH on instance 1, or raise ACTIVE_SESS_POOL_P1")
    (row,) = (each for each in found.cluster_groups() if each.name == "BATCH")
    assert row.state.text == "pool +2 0:30 on instance 1"
