"""The first frame: it has all that was read by then, and nothing is painted before it."""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping

import pytest
from msgspec.structs import replace
from textual.geometry import Size
from textual.screen import Screen

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.base import terminal_guard
from presman.config.alert_lines import read_alerts
from presman.output.alert_notifier import notifier_of
from presman.polling.poll_events import Polled, PreviewCame
from presman.polling.poller import Poller
from presman.rows.queries import DetailLevel, Scope
from presman.rows.snapshot import Snapshot
from presman.services.live import LiveTarget
from presman.sources import subprocess_source
from presman.sources.simulator_source import SimulatorSource
from presman.tui.app import sampler_feed
from presman.tui.feed import Arrived, Failed
from presman.tui.first_look import PreviewReader
from presman.tui.monitor import Monitor
from presman.tui.monitor_screen import MonitorScreen
from presman.tui.textual_internals import PatientScreen
from tests.scenarios import with_short_past
from tests.tui.drive import HandFeed, acted, stage
from tests.tui.readings import busy
from tests.tui.test_live import START, Play


def seen(reading: Reading) -> Reading:
    """Return a reading without fields that differ between two polls of one instant."""
    return replace(reading, poll_seconds=0.0)


@pytest.mark.parametrize(("scenario", "kind"), [("storm", "oracle"), ("rac", "oracle"), ("pdb", "simulator")])
def test_a_preview_has_the_contents_of_the_first_look(scenario: str, kind: str) -> None:
    """It is passed on unchanged."""
    source = SimulatorSource(with_short_past(scenario), seed=3, clock=lambda: 0.0, start=START)
    source.kind = kind
    source.open()
    preview = PreviewReader(Scope.CLUSTER, (), 6.0)(source)
    assert pickle.loads(subprocess_source._written(preview, subprocess_source._WRITERS)) == preview
    poller = Poller(source)
    poller.detail_level = DetailLevel.NARROW
    poller.open()
    looks: list[Snapshot] = []
    whole = poller.poll(looks.append)
    assert len(looks) == (kind == "oracle")
    assert seen(preview) == seen(analyse(None, (*looks, whole)[0]))
    source.close()


def test_a_preview_has_the_thresholds_too() -> None:
    play = Play("locked")
    notifier = notifier_of("prod", read_alerts("idle_holder severity=critical"), (), first_is_news=False)
    posted: list[Arrived | Failed] = []
    target = LiveTarget("prod", lambda: play.poller.source, notifier=notifier)
    feed = sampler_feed(target)(posted.append, 2.0)
    snapshot = play.poll()
    feed._receive(PreviewCame(analyse(None, snapshot), time.monotonic() - 3.0))
    feed._receive(Polled(snapshot))
    feed._receive(PreviewCame("no reading", 0.0))
    first, whole, fault = posted
    assert isinstance(first, Arrived)
    assert isinstance(whole, Arrived)
    assert (first.whole, whole.whole) == (False, True)
    assert first.age >= 3.0
    assert {alert.key: alert.state for alert in wrong(first.reading)}["idle_holder"] == "bad"
    assert isinstance(fault, Failed)
    play.poller.close()


@acted
async def test_nothing_is_painted_before_the_first_content(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[str] = []
    paint = Screen._compositor_refresh

    def painted(screen: Screen[None]) -> None:
        paint(screen)
        frames.append("\n".join(strip.text for strip in screen._compositor.render_strips()))

    def start(feed: HandFeed) -> None:
        feed.post(Arrived(busy(), whole=False))

    monkeypatch.setattr(Screen, "_compositor_refresh", painted)
    monkeypatch.setattr(HandFeed, "start", start)
    async with stage(painted=True):
        assert "● LIVE" in frames[0]
        assert "BATCH" in frames[0]


@acted
async def test_a_textual_that_paints_differently_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(PatientScreen, "_compositor_refresh")
    async with stage(busy(), painted=True) as acting:
        assert "● LIVE" in acting.screen


@acted
async def test_the_terminal_guard_is_started_behind_the_first_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """To start a process takes as long as to lay out the screen."""
    done: list[str] = []
    paint = Screen._compositor_refresh
    monkeypatch.setattr(Screen, "_compositor_refresh", lambda screen: (done.append("painted"), paint(screen)))
    monkeypatch.setattr(terminal_guard, "start", lambda: done.append("watched"))
    async with stage(busy(), painted=True) as acting:
        await acting.settle()
        assert done[0] == "painted"
        assert done.count("watched") == 1


@acted
@pytest.mark.parametrize("size", [(80, 24), (120, 35), (200, 50)])
async def test_the_screen_has_the_classes_of_its_size_from_the_start(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise all would be styled and laid out again before the first frame."""
    styled: list[bool] = []
    original = MonitorScreen.update_classes

    def update(screen: MonitorScreen, classes: Mapping[str, bool], **named: bool) -> MonitorScreen:
        before = set(screen.classes)
        original(screen, classes, **named)
        styled.append(set(screen.classes) == before)
        return screen

    monkeypatch.setattr(MonitorScreen, "update_classes", update)
    async with stage(busy(), size=size, painted=True):
        assert styled
        assert all(styled)


@acted
async def test_the_login_time_does_not_age_the_first_poll() -> None:
    """Reading began 1.5 s before the preview; the whole poll came 0.5 s later, and 3 s after that it is old."""
    async with stage(size=(200, 50), painted=True) as acting:
        acting.clock.now += 7.0
        acting.app.post_message(Arrived(busy(), whole=False, age=1.5))
        await acting.settle()
        assert "age ≤4s" in acting.screen
        assert "poll -" in acting.screen, "one that is not whole has not cost all it will"
        acting.clock.now += 0.5
        acting.app.post_message(Arrived(replace(busy(), poll_seconds=0.25)))
        await acting.settle()
        assert acting.app.monitor.link.fresh == acting.clock.now - 2.0
        assert "poll ≤300ms" in acting.screen
        acting.clock.now += 3.0
        acting.app._tick()
        await acting.settle()
        assert "age 0:05" in acting.screen


def test_the_usual_cost_of_two_polls_is_the_lower_one() -> None:
    """The first asks for more than those that follow."""
    monitor = Monitor("DWPROD", 2.0, (), lambda: 0.0)
    costs: list[float | None] = []
    for seconds in (0.4, 0.02, 0.03):
        monitor.arrive(replace(busy(), poll_seconds=seconds), None)
        costs.append(monitor.cost)
    assert costs == [0.4, 0.02, 0.03]


@acted
async def test_the_screen_is_laid_out_once_for_the_size_that_it_begins_with(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[Size] = []
    lay_out = PatientScreen._refresh_layout

    def noted(screen: PatientScreen, *size: Size, **named: bool) -> None:
        sizes.extend(size)
        lay_out(screen, *size, **named)

    monkeypatch.setattr(PatientScreen, "_refresh_layout", noted)
    async with stage(busy()) as acting:
        assert sizes == [Size(120, 30)]
        await acting.resize(100, 30)
        assert sizes[-1] == Size(100, 30)
