"""The pages of rows: values of hand-made rows are shown, missing ones are not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.collapsed_rows import collapse_sessions, collapsed_servers
from presman.analysis.plans.plan_view import plan_view
from presman.analysis.readings.statement_readings import DopFacts, Servers, WantsSource
from presman.figures.drawing.lines import plain
from presman.figures.plan_figures import PLAN
from presman.figures.session_figures import SESSIONS, identity
from presman.figures.statement_figures import QUEUE, queue_position
from presman.rows.session_state import NEXT_IN_LINE
from presman.tui.pages.row_details import (
    _wants,
    again,
    dop_sentences,
    group,
    has_degree,
    page,
    plain_row,
    queued,
    running,
    session,
    sql_lines,
)
from tests.analysis.make import counters
from tests.recording.recorded import polled
from tests.tui.readings import AT, busy, cluster, sections
from tests.tui.readings import group as group_row
from tests.tui.readings import queued as queued_row
from tests.tui.readings import running as running_row
from tests.tui.readings import session as session_row

BUSY = busy()


HINTED = "Its SQL text has the hint parallel."
HELD = [
    "32 servers, MARTIN 1:526,60805, 9md3ukh526j58, running for 31:04, ○ idle for 22:10",
    "32 servers, ETL 1:144,60805, 9md3ukh144j58, running for 7:40",
]


def test_the_head_of_a_queue() -> None:
    found = sections(queued(BUSY.queue[0], BUSY))
    assert found["Queued statement 7xq3h001jskd0 of BATCH"] == [
        "user RPT", "program JDBC Thin Client", "module -", "service dwh", "machine app01",
        "session instance 1, SID 501, SERIAL# 7", "cursor SQL_ID 7xq3h001jskd0, child 0",
    ]  # fmt: skip
    assert found["Why it waits"] == [
        "Number 1 in the queue of BATCH, queued for 3 min 41 s: resmgr:pq queued.",
        "It wants 32 servers (DOP 16, two sets); BATCH holds 64 of 64 allowed (25 % of 256); 206 of the target's 256 "
        "are in use; short by 32 servers.",
        "It reaches its queue timeout in 56:26: then it ends with ORA-07454.",
    ]
    assert found["What it wants"] == ["servers 32 parallel servers, by its plan"]
    assert found["Who holds servers in BATCH"] == HELD
    assert found["SQL text"][0].startswith("select /*+ parallel */ region")


def test_statements_with_equal_waits_share_a_position() -> None:
    twin = replace(BUSY.queue[0], sid=599, position=2)
    behind = replace(BUSY.queue[0], sid=600, position=3, waited=5.0)
    reading = replace(BUSY, queue=(BUSY.queue[0], twin, behind))
    places = [sections(queued(row, reading))["Why it waits"][0].partition(",")[0] for row in reading.queue]
    assert places == ["One of the first 2 in the queue of BATCH"] * 2 + ["Number 3 in the queue of BATCH"]
    why = sections(queued(twin, reading))["Why it waits"]
    assert why[1].startswith("Another of them, 7xq3h001jskd0, wants 32 servers")
    assert " in the queue of BATCH, queued for 3 min 41 s" in why[0]
    assert queue_position(replace(twin, event=NEXT_IN_LINE), reading) == "number 2", "Oracle says that it is the next"


def test_a_statement_behind_the_head_has_the_heads_reason() -> None:
    row = replace(BUSY.queue[1], timeout_left=None, sql_id="", sql_text="", child=None)
    found = sections(queued(row, BUSY))
    assert found["Queued statement (unknown) of BATCH"][-1] == "cursor -"
    assert found["Why it waits"][1].startswith("The head, 7xq3h001jskd0, wants 32 servers")
    assert found["Why it waits"][2] == "Its group has no queue timeout: it waits until it starts."
    assert found["SQL text"] == ["not known: V$SQL was not read for it, or no longer has it"]
    assert plain(sql_lines("", "aged out")[-1]).strip() == "aged out"
    other = sections(queued(replace(row, con_id=3), BUSY))
    assert len(other["Why it waits"]) == 2, "a queue of that name in another container has another head"


@pytest.mark.parametrize(
    ("wants", "expected"),
    [
        (None, "not known: its plan could not be read"),
        (
            Servers(16, 16, WantsSource.MEAN),
            "not known; those queued in its group wanted 16 each on average in the last minute",
        ),
        (Servers(16, 16, WantsSource.PLAN), "16 parallel servers, by its plan"),
    ],
)
def test_the_wanted_servers_of_a_statement(wants: Servers | None, expected: str) -> None:
    assert _wants(wants) == expected
    assert "Oracle does not document" not in expected
    assert "DOP or twice the DOP" in _wants(Servers(8, 16, WantsSource.PLAN))
    assert "DOP or twice the DOP" not in _wants(Servers(8, 16, WantsSource.DEGREE))


def test_pages_of_an_idle_holder_and_a_downgraded_statement() -> None:
    idle = sections(running(BUSY.running[0], BUSY))
    assert idle["What it does"] == [
        "Idle holder: the coordinator has been INACTIVE for 22:10 and keeps 32 servers, because its cursor is neither "
        "fetched to the end nor closed.",
        "elapsed 31:04",
    ]
    assert idle["What it holds"] == ["servers 32 in 2 server sets", "degree 16 of 16 requested"]
    assert idle["Why it has this degree"] == [
        HINTED, "The optimizer chose DOP 16.", "Reason in the plan: hint.", "The execution asked for DOP 16.",
    ]  # fmt: skip
    fewer = sections(running(BUSY.running[2], BUSY))
    assert fewer["What it does"][0] == "The coordinator is ACTIVE: waits for PX Deq: Execute Reply."
    assert fewer["What it holds"][1] == "degree ▼ 32 of 64 requested: downgraded by 50 %"
    assert fewer["Who holds servers in ETL"] == ["64 servers, ETL 1:525,60805, 9md3ukh525j58, running for 2:02"]


@pytest.mark.parametrize(
    ("status", "event", "expected"),
    [
        ("", "", "The coordinator's session is not visible: what it waits for is not known."),
        ("ACTIVE", "", "The coordinator is ACTIVE: what it does is not known."),
        ("ACTIVE", "on CPU", "The coordinator is ACTIVE: on CPU."),
        ("", "db file", "The coordinator is there: waits for db file."),
    ],
)
def test_the_activity_of_a_coordinator(status: str, event: str, expected: str) -> None:
    assert sections(running(running_row(status=status, event=event), BUSY))["What it does"][0] == expected


def test_servers_are_listed_by_instance_and_holders_only_if_any() -> None:
    both = running_row(servers_by_instance={2: 8, 1: 24}, sets=1)
    assert sections(running(both, BUSY))["What it holds"][:2] == [
        "servers 32 in 1 server set", "by instance instance 1: 24, instance 2: 8",
    ]  # fmt: skip
    assert "Who holds servers in X" not in sections(running(replace(both, group="X"), BUSY))
    crowd = tuple(running_row(n, servers=n) for n in range(1, 11))
    held = sections(running(both, replace(BUSY, running=crowd)))["Who holds servers in BATCH"]
    assert [line.split()[0] for line in held] == [str(n) for n in range(10, 2, -1)], "the eight with most"


def test_the_page_explains_the_degree() -> None:
    assert dop_sentences(DopFacts(None, ""), None) == ["V$SQL_PLAN.OTHER_XML does not say, or could not be read."]
    derived = DopFacts(12, "degree limit", cpu_degree=24, io_degree=12)
    assert dop_sentences(derived, 8) == [
        "Automatic DOP derived 24 from CPU and 12 from I/O.", "The optimizer chose 12, less than the 24 derived.",
        "Reason in the plan: degree limit.", "The execution asked for DOP 8.",
    ]  # fmt: skip
    as_derived = DopFacts(24, "", cpu_degree=24)
    assert dop_sentences(as_derived, None) == ["Automatic DOP derived 24 from CPU.", "The optimizer chose DOP 24."]
    assert dop_sentences(DopFacts(8, "", io_degree=9), None)[1] == "The optimizer chose 8, less than the 9 derived."
    assert has_degree(derived)
    assert has_degree(DopFacts(None, "", io_degree=9))
    assert has_degree(DopFacts(None, "why"))
    assert not has_degree(DopFacts(None, ""))


def test_a_session_with_its_parallel_statement() -> None:
    found = sections(session(session_row(103, used=0.51, waited=61.0, last_call=12.0), BUSY))
    assert found["Session 1:103,11 of APP"][-1] == "status ACTIVE for 0:12"
    assert found["Session 1:103,11 of APP"][-2] == f"logged on {AT.astimezone():%Y-%m-%d %H:%M:%S}"
    assert found["Resource Manager"][-5:] == [
        "state RUNNING", "CPU uses 0.51, waits for 0.10 CPUs", "I/O 2.5 MB/s in 40.0 requests/s", "parallel -",
        "servers 0",
    ]  # fmt: skip
    assert found["Now"] == ["waits for on CPU (class not known), for 1:01", "cursor SQL_ID g5s2c0103hgq1, child 0"]
    bare = session_row(103, event="", logon=None, px_role="QC", pq_status="ENABLED", wait_class="Idle")
    found = sections(session(bare, BUSY))
    assert found["Now"][0] == "waits for -"
    assert "logged on -" in found["Session 1:103,11 of APP"]
    assert "parallel QC ENABLED" in found["Resource Manager"]
    assert sections(session(session_row(1, event="x"), BUSY))["Now"][0] == "waits for x"
    own = sections(session(session_row(501, serial=7), BUSY))
    assert "Queued statement 7xq3h001jskd0 of BATCH" in own
    assert "Queued statement 7xq3h001jskd0 of BATCH" not in sections(session(session_row(501, serial=8), BUSY))


def test_page_and_row_of_a_coordinator_have_the_same_consumption() -> None:
    """The row adds up its servers; a page with the coordinator's own 0.00 CPUs beside it would contradict it."""
    *_, (_, reading) = polled("storm", 4)
    row = next(each for each in collapse_sessions(reading.sessions) if collapsed_servers(each) and each.used)
    alone = next(each for each in reading.sessions if identity(each) == identity(row))
    assert row.used is not None
    assert alone.used is not None
    assert row.used > alone.used + 0.1
    found = sections(page(again(alone, SESSIONS, reading), SESSIONS, reading))["Resource Manager"]
    assert f"of the coordinator and its {collapsed_servers(row)} servers" in found
    assert any(line.startswith(f"CPU uses {row.used:.2f}") for line in found)
    assert any(line.startswith("parallel QC ") or line == "parallel QC" for line in found)


