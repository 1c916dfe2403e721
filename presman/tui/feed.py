"""Feed to the screen: turns snapshots into readings in the sampler's thread, and posts messages to the app."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from textual.message import Message

if TYPE_CHECKING:
    from textual.app import App

    from presman.analysis.readings.reading import Reading
    from presman.forecast.forecaster import ForecastBasis
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
    """A poll succeeded. The reading was made from `snapshot`.

    A part of the very first poll may arrive before it is `whole`, as soon as there is something to show; that poll
    started `age` seconds ago. `forecast_basis` is the basis of its forecasts. An extra poll is shown, and not kept.
    """

    reading: Reading
    snapshot: Snapshot | None = None
    _: KW_ONLY
    whole: bool = True
    age: float = 0.0
    forecast_basis: ForecastBasis | None = None
    is_extra: bool = False


@dataclass(eq=False)
class Lost(Message):
    """The source has been lost for `lasting` seconds; the next attempt is in `retry_in` seconds, None if never."""

    text: str
    retry_in: float | None
    lasting: float = 0.0
    wants_password: bool = False


class Ended(Message):
    """A finite source has been read to its end."""


@dataclass(eq=False)
class Failed(Message):
    """A snapshot could not be turned into a reading; the previous reading stays on screen."""

    error: Exception


@dataclass(eq=False)
class Acted(Message):
    """The result of a command, in `text`. A command that was not `tried` is not in the log."""

    command: Command
    done: bool
    text: str
    tried: bool = True


class Feed:
    """The interface of all feeds of readings. By default the requests do nothing, but commands are refused."""

    def start(self) -> None:
        """Start posting."""

    def stop(self) -> None:
        """End within half a second."""

    def set_refresh(self, seconds: float) -> None:
        """Poll every `seconds`."""

    def poll_now(self) -> None:
        """Poll at once."""

    def act(self, command: Command) -> None:
        """Run a command. Raises PermissionError if actions are not allowed."""
        raise PermissionError(f"{command.kind.value}: actions are not allowed")

    def focus(self, focus: Focus | None) -> None:
        """Read one session in detail from now on, beginning at once; None ends that."""

    def set_detail_level(self, detail_level: DetailLevel) -> None:
        """Read so much at each poll from now on."""

    def request(self, name: str, binds: Mapping[str, str], *, lasting: bool) -> None:
        """Run the on-demand query of that name at once, or (`lasting`) at each poll from now on."""


MakeSampler = Callable[[Callable[["Event"], None]], "tuple[Sampler, Callable[[], object]]"]
"""Creates a sampler that posts to a function, and returns it with the function that starts the posting."""

MakeFeed = Callable[[Post, float], Feed]
"""Creates a feed from the function it posts to and the refresh interval."""


class SamplerFeed(Feed):
    """A feed of readings from a sampler's snapshots. The analysis is not imported before the first snapshot."""

    def __init__(self, make_sampler: MakeSampler, post: Post, refresh: float, notifier: Notifier | None = None) -> None:
        self._notifier, self._post = notifier, post
        self._readings: Readings | None = None
        self._sampler, self._begin = make_sampler(self._receive)
        self.set_refresh(refresh)

    def start(self) -> None:
        """Start listening to the sampler."""
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
        """Run a command."""
        self._sampler.act(command)

    def focus(self, focus: Focus | None) -> None:
        """Read one session in detail."""
        self._sampler.focus(focus)

    def set_detail_level(self, detail_level: DetailLevel) -> None:
        """Read so much at each poll from now on."""
        if self._notifier is not None:
            detail_level |= self._notifier.detail_level
        self._sampler.set_detail_level(detail_level)

    def request(self, name: str, binds: Mapping[str, str], *, lasting: bool) -> None:
        """Run an on-demand query."""
        from presman.rows.queries import by_query

        self._sampler.request(by_query()[name], binds, lasting=lasting)

    def _receive(self, event: Event) -> None:
        """Analyse an event and post the result. Runs in the sampler's thread, so that the screen does not wait."""
        from presman.services.live import Readings

        self._readings = self._readings or Readings(self._notifier, with_forecasts=True)
        self._post(message_of(self._readings.of(event)))


def message_of(live_event: LiveEvent, lasting: float = 0.0) -> Message:
    """Return the message for the screen; `lasting` is for how many seconds a source has been lost."""
    from presman.polling.poll_events import ActionResult, SourceLost
    from presman.services import live
    from presman.sources import LoginRefusal

    if isinstance(live_event, live.ReadingCame):
        basis, is_extra = live_event.forecast_basis, live_event.is_extra
        return Arrived(live_event.reading, live_event.snapshot, forecast_basis=basis, is_extra=is_extra)
    if isinstance(live_event, live.Preview):
        return Arrived(live_event.reading, whole=False, age=live_event.age)
    if isinstance(live_event, live.NotUnderstood):
        return Failed(live_event.error)
    if isinstance(live_event, SourceLost):
        wants_password = live_event.refusal is LoginRefusal.PASSWORD
        return Lost(live_event.line, live_event.retry_in, lasting, wants_password)
    if isinstance(live_event, ActionResult):
        return Acted(live_event.command, live_event.done, live_event.text, tried=live_event.tried)
    return Ended()


class WatchedFeed(SamplerFeed):
    """A feed from a database that a fleet polls. `stop` leaves the database to the fleet."""

    def __init__(self, database: WatchedDatabase, post: Post, refresh: float) -> None:
        self._database = database
        self._stopped = False
        super().__init__(lambda _: (database.sampler, self._listen), post, refresh)

    def _listen(self) -> None:
        """Post the newest data, and from now on all that follows."""
        self._database.listen(self._on_event, self._refresh)

    def stop(self) -> None:
        """Stop posting; the fleet keeps polling the database."""
        self._stopped = True
        self._database.leave()

    def set_refresh(self, seconds: float) -> None:
        """Poll every `seconds`."""
        self._refresh = seconds
        # Until the monitor listens, the database keeps the interval of the fleet.
        if self._database.is_attached:
            self._database.sampler.set_refresh(seconds)

    def set_detail_level(self, detail_level: DetailLevel) -> None:
        """Read so much at each poll from now on."""
        self._database.set_detail_level(detail_level)

    def _on_event(self, live_event: LiveEvent) -> None:
        """Post the message of an event. Runs in the database's thread."""
        if not self._stopped:
            self._post(message_of(live_event, self._database.member().since or 0.0))


class ActionGateway(Protocol):
    """Access to actions, given to the monitor only if they are allowed."""

    @property
    def carry_out(self) -> CarryOut:
        """The function that the sampler's thread calls with a confirmed command."""

    def note(self, database: str, command: Command, text: str) -> str:
        """Write a line on a command into the log of actions; return why that failed, "" if it did not."""

    def has_actions(self, row: Any, reading: Reading) -> bool:
        """Return whether a row has actions."""

    def refusal(self, row: Any, reading: Reading) -> str:
        """Return why a session or statement has no actions, "" if it has or if the row is neither."""

    def ask(self, app: App[Any], row: Any, reading: Reading, send: Callable[[Command], None]) -> None:
        """Ask the user for an action on a row, and `send` it once confirmed."""

    def arrive(self, reading: Reading) -> None:
        """Update an open dialog with a new reading."""
