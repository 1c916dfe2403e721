"""Where the servers of a queued statement may run, and what is free there.

A head that had room at the poll before and is still queued: from two snapshots, by hand.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.advice.ending import ending
from presman.analysis.advice.unblock import unblock
from presman.analysis.assemble import analyse
from presman.analysis.facts.facts import Facts
from presman.analysis.parallel.queue_heads import passed_over
from presman.analysis.parallel.server_pools import ServerBudget, ServerLimit
from presman.analysis.readings.statement_readings import Cause, QueueHead, Servers, Shortage
from presman.forecast.queue_now import queue_rules
from presman.rows.commands import CommandKind
from presman.rows.instance_rows import ActiveService, Parameter, PdbMetric
from presman.rows.session_rows import PxProcess, PxProcessSysstat, PxSession, Session, SessionInfo
from presman.rows.snapshot import Problem
from tests.analysis.make import active_plan, directive, group, instance, queued_session, row, snapshot

FORCE = [row(Parameter, inst_id=inst_id, name="parallel_force_local", value="TRUE") for inst_id in (1, 2)]
GROUP = [row(Parameter, inst_id=1, name="parallel_instance_group", value="second")]
SERVICES = [
    row(ActiveService, inst_id=inst_id, name=name)
    for name, on in {"both": (1, 2), "first": (1,), "second": (2,)}.items()
    for inst_id in on
]


def cluster(*rows: Any, service: str = "both", busy: tuple[int, int] = (56, 0), dop: int = 8) -> Any:
    """Two instances with a target of 64 each; one statement of DOP 8 waits on instance 1."""
    waiting = queued_session(7, "BATCH", service_name=service)
    return snapshot(
        *(instance(inst_id, parallel="YES") for inst_id in (1, 2)),
        *(active_plan("DAY", inst_id=i, target=64, active=active) for i, active in enumerate(busy, start=1)),
        directive("DAY", "BATCH", 50),
        directive("DAY", "OTHER_GROUPS", 50),
        waiting,
        row(SessionInfo, sid=7, current_consumer_group="BATCH", dop=dop),
        *rows,
    )


def head(*rows: Any, **given: Any) -> QueueHead:
    (found,) = analyse(None, cluster(*rows, **given)).heads
    return found


def one_queue(managed: str, *con_ids: int) -> bool | None:
    """Return whether the rules have one queue if statements of these containers are queued."""
    waiting = [queued_session(7 + con_id, "BATCH", con_id=con_id) for con_id in con_ids]
    plan = active_plan(active=10, target=128, parallel_execution_managed=managed)
    found = snapshot(instance(), plan, *waiting)
    return queue_rules(Facts.of(None, found), analyse(None, found)).one_queue


def test_whether_one_queue_serves_all_groups_of_several_containers_is_not_known() -> None:
    assert [one_queue(managed, 0) for managed in ("FIFO", "OFF", "FULL")] == [True, True, False]
    assert [one_queue(managed, 0) for managed in ("STARTUP", "DISABLED", "")] == [None] * 3
    assert [one_queue(managed, 3, 4) for managed in ("FIFO", "FULL")] == [None, False]


def test_a_statement_that_may_run_anywhere_has_what_is_free_anywhere() -> None:
    found = head(*SERVICES)
    assert (found.in_use, found.target, found.cause) == (56, 128, Cause.NOT_CHOSEN)
    assert "and 72 are free;" in found.sentence


@pytest.mark.parametrize(
    ("rows", "service", "by"),
    [
        ([*FORCE, *SERVICES], "both", "PARALLEL_FORCE_LOCAL"),
        (FORCE, "both", "PARALLEL_FORCE_LOCAL"),
        (SERVICES, "first", "service first"),
    ],
)
def test_a_confined_statement_has_what_is_free_on_its_instances(rows: list[Any], service: str, by: str) -> None:
    # 56 of the 64 of instance 1 are in use: one or two sets of DOP 8 are 8 or 16 servers.
    found = head(*rows, service=service)
    assert (found.in_use, found.target, found.cause) == (56, 64, Cause.SYSTEM)
    assert f"56 of the target's 64 on instance 1 ({by}) are in use" in found.sentence
    assert found.shortages[0].inst_ids == (1,)


def test_the_instance_group_goes_before_the_service() -> None:
    found = head(*SERVICES, *GROUP, service="first")
    assert (found.in_use, found.target) == (0, 64)
    assert "64 are free on instance 2 (service second)" in found.sentence


@pytest.mark.parametrize("rows", [[], SERVICES], ids=["no view", "a service that runs nowhere"])
def test_unknown_values_are_named(rows: list[Any]) -> None:
    found = head(*rows, service="gone")
    assert (found.in_use, found.target) == (56, 128)
    assert found.sentence.endswith("; on which instances its servers may run is not known")


def test_one_instance_adds_no_remark() -> None:
    waiting = queued_session(7, "BATCH", service_name="gone")
    (found,) = analyse(None, snapshot(instance(), active_plan("DAY", target=64), waiting)).heads
    assert "instances" not in found.sentence


def runs(inst_id: int, sid: int, servers: int) -> list[Any]:
    """A statement of BATCH that holds servers of an instance."""
    coordinator = row(Session, inst_id=inst_id, sid=sid, serial=1, status="ACTIVE", sql_id=f"sql{sid}",
                      resource_consumer_group="BATCH")  # fmt: skip
    held = {"qcinst_id": inst_id, "qcsid": sid, "qcserial": 1, "degree": servers, "req_degree": servers}
    numbers = range(sid * 100, sid * 100 + servers)
    names = [row(PxProcess, inst_id=inst_id, server_name=f"P{n}", sid=n, serial=1, is_gv="FALSE") for n in numbers]
    return [coordinator, *names, *(row(PxSession, inst_id=inst_id, sid=n, serial=1, **held) for n in numbers)]


def test_ending_servers_elsewhere_does_not_help() -> None:
    there, here = runs(2, 20, 16), runs(1, 10, 16)
    (found,) = unblock(analyse(None, cluster(*FORCE, *here, *there)))
    assert [each.statement.sid for each in found.candidates] == [10]


def test_an_instance_that_the_view_leaves_out_has_the_servers_that_sessions_show() -> None:
    """V$PX_PROCESS_SYSSTAT has rows of instance 1 alone, and no view counts for the queue: instance 2 held none."""
    plans = [active_plan("DAY", inst_id=i, target=64)._replace(parallel_servers_active=None) for i in (1, 2)]
    used = row(PxProcessSysstat, inst_id=1, statistic="Servers In Use", value=4)
    found = analyse(None, snapshot(*(instance(i, parallel="YES") for i in (1, 2)), *plans, used, *runs(2, 20, 16)))
    assert [each.servers.in_use for each in found.header.instances] == [4, 16]


@pytest.mark.parametrize(("inst_id", "left"), [(1, 6), (2, 96)])
def test_servers_held_elsewhere_leave_no_fewer_while_their_view_is_late(inst_id: int, left: int) -> None:
    """V$PX_SESSION lists 90 of the 96 servers of one instance; those of instance 2 were taken from the head's."""
    most = [row(Parameter, inst_id=each, name="parallel_max_servers", value="96") for each in (1, 2)]
    used = [row(PxProcessSysstat, inst_id=each, statistic="Servers In Use", value=0) for each in (1, 2)]
    seen = cluster(*FORCE, *most, *used, *runs(inst_id, 20, 90), busy=(0, 0))
    late = replace(seen.section(PxProcessSysstat), problem=Problem("", "no answer in time", late=True))
    (found,) = analyse(None, replace(seen, sections={**seen.sections, PxProcessSysstat: late})).heads
    assert found.statement.servers_left == left


