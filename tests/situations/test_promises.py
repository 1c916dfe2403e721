"""Promises: none that the next poll may refute, and none repeated after it was broken."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.advice.earlier_predictions import EarlierPredictions
from presman.analysis.advice.step import Step
from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.assemble import analyse
from presman.analysis.facts.facts import Facts
from presman.analysis.readings.forecast_readings import ForecastRecord, QueueForecast
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, QueueHead, QueueReason, StartForecast
from presman.analysis.trends import Watch
from presman.figures.drawing.lines import plain
from presman.forecast.queue_now import queue_rules
from presman.output.why_answer import AskedStatement, ReasonHistory, as_text
from presman.rows.session_rows import Session
from presman.services.live import Readings
from presman.tabs.parallel import queue_line
from presman.tui.pages.advice_lines import to_start_line
from tests.cli.run import Run
from tests.recording.recorded import record
from tests.situations.spooled import NO_LIMITS, RELEASE_19, Views, reading, readings, snapshots, spool

PLAN = (
    "INST_ID | CON_ID | NAME | IS_TOP_PLAN | CPU_MANAGED | PARALLEL_SERVERS_ACTIVE | PARALLEL_SERVERS_TOTAL "
    "| PARALLEL_EXECUTION_MANAGED"
)
WAITS = (
    "INST_ID | CON_ID | SID | SERIAL# | USERNAME | PROGRAM | STATUS | RESOURCE_CONSUMER_GROUP | SQL_ID | EVENT | STATE "
    "| WAIT_TIME_MICRO"
)
INFO = "INST_ID | CON_ID | SID | DOP | PQ_SERVERS | CURRENT_CONSUMER_GROUP"


def waits(sid: int, group: str, seconds: int, inst: int = 1, con: int = 0) -> str:
    place = f"{inst} | {con} | {sid} | {sid + 1000}"
    return f"{place} | RPT | app | ACTIVE | {group} | 7xq3hdwx1kkd0 | resmgr:pq queued | WAITING | {seconds}000000"


def info(sid: int, group: str, wants: int = 16, inst: int = 1, con: int = 0) -> str:
    return f"{inst} | {con} | {sid} | {wants // 2} | {wants} | {group}"


def table(head: str, *rows: str) -> str:
    return "\n".join([head, *rows])


def site(plan: str, *queue: tuple[int, str, int], wants: int = 16, **more: str) -> Views:
    """Statements that wait (SID, group, seconds) under one row of V$RSRC_PLAN."""
    return {
        **RELEASE_19,
        **NO_LIMITS,
        "V$RSRC_PLAN": table(PLAN, plan),
        "V$SESSION": table(WAITS, *(waits(*each) for each in queue)),
        "V$RSRC_SESSION_INFO": table(INFO, *(info(sid, group, wants) for sid, group, _ in queue)),
        **{name.replace("_DOLLAR_", "$"): text for name, text in more.items()},
    }


def head(found: Reading) -> QueueHead:
    (only,) = found.heads
    return only


def advice(found: Reading) -> str:
    step = to_do(found)
    return "" if step is None else step.text


# A promise that did not come true.


def polls(*active: int, extra: tuple[tuple[int, str], ...] = ()) -> Views:
    """Polls 10 s apart of a head that waits; the target is 64 and so many servers are counted at each."""
    times = [f"2026-11-23 10:00:{10 * number:02}" for number in range(len(active))]
    queue = ((9, "REPORTS"), *extra)
    return {
        **RELEASE_19,
        **NO_LIMITS,
        "V$RSRC_PLAN": table(f"SAMPLE_TIME | {PLAN}", *(
            f"{at} | 1 | 0 | DAY | TRUE | ON | {count} | 64 | FULL" for at, count in zip(times, active, strict=True))),
        "V$SESSION": table(f"SAMPLE_TIME | {WAITS}", *(
            f"{at} | {waits(sid, group, 60 + 10 * number)}"
            for number, at in enumerate(times) for sid, group in queue)),
        "V$RSRC_SESSION_INFO": table(f"SAMPLE_TIME | {INFO}", *(
            f"{at} | {info(sid, group)}" for at in times for sid, group in queue)),
    }  # fmt: skip


ROOM = "wants 16 servers (DOP 8, two sets by PQ_SERVERS) and 40 are free"


def test_what_did_not_let_the_head_start_is_not_promised_once_more(tmp_path: Path, inside: Run) -> None:
    """An idle session was ended in vain; then the end of another one was called a proof, and so on."""
    idle = "1 | 0 | 5 | 1005 | MARTIN | app | INACTIVE | ADHOC | | SQL*Net message from client | WAITING | 900000000"
    counts = (64, 24, 24, 64, 24)
    views = dict(polls(*counts))
    views["V$SESSION"] += "".join(f"\n2026-11-23 10:00:{10 * number:02} | {idle}" for number in range(len(counts)))
    views["V$SESSION"] = (
        views["V$SESSION"].replace("MICRO", "MICRO | LAST_CALL_ET", 1).replace("000000\n", "000000 | 900\n")
    )
    views["V$SESSION"] += " | 900"
    servers = [f"{500 + each} | 1 | 5 | 1005 | 1 | 1 | 40 | 40" for each in range(40)]
    held = [f"2026-11-23 10:00:{at} | {each}" for at in ("00", "30") for each in servers]
    columns = "SAMPLE_TIME | SID | SERIAL# | QCSID | QCSERIAL# | QCINST_ID | SERVER_SET | DEGREE | REQ_DEGREE"
    views["V$PX_SESSION"] = table(columns, *held, *(f"2026-11-23 10:00:{at} |||||||| " for at in (10, 20, 40)))
    live, folder = Readings(), tmp_path / "spool"
    folder.mkdir()
    came = [live.read(each) for each in snapshots(folder, views)]
    first, *_, fourth, fifth = came
    assert advice(first.reading).startswith("end MARTIN 1:5 (idle 15:00, keeps 40 servers): then the head of REPORTS")
    why = "why the head did not start when 40 servers were free"
    assert head(fourth.reading).sentence.endswith(f"; short by 16 servers; {why} is not known")
    which = "so no session to end is named for the head of REPORTS"
    assert advice(fourth.reading) == f"wait: {why} is not known, {which}"
    assert unblock(fourth.reading)[0].answers == ()
    record(tmp_path / "a.presman", [(each.snapshot, each.reading) for each in came])
    assert f"DO wait: {why} is not known, {which}" in inside("once", "a.presman", "--at", "2026-11-23 10:00:30").stdout
    assert head(fifth.reading).cause is Cause.UNEXPLAINED, "it has room again: no start is promised"
    assert "as they were before: the server counts do not explain why it waits" in head(fifth.reading).sentence


def test_a_start_that_did_not_come_is_not_promised_once_more(tmp_path: Path) -> None:
    """DO said "within 0:27", then "within 0:25", though a statement that it counted on had gone idle."""
    found = [*snapshots(tmp_path, polls(64, 64, 64, 64))]
    predictions, late = EarlierPredictions(), list[bool]()
    for number, snapshot in enumerate(found):
        now = analyse(None, predictions.added_to(snapshot))
        starts = {head(now).statement.executing(): StartForecast(5.0, 0.0, 20.0 if number == 1 else 15.0)}
        predictions.add(now.with_forecast(starts, QueueForecast(ForecastRecord(3, 3, 30.0))))
        late.append(now.late_starts == (head(now).statement.executing(),))
    assert late == [False, False, True, True], "the first time counts, 15 s after the first poll"
    predictions.add(replace(now, queue=(), heads=()))
    assert analyse(None, predictions.added_to(found[-1])).late_starts == ()


def test_a_wait_that_a_quiesce_explains_says_nothing_about_the_next(tmp_path: Path) -> None:
    states = ("QUIESCED", "QUIESCED", "NORMAL")
    instance = "INSTANCE_NUMBER | VERSION | STATUS | ACTIVE_STATE"
    found = [
        f"2026-11-23 10:00:{10 * number:02} | 1 | 19.22.0.0.0 | OPEN | {each}" for number, each in enumerate(states)
    ]
    live, views = Readings(), {**polls(24, 24, 64), "V$INSTANCE": table(f"SAMPLE_TIME | {instance}", *found)}
    _, second, third = (live.read(each).reading for each in snapshots(tmp_path, views))
    assert head(second).cause is Cause.UNEXPLAINED
    assert head(second).statement.reason is QueueReason.QUIESCED
    assert (head(third).cause, head(third).not_known) == (Cause.SYSTEM, None)


def test_a_wait_is_remembered_while_the_queue_is_not_listed(tmp_path: Path) -> None:
    """Nor are more servers than the pool had said to have been free."""
    most = "INST_ID | NAME | VALUE\n1 | parallel_max_servers | 66"
    in_use = "STATISTIC | VALUE\nServers In Use | 46"
    views = {**polls(24, 24, 64, 64), "V$SYSTEM_PARAMETER": most, "V$PX_PROCESS_SYSSTAT": in_use}
    taken = snapshots(tmp_path, views)
    silent = replace(taken[2], sections=MappingProxyType({**taken[2].sections, Session: replace(
        taken[2].section(Session), rows=(), absent=frozenset({"event"}))}))  # fmt: skip
    live = Readings()
    *_, last = (live.read(each).reading for each in (*taken[:2], silent, taken[3]))
    assert str(head(last).not_known) == "why the head did not start when 20 servers were free is not known"


def test_of_a_spool_once_and_check_know_the_earlier_polls_as_why_does(tmp_path: Path, inside: Run) -> None:
    folder = tmp_path / "spool"
    folder.mkdir()
    spool(folder, polls(24, 24, 24, 64, 24))
    for command in (["once"], ["check", "-v", "--at", "last"], ["why"]):
        said = inside(*command, f"spool:{folder}", *(["9"] if command == ["why"] else [])).stdout
        assert "and 40 are free, as they were before: the server counts do not explain why it waits" in said


def test_servers_that_have_just_come_free_are_promised(tmp_path: Path) -> None:
    _, second = readings(tmp_path, polls(64, 24))
    assert head(second).cause is Cause.NOT_CHOSEN


@pytest.mark.parametrize(("active", "cause"), [((24, 24), Cause.UNEXPLAINED), ((24, 40), Cause.NOT_CHOSEN)])
def test_if_the_plan_chooses_the_counts_must_agree(tmp_path: Path, active: tuple[int, int], cause: Cause) -> None:
    _, second = readings(tmp_path, polls(*active, extra=((10, "BATCH"),)))
    assert {each.cause for each in second.heads} == {cause}, "40: another was chosen meanwhile"


def test_a_head_with_room_may_wait_for_a_larger_one_the_plan_chose(tmp_path: Path) -> None:
    views = polls(24, 24, extra=((10, "BATCH"),))
    larger = views["V$RSRC_SESSION_INFO"].replace("8 | 16 | BATCH", "24 | 48 | BATCH")  # 40 are free
    _, second = readings(tmp_path, {**views, "V$RSRC_SESSION_INFO": larger})
    held, first = sorted(second.heads, key=lambda each: each.group, reverse=True)
    assert (held.group, held.cause, held.statement.reason) == (
        "REPORTS", Cause.NOT_CHOSEN, QueueReason.ORDER_OF_PLAN
    )  # fmt: skip
    assert held.sentence == f"{ROOM}; the plan chooses between it and BATCH"
    assert first.cause is Cause.SYSTEM


# One queue.


def test_in_one_queue_the_first_takes_the_freed_servers(tmp_path: Path) -> None:
    # both want 16 and 0 are free; ADHOC's idle holder keeps 16: A's statement waits for longer, so it takes them
    session = "1 | 0 | 5 | 1005 | MARTIN | app | INACTIVE | ADHOC | | SQL*Net message from client | WAITING | 900000000"
    px = table("SID | SERIAL# | QCSID | QCSERIAL# | QCINST_ID | SERVER_SET | DEGREE | REQ_DEGREE",
               *(f"{500 + n} | 1 | 5 | 1005 | 1 | 1 | 16 | 16" for n in range(16)))  # fmt: skip
    views = dict(site("1 | 0 | P | TRUE | ON | 64 | 64 | FIFO", (9, "A", 300), (10, "B", 60), V_DOLLAR_PX_SESSION=px))
    views["V$SESSION"] += f"\n{session}"
    views["V$PX_PROCESS_SYSSTAT"] = "STATISTIC | VALUE\nServers In Use | 64"
    views["V$SESSION"] = views["V$SESSION"].replace("WAIT_TIME_MICRO", "WAIT_TIME_MICRO | LAST_CALL_ET", 1).replace(
        "000000\n", "000000 | 900\n") + " | 900"  # fmt: skip
    views["V$RSRC_PLAN"] = table(PLAN, "1 | 0 | P | TRUE | ON | 16 | 16 | FIFO")
    found = reading(tmp_path, views)
    first, second = unblock(found)
    assert (first.head.group, first.needed) == ("A", 1)
    assert (second.head.cause, second.candidates) == (Cause.BEHIND, ())
    assert "one queue for all groups, 1 statement of other groups ahead of it" in second.head.sentence
    step = to_do(found)
    assert step is not None
    assert (step.step, step.subject) == (Step.END, "A")


# Limits of containers and instances.

CDB = {
    "V$DATABASE": "NAME | CDB\nCDB1 | YES",
    "V$PDBS": "CON_ID | NAME | OPEN_MODE\n2 | PDB$SEED | READ ONLY\n3 | SALES | READ WRITE",
}
PARAMETERS = """NAME | VALUE | CON_ID
parallel_max_servers | 320 | 0
parallel_servers_target | 320 | 0
parallel_threads_per_cpu | 1 | 0
cpu_count | 16 | 0
sga_target | 8589934592 | 0
memory_target | 0 | 0
pga_aggregate_target | 1073741824 | 0"""


def container(*parameters: str, held: int, **more: str) -> Views:
    """The head of SALES in its group REPORTS wants 16; the root's target is its maximum, 320."""
    return {
        **RELEASE_19, **CDB,
        "V$RSRC_PLAN": table(PLAN, "1 | 1 | CDB_PLAN | TRUE | ON | 64 | 320 | FULL"),
        "V$SYSTEM_PARAMETER": table(PARAMETERS, *parameters),
        "V$SESSION": table(WAITS, waits(9, "REPORTS", 60, con=3)),
        "V$RSRC_SESSION_INFO": table(INFO, info(9, "REPORTS", con=3)),
        "V$RSRC_PDB": f"CON_ID | PDB_NAME | CURRENT_PQ_SERVERS_ACTIVE\n3 | SALES | {held}",
        **more,
    }  # fmt: skip


