"""The queue: order, what is wanted, and why the head waits."""

from __future__ import annotations

from typing import Any

import pytest

from presman.analysis import analyse
from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import by_rules
from presman.analysis.parallel.queue_heads import QueueState, ServerLimit, explain, shortages
from presman.analysis.parallel.server_pools import ServerBudget
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, QueueHead, Servers, WantsSource
from presman.rows.plan_rows import PlanDirective, RsrcPlan
from presman.rows.session_rows import PxSession, Session, SessionInfo
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
        "wants 32 servers (DOP 16, two sets by one that runs); BATCH holds 40 of 64 allowed (50 % of 128); short by 8"
    )


def test_documented_case_sixty_in_use_and_sixteen_wanted_of_sixty_four() -> None:
    rows = [active_plan(active=60, target=64), directive("DAY", "BATCH", 50), *waiting(16, servers=16)]
    head = one_head(analyse(None, snapshot(*rows)))
    assert (head.cause, head.short, head.in_use, head.target) == (Cause.SYSTEM, 12, 60, 64)
    assert (head.held, head.allowed) == (None, None), "no view tells what the group holds"
    assert (
        head.sentence
        == "wants 16 servers (DOP 16, one set by PQ_SERVERS); 60 of the target's 64 are in use; short by 12"
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
        "wants 36 to 72 servers (DOP 36, one or two sets), more than the target's 24, 12 in use: it may start once "
        "none is"
    )
    assert head.short is None


def test_too_large_for_the_target_is_one_judgement_everywhere() -> None:
    rows = [active_plan(active=12, target=24), directive("DAY", "Q", 100), group("Q", current_pqs_queued=1)]
    reading = analyse(None, snapshot(instance(), *rows, *waiting(36, name="Q")))
    head = one_head(reading)
    assert (head.starts_alone, head.never_starts, head.is_critical) == (True, False, False)
    (alert,) = [each for each in by_rules(reading) if each.key == "queue_waits"]
    assert (alert.state, alert.short) == ("warn", "Q: 1 queued, head 0:10, too large for the target")
    (queue,) = [each.state for each in reading.cluster_groups() if each.name == "Q"]
    assert (queue.level, queue.text) == ("warn", "1 queued 0:10 (too large)")
    step = to_do(reading)
    assert step is not None
    assert step.text == (
        "the head of Q is too large for the target: it may start once no server is in use; a lower DOP lets it "
        "start sooner"
    )


def test_too_large_for_its_limit_is_critical_whenever_it_came() -> None:
    rows = [active_plan(active=0, target=128), directive("DAY", "Q", 50, parallel_server_limit=25)]
    reading = analyse(None, snapshot(instance(), *rows, group("Q", current_pqs_queued=1), *waiting(36, name="Q")))
    head = one_head(reading)  # 36 or 72 of 32
    assert (head.starts_alone, head.never_starts, head.is_critical) == (False, True, True)
    (alert,) = [each for each in by_rules(reading) if each.key == "queue_waits"]
    assert (alert.state, alert.short, alert.amount) == ("bad", "Q: 1 queued, head 0:10, too large for its limit", None)
    step = to_do(reading)
    assert step is not None
    assert step.text == "the head of Q is too large for its limit: a lower DOP or another group lets it start"


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
    assert levels["Q"] == state, "the table and the alert tell the same"


def test_published_case_of_eighty_four_percent_runs_ten_and_queues_ten() -> None:
    rows = [active_plan(active=80, target=96), directive("DAY", "M", 50, parallel_server_limit=84)]
    rows += [group("M", current_pq_servers_active=80), *waiting(4, name="M"), *twin(3, "sql7", 4, 2)]
    head = one_head(analyse(None, snapshot(*rows)))
    assert (head.allowed, head.cause, head.short) == (80, Cause.GROUP, 8)


@pytest.mark.parametrize(
    ("system", "ceiling", "asked", "cause", "short"),
    [
        (ServerBudget(60, 64), None, Servers(16, 16), Cause.SYSTEM, 12),
        (ServerBudget(10, 64), ServerLimit("G", 30, 32), Servers(8, 8), Cause.GROUP, 6),
        (ServerBudget(62, 64), ServerLimit("G", 30, 33), Servers(8, 8), Cause.GROUP, 6),
        (ServerBudget(62, 64), ServerLimit("G", 10, 33), Servers(8, 8), Cause.SYSTEM, 6),
        (ServerBudget(70, 64), None, Servers(4, 4), Cause.SYSTEM, 10),
        (ServerBudget(10, 64), None, Servers(8, 8), Cause.NOT_CHOSEN, 0),
        (ServerBudget(60, 64), None, Servers(4, 8), Cause.SYSTEM, None),
        (ServerBudget(10, 64), ServerLimit("G", 0, 32), Servers(40, 40), Cause.NEVER_FITS, None),
        (ServerBudget(10, 64), ServerLimit("G", 0, 32), Servers(20, 40), Cause.GROUP, None),
        (ServerBudget(10, 64), ServerLimit("G", 5, 32), None, Cause.UNKNOWN, None),
        (ServerBudget(None, None), None, Servers(8, 8), Cause.UNKNOWN, None),
        (ServerBudget(None, 64), None, Servers(80, 80), Cause.NEVER_FITS, None),
        (ServerBudget(None, None), ServerLimit("G", 30, 32), Servers(8, 8), Cause.GROUP, 6),
    ],
)
def test_the_cause_is_what_must_give_way(
    system: ServerBudget, ceiling: ServerLimit | None, asked: Servers | None, cause: Cause, short: int | None
) -> None:
    found = explain(asked, 8, QueueState(system, (ceiling,) if ceiling else ()))
    assert found[:2] == (cause, short)