@pytest.mark.parametrize(("on_first", "is_offered"), [(96, False), (60, True)])
def test_a_confined_statement_is_not_started_where_its_instances_have_too_few_servers_left(
    on_first: int, *, is_offered: bool
) -> None:
    """PARALLEL_MAX_SERVERS is 96 on each instance, and all of instance 2 are left; it wants 8 or 16 on instance 1."""
    most = [row(Parameter, inst_id=inst_id, name="parallel_max_servers", value="96") for inst_id in (1, 2)]
    held = [
        row(PxProcessSysstat, inst_id=inst_id, statistic="Servers In Use", value=value)
        for inst_id, value in ((1, on_first), (2, 0))
    ]
    for rows, may_run_elsewhere in ((FORCE, False), (SERVICES, True)):
        found = analyse(None, cluster(*rows, *most, *held))
        found = replace(found, header=replace(found.header, version="19.0.0.0.0"))
        statement = replace(found.queue[0], sql_id="7h35uxf5uhmm1")
        offered = [each.kind for each in ending(statement, found).commands]
        assert (CommandKind.DEQUEUE in offered) is (is_offered or may_run_elsewhere)


def test_servers_that_v_rsrc_plan_does_not_count_are_those_in_use() -> None:
    """90 servers are in use by V$PX_PROCESS_SYSSTAT: 6 of 96 are free, and not all."""
    plan = active_plan("DAY", target=96)._replace(parallel_servers_active=None)
    statistic = row(PxProcessSysstat, statistic="Servers In Use", value=90)
    waiting = [queued_session(7, "BATCH"), row(SessionInfo, sid=7, current_consumer_group="BATCH", dop=8)]
    (found,) = analyse(None, snapshot(instance(), plan, statistic, *waiting)).heads
    assert (found.in_use, found.target, found.cause) == (90, 96, Cause.SYSTEM)


