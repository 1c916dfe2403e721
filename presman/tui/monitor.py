"""The state of the monitor: the data, the poll on show, the user's choices. Knows no widget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from presman.analysis.readings.reading import Alert, Reading
from presman.analysis.trends.database_events import DatabaseEvent, EventHistory, beside
from presman.base.errors import InputError
from presman.base.formats import clock
from presman.rows.snapshot import Snapshot
from presman.tabs.alerts import alerts
from presman.tabs.choices import Choices, Link, LinkState
from presman.tabs.parts import Moment
from presman.tui.timeline import Timeline

if TYPE_CHECKING:
    from presman.analysis.advice.step import ToDo
    from presman.forecast.forecaster import Foresight

_COSTS = 9
"""Polls whose usual cost is shown."""


class Monitor:
    """One database being watched: the newest reading, the one on screen, the link, and the user's choices.

    `latest` is the newest reading and `reading` the one on screen: the same but while the view is frozen or somebody
    looks back. `alerts` are those of the screen, `to_do` is the one thing to do.
    """

    def __init__(self, name: str, refresh: float, packs: tuple[str, ...], clock: Callable[[], float]) -> None:
        self.name = name
        self.clock = clock
        self.choices = Choices(refresh=refresh, packs=packs)
        self._begun = clock()
        self.link = Link(since=self._begun, fresh=self._begun)
        self.latest: Reading | None = None
        self.reading: Reading | None = None
        self.alerts: tuple[Alert, ...] = ()
        self.to_do: ToDo | None = None
        self.foresight: Foresight | None = None
        """What the forecasts of the newest reading are made of, None where it has none."""
        self._costs: list[float] = []
        self.events: Sequence[DatabaseEvent] = ()
        """What happened, oldest first."""
        self._events_then: Sequence[DatabaseEvent] = ()
        """What was known of that when the view was paused."""
        self.timeline = Timeline()
        """The polls so far."""

    @property
    def cost(self) -> float | None:
        """Seconds that a poll usually takes."""
        return sorted(self._costs)[(len(self._costs) - 1) // 2] if self._costs else None

    @property
    def is_frozen(self) -> bool:
        """Whether the screen shows something else than the newest reading."""
        return self.choices.paused is not None or self.choices.behind > 0

    @property
    def why_no_command(self) -> str:
        """Why no command is offered to copy at all: what is on screen is old. "" where commands are offered."""
        if self.link.state is LinkState.LOST:
            return "the connection is lost"
        return "the view is paused, or back in time" if self.is_frozen else ""

    @property
    def containers(self) -> bool:
        """Whether this is known to be a container database."""
        return self.reading is not None and self.reading.header.cdb

    def choose(self, **changes: Any) -> None:
        """Change some of the user's choices."""
        self.choices = replace(self.choices, **changes)

    # ---- what comes in

    def preview(self, reading: Reading, age: float) -> None:
        """Take what of the first poll is there, until it is whole: it is shown, and not kept.

        It began to be read `age` seconds ago.
        """
        if self.latest is None:
            now = self.clock()
            self.latest = self.reading = reading
            self.link = Link(LinkState.LIVE, since=now, fresh=max(self._begun, now - age))

    def arrive(self, reading: Reading, snapshot: Snapshot | None) -> None:
        """Take a new reading; while the view is frozen only keep it."""
        now = self.clock()
        fresh = self._begun if reading.stale is None else now - reading.poll_seconds - reading.stale
        if self.cost is None and self.latest is not None and self.latest.at == reading.at:
            fresh = min(fresh, self.link.fresh)  # what was seen of it is as old as it was
        self.latest = reading
        self.timeline.add(reading, snapshot)
        self.link = Link(LinkState.LIVE, since=now, fresh=fresh)
        self._costs = [*self._costs[1 - _COSTS :], reading.poll_seconds]
        if self.is_frozen:
            self.choose(behind=min(self.choices.behind + 1, max(0, len(self.timeline) - 1)))
        else:
            self.reading = reading

    def jump(self, timeline: Timeline, reading: Reading, snapshot: Snapshot) -> None:
        """Take a reading of another time, with the polls and charts that lead to it."""
        self.timeline = timeline
        self.choose(behind=0, paused=None)
        self.arrive(reading, snapshot)

    def recall(self, timeline: Timeline | None) -> None:
        """Take a timeline that goes further back to the same newest poll; None where that cannot be had."""
        if timeline is None:
            self.timeline.watch.lacks_past = False
        else:
            self.timeline = timeline

    def replays(self, text: str) -> None:
        """Note that a recording is on show, and what it does."""
        self.link = replace(self.link, state=LinkState.REPLAY, text=text)

    def lose(self, text: str, retry_in: float | None, lasting: float = 0.0) -> None:
        """Note that the link has been lost for some seconds: the last data stay on show and grow old."""
        now = self.clock()
        since = self.link.since if self.link.state is LinkState.LOST else now - lasting
        retry_at = None if retry_in is None else now + retry_in
        self.link = Link(LinkState.LOST, text, since, self.link.fresh, retry_at)

    def end(self) -> None:
        """Note that at its end."""
        self.link = replace(self.link, state=LinkState.ENDED)

    # ---- time

    def pause(self) -> None:
        """Freeze the view where it is, or go on."""
        if self.is_frozen:
            self.live()
        elif self.reading is not None:
            self.timeline.watch.sql_minutes.hold()
            self._events_then = tuple(self.events)
            self.choose(paused=self.clock())

    def live(self) -> None:
        """Show the newest poll and go on with each."""
        self.choose(behind=0, paused=None)
        self.reading = self.latest

    def step(self, polls: int) -> bool:
        """Step through the polls; past the newest it is live again. Returns whether anything changed."""
        behind = max(0, min(len(self.timeline) - 1, self.choices.behind - polls))
        if behind == self.choices.behind:
            return False
        self.look_back(behind)
        return True

    def look_back(self, behind: int) -> None:
        """Show the poll that is `behind` polls before the newest; 0 is live."""
        if behind == 0:
            self.live()
        else:
            self.reading = self.timeline.reading(behind) or self.reading
            self.choose(behind=behind, paused=None)

    # ---- what is drawn

    def look(self) -> None:
        """Work out what is wrong at the instant on screen, and what to do: of what is old no command is offered."""
        from presman.analysis.advice.to_do import to_do

        self.alerts = alerts(self.reading, self.link)
        self.to_do = to_do(self.reading) if self.reading is not None else None
        if self.to_do is not None and self.why_no_command:
            self.to_do = self.to_do._replace(commands=(), affects="")

    def moment(self) -> Moment | None:
        """Return the instant on screen with all that a tab is drawn from; None before the first poll."""
        if self.reading is None or self.latest is None:
            return None
        line, number = self.timeline, self.reading.number
        choices, newest, events = self.choices, self.latest.at, self.events
        if choices.paused is not None:  # nothing moves, whatever is drawn again: what came since is not there yet
            choices, newest, events = replace(choices, behind=0), self.reading.at, self._events_then
        return Moment(
            self.reading,
            choices,
            self.alerts,
            newest,
            line.series,
            line.latencies,
            line.watch,
            events,
            partial(line.moment, self.latest.number - number, number),
        )


