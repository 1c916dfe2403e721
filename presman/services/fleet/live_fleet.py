"""Fleet of live connections: a thread for each database, all of them out of step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from presman.analysis.advice.to_do import to_do
from presman.analysis.readings.fleet_readings import ConnectionState, Member
from presman.analysis.readings.reading import Reading
from presman.polling.sampler import PATIENCE, CarryOut, stop_all
from presman.services.fleet.watched_database import WatchedDatabase
from presman.services.live import LiveTarget

APART = 0.03
"""Seconds between two first logins: each takes as much CPU, and the screen wants some, too."""

ATTENTION = 2.0
"""Seconds that the end waits for commands of `on_alert`."""


class LiveFleet:
    """Databases that are polled from here. See :class:`Fleet`."""

    def __init__(
        self,
        name: str,
        targets: Sequence[LiveTarget],
        interval: float,
        *,
        carry_out: CarryOut | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.interval = interval
        self.trouble = ""
        self.databases = {
            target.name: WatchedDatabase(
                target, interval, phase=place / len(targets), carry_out=carry_out, clock=clock
            )
            for place, target in enumerate(targets)
        }  # fmt: skip
        self._looked_at: Reading | None = None
        self._to_do = ""
        self._stopping = threading.Event()
        self._starter = threading.Thread(target=self._start_all, name="presman-fleet", daemon=True)

    def start(self) -> None:
        """Begin to connect, one after the other."""
        self._starter.start()

    def _start_all(self) -> None:
        has_begun = False
        for database in self.databases.values():
            if self._stopping.is_set():
                break
            has_begun |= database.start()
            self.trouble = "" if has_begun else database.member().reason
            self._stopping.wait(APART)

    def stop(self) -> None:
        """End all threads; what cannot be ended in time dies with the process."""
        self._stopping.set()
        if self._starter.ident is not None:
            self._starter.join(PATIENCE)
        stop_all([database.sampler for database in self.databases.values()])
        self._close_attentions()

    def _close_attentions(self) -> None:
        """Have commands of `on_alert` that still run end: all of them at once."""
        found = [each.target.attention for each in self.databases.values() if each.target.attention is not None]
        threads = [threading.Thread(target=each.close, name="presman-attention", daemon=True) for each in found]
        for each in threads:
            with suppress(RuntimeError):  # no thread can be had: its command ends with presman
                each.start()
        end = time.monotonic() + ATTENTION
        for each in filter(lambda thread: thread.ident, threads):
            each.join(max(0.0, end - time.monotonic()))

    def members(self) -> list[Member]:
        """Return all databases as they are now."""
        return [database.member() for database in self.databases.values()]

    def to_do(self, name: str) -> str:
        """Return the one thing to do about a database: worked out when somebody looks at it, once for each poll."""
        reading = self.databases[name].live_reading
        if reading is None:
            return ""
        if reading is not self._looked_at:
            found = to_do(reading)
            self._looked_at, self._to_do = reading, "" if found is None else found.text
        return self._to_do

    @property
    def is_settled(self) -> bool:
        """Whether of each there are rates, or is known why not."""
        return all(database.is_settled for database in self.databases.values())

    def poll_now(self) -> None:
        """Poll all now, and try those again that are lost; not those that refuse us: that locks accounts."""
        for database in self.databases.values():
            if database.member().connection is not ConnectionState.REFUSED:
                database.sampler.poll_now()

    def set_interval(self, seconds: float) -> None:
        """Poll every `seconds` from now on."""
        self.interval = seconds
        for database in self.databases.values():
            database.set_interval(seconds)


# ---- Fleet as screens and commands need it, wherever its data comes from.


class Fleet(Protocol):
    """Many databases. `name` says where they come from, without secrets; `interval` is seconds between two polls.

    All calls return at once, whatever the databases do.
    """

    name: str
    interval: float

    @property
    def trouble(self) -> str:
        """Why nothing is known of any of them now, "" where something is."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End within half a second."""

    def members(self) -> list[Member]:
        """Return all databases as they are now, in the order they were named."""

    def to_do(self, name: str) -> str:
        """Return the one thing to do about a database, in words; "" where nothing is, or is known."""

    @property
    def is_settled(self) -> bool:
        """Whether all that can be known at first is known: rates of each database, or why there are none."""

    def poll_now(self) -> None:
        """Poll all now, and try those again that are lost."""

    def set_interval(self, seconds: float) -> None:
        """Poll every `seconds` from now on."""
