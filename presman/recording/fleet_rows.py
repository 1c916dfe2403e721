"""Fleet rows: one for each database of a store, with its newest figures and the state of its recorder."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from sqlalchemy import Connection, select, text

from presman.analysis.fleet import KEPT, ConnectionState, KeyFigures, Member, Past, is_late, key_figures_of
from presman.analysis.readings.reading import Reading, Severity
from presman.base.text import clean, one_line
from presman.recording.measure_tables import FLEET_FIGURES, MICRO, QUEUED, SCALE
from presman.recording.playback_values import is_number
from presman.recording.schema import FLEET, NOW, run_named, update
from presman.recording.store import MOST_DATABASES

# ---- Writer of fleet rows


LIVE, LOST, STOPPED = "live", "lost", "stopped"
"""States that a recorder reports: of its database, and of itself after it ended normally."""

LONGEST = 400
"""The most characters of a reason or an alert."""

_OF_ONE = ("database_id",)
_POLLED = update(
    FLEET,
    ("every_us", "severity", "worst", "link", "reason", *(each.key for each in FLEET_FIGURES)),
    _OF_ONE,
    clocks=("polled_at", "link_at"),
)
_MARKED = update(FLEET, ("link", "reason"), _OF_ONE, clocks=("link_at",))


class FleetRowWriter:
    """Writes the row of one database. `every` is the seconds between its polls, None if unknown."""

    def __init__(self, connection: Connection, database_id: int, every: float | None) -> None:
        self._database_id = database_id
        self._every = None if every is None else round(every * MICRO)
        here = FLEET.c.database_id == database_id
        if connection.execute(select(FLEET.c.database_id).where(here)).first() is None:
            blank = {"link": STOPPED, "link_at": 0, "reason": "", "severity": "good", "worst": ""}
            connection.execute(FLEET.insert().values(database_id=database_id, **blank))

    def write(self, reading: Reading, connection: Connection) -> None:
        """Write the figures of a poll."""
        key_figures = key_figures_of(reading)
        member = Member("", ConnectionState.LIVE, key_figures)
        row: dict[str, Any] = {each.key: each.kept(member) for each in FLEET_FIGURES}
        worst, reason = (one_line(each, LONGEST) for each in (key_figures.worst, key_figures.unknown))
        row |= {"every_us": self._every, "severity": key_figures.severity, "worst": worst}
        row |= {"link": LIVE, "reason": reason, "database_id": self._database_id}
        run_named(connection, _POLLED, [row])

    def mark(self, link: str, reason: str, connection: Connection) -> None:
        """Note that the database was lost, or that the recorder was ended."""
        message = one_line(clean(reason), LONGEST)
        run_named(connection, _MARKED, [{"link": link, "reason": message, "database_id": self._database_id}])


def is_written(connection: Connection, database_id: int, every: float) -> bool:
    """Whether a recorder of a database polled and neither stopped nor is late, by the store's clock.

    `every` is the seconds between two polls if that recorder did not say.
    """
    columns = f"link, polled_at, every_us, {NOW[connection.dialect.name]} AS now"
    chosen = text(f"SELECT {columns} FROM fleet WHERE database_id = :database_id")
    row = connection.execute(chosen, {"database_id": database_id}).first()
    if row is None or row.link != LIVE or row.polled_at is None:
        return False
    age = (int(row.now) - row.polled_at) / MICRO
    # A poll of the future says nothing: the store's clock was set back.
    return age >= 0 and not is_late(age, row.every_us / MICRO if row.every_us else every)


# ---- Reader of fleet rows: all databases of a store with one SELECT, however many


_SEVERITIES: Mapping[str, Severity] = {"bad": "bad", "warn": "warn", "note": "note"}

PAST = {
    "sqlite": f"SELECT d.target, p.used_cpus, {QUEUED} AS queued FROM databases d"
    " JOIN polls p ON p.database_id = d.database_id"
    " AND p.poll > (SELECT MAX(q.poll) FROM polls q WHERE q.database_id = d.database_id) - :kept"
    " ORDER BY d.database_id, p.poll",
    "postgresql": f"SELECT d.target, p.used_cpus, {QUEUED} AS queued FROM databases d"
    " CROSS JOIN LATERAL (SELECT poll, used_cpus, queued FROM polls WHERE database_id = d.database_id"
    " ORDER BY poll DESC LIMIT :kept) p"
    " ORDER BY d.database_id, p.poll",
}
"""The newest polls of every database, for each kind of store so that it uses the key and reads no older ones."""


class FleetRow(Struct, frozen=True):
    """One database of a store.

    `link` is the last state that its recorder reported, `since` seconds ago: live, lost or stopped. `polled_at` is when
    its newest poll came, in microseconds of the store's clock, `age` the seconds since then, `every` the seconds
    between two polls. `reason` is why it is not live, or what its newest poll could not see. `key_figures` is None if
    nothing was recorded, or only by an older presman.
    """

    target: str
    link: str
    polled_at: int | None
    age: float | None
    since: float | None
    every: float | None
    reason: str
    key_figures: KeyFigures | None


class PastPoll(NamedTuple):
    """The figures of a past poll that are drawn: CPUs used, statements queued."""

    used: float | None
    queued: int | None


def read_fleet(connection: Connection) -> list[FleetRow]:
    """Return every database of a store, by name; at most one more than a store may have."""
    names = ("polled_at", "every_us", "link", "link_at", "reason", "severity", "worst")
    columns = ["d.target", "d.name", *(f"f.{name}" for name in (*names, *(each.key for each in FLEET_FIGURES)))]
    columns.append(f"{NOW[connection.dialect.name]} AS now")
    statement = f"SELECT {', '.join(columns)} FROM databases d LEFT JOIN fleet f ON f.database_id = d.database_id"
    rows = connection.execute(text(f"{statement} ORDER BY d.target")).mappings().fetchmany(MOST_DATABASES + 1)
    return [_row(row, int(row["now"])) for row in rows]


def read_past(connection: Connection) -> dict[str, list[PastPoll]]:
    """Return the last polls of every database, oldest first, to draw before the first new ones come."""
    found: dict[str, list[PastPoll]] = {}
    for row in connection.execute(text(PAST[connection.dialect.name]), {"kept": KEPT}).mappings():
        used, queued = _number(row["used_cpus"]), _number(row["queued"])
        poll = PastPoll(None if used is None else used / SCALE, queued)
        found.setdefault(clean(str(row["target"])), []).append(poll)
    return found


def past_of(polls: list[PastPoll], capacity: float | None) -> Past:
    """Return past polls as they are drawn, relative to the CPUs available now."""
    percents = (None if poll.used is None or not capacity else 100 * poll.used / capacity for poll in polls)
    return Past(tuple(percents), tuple(poll.queued for poll in polls))


def _number(value: Any) -> Any:
    """Return a number unchanged, None for anything that no recorder writes: a text, bytes, infinity."""
    return value if is_number(value) else None


def _row(row: Mapping[Any, Any], now: int) -> FleetRow:
    """Return a row with every value checked: the store may be forged."""
    link, polled_at, every = str(row["link"] or STOPPED), _number(row["polled_at"]), _number(row["every_us"])
    return FleetRow(
        clean(str(row["target"])),
        link if link in {LIVE, LOST} else STOPPED,
        polled_at,
        _seconds(now, polled_at),
        _seconds(now, _number(row["link_at"])),
        None if every is None else every / MICRO,
        one_line(clean(str(row["reason"] or "")), LONGEST),
        None if polled_at is None else _key_figures(row),
    )


def _seconds(now: int, at: Any) -> float | None:
    return max(0.0, (now - at) / MICRO) if at else None


def _key_figures(row: Mapping[Any, Any]) -> KeyFigures:
    found: dict[str, Any] = {}
    for each in FLEET_FIGURES:
        value, name = row[each.key], each.figure.path.removeprefix("key_figures.")
        if each.is_text:
            found[name] = clean(str(value or ""))
        else:
            number = _number(value)
            found[name] = None if number is None else number / SCALE if each.is_scaled else int(number)
    found["alerts"] = found["alerts"] or 0
    worst = one_line(clean(str(row["worst"] or "")), LONGEST)
    name, severity = clean(str(row["name"] or "")), _SEVERITIES.get(str(row["severity"]), "good")
    # Once the link is no longer live, the reason is about the link.
    unknown = one_line(clean(str(row["reason"] or "")), LONGEST) if row["link"] == LIVE else ""
    return KeyFigures(database=name, severity=severity, worst=worst, unknown=unknown, **found)