# ---- Moments: what can be gone to in the past of a live database: times, and what happened. A replay has its own.

_MINUTES_BACK = "15"
"""Where one goes who asks for no time: what a DBA who is called looks at first."""

_IN_MESSAGE = 4
"""Events of one poll that are named when one goes there."""


def beyond(at: datetime, first: datetime, last: datetime, last_one: str) -> str:
    """Return that no poll is at an instant before the first or after the last one, whose name is given; else ""."""
    from presman.recording.time_words import spelled_instant

    if at < first.replace(microsecond=0):  # a time is typed in whole seconds
        return f"No poll before {spelled_instant(first)}: this is the first."
    return f"No poll after {spelled_instant(last)}: this is {last_one}." if at > last else ""


class Moments:
    """The moments of the polls that are kept, and the events that are found as polls come."""

    def __init__(self, monitor: Monitor, notify: Callable[..., None], repaint: Callable[[], None]) -> None:
        self.monitor = monitor
        self.notify = notify
        self.repaint = repaint
        self._history = EventHistory()

    def arrive(self, reading: Reading, snapshot: Snapshot | None) -> None:
        """Find what happened up to a poll."""
        if snapshot is not None:
            self._history.add(reading, snapshot)
            self.monitor.events = tuple(self._history.events)

    def lose(self, text: str) -> None:
        """Note that the connection was lost after the newest poll."""
        if self.monitor.latest is not None:
            self._history.lose(self.monitor.latest.at, text)
            self.monitor.events = tuple(self._history.events)

    @property
    def span(self) -> tuple[datetime, datetime] | None:
        """From when to when one can go; None before the first poll."""
        monitor = self.monitor
        first = None if monitor.latest is None else monitor.timeline.first()
        return None if first is None or monitor.latest is None else (first, monitor.latest.at)

    def jump(self, words: str) -> None:
        """Go to the time that words mean, or say that they mean none. A number is minutes before the newest poll."""
        from presman.recording.time_words import instant_of

        words = words.strip() or _MINUTES_BACK
        words = f"-{words}m" if words.isdecimal() else words
        if self.span is not None:
            try:
                self.go_to(instant_of(words, *self.span, note=partial(self.notify, timeout=8)))
            except InputError as error:
                self.notify(str(error), severity="error", timeout=8)

    def step(self, polls: int) -> None:
        """Step through the polls; past the newest it is live again."""
        if self.monitor.step(polls):
            self.repaint()

    def click(self, at: datetime) -> None:
        """Go to an instant of a chart, whose newest stretch ends after the newest poll."""
        if self.span is not None:
            self.go_to(min(at, self.span[1]))

    def go_to(self, at: datetime) -> None:
        """Show the last poll not after an instant; where there is none, say so."""
        if self.span is None:
            return
        self.monitor.look_back(self.monitor.timeline.behind(at))
        self.repaint()
        if text := beyond(at, *self.span, "the newest"):
            self.notify(text, timeout=8)

    def to_event(self, direction: int) -> None:
        """Go to what happened next (1) or before (-1)."""
        event = self.event(direction)
        if event is None:
            self.notify("Nothing else happened after this." if direction > 0 else self._nothing_before())
        else:
            self.show(event)

    def show(self, event: DatabaseEvent) -> None:
        """Go to what happened, and say what it was, with what else happened by that poll, each up to its figures."""
        self.go_to(event.at)
        events = [each.text.partition("; ")[0] for each in self.monitor.events if each.at == event.at]
        more = [f"+{len(events) - _IN_MESSAGE} more: E lists them"] if len(events) > _IN_MESSAGE else []
        self.notify(" · ".join([*events[:_IN_MESSAGE], *more]), timeout=8)

    def event(self, direction: int) -> DatabaseEvent | None:
        """Return what happened next (1) or before (-1) the poll on show, as far back as polls are kept."""
        reading, span = self.monitor.reading, self.span
        if reading is None or span is None:
            return None
        return beside(self.monitor.events, reading.at, direction, span[0])

    def _nothing_before(self) -> str:
        first = "" if self.span is None else f" The oldest poll kept is from {clock(self.span[0])}."
        return f"Nothing happened before this.{first}"
