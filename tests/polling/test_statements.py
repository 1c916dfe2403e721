from __future__ import annotations

from datetime import timedelta
from typing import Any

from presman.base.release import Release
from presman.polling.cadence import PollNeeds
from presman.polling.lookups import FEW_ANSWERS, MOST_HELD, CursorKey, Lookups, statements_on_show
from presman.rows.cursor_rows import PlanXml, PxPlanLine, SqlText
from presman.rows.queries import load
from presman.rows.session_rows import PxSession, Session
from presman.rows.session_state import ServerProcesses
from presman.rows.snapshot import Problem, Section
from tests.sources.fakes import START, row

QUERIES = load(Release(19))


def names(count: int) -> list[CursorKey]:
    return [CursorKey(1, f"sql{number}", 0) for number in range(count)]


def found(record: Any, statement: CursorKey) -> Section:
    return Section((row(record, inst_id=1, sql_id=statement.sql_id, child_number=0),))


def test_heads_come_first_then_the_largest_holders_then_the_queue() -> None:
    queue = [("a2", "A", 5), ("a1", "A", 9), ("b1", "B", 2), ("a3", "A", 1), ("b2", "B", 1)]
    sessions = [
        row(Session, inst_id=1, sid=sid, sql_id=name, resource_consumer_group=group, event="resmgr:pq queued",
            state="WAITING", wait_time_micro=waited * 1_000_000)
        for sid, (name, group, waited) in enumerate(queue)
    ]  # fmt: skip
    sessions += [row(Session, inst_id=1, sid=sid, sql_id=f"runs{sid}") for sid in (20, 21, 22)]
    servers = [
        row(PxSession, inst_id=1, sid=100 * sid + number, qcsid=sid, qcinst_id=1)
        for sid, count in ((20, 2), (21, 8), (22, 4))
        for number in range(count)
    ]
    shown = [each.sql_id for each in statements_on_show(sessions, servers)]
    assert shown == ["a1", "b1", "runs21", "runs22", "runs20", "a2", "a3", "b2"]


def test_those_that_are_still_to_come_are_counted_until_none_is() -> None:
    lookups = Lookups(per_poll=2)
    shown, left = names(5), []
    for _ in range(3):
        wanted = lookups.wanted(shown, QUERIES, START)
        lookups.learn(wanted, [found(each.record, each.statement) for each in wanted], START)
        left.append(lookups.to_come(shown, QUERIES))
    assert left == [3, 1, 0]
    everything = Lookups(per_poll=None)
    assert len({each.statement for each in everything.wanted(names(300), QUERIES, START)}) == 300


def test_queued_sessions_come_first_then_coordinators_and_no_others() -> None:
    sessions = [
        row(Session, inst_id=1, sid=1, sql_id="runs", sql_child_number=2),
        row(Session, inst_id=2, sid=1, sql_id="same sid elsewhere"),
        row(Session, inst_id=1, sid=2, sql_id="serial"),
        row(Session, inst_id=1, sid=3, sql_id="waits", event="resmgr:pq queued"),
        row(Session, inst_id=1, sid=4, sql_id="", event="resmgr:pq queued"),
        row(Session, inst_id=1, sid=5, sql_id="", prev_sql_id="held", prev_child_number=1),
        row(Session, inst_id=1, sid=6, sql_id="held", sql_child_number=4),
        row(Session, inst_id=1, sid=7, sql_id="waits", event="PX Queuing: statement queue"),
    ]
    servers = [
        row(PxSession, inst_id=1, sid=1, qcsid=1),
        row(PxSession, inst_id=2, sid=6, qcsid=1, qcinst_id=1),
        row(PxSession, inst_id=1, sid=6, qcsid=5, qcinst_id=1),
    ]
    assert statements_on_show(sessions, servers) == [
        CursorKey(1, "waits", 0),
        CursorKey(1, "runs", 2),
        CursorKey(1, "held", 1),
    ]


