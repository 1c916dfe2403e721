"""The monitor on a recording: the same screens, with keys for playing and a bar with the position."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from presman.analysis.readings.reading import Reading
from presman.analysis.trends.database_events import DatabaseEvent
from presman.base.text import clean
from presman.figures.drawing.lines import Line, merge, spark
from presman.recording.playback_values import Stretch
from presman.recording.time_words import spelled_instant
from presman.rows.snapshot import Snapshot
from presman.tabs.parts import Key
from presman.tui.app import MonitorApp, MonitorEnd, shown
from presman.tui.feed import Arrived
from presman.tui.keyed_app import NO_DATA, AppKey, has_data
from presman.tui.keys import time_keys
from presman.tui.monitor import Moments
from presman.tui.player import Jumped, PlaybackLoaded, PlaybackNotice, Player, Recalled, Stopped
from presman.tui.widgets.line_api import LineView

if TYPE_CHECKING:
    from presman.recording.recording_source import RecordingSource


def toggle(app: ReplayApp) -> None:
    """Play, or stop at the current poll."""
    app.player.play(on=not app.player.playing)
    app.show_state()


def speed(app: ReplayApp, direction: int) -> None:
    """Play faster (1) or slower (-1); while it is stopped no line shows the speed, so notify the user of it."""
    app.player.faster(direction)
    app.show_state()
    if not app.player.playing:
        app.notify(f"Space plays at {app.player.speed:g}x.", timeout=2)


def _label(app: ReplayApp) -> str:
    return "stop" if app.player.playing else "play"


REPLAY_KEYS = (
    AppKey(Key("pause", "space", "Space", "play", "Play, or stop here."), toggle, has_data, NO_DATA, _label),
    time_keys.BACK.worded("One poll back.", "poll back", when=has_data, why_not=NO_DATA),
    time_keys.FORWARD.worded("One poll forward.", "poll on", when=has_data, why_not=NO_DATA),
    time_keys.FAR_BACK.worded("15 polls back.", when=has_data, why_not=""),
    time_keys.FAR_FORWARD.worded("15 polls forward.", "15 on", when=has_data, why_not=""),
    AppKey(Key("live", "end", "End", "last", "The last poll, of those written meanwhile too."),
           lambda app: app.player.jump(None), has_data, NO_DATA),
    AppKey(Key("slower", "plus,equals_sign", "+", "faster", "Play faster."), lambda app: speed(app, 1)),
    AppKey(Key("faster", "minus", "-", "slower", "Play slower."), lambda app: speed(app, -1)),
    AppKey(Key("poll_now", "f5", "F5", "jump", "Go to a time: 03:12, 3m ago, first, last."),
           time_keys.ask_time, has_data),
    time_keys.JUMP, time_keys.NEXT_EVENT, time_keys.PREVIOUS_EVENT,
)  # fmt: skip
"""Those with the name of a key for live databases replace it."""


_WHOLE = 10.0
"""Seconds between two polls from which they are shown without decimals."""


class RecordedMoments(Moments):
    """The moments of a recording, and the events in it. Requests run in the player's thread, one after the other."""

    def __init__(self, app: ReplayApp) -> None:
        super().__init__(app.monitor, app.notify_from_thread, app.repaint)
        self._replay = app

    def arrive(self, reading: Reading, snapshot: Snapshot | None) -> None:
        """Do nothing: the events were recorded."""

    def lose(self, text: str) -> None:
        """Do nothing: a recording has no connection to lose."""

    @property
    def span(self) -> tuple[datetime, datetime] | None:
        """The first and last instant of the recording; None until it is open."""
        return self._replay.span

    @property
    def at(self) -> datetime | None:
        """The instant that the keys so far lead to. Only for requests."""
        return self._replay.player.aimed_at

    def jump(self, words: str) -> None:
        """Go to the time that `words` describe."""
        self._replay.player.ask(partial(super().jump, words))

    def step(self, polls: int) -> None:
        """Move by `polls`, forward or back."""
        self._replay.player.step(polls)

    def go_to(self, at: datetime) -> None:
        """Show the last poll not after an instant."""
        self._replay.player.jump(at)

    def to_event(self, direction: int) -> None:
        """Go to the next (1) or previous (-1) event."""
        self._replay.player.ask(partial(super().to_event, direction))

    def show(self, event: DatabaseEvent) -> None:
        """Go to an event, and stop there."""
        self._replay.player.play(on=False)
        super().show(event)

    def _oldest(self, first: datetime) -> str:  # noqa: ARG002 - there are no earlier events than those recorded
        return ""


