"""The state of the monitor: what came in, what is looked at, what the user chose. Knows no widget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from presman.tabs.choices import Choices, Link, LinkState

if TYPE_CHECKING:
    from presman.analysis.advice.to_do import ToDo
    from presman.analysis.readings.reading import Alert, Reading
    from presman.analysis.trends.database_events import DatabaseEvent
    from presman.rows.snapshot import Snapshot
    from presman.tabs.moment import Moment
    from presman.tui.timeline import Timeline

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
        self._costs: list[float] = []
        self.events: Sequence[DatabaseEvent] = ()
        """What happened, oldest first."""

    @cached_property
    def timeline(self) -> Timeline:
        """The polls so far. Made when the first one comes: it takes imports that the first frame does not wait for."""
        from presman.tui.timeline import Timeline

        return Timeline()

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
        """Note that the link is lost, and has been for so many seconds: the last data stay, and grow old."""
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
        """Show the poll that is so many before the newest; with 0 it is live again."""
        if behind == 0:
            self.live()
        else:
            self.reading = self.timeline.reading(behind) or self.reading
            self.choose(behind=behind, paused=None)

    # ---- what is drawn

    def look(self) -> None:
        """Work out what is wrong at the instant on screen, and what to do: of what is old no command is offered."""
        from presman.analysis.advice.to_do import to_do
        from presman.tabs.alerts import alerts

        self.alerts = alerts(self.reading, self.link)
        self.to_do = to_do(self.reading) if self.reading is not None else None
        if self.to_do is not None and self.why_no_command:
            self.to_do = self.to_do._replace(commands=(), affects="")

    def moment(self) -> Moment | None:
        """Return the instant on screen with all that a tab is drawn from; None before the first poll."""
        from presman.tabs.moment import Moment

        if self.reading is None or self.latest is None:
            return None
        line, number = self.timeline, self.reading.number
        return Moment(
            self.reading,
            self.choices,
            self.alerts,
            self.latest.at,
            line.series,
            line.latencies,
            line.watch,
            self.events,
            partial(line.moment, self.latest.number - number, number),
        )
