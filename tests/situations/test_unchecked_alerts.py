"""An alert does not end because a view did not answer: it stays, with its age and the view, until the view answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from presman.analysis.advice.to_do import to_do, with_unchecked
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.alerts.alert_transitions import AlertTransitions
from presman.analysis.alerts.judge import AlertChanges, Judge
from presman.analysis.alerts.unchecked import unchecked
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Alert, LateView, Reading
from presman.analysis.trends.database_events import VERDICT_CHANGED, EventWatch
from presman.analysis.view_availability import view_of
from presman.config.alert_lines import read_alerts
from presman.polling.poll_events import Polled
from presman.polling.poller import Poller
from presman.rows.queries import RecordType
from presman.rows.snapshot import Problem, Section, Snapshot
from presman.services.live import ReadingCame, Readings
from presman.sources.simulator_source import SimulatorSource
from presman.tui.timeline import Timeline
from tests.analysis.test_simulated import SCENARIOS, Clock
from tests.scenarios import with_short_past
from tests.thorough import some

PLAN = "V$RSRC_PLAN"
Marks = Mapping[tuple[str, str], Alert]


@cache
def polls(scenario: str, number: int = 6) -> tuple[Snapshot, ...]:
    clock = Clock()
    start = datetime(2026, 3, 14, 9, tzinfo=UTC)
    poller = Poller(SimulatorSource(with_short_past(scenario), seed=3, clock=clock, start=start))
    poller.open()
    found = []
    for _ in range(number):
        clock.now += 10.0
        found.append(poller.poll())
    poller.close()
    return tuple(found)


def records(snapshot: Snapshot) -> dict[str, list[RecordType]]:
    """Return the records of each view; what polls remember is none."""
    found = defaultdict(list)
    for record in snapshot.sections:
        if record.__module__ != "presman.rows.snapshot":
            found[view_of(snapshot, record).removeprefix("G")].append(record)
    return found


def without(snapshot: Snapshot, *views: str, keeps_rows: bool = False) -> Snapshot:
    """Return a poll in which some views did not answer, with or without the rows of their last answer."""
    gone = {}
    for view in views:
        for record in records(snapshot)[view]:
            problem = Problem("" if keeps_rows else "ORA-00942", "no answer", f"G{view}", late=keeps_rows)
            gone[record] = (
                replace(snapshot.section(record), problem=problem) if keeps_rows else Section(problem=problem)
            )
    return replace(snapshot, sections=MappingProxyType({**snapshot.sections, **gone}))


def marks(reading: Reading) -> Marks:
    return {(each.key, each.subject): each for each in wrong(reading) if each.state in {"bad", "warn"}}


def lost(then: Marks, now: Marks) -> Collection[tuple[str, str]]:
    return [mark for mark, each in then.items() if mark not in now or (each.state, now[mark].state) == ("bad", "warn")]


@pytest.mark.parametrize("scenario", some(("holders", "pdb", "tenants", "throttled"), SCENARIOS))
def test_no_alert_is_lost_with_a_view(scenario: str) -> None:
    *_, before, last, now = polls(scenario)
    then, whole = analyse(before, last), analyse(last, now)
    was, still = marks(then), marks(whole)
    assert was
    for view in records(now):
        blind = with_unchecked(then, analyse(last, without(now, view)))
        gone = [mark for mark in lost(was, marks(blind)) if mark in still and mark not in lost(was, still)]
        assert not gone, (view, gone)
        assert with_unchecked(then, whole).unchecked == ()


def read(blind: Mapping[int, tuple[str, ...]], *, keeps_rows: bool = False, number: int = 6) -> list[Reading]:
    """Return the readings of the scenario in which a group has no share; by number, polls without some views."""
    readings = Readings()
    found = []
    for index, each in enumerate(polls("throttled", number)):
        came = readings.of(Polled(without(each, *blind.get(index, ()), keeps_rows=keeps_rows)))
        assert isinstance(came, ReadingCame)
        found.append(came.reading)
    return found


def of_share(reading: Reading) -> list[Alert]:
    return [each for each in wrong(reading) if (each.key, each.subject) == ("cpu_zero_share", "BATCH")]


@pytest.mark.parametrize("keeps_rows", [False, True])
def test_alert_and_advice_stay_with_their_age_until_the_view_answers(keeps_rows: bool) -> None:
    _, seen, *blind, again, _ = read({2: (PLAN,), 3: (PLAN,)}, keeps_rows=keeps_rows)
    (alert,), step = of_share(seen), to_do(seen)
    assert step is not None
    assert step.subject == alert.subject
    for age, each in zip(("0:10", "0:20"), blind, strict=True):
        (kept,), advice = of_share(each), to_do(each)
        assert kept.state == "bad"
        assert kept.text == f"{alert.text} (as of {age} ago: G{PLAN} did not answer)"
        assert kept.short == f"{alert.short} (as of {age} ago)"
        assert advice is not None
        assert advice.short == f"{step.short} (as of {age} ago)"
        assert advice.text.startswith(f"{step.text} (as of {age} ago: G{PLAN} did not answer)")
        assert (advice.step, advice.tab, advice.commands) == (step.step, step.tab, ())
    assert again.unchecked == () or not keeps_rows
    assert len(of_share(again)) == 1


def test_an_alert_stays_until_there_are_rates_again() -> None:
    """Without the counters of one poll the next has no rates either."""
    view = "V$RSRC_CONSUMER_GROUP"
    _, _, blind, rateless, again, _ = read({2: (view,)})
    assert rateless.why_unknown("starved group") == "it takes two polls"
    assert [len(of_share(each)) for each in (blind, rateless, again)] == [1, 1, 1]
    assert [len(each.unchecked) > 0 for each in (blind, rateless, again)] == [True, True, False]


def test_a_view_that_never_answered_keeps_nothing() -> None:
    """An alert that does not need the view ends without it."""
    _, last, now = polls("throttled")[:3]
    directives = "DBA_RSRC_PLAN_DIRECTIVES"
    seen, blind = analyse(None, last), analyse(last, without(now, directives))
    assert marks(blind).keys() == marks(with_unchecked(blind, blind)).keys()
    found = replace(seen, unseen=blind.unseen)
    assert with_unchecked(found, blind).unchecked == ()


def test_a_queue_that_another_view_counts_as_empty_is_over() -> None:
    *_, last, now = polls("holders")
    then, blind = analyse(None, last), analyse(last, without(now, "V$SESSION"))
    empty = replace(blind, groups=tuple(row._replace(px_queued=0) for row in blind.groups))
    queued = {mark for mark in marks(then) if mark[0] == "queue_waits"}
    assert queued
    assert not queued & marks(with_unchecked(then, empty)).keys()
    uncounted = replace(blind, groups=())
    assert queued <= marks(with_unchecked(then, uncounted)).keys()


@pytest.mark.parametrize("was_late", [False, True])
def test_the_sentence_about_a_queue_is_kept_if_all_of_it_was_of_one_moment(was_late: bool) -> None:
    """Its figures are of several views: after a poll at which one of these was late, only the brief words are kept."""
    *_, last, now = polls("holders")
    then, blind = analyse(None, last), analyse(last, without(now, "V$SESSION"))
    then, uncounted = replace(then, late=(LateView("GV$OSSTAT", 5.0),) * was_late), replace(blind, groups=())
    (seen,) = (each for key, each in marks(then).items() if key[0] == "queue_waits")
    (kept,) = (each for each in with_unchecked(then, uncounted).unchecked if each.alert.key == "queue_waits")
    assert seen.words != seen.brief
    assert kept.alert.words == (seen.brief if was_late else seen.words)


def test_an_unchecked_alert_neither_ends_nor_begins_again() -> None:
    """In Events nothing ends; the end has the last text of the alert."""
    turns, changes = AlertTransitions(), AlertChanges()
    readings = read({2: (PLAN,), 3: (PLAN,), 4: (PLAN,)})
    reported = [
        [
            turn.change
            for turn in turns.take(each)
            if turn.text.startswith("critical: CPU: BATCH ") or "last: CPU: BATCH " in turn.text
        ]
        for each in readings
    ]
    assert reported == [[], ["began"], [], [], [], []]
    sent = [[each.change for each in changes.take(of_share(found), n * 10.0)] for n, found in enumerate(readings)]
    assert sent == [[], ["began"], [], [], [], []]
    over = replace(readings[4], at=readings[5].at, unchecked=(), groups=(), late=(), unseen=(), alerts=())
    (end,) = [
        turn.text
        for turn in turns.take(over)
        if turn.text.startswith("critical: CPU: BATCH ") or "last: CPU: BATCH " in turn.text
    ]
    assert "as of" not in end
    assert not [each.text for each in changes.take(of_share(readings[4]), 60.0) if each]
    (ended,) = changes.take([], 180.0)
    assert (ended.change, ended.text) == ("ended", of_share(readings[5])[0].text)


def test_a_silent_view_does_not_change_a_groups_state() -> None:
    """Events had `BATCH: no share while others run → throttled, cause not known`."""
    watch = EventWatch()
    for reading in read(dict.fromkeys(range(2, 10), (PLAN,)), number=10):
        events = watch.add(reading, polls("throttled", 10)[reading.number - 1])
        assert not [each.text for each in events if each.kind == VERDICT_CHANGED]


def test_rules_that_config_asks_for_stay_too() -> None:
    judge = Judge(read_alerts("throttled warning=10\nservers_used warning=200"))
    states = [[each for each in wrong(judge.judge(found)) if each.key == "throttled" and each.state == "warn"]
              for found in read({2: ("V$RSRC_CONSUMER_GROUP",)})]  # fmt: skip
    _, seen, blind, rateless, again, _ = states
    assert seen
    assert len(seen) == len(blind) == len(rateless)
    assert all("(as of 0:10 ago: GV$RSRC_CONSUMER_GROUP did not answer)" in each.text for each in blind)
    assert not any("as of" in each.text for each in again)


def test_a_milder_alert_seen_in_between_does_not_take_the_place_of_the_one_that_cannot_be_checked() -> None:
    _, _, blind, later, *_ = read({2: (PLAN,), 3: (PLAN,)})
    (alert,) = of_share(blind)
    milder = alert._replace(state="warn")
    still = [each.alert for each in unchecked(blind, later, ([milder], [milder]), blind.unchecked)]
    assert [each.state for each in still if each.subject == "BATCH" and each.key == "cpu_zero_share"] == ["bad"]


def test_an_alert_found_without_a_view_is_reported_once() -> None:
    _, seen, blind, *_ = read({2: (PLAN,)})
    found = of_share(seen)
    assert [each.alert.state for each in unchecked(seen, blind, (found, []), ())] == ["bad"]
    assert unchecked(seen, blind, (found, found), ()) == ()


def test_it_is_there_when_the_user_looks_back() -> None:
    timeline = Timeline()
    readings = read({2: (PLAN,)})
    for reading, snapshot in zip(readings, polls("throttled"), strict=True):
        timeline.add(reading, without(snapshot, PLAN) if reading.number == 3 else snapshot)
    then = timeline.reading(3)
    assert then is not None
    assert then.number == 3
    assert of_share(then) == of_share(readings[2]) != []