class ReplayApp(MonitorApp):
    """The monitor on a recording."""

    def __init__(
        self,
        make_source: Callable[[], RecordingSource],
        *,
        name: str,
        theme: str | None = None,
        follow: bool = False,
        begin: str = "",
    ) -> None:
        super().__init__(
            lambda post, _refresh: Player(make_source, post, follow=follow, begin=begin), name=name, theme=theme
        )
        self.monitor.choose(recorded=True)
        self.own_keys = {each.key.name: each for each in REPLAY_KEYS}
        self.span: tuple[datetime, datetime] | None = None
        self.moments = RecordedMoments(self)
        self.replayed = make_source
        self.scrub = ScrubBar()

    @property
    def player(self) -> Player:
        """The player of the recording."""
        assert isinstance(self.feed, Player)
        return self.feed

    async def on_playback_loaded(self, event: PlaybackLoaded) -> None:
        """Show the bar, and notify the user of unreadable parts of the recording."""
        self.span, self.monitor.events = (event.first, event.last), event.events
        self.scrub.load(event.first, event.last, event.strip, event.events)
        if not self.scrub.is_attached:
            await self.mount(self.scrub, before="#keys")
        if event.message:
            self.notify(event.message, severity="warning", timeout=12)

    def on_arrived(self, event: Arrived) -> None:
        """Take the next poll of the recording."""
        event.prevent_default()  # Textual would also call the overridden method
        super().on_arrived(event)
        self.show_state()

    def on_jumped(self, event: Jumped) -> None:
        """Show another time."""
        first = self.monitor.latest is None
        self.monitor.jump(event.timeline, event.reading, event.snapshot)
        self.monitor.forecast_basis = event.forecast_basis
        if first:
            super().on_arrived(Arrived(event.reading, None, forecast_basis=event.forecast_basis))
            if not self.player.playing:
                self.notify("Stopped at the time that was named: Space plays from here.", timeout=8)
        self.show_state(paint=False)
        self.repaint()

    def on_recalled(self, event: Recalled) -> None:
        """Add the history before a jump that only the polls contain."""
        self.monitor.recall(event.timeline)
        self.show_state(paint=False)
        self.repaint()

    def notify_from_thread(self, text: str, **how: Any) -> None:
        """Notify the user, from any thread."""
        self.post_message(PlaybackNotice(text, **how))

    def on_playback_notice(self, event: PlaybackNotice) -> None:
        """Notify the user."""
        self.notify(event.text, **event.how)

    def on_stopped(self, event: Stopped) -> None:
        """Show that playing has stopped."""
        if event.text:
            self.notify(event.text, severity="warning", timeout=10)
        self.show_state()

    def show_state(self, *, paint: bool = True) -> None:
        """Show at the top whether it plays, its speed, position and poll interval; move the mark of the bar."""
        if (reading := self.monitor.reading) is None:
            return
        if reading.interval:
            self.monitor.choose(refresh=round(reading.interval, 1 if reading.interval < _WHOLE else None))
        player = self.player
        sign = f"▶ {player.speed:g}x" if player.playing else "‖"
        if player.is_following:
            sign = "✕ not read since" if player.trouble else "● newest"
        state = f"{sign} {spelled_instant(reading.at)}"
        draw = self.repaint if self.monitor.replays(state, stopped=not player.playing) else self.paint_lines
        self.scrub.show(reading.at, reads_past=self.monitor.timeline.watch.lacks_past)
        if paint:
            draw()


