"""The queue: order, what is wanted, and why the head waits.

Also the servers that a queued statement wants: each source by itself, and which goes before which.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest

from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import by_rules
from presman.analysis.assemble import analyse
from presman.analysis.facts import cursor_facts
from presman.analysis.facts.facts import Facts
from presman.analysis.parallel import queue
from presman.analysis.parallel.queue import degree, server_sets
from presman.analysis.parallel.queue_causes import QueueState, explain, shortages
from presman.analysis.parallel.server_pools import ServerBudget, ServerLimit
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, NotKnown, QueueHead, Servers, WantsSource
from presman.forecast.queue_now import queue_rules
from presman.output.why_answer import AskedStatement, ReasonHistory, as_text
from presman.rows.cursor_rows import PlanXml, PxPlanLine
from presman.rows.group_rows import GroupMetric, PlanDirective, RsrcPlan
from presman.rows.session_rows import PxSession, Session, SessionInfo, SessionLongops
from tests.analysis.make import active_plan, directive, group, instance, queued_session, row, snapshot


def server(qc: int, number: int, server_set: int, degree: int, **values: Any) -> PxSession:
    given = {"sid": qc * 100 + number, "serial": 1, "qcsid": qc, "qcserial": qc + 1000, "qcinst_id": 1}
    return row(
        PxSession,
        **(given | {"server_group": 1, "server_set": server_set, "degree": degree, "req_degree": degree} | values),
    )


def twin(qc: int, sql_id: str, degree: int, sets: int) -> list[Any]:
    """A running execution of a cursor, from which the sets of a queued one are known."""
    rows: list[Any] = [server(qc, i, i % sets + 1, degree) for i in range(degree * sets)]
    return [*rows, row(Session, sid=qc, serial=qc + 1000, sql_id=sql_id, sql_child_number=0, status="ACTIVE")]


def one_head(reading: Reading) -> QueueHead:
    (head,) = reading.heads
    return head


def waiting(dop: int, sid: int = 7, name: str = "BATCH", waited: float = 10.0, servers: int | None = None) -> list[Any]:
    info = row(SessionInfo, sid=sid, current_consumer_group=name, dop=dop, pq_servers=servers)
    return [queued_session(sid, name, waited), info]


def test_the_group_limit_in_the_words_of_its_arithmetic() -> None:
    rows = [
        instance(),
        active_plan(active=40, target=128),
        directive("DAY", "BATCH", 50, parallel_server_limit=50),
        group("BATCH", current_pq_servers_active=40),
        *waiting(16),
        *twin(3, "sql7", 16, 2),
    ]
    head = one_head(analyse(None, snapshot(*rows)))
    assert head.cause is Cause.GROUP
    assert (head.wants, head.held, head.allowed, head.short) == (Servers(32, 32, WantsSource.RUNNING), 40, 64, 8)
    assert head.sentence == (
        "wants 32 servers (DOP 16, two sets by the same SQL that runs now); BATCH holds 40 of 64 allowed (50 % of "
        "128); short by 8 servers"
    )


def test_documented_case_sixty_in_use_and_sixteen_wanted_of_sixty_four() -> None:
    rows = [active_plan(active=60, target=64), directive("DAY", "BATCH", 50), *waiting(16, servers=16)]
    head = one_head(analyse(None, snapshot(*rows)))
    assert (head.cause, head.short, head.in_use, head.target) == (Cause.SYSTEM, 12, 60, 64)
    assert (head.held, head.allowed) == (None, None), "no view shows what the group holds"
    assert (
        head.sentence
        == "wants 16 servers (DOP 16, one set by PQ_SERVERS); 60 of the target's 64 are in use; short by 12 servers"
    )


def test_documented_case_two_nodes_of_thirty_two_and_half_for_the_group() -> None:
    rows: list[Any] = [instance(1), instance(2)]
    rows += [active_plan(inst_id=inst_id, target=32, active=10) for inst_id in (1, 2)]
    rows += [directive("DAY", "BATCH", 50, parallel_server_limit=50)]
    rows += [group("BATCH", inst_id, current_pq_servers_active=10) for inst_id in (1, 2)]
    reading = analyse(None, snapshot(*rows, *waiting(8), *twin(3, "sql7", 8, 2)))
    (cluster,) = reading.cluster_groups()
    assert (cluster.servers_limit, cluster.servers_limit_percent, cluster.px_servers) == (32, 50, 20)
    head = one_head(reading)
    assert (head.cause, head.short, head.allowed) == (Cause.GROUP, 4, 32)


def test_published_case_twelve_run_thirty_six_wait_on_a_target_of_twenty_four() -> None:
    rows = [active_plan(active=12, target=24), directive("DAY", "OTHER_GROUPS", 100), *waiting(36, name="OTHER_GROUPS")]
    head = one_head(analyse(None, snapshot(*rows)))
    assert head.cause is Cause.NEVER_FITS
    assert head.sentence == (
        "wants 36 to 72 servers (DOP 36, one or two sets), more than the target's 24, 12 in use: it may start "
        "only when none are"
    )
    assert head.short is None


def test_too_large_for_the_target_is_one_judgement_everywhere() -> None:
    rows = [active_plan(active=12, target=24), directive("DAY", "Q", 100), group("Q", current_pqs_queued=1)]
    reading = analyse(None, snapshot(instance(), *rows, *waiting(36, name="Q")))
    head = one_head(reading)
    assert (head.is_too_large_for_target, head.never_starts, head.is_critical) == (True, False, False)
    (alert,) = [each for each in by_rules(reading) if each.key == "queue_waits"]
    assert (alert.state, alert.short) == ("warn", "Q: 1 queued, head 0:10, too large for the target")
    (queue,) = [each.state for each in reading.cluster_groups() if each.name == "Q"]
    assert (queue.level, queue.text) == ("warn", "1 queued 0:10 (too large)")
    step = to_do(reading)
    assert step is not None
    assert step.text == (
        "the head of Q is too large for the target: it may start only when no servers are in use; with a lower DOP "
        "it starts sooner"
    )


def test_too_large_for_its_limit_is_critical_whenever_it_came() -> None:
    rows = [active_plan(active=0, target=128), directive("DAY", "Q", 50, parallel_server_limit=25)]
    reading = analyse(None, snapshot(instance(), *rows, group("Q", current_pqs_queued=1), *waiting(36, name="Q")))
    head = one_head(reading)  # 36 or 72 of 32
    assert (head.is_too_large_for_target, head.never_starts, head.is_critical) == (False, True, True)
    (alert,) = [each for each in by_rules(reading) if each.key == "queue_waits"]
    assert (alert.state, alert.short, alert.amount) == ("bad", "Q: 1 queued, head 0:10, too large for its limit", None)
    step = to_do(reading)
    assert step is not None
    run = "if it cannot wait, cancel it and run it with a lower DOP, or in another group"
    assert step.text == f"the head of Q is too large for its limit: whether it ever starts is not known; {run}"
    assert step.short == "run Q's head with a lower DOP, or wait: it may never start"


def too_large(*more: Any, limit: int = 25) -> Reading:
    """A statement that wants 36 or 72 servers; its group may hold `limit` % of 128."""
    rows = [active_plan(active=0, target=128), directive("DAY", "Q", 50, parallel_server_limit=limit)]
    return analyse(None, snapshot(instance(), *rows, *more, *waiting(36, name="Q")))


@pytest.mark.parametrize(
    ("degree", "held", "never"),
    [
        (20, 40, False),  # 40 of 32: it was too large, too
        (20, 0, True),  # the limit does not count it, so it did not queue
        (16, 32, True),
    ],
)
def test_a_head_as_large_as_a_running_one_may_start(degree: int, held: int, never: bool) -> None:
    running = twin(3, "sql8", degree, 2)
    running[-1] = running[-1]._replace(resource_consumer_group="Q")
    reading = too_large(*running, group("Q", current_pqs_queued=1, current_pq_servers_active=held))
    assert one_head(reading).never_starts is never
    step = to_do(reading)
    assert step is not None
    assert ("it may start when Q holds no servers" in step.text) is not never
    assert ("cancel it" in step.text) is never


def test_a_limit_that_allows_no_servers_must_be_raised() -> None:
    """1 % of 64 is no server: no degree is low enough."""
    rows = [active_plan(active=0, target=64), directive("DAY", "Q", 50, parallel_server_limit=1)]
    reading = analyse(None, snapshot(instance(), *rows, group("Q", current_pqs_queued=1), *waiting(2, name="Q")))
    step = to_do(reading)
    assert step is not None
    assert step.text == "the head of Q is too large for its limit: it allows none, so raise the limit"
    assert step.short == "raise the limit of Q: it allows no servers"


@pytest.mark.parametrize(
    ("waits", "state"),
    [
        ([10.0], "warn"),
        ([130.0] * 27, "warn"),  # 3,510 s
        ([134.0] * 27, "bad"),  # 3,618 s
        ([1800.0, 1799.0], "warn"),  # 3,599 s
        ([3600.0], "bad"),
    ],
)
def test_a_queue_is_critical_once_it_has_waited_for_an_hour_together(waits: list[float], state: str) -> None:
    rows = [active_plan(active=64, target=64), directive("DAY", "Q", 50), group("Q", current_pqs_queued=len(waits))]
    for sid, waited in enumerate(waits, start=7):
        rows += waiting(16, sid=sid, name="Q", waited=waited, servers=32)
    rows += waiting(16, sid=99, name="OTHER_GROUPS", waited=9000.0, servers=32)  # another queue is judged by itself
    reading = analyse(None, snapshot(instance(), *rows))
    alerts = {each.subject: each.state for each in by_rules(reading) if each.key == "queue_waits"}
    assert alerts == {"Q": state, "OTHER_GROUPS": "bad"}
    levels = {each.name: each.state.level for each in reading.cluster_groups()}
    assert levels["Q"] == state, "the table and the alert agree"


def test_published_case_of_eighty_four_percent_runs_ten_and_queues_ten() -> None:
    rows = [active_plan(active=80, target=96), directive("DAY", "M", 50, parallel_server_limit=84)]
    rows += [group("M", current_pq_servers_active=80), *waiting(4, name="M"), *twin(3, "sql7", 4, 2)]
    head = one_head(analyse(None, snapshot(*rows)))
    assert (head.allowed, head.cause, head.short) == (80, Cause.GROUP, 8)


@pytest.mark.parametrize(
    ("system", "ceiling", "asked", "cause", "short"),
    [
        (ServerBudget(60, 64), None, Servers(16, 16), Cause.SYSTEM, 12),
        (ServerBudget(10, 64), ServerLimit("G", 30, 32, group="G"), Servers(8, 8), Cause.GROUP, 6),
        (ServerBudget(62, 64), ServerLimit("G", 30, 33, group="G"), Servers(8, 8), Cause.GROUP, 6),
        (ServerBudget(62, 64), ServerLimit("G", 10, 33, group="G"), Servers(8, 8), Cause.SYSTEM, 6),
        (ServerBudget(70, 64), None, Servers(4, 4), Cause.SYSTEM, 10),
        (ServerBudget(10, 64), None, Servers(8, 8), Cause.NOT_CHOSEN, 0),
        (ServerBudget(60, 64), None, Servers(4, 8), Cause.SYSTEM, None),
        (ServerBudget(10, 64), ServerLimit("G", 0, 32, group="G"), Servers(40, 40), Cause.NEVER_FITS, None),
        (ServerBudget(10, 64), ServerLimit("G", 0, 32, group="G"), Servers(20, 40), Cause.GROUP, None),
        (ServerBudget(10, 64), ServerLimit("G", 5, 32, group="G"), None, Cause.UNKNOWN, None),
        (ServerBudget(None, None), None, Servers(8, 8), Cause.UNKNOWN, None),
        (ServerBudget(None, 64), None, Servers(80, 80), Cause.NEVER_FITS, None),
        (ServerBudget(None, None), ServerLimit("G", 30, 32, group="G"), Servers(8, 8), Cause.GROUP, 6),
    ],
)
def test_the_cause_is_what_must_give_way(
    system: ServerBudget, ceiling: ServerLimit | None, asked: Servers | None, cause: Cause, short: int | None
) -> None:
    found = explain(asked, 8, QueueState(system, (ceiling,) if ceiling else ()))
    assert found[:2] == (cause, short)


@pytest.mark.parametrize(
    ("asked", "end"),
    [
        (Servers(8, 8), "short by 6 servers"),
        (Servers(4, 8), "short by 2 to 6 servers"),
        (Servers(2, 4), "short by up to 2 servers"),
    ],
)
def test_inexact_figures_are_ranges(asked: Servers, end: str) -> None:
    assert explain(asked, 4, QueueState(ServerBudget(62, 64)))[2].endswith(end)


def test_both_limits_are_named_where_both_bind() -> None:
    found = explain(
        Servers(16, 16), 8, QueueState(ServerBudget(120, 128), (ServerLimit("G", 60, 64, " (50 % of 128)", group="G"),))
    )
    assert found == (
        Cause.GROUP,
        12,
        "wants 16 servers (DOP 8, two sets); G holds 60 of 64 allowed (50 % of 128); 120 of the target's 128 are in "
        "use; short by 12 (group limit) and 8 (target)",
    )


@pytest.mark.parametrize(
    ("in_use", "wants", "cause", "words"),
    [
        (100, 8, Cause.UNKNOWN, "wants 8 servers (DOP 8, one set); "),
        (124, 8, Cause.SYSTEM, "124 of the target's 128 are in use; short by 4 servers; "),
    ],
)
def test_a_limit_is_no_cause_if_what_it_counts_is_not_known(in_use: int, wants: int, cause: Cause, words: str) -> None:
    """Statements that did not queue hold servers, too, and V$RSRC_CONSUMER_GROUP alone does not count them."""
    limit = ServerLimit("G", 80, 64, " (50 % of 128)", 0, "G", "V$RSRC_CONSUMER_GROUP")
    cause_found, short, sentence = explain(Servers(wants, wants), 8, QueueState(ServerBudget(in_use, 128), (limit,)))
    assert (cause_found, short) == (cause, None)
    assert sentence.endswith(
        f"{words}which of the 80 servers held the limit of G, 64 (50 % of 128), counts is not known "
        "(V$RSRC_CONSUMER_GROUP)"
    )


def test_a_statement_that_fits_whatever_its_limit_counts_has_room() -> None:
    limit = ServerLimit("G", 40, 64, "", 0, "G", "V$RSRC_CONSUMER_GROUP")
    cause, _, sentence = explain(Servers(8, 8), 8, QueueState(ServerBudget(100, 128), (limit,)))
    assert cause is Cause.NOT_CHOSEN
    assert "and 24 are free" in sentence


def test_one_queue_for_all_groups_serves_the_oldest_first() -> None:
    plan = active_plan(active=10, target=128, parallel_execution_managed="FIFO")
    rows = [plan, *waiting(8, 7, "A", 50), *waiting(64, 8, "B", 90), *twin(3, "sql7", 8, 2)]
    heads = {head.group: head for head in analyse(None, snapshot(*rows)).heads}
    assert heads["A"].cause is Cause.BEHIND
    assert "1 statement of other groups ahead" in heads["A"].sentence
    assert heads["B"].cause is not Cause.BEHIND


def test_among_equals_the_order_is_not_known() -> None:
    line = [queued_session(1, "A", 20.4), queued_session(2, "A", 20.1), queued_session(3, "A", 19.0)]
    (head,) = analyse(None, snapshot(instance(), *line)).heads
    assert head.equals == 1
    assert head.sentence.endswith("; 1 other has waited as long, so which is first is not known")
    alone = analyse(None, snapshot(instance(), *line[1:])).heads[0]
    assert (alone.equals, "waited the same" in alone.sentence) == (0, False)


def test_between_groups_the_plan_chooses() -> None:
    rows = [active_plan(active=10, target=128), *waiting(8, 7, "A", 50), *waiting(8, 8, "B", 90)]
    rows += [*twin(3, "sql7", 8, 2), *twin(4, "sql8", 8, 2), *(directive("DAY", name, 50) for name in "AB")]
    heads = {head.group: head for head in analyse(None, snapshot(*rows)).heads}
    assert heads["A"].cause is Cause.NOT_CHOSEN
    assert heads["A"].sentence == (
        "wants 16 servers (DOP 8, two sets by the same SQL that runs now) and 118 are free; the plan chooses between "
        "it and B"
    )


def test_first_in_first_out_within_a_group() -> None:
    rows = [
        queued_session(sid, name, waited)
        for sid, name, waited in [(1, "A", 5), (2, "B", 7), (3, "A", 50), (4, "A", 20)]
    ]
    reading = analyse(None, snapshot(active_plan(), *rows))
    assert [(each.group, each.position, each.sid) for each in reading.queue] == [
        ("A", 1, 3),
        ("A", 2, 4),
        ("A", 3, 1),
        ("B", 1, 2),
    ]
    assert [head.statement.sid for head in reading.heads] == [3, 2]


def test_the_next_in_line_of_11_2_goes_first_and_its_clock_is_resource_managers() -> None:
    rows = [
        queued_session(1, "A", 900, event="enq: JX - SQL statement queue"),
        queued_session(2, "A", 3, event="PX Queuing: statement queue"),
        row(SessionInfo, sid=2, current_pq_queued_time=950_000),
    ]
    reading = analyse(None, snapshot(*rows))
    assert [(each.sid, each.waited) for each in reading.queue] == [(2, 950.0), (1, 900.0)]


def test_only_an_open_wait_is_a_place_in_the_queue() -> None:
    rows = [queued_session(1, "A", state="WAITED KNOWN TIME"), queued_session(2, "A", event="resmgr:cpu quantum")]
    assert analyse(None, snapshot(*rows)).queue == ()


def test_timeouts_count_down_and_say_what_happens_then() -> None:
    rows: list[PlanDirective | RsrcPlan | Session] = [
        active_plan(),
        directive("DAY", "A", 50, parallel_queue_timeout=60),
        directive("DAY", "B", 50, parallel_queue_timeout=60, pq_timeout_action="RUN"),
        directive("DAY", "C", 0),
        queued_session(1, "A", 45.5),
        queued_session(2, "B", 70),
        queued_session(3, "C", 70),
    ]
    queue = analyse(None, snapshot(*rows)).queue
    assert [(each.timeout_left, each.timeout_action) for each in queue] == [(14.5, "CANCEL"), (0.0, "RUN"), (None, "")]


@pytest.mark.parametrize("action", ["CANCEL", "RUN"])
def test_an_exceeded_timeout_is_promised_to_no_statement_of_its_queue(action: str) -> None:
    """The plan had 30 s, the database still used 600 s: heads timed out "in 0:00" for two minutes."""
    at_30 = {"parallel_queue_timeout": 30, "pq_timeout_action": action}
    rows = [active_plan(), directive("DAY", "A", 50, **at_30), directive("DAY", "B", 50, **at_30)]
    waits = [queued_session(1, "A", 135.0), queued_session(2, "A", 20.0), queued_session(3, "B", 39.0)]
    found = snapshot(instance(), *rows, *waits)
    reading = analyse(None, found)
    why = "the plan's is 0:30, but one of A still waits 1:45 after it"
    assert [(each.timeout_left, each.timeout_action, each.no_timeout) for each in reading.queue] == [
        (None, "", why),
        (None, "", why),
        (0.0, action, ""),  # a poll may be that late
    ]
    timeouts = [alert for alert in by_rules(reading) if alert.key == "queue_timeout"]
    assert [alert.subject for alert in timeouts] == ["B"]
    assert queue_rules(Facts.of(None, found), reading).timeouts == {(0, "B"): (30, action)}, "no forecast rests on it"
    asked = as_text(reading, AskedStatement(sid=1), ReasonHistory())
    assert f"whether it has a queue timeout is not known ({why})" in asked


def test_a_timeout_is_outlived_after_two_polls_however_long_they_take() -> None:
    rows = [instance(), active_plan(), directive("DAY", "A", 50, parallel_queue_timeout=30)]
    before = snapshot(*rows)
    late = snapshot(*rows, queued_session(1, "A", 75.0), at=before.at + timedelta(seconds=30))
    assert [each.timeout_left for each in analyse(before, late).queue] == [0.0]
    assert [each.timeout_left for each in analyse(None, late).queue] == [None]


def test_common_facts_of_a_queue_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Mock(wraps=queue.queue_timeout)
    monkeypatch.setattr(queue, "queue_timeout", asked)
    rows = [
        active_plan(),
        directive("DAY", "A", 50, parallel_queue_timeout=60),
        directive("DAY", "B", 50),
        *(queued_session(sid, "A" if sid < 20 else "B", 5.0 + sid) for sid in range(10, 25)),
    ]
    found = analyse(None, snapshot(*rows)).queue
    assert [each.timeout_left for each in found if each.group == "A"] == [60 - 5.0 - sid for sid in range(19, 9, -1)]
    assert {each.timeout_left for each in found if each.group == "B"} == {None}
    assert asked.call_count == len({each.group for each in found}) == 2


def test_a_plan_is_read_once_for_all_executions_of_its_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    read_once = Mock(wraps=cursor_facts.last_operations)
    monkeypatch.setattr(cursor_facts, "last_operations", read_once)
    at_work = {"sql_id": "sql7", "opname": "Table Scan", "sofar": 1, "totalwork": 9, "time_remaining": 20}
    rows: list[Any] = [active_plan(), group("BATCH")]
    for number, operation in enumerate(("SELECT STATEMENT", "PX COORDINATOR", "TABLE ACCESS"), start=0):
        rows.append(row(PxPlanLine, sql_id="sql7", child_number=0, id=number, operation=operation))
    for sid in (3, 4, 5):
        rows += [*twin(sid, "sql7", 2, 1), row(SessionLongops, sid=sid, serial=sid + 1000, **at_work)]
    assert [each.is_last for each in analyse(None, snapshot(*rows)).running] == [True] * 3
    assert read_once.call_count == 1


def test_the_groups_degree_limit_lowers_what_is_wanted() -> None:
    rows = [active_plan(), directive("DAY", "BATCH", 50, parallel_degree_limit_p1=4), *waiting(32)]
    (queued,) = analyse(None, snapshot(*rows)).queue
    assert (queued.requested, queued.wants) == (32, Servers(4, 8))


def test_groups_of_11_2_are_known_by_id() -> None:
    rows = [group("BATCH", id=77), queued_session(1, ""), row(SessionInfo, sid=1, current_consumer_group_id=77, dop=8)]
    (queued,) = analyse(None, snapshot(*rows)).queue
    assert queued.group == "BATCH"


def state(in_use: int | None = 50, target: int | None = 64, *limits: ServerLimit, **more: Any) -> QueueState:
    return QueueState(ServerBudget(in_use, target), limits, **more)


HELD = NotKnown("how many servers HR may hold", "V$X")
GROUP = ServerLimit("BATCH", 20, 32, " (50 % of 64)", 0, "BATCH")


@pytest.mark.parametrize(
    ("found", "free", "fits"),
    [
        (state(), 14, 14),
        (state(50, 64, GROUP), 12, 12),
        (state(60, 64, GROUP), 4, 4),
        (state(None, None, GROUP), 12, 12),
        (state(None, 64), None, None),
    ],
)
def test_room_is_what_is_left_under_the_target_and_every_limit(found: QueueState, free: int, fits: int | None) -> None:
    assert found.free == free
    assert found.has_room(Servers(1, fits or 1)) is (fits is not None)
    assert not found.has_room(Servers(1, (fits or 0) + 1))
    assert not found.has_room(None)
    assert not found.has_room(Servers(1, 1, WantsSource.MEAN)), "an average of others is not what this one wants"


@pytest.mark.parametrize(
    ("wants", "found", "cause", "short", "ending"),
    [
        (Servers(32, 32), state(), Cause.SYSTEM, 18, "; 50 of the target's 64 are in use; short by 18 servers"),
        (Servers(32, 32), state(50, 64, GROUP), Cause.GROUP, 20,
         "; BATCH holds 20 of 32 allowed (50 % of 64); 50 of the target's 64 are in use; short by 20 (group limit) and "
         "18 (target)"),
        (Servers(8, 24), state(62, 64, GROUP), Cause.GROUP, None,
         "; BATCH holds 20 of 32 allowed (50 % of 64); 62 of the target's 64 are in use; short by up to 12 (group "
         "limit) and 6 to 22 (target)"),
        (Servers(13, 13), state(50, 64, GROUP), Cause.GROUP, 1,
         "; BATCH holds 20 of 32 allowed (50 % of 64); short by 1 server"),
        (Servers(8, 16), state(), Cause.SYSTEM, None, "; 50 of the target's 64 are in use; short by up to 2 servers"),
        (Servers(16, 32), state(), Cause.SYSTEM, None, "; 50 of the target's 64 are in use; short by 2 to 18 servers"),
        (Servers(32, 32), state(None, 64), Cause.UNKNOWN, None, "; how many are in use or allowed is not known"),
        (Servers(65, 65), state(), Cause.NEVER_FITS, None,
         ", more than the target's 64, 50 in use: it may start only when none are"),
        (Servers(65, 65), state(None, 64), Cause.NEVER_FITS, None, ", more than the target's 64"),
        (Servers(33, 33), state(50, 64, GROUP), Cause.NEVER_FITS, None,
         ", more than the 32 that BATCH is allowed (50 % of 64), 20 held"),
        (Servers(32, 32), state(ahead=2), Cause.BEHIND, None,
         "; one queue for all groups, 2 statements of other groups ahead of it; 50 of the target's 64 are in use"),
        (Servers(14, 14), state(ahead=1), Cause.BEHIND, 0,
         " and 14 are free; one queue for all groups, 1 statement of other groups ahead of it"),
        (Servers(14, 14), state(), Cause.NOT_CHOSEN, 0, " and 14 are free; nothing that presman sees holds it back"),
        (Servers(14, 14), state(rivals=("A", "B")), Cause.NOT_CHOSEN, 0,
         " and 14 are free; the plan chooses between it and A, B"),
        (Servers(14, 14), state(rivals=("A",), containers=("HR",)), Cause.NOT_CHOSEN, 0,
         " and 14 are free; the CDB plan chooses between its container and HR, then the plan chooses between it and A"),
        (Servers(14, 14), state(not_known=(HELD,)), Cause.UNKNOWN, None,
         " and 14 are free as far as is known; how many servers HR may hold is not known (V$X), so presman cannot say "
         "whether it starts"),
        (Servers(32, 32), state(not_known=(HELD,)), Cause.SYSTEM, None,
         "; 50 of the target's 64 are in use; short by 18 servers; how many servers HR may hold is not known (V$X)"),
        (Servers(14, 14), state(ahead=1, not_known=(HELD,)), Cause.BEHIND, 0,
         " and 14 are free; one queue for all groups, 1 statement of other groups ahead of it"),
    ],
)  # fmt: skip
def test_every_cause_with_its_servers_and_words(
    wants: Servers, found: QueueState, cause: Cause, short: int | None, ending: str
) -> None:
    cause_found, lacking, sentence = explain(wants, None, found)
    assert (cause_found, lacking) == (cause, short)
    assert sentence.endswith(ending)
    assert sentence.startswith("wants ")


def test_the_target_of_several_instances_is_called_a_sum() -> None:
    _, _, sentence = explain(Servers(32, 32), 16, QueueState(ServerBudget(50, 64, instances=2)))
    assert sentence == (
        "wants 32 servers (DOP 16, two sets); 50 of the target's 64 are in use (the targets of 2 instances added "
        "up); short by 18 servers"
    )


@pytest.mark.parametrize(
    ("wants", "cause", "found", "short"),
    [
        (Servers(32, 32), Cause.SYSTEM, state(), [18]),  # 32 of 14 free
        (Servers(16, 32), Cause.SYSTEM, state(), [18]),  # for the most it may want
        (Servers(32, 32), Cause.GROUP, state(50, 64, GROUP), [18, 20]),
        (Servers(13, 13), Cause.GROUP, state(50, 64, GROUP), [1]),
        (Servers(80, 80), Cause.NEVER_FITS, state(), [50]),  # all that is in use
        (Servers(33, 33), Cause.NEVER_FITS, state(50, 64, GROUP), []),  # its group may never have so many
        (Servers(32, 32), Cause.BEHIND, state(), []),
        (None, Cause.SYSTEM, state(), []),
        (Servers(32, 32), Cause.GROUP, state(None, None, GROUP), [20]),
        (Servers(32, 32), Cause.GROUP, state(50, 64, GROUP._replace(held=16)), [18, 16]),  # 16 of 32 free
    ],
)
def test_what_must_be_freed_under_each_limit(
    wants: Servers | None, cause: Cause, found: QueueState, short: list[int]
) -> None:
    assert [each.short for each in shortages(wants, cause, found)] == short


def plan(*nodes: str, sql_id: str = "sql7", **first: Any) -> list[PxPlanLine]:
    """A plan whose lines work for these table queues, "" for a coordinator."""
    return [
        row(PxPlanLine, sql_id=sql_id, id=n, depth=n, object_node=node, operation="" if node else "PX COORDINATOR")
        for n, node in enumerate(nodes, start=1)
    ]


def execution(*sets: tuple[int | None, int | None], sql_id: str = "sql7", degree: int = 8) -> list[Any]:
    """A running execution of the same cursor: `degree` servers in each (tree, set)."""
    servers = [
        row(PxSession, sid=100 + 50 * place + n, qcsid=3, qcserial=9, qcinst_id=1, server_group=tree, server_set=number,
            degree=degree, req_degree=degree)
        for place, (tree, number) in enumerate(sets)
        for n in range(degree)
    ]  # fmt: skip
    return [*servers, row(Session, sid=3, serial=9, sql_id=sql_id, sql_child_number=0, status="ACTIVE")]


def metric(statements: float, servers: float, inst_id: int = 1) -> GroupMetric:
    values = {"avg_queued_parallel_stmts": statements, "avg_queued_parallel_servers": servers}
    return row(GroupMetric, inst_id=inst_id, consumer_group_name="BATCH", intsize_csec=6000, **values)


def read(*rows: Any, dop: int | None = 8, pq_servers: int | None = None) -> Reading:
    own = [
        queued_session(7, "BATCH"),
        row(SessionInfo, sid=7, current_consumer_group="BATCH", dop=dop, pq_servers=pq_servers),
    ]
    return analyse(None, snapshot(active_plan(active=60, target=64), group("BATCH"), *own, *rows))


def wanted(*rows: Any, dop: int | None = 8, pq_servers: int | None = None) -> Servers | None:
    (queued,) = read(*rows, dop=dop, pq_servers=pq_servers).queue
    return queued.wants


TWO_SETS = plan("", ":Q1001", ":Q1001", ":Q1000")
ONE_SET = plan("", ":Q1000", ":Q1000")
FOUR_TREES = plan("", ":Q1000", "", ":Q2001", ":Q2000", "", ":Q3002", ":Q3001", ":Q3000", "", ":Q4000")


def test_figures_of_the_queued_session_come_first() -> None:
    assert wanted(*ONE_SET, *execution((1, 1)), pq_servers=16) == Servers(16, 16, WantsSource.PQ_SERVERS)
    assert wanted(pq_servers=8) == Servers(8, 8, WantsSource.PQ_SERVERS)


@pytest.mark.parametrize("pq_servers", [None, 0, 4, 12, 40])
def test_pq_servers_must_be_a_small_multiple_of_the_degree(pq_servers: int | None) -> None:
    assert wanted(*TWO_SETS, pq_servers=pq_servers) == Servers(16, 16, WantsSource.PLAN)


def test_a_running_execution_goes_before_the_plan() -> None:
    assert wanted(*ONE_SET, *execution((1, 1), (1, 2))) == Servers(16, 16, WantsSource.RUNNING)


def test_published_case_of_four_trees_with_degree_eight_that_were_admitted_as_sixteen() -> None:
    """V$PX_SESSION showed 64 servers by tree for each; the queue admitted three of them below 48."""
    trees = [(tree, number) for tree in (1, 2, 3, 4) for number in (1, 2)]
    reading = read(*execution(*trees))
    assert reading.queue[0].wants == Servers(16, 16, WantsSource.RUNNING)
    assert [(each.servers, each.sets, each.tree_sets) for each in reading.running] == [(64, 8, 2)]
    assert wanted(*FOUR_TREES) == Servers(16, 16, WantsSource.PLAN)


def test_one_set_stays_a_range_with_any_source() -> None:
    assert wanted(*ONE_SET) == Servers(8, 16, WantsSource.PLAN)
    assert wanted(*execution((1, 1))) == Servers(8, 16, WantsSource.RUNNING)
    (head,) = read(*ONE_SET, directive("DAY", "BATCH", 50)).heads
    assert head.sentence == (
        "wants 8 to 16 servers (DOP 8, one set by its plan, counted once or twice); 60 of the target's 64 are in use; "
        "short by 4 to 12 servers"
    )


def test_an_execution_with_unknown_sets_is_not_used() -> None:
    assert wanted(*execution((None, None)), *TWO_SETS) == Servers(16, 16, WantsSource.PLAN)


def test_without_any_of_them_the_degree_alone_is_a_range() -> None:
    assert wanted() == Servers(8, 16, WantsSource.DEGREE)
    assert wanted(*plan(":Q1001", ":Q1000", sql_id="other")) == Servers(8, 16, WantsSource.DEGREE)
    assert wanted(dop=1) is None
    assert wanted(dop=None) is None


def test_without_a_degree_the_average_of_the_groups_queue_is_named() -> None:
    """40 + 8 servers for 2 + 0.5 statements: 19.2 each."""
    reading = read(metric(2.0, 40.0), metric(0.5, 8.0, 2), dop=None)
    (head,) = reading.heads
    assert head.wants == Servers(19, 19, WantsSource.MEAN)
    assert (str(head.wants), head.cause, head.short, head.shortages) == ("~19", Cause.UNKNOWN, None, ())
    assert head.sentence == (
        "wants servers for a DOP that is not known (those queued in its group wanted 19 servers each in the last "
        "minute); 60 of the target's 64 are in use"
    )
    assert wanted(metric(2.0, 40.0)) == Servers(8, 16, WantsSource.DEGREE)
    assert wanted(metric(0.0, 0.0), dop=None) is None


@pytest.mark.parametrize(
    ("nodes", "sets"),
    [
        ((":Q1000",), 1),
        ((":Q1000", ":Q1001"), 2),
        ((":Q1000", ":Q1001", ":Q1002", ":Q1003"), 2),  # producers and consumers take turns
        ((":Q1000", ":Q2000", ":Q3000"), 1),  # three trees of one operation
        ((":Q10000", ":Q10001"), 2),  # the tenth tree
        ((":Q1000", ":Q10000"), 1),
        (("", "LINK", "AQ1001", ":Q12", ":Q1000X"), 0),
        ((), 0),
    ],
)
def test_server_sets_of_a_plan(nodes: tuple[str, ...], sets: int) -> None:
    assert server_sets(plan(*nodes)) == sets


def test_lines_that_an_adaptive_plan_skips_do_not_count() -> None:
    lines = plan("", ":Q1002", ":Q1001", ":Q1000")
    assert server_sets(lines, skipped={2, 3}) == 1
    xml = (
        '<other_xml><info type="dop">8</info><display_map><row op="1" dis="1" par="0" prt="0" dep="1" skp="0"/>'
        '<row op="2" dis="1" par="1" prt="0" dep="1" skp="1"/><row op="3" dis="1" par="1" prt="0" dep="1" skp="1"/>'
        '<row op="4" dis="2" par="1" prt="0" dep="2" skp="0"/></display_map></other_xml>'
    )
    assert wanted(*lines, row(PlanXml, sql_id="sql7", other_xml=xml)) == Servers(8, 16, WantsSource.PLAN)


def test_lines_below_a_serial_coordinator_have_no_servers() -> None:
    """Its lines keep their table queues (FORCED SERIAL in DBMS_XPLAN); the tree beside it is parallel."""
    lines = [
        row(PxPlanLine, id=1, depth=1, operation="PX COORDINATOR", options="FORCED SERIAL"),
        row(PxPlanLine, id=2, depth=2, object_node=":Q1001", operation="PX SEND"),
        row(PxPlanLine, id=3, depth=3, object_node=":Q1000", operation="PX SEND"),
        row(PxPlanLine, id=4, depth=1, operation="PX COORDINATOR"),
        row(PxPlanLine, id=5, depth=2, object_node=":Q2000", operation="PX SEND"),
    ]
    assert server_sets(lines) == 1
    assert server_sets(lines[:3]) == 0


@pytest.mark.parametrize(
    ("requested", "planned", "limit", "expected"),
    [
        (8, 16, None, 8), (None, 16, None, 16), (0, 16, None, 16), (None, None, None, None), (None, None, 4, None),
        (8, None, 4, 4), (8, None, 1, 1), (8, None, 16, 8), (8, None, 0, 8), (8, None, -1, 8),
    ],
)  # fmt: skip
def test_the_degree_is_what_was_asked_for_up_to_the_groups_limit(
    requested: int | None, planned: int | None, limit: int | None, expected: int | None
) -> None:
    rule = directive("DAY", "A", 50, parallel_degree_limit_p1=limit)
    assert degree(requested, planned, rule) == expected
    assert degree(requested, planned, None) == (requested or planned)