def in_a_container(root: str, pdb: str) -> Views:
    """Both want 16; the idle session of ADHOC keeps the 16 of the target. Root and SALES are managed like this."""
    plans = ("1 | 1 | CDB_PLAN | TRUE | ON | 16 | 16", "1 | 3 | P | FALSE | ON | 16 | 16")
    session = "1 | 3 | 5 | 1005 | MARTIN | app | INACTIVE | ADHOC | | SQL*Net message from client | WAITING | 900000000"
    queue = table(WAITS, waits(9, "A", 300, con=3), waits(10, "B", 60, con=3), session)
    parts = "\n".join(f"3 | P | {each} | CONSUMER_GROUP | 100 | |" for each in ("A", "B", "OTHER_GROUPS"))
    return {
        **RELEASE_19, **CDB,
        "V$RSRC_PLAN": table(PLAN, *(f"{plan} | {each}" for plan, each in zip(plans, (root, pdb), strict=True))),
        "DBA_CDB_RSRC_PLAN_DIRECTIVES": "PLAN | PLUGGABLE_DATABASE | SHARES | UTILIZATION_LIMIT | "
        "PARALLEL_SERVER_LIMIT\nCDB_PLAN | SALES | 1 | |",
        "CDB_RSRC_PLAN_DIRECTIVES": "CON_ID | PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | PARALLEL_SERVER_LIMIT | "
        f"UTILIZATION_LIMIT\n{parts}",
        "V$SYSTEM_PARAMETER": table(PARAMETERS, "parallel_servers_target | 16 | 3"),
        "V$SESSION": queue.replace("MICRO", "MICRO | LAST_CALL_ET", 1).replace("000000\n", "000000 | 900\n") + " | 900",
        "V$RSRC_SESSION_INFO": table(INFO, info(9, "A", con=3), info(10, "B", con=3)),
        "V$PX_SESSION": table("CON_ID | SID | SERIAL# | QCSID | QCSERIAL# | SERVER_SET | DEGREE | REQ_DEGREE",
                              *(f"3 | {500 + n} | 1 | 5 | 1005 | 1 | 16 | 16" for n in range(16))),
        "V$RSRC_PDB": "CON_ID | PDB_NAME | CURRENT_PQ_SERVERS_ACTIVE\n3 | SALES | 16",
        "V$RSRC_CONSUMER_GROUP": "CON_ID | NAME | CURRENT_PQ_SERVERS_ACTIVE\n3 | A | 0\n3 | B | 0\n3 | ADHOC | 16",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("root", "pdb", "step", "order"),
    [
        ("FIFO", "FULL", Step.WAIT, "the plan decides which is first, and no view shows it"),
        ("FULL", "FIFO", Step.END, ""),
    ],
)
def test_the_plan_of_a_container_says_which_of_its_queues_is_first(
    tmp_path: Path, root: str, pdb: str, step: Step, order: str
) -> None:
    """DO asked only the root's plan: with one queue there it offered an end, though the plan of SALES decides."""
    found = reading(tmp_path, in_a_container(root, pdb))
    first, *_ = unblock(found)
    todo = to_do(found)
    assert todo is not None
    assert (first.head.group, todo.step, first.order if first.turns else "") == ("A", step, order)
    assert plain(queue_line(found, Watch())).startswith(f" Queue {root} not everywhere ")


