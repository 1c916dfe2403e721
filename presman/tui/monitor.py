"""The state of the monitor: the data, the poll on screen, the user's choices. Independent of widgets."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from presman.analysis.readings.reading import Alert, Reading
from presman.analysis.trends.database_events import DatabaseEvent, EventHistory, events_in_direction, next_event
from presman.base.errors import InputError
from presman.base.formats import clock, counted
from presman.rows.snapshot import Snapshot
from presman.tabs.alerts import alerts
from presman.tabs.choices import Choices, Link, LinkState
from presman.tabs.parts import Moment
from presman.tui.timeline import Timeline

if TYPE_CHECKING:
    from presman.analysis.advice.steady_step import SteadyStep
    from presman.analysis.advice.step import ToDo
    from presman.forecast.forecaster import ForecastBasis

_COSTS = 9
"""Polls that the usual cost is taken from."""


def _link(reading: Reading, now: float, fresh: float) -> Link:
    """Return the link that delivered a reading: that of a spool is never new, however recently it was read."""
    return Link(LinkState.SPOOL if reading.kind == "spool" else LinkState.LIVE, since=now, fresh=fresh)


class Monitor:
    """One database being watched: the newest reading, the one on screen, the link, and the user's choices.

    `latest` is the newest reading and `reading` the one on screen. They differ only while the view is frozen or
    scrolled back. `alerts` are those of the reading on screen, `to_do` is the one thing to do.
    """

    def __init__(self, name: str, refresh: float, packs: tuple[str, ...], clock: Callable[[], float]) -> None:
        self.name, self.clock = name, clock
        self.choices = Choices(refresh=refresh, packs=packs)
        self._begun = clock()
        self.link = Link(since=self._begun, fresh=self._begun)
        self.latest: Reading | None = None
        self.reading: Reading | None = None
        self.alerts: tuple[Alert, ...] = ()
        self.to_do: ToDo | None = None
        self._steady: SteadyStep | None = None
        self.forecast_basis: ForecastBasis | None = None
        """The basis of the forecasts of the newest reading, None if it has none."""
        self._costs: list[float] = []
        self.events: Sequence[DatabaseEvent] = ()
        """The events, oldest first."""
        self._events_then: Sequence[DatabaseEvent] = ()
        """The events known when the view was paused."""
        self.timeline = Timeline()
        """The polls so far."""

    @property
    def cost(self) -> float | None:
        """The usual duration of a poll in seconds."""
        # The median: one slow poll does not change what is usual.
        return sorted(self._costs)[(len(self._costs) - 1) // 2] if self._costs else None

    @property
    def is_frozen(self) -> bool:
        """Whether the screen does not follow the newest reading."""
        return self.choices.paused is not None or self.choices.behind > 0

    @property
    def why_old(self) -> str:
        """Why the data on screen are not the newest, "" if they are, or are the past that a replay shows."""
        if self.link.state is LinkState.LOST:
            return "the connection is lost"
        return "the view is paused, or back in time" if self.is_frozen else ""

    @property
    def why_no_command(self) -> str:
        """Why no command can be copied: the data on screen is old. "" if commands can be copied."""
        return self.why_old or ("the replay is stopped" if self.choices.stopped else "")

    @property
    def containers(self) -> bool:
        """Whether the database is known to be a container database."""
        return self.reading is not None and self.reading.header.cdb

    def choose(self, **changes: Any) -> None:
        """Change some of the user's choices."""
        self.choices = replace(self.choices, **changes)

    # ---- incoming data

    def preview(self, reading: Reading, age: float) -> None:
        """Take the early part of the first poll: it is shown until the poll is complete, but not kept.

        That poll started `age` seconds ago.
        """
        if self.latest is None:
            now = self.clock()
            self.latest = self.reading = reading
            self.link = _link(reading, now, max(self._begun, now - age))

    def arrive(self, reading: Reading, snapshot: Snapshot | None, *, is_extra: bool = False) -> bool:
        """Take a new reading; while the view is frozen, only store it. Return whether it is kept.

        An extra one is shown until the next regular one: that has all that it grew by. If it is the first, it is kept.
        """
        now = self.clock()
        fresh = self._begun if reading.stale is None else now - reading.poll_seconds - reading.stale
        if self.cost is None and self.latest is not None and self.latest.at == reading.at:
            fresh = min(fresh, self.link.fresh)  # a part of it was read earlier
        self.latest = reading
        if is_kept := not (is_extra and len(self.timeline)):
            self.timeline.add(reading, snapshot)
        elif snapshot is not None:
            self.timeline.show_extra(snapshot)
        self.link = _link(reading, now, fresh)
        self._costs = [*self._costs[1 - _COSTS :], reading.poll_seconds]
        if not self.is_frozen:
            self.reading = reading
        elif is_kept:
            # The poll on screen stays, and is one poll further from the newest. The oldest of all may be forgotten.
            self.choose(behind=min(self.choices.behind + 1, max(0, len(self.timeline) - 1)))
        return is_kept

    def jump(self, timeline: Timeline, reading: Reading, snapshot: Snapshot) -> None:
        """Take a reading of another time, with the polls and charts before it."""
        self.timeline, self._steady = timeline, None
        self.choose(behind=0, paused=None)
        self.arrive(reading, snapshot)

    def recall(self, timeline: Timeline | None) -> None:
        """Take a timeline that ends at the same newest poll and goes further back; None if it is not available."""
        if timeline is None:
            self.timeline.watch.lacks_past = False
        else:
            self.timeline = timeline

    def replays(self, text: str, *, stopped: bool) -> bool:
        """Note that a recording is shown, and its state. Return whether that changes what can be copied."""
        self.link = replace(self.link, state=LinkState.REPLAY, text=text)
        is_other = stopped is not self.choices.stopped
        self.choose(stopped=stopped)
        return is_other

    def lose(self, text: str, retry_in: float | None, lasting: float = 0.0, *, wants_password: bool = False) -> None:
        """Note that the link has been lost for `lasting` seconds: the last data stay on screen."""
        now = self.clock()
        since = self.link.since if self.link.state is LinkState.LOST else now - lasting
        retry_at = None if retry_in is None else now + retry_in
        self.link = Link(LinkState.LOST, text, since, self.link.fresh, retry_at, wants_password)

    def end(self) -> None:
        """Note that the source has ended."""
        self.link = replace(self.link, state=LinkState.ENDED)

    # ---- time

    def pause(self) -> None:
        """Freeze the view, or resume."""
        if self.is_frozen:
            self.live()
        elif self.reading is not None:
            self.timeline.watch.sql_minutes.hold()
            self._events_then = tuple(self.events)
            self.choose(paused=self.clock())

    def live(self) -> None:
        """Show the newest poll, and each that follows."""
        self.choose(behind=0, paused=None)
        self.reading = self.latest

    def step(self, polls: int) -> bool:
        """Step through the polls; the newest one is live again. Return whether anything changed."""
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

    # ---- what is shown

    def assess(self) -> None:
        """Compute the alerts and the to-do of the instant on screen; no command is offered for old data."""
        from presman.analysis.advice.steady_step import SteadyStep

        self.alerts = alerts(self.reading, self.link)
        self._steady = self._steady or SteadyStep()
        self.to_do = self._steady.take(self.reading).step if self.reading is not None else None
        if self.to_do is not None and self.why_no_command:
            self.to_do = self.to_do._replace(commands=(), affects="")

    def moment(self) -> Moment | None:
        """Return the instant on screen with all data of a tab; None before the first poll."""
        if self.reading is None or self.latest is None:
            return None
        line, newest, events = self.timeline, self.latest.at, self.events
        choices = replace(self.choices, recorded=True) if self.link.is_past else self.choices
        if choices.paused is not None:  # nothing changes when the screen is redrawn: newer polls do not exist yet
            choices, newest, events = replace(choices, behind=0), self.reading.at, self._events_then
        moment_of = partial(line.pair_of, self.reading)
        return Moment(
            self.reading, choices, self.alerts, newest, line.series, line.latencies, line.watch, events, moment_of
        )


