"""Feed from the sampler's thread to the screen: turns snapshots into readings there, posts messages here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from textual.message import Message

if TYPE_CHECKING:
    from textual.app import App

    from presman.analysis.readings.reading import Reading
    from presman.forecast.forecaster import Foresight
    from presman.polling.poll_events import CarryOut, Event
    from presman.polling.sampler import Sampler
    from presman.rows.commands import Command
    from presman.rows.queries import DetailLevel, Focus
    from presman.rows.snapshot import Snapshot
    from presman.services.live import LiveEvent, Notifier, Readings
    from presman.services.live_fleet import WatchedDatabase

Post = Callable[[Message], object]


@dataclass(eq=False)
class Arrived(Message):
    """A poll succeeded. The reading was made of `snapshot`.

    Of the very first poll a part may come before it is `whole`, as soon as there is something to see; it began to be
    read `age` seconds ago. In a replay `keys` counts the keys that asked for a poll until this one was shown.
    `foresight` is what its forecasts are made of.
    """

    reading: Reading
    snapshot: Snapshot | None = None
    _: KW_ONLY
    whole: bool = True
    age: float = 0.0
    keys: int = 0
    foresight: Foresight | None = None


@dataclass(eq=False)
class Lost(Message):
    """The source has been lost for `lasting` seconds; the next attempt is in `retry_in` seconds, None for none."""

    text: str
    retry_in: float | None
    lasting: float = 0.0


class Ended(Message):
    """A finite source has been read to its end."""


@dataclass(eq=False)
class Failed(Message):
    """A snapshot could not be turned into a reading; the ones before stay on screen."""

    error: Exception


@dataclass(eq=False)
class Acted(Message):
    """A command was carried out, or was not; `text` says what became of it. One that was not `tried` is in no log."""

    command: Command
    done: bool
    text: str
    tried: bool = True


class Feed:
    """What the app needs of whatever brings the readings. What a feed does not take up it does nothing about."""

    def start(self) -> None:
        """Begin to post."""

    def stop(self) -> None:
        """End within half a second."""

    def set_refresh(self, seconds: float) -> None:
        """Poll every `seconds`."""

    def poll_now(self) -> None:
        """Poll at once."""

    def act(self, command: Command) -> None:
        """Have a command carried out. Raises PermissionError where actions are not allowed."""

    def focus(self, focus: Focus | None) -> None:
        """Read one session closely from now on, at once; None ends that."""

    def set_detail_level(self, detail_level: DetailLevel) -> None:
        """Read so much at each poll from now on."""

    def request(self, name: str, binds: Mapping[str, str], *, lasting: bool) -> None:
        """Ask the query of that name, which runs on demand only, at once, or (`lasting`) at each poll from now on."""


MakeSampler = Callable[[Callable[["Event"], None]], "tuple[Sampler, Callable[[], object]]"]
"""Makes a sampler, from where it posts to, and what has it begin to post."""

MakeFeed = Callable[[Post, float], Feed]
"""Makes a feed from where it posts to and the refresh interval."""


class SamplerFeed(Feed):
    """A feed of readings from a sampler's snapshots. Nothing of the analysis is imported before the first comes."""

    def __init__(self, make_sampler: MakeSampler, post: Post, refresh: float, notifier: Notifier | None = None) -> None:
        self._notifier = notifier
        self._post = post
        self._readings: Readings | None = None
        self._sampler, self._begin = make_sampler(self._receive)
        self.set_refresh(refresh)

    def start(self) -> None:
        """Begin to listen to the sampler."""
        self._begin()

    def stop(self) -> None:
        """End the thread."""
        self._sampler.stop()

    def set_refresh(self, seconds: float) -> None:
        """Poll every `seconds`."""
        self._sampler.set_refresh(seconds)

    def poll_now(self) -> None:
        """Poll, or try to reconnect, at once."""
        self._sampler.poll_now()

    def act(self, command: Command) -> None:
        """Have a command carried out."""
        self._sampler.act(command)

    def focus(self, focus: Focus | None) -> None:
        """Read one session closely."""
        self._sampler.focus(focus)

    def set_detail_level(self, detail_level: DetailLevel) -> None:
        """Read so much at each poll from now on."""
        if self._notifier is not None:
            detail_level |= self._notifier.detail_level
        self._sampler.set_detail_level(detail_level)

    def request(self, name: str, binds: Mapping[str, str], *, lasting: bool) -> None:
        """Ask a query that runs on demand only."""
        from presman.rows.queries import by_query

        self._sampler.request(by_query()[name], binds, lasting=lasting)

    def _receive(self, event: Event) -> None:
        """Called in the sampler's thread, so that the screen does not wait for the analysis."""
        from presman.services.live import Readings

        self._readings = self._readings or Readings(self._notifier, foresees=True)
        self._post(message_of(self._readings.of(event)))


def message_of(live_event: LiveEvent, lasting: float = 0.0) -> Message:
    """Return the message to the screen; `lasting` is for how many seconds a source has been lost."""
    from presman.polling.poll_events import ActionResult, SourceLost
    from presman.services import live

    if isinstance(live_event, live.ReadingCame):
        return Arrived(live_event.reading, live_event.snapshot, foresight=live_event.foresight)
    if isinstance(live_event, live.Preview):
        return Arrived(live_event.reading, whole=False, age=live_event.age)
    if isinstance(live_event, live.NotUnderstood):
        return Failed(live_event.error)
    if isinstance(live_event, SourceLost):
        return Lost(live_event.line, live_event.retry_in, lasting)
    if isinstance(live_event, ActionResult):
        return Acted(live_event.command, live_event.done, live_event.text, tried=live_event.tried)
    return Ended()


class WatchedFeed(SamplerFeed):
    """A feed of what a database of a fleet reads. `stop` leaves the database to the fleet."""

    def __init__(self, database: WatchedDatabase, post: Post, refresh: float) -> None:
        self._database = database
        self._stopped = False
        super().__init__(lambda _: (database.sampler, self._listen), post, refresh)

    def _listen(self) -> None:
        """Post what there is, and from now on all that comes."""
        self._database.listen(self._on_event, self._refresh)

    def stop(self) -> None:
        """Post no more; the database is polled as before."""
        self._stopped = True
        self._database.leave()

    def set_refresh(self, seconds: float) -> None:
        """Poll every `seconds`."""
        self._refresh = seconds
        if self._database.is_attached:
            self._database.sampler.set_refresh(seconds)

    def set_detail_level(self, detail_level: DetailLevel) -> None:
        """Read so much at each poll from now on."""
        self._database.set_detail_level(detail_level)

    def _on_event(self, live_event: LiveEvent) -> None:
        """Called in the database's thread."""
        if not self._stopped:
            self._post(message_of(live_event, self._database.member().since or 0.0))


class ActionGateway(Protocol):
    """The way to actions, given to the monitor only where they were allowed."""

    @property
    def carry_out(self) -> CarryOut:
        """What the sampler's thread calls with a confirmed command."""

    def note(self, database: str, command: Command, text: str) -> str:
        """Write a line about a command into the log of what was done; return why that cannot be done, "" if it is."""

    def has_actions(self, row: Any, reading: Reading) -> bool:
        """Whether something can be done with a row."""

    def refusal(self, row: Any, reading: Reading) -> str:
        """Return why nothing can be done with a session or statement, "" where something can or the row is neither."""

    def ask(self, app: App[Any], row: Any, reading: Reading, send: Callable[[Command], None]) -> None:
        """Ask what to do with a row, and `send` what was confirmed."""

    def arrive(self, reading: Reading) -> None:
        """Tell whoever is asked what is known now."""