def of_the_second_instance(table: str) -> str:
    return "\n".join(f"{'2' if number else 'INST_ID'} | {line}" for number, line in enumerate(table.split("\n")))


def test_the_order_of_queues_is_that_of_an_instance_on_which_their_container_is_open(tmp_path: Path) -> None:
    """It was that of the first instance, where SALES is closed: all groups were forecast as equal."""
    views = dict(in_a_container("FULL", "FULL"))
    for name in ("V$RSRC_PDB", "V$RSRC_CONSUMER_GROUP"):
        views[name] = of_the_second_instance(views[name])
    for name in ("V$SESSION", "V$RSRC_SESSION_INFO"):
        views[name] = views[name].replace("\n1 |", "\n2 |")
    opened = (f"{number} | {number} | 19.22.0.0.0 | OPEN | YES" for number in (1, 2))
    views["V$INSTANCE"] = table("INST_ID | INSTANCE_NUMBER | VERSION | STATUS | PARALLEL", *opened)
    pdbs = (
        "1 | 2 | PDB$SEED | READ ONLY",
        "1 | 3 | SALES | MOUNTED",
        "1 | 4 | HR | READ WRITE",
        "2 | 3 | SALES | READ WRITE",
    )
    views["V$PDBS"] = table("INST_ID | CON_ID | NAME | OPEN_MODE", *pdbs)
    plans = ("1 | 1 | CDB_PLAN | TRUE", "1 | 4 | P | FALSE", "2 | 1 | CDB_PLAN | TRUE", "2 | 3 | P | FALSE")
    views["V$RSRC_PLAN"] = table(PLAN, *(f"{each} | ON | 0 | 16 | FULL" for each in plans))
    directives = views["CDB_RSRC_PLAN_DIRECTIVES"]
    views["CDB_RSRC_PLAN_DIRECTIVES"] += directives[directives.index("\n") :].replace("\n3 |", "\n4 |")
    (taken,) = snapshots(tmp_path, views)
    found, facts = analyse(None, taken), Facts.of(None, taken)
    rules = queue_rules(facts, found)
    assert rules.plan is not None
    assert [branch.name for branch in rules.plan.branches] == ["SALES"]
    assert rules.one_queue is False
    moved = tuple(replace(each, con_id=4) if each.group == "B" else each for each in found.queue)
    assert queue_rules(facts, replace(found, queue=moved)).one_queue is None, "no instance has both"


