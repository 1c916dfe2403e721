"""Fleet of live connections: one thread per database, each polling at its own time, so that none waits for another."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.advice.steady_step import SteadyStep
from presman.analysis.fleet import ConnectionState, Member, extended, is_late, key_figures_of
from presman.analysis.readings.reading import NO_ANSWER, Reading
from presman.polling.cadence import PollNeeds
from presman.polling.poll_events import CarryOut, Event, PreviewCame, SourceEnded, SourceLost
from presman.polling.sampler import PATIENCE, stop_all
from presman.rows.queries import DetailLevel
from presman.services.live import LiveEvent, LiveTarget, NotUnderstood, ReadingCame, Readings, sampler_of
from presman.sources import LoginRefusal

if TYPE_CHECKING:
    from presman.services.store_fleet import StoreFleet

ENOUGH = 4
"""Polls after which missing rates are no longer waited for: two polls may be too close together."""


class _State(Struct, frozen=True):
    """The state of a database: its member of the fleet, whose ages follow from instants of the monotonic clock.

    It has been so `since` then; its newest poll began at `fresh`, the next attempt to connect is at `retry_at`.
    """

    member: Member
    since: float
    fresh: float | None = None
    retry_at: float | None = None


class WatchedDatabase:
    """Poller of one database, every `interval` seconds at low detail; more often and in more detail for a listener.

    `phase` (0 to 1) is the point in each interval at which it polls.
    """

    def __init__(
        self,
        target: LiveTarget,
        interval: float,
        *,
        phase: float = 0.0,
        carry_out: CarryOut | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.target, self._interval, self._clock = target, interval, clock
        self._state = _State(Member(target.name, ConnectionState.STARTING), clock())
        self._latest: ReadingCame | None = None
        self._lost: SourceLost | None = None
        self._listener: Callable[[LiveEvent], object] | None = None
        self._lock = threading.Lock()
        self._readings = Readings(target.notifier)
        self.steady_step = SteadyStep()
        self.sampler = sampler_of(
            target._replace(interval=interval),
            self._on_event,
            detail_level=DetailLevel.NARROW,
            needs=PollNeeds(few=True),
            phase=phase,
            carry_out=carry_out,
        )

    # ---- called by other threads

    def start(self) -> bool:
        """Start to poll, and return whether there was a thread for it; without one the database counts as refused."""
        self._state = replace(self._state, since=self._clock())
        return self.sampler.begin()

    def set_interval(self, seconds: float) -> None:
        """Poll every `seconds` from now on, or once there is no listener any more."""
        self._interval = seconds
        if self._listener is None:
            self.sampler.set_refresh(seconds)

    def member(self) -> Member:
        """Return the current state of the database."""
        now, seen = self._clock(), self._state
        age = None if seen.fresh is None else now - seen.fresh
        connection = seen.member.connection
        if connection is ConnectionState.LIVE and age is not None and is_late(age, self._interval):
            connection = ConnectionState.LATE
        since = None if connection in {ConnectionState.LIVE, ConnectionState.LATE} else now - seen.since
        retry_in = None if seen.retry_at is None else max(0.0, seen.retry_at - now)
        return replace(seen.member, connection=connection, age=age, since=since, retry_in=retry_in)

    @property
    def reading(self) -> Reading | None:
        """The newest reading; None before the first one."""
        return None if self._latest is None else self._latest.reading

    @property
    def live_reading(self) -> Reading | None:
        """The newest reading while the database answers, else None: no action may rest on old data."""
        return self.reading if self.member().connection is ConnectionState.LIVE else None

    @property
    def is_settled(self) -> bool:
        """Whether rates are available, or it is certain that there will be none for now."""
        seen, reading = self._state.member, self.reading
        if seen.connection is ConnectionState.LATE:
            return reading is not None and reading.number >= ENOUGH
        if seen.connection is not ConnectionState.LIVE or seen.key_figures is None or reading is None:
            return seen.connection is not ConnectionState.STARTING
        return reading.number > 1 and (seen.key_figures.used is not None or reading.number >= ENOUGH)

    def listen(self, listener: Callable[[LiveEvent], object], interval: float) -> None:
        """Pass all events to `listener`, beginning with the latest ones, and poll every `interval` seconds."""
        with self._lock:
            self._listener = listener
            self._readings.with_forecasts = True
            if self._latest is not None:
                listener(self._latest)
            # The event says how long it was until the next attempt then; some of that time has passed.
            if (lost := self._lost) is not None:
                listener(replace(lost, retry_in=None if lost.retry_in is None else self.member().retry_in))
        self.sampler.set_refresh(interval)

    @property
    def is_attached(self) -> bool:
        """Whether there is a listener."""
        return self._listener is not None

    def leave(self) -> None:
        """Remove the listener, and return to the earlier low detail and interval."""
        with self._lock:
            self._listener = None
            self._readings.with_forecasts = False
        self.sampler.focus(None)
        self.sampler.forget_requests()
        self.set_detail_level(DetailLevel.NARROW)
        self.sampler.set_refresh(self._interval)

    def set_detail_level(self, detail_level: DetailLevel) -> None:
        """Set how much each poll reads from now on."""
        self.sampler.set_detail_level(self.target.needed(detail_level))

    # ---- the sampler's thread

    def _on_event(self, event: Event) -> None:
        if isinstance(event, PreviewCame):
            return
        live_event = self._take_event(self._readings.of(event))
        with self._lock:
            if isinstance(live_event, ReadingCame):
                self._latest, self._lost = live_event, None
            elif isinstance(live_event, SourceLost):
                self._lost = live_event
            if self._listener is not None:
                self._listener(live_event)

    def _take_event(self, live_event: LiveEvent) -> LiveEvent:
        """Record an event and return it; if recording it fails, return that failure as the event."""
        if isinstance(live_event, ReadingCame):
            try:
                self._take_reading(live_event.reading)
            except Exception as error:
                live_event = NotUnderstood(error)
        if isinstance(live_event, NotUnderstood):
            self._state = replace(self._state, member=replace(self._state.member, reason=live_event.line))
        elif isinstance(live_event, SourceLost):
            self._lose(live_event)
        elif isinstance(live_event, SourceEnded):
            ended = replace(self._state.member, connection=ConnectionState.STOPPED, reason="no more data will come")
            self._state = replace(self._state, member=ended, since=self._clock())
        return live_event

    def _take_reading(self, reading: Reading) -> None:
        key_figures = key_figures_of(reading)
        now, name, past = self._clock(), self.target.name, self._state.member.past
        if reading.stale is None:
            self._state = _State(Member(name, ConnectionState.LATE, reason=NO_ANSWER, past=past), now)
            return
        live = Member(name, ConnectionState.LIVE, key_figures, past=extended(past, key_figures))
        self._state = _State(live, now, fresh=now - reading.poll_seconds - reading.stale)

    def _lose(self, event: SourceLost) -> None:
        now, seen = self._clock(), self._state
        is_refused = event.retry_in is None or event.refusal is not None
        connection = ConnectionState.REFUSED if is_refused else ConnectionState.LOST
        lost = Member(
            self.target.name,
            connection,
            reason=event.line,
            outlook="" if event.refusal is None else event.outlook,
            wants_password=event.refusal is LoginRefusal.PASSWORD,
            past=seen.member.past,
        )
        since = seen.since if seen.member.connection is connection else now
        self._state = _State(lost, since, seen.fresh, None if event.retry_in is None else now + event.retry_in)


LOGIN_GAP = 0.03
"""Seconds between two first logins: each takes as much CPU time, and the screen needs some, too."""

ALERT_COMMANDS_END = 2.0
"""Seconds that the shutdown waits for commands of `on_alert`."""


class LiveFleet:
    """Databases that this process polls. See :class:`Fleet`."""

    def __init__(
        self, name: str, targets: Sequence[LiveTarget], interval: float, *, carry_out: CarryOut | None = None
    ) -> None:
        self.name, self.interval = name, interval
        self.trouble = ""
        self.databases = {
            # Without phases all databases would be polled at the same instant, and delay one another.
            target.name: WatchedDatabase(target, interval, phase=index / len(targets), carry_out=carry_out)
            for index, target in enumerate(targets)
        }
        self._stopping = threading.Event()
        self._starter = threading.Thread(target=self._start_all, name="presman-fleet", daemon=True)

    def start(self) -> None:
        """Start to connect, one database after the other."""
        self._starter.start()

    def _start_all(self) -> None:
        has_begun = False
        for database in self.databases.values():
            if self._stopping.is_set():
                break
            has_begun |= database.start()
            self.trouble = "" if has_begun else database.member().reason
            self._stopping.wait(LOGIN_GAP)

    def stop(self) -> None:
        """End all threads; those that do not end in time die with the process."""
        self._stopping.set()
        # Joining a thread that never started raises RuntimeError.
        if self._starter.ident is not None:
            self._starter.join(PATIENCE)
        stop_all([database.sampler for database in self.databases.values()])
        self._close_notifiers()

    def _close_notifiers(self) -> None:
        """End the commands of `on_alert` that still run, all at the same time."""
        found = [each.target.notifier for each in self.databases.values() if each.target.notifier is not None]
        threads = [threading.Thread(target=each.close, name="presman-alerts", daemon=True) for each in found]
        for each in threads:
            with suppress(RuntimeError):  # no thread available: its command ends with presman
                each.start()
        end = time.monotonic() + ALERT_COMMANDS_END
        for each in filter(lambda thread: thread.ident, threads):
            each.join(max(0.0, end - time.monotonic()))

    def members(self) -> list[Member]:
        """Return the current state of all databases."""
        return [database.member() for database in self.databases.values()]

    def to_do(self, name: str) -> str:
        """Return the one thing to do about a database, as steady as on its own screen. It is computed on demand."""
        database = self.databases[name]
        reading = database.live_reading
        found = None if reading is None else database.steady_step.take(reading).step
        return "" if found is None else found.text

    @property
    def is_settled(self) -> bool:
        """Whether each database has rates, or it is certain that it has none for now."""
        return all(database.is_settled for database in self.databases.values())

    def poll_now(self) -> None:
        """Poll all databases now, including lost ones, but not those that refuse the login: that can lock accounts."""
        for database in self.databases.values():
            if database.member().connection is not ConnectionState.REFUSED:
                database.sampler.poll_now()

    def set_interval(self, seconds: float) -> None:
        """Poll every `seconds` from now on."""
        self.interval = seconds
        for database in self.databases.values():
            database.set_interval(seconds)


Fleet: TypeAlias = "LiveFleet | StoreFleet"
"""Many databases, polled from here or read from a central store. `name` says where they come from, without secrets.

`interval` is the seconds between two polls; `trouble` is why no database has data now, "" if any has. All calls
return at once, whatever the databases do.
"""
