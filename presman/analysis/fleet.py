"""Fleet: one line for each of several databases: the figures shown of a reading, and the order of the databases."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from presman.analysis.alerts.alert_rules import all_clear, worst_first, wrong
from presman.analysis.alerts.judge import alert_id
from presman.analysis.alerts.not_known import not_known
from presman.analysis.readings.group_readings import Marked, throttled_percent
from presman.analysis.readings.reading import NO_ANSWER, Reading, Severity
from presman.analysis.readings.statement_readings import longest_wait
from presman.analysis.totals import queued_now
from presman.base.sums import sum_of_known


class ConnectionState(Marked):
    """The state of the data that comes from a database."""

    LIVE = "LIVE", "●", "good"
    LATE = "LATE", "◌", "warn"
    LOST = "LOST", "✕", "bad"
    REFUSED = "REFUSED", "✕", "warn"
    STARTING = "STARTING", "…", "note"
    STOPPED = "STOPPED", "■", "note"


class KeyFigures(Struct, frozen=True):
    """The figures of one poll of a database that a fleet shows.

    `used` and `waiting` are CPUs of all consumer groups since the previous poll; `capacity` is the number of CPUs
    handed out. `queued` parallel statements wait, the first of them for `head_waited` seconds. `alerts` counts critical
    alerts and warnings; the worst has `severity`. Without any, `severity` is "good", or "note" if something is not
    known. `worst` says all of it: the worst alert, what is not known, else the basis of the all-clear. `unknown` has
    the unknown facts, "" if all could be seen. `plan` is "" without one.
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
    unknown: str = ""

    @property
    def cpu_percent(self) -> float | None:
        """Percent of the CPUs handed out that were used."""
        return None if self.used is None or not self.capacity else 100 * self.used / self.capacity

    @property
    def throttled_percent(self) -> float | None:
        """Percent of CPU demand that had to wait."""
        return throttled_percent(self.used, self.waiting)

    @property
    def has_unknowns(self) -> bool:
        """Whether something could not be seen."""
        return bool(self.unknown) or self.severity == "note"


class Past(Struct, frozen=True):
    """The last polls of a database, oldest first; None for unknown values."""

    cpu_percent: tuple[float | None, ...] = ()
    queued: tuple[float | None, ...] = ()


class Member(Struct, frozen=True):
    """One database of a fleet, now.

    `name` is its target, without secrets. `key_figures` are those of its newest poll, None before the first poll, when
    the database is lost, and when no view answers. `age` is the age of the newest poll that was answered in seconds,
    None without one; `since` is how many seconds it has been lost, refused, starting or stopped. `reason` says why in
    one line. `retry_in` is the seconds until the next attempt, None without one. `outlook` says what comes next if
    connections are refused; with `wants_password` that is no attempt unless there is another password.
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
    wants_password: bool = False


LATE_AFTER = 2
"""Intervals without data after which a database is late: the figures shown are older than they look."""

LOST_AFTER, SHORTEST_LOSS = 10, 60.0
"""Intervals, and seconds at least, after which a recorder that writes nothing counts as gone."""

KEPT = 60
"""Polls that are kept for the charts."""

_RANKS = {
    ConnectionState.LOST: 0,
    ConnectionState.REFUSED: 2,
    ConnectionState.LATE: 3,
    ConnectionState.STOPPED: 5,
    ConnectionState.STARTING: 6,
}
_OF_SEVERITY = {"bad": 1, "warn": 3, "note": 4}
_WELL = 7


def key_figures_of(reading: Reading) -> KeyFigures:
    """Return the figures of a reading that a fleet shows."""
    header, groups = reading.header, reading.cluster_groups()
    alerts = [alert for alert in worst_first(wrong(reading)) if alert.state in {"bad", "warn"}]
    unknown = _not_known(reading)
    clear = [] if alerts else [each.between[0] for each in all_clear(reading)]
    return KeyFigures(
        database=header.database,
        plan=header.plan,
        used=sum_of_known(group.used for group in groups),
        waiting=sum_of_known(group.waiting for group in groups),
        capacity=header.num_cpus,
        queued=queued_now(reading),
        head_waited=longest_wait(reading.queue),
        servers_in_use=header.servers.in_use,
        servers_target=header.servers.target,
        alerts=len({alert_id(each) for each in alerts}),  # one that is found and kept from before counts once
        severity=alerts[0].state if alerts else "note" if unknown else "good",
        worst="; ".join([*(each.short for each in alerts[:1]), *unknown, *clear]),
        unknown="; ".join(unknown),
    )


def _not_known(reading: Reading) -> list[str]:
    """Return which problems could not be checked, and which views did not answer; rates need two polls."""
    if reading.is_silent():
        return [NO_ANSWER]
    found = not_known(reading) if reading.interval else [f"{each.view}: no answer in time" for each in reading.late]
    return [f"not known: {'; '.join(found)}"] if found else []


USUAL = 5.0
"""Seconds between two polls if that is not known."""


def is_late(age: float, interval: float) -> bool:
    """Return whether data of that age is older than it should be with a poll every `interval` seconds."""
    return age > LATE_AFTER * interval + 1


def is_silent(age: float, interval: float) -> bool:
    """Return whether a recorder that should write every `interval` seconds counts as gone."""
    return age > max(SHORTEST_LOSS, LOST_AFTER * interval)


def rank(member: Member) -> int:
    """Return the rank of a database among others: 0 is the worst."""
    connection_rank = _RANKS.get(member.connection, _WELL)
    severity = "good" if member.key_figures is None else member.key_figures.severity
    return min(connection_rank, _OF_SEVERITY.get(severity, _WELL))


def by_trouble(members: Iterable[Member]) -> list[Member]:
    """Return databases in order of trouble: lost, critical, refused, warning or late, blind, well; then by name."""

    def order(member: Member) -> tuple[int, int, int, str]:
        found = member.key_figures
        alerts, queued = (found.alerts, found.queued or 0) if found is not None else (0, 0)
        return rank(member), -alerts, -queued, member.name

    return sorted(members, key=order)


def is_seen(member: Member) -> bool:
    """Return whether its newest poll came in time and answers whether something is wrong."""
    key_figures = member.key_figures
    return member.connection is ConnectionState.LIVE and not (key_figures and key_figures.has_unknowns)


def counts(members: Sequence[Member]) -> Counter[ConnectionState]:
    """Return the number of databases in each state."""
    return Counter(member.connection for member in members)


def extended(past: Past, key_figures: KeyFigures) -> Past:
    """Return the past with one more poll."""
    used = (*past.cpu_percent[1 - KEPT :], key_figures.cpu_percent)
    return Past(used, (*past.queued[1 - KEPT :], key_figures.queued))