def test_instances_that_are_managed_differently_have_no_known_order(tmp_path: Path) -> None:
    plans = ("1 | 0 | P | TRUE | ON | 16 | 32 | FIFO", "2 | 0 | P | TRUE | ON | 16 | 32 | FULL")
    views = dict(site(plans[0], (9, "A", 300), (10, "B", 60)))
    views["V$INSTANCE"] = (
        "INST_ID | INSTANCE_NUMBER | VERSION | STATUS\n1 | 1 | 19.22.0.0.0 | OPEN\n2 | 2 | 19.22.0.0.0 | OPEN"
    )
    one, both = tmp_path / "one", tmp_path / "both"
    one.mkdir(), both.mkdir()
    assert [each.one_queue for each in reading(one, site(plans[0], (9, "A", 300))).heads] == [True]
    found = reading(both, {**views, "V$RSRC_PLAN": table(PLAN, *plans)})
    assert [each.one_queue for each in found.heads] == [None, None]
    assert not any(each.cause is Cause.BEHIND for each in found.heads)


@pytest.mark.parametrize(
    ("parameters", "held", "limit"),
    [
        (("parallel_servers_target | 64 | 3",), 64, 64),
        (("cpu_count | 4 | 3",), 32, 32),  # 4 CPUs x 1 thread x 4 users (SGA_TARGET is set) x 2
        ((), 128, 128),  # the CPU_COUNT of the root: 16 x 1 x 4 x 2
    ],
)
def test_a_container_queues_at_its_own_target(
    tmp_path: Path, parameters: tuple[str, ...], held: int, limit: int
) -> None:
    found = head(reading(tmp_path, container(*parameters, held=held)))
    assert (found.cause, found.allowed) == (Cause.CONTAINER, limit)
    assert f"SALES holds {held} of {limit} allowed" in found.sentence