# ---- Moments: the times and events in the past of a live database that the user can go to. A replay has its own.

_MINUTES_BACK = "15"
"""The default time to go to: what a DBA on call looks at first."""

_IN_MESSAGE = 4
"""Most events of one poll that the notice names."""


def beyond(at: datetime, first: datetime, last: datetime, last_one: str) -> str:
    """Return a notice if an instant is before the first poll or after the last one, named `last_one`; else ""."""
    from presman.recording.time_words import spelled_instant

    if at < first.replace(microsecond=0):  # times are typed in whole seconds
        return f"No poll before {spelled_instant(first)}: this is the first."
    return f"No poll after {spelled_instant(last)}: this is {last_one}." if at > last else ""


class Moments:
    """The moments of the polls that are kept, and the events found as polls arrive."""

    def __init__(self, monitor: Monitor, notify: Callable[..., None], repaint: Callable[[], None]) -> None:
        self.monitor, self.notify, self.repaint = monitor, notify, repaint
        self._history = EventHistory()

    def arrive(self, reading: Reading, snapshot: Snapshot | None) -> None:
        """Find the events up to a poll."""
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
        """The first and last instant that the user can go to; None before the first poll."""
        latest = self.monitor.latest
        first = None if latest is None else self.monitor.timeline.first()
        return None if first is None or latest is None else (first, latest.at)

    @property
    def at(self) -> datetime | None:
        """The instant on screen, which keys count from; None before the first poll."""
        return None if self.monitor.reading is None else self.monitor.reading.at

    def jump(self, words: str) -> None:
        """Go to the time that `words` describe, or notify the user of a mistake.

        A number means minutes back from the instant on screen, as -15m does; "3m ago" is before the newest poll.
        """
        from presman.recording.time_words import instant_of

        words = words.strip() or _MINUTES_BACK
        words = f"-{words}m" if words.isdecimal() else words
        if self.span is not None and self.at is not None:
            first, last = self.span
            base = self.at if words.startswith("-") else last
            try:
                self.go_to(instant_of(words, first, base, note=partial(self.notify, timeout=8)))
            except InputError as error:
                self.notify(str(error), severity="error", timeout=8)

    def step(self, polls: int) -> None:
        """Step through the polls; the newest one is live again."""
        if self.monitor.step(polls):
            self.repaint()

    def click(self, at: datetime) -> None:
        """Go to an instant on a chart, which may be after the newest poll."""
        if self.span is not None:
            self.go_to(min(at, self.span[1]))

    def go_to(self, at: datetime) -> None:
        """Show the last poll not after an instant, or notify the user that there is none."""
        if self.span is None:
            return
        self.monitor.look_back(self.monitor.timeline.behind(at))
        self.repaint()
        if text := beyond(at, *self.span, "the newest"):
            self.notify(text, timeout=8)

    def to_event(self, direction: int) -> None:
        """Go to the next (1) or previous (-1) event."""
        if (event := self.event(direction)) is None:
            self.notify(self._no_event(direction))
        else:
            self.show(event)

    def show(self, event: DatabaseEvent) -> None:
        """Go to an event, and notify the user of it and of the other events of that poll, each without its figures."""
        self.go_to(event.at)
        events = [each.text.partition("; ")[0] for each in self.monitor.events if each.at == event.at]
        more = [f"+{len(events) - _IN_MESSAGE} more: E lists them"] if len(events) > _IN_MESSAGE else []
        self.notify(" · ".join([*events[:_IN_MESSAGE], *more]), timeout=8)

    def event(self, direction: int) -> DatabaseEvent | None:
        """Return the next (1) or previous (-1) event from the poll on screen, as far back as polls are kept."""
        if self.at is None or self.span is None:
            return None
        return next_event(self.monitor.events, self.at, direction, self.span[0])

    def _no_event(self, direction: int) -> str:
        """Return why there is no event to go to; ends, which the key skips, are counted."""
        key, side = ("n", "after") if direction > 0 else ("p", "before")
        first = "" if direction > 0 or self.span is None else self._oldest(self.span[0])
        at, span = self.at, self.span
        skipped = (
            0 if at is None or span is None else len(events_in_direction(self.monitor.events, at, direction, span[0]))
        )
        if not skipped:
            return f"There is no event {side} this.{first}"
        why = "they only end something" if skipped > 1 else "it only ends something"
        return f"{key} skips the {counted(skipped, 'event')} {side} this: {why}. E lists all.{first}"

    def _oldest(self, first: datetime) -> str:
        return f" The oldest poll is from {clock(first)}."
