"""Facts about sessions in a snapshot: each lookup separately."""

from __future__ import annotations

from typing import Any

import pytest

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.session_facts import SessionFacts
from presman.rows.group_rows import ConsumerGroup, ConsumerGroupDefinition
from presman.rows.instance_rows import Pdb
from presman.rows.session_rows import PxSession, Session, SessionCount, SessionInfo, SessionLongops
from presman.rows.snapshot import Problem, Section
from tests.analysis.make import NOON, instance, row, snapshot


def facts(*rows: Any, **changes: Any) -> SessionFacts:
    return Facts.of(None, snapshot(instance(), *rows, **changes)).sessions


def session(sid: int, **values: Any) -> Session:
    return row(Session, **({"sid": sid, "serial": 7, "status": "ACTIVE"} | values))


def test_only_a_session_that_waits_for_another_now_is_blocked() -> None:
    rows = [
        session(1, blocking_session=9, state="WAITING"),
        session(2, blocking_session=9, state="WAITED SHORT TIME"),
        session(3, state="WAITING"),
    ]
    assert list(facts(*rows).blocked) == [(1, 1)]


def test_a_sid_is_reused_by_another_session() -> None:
    found = facts(session(1), session(2, serial=0))
    assert [found.find(1, *place) is not None for place in ((1, 7), (1, None), (1, 8), (3, 7), (2, 8))] == [
        True, True, False, False, True
    ]  # fmt: skip
    assert found.find(2, 1, 7) is None


def test_background_processes_are_no_users() -> None:
    rows = [session(1), session(2, type="BACKGROUND")]
    assert [each.sid for each in facts(*rows).users] == [1]
    assert [each.sid for each in facts(rows[0]).users] == [1]


def count(status: str, sessions: int) -> SessionCount:
    return row(SessionCount, status=status, sessions=sessions, resource_consumer_group="ETL")


def test_sessions_are_counted_by_the_database_or_by_those_that_were_read() -> None:
    idle = [session(1, status="INACTIVE"), session(2)]
    counted = facts(*idle, count("INACTIVE", 40), count("ACTIVE", 1), lists_idle=False)
    assert counted.unlisted == 39
    assert [each.sessions for each in counted.counts] == [40, 1]
    assert facts(*idle, count("INACTIVE", 40), lists_idle=True).unlisted == 0
    assert sorted(each.status for each in facts(*idle).counts) == ["ACTIVE", "INACTIVE"]
    sections = {Session: Section(tuple(idle), NOON), SessionCount: Section((), NOON, problem=Problem("ORA-00942", "x"))}
    unread = facts(sections=sections, lists_idle=False)
    assert unread.unlisted is None
    assert [each.sessions for each in unread.counts] == [1, 1]


def test_the_group_a_session_is_in_now_and_the_one_it_was_put_in() -> None:
    rows = [
        session(1, resource_consumer_group="OLD"),
        session(2, resource_consumer_group="OLD"),
        session(3, resource_consumer_group="OLD"),
        row(SessionInfo, sid=1, current_consumer_group="NEW"),
        row(SessionInfo, sid=2, current_consumer_group_id=12),
        row(ConsumerGroup, id=12, name="TWELVE"),
        row(ConsumerGroup, id=13, name="OF SALES", con_id=3),
        row(ConsumerGroupDefinition, consumer_group_id=14, consumer_group="DEFINED"),
        row(ConsumerGroupDefinition, consumer_group_id=15, consumer_group="EDITED", status="PENDING"),
    ]
    found = facts(*rows)
    assert [found.group_of(each) for each in rows[:3]] == ["NEW", "TWELVE", "OLD"]
    assert found.group_names == {12: "TWELVE", 14: "DEFINED"}

    def original(facts: SessionFacts, con_id: int, group: int) -> str:
        return facts.original_group(row(SessionInfo, con_id=con_id, orig_consumer_group_id=group))

    assert [original(found, 0, group) for group in (12, 13, 14, 99)] == ["TWELVE", "", "DEFINED", ""]
    assert [original(found, 3, group) for group in (12, 13)] == ["TWELVE", "OF SALES"]
    several = facts(*rows, *(row(Pdb, con_id=con_id, name="P", open_mode="READ WRITE") for con_id in (3, 4)))
    assert [original(several, 3, group) for group in (12, 13)] == ["", "OF SALES"], "ids are each container's own"


def scan(sid: int, serial: int = 7, **values: Any) -> SessionLongops:
    given = {"sql_id": "x", "opname": "Table Scan", "sofar": 30, "totalwork": 100, "time_remaining": 70}
    return row(SessionLongops, sid=sid, serial=serial, **(given | values))


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        ([session(1), scan(1)], [(1, 1)]),
        ([session(1), scan(1, serial=8)], []),  # left behind by the session that had the SID before
        ([scan(1, serial=8)], [(1, 1)]),  # the session was not read
        ([scan(5, qcsid=1), row(PxSession, sid=5, qcsid=1, qcinst_id=1)], [(1, 1)]),
        ([scan(5, qcsid=1)], [(1, 1)]),  # on one instance the SID alone will do
        ([instance(parallel="YES"), scan(5, qcsid=1)], []),  # whose instance is not known
        ([instance(2), scan(5, qcsid=1)], []),
    ],
)  # fmt: skip
def test_work_under_way_is_that_of_the_session_or_of_its_coordinator(rows: list[Any], places: list[Any]) -> None:
    own = [] if any(isinstance(each, type(instance())) and each.inst_id == 1 for each in rows) else [instance()]
    found = Facts.of(None, snapshot(*own, *rows)).sessions.operations
    assert [(inst_id, sid) for inst_id, sid, _ in found] == places