def test_a_session_page_explains_its_group() -> None:
    """The first was mapped to INTERACTIVE and switched; the second was neither mapped nor switched."""
    switched = sections(session(session_row(103, group="BATCH", mapping_attribute="SERVICE_NAME"), BUSY))
    words = ["group BATCH", "switched to BATCH; mapped to INTERACTIVE by SERVICE_NAME", "state RUNNING"]
    assert switched["Resource Manager"][:3] == words
    assert sections(session(session_row(103, mapped_group=""), BUSY))["Resource Manager"][1] == "state RUNNING"


def test_a_group_of_one_instance_and_of_a_cluster() -> None:
    """2.9 CPUs were used and 0.4 waited for, which is 12 % of 3.3; 40 that queued waited for 1,200 s in all."""
    found = sections(group(BUSY.groups[2], BUSY))
    assert found["Consumer group BATCH on instance 1"][0] == "CPU not throttled: uses 2.9, wants 3.3 of 24.0"
    assert found["Consumer group BATCH on instance 1"][2:] == [
        "entitled now 3.6 CPUs at the groups' current demand", "guaranteed 6.0 CPUs when all are busy (25 %)",
        "limit 12.0 CPUs (UTILIZATION_LIMIT)", "throttled 12 % of its demand",
        "sessions 3 active, 1 of them waiting for a time slice",
    ]  # fmt: skip
    assert found["Parallel execution"] == [
        "now 3 statements on 64 servers, 12 queued", "servers limit 64 servers, 25 % of the target",
        "since the plan 300 completed, 40 had to queue, 0:30 each on average", "timeouts 2",
    ]  # fmt: skip
    assert found["I/O"] == [
        "all 95 MB/s, 244.0 requests/s, 2.4 ms each", "large 90 MB/s read, 3.5 MB/s written",
        "small 1 MB/s read, 0.5 MB/s written",
    ]  # fmt: skip
    assert len(found["Why its head waits"]) == 1
    assert "By instance" not in found
    both = sections(group(cluster().groups[2], cluster()))
    assert "Consumer group BATCH on the cluster" in both
    assert both["By instance"] == [
        f"instance {n} uses 1.4 of 12.0 CPUs, not throttled; 64 servers, 12 queued" for n in (1, 2)
    ]
    second = next(each for each in cluster().groups if (each.inst_id, each.name) == (2, "BATCH"))
    assert "Consumer group BATCH on instance 2" in sections(group(second, cluster()))