def test_without_a_containers_target_nothing_is_promised(tmp_path: Path) -> None:
    views = container(held=0)
    few = PARAMETERS.partition("\nsga")[0]  # without the parameters of memory the default cannot be worked out
    found = reading(tmp_path, {**views, "V$SYSTEM_PARAMETER": few})
    assert head(found).sentence.endswith(
        "how many servers SALES may hold is not known (GV$SYSTEM_PARAMETER), so presman cannot say whether it starts"
    )
    assert "should start" not in advice(found)


NOT_DOCUMENTED = (
    "how many servers REPORTS may hold is not known (what the limit of subplan DAYTIME means for servers is not "
    "documented), so presman cannot say whether it starts"
)


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [("", NOT_DOCUMENTED), ("64", NOT_DOCUMENTED), ("16", "REPORTS holds 16 of 16 allowed; short by 16 servers")],
)
def test_what_a_group_in_a_limited_subplan_may_hold_is_known_by_the_metric_alone(
    tmp_path: Path, metric: str, sentence: str
) -> None:
    """By CPU the subplan has a quarter. Oracle's manuals say of servers only what a group's own limit means."""
    rules = table(
        "PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | UTILIZATION_LIMIT",
        "P | DAYTIME | PLAN | 50 | 25",
        "P | OTHER_GROUPS | CONSUMER_GROUP | 50 | ",
        "DAYTIME | REPORTS | CONSUMER_GROUP | 100 | ",
    )
    found = reading(tmp_path, {
        **site("1 | 0 | P | TRUE | ON | 16 | 64 | FULL", (9, "REPORTS", 60)),
        "DBA_RSRC_PLAN_DIRECTIVES": rules,
        "V$RSRC_CONSUMER_GROUP": "NAME | CURRENT_PQ_SERVERS_ACTIVE\nREPORTS | 16",
        "V$RSRCMGRMETRIC": f"CONSUMER_GROUP_NAME | PARALLEL_SERVERS_LIMIT\nREPORTS | {metric}",
    })  # fmt: skip
    assert sentence in head(found).sentence
    assert "should start" not in advice(found)


def test_inside_a_container_the_part_that_the_cdb_plan_gives_counts(tmp_path: Path) -> None:
    plan = table(f"{PLAN} | PARALLEL_SERVER_LIMIT | SHARES", "1 | 3 | P | TRUE | ON | 32 | 64 | FULL | 50 | 1")
    views = {
        **RELEASE_19,
        **NO_LIMITS,
        "V$DATABASE": "NAME | CDB\nCDB1 | YES",
        "V$PDBS": "CON_ID | NAME | OPEN_MODE\n3 | SALES | READ WRITE",
        "V$RSRC_PLAN": plan,
        "V$SESSION": table(WAITS, waits(9, "REPORTS", 60, con=3)),
        "V$RSRC_SESSION_INFO": table(INFO, info(9, "REPORTS", con=3)),
        "V$RSRC_CONSUMER_GROUP": "CON_ID | NAME | CURRENT_PQ_SERVERS_ACTIVE\n3 | REPORTS | 32",
    }
    found = head(reading(tmp_path, views))
    assert "SALES holds 32 of 32 allowed" in found.sentence


ON_SECOND = "2 | 0 | 5 | 1005 | ETL | app | ACTIVE | BATCH | 9md3ukhghgj58 | direct path read | WAITING | 10"
"""A session on instance 2, so that the view is seen to have the rows of all instances."""