def test_a_few_statements_per_poll() -> None:
    lookups = Lookups(per_poll=3)
    shown = names(5)
    first = lookups.wanted(shown, QUERIES, START)
    assert [(each.record, each.statement) for each in first] == [
        (record, statement) for statement in shown[:3] for record in (PlanXml, PxPlanLine, SqlText)
    ]
    lookups.learn(first, [found(each.record, each.statement) for each in first], START)
    second = lookups.wanted(shown, QUERIES, START)
    assert {each.statement for each in second} == set(shown[3:])


def test_a_statement_not_found_is_read_again_after_a_minute() -> None:
    lookups = Lookups()
    wanted = lookups.wanted(names(1), QUERIES, START)
    answers = [found(each.record, each.statement) for each in wanted]
    lookups.learn(wanted, [Section(), *answers[1:]], START)
    assert not lookups.wanted(names(1), QUERIES, START + timedelta(seconds=59))
    again = lookups.wanted(names(1), QUERIES, START + timedelta(seconds=60))
    assert [each.record for each in again] == [PlanXml]
    assert len(lookups.wanted(names(1), QUERIES, START + timedelta(hours=1))) == 3


def test_an_unreadable_view_pauses_a_minute_for_all_statements() -> None:
    lookups = Lookups()
    problem = Problem("ORA-00942", "table or view does not exist", "GV$SQL_PLAN")
    wanted = lookups.wanted(names(2), QUERIES, START)
    sections = [
        Section(problem=problem) if each.record is not SqlText else found(SqlText, each.statement) for each in wanted
    ]
    lookups.learn(wanted, sections, START)
    assert lookups.sections(names(2))[PlanXml].problem == problem
    assert lookups.sections(names(2))[SqlText].problem is None
    assert [each.record for each in lookups.wanted(names(3), QUERIES, START)] == [SqlText]
    later = START + timedelta(minutes=1)
    retried = lookups.wanted(names(1), QUERIES, later)
    lookups.learn(retried, [found(each.record, each.statement) for each in retried], later)
    assert lookups.sections(names(1))[PlanXml].problem is None


def test_one_unreadable_plan_does_not_condemn_the_view() -> None:
    lookups = Lookups()
    wanted = [each for each in lookups.wanted(names(2), QUERIES, START) if each.record is PlanXml]
    lookups.learn(wanted, [Section(problem=Problem("ORA-01555", "too old")), found(PlanXml, names(2)[1])], START)
    section = lookups.sections(names(2))[PlanXml]
    assert section.problem is None
    assert [found.sql_id for found in section.rows] == ["sql1"]


def test_answers_are_bounded_and_the_ones_on_show_stay() -> None:
    lookups = Lookups(100, PollNeeds(most=30))
    shown = names(10)
    wanted = lookups.wanted(shown, QUERIES, START)
    lookups.learn(wanted, [found(each.record, each.statement) for each in wanted], START)
    assert len(lookups.sections(shown)[PlanXml].rows) == 10
    other = [CursorKey(2, "other", 0)]
    wanted = lookups.wanted(other, QUERIES, START)
    lookups.learn(wanted, [found(each.record, each.statement) for each in wanted], START)
    rows = sum(len(section.rows) for section in lookups.sections([*shown, *other]).values())
    assert rows == 30
    assert len(lookups.sections(other)[PlanXml].rows) == 1


def test_one_of_many_keeps_few_and_never_rereads_what_is_shown() -> None:
    lookups = Lookups(200, PollNeeds(few=True))

    def ask(shown: list[CursorKey]) -> int:
        wanted = lookups.wanted(shown, QUERIES, START)
        lookups.learn(wanted, [found(each.record, each.statement) for each in wanted], START)
        lookups.sections(shown)
        return len(wanted)

    many = names(100)
    assert (ask(many), ask(many)) == (300, 0), "more than are kept, and all on show"
    few = [CursorKey(2, f"other{number}", 0) for number in range(5)]
    assert (ask(few), ask(few)) == (15, 0)
    assert len(lookups._answers) == FEW_ANSWERS
    assert ask(many) > 200