@pytest.mark.parametrize(
    ("asked", "end"),
    [(Servers(8, 8), "short by 6"), (Servers(4, 8), "short by 2 to 6"), (Servers(2, 4), "short by up to 2")],
)
def test_what_is_not_known_exactly_is_given_as_a_range(asked: Servers, end: str) -> None:
    assert explain(asked, 4, QueueState(ServerBudget(62, 64)))[2].endswith(end)


def test_both_limits_are_named_where_both_bind() -> None:
    found = explain(
        Servers(16, 16), 8, QueueState(ServerBudget(120, 128), (ServerLimit("G", 60, 64, " (50 % of 128)"),))
    )
    assert found == (
        Cause.GROUP,
        12,
        "wants 16 servers (DOP 8, two sets); G holds 60 of 64 allowed (50 % of 128); 120 of the target's 128 are in "
        "use; short by 12",
    )


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
    rows += [*twin(3, "sql7", 8, 2), *twin(4, "sql8", 8, 2)]
    heads = {head.group: head for head in analyse(None, snapshot(*rows)).heads}
    assert heads["A"].cause is Cause.NOT_CHOSEN
    assert (
        heads["A"].sentence
        == "wants 16 servers (DOP 8, two sets by one that runs) and 118 are free; the plan chooses between it and B"
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


def test_only_a_wait_that_goes_on_is_a_place_in_the_queue() -> None:
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
    assert not found.has_room(Servers(1, 1, WantsSource.MEAN)), "what others had on average is no wish of this one"


@pytest.mark.parametrize(
    ("wants", "found", "cause", "short", "said"),
    [
        (Servers(32, 32), state(), Cause.SYSTEM, 18, "; 50 of the target's 64 are in use; short by 18"),
        (Servers(32, 32), state(50, 64, GROUP), Cause.GROUP, 20,
         "; BATCH holds 20 of 32 allowed (50 % of 64); 50 of the target's 64 are in use; short by 20"),
        (Servers(13, 13), state(50, 64, GROUP), Cause.GROUP, 1,
         "; BATCH holds 20 of 32 allowed (50 % of 64); short by 1"),
        (Servers(8, 16), state(), Cause.SYSTEM, None, "; 50 of the target's 64 are in use; short by up to 2"),
        (Servers(16, 32), state(), Cause.SYSTEM, None, "; 50 of the target's 64 are in use; short by 2 to 18"),
        (Servers(32, 32), state(None, 64), Cause.UNKNOWN, None, "; how many are in use or allowed is not known"),
        (Servers(65, 65), state(), Cause.NEVER_FITS, None,
         ", more than the target's 64, 50 in use: it may start once none is"),
        (Servers(65, 65), state(None, 64), Cause.NEVER_FITS, None, ", more than the target's 64"),
        (Servers(33, 33), state(50, 64, GROUP), Cause.NEVER_FITS, None,
         ", more than the 32 that BATCH is allowed (50 % of 64), 20 held"),
        (Servers(32, 32), state(ahead=2), Cause.BEHIND, None,
         "; one queue for all groups, 2 statements of other groups ahead of it; 50 of the target's 64 are in use"),
        (Servers(14, 14), state(ahead=1), Cause.BEHIND, 0,
         " and 14 are free; one queue for all groups, 1 statement of other groups ahead of it"),
        (Servers(14, 14), state(), Cause.NOT_CHOSEN, 0, " and 14 are free; it should start by the next poll"),
        (Servers(14, 14), state(rivals=("A", "B")), Cause.NOT_CHOSEN, 0,
         " and 14 are free; the plan chooses between it and A, B"),
        (Servers(14, 14), state(rivals=("A",), containers=("HR",)), Cause.NOT_CHOSEN, 0,
         " and 14 are free; the CDB plan chooses between its container and HR, then the plan between it and A"),
        (Servers(14, 14), state(unknown_container="HR"), Cause.NOT_CHOSEN, None,
         " and 14 are free; how many HR may have is not known, so whether it starts is not known either"),
    ],
)  # fmt: skip
def test_every_cause_with_its_servers_and_words(
    wants: Servers, found: QueueState, cause: Cause, short: int | None, said: str
) -> None:
    told, lacking, sentence = explain(wants, None, found)
    assert (told, lacking) == (cause, short)
    assert sentence.endswith(said)
    assert sentence.startswith("wants ")


def test_the_targets_of_several_instances_are_said_to_be_added_up() -> None:
    _, _, sentence = explain(Servers(32, 32), 16, QueueState(ServerBudget(50, 64, instances=2)))
    assert sentence == (
        "wants 32 servers (DOP 16, two sets); 50 of the target's 64 are in use (the targets of 2 instances added "
        "up); short by 18"
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