def cluster(*plans: tuple[int, str, int, int], statuses: tuple[str, ...] = ("OPEN", "OPEN"), **more: Any) -> Views:
    """Instances with (number, plan, servers active, target); the head of REPORTS wants 16 on instance 1."""
    rows = (f"{inst} | 0 | {name} | TRUE | ON | {active} | {target} | FULL" for inst, name, active, target in plans)
    return {
        **NO_LIMITS,
        "GV$INSTANCE": table(
            "INST_ID | VERSION | STATUS | PARALLEL",
            *(f"{number} | 19.22.0.0.0 | {status} | YES" for number, status in enumerate(statuses, 1)),
        ),
        "GV$RSRC_PLAN": table(PLAN, *rows),
        "GV$SESSION": table(WAITS, waits(9, "REPORTS", 60), ON_SECOND),
        "GV$RSRC_SESSION_INFO": table(INFO, info(9, "REPORTS")),
        **more,
    }


def test_an_instance_that_is_not_open_adds_no_servers(tmp_path: Path) -> None:
    views = cluster((1, "DAY", 64, 64), (2, "DAY", 0, 64), statuses=("OPEN", "MOUNTED"))
    found = reading(tmp_path, views)
    assert found.header.servers.target == 64
    assert "64 of the target's 64 are in use; short by 16 servers" in head(found).sentence


def test_on_a_cluster_the_target_is_called_a_sum(tmp_path: Path) -> None:
    found = head(reading(tmp_path, cluster((1, "DAY", 64, 64), (2, "DAY", 60, 64))))
    assert (
        "124 of the target's 128 are in use (the targets of 2 instances added up); short by 12 servers"
        in found.sentence
    )


# What cannot be seen.


def test_without_v_px_session_no_holder_is_named_or_denied(tmp_path: Path) -> None:
    (tmp_path / "v$px_session.csv").write_text("ORA-00942: table or view does not exist\n")
    found = reading(tmp_path, site("1 | 0 | P | TRUE | ON | 64 | 64 | FULL", (9, "REPORTS", 60)))
    (way,) = unblock(found)
    assert way.sentence == "who holds servers is not known: GV$PX_SESSION: ORA-00942"
    assert "nobody" not in advice(found)
    assert advice(found).startswith("find out who holds the servers that the head of REPORTS wants: ")


LONGOPS = """SID | SERIAL# | SQL_ID | OPNAME | TARGET | SOFAR | TOTALWORK | TIME_REMAINING
1 | 1001 | 9md3ukhghgj58 | {} | SALES | 97 | 100 | 3"""
SCAN = ("SELECT STATEMENT", "PX COORDINATOR", "PX SEND", "PX BLOCK", "TABLE ACCESS")
JOIN = (
    "SELECT STATEMENT",
    "PX COORDINATOR",
    "PX SEND",
    "HASH JOIN",
    "PX BLOCK",
    "TABLE ACCESS",
    "PX BLOCK",
    "TABLE ACCESS",
)
SORTED = ("SELECT STATEMENT", "PX COORDINATOR", "PX SEND", "SORT", "PX RECEIVE", "PX SEND", "PX BLOCK", "TABLE ACCESS")


@pytest.mark.parametrize(
    ("operation", "plan", "ends"),
    [
        ("Table Scan", SCAN, True),
        ("Hash Join", JOIN, True),
        ("Table Scan", JOIN, False),
        ("Table Scan", SORTED, False),
        ("Rowid Range Scan", SCAN, False),
        ("Table Scan", ("INSERT STATEMENT", *SCAN[1:]), False),
        ("Table Scan", (), False),
    ],
)
def test_an_operation_that_ends_is_not_the_statement_that_ends(
    tmp_path: Path, operation: str, plan: tuple[str, ...], ends: bool
) -> None:
    worker = "1 | 0 | 1 | 1001 | ETL | app | ACTIVE | BATCH | 9md3ukhghgj58 | PX Deq: Execute Reply | WAITING | 10"
    px = table("SID | SERIAL# | QCSID | QCSERIAL# | QCINST_ID | SERVER_SET | DEGREE | REQ_DEGREE",
               *(f"{500 + n} | 1 | 1 | 1001 | 1 | 1 | 64 | 64" for n in range(64)))  # fmt: skip
    views = dict(site("1 | 0 | P | TRUE | ON | 64 | 64 | FULL", (9, "REPORTS", 60), V_DOLLAR_PX_SESSION=px))
    views["V$SESSION"] += f"\n{worker}"
    views["V$SESSION_LONGOPS"] = LONGOPS.format(operation)
    lines = (f"9md3ukhghgj58 | 0 | {n} | {n} | {each} | :Q1000" for n, each in enumerate(plan))
    views["V$SQL_PLAN"] = table("SQL_ID | CHILD_NUMBER | ID | DEPTH | OPERATION | OBJECT_NODE", *lines)
    found = reading(tmp_path, views)
    (way,) = unblock(found)
    assert (way.soon == 3.0) is ends
    assert ("should start by itself in about 0:03" in advice(found)) is ends


def test_a_statement_that_is_too_large_may_never_start(tmp_path: Path) -> None:
    found = reading(tmp_path, site("1 | 0 | P | TRUE | ON | 0 | 64 | FULL", (9, "REPORTS", 60), wants=128))
    assert head(found).cause is Cause.NEVER_FITS
    assert "can never" not in " ".join(alert.text for alert in wrong(found))


