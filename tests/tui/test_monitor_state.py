"""The state of the monitor: the link and its ages, polls that arrive while back in time, moments; by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.readings.reading import Reading
from presman.analysis.trends.database_events import DatabaseEvent
from presman.tabs.choices import Link, LinkState
from presman.tui.monitor import Moments, Monitor
from tests.recording.recorded import polled
from tests.tui.readings import busy, quiet


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def monitor(clock: Clock) -> Monitor:
    return Monitor("DWPROD", 2.0, ("tuning",), clock)


def reading(number: int, **facts: Any) -> Reading:
    return replace(busy(number), **facts)


def test_a_new_monitor_has_no_reading(monitor: Monitor) -> None:
    assert monitor.link == Link(LinkState.CONNECTING, "", 100.0, 100.0, None)
    assert (monitor.cost, monitor.is_frozen, monitor.containers, monitor.moment()) == (None, False, False, None)
    monitor.pause()
    assert not monitor.is_frozen, "there is nothing to freeze"
    assert monitor.choices.packs == ("tuning",)


def test_a_poll_is_as_old_as_its_rows(monitor: Monitor, clock: Clock) -> None:
    clock.now = 110.0
    monitor.arrive(reading(1, poll_seconds=0.5, stale=1.0), None)
    assert (monitor.link.since, monitor.link.fresh) == (110.0, 108.5)
    monitor.arrive(reading(2, stale=None), None)
    assert monitor.link.fresh == 100.0, "no poll came: since the start of presman"


def test_a_first_look_is_shown_with_its_age(monitor: Monitor, clock: Clock) -> None:
    clock.now = 103.0
    monitor.preview(reading(1), 1.0)
    assert (monitor.link.state, monitor.link.since, monitor.link.fresh) == (LinkState.LIVE, 103.0, 102.0)
    clock.now = 110.0
    monitor.arrive(reading(1, poll_seconds=0.5), None)
    assert monitor.link.fresh == 102.0, "the whole poll is no younger than its preview"
    monitor.preview(reading(2), 0.0)
    assert monitor.latest is not None
    assert monitor.latest.number == 1, "a look is the first or none"
    early = Monitor("X", 2.0, (), clock)
    early.preview(reading(1), 30.0)
    assert early.link.fresh == 110.0, "not from before it was begun"


def test_the_usual_cost_is_the_middle_of_nine_polls(monitor: Monitor) -> None:
    for number, cost in enumerate((9.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0), 1):
        monitor.arrive(reading(number, poll_seconds=cost), None)
        if number == 2:
            monitor.arrive(reading(2, poll_seconds=1.0), None)
    # The last nine: 1, 2, ... 8 and the second 1.
    assert monitor.cost == 4.0
    fresh = Monitor("X", 2.0, (), lambda: 0.0)
    for cost in (1.0, 3.0):
        fresh.arrive(reading(1, poll_seconds=cost), None)
    assert fresh.cost == 1.0, "of two the less"


def test_a_loss_lasts_from_its_beginning(monitor: Monitor, clock: Clock) -> None:
    monitor.arrive(reading(1), None)
    fresh = monitor.link.fresh
    clock.now = 120.0
    monitor.lose("no route", 5.0)
    assert monitor.link == Link(LinkState.LOST, "no route", 120.0, fresh, 125.0)
    assert monitor.why_no_command == "the connection is lost"
    clock.now = 130.0
    monitor.lose("refused", None, lasting=99.0)
    assert monitor.link == Link(LinkState.LOST, "refused", 120.0, fresh, None)
    other = Monitor("X", 2.0, (), clock)
    other.lose("gone", 0.0, lasting=30.0)
    assert (other.link.since, other.link.retry_at) == (100.0, 130.0)


def test_a_frozen_view_stays_while_polls_are_stored(monitor: Monitor, clock: Clock) -> None:
    polls = [(each, snapshot) for snapshot, each in polled("quiet", 4)]
    for each, snapshot in polls[:3]:
        monitor.arrive(each, snapshot)
    monitor.pause()
    assert (monitor.is_frozen, monitor.choices.paused) == (True, 100.0)
    assert monitor.why_no_command == "the view is paused, or back in time"
    monitor.arrive(*polls[3])
    assert monitor.latest is not None
    assert monitor.reading is not None
    assert (monitor.latest.number, monitor.reading.number, monitor.choices.behind) == (4, 3, 1)
    monitor.pause()
    assert (monitor.is_frozen, monitor.reading.number, monitor.why_no_command) == (False, 4, "")


def test_steps_end_at_the_newest_and_at_the_oldest(monitor: Monitor) -> None:
    for snapshot, each in polled("quiet", 4):
        monitor.arrive(each, snapshot)
    assert not monitor.step(1), "there is nothing newer"
    assert monitor.step(-2)
    assert monitor.choices.behind == 2
    assert monitor.step(-9)
    assert monitor.choices.behind == 3
    assert not monitor.step(-1)
    assert monitor.reading is not None
    assert monitor.reading.number == 1
    assert monitor.step(9)
    assert (monitor.choices.behind, monitor.reading.number) == (0, 4)
    monitor.look_back(1)
    assert (monitor.choices.behind, monitor.reading.number) == (1, 3)


def test_no_command_is_offered_for_old_data(monitor: Monitor) -> None:
    monitor.arrive(busy(), None)
    monitor.assess()
    assert monitor.to_do is not None
    assert monitor.to_do.commands
    assert monitor.alerts
    monitor.pause()
    monitor.assess()
    assert monitor.to_do is not None
    assert (monitor.to_do.commands, monitor.to_do.affects) == ((), "")
    calm = Monitor("X", 2.0, (), lambda: 0.0)
    calm.arrive(quiet(), None)
    calm.assess()
    assert calm.to_do is None


def at_four(clock: Clock) -> tuple[Monitor, Moments, list[str]]:
    """Return a monitor after four polls five seconds apart, its moments, and the list of notices and paints."""
    monitor, shown = Monitor("DWPROD", 2.0, (), clock), list[str]()
    moments = Moments(monitor, lambda text, **_: shown.append(text), lambda: shown.append("painted"))
    for snapshot, each in polled("quiet", 4):
        monitor.arrive(each, snapshot)
        moments.arrive(each, snapshot)
    return monitor, moments, shown


def test_going_to_an_instant_reports_times_out_of_range(clock: Clock) -> None:
    monitor, moments, shown = at_four(clock)
    assert moments.span is not None
    first, last = moments.span
    assert (last - first).total_seconds() == 15

    def gone(at: Any) -> tuple[int, list[str]]:
        shown.clear()
        moments.go_to(at)
        assert monitor.reading is not None
        return monitor.reading.number, [text.partition(" ")[0] + text[-22:] for text in shown if text != "painted"]

    assert gone(first + timedelta(seconds=7)) == (2, [])
    assert gone(first) == (1, [])
    assert gone(last) == (4, [])
    assert gone(first - timedelta(seconds=2))[1][0].startswith("No")
    assert "this is the first." in shown[-1]
    assert gone(last + timedelta(seconds=1))[0] == 4
    assert "this is the newest." in shown[-1]
    shown.clear()
    moments.click(last + timedelta(seconds=1))
    assert shown == ["painted"], "the newest stretch of a chart ends after the newest poll"
    shown.clear()
    moments.step(-1)
    moments.step(-9)
    moments.step(-1)
    assert shown == ["painted"] * 2
    nothing = Moments(Monitor("X", 2.0, (), clock), lambda text, **_: shown.append(text), lambda: None)
    shown.clear()
    for act in (lambda: nothing.go_to(first), lambda: nothing.click(first), lambda: nothing.jump("first"),
                lambda: nothing.jump("")):  # fmt: skip
        act()
    assert (shown, nothing.span, nothing.event(1)) == ([], None, None)
    moments.jump("soon")
    assert "soon" in shown[-1]


def test_events_of_a_poll_are_named_four_at_most(clock: Clock) -> None:
    monitor, moments, shown = at_four(clock)
    assert moments.span is not None
    first, _ = moments.span
    at = first + timedelta(seconds=5)
    monitor.events = [DatabaseEvent(at, "timeout", "", "", f"e{n}") for n in range(6)]
    shown.clear()
    moments.to_event(-1)
    assert shown[-1] == "e0 · e1 · e2 · e3 · +2 more: E lists them"
    monitor.events = monitor.events[:4]
    moments.to_event(-1)
    assert shown[-1].startswith("There is no event before this. The oldest poll is from ")
    moments.go_to(first)
    moments.to_event(1)
    assert shown[-1] == "e0 · e1 · e2 · e3"
    moments.to_event(1)
    assert shown[-1] == "There is no event after this."
    ends = [DatabaseEvent(at + timedelta(seconds=n), "queue ended", "", "", "empty") for n in (1, 1, 2)]
    monitor.events = [*monitor.events, *ends]
    moments.to_event(1)
    assert shown[-1] == "n skips the 3 events after this: they only end something. E lists all."
    monitor.events = [DatabaseEvent(first, "queue ended", "", "", "empty"), *ends]
    moments.to_event(-1)
    assert shown[-1].startswith("p skips the 1 event before this: it only ends something. E lists all. The oldest poll")
