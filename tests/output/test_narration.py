"""Lines of `presman watch`: their contents, and that each is printed once."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.advice.step import Step
from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.alerts.judge import Judge
from presman.analysis.readings.reading import Reading, UnansweredQuery
from presman.analysis.totals import Totals, totals
from presman.analysis.trends.database_events import ALERT_BETTER, ALERT_ENDED, ALERT_WORSE, EventHistory
from presman.base.formats import clock, duration
from presman.output.narration import Narration, summary
from presman.polling.poller import Poller
from presman.rows.snapshot import Snapshot
from presman.services.live import Readings
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.test_simulated import Clock
from tests.output.readings import with_groups
from tests.recording.recorded import polled
from tests.recording.test_shown_forecasts import with_effect
from tests.scenarios import without
from tests.thorough import some

BEGIN = datetime(2026, 3, 14, 9, tzinfo=UTC)


@cache
def polls_of(scenario: str) -> tuple[Snapshot, Reading]:
    *_, found = polled(scenario, 2)
    return found


def of(scenario: str) -> Reading:
    """Return the second reading of a scenario, judged."""
    return Judge((), None).judge(polls_of(scenario)[1])


def later(reading: Reading, seconds: float) -> Reading:
    return replace(reading, at=reading.at + timedelta(seconds=seconds))


def texts(narration: Narration, reading: Reading, epoch: int = 1) -> list[str]:
    """Return the lines without their times, which are eight signs and two blanks."""
    return [line[10:] for line in narration.take(reading, replace(polls_of("quiet")[0], epoch=epoch))]


def test_an_alert_is_printed_once_and_its_end_with_its_duration() -> None:
    narration, queue, quiet = Narration(), of("storm"), of("quiet")
    first = texts(narration, queue)
    assert first[0].startswith("watching ")
    assert [line for line in first if line.startswith("warning: ")]
    assert sum(line.startswith("do: ") for line in first) == 1
    assert first[-1].startswith("now: ")
    assert texts(narration, later(queue, 10)) == []
    assert texts(narration, later(queue, 70)) == []
    ended = texts(narration, replace(quiet, at=queue.at + timedelta(seconds=130), header=queue.header))
    alerts = [each.text for each in wrong(queue) if each.state in {"bad", "warn"}]
    assert {f"ended, seen for {duration(130)}, last: {text}" for text in alerts} <= set(ended)
    assert any(line.startswith("now: ") and line.endswith("; 0 alerts") for line in ended)
    assert ended[-1].startswith("Nothing is wrong") or "by V$" in ended[-1], "an all-clear names what it rests on"


def test_a_short_alert_is_not_counted_and_its_end_printed_later() -> None:
    narration, storm = Narration(), of("storm")
    quiet = replace(of("quiet"), header=storm.header)
    for seconds, reading in ((0, storm), (10, quiet), (20, storm), (30, quiet), (40, storm)):
        lines = texts(narration, later(reading, seconds + (storm.at - reading.at).total_seconds()))
        assert [line.endswith("; 0 alerts") for line in lines if line.startswith("now: ")] in ([], [reading is quiet])
    over = storm.at + timedelta(seconds=50)
    assert texts(narration, replace(quiet, at=over)) == [], "the alert may return, as it did twice"
    lines = texts(narration, replace(quiet, at=over + timedelta(minutes=1)))
    assert lines[0].startswith(f"at {clock(over)}: ended, seen for 0:10, last: ")
    assert any(line.startswith("now: ") and line.endswith("; 0 alerts") for line in lines)


@pytest.mark.parametrize("scenario", some(["lost", "changes"], ["mixed"]))
def test_watch_prints_the_alerts_of_the_event_list_with_their_times(scenario: str) -> None:
    narration, history, lines = Narration(), EventHistory(), []
    for now, reading in polled(scenario, 40):
        history.add(reading, now)
        lines += narration.take(reading, now)
    events = [each for each in history.events if each.kind in {ALERT_BETTER, ALERT_ENDED, ALERT_WORSE}]
    assert events
    found = [re.fullmatch(r"(\S+)  (?:at (\S+): )?((?:better|ended|worse), .*)", line) for line in lines]
    turns = [(match[2] or match[1], match[3]) for match in found if match]
    assert sorted(turns) == sorted((clock(each.at), each.text) for each in events)


@pytest.mark.parametrize(("scenario", "most"), [("lost", 12), ("storm", 8), ("mixed", 12)])
def test_do_is_printed_again_for_another_session(scenario: str, most: int) -> None:
    narration, last, times, holder, since = Narration(), "", 0, "", None
    for now, reading in polled(scenario, 40):
        lines = [line[10:] for line in narration.take(reading, now)]
        steps = [line.removeprefix("do: ") for line in lines if line.startswith("do: ")]
        last, times = steps[-1] if steps else last, times + len(steps)
        step = to_do(reading)
        named = "" if step is None or step.beside else next(iter(re.findall(r"[A-Z]+ \d:\d+", step.text)), "")
        since, holder = (since, holder) if since is not None and named == holder else (reading.at, named)
        lasts = (reading.at - since).total_seconds() >= 20
        if step is not None and named and (lasts or step.step is not Step.WAIT):
            assert named in last
    assert 1 <= times <= most, "another time or another waiting queue is no news"


@pytest.mark.parametrize(("scenario", "polls"), [("rac", 15), ("lost", 12)])
def test_the_newest_decision_is_about_sessions_that_are_there(scenario: str, polls: int) -> None:
    """With two sessions in a step, only the first counted: its cancel of the second stood for minutes without it."""
    narration, decides = Narration(), set[str]()
    for now, reading in polled(scenario, polls, step=10.0):
        for line in narration.take(reading, now):
            if "  do: " in line:
                decides = set(re.findall(r"[A-Z]+ \d:\d+", line.partition("decide whether to ")[2]))
        assert decides <= {each.who for each in reading.running}


def test_a_wait_is_printed_again_after_twenty_seconds_of_another_holder() -> None:
    storm, narration = of("storm"), Narration()
    step = to_do(storm)
    assert step is not None
    assert step.step is Step.WAIT
    texts(narration, storm)
    holder = next(each for each in storm.running if each.who in step.short)
    others = tuple(replace(each, user="OTHER") if each is holder else each for each in storm.running)
    other = replace(storm, running=others)
    for seconds, reading, expected in ((5, other, 0), (20, other, 0), (24, storm, 0), (30, other, 0), (50, other, 1)):
        lines = [line for line in texts(narration, later(reading, seconds)) if line.startswith("do: ")]
        assert len(lines) == expected, seconds
        assert all("OTHER" in line for line in lines)


def test_the_added_step_for_the_queue_is_updated_after_twenty_seconds() -> None:
    """An instance is gone, and the holder that the queue waits for changes."""
    narration, last, times, holder, since = Narration(), "", 0, "", None
    for now, reading in polled("lost", 40):
        steps = [line for line in narration.take(reading, now) if "  do: " in line]
        last, times = steps[-1] if steps else last, times + len(steps)
        step = to_do(reading)
        if step is None or not (names := re.findall(r"[A-Z]+ \d:\d+", step.beside)):
            since = None
            continue
        named = names[0]
        since, holder = (since, holder) if since is not None and named == holder else (reading.at, named)
        if (reading.at - since).total_seconds() >= 20:
            assert holder in last.partition("; for the queue, ")[2]
    assert times <= 12


def test_the_added_step_for_the_queue_is_withdrawn_after_twenty_seconds() -> None:
    narration, (now, gone) = Narration(), list(polled("lost", 3))[-1]
    over = replace(gone, heads=())
    for seconds, reading, expected in ((0, gone, 1), (5, over, 0), (20, over, 0), (25, over, 1), (60, over, 0)):
        lines = [line for line in narration.take(later(reading, seconds), now) if "  do: " in line]
        assert ["; for the queue, " in line for line in lines] == [reading is gone] * expected, seconds


def test_an_intermittent_view_does_not_repeat_the_step(tmp_path: Path) -> None:
    clock, readings = Clock(), Readings()
    poller = Poller(SimulatorSource(without(tmp_path, "storm", "V$SESSION", at=8), clock=clock, start=BEGIN))
    poller.open()
    found = []
    for second in range(0, 12, 2):
        clock.now = float(second)
        found.append(readings.read(poller.poll()).reading)
    poller.close()
    narration, lines = Narration(), list[str]()
    for turn in range(20):
        now = BEGIN + timedelta(seconds=60 + 2 * turn)
        lines += texts(narration, replace(found[-1] if turn % 2 else found[1], at=now))
    steps = [line for line in lines if line.startswith("do: ")]
    assert any("GV$SESSION did not answer" in line for line in steps)
    assert len(steps) < 8


def test_a_summary_is_printed_at_each_interval() -> None:
    narration, quiet = Narration(60.0), of("quiet")
    assert texts(narration, quiet)
    assert texts(narration, later(quiet, 59)) == []
    assert [line[:5] for line in texts(narration, later(quiet, 60))][:1] == ["now: "]


def test_a_reconnection_and_an_unavailable_view_are_printed_once() -> None:
    narration, quiet = Narration(), of("quiet")
    texts(narration, quiet)
    blind = replace(later(quiet, 5), troubles=(UnansweredQuery("osstat", "GV$OSSTAT", "ORA-00942", "Ask for it."),))
    assert texts(narration, blind, epoch=2) == [
        "connected again; no rates over the gap",
        "not seen: GV$OSSTAT: ORA-00942 Ask for it.",
    ]
    assert texts(narration, later(blind, 5), epoch=2) == []


def test_a_time_without_polls_is_printed_and_not_counted_as_seen() -> None:
    """The queue is seen for 10 s; the reading after 45 minutes has the mean of all that time."""
    narration, queue = Narration(), of("storm")
    quiet = replace(of("quiet"), header=queue.header, interval=2700.0)
    texts(narration, queue)
    texts(narration, later(queue, 10))
    lines = texts(narration, replace(quiet, at=queue.at + timedelta(seconds=2710)))
    since = clock(queue.at + timedelta(seconds=10))
    assert lines[0] == f"no polls for 45 min, since {since}; what happened in that time is not known"
    assert any(line.startswith("ended in the time without polls, seen for 0:10, last: ") for line in lines)
    assert any("CPUs used on average over 45 min;" in line for line in lines)
    assert "no starved group on average, no downgrade in 45 min" in lines[-1]


def test_a_clock_set_back_is_not_a_reconnection() -> None:
    narration, quiet = Narration(), of("quiet")
    texts(narration, quiet)
    assert texts(narration, later(quiet, -3600), epoch=2) == ["the clock went back by 1 h or more; no rates over that"]


def test_an_outage_has_one_line_at_its_begin_and_one_at_its_end() -> None:
    narration, quiet = Narration(), of("quiet")
    texts(narration, quiet)
    late = [UnansweredQuery(view.lower(), f"GV${view}", "no answer within 3 s", "") for view in ("SESSION", "SYSSTAT")]
    lines = []
    for seconds in range(2, 62, 2):
        troubles = tuple(replace(each, age=float(seconds)) for each in late)
        lines += texts(narration, replace(later(quiet, seconds), troubles=troubles))
    assert lines == ["not seen: GV$SESSION, GV$SYSSTAT: no answer within 3 s"]
    granted = replace(late[0], text="ORA-00942", cure="Ask for it.")
    assert texts(narration, replace(later(quiet, 62), troubles=(granted,))) == [
        "not seen: GV$SESSION: ORA-00942 Ask for it.",
        "seen again: GV$SYSSTAT (no data for 1 min)",
    ]
    assert texts(narration, later(quiet, 64)) == ["seen again: GV$SESSION (no data for 2 s)"]


def watched(folder: Path, *views: str, at: float, lasts: float, seconds: int) -> list[list[str]]:
    """Return the lines of each poll of the scenario storm, two seconds apart; views do not answer for a while."""
    clock, narration, readings = Clock(), Narration(6.0), Readings()
    source = SimulatorSource(without(folder, "storm", *views, at=at, lasts=lasts), clock=clock, start=BEGIN)
    poller = Poller(source, keep_late=False)
    poller.open()
    found = []
    for second in range(0, seconds, 2):
        clock.now = float(second)
        came = readings.read(poller.poll())
        found.append([line[10:] for line in narration.take(came.reading, came.snapshot)])
    poller.close()
    return found


def test_without_any_view_one_line_is_printed_and_no_counts(tmp_path: Path) -> None:
    before, during, after = [], [], []
    for number, lines in enumerate(watched(tmp_path, at=8, lasts=15, seconds=40)):
        (before if number < 4 else after if any("seen again" in line for line in lines) or after else during).extend(
            lines
        )
    alerts = before[-1].rpartition("; ")[2]
    assert alerts.endswith(" alerts")
    assert [line for line in during if not line.startswith("now: ")] == ["no view answers: no answer in time"]
    assert {line for line in during if line.startswith("now: ")} == {f"now: no view answers; {alerts} before that"}
    assert sum(line.startswith("seen again: all ") for line in after) == 1
    assert not any("no view" in line for line in after)


def test_the_step_for_a_view_ends_when_it_answers(tmp_path: Path) -> None:
    found = watched(tmp_path, "V$SESSION", at=8, lasts=8, seconds=40)
    asked = next(number for number, lines in enumerate(found) if any("check why V$SESSION" in line for line in lines))
    back = next(number for number, lines in enumerate(found) if "seen again: GV$SESSION (no data for 16 s)" in lines)
    assert asked < back < asked + 10
    assert any("not seen: GV$SESSION" in line for line in found[asked]), "the session named before cannot be judged now"
    assert [line[:4] for line in found[back] if line.startswith("do: ")] == ["do: "]
    counts = [line.rpartition("; ")[2] for lines in found[asked:back] for line in lines if line.startswith("now: ")]
    assert not any("ended" in line for line in found[back]), "the idle holder is looked up in the same poll"
    assert counts
    assert all(count.endswith(" of them not checked now") for count in counts)


def test_plain_has_words_for_signs() -> None:
    narration, quiet = Narration(plain=True), of("quiet")
    texts(narration, quiet)
    other = replace(later(quiet, 5), header=replace(quiet.header, plan="NIGHT"))
    assert f"plan {quiet.header.plan} to NIGHT" in texts(narration, other)
    assert all(line.isascii() for line in Narration(plain=True).take(of("storm"), polls_of("storm")[0]))


def test_unknown_totals_are_omitted() -> None:
    nothing = Totals(None, None, 0, 12, None, None, None, None, None, None, None)
    assert summary(nothing, "0 alerts", "-") == "12 parallel servers in use; 0 alerts"
    all_known = Totals(2, 61.0, 3, 24, 24, 48, 0, 0, 6.25, 0.0, 16.0)
    assert summary(all_known, "1 alert", "24 = 12 + 12") == (
        "6.2 of 16 CPUs used; hardly any waited for; 24 parallel servers in use of target 24 = 12 + 12; "
        "2 statements queued, the first for 1 min 1 s; 3 sessions waiting for an active session pool; 1 alert"
    )


def test_totals_are_the_sums_of_the_groups() -> None:
    reading = with_groups("A", "B")
    found = totals(reading)
    assert found.used == pytest.approx(sum(each.used or 0 for each in reading.cluster_groups()))
    assert found.queued == len(reading.queue)
    assert found.servers == reading.header.servers.in_use


def test_an_outdated_command_is_withdrawn_at_once() -> None:
    _, offered = with_effect(0)
    over = replace(offered, queue=(), heads=(), running=(), forecast=None, bypassed=())
    narration = Narration()
    assert any(line.startswith("command: ALTER SYSTEM KILL SESSION") for line in texts(narration, offered))
    assert to_do(over) is None
    assert "do: nothing now; the command above no longer applies" in texts(narration, later(over, 5))
    assert not [line for line in texts(narration, later(over, 10)) if line.startswith("do: ")]
