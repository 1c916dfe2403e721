"""Readings of a fleet: one database among many, in one line."""

from __future__ import annotations

from msgspec import Struct

from presman.analysis.readings.group_readings import Marked, throttled_percent
from presman.analysis.readings.reading import Severity


class ConnectionState(Marked):
    """How the data of a database comes in."""

    LIVE = "LIVE", "●", "good"
    LATE = "LATE", "◌", "warn"
    LOST = "LOST", "✕", "bad"
    REFUSED = "REFUSED", "✕", "warn"
    STARTING = "STARTING", "…", "note"
    STOPPED = "STOPPED", "■", "note"


class KeyFigures(Struct, frozen=True):
    """What a fleet shows of one poll of a database.

    `used`, `waiting`: CPUs of all consumer groups since the poll before; `capacity`: the CPUs handed out. `queued`
    parallel statements wait, the first of them for `head_waited` seconds. `alerts` counts those that are bad or
    warnings; the worst has `severity` ("good" without any) and says `worst`. `plan` is "" without one.
    """

    database: str
    plan: str
    used: float | None
    waiting: float | None
    capacity: float | None
    queued: int | None
    head_waited: float | None
    servers_in_use: int | None
    servers_target: int | None
    alerts: int
    severity: Severity
    worst: str

    @property
    def cpu_percent(self) -> float | None:
        """Percent of the CPUs handed out that were used."""
        return None if self.used is None or not self.capacity else 100 * self.used / self.capacity

    @property
    def throttled_percent(self) -> float | None:
        """Percent of CPU demand that had to wait."""
        return throttled_percent(self.used, self.waiting)


class Past(Struct, frozen=True):
    """The last polls of a database, oldest first; None where nothing was known."""

    cpu_percent: tuple[float | None, ...] = ()
    queued: tuple[float | None, ...] = ()


class Member(Struct, frozen=True):
    """One database of a fleet, now.

    `name` is its target, without secrets; `key_figures` are of its newest poll, None where there is none that can be
    called new: before the first, and when it is lost. `age` is how many seconds old the newest poll is, None without
    one; `since` how many it has been lost, refused, starting or stopped. `reason` says why in one line, `retry_in` in
    how many seconds another attempt follows, None where none does. `outlook` says what follows where nobody is let in.
    """

    name: str
    connection: ConnectionState
    key_figures: KeyFigures | None = None
    age: float | None = None
    since: float | None = None
    reason: str = ""
    retry_in: float | None = None
    past: Past = Past()
    outlook: str = ""
