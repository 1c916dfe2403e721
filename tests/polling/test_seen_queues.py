"""Queues that wait too long: earlier polls count, so one statement that starts does not clear the alert."""

from __future__ import annotations

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Alert
from presman.analysis.trends.database_events import ALERT_BEGAN, ALERT_BETTER, ALERT_WORSE, EventWatch
from presman.polling.poller import Poller
from presman.rows.session_rows import Session, SessionInfo
from presman.rows.snapshot import CriticalQueue, Problem, Section, Snapshot
from tests.analysis.make import queued_session, row
from tests.sources.fakes import FakeSource

UNSEEN: list[float] = []


def polls(*waits: list[float], step: float = 2.0) -> list[Snapshot]:
    """Return polls in which statements of BATCH have waited for so many seconds each; V$SESSION fails in UNSEEN."""
    source = FakeSource(step=step)
    poller = Poller(source, clock=lambda: 0.0)
    poller.open()
    found = []
    for each in waits:
        numbered = list(enumerate(each, start=7))
        lost = Section((), problem=Problem("ORA-01555", "snapshot too old", "", "")) if each is UNSEEN else None
        source.answers = lambda request, lost=lost: lost if request.query.record is Session else None
        source.rows[Session] = tuple(queued_session(sid, "OTHER", waited=waited) for sid, waited in numbered)
        source.rows[SessionInfo] = tuple(
            row(SessionInfo, sid=sid, current_consumer_group="BATCH") for sid, _ in numbered
        )
        found.append(poller.poll())
    return found


def queue_alert(snapshot: Snapshot) -> Alert | None:
    return next((each for each in wrong(analyse(None, snapshot)) if each.key == "queue_waits"), None)


def test_a_queue_stays_critical_until_it_waits_for_half_an_hour_together() -> None:
    found = polls([1800.0, 1799.0], [1801.0, 1801.0], [1801.0], [1799.0], [1801.0], [], [1801.0], [3600.0])
    states = [each.state if (each := queue_alert(snapshot)) is not None else "" for snapshot in found]
    assert states == ["warn", "bad", "bad", "warn", "warn", "", "warn", "bad"]
    assert found[2].rows(CriticalQueue) == ((0, "BATCH"),)
    assert found[3].rows(CriticalQueue) == ()


def test_a_queue_stays_critical_in_a_poll_without_sessions() -> None:
    found = polls([1801.0, 1801.0], UNSEEN, [1801.0], step=61.0)
    assert [len(snapshot.rows(Session)) for snapshot in found] == [2, 0, 1]
    last = queue_alert(found[-1])
    assert last is not None
    assert last.state == "bad"


def test_a_critical_queue_says_why_it_is_one() -> None:
    texts = [each.text for snapshot in polls([1800.0], [1800.0, 1830.0]) if (each := queue_alert(snapshot)) is not None]
    assert texts[0].startswith("BATCH: head ")
    assert texts[1].startswith("BATCH: 2 wait, the first 30:30, together 1 h; head ")


def test_events_do_not_come_and_go_as_the_first_starts() -> None:
    watch, before, kinds = EventWatch(first_is_news=True), None, []
    for snapshot in polls([1000.0] * 3, *[[1201.0] * 3, [1201.0] * 2] * 4):
        events = watch.add(analyse(before, snapshot), snapshot)
        before = snapshot
        kinds += [each.kind for each in events if each.kind in {ALERT_BEGAN, ALERT_WORSE, ALERT_BETTER}]
    assert kinds == [ALERT_BEGAN, ALERT_WORSE]
