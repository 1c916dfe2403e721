"""Sessions that may be ended: sites where a command would be useless, a mistake, or refused by the database."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.advice.answers import too_little
from presman.analysis.advice.contenders import Candidate, Unblock
from presman.analysis.advice.ending import ending
from presman.analysis.advice.step import Step, ToDo
from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.alert_rules import instances_gone, wrong
from presman.analysis.plans.lint import lint
from presman.analysis.readings.reading import Reading
from presman.rows.commands import CommandKind
from presman.rows.snapshot import GoneInstance
from tests.situations.spooled import RELEASE_19, Views, reading, snapshots

SESSION = (
    "INST_ID | SID | SERIAL# | USERNAME | STATUS | RESOURCE_CONSUMER_GROUP | PROGRAM | MODULE | SQL_ID | PREV_SQL_ID "
    "| LAST_CALL_ET | SQL_EXEC_START | EVENT | WAIT_CLASS | STATE | WAIT_TIME_MICRO | TYPE | BLOCKING_SESSION "
    "| FINAL_BLOCKING_SESSION"
)
SQL = "9md3ukhghgj58"
HEAD = (
    "1 | 9 | 1009 | RPT | ACTIVE | REPORTS | JDBC | | 7xq3hdwx1kkd0 | | 60 | | resmgr:pq queued | Scheduler | WAITING "
    "| 60000000 | USER | |"
)
"""The head of REPORTS: it has waited for a minute."""


def idle(sid: int, seconds: int, user: str = "MARTIN", status: str = "INACTIVE", **also: str) -> str:
    """A session that idles while a cursor of it keeps servers."""
    program, module = also.get("program", "SQL Developer"), also.get("module", "")
    client = "SQL*Net message from client | Idle | WAITING"
    return (
        f"1 | {sid} | {sid + 1000} | {user} | {status} | {also.get('group', 'ADHOC')} | {program} | {module} | | {SQL} "
        f"| {seconds} | | {client} | {seconds}000000 | USER | |"
    )


def busy(sid: int, seconds: int = 100, started: str = "", **also: str) -> str:
    """A session whose parallel statement works."""
    program, user = also.get("program", "batch@etl01"), also.get("user", "ETL")
    group, module = also.get("group", "BATCH"), also.get("module", "")
    return (
        f"1 | {sid} | {sid + 1000} | {user} | ACTIVE | {group} | {program} | {module} | {SQL} | | {seconds} "
        f"| {started} | PX Deq: Execute Reply | Idle | WAITING | 1000 | USER | |"
    )


def servers(*held: tuple[int, int]) -> str:
    """V$PX_SESSION of coordinators with so many servers each."""
    rows = ["SID | SERIAL# | QCSID | QCSERIAL# | QCINST_ID | SERVER_SET | DEGREE | REQ_DEGREE"]
    for sid, number in held:
        rows += [
            f"{5000 + sid * 50 + n} | 1 | {sid} | {sid + 1000} | 1 | 1 | {number} | {number}" for n in range(number)
        ]
    return "\n".join(rows)


DIRECTIVES = "PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | PARALLEL_SERVER_LIMIT | UTILIZATION_LIMIT"
PARTS = {"REPORTS": 50, "BATCH": 30, "ADHOC": 20}


def site(*sessions: str, held: tuple[tuple[int, int], ...], active: int = 64, **more: str) -> Views:
    """A site of 19c whose target is 64: the head of REPORTS wants 16 (DOP 8, two sets) and 0 are free."""
    views = {
        **RELEASE_19,
        "V$SESSION": "\n".join([SESSION, HEAD, *sessions]),
        "V$PX_SESSION": servers(*held),
        "V$RSRC_SESSION_INFO": "SID | DOP | PQ_SERVERS | CURRENT_CONSUMER_GROUP\n9 | 8 | 16 | REPORTS",
        "V$RSRC_PLAN": "NAME | IS_TOP_PLAN | CPU_MANAGED | PARALLEL_SERVERS_ACTIVE | PARALLEL_SERVERS_TOTAL | "
        f"PARALLEL_EXECUTION_MANAGED\nDAY | TRUE | ON | {active} | 64 | FULL",
        "DBA_RSRC_PLAN_DIRECTIVES": f"{DIRECTIVES}\n"
        + "\n".join(f"DAY | {group} | CONSUMER_GROUP | {part} | |" for group, part in PARTS.items()),
    }
    return views | {view.upper().replace("_DOLLAR_", "$"): table for view, table in more.items()}


def advice(found: Reading) -> ToDo:
    step = to_do(found)
    assert step is not None
    return step


def way(found: Reading) -> Unblock:
    (only,) = unblock(found)
    return only


def candidate(found: Reading, sid: int) -> Candidate:
    return next(each for each in way(found).candidates if each.statement.sid == sid)


def nobody_is_ended(found: Reading, sid: int) -> None:
    """Nothing that offers a command offers one for this session."""
    assert advice(found).commands == ()
    assert not any(each.commands for each in way(found).candidates if each.statement.sid == sid)
    statement = next(each for each in found.running if each.sid == sid)
    assert ending(statement, found).commands == ()
    assert ending(statement, found).refused


# What is freed is what is short.

COUNTED = "NAME | CURRENT_PQ_SERVERS_ACTIVE\nREPORTS | 0\nBATCH | 64\nADHOC | 0"


def test_servers_that_the_target_does_not_count_free_nothing(tmp_path: Path) -> None:
    # 64 of 64 are counted, all of BATCH; 80 are in use: the 16 of the idle session are those beyond
    views = site(
        *(busy(sid) for sid in (1, 2, 3, 4)), idle(5, 900), held=((1, 16), (2, 16), (3, 16), (4, 16), (5, 16)),
        V_DOLLAR_RSRC_CONSUMER_GROUP=COUNTED,
        V_DOLLAR_PX_PROCESS_SYSSTAT="STATISTIC | VALUE\nServers In Use | 80",
    )  # fmt: skip
    found = reading(tmp_path, views)
    assert advice(found).commands == ()
    assert "5" not in {str(each.statement.sid) for each in way(found).candidates}


def test_no_session_is_named_if_it_is_not_known_which_are_counted(tmp_path: Path) -> None:
    # without V$RSRC_CONSUMER_GROUP any one of the five may be the one that is not counted
    held = ((1, 16), (2, 16), (3, 16), (4, 16), (5, 16))
    found = reading(tmp_path, site(*(busy(sid) for sid in (1, 2, 3, 4)), idle(5, 900), held=held))
    assert advice(found).commands == ()
    own = candidate(found, 5)
    assert (own.frees, own.perhaps) == (0, 16)
    assert own.objection == "whether the queue counts its servers here is not known"


def test_an_idle_holder_that_is_counted_is_ended(tmp_path: Path) -> None:
    found = reading(tmp_path, site(busy(1), idle(5, 900), held=((1, 48), (5, 16))))
    step = advice(found)
    assert step.text.startswith("end MARTIN 1:5 (idle 15:00, keeps 16 servers): then the head of REPORTS can start")
    assert [each.text for each in step.commands] == ["ALTER SYSTEM KILL SESSION '5,1005,@1';"]
    assert step.commands[0].note == (
        "Its client gets ORA-00028 at the next call; until then V$SESSION shows it as KILLED. With IMMEDIATE, all that "
        "it holds is released at once."
    )


def test_counted_servers_that_may_be_too_few_are_called_so(tmp_path: Path) -> None:
    """DO called it not known whether the queue counts these servers, and JSON counted them."""
    info = "SID | DOP | PQ_SERVERS | CURRENT_CONSUMER_GROUP\n9 | 8 | | REPORTS"  # it wants 8 or 16
    found = reading(tmp_path, site(busy(1), idle(5, 900), held=((1, 56), (5, 8)), V_DOLLAR_RSRC_SESSION_INFO=info))
    own, why = candidate(found, 5), "perhaps not enough alone: it frees 8 of 16 servers"
    assert (own.frees, own.perhaps, own.why_not) == (8, 8, why)
    (head,) = found.heads
    two = replace(head, shortages=(*head.shortages, replace(head.shortages[0], short=3)))
    assert too_little(own, two, found) == why, "of the limit that lacks most"
    assert advice(found).text.startswith(f"MARTIN 1:5 (idle 15:00) keeps 8 servers; {why}; wait, or decide")


def test_an_end_is_not_called_useless_if_free_servers_are_not_known(tmp_path: Path) -> None:
    """By the limit of the last full minute the head has room; DO said that no end lets it start."""
    views = dict(site(busy(1), idle(5, 900), held=((1, 32), (5, 16)), active=48))
    del views["DBA_RSRC_PLAN_DIRECTIVES"]
    metric = "CONSUMER_GROUP_NAME | PARALLEL_SERVERS_LIMIT\nREPORTS | 48\nBATCH | 48\nADHOC | 48"
    found = reading(tmp_path, {**views, "V$RSRCMGRMETRIC": metric})
    since = "has changed since the last full minute is not known (GV$RSRCMGRMETRIC of 0:00 ago)"
    not_known = f"whether the limit of servers of REPORTS {since}, so no session to end is named"
    assert advice(found).text == f"wait: {not_known} for the head of REPORTS"
    assert way(found).sentence == not_known


def test_no_end_for_the_queue_while_the_database_is_quiesced(tmp_path: Path) -> None:
    """No document says whether the queue starts statements then; `why` called it proven."""
    views = site(busy(1), idle(5, 900), held=((1, 48), (5, 16)))
    quiesced = "INSTANCE_NUMBER | VERSION | STATUS | ACTIVE_STATE\n1 | 19.22.0.0.0 | OPEN | QUIESCED"
    found = reading(tmp_path, {**views, "V$INSTANCE": quiesced})
    assert not advice(found).commands
    assert way(found).sentence == (
        "whether a queued statement starts while the database is quiesced is not known, so no session to end is named"
    )


# What the head does by itself.


@pytest.mark.parametrize(("timeout", "action", "then"), [
    (91, "RUN", ""),
    (90, "RUN", "0:30: then it starts at once, downgraded if there are too few servers (PQ_TIMEOUT_ACTION RUN)"),
    (62, "CANCEL", "0:02: then it ends with ORA-07454, unless you start it now (DEQUEUE_PARALLEL_STATEMENT)"),
    (58, "CANCEL", "0:00: then it ends with ORA-07454, unless you start it now (DEQUEUE_PARALLEL_STATEMENT)"),
])  # fmt: skip
def test_no_end_for_a_head_near_its_queue_timeout(tmp_path: Path, timeout: int, action: str, then: str) -> None:
    """An idle session was ended seconds before the timeout, and work thrown away for a head that starts anyway."""
    rules = (
        "PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | PARALLEL_SERVER_LIMIT | UTILIZATION_LIMIT | PARALLEL_QUEUE_TIMEOUT "
        f"| PQ_TIMEOUT_ACTION\nDAY | REPORTS | CONSUMER_GROUP | 50 | | | {timeout} | {action}\n"
        "DAY | BATCH | CONSUMER_GROUP | 50 | | | |"
    )
    found = reading(tmp_path, site(busy(1), idle(5, 900), held=((1, 48), (5, 16)), DBA_RSRC_PLAN_DIRECTIVES=rules))
    step = advice(found)
    assert [each.text for each in step.commands] == ([] if then else ["ALTER SYSTEM KILL SESSION '5,1005,@1';"])
    if then:
        sentence = f"reaches its queue timeout in {then}"
        if action == "RUN":
            assert step.text == f"wait: the head of REPORTS {sentence}"
            assert step.short == "wait: REPORTS reaches its queue timeout in 0:30"
        else:
            assert (
                step.between[0]
                == f"decide whether to start the head of REPORTS now: its queue timeout is in {then[:4]}"
            )
            assert step.short == f"start REPORTS's head now? its queue timeout is in {then[:4]}"
        late = "too late to end a session for it: " * (action == "RUN")
        assert way(found).sentence == f"{late}it {sentence}"
        assert not any(each.commands for each in way(found).candidates)


# Which session it is.


def test_a_coordinator_without_a_row_gets_no_command(tmp_path: Path) -> None:
    found = reading(tmp_path, site(busy(1), held=((1, 32), (77, 32))))
    nobody_is_ended(found, 77)
    assert "V$SESSION has no row for its coordinator" in candidate(found, 77).refused


SMON = (
    "1 | 17 | 1017 | | ACTIVE | | oracle@db1 (SMON) | | | | 900 | | PX Deq: Txn Recovery Start | Idle | WAITING | 5 "
    "| BACKGROUND | |"
)
ROLLBACK = "STATE | UNDOBLOCKSDONE | UNDOBLOCKSTOTAL\nRECOVERING | 6300 | 10000\nRECOVERED | 100 | 100"


@pytest.mark.parametrize("recovery", [ROLLBACK, ""])
def test_smon_rolls_back_and_is_left_alone(tmp_path: Path, recovery: str) -> None:
    more = {"V_DOLLAR_FAST_START_TRANSACTIONS": recovery} if recovery else {}
    found = reading(tmp_path, site(SMON, held=((17, 64),), **more))
    nobody_is_ended(found, 17)
    done = " (63 % done)" if recovery else ""  # (6,300 + 100) of (10,000 + 100) blocks
    ends = f"it rolls back a transaction{done}, which ends by itself"
    assert advice(found).text == f"wait: SMON 1:17 holds 64 servers: {ends}"


@pytest.mark.parametrize("recovery", [ROLLBACK, ""])
def test_smon_is_named_beside_a_session_that_could_be_ended(tmp_path: Path, recovery: str) -> None:
    more = {"V_DOLLAR_FAST_START_TRANSACTIONS": recovery} if recovery else {}
    found = reading(tmp_path, site(busy(1), SMON, held=((1, 32), (17, 32)), **more))
    assert advice(found).text.startswith("wait: SMON 1:17 holds 32 servers: it rolls back a transaction")
    assert way(found).sentence.startswith(
        "ending one statement frees the 32 servers that let it start; SMON 1:17 holds 32 servers: it rolls back"
    )
    assert candidate(found, 17).lost is None


LGWR = SMON.replace("SMON", "LGWR").replace("17 | 1017", "19 | 1019")


def test_a_background_process_that_others_wait_for_is_named(tmp_path: Path) -> None:
    lock = "log file switch (archiving needed) | Configuration | WAITING | 300000000 | USER | 19 | 19"
    server = f"1 | 5051 | 1 | ETL | ACTIVE | BATCH | oracle@db1 (P001) | | {SQL} | | 300 | | {lock}"
    found = reading(tmp_path, site(busy(1), server, LGWR, held=((1, 64),)))
    assert advice(found).text == "look at LGWR 1:19: ETL 1:1 waits for it and holds 64 servers"
    assert advice(found).commands == ()
    (blocked,) = [each for each in wrong(found) if each.key == "blocked_holder"]
    assert blocked.text.endswith("ETL 1:1,1001 (64) waits for LGWR 1:19")


def test_unlisted_holders_are_not_denied(tmp_path: Path) -> None:
    found = reading(tmp_path, site(busy(1), held=((1, 16),), active=64, V_DOLLAR_PX_SESSION="SID | QCSID\n5 | 5"))
    assert way(found).unknown == "V$PX_SESSION shows 0 of 64 servers in use"
    assert advice(found).step is Step.LOOK
    assert "no idle session" not in advice(found).text


def test_a_head_above_the_target_is_promised_nothing(tmp_path: Path) -> None:
    """The head wants 96 of the 64: that such a head starts once all servers are free was seen, but is no proof."""
    more = {"V_DOLLAR_RSRC_SESSION_INFO": "SID | DOP | PQ_SERVERS | CURRENT_CONSUMER_GROUP\n9 | 48 | 96 | REPORTS"}
    found = reading(tmp_path, site(idle(5, 900), held=((5, 16),), active=16, **more))
    assert advice(found).step is Step.CHANGE
    assert advice(found).commands == ()
    assert way(found).sentence == (
        "ending one idle holder frees the 16 servers with which it may start, though it is too large for the target"
    )


def test_an_execution_that_began_before_its_session_has_no_elapsed_time(tmp_path: Path) -> None:
    views = dict(site(held=((1, 32), (2, 32))))
    rows = [busy(1, 600, "2026-11-23 01:40:00"), busy(2, 300, "2026-11-23 09:55:00")]
    logons = ["2026-11-23 09:48:20", "2026-11-23 08:00:00"]
    views["V$SESSION"] = "\n".join([
        f"SAMPLE_TIME | LOGON_TIME | {SESSION}",
        *(f"2026-11-23 10:00:00 | {at} | {each}" for at, each in zip(["", *logons], [HEAD, *rows], strict=True)),
    ])  # fmt: skip
    found = reading(tmp_path, views)
    assert {each.sid: each.elapsed for each in found.running} == {1: None, 2: 300.0}
    assert candidate(found, 1).lost == 32 * 600


def test_a_background_process_is_known_without_type(tmp_path: Path) -> None:
    views = dict(site(SMON, held=((17, 64),)))
    views["V$SESSION"] = "\n".join(
        " | ".join(part for n, part in enumerate(line.split("|")) if n != 16) for line in views["V$SESSION"].split("\n")
    )
    nobody_is_ended(reading(tmp_path, views), 17)


def test_a_session_queues_behind_itself(tmp_path: Path) -> None:
    # PL/SQL with an open parallel cursor: the coordinator of 48 servers is the session that is queued
    found = reading(tmp_path, site(busy(1), held=((9, 48), (1, 16))))
    assert advice(found).step is Step.CHANGE
    expected = "RPT 1:9 is queued behind itself: its open cursor keeps 48 servers (close it, or raise the limit)"
    assert advice(found).text == expected
    assert way(found).sentence.startswith(expected)
    assert 9 not in {each.statement.sid for each in way(found).candidates}


BLOCKER = (
    "1 | 88 | 1088 | ANNA | INACTIVE | ADHOC | SQL Developer | | | | 1300 | | SQL*Net message from client | Idle "
    "| WAITING | 5 | USER | |"
)


def test_servers_that_are_blocked_make_the_statement_blocked(tmp_path: Path) -> None:
    # parallel DML: the coordinator waits for its servers, one of them for 44's row lock, who waits for 88
    lock = "enq: TX - row lock contention | Application | WAITING | 300000000 | USER | 44 | 88"
    server = f"1 | 5051 | 1 | ETL | ACTIVE | BATCH | oracle@db1 (P001) | | {SQL} | | 300 | | {lock}"
    found = reading(tmp_path, site(busy(1), server, BLOCKER, idle(5, 900), held=((1, 48), (5, 16))))
    assert [each.blocker for each in found.running if each.sid == 1] == ["1:88"]
    assert advice(found).text.startswith("look at ANNA 1:88, idle 21:40: ETL 1:1 waits for it and holds 48 servers")
    assert advice(found).commands == ()


def test_servers_of_the_same_statement_are_no_blockers(tmp_path: Path) -> None:
    wait = "enq: TX - contention | Application | WAITING | 300000000 | USER | 5052 | 1"
    server = f"1 | 5051 | 1 | ETL | ACTIVE | BATCH | oracle@db1 (P001) | | {SQL} | | 300 | | {wait}"
    found = reading(tmp_path, site(busy(1), server, held=((1, 64),)))
    assert [each.blocker for each in found.running] == [""]


def test_an_execution_that_begins_in_the_future_is_not_the_one_that_loses_least(tmp_path: Path) -> None:
    # 1's clock is ahead: it has worked for 2 hours by LAST_CALL_ET; 2 for 5 minutes
    sessions = "\n".join([
        f"SAMPLE_TIME | {SESSION}",
        *(f"2026-11-23 10:00:00 | {each}" for each in (
            HEAD, busy(1, 7200, "2026-11-23 10:20:00"), busy(2, 300, "2026-11-23 09:55:00"))),
    ])  # fmt: skip
    views = dict(site(held=((1, 32), (2, 32))))
    views |= {name: f"{table}" for name, table in views.items()} | {"V$SESSION": sessions}
    found = reading(tmp_path, views)
    assert {each.sid: each.elapsed for each in found.running} == {1: None, 2: 300.0}
    assert [(each.statement.sid, each.lost) for each in way(found).candidates] == [(2, 32 * 300), (1, 32 * 7200)]


def test_a_session_that_was_killed_is_not_killed_again(tmp_path: Path) -> None:
    found = reading(tmp_path, site(busy(1), idle(5, 900, status="KILLED"), held=((1, 32), (5, 32))))
    nobody_is_ended(found, 5)
    assert candidate(found, 5).refused == "it is already marked for kill and is being cleaned up"
    assert way(found).needed == 1, "the one that works"


def test_a_sniped_session_is_an_idle_holder_with_nothing_to_lose(tmp_path: Path) -> None:
    found = reading(tmp_path, site(busy(1), idle(5, 30, status="SNIPED"), held=((1, 48), (5, 16))))
    assert [each.kind for each in candidate(found, 5).commands] == [CommandKind.KILL]
    assert candidate(found, 5).lost == 0
    assert advice(found).step is Step.END


def test_an_autonomous_database_offers_only_kill(tmp_path: Path) -> None:
    found = reading(tmp_path, site(busy(1), held=((1, 64),)))
    assert [each.kind for each in candidate(found, 1).commands] == [CommandKind.CANCEL, CommandKind.KILL]
    assert [each.kind for each in way(found).commands] == [CommandKind.DEQUEUE, CommandKind.CANCEL, CommandKind.KILL]
    cloud = replace(found, header=replace(found.header, autonomous=True))
    assert [each.kind for each in candidate(cloud, 1).commands] == [CommandKind.KILL]
    assert [each.kind for each in way(cloud).commands] == [CommandKind.KILL]


@pytest.mark.parametrize(
    ("session", "name", "loss"),
    [
        (idle(5, 90, "SYS", program="Toad.exe"), "SYS", "an administrator's work is lost"),
        (busy(5, user="SYS", program="rman@db1 (TNS V1-V3)"), "RMAN", "the backup or restore fails"),
        (busy(5, module="backup full datafile"), "RMAN", "the backup or restore fails"),
        (busy(5, program="oracle@db1 (DW00)"), "Data Pump", "the export or import stops"),
        (busy(5, module="Data Pump Worker"), "Data Pump", "the export or import stops"),
        (busy(5, program="oracle@db1 (J003)"), "a scheduler job", "the run of the job fails"),
        (busy(5, program="replicat@gg1 (TNS V1-V3)", module="OGG-R1"), "replication (GoldenGate or Streams)",
         "replication stops until it is started again"),
        (busy(5, program="oracle@db1 (MRP0)"), "Data Guard", "the standby falls behind"),
        (idle(5, 900, program="oracle@crm1 (TNS V1-V3)"), "a session of another database",
         "its statement, which may only pause, fails"),
    ],
)  # fmt: skip
def test_a_session_with_more_to_lose_comes_last(tmp_path: Path, session: str, name: str, loss: str) -> None:
    # 1 would lose two hours of work of 32 servers, and is named before the other all the same
    found = reading(tmp_path, site(busy(1, 7200), session, held=((1, 32), (5, 32))))
    assert [each.statement.sid for each in way(found).candidates] == [1, 5]
    assert candidate(found, 5).objection == f"it is {name}: if it is ended, {loss}"
    assert advice(found).commands == ()


@pytest.mark.parametrize(("user", "program", "lacks"), [
    ("", "oracle@db1 (PMON)", "USERNAME"), ("BACKUPU", "", "PROGRAM"), ("", "", "USERNAME and PROGRAM"),
])  # fmt: skip
@pytest.mark.parametrize("works", [False, True])
def test_a_session_that_may_be_of_any_kind_is_never_offered(
    tmp_path: Path, user: str, program: str, lacks: str, works: bool
) -> None:
    own = busy(5, user=user, program=program) if works else idle(5, 900, user, program=program)
    found = reading(tmp_path, site(busy(1), own, held=((1, 48), (5, 16))))
    nobody_is_ended(found, 5)
    why = f"V$SESSION does not show its {lacks}, so whether it is SYS, RMAN or a job is not known"
    assert candidate(found, 5).refused == why
    assert f"{user or 'session'} 1:5 " in advice(found).text
    assert why in advice(found).text
    if not works:
        (alert,) = [each for each in wrong(found) if each.key == "idle_holder"]
        assert f": {user or 'session'} 1:5,1005 (16, idle 15:00)" in alert.text


@pytest.mark.parametrize("columns", [("USERNAME",), ("PROGRAM",), ("PROGRAM", "MODULE")])
def test_without_a_column_that_decides_no_session_is_offered(tmp_path: Path, columns: tuple[str, ...]) -> None:
    views = dict(site(busy(1), idle(5, 900), held=((1, 48), (5, 16))))
    rows = [[field.strip() for field in line.split("|")] for line in views["V$SESSION"].splitlines()]
    kept = [index for index, name in enumerate(rows[0]) if name not in columns]
    views["V$SESSION"] = "\n".join(" | ".join(row[index] for index in kept) for row in rows)
    found = reading(tmp_path, views)
    assert advice(found).step is Step.WAIT
    assert not any(each.commands for each in way(found).candidates)


@pytest.mark.parametrize(("session", "kind"), [
    (idle(5, 900, "SYS"), "SYS"), (idle(5, 900, program="rman@db1 (TNS V1-V3)"), "RMAN"),
    (idle(5, 900, program="oracle@db1 (J001)"), "a scheduler job"), (idle(5, 900, program="expdp@db1"), "Data Pump"),
])  # fmt: skip
def test_do_says_why_an_idle_holder_is_never_offered(tmp_path: Path, session: str, kind: str) -> None:
    """It said "perhaps not enough alone: it frees 16 of 16 servers"."""
    found = reading(tmp_path, site(busy(1), session, held=((1, 48), (5, 16))))
    assert f"(idle 15:00) keeps 16 servers; it is {kind}, so never offered: if it is ended, " in advice(found).text
    assert "not enough" not in advice(found).text


def test_no_offer_is_announced_for_a_session_whose_idle_time_is_not_known(tmp_path: Path) -> None:
    own = idle(5, 900).replace("| 900 |", "| |", 1)
    found = reading(tmp_path, site(busy(1), own, held=((1, 48), (5, 16))))
    assert "DO offers no end of a session whose LAST_CALL_ET is not known" in advice(found).text
    assert "end it if" not in " ".join([advice(found).text, advice(found).short, *advice(found).between])


@pytest.mark.parametrize("just_gone", [(), (2,)])
def test_nobody_is_ended_at_the_first_poll_without_an_instance(tmp_path: Path, just_gone: tuple[int, ...]) -> None:
    found = reading(tmp_path, site(busy(1), idle(5, 900), held=((1, 48), (5, 16))))
    gone = GoneInstance(2, "DB2", found.at - timedelta(seconds=10), 64)
    found = replace(found, gone=(gone,), just_gone=just_gone)
    offered = [each.statement.sid for each in way(found).candidates if each.commands]
    assert offered == ([] if just_gone else [5])
    (alert,) = instances_gone(found)
    words = "no view shows instance 2 (DB2), last" if just_gone else "instance 2 (DB2) is gone, last"
    assert alert.short.startswith(words)
    assert ("whether instance 2 (DB2) is gone is not known" in advice(found).text) is bool(just_gone)


# What Oracle ends itself.

PARAMETERS = "NAME | VALUE\nmax_idle_blocker_time | {}\nmax_idle_time | 0"


def test_oracle_ends_it_itself(tmp_path: Path) -> None:
    more = {"V_DOLLAR_SYSTEM_PARAMETER": PARAMETERS.format(5)}
    found = reading(tmp_path, site(busy(1), idle(5, 110), held=((1, 48), (5, 16)), **more))
    nobody_is_ended(found, 5)  # 5 minutes are 300 s, of which 110 have passed
    assert candidate(found, 5).refused == "Oracle ends it in about 3:10 (MAX_IDLE_BLOCKER_TIME)"
    assert advice(found).text == (
        "wait: the head of REPORTS should start by itself in about 3:10, when Oracle ends MARTIN 1:5, idle 1:50 "
        "(MAX_IDLE_BLOCKER_TIME)"
    )


def test_oracle_ends_neither_sys_nor_an_overdue_session(tmp_path: Path) -> None:
    more = {"V_DOLLAR_SYSTEM_PARAMETER": PARAMETERS.format(5)}
    sys = reading(tmp_path, site(busy(1), idle(5, 110, "SYS"), held=((1, 48), (5, 16)), **more))
    assert candidate(sys, 5).refused == ""
    late = reading(tmp_path, site(busy(1), idle(5, 900), held=((1, 48), (5, 16)), **more))
    assert advice(late).step is Step.END, "it was promised for 10 minutes ago"


@pytest.mark.parametrize(("minutes", "named"), [("0", True), ("60", False), (None, False)])
def test_max_idle_blocker_time_is_named_if_it_is_not_set(tmp_path: Path, minutes: str | None, named: bool) -> None:
    more = {} if minutes is None else {"V_DOLLAR_SYSTEM_PARAMETER": PARAMETERS.format(minutes)}
    views = site(busy(1), idle(5, 900), held=((1, 48), (5, 16)), **more)
    found = reading(tmp_path, views)
    assert advice(found).step is Step.END
    assert ("MAX_IDLE_BLOCKER_TIME" in advice(found).text) is named
    rules = {finding.rule for finding in lint(found, snapshots(tmp_path, views)[-1])}
    assert ("idle-holders-stay" in rules) is named


def test_if_two_must_end_both_commands_are_copied(tmp_path: Path) -> None:
    found = reading(tmp_path, site(busy(1), idle(5, 900), idle(6, 800), held=((1, 48), (5, 8), (6, 8))))
    step = advice(found)
    assert step.script == "ALTER SYSTEM KILL SESSION '5,1005,@1';\nALTER SYSTEM KILL SESSION '6,1006,@1';"
    assert "and 1 other idle holder" in step.text
    assert "MARTIN 1:5 and MARTIN 1:6" in step.affects


def test_a_session_idle_for_less_than_two_minutes_is_named(tmp_path: Path) -> None:
    found = reading(tmp_path, site(busy(1), idle(5, 80), held=((1, 48), (5, 16))))
    assert advice(found).text == (
        "wait: MARTIN 1:5 keeps 16 servers that the head of REPORTS could use; idle 1:20, so perhaps between two "
        "fetches: end it if it stays idle (from 2:00 on DO offers it)"
    )
    assert advice(found).commands == ()
    more = {"V_DOLLAR_SYSTEM_PARAMETER": PARAMETERS.format(0)}
    found = reading(tmp_path, site(busy(1), idle(5, 80), held=((1, 48), (5, 16)), **more))
    assert advice(found).text.endswith("MAX_IDLE_BLOCKER_TIME would end such sessions while statements queue")