@pytest.mark.parametrize(
    ("in_use", "why", "do"),
    [
        (
            12,
            "more than the target's 64, 12 in use: it may start only when none are",
            "the head of REPORTS is too large for the target: it may start only when no servers are in use; with a "
            "lower DOP it starts sooner",
        ),
        (
            0,
            "more than the target's 64, none are in use and it is still queued",
            "the head of REPORTS is too large for the target: no servers are in use and it is still queued, so cancel "
            "it and run it with a lower DOP",
        ),
    ],
)
def test_no_start_is_expected_of_free_servers_that_are_already_free(
    tmp_path: Path, in_use: int, why: str, do: str
) -> None:
    found = reading(tmp_path, site(f"1 | 0 | P | TRUE | ON | {in_use} | 64 | FULL", (9, "REPORTS", 60), wants=128))
    assert head(found).sentence.endswith(why)
    assert advice(found) == do


def last_scan(tmp_path: Path, *left: int, every: int = 5, work: int = 0) -> list[Reading]:
    return readings(tmp_path, scanning(*left, every=every, work=work))


def scanning(*left: int, every: int = 5, work: int = 0) -> Views:
    """Polls of a head that waits for a last operation with so many seconds left at each, `work` done between two."""
    times = [f"2026-11-23 10:00:{every * number:02}" for number in range(len(left))]
    worker = "1 | 0 | 1 | 1001 | ETL | app | ACTIVE | BATCH | 9md3ukhghgj58 | PX Deq: Execute Reply | WAITING | 10"
    px = (f"{500 + n} | 1 | 1 | 1001 | 1 | 1 | 64 | 64" for n in range(64))
    lines = (f"9md3ukhghgj58 | 0 | {n} | {n} | {each} | :Q1000" for n, each in enumerate(SCAN))
    scan = "1 | 1001 | 9md3ukhghgj58 | Table Scan | SALES"
    px_rows = list(px)
    return {
        **RELEASE_19,
        **NO_LIMITS,
        "V$RSRC_PLAN": table(
            f"SAMPLE_TIME | {PLAN}", *(f"{at} | 1 | 0 | DAY | TRUE | ON | 64 | 64 | FULL" for at in times)
        ),
        "V$SESSION": table(
            f"SAMPLE_TIME | {WAITS}", *(f"{at} | {each}" for at in times for each in (waits(9, "REPORTS", 60), worker))
        ),
        "V$RSRC_SESSION_INFO": table(f"SAMPLE_TIME | {INFO}", *(f"{at} | {info(9, 'REPORTS')}" for at in times)),
        "V$PX_SESSION": table(
            "SAMPLE_TIME | SID | SERIAL# | QCSID | QCSERIAL# | QCINST_ID | SERVER_SET | DEGREE | REQ_DEGREE",
            *(f"{at} | {each}" for at in times for each in px_rows),
        ),
        "V$SESSION_LONGOPS": table(
            "SAMPLE_TIME | SID | SERIAL# | SQL_ID | OPNAME | TARGET | SOFAR | TOTALWORK | TIME_REMAINING",
            *(f"{at} | {scan} | {50 + work * n} | 100 | {left[n]}" for n, at in enumerate(times)),
        ),
        "V$SQL_PLAN": table("SQL_ID | CHILD_NUMBER | ID | DEPTH | OPERATION | OBJECT_NODE", *lines),
    }


def test_an_end_that_comes_no_nearer_is_not_promised_again(tmp_path: Path) -> None:
    """After 5 s the end is 5 s nearer, and 5 s later no nearer."""
    texts = [advice(found) for found in last_scan(tmp_path, 9, 4, 4)]
    assert ["should start by itself" in text for text in texts] == [True, True, False]


@pytest.mark.parametrize(
    ("work", "promised"), [(1, [True, True, True, True, True]), (0, [True, False, True, False, True])]
)
def test_an_estimate_in_whole_seconds_may_stay_the_same(tmp_path: Path, work: int, promised: list[bool]) -> None:
    """Polls may be nearer to each other than the estimate is exact. An end without progress is not promised again."""
    texts = [advice(found) for found in last_scan(tmp_path, 20, 20, 19, 19, 18, every=1, work=work)]
    assert ["should start by itself" in text for text in texts] == promised


BROKEN = (
    "ETL 1:1 should have ended by now but still runs, so when the head of REPORTS starts is not known: wait, or decide "
    "whether to cancel ETL 1:1: then the head of REPORTS can start, and that work is lost"
)


@pytest.mark.parametrize(
    ("left", "broken"),
    [
        ((9, 4, 4), [False, False, False]),  # 4 s were left 5 s ago: the estimate is one of whole seconds
        ((9, 3, 2, 1), [False, False, True, True]),  # 3 s were left 5 s ago, and then 2
        ((9, 0, 0), [False, False, True]),
        ((9, 3, 30, 25), [False, False, True, False]),  # 30 s and then 25: that is promised anew
    ],
)
def test_an_overdue_end_is_reported_as_overdue(tmp_path: Path, left: tuple[int, ...], broken: list[bool]) -> None:
    found = last_scan(tmp_path, *left)
    assert [advice(each) == BROKEN for each in found] == broken
    for each, was_broken in zip(found, broken, strict=True):
        (way,) = unblock(each)
        assert not (was_broken and (way.soon is not None or "by itself" in way.sentence))
        assert ("should be done by now" in plain(to_start_line(way))) is was_broken


