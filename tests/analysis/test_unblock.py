"""What would let a head start: calculated by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.advice.contenders import Unblock
from presman.analysis.advice.step import Proof
from presman.analysis.advice.unblock import unblock
from presman.analysis.assemble import analyse
from presman.analysis.readings.statement_readings import Cause
from presman.rows.commands import CommandKind
from presman.rows.cursor_rows import PxPlanLine
from presman.rows.group_rows import PlanDirective, RsrcPlan
from presman.rows.queries import RecordType
from presman.rows.session_rows import PxProcess, PxProcessSysstat, PxSession, Session, SessionInfo, SessionLongops
from presman.rows.snapshot import Problem, Section
from tests.analysis.make import NOON, active_plan, directive, group, instance, queued_session, row, snapshot

Rows = list[Any]


def holder(sid: int, name: str, servers: int, *, idle: int | None = None, elapsed: int = 100) -> Rows:
    """A coordinator with `servers` servers in one set."""
    status = "ACTIVE" if idle is None else "INACTIVE"
    own = {"sql_id": "9md3ukhghgj58"} if idle is None else {"prev_sql_id": "9md3ukhghgj58"}
    session = row(
        Session, sid=sid, serial=sid + 1000, resource_consumer_group=name, status=status, last_call_et=idle or 5,
        sql_exec_start=None if idle is not None else NOON - timedelta(seconds=elapsed), username=f"U{sid}",
        program="batch", **own,
    )  # fmt: skip
    return [session, *(
        row(PxSession, sid=5000 + sid * 50 + n, serial=1, qcsid=sid, qcserial=sid + 1000, qcinst_id=1, server_set=1,
            degree=servers, req_degree=servers)
        for n in range(servers)
    )]  # fmt: skip


def nearly(sid: int, name: str, servers: int, left: int, *, elapsed: int = 100) -> Rows:
    """The same, its scan 97 % done with `left` seconds to go (V$SESSION_LONGOPS, a row of the coordinator).

    The scan is all there is in its plan: then it ends.
    """
    scan = row(SessionLongops, sid=sid, serial=sid + 1000, sql_id="9md3ukhghgj58", opname="Table Scan", target="SALES",
               sofar=97, totalwork=100, time_remaining=left)  # fmt: skip
    return [*holder(sid, name, servers, elapsed=elapsed), scan]


SCAN = ("SELECT STATEMENT", "PX COORDINATOR", "PX SEND", "PX BLOCK", "TABLE ACCESS")
"""The operations of a plan that scans a table, and has nothing to do after that."""


def plan_lines(*operations: str) -> Rows:
    """The lines of the plan of what `holder` executes, each below the one before."""
    return [
        row(PxPlanLine, sql_id="9md3ukhghgj58", child_number=0, id=number, depth=number, operation=operation)
        for number, operation in enumerate(operations)
    ]


def waiting(sid: int, name: str, dop: int, sql_id: str = "7xq3hdwx1kkd0") -> Rows:
    """A queued statement that wants `dop` servers: another execution of it shows that it has one set."""
    queued = queued_session(sid, name, 60.0, sql_id=sql_id)
    info = row(SessionInfo, sid=sid, current_consumer_group=name, dop=dop)
    return [queued, info]


def found(*parts: Any, target: int = 64, active: int, plan: tuple[PlanDirective, ...], held: dict[str, int]) -> Unblock:
    rows: Rows = [instance(version="19.22.0.0.0"), active_plan(target=target, active=active), *plan, *plan_lines(*SCAN)]
    rows += [group(name, current_pq_servers_active=servers) for name, servers in held.items()]
    for part in parts:
        rows += part
    (only,) = unblock(analyse(None, snapshot(*rows)))
    return only


DAY = (directive("DAY", "BATCH", 20, parallel_server_limit=50), directive("DAY", "ETL", 30))


@pytest.mark.parametrize(("counted", "view"), [(64, ""), (None, "GV$PX_PROCESS_SYSSTAT")])
def test_the_servers_in_use_are_of_one_view_where_it_answers(counted: int | None, view: str) -> None:
    """V$RSRC_PLAN counts for the queue; V$PX_PROCESS_SYSSTAT is needed only where that view has no count."""
    plan = active_plan(target=64, active=64)._replace(parallel_servers_active=counted)
    seen = snapshot(
        instance(version="19.22.0.0.0"), plan, *DAY, *waiting(9, "ETL", 8), *holder(1, "ETL", 64, elapsed=600),
        group("ETL", current_pq_servers_active=64),
    )  # fmt: skip
    problem = Problem("", "no answer in 2 s", "V$PX_PROCESS_SYSSTAT", "", late=True)
    seen = replace(seen, sections={**seen.sections, PxProcessSysstat: Section((), None, problem=problem)})
    assert [each.outdated for each in analyse(None, seen).running] == [view]


@pytest.mark.parametrize(("silent", "in_use"), [((), 64), ((RsrcPlan,), 56), ((RsrcPlan, PxProcessSysstat), 64)])
def test_an_old_count_of_v_rsrc_plan_does_not_contradict_the_servers_in_use(
    silent: tuple[RecordType, ...], in_use: int
) -> None:
    """The header showed 56 in use, and the head of the queue lacked 16 because of 64 that V$RSRC_PLAN once counted."""
    seen = snapshot(
        instance(version="19.22.0.0.0"), active_plan(target=64, active=64), *DAY, *waiting(9, "ETL", 8),
        *holder(1, "ETL", 56, elapsed=600), group("ETL", current_pq_servers_active=56),
        PxProcessSysstat(1, "Servers In Use", 56),
    )  # fmt: skip
    late = {
        record: replace(seen.section(record), problem=Problem("", "no answer in time", late=True)) for record in silent
    }
    (head,) = analyse(None, replace(seen, sections={**seen.sections, **late})).heads
    assert f"{in_use} of the target's 64 are in use" in head.sentence


def sids(one: Unblock) -> list[int]:
    return [each.statement.sid for each in one.candidates]


def test_any_session_frees_servers_of_the_target() -> None:
    # 64 of 64 in use, ETL wants 8 to 16: short by 16 at most
    one = found(
        waiting(9, "ETL", 8), holder(1, "BATCH", 20, elapsed=300), holder(2, "ETL", 24, elapsed=50),
        holder(3, "ETL", 20, elapsed=10), active=64, plan=DAY, held={"BATCH": 20, "ETL": 44},
    )  # fmt: skip
    assert one.head.cause is Cause.SYSTEM
    assert [each.short for each in one.head.shortages] == [16]
    assert (one.needed, sids(one)) == (1, [3, 2, 1])  # 200, 1200 and 6000 server seconds
    assert [each.lost for each in one.candidates] == [200, 1200, 6000]
    assert all(each.enough and each.frees == each.perhaps for each in one.candidates)
    assert one.candidates[0].commands[0].text == "ALTER SYSTEM CANCEL SQL '3, 1003, @1, 9md3ukhghgj58';"


def test_only_its_own_sessions_free_servers_of_a_groups_limit() -> None:
    # BATCH holds 32 of 32 (50 % of 64); 24 more are free, so only an end in BATCH helps
    one = found(
        waiting(9, "BATCH", 8), holder(1, "BATCH", 20), holder(2, "BATCH", 12), holder(3, "ETL", 8, idle=5000),
        active=40, plan=DAY, held={"BATCH": 32, "ETL": 8},
    )  # fmt: skip
    assert one.head.cause is Cause.GROUP
    assert (one.needed, sids(one)) == (1, [1, 2])
    assert [each.enough for each in one.candidates] == [True, False]
    assert [each.proven for each in one.candidates] == [(Proof.HEAD_STARTS, Proof.DBA_DECIDES), ()], "work is lost"


def test_idle_holders_come_first_and_are_ended_by_their_session() -> None:
    one = found(
        waiting(9, "ETL", 8), holder(1, "BATCH", 16, idle=100), holder(2, "ETL", 16, idle=3600),
        holder(3, "ETL", 32, elapsed=1), active=64, plan=DAY, held={"BATCH": 16, "ETL": 48},
    )  # fmt: skip
    assert (one.needed, sids(one)) == (1, [2, 1, 3])
    assert [command.kind for command in one.candidates[0].commands] == [CommandKind.KILL]
    assert one.candidates[0].lost == 0
    assert one.candidates[0].proven == (Proof.HEAD_STARTS,)


def test_as_few_together_as_will_do() -> None:
    one = found(
        waiting(9, "ETL", 16), holder(1, "BATCH", 16, idle=120), *(holder(n, "ETL", 16, elapsed=n) for n in (2, 3, 4)),
        active=64, plan=DAY, held={"BATCH": 16, "ETL": 48},
    )  # fmt: skip
    assert [each.short for each in one.head.shortages] == [32]
    assert (one.needed, sids(one)[:2]) == (2, [1, 2])
    assert one.sentence == "ending U1 1:1 and U2 1:2 together frees the 32 servers that let it start"
    assert [bool(each.commands) for each in one.candidates] == [True, True, False, False]
    together = Proof.HEAD_STARTS_TOGETHER
    assert [each.proven for each in one.candidates] == [(together,), (together, Proof.DBA_DECIDES), (), ()]


def test_a_pausing_session_is_not_offered_nor_another_with_it() -> None:
    one = found(
        waiting(9, "ETL", 16), holder(1, "BATCH", 16, idle=119), *(holder(n, "ETL", 16, elapsed=n) for n in (2, 3, 4)),
        active=64, plan=DAY, held={"BATCH": 16, "ETL": 48},
    )  # fmt: skip
    pause = "idle 1:59, so perhaps between two fetches"
    assert one.sentence.endswith(f"that let it start; but U1 1:1: {pause}")
    assert [each.why_not for each in one.candidates][:3] == [
        pause, f"not enough alone, and of another that would have to end: {pause}",
        "perhaps not enough alone: it frees 16 of 32 servers",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("killed", "sentence"),
    [
        ((), "the sessions that can be ended may not free enough, so none is named"),
        ((1,), "the sessions that can be ended may not free enough, so none is named"),
        ((1, 2), "; ".join(
            f"{name} holds {servers} servers: it is already marked for kill and is being cleaned up"
            for name, servers in (("U2 1:2", 6), ("U1 1:1", 4)))),
    ],
)  # fmt: skip
def test_too_few_servers_are_reported_unless_no_session_can_be_ended(killed: tuple[int, ...], sentence: str) -> None:
    """All 64 are in use, and 10 of them have known holders: 32 cannot be freed."""
    holders = [
        [each._replace(status="KILLED") if isinstance(each, Session) and sid in killed else each for each in rows]
        for sid, rows in ((1, holder(1, "BATCH", 4)), (2, holder(2, "ETL", 6)))
    ]
    one = found(waiting(9, "ETL", 16), *holders, active=64, plan=DAY, held={"BATCH": 4, "ETL": 6})
    assert one.needed == 0
    assert one.sentence == sentence


def test_one_session_that_frees_enough_comes_before_two_with_less_work() -> None:
    """16 are short: session 1 frees them and loses 4,800 server seconds, 2 and 3 together lose 20, 4 more than 1."""
    one = found(
        waiting(9, "ETL", 8), holder(1, "BATCH", 16, elapsed=300), holder(2, "ETL", 10, elapsed=1),
        holder(3, "ETL", 10, elapsed=1), holder(4, "ETL", 28, elapsed=5000), active=64, plan=DAY,
        held={"BATCH": 16, "ETL": 48},
    )  # fmt: skip
    assert (one.needed, sids(one)[0]) == (1, 1)


def test_uncounted_servers_do_not_help_their_group() -> None:
    # BATCH's statements hold 44, it is counted with 32: the 12 can only be those of 2
    one = found(
        waiting(9, "BATCH", 4), holder(1, "BATCH", 32), holder(2, "BATCH", 12, idle=9000), active=44, plan=DAY,
        held={"BATCH": 32},
    )  # fmt: skip
    assert (one.needed, sids(one)) == (1, [1])


def test_servers_that_may_not_be_counted_are_not_relied_on() -> None:
    one = found(
        waiting(9, "BATCH", 4), holder(1, "BATCH", 20), holder(2, "BATCH", 12), holder(3, "BATCH", 12, idle=60),
        active=44, plan=DAY, held={"BATCH": 32},
    )  # fmt: skip
    assert (one.needed, sids(one)) == (1, [1, 3, 2])
    assert [(each.frees, each.perhaps) for each in one.candidates] == [(20, 20), (0, 12), (0, 12)]


def test_a_statement_above_the_target_needs_all_of_it() -> None:
    # the published case: 36 wanted on a target of 24, 12 in use; it was seen to start once nothing was
    one = found(waiting(9, "ETL", 36), holder(1, "ETL", 12), target=24, active=12, plan=DAY, held={"ETL": 12})
    assert one.head.cause is Cause.NEVER_FITS
    assert (one.needed, sids(one)) == (1, [1])


def test_a_statement_above_its_group_limit_is_helped_by_no_end() -> None:
    one = found(waiting(9, "BATCH", 40), holder(1, "BATCH", 12), active=12, plan=DAY, held={"BATCH": 12})
    assert one.head.cause is Cause.NEVER_FITS
    assert (one.needed, one.candidates) == (0, ())
    assert [command.kind for command in one.commands] == [CommandKind.DEQUEUE, CommandKind.CANCEL, CommandKind.KILL]


def test_nothing_queued_nothing_to_unblock() -> None:
    assert unblock(analyse(None, snapshot(instance(), active_plan(), *DAY, *holder(1, "ETL", 4)))) == ()


def test_no_session_is_named_if_views_disagree() -> None:
    # the group counts more than its statements hold: read at another instant
    one = found(waiting(9, "BATCH", 8), holder(1, "BATCH", 16), active=40, plan=DAY, held={"BATCH": 32})
    assert one.needed == 0
    assert [(each.frees, each.perhaps) for each in one.candidates] == [(0, 16)]


def test_a_statement_about_to_end_is_not_killed() -> None:
    # short by 16: 1 has a second left of 2,000 server seconds, 2 has just begun, 3 has been idle for an hour
    one = found(
        waiting(9, "ETL", 8), nearly(1, "ETL", 20, 1), holder(2, "BATCH", 24, elapsed=2),
        holder(3, "ETL", 20, idle=3600), active=64, plan=DAY, held={"BATCH": 24, "ETL": 40},
    )  # fmt: skip
    assert (one.needed, sids(one), one.wait) == (1, [1, 3, 2], 1.0)
    assert [each.why_not for each in one.candidates] == [
        "it should end by itself at any moment", *["the head should start by itself at any moment"] * 2,
    ]  # fmt: skip
    assert not any(each.commands for each in one.candidates)
    assert one.sentence == "wait: it should start by itself at any moment, with 20 servers freed then"


def test_as_many_are_waited_for_as_are_needed_the_soonest_first() -> None:
    one = found(
        waiting(9, "ETL", 8), nearly(1, "ETL", 8, 25), nearly(2, "ETL", 8, 3), nearly(3, "ETL", 8, 12),
        holder(4, "ETL", 40, idle=9), active=64, plan=DAY, held={"ETL": 64},
    )  # fmt: skip
    assert (one.needed, sids(one), one.wait) == (2, [2, 3, 4, 1], 12.0), "those enough alone next"


def test_a_session_is_ended_for_what_waiting_does_not_free() -> None:
    one = found(
        waiting(9, "ETL", 8), nearly(1, "ETL", 8, 5), holder(2, "ETL", 12, idle=600), holder(3, "ETL", 44, elapsed=1),
        active=64, plan=DAY, held={"ETL": 64},
    )  # fmt: skip
    assert (one.needed, sids(one)[:2], one.wait) == (2, [1, 2], None)
    assert one.sentence == (
        "after 1 statement that should end in about 0:05, ending one idle holder frees the 12 servers that let it start"
    )


def test_a_statement_with_more_than_half_a_minute_left_is_not_nearly_done() -> None:
    one = found(waiting(9, "ETL", 8), nearly(1, "ETL", 64, 31), active=64, plan=DAY, held={"ETL": 64})
    assert (one.wait, one.candidates[0].ends_in, bool(one.candidates[0].commands)) == (None, None, True)


def test_an_operation_must_progress_to_end_its_statement() -> None:
    """The scan is not the last operation of the plan, so nothing is promised."""
    join = plan_lines(*SCAN[:-1], "HASH JOIN", "TABLE ACCESS", "TABLE ACCESS")

    def ways(left: int) -> Unblock:
        rows = [
            [instance(version="19.22.0.0.0"), active_plan(target=64, active=64), *DAY, *join, *waiting(9, "ETL", 8),
             group("ETL", current_pq_servers_active=64), *nearly(1, "ETL", 64, seconds)]
            for seconds in (20, left)
        ]  # fmt: skip
        before, after = snapshot(*rows[0]), snapshot(*rows[1], after=10.0, number=2)
        return unblock(analyse(before, after))[0]

    assert ways(10).sentence == "wait: U1 1:1 may end by itself in about 0:10, when its Table Scan is done"
    assert (ways(10).wait, ways(10).answers) == (None, ())
    assert ways(20).answers, "20 seconds were left 10 seconds ago, too"


def test_a_coordinator_with_another_statement_is_known_by_its_servers() -> None:
    """The session idles after a later statement, or executes another one, which must not be cancelled."""
    session, *servers = holder(1, "ETL", 64, idle=600)
    session = session._replace(prev_sql_id="5dqz0hqtp9fru", sql_id="")
    own = row(
        Session, sid=servers[0].sid, serial=1, sql_id="9md3ukhghgj58", sql_exec_start=NOON - timedelta(seconds=90)
    )
    one = found(waiting(9, "ETL", 8), [session, own, *servers], active=64, plan=DAY, held={"ETL": 64})
    (only,) = one.candidates
    assert (only.statement.sql_id, only.statement.session_sql_id) == ("9md3ukhghgj58", "5dqz0hqtp9fru")
    assert only.statement.elapsed == 90.0
    assert [(each.kind, each.victim.sql_id) for each in only.commands] == [(CommandKind.KILL, "5dqz0hqtp9fru")]
    busy = session._replace(status="ACTIVE", sql_id="5dqz0hqtp9fru", prev_sql_id="9md3ukhghgj58")
    one = found(waiting(9, "ETL", 8), [busy, own, *servers], active=64, plan=DAY, held={"ETL": 64})
    assert one.candidates[0].statement.sql_id == "9md3ukhghgj58"
    assert [each.kind for each in one.candidates[0].commands] == [CommandKind.KILL]


def cluster(*, listed: bool) -> Unblock:
    """Two instances: BATCH's statement of 60 servers, and a monitor whose GV$ query has a server on each instance."""
    statement = holder(1, "BATCH", 60, elapsed=600)
    monitor = [
        row(Session, sid=2, serial=1002, resource_consumer_group="BATCH", status="ACTIVE", sql_exec_start=NOON),
        *(row(PxSession, inst_id=inst, sid=90, serial=7, qcsid=2, qcserial=1002, qcinst_id=1, server_set=1, degree=2,
              req_degree=2) for inst in (1, 2)),
    ]  # fmt: skip
    rows = [instance(1, version="19.22.0.0.0", parallel="YES"), instance(2, parallel="YES")]
    rows += [active_plan(inst_id=inst, target=32, active=30) for inst in (1, 2)]
    rows += [*DAY, group("BATCH", current_pq_servers_active=60), *waiting(9, "ETL", 8), *statement, *monitor]
    if listed:
        rows += [row(PxProcess, sid=each.sid, serial=1, server_name=f"P{n:03}", is_gv="FALSE")
                 for n, each in enumerate(statement[1:])]  # fmt: skip
        rows += [row(PxProcess, inst_id=inst, sid=90, serial=7, server_name="PZ99", is_gv="TRUE") for inst in (1, 2)]
    (only,) = unblock(analyse(None, snapshot(*rows)))
    return only


def test_a_monitors_gv_query_is_never_advised_against() -> None:
    one = cluster(listed=True)
    assert (one.needed, sids(one)) == (1, [1])  # though the monitor's query "loses least"


def test_a_possible_monitor_is_not_advised_against_either() -> None:
    """Without V$PX_PROCESS a statement may be a monitor: no session is named, and the reason is given."""
    one = cluster(listed=False)
    assert (one.needed, sids(one)) == (0, [])
    assert (
        one.sentence
        == "2 statements may be GV$ queries of monitors, so they are not named; ending others would not help"
    )