def run_replay(
    make_source: Callable[[], RecordingSource],
    *,
    name: str,
    theme: str | None = None,
    ascii_only: bool = False,
    follow: bool = False,
    home: bool = False,
    begin: str = "",
    fixed: Collection[str] = (),
) -> MonitorEnd:
    """Show a recording until the user quits.

    With `follow` it begins at the end and continues as the recording grows, else it begins at the time that the words
    `begin` describe. `home` means that there is a fleet to go back to, `fixed` names the settings that override the
    saved view.
    """
    app = ReplayApp(make_source, name=clean(name), theme=theme, follow=follow, begin=begin)
    return shown(app, [*fixed, "refresh"], home=home, ascii_only=ascii_only)


# ---- Scrub bar: the whole recording on two lines: queue and throttle over time, the position and the events.

_HEADS = ("queue     ", "throttled ")


class ScrubBar(LineView):
    """Two lines above the keys; `show` draws them for an instant."""

    ground = "panel"

    def __init__(self) -> None:
        super().__init__(id="scrub")
        self._strip: Sequence[Stretch] = ()
        self._events: Sequence[DatabaseEvent] = ()
        self._span: tuple[datetime, datetime] | None = None

    def load(self, first: datetime, last: datetime, strip: Sequence[Stretch], events: Sequence[DatabaseEvent]) -> None:
        """Take the summary of the recording."""
        self._span, self._strip, self._events = (first, last), strip, events

    def show(self, at: datetime, *, reads_past: bool = False) -> None:
        """Draw both lines with the mark at an instant; `reads_past` while the hour before it is being read."""
        if self._span is not None:
            self.show_lines(scrub_lines(self._strip, self._span, self._events, at, self.size.width, reads_past))


def scrub_lines(
    strip: Sequence[Stretch],
    span: tuple[datetime, datetime],
    events: Sequence[DatabaseEvent],
    at: datetime,
    width: int,
    reads_past: bool = False,
) -> list[Line]:
    """Return the two lines: the longest queue and the throttled percentage of each stretch, the mark, the ends."""
    first, last = span
    bounds = f" {first.astimezone():%m-%d %H:%M} – {last.astimezone():%m-%d %H:%M} "
    happened = bisect_right(events, at, key=lambda each: each.at)
    counts = (" reading the last hour" if reads_past else f" event {happened} of {len(events)}").ljust(len(bounds))
    room = max(10, width - len(_HEADS[0]) - len(bounds) - 1)
    whole = max(1.0, (last - first).total_seconds())
    index = min(room - 1, max(0, int((at - first).total_seconds() / whole * room)))
    lines = []
    for head, text, tail in zip(_HEADS, _sparks(tuple(strip), room), (bounds, counts), strict=True):
        before, after = (text[:index], "note"), (text[index + 1 :], "dim")
        lines.append(merge([(head, "dim"), before, ("┃", "title"), after, (tail, "dim")]))
    return lines


@lru_cache(maxsize=2)
def _sparks(strip: tuple[Stretch, ...], room: int) -> tuple[str, str]:
    """Return queue and throttle in `room` cells each, cached: they do not change while the mark moves."""
    queued = _fitted([None if each.queued is None else float(each.queued) for each in strip], room)
    throttled = _fitted([each.throttled if each.polls else None for each in strip], room)
    return spark(queued, room).ljust(room), spark(throttled, room, 100.0).ljust(room)


def _fitted(values: Sequence[float | None], width: int) -> list[float | None]:
    """Return the highest value in each of `width` cells."""
    found: list[float | None] = []
    for cell in range(width):
        start = cell * len(values) // width
        cells = values[start : max(start + 1, (cell + 1) * len(values) // width)]
        known = [value for value in cells if value is not None]
        found.append(max(known) if known else None)
    return found
