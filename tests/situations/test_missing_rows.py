"""Views that answer without some of their rows: what these would show is not known, and nothing is called good."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from presman.analysis.advice.to_do import with_unchecked
from presman.analysis.alerts.alert_rules import all_clear, basis_not_known, wrong
from presman.analysis.alerts.not_known import not_known
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.analysis.totals import totals
from presman.output.why_answer import AskedStatement, why_not_known
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import Instance
from presman.rows.session_rows import Session, SessionCount, SessionInfo
from presman.rows.session_state import is_queued
from presman.rows.snapshot import GoneInstance, Section, Snapshot
from tests.recording.recorded import polled

_OF_SESSIONS = (Session, SessionCount, SessionInfo)


def without(snapshot: Snapshot, lost: Callable[[Any], bool], *records: type[Any]) -> Snapshot:
    """Return a snapshot in which some records lack some rows."""
    sections = {
        record: replace(section, rows=tuple(row for row in section.rows if not lost(row)))
        if record in (records or snapshot.sections.keys() - {Instance})
        else section
        for record, section in snapshot.sections.items()
    }
    return replace(snapshot, sections=sections)


def of_second(row: Any) -> bool:
    return getattr(row, "inst_id", 1) == 2


def in_queue(row: Any) -> bool:
    return isinstance(row, Session) and is_queued(row.event, row.state)


def rac() -> list[Snapshot]:
    """The last two polls of a minute of a cluster of two instances, with a queue."""
    return [snapshot for snapshot, _ in polled("rac", 2, step=2.0, since=56.0)]


def read(before: Snapshot, now: Snapshot) -> Reading:
    return analyse(before, now)


def alert_texts(reading: Reading) -> str:
    return " ".join(alert.text for alert in (*all_clear(reading), *basis_not_known(reading), *wrong(reading)))


def test_an_instance_without_sessions_hides_its_queue() -> None:
    """`check` was OK while statements queued there, which V$RSRC_CONSUMER_GROUP counted."""
    found = read(*(without(each, lambda row: of_second(row) or in_queue(row), *_OF_SESSIONS) for each in rac()))
    why = "GV$SESSION has no rows of instance 2"
    assert found.queue == ()
    assert found.why_unknown("queue") == found.why_unavailable("V$SESSION") == why
    counted = {row.title: row.px_queued for row in found.cluster_groups() if row.px_queued}
    assert counted
    assert {each.subject for each in wrong(found) if each.key == "queue_waits"} == counted.keys()
    assert totals(found).queued == sum(counted.values())
    assert "o queue now" not in alert_texts(found)
    assert why_not_known(found, AskedStatement.of("2:102")) == why


def test_an_alert_of_an_instance_whose_sessions_vanish_has_not_ended() -> None:
    before, now = rac()
    seen = read(before, before)
    lost = with_unchecked(seen, read(before, without(now, of_second)))
    kept = {(each.key, each.subject) for each in wrong(seen) if each.key == "queue_waits"}
    assert kept
    assert kept <= {(each.key, each.subject) for each in (*wrong(lost), *(each.alert for each in lost.unchecked))}


def test_an_instance_seen_only_in_v_instance_gives_no_all_clear() -> None:
    found = read(*(without(each, of_second) for each in rac()))
    assert found.why_unknown("queue") == "GV$SESSION has no rows of instance 2"
    assert "GV$RSRC_CONSUMER_GROUP has no rows of instance 2" in found.why_unknown("starved group")
    assert "o starved group" not in alert_texts(found)


def lost(snapshot: Snapshot, *, answers: bool) -> Snapshot:
    """V$INSTANCE lacks instance 2, which was seen before; the other views may still have it."""
    seen = GoneInstance(2, "DB2", snapshot.at - timedelta(seconds=2), 32)
    rows = without(snapshot, of_second, *([Instance] if answers else snapshot.sections))
    return replace(rows, sections={**rows.sections, GoneInstance: Section((seen,), snapshot.at)})


def test_an_instance_that_answers_is_not_gone() -> None:
    """ "Its CPUs and parallel servers are gone with it" stood beside its usage and its target."""
    before, now = rac()
    found = read(before, lost(now, answers=True))
    assert not found.gone
    assert not any(each.key == "instance_gone" for each in wrong(found))
    assert not any(each.orphaned for each in found.running)
    why = "GV$INSTANCE has no rows of instance 2"
    assert any(why in each and "whether an instance is gone" in each for each in not_known(found))
    really = read(before, lost(now, answers=False))
    assert [each.inst_id for each in really.gone] == [2]
    assert any(each.key == "instance_gone" for each in wrong(really))


def hidden(snapshot: Snapshot) -> Snapshot:
    """Half of the queue is not listed."""
    waiting = [row for row in snapshot.rows(Session) if in_queue(row)]
    lost = {(row.inst_id, row.sid) for row in waiting[::2]}
    return without(snapshot, lambda row: (row.inst_id, row.sid) in lost, Session)


def test_fewer_sessions_listed_than_counted_is_reported() -> None:
    before, now = rac()
    found = read(hidden(before), hidden(now))
    listed, counted = len(found.queue), sum(row.current_pqs_queued for row in now.rows(ConsumerGroup))
    assert 0 < listed < counted
    assert found.why_unknown("queue") == f"GV$SESSION lists {listed} of {counted} queued statements"
    assert totals(found).queued == counted


def started(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot in which half of the queued statements have left the queue since they were counted."""
    section, listed = snapshot.section(Session), {*hidden(snapshot).rows(Session)}
    rows = tuple(row if row in listed else row._replace(event="log file sync") for row in section.rows)
    return replace(snapshot, sections={**snapshot.sections, Session: replace(section, rows=rows)})


def test_one_poll_may_read_a_queue_in_between() -> None:
    before, now = rac()
    assert not read(hidden(before), now).why_unknown("queue")
    assert not read(before, started(now)).why_unknown("queue")


def test_one_poll_is_enough_if_the_session_of_a_queued_statement_is_missing() -> None:
    """`watch` said that the alert had ended, and `why` that the statement was not queued."""
    before, now = rac()
    assert "queued statements" in read(before, hidden(now)).why_unknown("queue")