QUEUED = queued_session(7, "ETL", 10.0)
HELD = [group("ETL", current_pq_servers_active=20), group("BATCH", current_pq_servers_active=30),
        group("ETL", con_id=4, current_pq_servers_active=50)]  # fmt: skip
LIMIT = ServerLimit("ETL", 20, 32, "", 0, "ETL")


def over(*limits: ServerLimit, wants: int = 12, then: int = 24, contested: bool = False, before: Any = QUEUED) -> bool:
    """Return whether a statement was passed over; the target is 64, `then` were in use before, 24 are now."""
    rows = [instance(), *HELD, *([] if before is None else [before])]
    old = snapshot(active_plan(active=then, target=64), *rows)
    now = snapshot(instance(), active_plan(active=24, target=64), *HELD, QUEUED, after=2.0, number=2)
    (head,) = analyse(None, now).queue
    asked = replace(head, wants=Servers(1, wants))
    return passed_over(Facts.of(old, now), asked, ServerBudget(24, 64), limits, contested=contested)


@pytest.mark.parametrize(
    ("limits", "wants", "is_over"),
    [
        ([], 40, True),  # 24 of 64 were in use
        ([], 41, False),
        ([LIMIT], 12, True),  # ETL held 20 of 32
        ([LIMIT], 13, False),
        ([ServerLimit("C", 50, 62, con_id=0)], 12, True),  # its container held 50 of 62; another holds 50, too
        ([ServerLimit("C", 50, 62, con_id=0)], 13, False),
        ([ServerLimit("C", 50, 62, con_id=4)], 12, True),
        ([ServerLimit("C", 50, 62, con_id=4)], 13, False),
        ([LIMIT, ServerLimit("C", 50, 55, con_id=0)], 6, False),  # the tighter of the two
    ],
)
def test_the_room_before_is_that_below_every_limit(limits: list[ServerLimit], wants: int, is_over: bool) -> None:
    assert over(*limits, wants=wants) is is_over


def test_if_others_may_be_chosen_the_counts_must_agree() -> None:
    assert over(LIMIT, contested=True)
    assert not over(LIMIT, contested=True, then=23)
    assert not over(LIMIT._replace(held=19), contested=True)
    assert over(LIMIT._replace(held=19), then=23)


def test_only_the_same_statement_in_the_queue_can_have_been_passed_over() -> None:
    assert not over(before=None)
    assert not over(before=QUEUED._replace(sql_id="another"))
    assert not over(before=QUEUED._replace(event="on its way", wait_time_micro=0))
    assert not over(before=QUEUED._replace(serial=1))


def test_short_texts_name_the_missing_servers() -> None:
    """56 of 64 are in use: the target is not reached. One set of servers may want 8 or 16."""
    found = head(*SERVICES, service="first")
    assert (found.in_use, found.target, found.why) == (56, 64, "short of servers (target)")
    known = head(
        *SERVICES, row(SessionInfo, sid=7, current_consumer_group="BATCH", dop=8, pq_servers=16), service="first"
    )
    assert known.why == "short by 8 (target)"
    assert replace(known, cause=Cause.GROUP).why == "short by 8 (group limit)"


def test_the_number_beside_a_limit_is_that_limits_own() -> None:
    """BATCH holds 48 of 64 and wants 32, so it lacks 16; 248 of 256 are in use, which lacks 24."""
    found = head(*SERVICES, service="first")
    both = (Shortage(24, everybody=True), Shortage(16, group="BATCH"))
    assert (
        replace(found, cause=Cause.GROUP, short=24, shortages=both).why == "short by 16 (group limit) and 24 (target)"
    )
    assert replace(found, cause=Cause.GROUP, short=16, shortages=both[1:]).why == "short by 16 (group limit)"
    assert replace(found, cause=Cause.SYSTEM, short=24, shortages=both[:1]).why == "short by 24 (target)"


@pytest.mark.parametrize(("percent", "confirmed"), [(None, False), (75, False), (50, True)])
def test_a_containers_limit_of_the_last_full_minute_is_not_current(percent: int | None, confirmed: bool) -> None:
    """Inside a container V$RSRC_PLAN has the current percentage, V$RSRCPDBMETRIC the servers of the last minute."""
    plan = active_plan("DAY", con_id=3, target=80)._replace(parallel_server_limit=percent)
    waiting = [queued_session(7, "BATCH", con_id=3), row(SessionInfo, sid=7, con_id=3, dop=8)]
    metric = row(PdbMetric, con_id=3, parallel_servers_limit=40)
    directives = [directive("DAY", "BATCH", 50), directive("DAY", "OTHER_GROUPS", 50)]
    (found,) = analyse(None, snapshot(instance(), plan, metric, *directives, *waiting)).heads
    assert found.allowed == 40
    assert (found.not_known is None) is confirmed
    assert ("has changed since the last full minute is not known (GV$RSRCPDBMETRIC" in found.sentence) is not confirmed