def test_a_group_without_limits_queue_and_io() -> None:
    bare = group_row("X", limit=None, servers_limit=None, io=None, counters=counters(pqs_completed=300))
    found = sections(group(bare, BUSY))
    assert "limit none" in found["Consumer group X on instance 1"]
    assert found["Parallel execution"][1:3] == [
        "servers limit none", "since the plan 300 completed, 0 had to queue",
    ]  # fmt: skip
    assert not {"I/O", "Why its head waits", "Who holds servers in X"} & found.keys()
    measured = sections(group(bare._replace(servers_limit=1, servers_limit_percent=None), BUSY))
    assert measured["Parallel execution"][1] == "servers limit 1 server (V$RSRCMGRMETRIC)"


def test_a_row_is_found_again_in_a_later_reading() -> None:
    started = replace(BUSY, queue=(), running=(running_row(501, serial=7, sql_id="7xq3h001jskd0"),))
    rows: list[tuple[Any, Any, Any]] = [
        (BUSY.queue[0], BUSY, BUSY.queue[0]),
        (BUSY.queue[0], started, started.running[0]),
    ]
    for row, reading, found in rows:
        assert again(row, QUEUE, reading) is found
    assert again(queued_row(sid=999), QUEUE, BUSY) is None
    for row, title in (
        (BUSY.queue[0], "Queued statement 7xq3h001jskd0"), (BUSY.running[1], "Running statement 9md3ukh144j58"),
        (BUSY.sessions[0], "Session 1:100,11 of APP"), (BUSY.groups[0], "Consumer group INTERACTIVE on instance 1"),
    ):  # fmt: skip
        assert plain(page(row, QUEUE, BUSY)[0]).startswith(title)


def test_a_group_has_no_guarantee_if_no_plan_divides_cpu() -> None:
    """As in noplan: a guarantee of 0.0 CPUs when all are busy would be a promise that it gets none."""
    *_, (_, reading) = polled("noplan", 2)
    pages = ["\n".join(map(plain, group(row, reading))) for row in reading.cluster_groups()]
    assert pages
    for each in pages:
        assert "when all are busy" not in each
        assert "nothing, where CPU is not managed" in each
    assert {row.guaranteed for row in reading.groups} == {None}


def test_a_page_of_any_row_has_the_whole_head_of_each_column() -> None:
    *_, (snapshot, reading) = polled("storm", 2)
    assert max(len(column.head) for column in PLAN.columns) > 15
    found = "\n".join(plain(line) for line in plain_row(plan_view(reading, snapshot).lines[0], PLAN))
    assert all(f"  {column.head} " in found for column in PLAN.columns)
