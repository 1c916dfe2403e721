"""Time bins: the figures of many polls aggregated by the database, so that a month is drawn as fast as an hour."""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from math import isnan
from operator import itemgetter, mul
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import text

from presman.analysis.trends.database_events import PLAN_CHANGED, QUEUE_BEGAN, QUEUE_ENDED, DatabaseEvent
from presman.base.text import clean
from presman.recording import playback_values as stored
from presman.recording.codec.shapes import instant, microseconds
from presman.recording.measure_tables import MICRO, QUEUED, SCALE, SPAN
from presman.recording.playback import Playback
from presman.recording.playback_values import PlaybackPart, Row, StatementLife, checked_number
from presman.recording.window_lines import AT_ONCE, lines_of, pieces, poll_lines, span_waits

T = TypeVar("T")

BinKey = tuple[str, int]
"""The key of a bin: its store and its number there, which is the poll's number divided by the width."""


class TimeBin(NamedTuple):
    """Consecutive polls: the first and the last instant, their number, and for how many seconds CPU is `known`.

    `queued` is the longest queue, None if no poll knows it; `busy` is the number of polls with a queue; `servers` is
    the most parallel servers in use; CPUs used and waited for are means over the time in which they are known. Waits
    for CPU are `counted` for fewer seconds if CPU was not managed in between; CPUs `used_then` are the mean over these.
    """

    key: BinKey
    start: datetime
    end: datetime
    polls: int
    known: float
    queued: int | None
    busy: int
    servers: int | None
    target: int | None
    used: float | None
    waited: float | None
    counted: float
    used_then: float | None


class GroupBin(NamedTuple):
    """The figures of a consumer group in a bin, as means over its time and sums over all instances; None if unknown.

    They are CPUs used and waited for, I/O in MB per second, parallel servers, statements queued.
    """

    key: BinKey
    con_id: int
    group: str
    used: float | None
    waiting: float | None
    io: float | None
    servers: float | None
    queued: float | None


class PollGap(NamedTuple):
    """A period in which polls are missing."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return (self.end - self.start).total_seconds()


EventBins = dict[str, dict[BinKey, Counter[int]]]
"""Waits by event, bin and upper bound of their bucket in microseconds, over all instances."""

SPANS = 2_000
"""The most spans of polls read for groups and waits: of a longer period only some, evenly spaced."""

_SECONDS = f"(interval_us / {MICRO}.0)"

_BINS = text(
    "SELECT poll / :width AS bin, MIN(at) AS start_at, MAX(at) AS end_at, COUNT(*) AS polls,"
    f" SUM(CASE WHEN used_cpus IS NOT NULL THEN {_SECONDS} END) AS known, MAX({QUEUED}) AS queued,"
    " SUM(CASE WHEN queued > 0 THEN 1 ELSE 0 END) AS busy,"
    " MAX(servers_in_use) AS servers,"
    f" MAX(servers_target) AS target, SUM(used_cpus * {_SECONDS}) AS used, SUM(waited_cpus * {_SECONDS}) AS waited,"
    f" SUM(CASE WHEN waited_cpus IS NOT NULL THEN {_SECONDS} END) AS counted,"
    f" SUM(CASE WHEN waited_cpus IS NOT NULL THEN used_cpus * {_SECONDS} END) AS used_then"
    " FROM polls"
    f" WHERE database_id = :database_id AND poll BETWEEN :first AND :last AND poll / {SPAN} % :step = 0"
    " GROUP BY poll / :width ORDER BY 1"
)

_USUAL = text(
    "SELECT interval_us FROM polls WHERE database_id = :database_id AND poll BETWEEN :first AND :last"
    " AND interval_us IS NOT NULL ORDER BY interval_us LIMIT 1 OFFSET (SELECT COUNT(interval_us) / 2 FROM polls"
    " WHERE database_id = :database_id AND poll BETWEEN :first AND :last)"
)
_WORST = (
    "SELECT at, {0} AS amount FROM polls WHERE database_id = :database_id AND poll BETWEEN :first AND :last"
    " AND {0} > 0 ORDER BY {0} DESC, poll LIMIT 1"
)


def width_of(polls: int, bins: int) -> int:
    """Return the polls of a bin for about the wanted number of bins; from `SPAN` on, whole spans."""
    width = max(1, -(-polls // bins))
    return width if width <= SPAN // 2 else -(-width // SPAN) * SPAN


def time_bins(playback: Playback, start: datetime, end: datetime, width: int) -> list[TimeBin]:
    """Return the polls between two instants as bins of `width` polls."""
    parts = playback.parts(start, end)
    return [each for part in parts for each in playback.made(partial(_time_bin, part), part, _BINS, width=width)]


def _time_bin(part: PlaybackPart, row: Row) -> TimeBin:
    return TimeBin(
        key=(part.store.name, row["bin"]),
        start=instant(row["start_at"]),
        end=instant(row["end_at"]),
        polls=row["polls"],
        known=float(row["known"] or 0.0),
        queued=checked_number(row["queued"]),
        busy=row["busy"],
        servers=checked_number(row["servers"]),
        target=checked_number(row["target"]),
        used=_mean(row["used"], row["known"]),
        waited=_mean(row["waited"], row["counted"]),
        counted=float(row["counted"] or 0.0),
        used_then=_mean(row["used_then"], row["counted"]),
    )


def group_bins(playback: Playback, bins: list[TimeBin], start: datetime, end: datetime, width: int) -> list[GroupBin]:
    """Return the figures of each group in each of the `bins`, which are `width` polls wide.

    In polls of a bin that lack a group, its figures count as 0.
    """
    keys = {each.key for each in bins}
    found: list[GroupBin] = []
    for part in map(sampled, playback.parts(start, end)):
        sums = _sums_by_bin(playback, part, width)
        for each in playback.made(partial(_time_bin, part), part, _BINS, width=width):
            if each.key not in keys:
                continue
            for (con_id, group), own in sorted(sums[each.key[1]].items()):
                servers, queued = (_mean(own.get(figure), each.polls, 1) for figure in _PER_POLL)
                used, io = (_mean(own.get(figure), each.known, 1) for figure in _PER_KNOWN)
                waiting = _mean(own.get("waiting"), each.counted, 1)
                found.append(GroupBin(each.key, con_id, group, used, waiting, io, servers, queued))
    return found


_PER_POLL, _PER_KNOWN = ("servers", "queued"), ("used", "io")
"""Figures of a group whose means are over all polls, and over the time in which CPU is known.