def test_the_statements_held_off_cpu_most_come_last() -> None:
    held = [row(Session, inst_id=1, sid=number, sql_id=f"sql{number % 7}", event="resmgr:cpu quantum", state="WAITING")
            for number in range(60)]  # fmt: skip
    held += [
        row(Session, inst_id=1, sid=100 + number, sql_id="most", event="resmgr: cpu quantum", state="WAITING")
        for number in range(20)
    ]
    held += [  # on CPU: the event is what they waited for last
        row(Session, inst_id=1, sid=300 + number, sql_id="runs", event="resmgr:cpu quantum", state="WAITED SHORT TIME")
        for number in range(30)
    ]
    queue = [row(Session, inst_id=1, sid=200, sql_id="waits", event="resmgr:pq queued")]
    shown = statements_on_show([*held, *queue], [])
    assert shown[:2] == [CursorKey(1, "waits", 0), CursorKey(1, "most", 0)]
    assert len(shown) == 1 + MOST_HELD


def test_large_answers_are_kept_as_long_as_they_are_not_too_many() -> None:
    """Ten characters may be kept; each text has four, so the two newest are."""
    lookups = Lookups(100, PollNeeds(largest=10))
    shown = names(5)
    for statement in shown:
        wanted = [each for each in lookups.wanted([statement], QUERIES, START) if each.record is SqlText]
        text = row(SqlText, inst_id=1, sql_id=statement.sql_id[-1], child_number=0, sql_text="abc")
        lookups.learn(wanted, [Section((text,)) for _ in wanted], START)
    assert [each.sql_id for each in lookups.sections(shown)[SqlText].rows] == ["3", "4"]
    again = {each.statement for each in lookups.wanted(shown, QUERIES, START) if each.record is SqlText}
    assert again == set(shown[:3])


def test_servers_show_which_statement_it_is() -> None:
    """The coordinators have other statements: one idles after a later one, one executes another now."""
    sessions = [
        row(Session, inst_id=1, sid=1, sql_id="", prev_sql_id="later", prev_child_number=0),
        row(Session, inst_id=1, sid=2, sql_id="other", sql_child_number=3, prev_sql_id="theirs", prev_child_number=2),
        row(Session, inst_id=1, sid=11, sql_id="held for", sql_child_number=1),
        row(Session, inst_id=2, sid=12, sql_id="theirs", sql_child_number=7),
    ]
    servers = [
        row(PxSession, inst_id=1, sid=11, qcsid=1, qcinst_id=1),
        row(PxSession, inst_id=2, sid=12, qcsid=2, qcinst_id=1),
    ]
    assert statements_on_show(sessions, servers) == [CursorKey(1, "held for", 1), CursorKey(1, "theirs", 2)]


def test_a_monitors_query_is_not_looked_up() -> None:
    sessions = [
        row(Session, inst_id=1, sid=1, sql_id="gv query"),
        row(Session, inst_id=1, sid=2, sql_id="statement"),
        row(Session, inst_id=2, sid=11, serial=5, sql_id="gv query", program="oracle@racdb02 (PZ99)"),
        row(Session, inst_id=2, sid=12, serial=6, sql_id="statement", program="oracle@racdb02 (P000)"),
    ]
    servers = [
        row(PxSession, inst_id=2, sid=11, serial=5, qcsid=1, qcinst_id=1),
        row(PxSession, inst_id=2, sid=12, serial=6, qcsid=2, qcinst_id=1),
    ]
    known = ServerProcesses.of((), (), sessions, several=True)
    assert statements_on_show(sessions, servers, known) == [CursorKey(1, "statement", 0)]
