"""Thresholds of config.ini on the screen: in new readings and back in time."""

from __future__ import annotations

import time
from pathlib import Path

from textual.message import Message

from presman.analysis.alerts.alert_rules import by_rules, wrong
from presman.config.alert_lines import read_alerts
from presman.output.alert_notifier import notifier_of
from presman.polling.poll_events import Polled, PreviewCame
from presman.services.live import LiveTarget
from presman.tui.app import sampler_feed
from presman.tui.feed import Arrived
from presman.tui.timeline import Timeline
from tests.tui.test_live import Play


def arrivals(settings: str, polls: int, command: tuple[str, ...] = ()) -> list[Arrived]:
    """Return the messages of a feed of a locked database: a preview, then the given number of polls."""
    play = Play("locked")
    posted: list[Message] = []
    notifier = notifier_of("prod", read_alerts(settings), command, first_is_news=False)
    target = LiveTarget("prod", lambda: play.poller.source, notifier=notifier)
    feed = sampler_feed(target)(posted.append, 2.0)
    snapshots = [play.poll() for _ in range(polls)]
    feed._receive(PreviewCame(snapshots[0], time.monotonic()))
    for snapshot in snapshots:
        feed._receive(Polled(snapshot))
    play.poller.close()
    if notifier is not None:
        notifier.close()
    return [each for each in posted if isinstance(each, Arrived)]


def test_thresholds_apply_to_the_screen_and_the_past() -> None:
    first, *others = arrivals("idle_holder severity=critical\nblocked_holder severity=off\nqueue_waits for=1h", 3)
    timeline = Timeline()
    for each in others:
        timeline.add(each.reading, each.snapshot)
    for reading in (first.reading, *(each.reading for each in others), timeline.reading(2)):
        assert reading is not None
        found = {alert.key: alert.state for alert in wrong(reading)}
        assert found["idle_holder"] == "bad"
        assert found["queue_waits"] == "note"
        assert "blocked_holder" not in found
        assert "blocked_holder" in {alert.key for alert in by_rules(reading)}


def test_alerts_present_at_the_start_are_no_events(tmp_path: Path) -> None:
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ncat >> {tmp_path}/events\n")
    hook.chmod(0o700)
    assert arrivals("", 3, (str(hook),))[-1].reading.alerts is None
    assert not (tmp_path / "events").exists()