That of waits for CPU is over the time in which they are counted: not while CPU is not managed.
"""

_Sums = dict[int, dict[tuple[int, str], dict[str, float]]]
"""The sums of figures over all instances, by bin and group (container and name)."""


def _sums_by_bin(playback: Playback, part: PlaybackPart, width: int) -> _Sums:
    found: _Sums = defaultdict(lambda: defaultdict(dict))
    for piece in pieces(playback, part, AT_ONCE):
        polls, _, seconds, lines = lines_of(playback, piece, (*_PER_POLL, *_PER_KNOWN, "waiting"))
        bins = [poll // width for poll in polls]
        places = {number: slice(bisect_left(bins, number), bisect_right(bins, number)) for number in bins}
        for (figure, (_, con_id, group)), each in lines.items():
            line = each if figure in _PER_POLL else array("d", map(mul, each, seconds))
            for number, own in places.items():
                values = [value for value in line[own] if not isnan(value)]
                if values and type(con_id) is int:
                    sums = found[number][con_id, group]
                    sums[figure] = sums.get(figure, 0.0) + sum(values)
    return found


def sampled(part: PlaybackPart) -> PlaybackPart:
    """Return a part that reads groups and waits from only some spans, evenly spaced, if it has many."""
    spans = part.last // SPAN - part.first // SPAN + 1
    return part._replace(step=max(1, -(-spans // SPANS)))


def gaps(playback: Playback, start: datetime, end: datetime) -> list[PollGap]:
    """Return the periods between two instants in which at least three polls are missing."""
    most = round(3e6 * usual_interval(playback, start, end))  # three intervals, in microseconds
    pairs = pairwise(poll_lines(playback, start, end).times)
    return [PollGap(instant(before), instant(at)) for before, at in pairs if at - before > most]


def usual_interval(playback: Playback, start: datetime, end: datetime) -> float:
    """Return the median of the seconds between polls; 1 if there are too few polls."""
    found = playback.each(lambda row: row["interval_us"] / 1e6, _USUAL, start, end)
    return sorted(found)[len(found) // 2] if found else 1.0


def worst(playback: Playback, start: datetime, end: datetime, column: str) -> datetime | None:
    """Return when a column of `polls`, such as `queued` or `waited_cpus`, was largest; None if it was never above 0."""
    statement = text(_WORST.format(column))
    found = playback.each(lambda row: (checked_number(row["amount"]), instant(row["at"])), statement, start, end)
    return max(found, key=itemgetter(0), default=(0, None))[1]


def bucket_bins(playback: Playback, start: datetime, end: datetime, width: int) -> EventBins:
    """Return the waits of each event in bins of `width` polls, without the bins that have no waits."""
    found: EventBins = defaultdict(lambda: defaultdict(Counter))
    for part in map(sampled, playback.parts(start, end)):
        for each in span_waits(playback, part):
            begin, waits = each.span * SPAN, each.waits
            if width % SPAN == 0 and part.first <= begin and begin + SPAN - 1 <= part.last:
                waits = (sum(filter(None, waits)),)  # bins are whole spans: all waits at the first poll
            for poll, many in enumerate(waits, begin):
                if many and part.first <= poll <= part.last:
                    found[each.event][part.store.name, poll // width][each.upper_us] += many
    return found


def _mean(total: float | None, weight: float, scale: int = SCALE) -> float | None:
    """Return a mean by polls or by seconds, which are the `weight`."""
    return None if total is None or not weight else float(total) / scale / float(weight)  # PostgreSQL sums decimals


# ---- Incident rows: events and parallel statements of a period, counted and chosen by the database


class EventMark(NamedTuple):
    """Events of one kind close to each other: their number, the first and the last instant, the text of one of them."""

    kind: str
    start: datetime
    end: datetime
    many: int
    text: str


class StatementSum(NamedTuple):
    """The parallel executions of a SQL_ID by user and group: their number, seconds queued and run, servers x seconds.

    A statement that was in several groups counts as an execution in each, but among `statements` only in its first.
    `servers` is the most that one execution had. Times outside of the period do not count, except in `longest_wait`:
    the most seconds since its arrival that a statement waiting in the period has waited.
    """

    sql_id: str
    user: str
    group: str
    executions: int
    statements: int
    servers: int
    queued: float
    longest_wait: float
    ran: float
    server_seconds: float


MOST_MARKS, MOST_SUMS = 20_000, 100_000
"""The most marks and sums read from a store: a report shows some thousand, a month has some ten thousand texts."""

_IN_TIME = "database_id = :database_id AND at BETWEEN :start AND :end"
_MARKS = text(
    "SELECT kind, (at - :start) / :width AS place, MIN(at) AS first_at, MAX(at) AS last_at, COUNT(*) AS many,"
    f" MIN(text) AS text FROM events WHERE {_IN_TIME} GROUP BY kind, (at - :start) / :width ORDER BY 3 LIMIT :most"
)
_LAST_OF_PART = text("SELECT at FROM polls WHERE database_id = :database_id AND poll = :last")
_EVENTS = (
    f"SELECT at, kind, consumer_group, sql_id, text FROM events WHERE {_IN_TIME}{{others}} ORDER BY at LIMIT :most"
)
CALM = f" AND kind NOT IN ('{QUEUE_BEGAN}', '{QUEUE_ENDED}')"
CHANGES = f" AND kind = '{PLAN_CHANGED}'"
"""SQL for some events: those that are not the beginning or end of a queue, and changes of the plan."""


def _within(start: str, end: str) -> str:
    """Return SQL for the microseconds between two columns that are within the period; 0 if none are."""
    low = f"CASE WHEN {start} < :start THEN :start ELSE {start} END"
    high = f"CASE WHEN {end} > :end THEN :end ELSE {end} END"
    return f"CASE WHEN {high} > {low} THEN {high} - {low} ELSE 0 END"


_WAITED_UNTIL = "COALESCE(held_from, gone)"
_WAITED = f"CASE WHEN {_WAITED_UNTIL} > :end THEN :end ELSE {_WAITED_UNTIL} END - queued_at"
_QUEUED = f"CASE WHEN queued_at IS NULL THEN 0 ELSE {_within('queued_at', _WAITED_UNTIL)} END"
_RAN = f"CASE WHEN held_from IS NULL THEN 0 ELSE {_within('held_from', 'gone')} END"
_MOST = stored.lives(stored.THERE, more=f"ORDER BY servers * ({_within('came', 'gone')}) DESC LIMIT :most")
_SUMS = stored.lives(
    stored.THERE,
    'sql_id, "user", consumer_group, SUM(CASE WHEN came > :new_from THEN 1 ELSE 0 END) AS executions,'
    " SUM(CASE WHEN came > :new_from AND came <= first_seen THEN 1 ELSE 0 END) AS statements,"
    f" MAX(servers) AS servers, SUM({_QUEUED}) AS queued, COALESCE(MAX(CASE WHEN {_QUEUED} > 0 THEN {_WAITED} END), 0)"
    f" AS longest, SUM({_RAN}) AS ran, SUM(servers * ({_RAN})) AS work",
    'GROUP BY sql_id, "user", consumer_group ORDER BY work DESC LIMIT :most',
)


_BUSIEST = stored.lives(
    f"{stored.THERE} AND sql_id <> ''", "sql_id", f"GROUP BY sql_id ORDER BY SUM(servers * ({_RAN})) DESC LIMIT :most"
)


def busiest_sql_ids(playback: Playback, start: datetime, end: datetime, most: int) -> list[str]:
    """Return the SQL_IDs with the most servers x time between two instants, as stored: at most `most` of each store.

    The statements themselves are not built: a forged file may have hundreds of thousands.
    """
    return playback.each(lambda row: str(row["sql_id"]), _BUSIEST, start, end, most=most)


def event_marks(playback: Playback, start: datetime, end: datetime, stretches: int) -> list[EventMark]:
    """Return the events between two instants; those of a kind within one of `stretches` intervals are one mark."""
    low, high = microseconds(start), microseconds(end)
    binds = {"start": low, "end": high, "width": max(1, (high - low) // stretches + 1)}
    found: list[EventMark] = []
    for part in playback.parts(start, end):
        found += _most_of(playback, part, _mark, _MARKS, MOST_MARKS, "marks of events, the first,", **binds)
    return found


def _most_of(
    playback: Playback, part: PlaybackPart, make: Callable[[Row], T], statement: Any, most: int, what: str, **binds: Any
) -> list[T]:
    """Run a query that returns at most `most` rows; if it returns that many, note which ones they are."""
    found = playback.made(make, part, statement, most=most, **binds)
    if len(found) == most:
        playback.left_out(part, f"no more than {most:,} {what} are read", damaged=False)
    return found


def _mark(row: Row) -> EventMark:
    first, last = instant(row["first_at"]), instant(row["last_at"])
    return EventMark(clean(row["kind"]), first, last, row["many"], clean(row["text"]))


def first_events(playback: Playback, start: datetime, end: datetime, most: int, which: str = "") -> list[DatabaseEvent]:
    """Return the first events between two instants, at most `most`: all, or `which` (CALM, CHANGES)."""
    statement = text(_EVENTS.format(others=which))
    return sorted(playback.each(stored.event_of, statement, start, end, most=most))[:most]


def counted_kinds(marks: Sequence[EventMark]) -> Counter[str]:
    """Return the number of events of each kind."""
    found: Counter[str] = Counter()
    for each in marks:
        found[each.kind] += each.many
    return found


def busiest_lives(playback: Playback, start: datetime, end: datetime, most: int) -> list[StatementLife]:
    """Return the statements that wanted or held the most servers x time between two instants, at most `most`."""
    found = stored.whole(playback.each(stored.life_of, _MOST, start, end, most=most))

    def work(life: StatementLife) -> float:
        return life.servers * (min(life.gone, end) - max(life.came, start)).total_seconds()

    return sorted(found, key=work, reverse=True)[:most]


def statement_sums(playback: Playback, start: datetime, end: datetime) -> list[StatementSum]:
    """Return the sums of the parallel statements between two instants by SQL_ID, the most server time first.

    A statement that was there at midnight is in the files of both days: the second has its part after midnight.
    """
    binds = {"start": microseconds(start), "end": microseconds(end), "new_from": 0}
    sums: dict[tuple[str, str, str], StatementSum] = {}
    for part in playback.parts(start, end):
        what = "sums of statements, those of most server time,"
        for part_sum in _most_of(playback, part, _sum, _SUMS, MOST_SUMS, what, **binds):
            before = sums.get(part_sum[:3])
            sums[part_sum[:3]] = part_sum if before is None else _added(before, part_sum)
        for last in playback.made(itemgetter("at"), part, _LAST_OF_PART):
            binds |= {"start": last, "new_from": last}
    return sorted(sums.values(), key=lambda each: (-each.server_seconds, -each.queued, each.sql_id))


def _sum(row: Row) -> StatementSum:
    sql_id, user, group = (clean(row[each]) for each in ("sql_id", "user", "consumer_group"))
    seconds = (float(row[each]) / MICRO for each in ("queued", "longest", "ran", "work"))
    return StatementSum(sql_id, user, group, row["executions"], row["statements"], 0 + row["servers"], *seconds)


def _added(one: StatementSum, other: StatementSum) -> StatementSum:
    sums = ("executions", "statements", "queued", "ran", "server_seconds")
    added = {name: getattr(one, name) + getattr(other, name) for name in sums}
    largest = {name: max(getattr(one, name), getattr(other, name)) for name in ("servers", "longest_wait")}
    return one._replace(**added, **largest)
