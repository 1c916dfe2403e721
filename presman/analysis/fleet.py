"""Fleet: one database among many in one line: what of a reading is shown, and which of them comes first."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from presman.analysis.alerts.alert_rules import all_clear, not_known, worst_first, wrong
from presman.analysis.readings.group_readings import Marked, throttled_percent
from presman.analysis.readings.reading import Reading, Severity
from presman.analysis.readings.statement_readings import longest_wait
from presman.analysis.totals import queued_now
from presman.base.sums import sum_of_known


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
    warnings; the worst has `severity` ("good" without any) and says `worst`, which without any is what that rests on.
    `plan` is "" without one.
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


LATE_AFTER = 2
"""Intervals without data after which a database is late: what is shown is older than it looks."""

LOST_AFTER, SHORTEST_LOSS = 10, 60.0
"""Intervals, and seconds at least, after which a recorder that writes nothing is taken for gone."""

KEPT = 60
"""Polls that are kept to be drawn."""

_RANKS = {
    ConnectionState.LOST: 0,
    ConnectionState.REFUSED: 2,
    ConnectionState.LATE: 3,
    ConnectionState.STOPPED: 4,
    ConnectionState.STARTING: 5,
}
_BAD, _WARNING, _WELL = 1, 3, 6


def key_figures_of(reading: Reading) -> KeyFigures:
    """Return what a fleet shows of a reading."""
    header, groups = reading.header, reading.cluster_groups()
    alerts = [alert for alert in worst_first(wrong(reading)) if alert.state in {"bad", "warn"}]
    return KeyFigures(
        database=header.database,
        plan=header.plan,
        used=sum_of_known(group.used for group in groups),
        waiting=sum_of_known(group.waiting for group in groups),
        capacity=header.num_cpus or None,
        queued=queued_now(reading),
        head_waited=longest_wait(reading.queue),
        servers_in_use=header.servers.in_use,
        servers_target=header.servers.target,
        alerts=len(alerts),
        severity=alerts[0].state if alerts else "good",
        worst=alerts[0].short if alerts else _why_no_alert(reading),
    )


def _why_no_alert(reading: Reading) -> str:
    """Return why no alert is shown: which problems the views rule out, and which could not be checked."""
    clear = [each.between[0] for each in all_clear(reading)]
    return "; ".join(clear + [each.short for each in not_known(reading)])


def is_late(age: float, interval: float) -> bool:
    """Tell whether data of that age is older than it should be where a poll comes every `interval` seconds."""
    return age > LATE_AFTER * interval + 1


def is_silent(age: float, interval: float) -> bool:
    """Tell whether a recorder that should write every `interval` seconds is taken for gone."""
    return age > max(SHORTEST_LOSS, LOST_AFTER * interval)


def rank(member: Member) -> int:
    """Return where a database stands among others: 0 hurts most."""
    connection_rank = _RANKS.get(member.connection, _WELL)
    severity = "good" if member.key_figures is None else member.key_figures.severity
    return min(connection_rank, {"bad": _BAD, "warn": _WARNING}.get(severity, _WELL))


def by_trouble(members: Iterable[Member]) -> list[Member]:
    """Return databases in order of trouble: lost, hurt, refused, to be looked at, late, well; then by name."""
    return sorted(members, key=_order)


def _order(member: Member) -> tuple[int, int, int, str]:
    key_figures = member.key_figures
    return (
        rank(member),
        -(key_figures.alerts if key_figures else 0),
        -((key_figures and key_figures.queued) or 0),
        member.name,
    )


def counts(members: Sequence[Member]) -> Counter[ConnectionState]:
    """Return how many databases are in which state."""
    return Counter(member.connection for member in members)


def further(past: Past, key_figures: KeyFigures) -> Past:
    """Return the past with one more poll."""
    return Past(
        (*past.cpu_percent[1 - KEPT :], key_figures.cpu_percent),
        (*past.queued[1 - KEPT :], key_figures.queued),
    )