def test_an_end_that_the_plan_promised_is_not_promised_anew_ten_seconds_after_it_should_have_come(
    tmp_path: Path,
) -> None:
    """Of a scan that begins again and again each part was promised to be the last of the statement."""
    live = Readings()
    left = (9, 4, 29, 24, 19, 14, 9, 4)  # in 9 s it should have ended; from 20 s on that is broken
    texts = [advice(live.read(each).reading) for each in snapshots(tmp_path, scanning(*left, work=1))]
    assert ["should start by itself" in text for text in (texts[0], texts[3])] == [True] * 2
    assert texts[4:] == [BROKEN] * 4


def test_a_statement_that_went_on_is_not_said_again_to_end_with_its_operation(tmp_path: Path) -> None:
    """One after the other, seven operations were said to be perhaps the last, and DO only waited."""
    worker = "1 | 0 | 1 | 1001 | ETL | app | ACTIVE | BATCH | 9md3ukhghgj58 | PX Deq: Execute Reply | WAITING | 10"
    times = [f"2026-11-23 10:00:{10 * number:02}" for number in range(4)]
    views = dict(polls(*([64] * len(times))))
    views["V$SESSION"] += "".join(f"\n{at} | {worker}" for at in times)
    columns = "SAMPLE_TIME | SID | SERIAL# | QCSID | QCSERIAL# | QCINST_ID | SERVER_SET | DEGREE | REQ_DEGREE"
    views["V$PX_SESSION"] = table(columns, *(
        f"{at} | {500 + each} | 1 | 1 | 1001 | 1 | 1 | 64 | 64" for at in times for each in range(64)))  # fmt: skip
    columns = "SAMPLE_TIME | SID | SERIAL# | SQL_ID | OPNAME | TARGET | SOFAR | TOTALWORK | TIME_REMAINING"
    work = (("Sort Output", 50, 20), ("Sort Output", 90, 10), ("Hash Join", 50, 20), ("Hash Join", 90, 10))
    views["V$SESSION_LONGOPS"] = table(columns, *(
        f"{at} | 1 | 1001 | 9md3ukhghgj58 | {name} | SALES | {done} | 100 | {left}"
        for at, (name, done, left) in zip(times, work, strict=True)))  # fmt: skip
    live = Readings()
    found = [unblock(live.read(each).reading)[0].may_end for each in snapshots(tmp_path, views)]
    said = "ETL 1:1 may end by itself in about 0:{}, when its Sort Output is done"
    assert found == [said.format(20), said.format(10), "", ""]


def test_a_container_that_is_open_on_one_node_has_its_target_there(tmp_path: Path) -> None:
    views = cluster((1, "CDB_PLAN", 64, 320), (2, "CDB_PLAN", 0, 320))
    views = {
        name: table_.replace(" | 0 | ", " | 1 | ", 1) if "PLAN" in name else table_ for name, table_ in views.items()
    }
    found = head(reading(tmp_path, {
        **views,
        "V$DATABASE": "NAME | CDB\nCDB1 | YES",
        "GV$PDBS": "INST_ID | CON_ID | NAME | OPEN_MODE\n1 | 2 | PDB$SEED | READ ONLY\n1 | 3 | SALES | READ WRITE\n"
        "2 | 2 | PDB$SEED | READ ONLY\n2 | 3 | SALES | MOUNTED",
        "GV$SYSTEM_PARAMETER": "INST_ID | NAME | VALUE | CON_ID\n1 | parallel_servers_target | 64 | 3",
        "GV$SESSION": table(WAITS, waits(9, "REPORTS", 60, con=3)),
        "GV$RSRC_SESSION_INFO": table(INFO, info(9, "REPORTS", con=3)),
        "GV$RSRC_PDB": "INST_ID | CON_ID | PDB_NAME | CURRENT_PQ_SERVERS_ACTIVE\n1 | 3 | SALES | 64",
    }))  # fmt: skip
    assert "SALES holds 64 of 64 allowed" in found.sentence


def test_a_wait_that_no_view_shows_is_not_known(tmp_path: Path) -> None:
    sessions = "SID | SERIAL# | STATUS | RESOURCE_CONSUMER_GROUP | EVENT | STATE | USERNAME"
    rows = (f"{sid} | {sid + 1000} | ACTIVE | REPORTS | resmgr:pq queued | WAITING | RPT" for sid in (9, 10))
    found = reading(tmp_path, {
        **site("1 | 0 | P | TRUE | ON | 64 | 64 | FULL", (9, "REPORTS", 60), (10, "REPORTS", 60)),
        "V$SESSION": table(sessions, *rows),
    })  # fmt: skip
    assert [each.waited for each in found.queue] == [None, None]
    assert head(found).equals == 1, "which of the two is first is not known"
    unknown = "for how long 2 of 2 have waited is not known, so which is first is not known"
    assert head(found).sentence.endswith(unknown), "no statement is said to have waited as long"
    answer = as_text(found, AskedStatement.of("1:9"), ReasonHistory())
    assert "is queued, for how long is not known: " in answer
    (alert,) = [alert for alert in wrong(found) if alert.key == "queue_waits"]
    assert alert.short == "REPORTS: 2 queued, short by 16 (target)"
