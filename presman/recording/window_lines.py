"""Figures over a period of a recording: a line for each figure of the consumer groups, and the waits of each event.

A row that lasts for several polls is read once, and no poll is analysed: an hour takes some milliseconds. Waits are
counted for several polls at a time, with the seconds that these cover.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import compress, groupby
from math import isnan, nan
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import text

from presman.base.text import clean
from presman.recording.codec.shapes import microseconds
from presman.recording.measure_tables import MICRO, QUEUED, SCALE, SPAN, all_kinds
from presman.recording.playback import Playback
from presman.recording.playback_values import PlaybackPart, is_number

T = TypeVar("T")

FIGURES: Mapping[str, str] = {
    "used": f"r.used_cpus / {SCALE}.0",
    "waiting": f"r.waited_cpus / {SCALE}.0",
    "entitled": f"r.entitled_cpus / {SCALE}.0",
    "io": f"{all_kinds('mb_per_s')} / {SCALE}.0",
    "requests": f"{all_kinds('requests_per_s')} / {SCALE}.0",
    "service": f"r.service_ms / {SCALE}.0",
    "servers": "r.px_servers_active",
    "queued": "r.px_statements_queued",
    "ever_queued": "c.statements_queued_total",
    "timeouts": "c.queue_timeouts_total",
}
"""The figures of lines, as SQL of rows `r` and cases `c`. `servers` is known for every poll that has the group."""

Who = tuple[int, int, str]
"""Instance, container, group."""


class GroupLines(NamedTuple):
    """Polls by number, with instants in seconds since 1970 and the seconds since the previous poll, NaN without one.

    `values` has the values of each line at these polls, NaN if unknown, by figure and group.
    """

    polls: array[int]
    times: array[float]
    seconds: array[float]
    values: dict[tuple[str, Who], array[float]]


_OF_PART = (
    f"r.database_id = :database_id AND r.span BETWEEN :first / {SPAN} AND :last / {SPAN}"
    f" AND r.span * {SPAN} + r.last >= :first AND r.span * {SPAN} + r.first <= :last AND r.span % :step = 0"
)
_ROWS = (
    f"SELECT r.case_id, r.span * {SPAN} + r.first, r.span * {SPAN} + r.last, {{}} FROM group_rows r{{}}"
    f" WHERE {_OF_PART}"
)
_WITH_CASES = " JOIN group_cases c ON c.database_id = r.database_id AND c.case_id = r.case_id"
_CASES = text(
    "SELECT c.case_id, c.inst_id, c.con_id, c.consumer_group FROM group_cases c WHERE c.database_id = :database_id"
    f" AND c.case_id IN (SELECT r.case_id FROM group_rows r WHERE {_OF_PART})"
)
_POLLS = text(
    f"SELECT poll, at / {MICRO}.0, interval_us / {MICRO}.0 FROM polls WHERE database_id = :database_id"
    f" AND poll BETWEEN :first AND :last AND poll / {SPAN} % :step = 0 ORDER BY poll"
)


_MOST_GROUPS = 1_000
"""The most consumer groups whose figures are read: a plan has at most 28, a container database some hundred plans."""

_GROUPS = text(
    "SELECT COUNT(*) FROM (SELECT DISTINCT con_id, consumer_group FROM group_cases WHERE database_id = :database_id) c"
)


def has_groups(playback: Playback, part: PlaybackPart) -> bool:
    """Whether the groups of a part may be read. If there are more than any database has, report that instead."""
    groups = _groups_of(playback, part)
    if groups > _MOST_GROUPS:
        playback.left_out(part, f"it has {groups:,} consumer groups, and their figures are left out")
    return groups <= _MOST_GROUPS


def _groups_of(playback: Playback, part: PlaybackPart) -> int:
    ((groups,),) = playback.rows(part, _GROUPS) or [(0,)]
    return int(groups)


AT_ONCE, _VALUES_AT_ONCE = 20_000, 400_000
"""The most polls whose figures are read at once, and the most polls x groups: each has ten figures."""


def pieces(playback: Playback, part: PlaybackPart, most: int) -> list[PlaybackPart]:
    """Return the pieces of a part that have polls, each of at most `most` poll numbers, in order of time."""
    found: list[list[int]] = []
    for poll, *_ in playback.streamed(part, _POLLS):
        if not _is_among(poll, part):
            continue
        if found and poll < found[-1][0] + most:
            found[-1][1] = max(poll, found[-1][1])
        else:
            found.append([poll, poll])
    return [part._replace(first=first, last=last) for first, last in found]


def group_lines_in_turn(
    playback: Playback, start: datetime, end: datetime, figures: Sequence[str], step: int = 1
) -> Iterator[GroupLines]:
    """Yield the lines of all groups piece by piece, so that a month of them is never in memory at once.

    They contain every `step`th span of 32 polls. From the second piece on, the first poll repeats the last one of the
    previous piece: counters have grown since then.
    """
    found: GroupLines | None = None
    for part in playback.parts(start, end):
        polls = min(AT_ONCE, _VALUES_AT_ONCE // max(1, min(_groups_of(playback, part), _MOST_GROUPS)))
        for piece in pieces(playback, part._replace(step=step), polls):
            before, found = found, lines_of(playback, piece, figures)
            if before is not None:
                values = {key: own[-1:] for key, own in before.values.items()}
                last = GroupLines(before.polls[-1:], before.times[-1:], before.seconds[-1:], values)
                _add(last, found)
                found = last
            yield found


def group_lines(playback: Playback, start: datetime, end: datetime, figures: Sequence[str]) -> GroupLines:
    """Return the lines of all groups on all instances between two instants; `figures` are keys of `FIGURES`."""
    found = GroupLines(array("q"), array("d"), array("d"), {})
    for part in playback.parts(start, end):
        for piece in pieces(playback, part, AT_ONCE):
            _add(found, lines_of(playback, piece, figures))
    return found


def ever_queued(playback: Playback, start: datetime, end: datetime) -> int:
    """Return how many statements were queued between two polls, by the counters at both; a restart counts as none."""
    lines = group_lines(playback, start, end, ("ever_queued",)).values.values()
    known = ([value for value in line if not isnan(value)] for line in lines)
    return sum(max(0, round(line[-1] - line[0])) for line in known if line)


def lines_of(playback: Playback, part: PlaybackPart, figures: Sequence[str]) -> GroupLines:
    """Return the lines of all groups in one piece."""
    polls = {
        poll: (float(at), nan if seconds is None else float(seconds))
        for poll, at, seconds in playback.rows(part, _POLLS)
        if is_number(at) and (seconds is None or is_number(seconds)) and _is_among(poll, part)
    }
    columns = ", ".join(FIGURES[each] for each in figures)
    statement = text(_ROWS.format(columns, _WITH_CASES if "c." in columns else ""))
    rows = playback.rows(part, statement) if has_groups(playback, part) else []
    drawn = _row_indexes(playback, part, rows) if rows else {}
    values = list(zip(*rows, strict=True))[3:] or [()] * len(figures)  # no rows if they are damaged
    # The last value of each column is what index -1 finds: a poll without a row.
    known_values = [[*(value if is_number(value) else nan for value in column), nan] for column in values]
    inside = [poll in polls for poll in range(part.first, part.last + 1)]
    known = {}
    for key, indexes in drawn.items():
        used = list(compress(indexes, inside))
        for figure, column in zip(figures, known_values, strict=True):
            line = array("d", [column[index] for index in used])
            if not all(map(isnan, line)):
                known[figure, key] = line
    times, seconds = (array("d", [each[index] for each in polls.values()]) for index in (0, 1))
    return GroupLines(array("q", polls), times, seconds, known)


def _is_among(poll: object, part: PlaybackPart) -> bool:
    """Whether a poll is one of those requested: a damaged index may return others."""
    return isinstance(poll, int) and part.first <= poll <= part.last


def _row_indexes(playback: Playback, part: PlaybackPart, rows: Sequence[tuple[Any, ...]]) -> dict[Who, array[int]]:
    """Return for each group the index of its row at each poll, -1 if it has none."""
    drawn: dict[Who, array[int]] = {}
    line_of = {}
    for case_id, inst_id, con_id, group in playback.rows(part, _CASES):
        key = (inst_id, con_id, clean(str(group)))
        line_of[case_id] = drawn.setdefault(key, array("l", [-1]) * (part.last - part.first + 1))
    for index, (case_id, first, last, *_) in enumerate(rows):
        try:
            if part.first <= first == last:  # most of them
                line_of[case_id][first - part.first] = index
                continue
            begin, end = max(0, first - part.first), min(last, part.last) - part.first + 1
            if begin < end:  # otherwise no recorder wrote it, and the line would get shorter
                line_of[case_id][begin:end] = array("l", [index]) * (end - begin)
        except (TypeError, KeyError, IndexError):  # values that no recorder wrote
            continue
    return drawn


def _add(found: GroupLines, more: GroupLines) -> None:
    """Append the lines of a later piece to those found."""
    before, now = len(found.times), len(more.times)
    found.polls.extend(more.polls)
    found.times.extend(more.times)
    found.seconds.extend(more.seconds)
    for key in found.values.keys() | more.values.keys():
        line = found.values.setdefault(key, array("d", [nan]) * before)
        line.extend(more.values.get(key) or array("d", [nan]) * now)


_PLACES = ", ".join(f"w.waits_{each}" for each in range(SPAN))
_WAITS = text(
    f"SELECT w.span, b.event, b.upper_us, w.first, w.last, w.known, {_PLACES}"
    " FROM bucket_waits w JOIN buckets b ON b.database_id = w.database_id AND b.bucket_id = w.bucket_id"
    f" WHERE w.database_id = :database_id AND w.span BETWEEN :first / {SPAN} AND :last / {SPAN}"
    " AND w.span % :step = 0 ORDER BY w.span, b.event"
)

_MOST_EVENTS, _MOST_BUCKETS = 300, 10_000
"""The most events with histograms, and the most buckets by upper bound: a database has 90 and 3,000."""

_KINDS = text(
    "SELECT COUNT(DISTINCT event), COUNT(*)"
    " FROM (SELECT DISTINCT event, upper_us FROM buckets WHERE database_id = :database_id) b"
)


class PollLines(NamedTuple):
    """The instants of polls in microseconds since 1970, and a line for each figure, NaN if unknown."""

    times: array[int]
    values: Mapping[str, array[float]]


_OF_ALL = ("queued", "servers_in_use", "servers_target", "used_cpus", "waited_cpus", "seconds")
_LINES = text(
    f"SELECT at, {QUEUED}, servers_in_use, servers_target, used_cpus / {SCALE}.0, waited_cpus / {SCALE}.0,"
    f" interval_us / {MICRO}.0 FROM polls"
    " WHERE database_id = :database_id AND poll BETWEEN :first AND :last ORDER BY poll"
)


def poll_lines(playback: Playback, start: datetime, end: datetime) -> PollLines:
    """Return what is known of the polls between two instants without decoding them: a month takes 20 MB."""
    found = PollLines(array("q"), {figure: array("d") for figure in _OF_ALL})
    for part in playback.parts(start, end):
        for at, *values in playback.streamed(part, _LINES):
            if type(at) is not int or not _EARLIEST <= at <= _LATEST or not all(map(_is_known, values)):
                playback.left_out(part, "rows that no recorder wrote are skipped")
                continue
            found.times.append(at)
            for line, value in zip(found.values.values(), values, strict=True):
                line.append(nan if value is None else value)
    return found


_EARLIEST, _LATEST = 0, microseconds(datetime.max.replace(tzinfo=UTC)) - 1


def _is_known(value: Any) -> bool:
    return value is None or is_number(value)


class LatencyBin(NamedTuple):
    """The waits of a period of `seconds`, by the upper bound of their bucket in microseconds, over all instances."""

    seconds: float
    waits: Mapping[int, int]


class LazySequence(Sequence[T]):
    """Values that are built on each access: all at once would take hundreds of megabytes."""

    def __init__(self, make: Callable[[int], T], many: int) -> None:
        self._make = make
        self._many = many

    def __len__(self) -> int:
        return self._many

    def __getitem__(self, index: Any) -> Any:
        return self._make(range(self._many)[index])


class BinnedWaits:
    """Collects the waits of an event: the seconds of each bin, and the waits of each bucket in all bins."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = defaultdict(float)
        self._waits: dict[int, array[float]] = defaultdict(lambda: array("d"))

    def add(self, polls: Sequence[_Poll | None], sums: Mapping[int, Sequence[int]]) -> None:
        """Add the waits in the polls of a span; a poll is None if its waits are unknown."""
        for poll in polls:
            if poll is not None:
                self._seconds[poll.bin] += poll.seconds
        for upper, counts in sums.items():
            line = self._waits[upper]
            for poll, count in zip(polls, counts, strict=True):
                if count and poll is not None:
                    line.extend([0.0] * (poll.bin + 1 - len(line)))
                    line[poll.bin] += count

    def bins(self) -> Sequence[LatencyBin]:
        """Return the bins in order of time."""
        numbers = sorted(self._seconds)

        def made(index: int) -> LatencyBin:
            number = numbers[index]
            counts = ((upper, int(by_bin[number])) for upper, by_bin in self._waits.items() if number < len(by_bin))
            return LatencyBin(self._seconds[number], {upper: waits for upper, waits in counts if waits})

        return LazySequence(made, len(numbers))


class _Poll(NamedTuple):
    """A poll: its bin, and the seconds since the previous poll."""

    bin: int
    seconds: float


def latency_bins(
    playback: Playback, start: datetime, end: datetime, width: int, step: int = 1
) -> dict[str, Sequence[LatencyBin]]:
    """Return bins of `width` polls between two instants by event, or of every `step`th 32 polls, in order of time.

    A poll counts for an event if the event's waits in it, and the time since the previous poll, are known.
    """
    found: dict[str, BinnedWaits] = defaultdict(BinnedWaits)
    before = 0
    parts = (each._replace(step=step) for each in playback.parts(start, end))
    for part in (piece for each in parts for piece in pieces(playback, each, AT_ONCE)):
        rows = playback.rows(part, _POLLS)
        polls = {
            poll: _Poll((before + index) // width, float(since))
            for index, (poll, _, since) in enumerate(rows)
            if since and is_number(since) and _is_whole(poll)
        }
        before += len(rows)
        for (span, event), buckets in groupby(span_waits(playback, part), key=itemgetter(0, 1)):
            span_polls = [polls.get(poll) for poll in range(span * SPAN, (span + 1) * SPAN)]
            found[event].add(*_summed(span_polls, buckets))
    return {event: bins for event, each in found.items() if (bins := each.bins())}


class SpanWaits(NamedTuple):
    """The waits of a bucket of one instance in the polls of a span; the bucket was there from `first` to `last`.

    `known` is 0 if the number of waits in the first of these polls is unknown.
    """

    span: int
    event: str
    upper_us: int
    first: int
    last: int
    known: int | None
    waits: Sequence[int | None]


def span_waits(playback: Playback, part: PlaybackPart) -> Iterator[SpanWaits]:
    """Yield the waits of a part by span and event, without rows that no recorder can have written.

    If there are more histograms than any database has, that is reported instead.
    """
    ((events, buckets),) = playback.rows(part, _KINDS) or [(0, 0)]
    if events > _MOST_EVENTS or buckets > _MOST_BUCKETS:
        playback.left_out(part, f"its histograms have {buckets:,} buckets of {events:,} events, and are left out")
        return
    for span, event, upper, first, last, known, *waits in playback.streamed(part, _WAITS):
        counts = [each for each in (known, *waits) if each is not None]
        if _is_whole(span, upper, first, last, *counts) and 0 <= first <= last < SPAN and min(counts, default=0) >= 0:
            yield SpanWaits(span, clean(str(event)), upper, first, last, known, waits)


def _is_whole(*values: Any) -> bool:
    return all(type(each) is int for each in values)


def _summed(
    polls: Sequence[_Poll | None], buckets: Iterable[SpanWaits]
) -> tuple[list[_Poll | None], dict[int, list[int]]]:
    """Return the polls of a span in which the waits of an event are known, with None in place of others, and the waits.

    The waits are by upper bound of their bucket, poll by poll, over all instances.
    """
    present = unknown = 0  # bit n is for poll n of the span
    sums: dict[int, list[int]] = {}
    for _, _, upper, first, last, known, waits in buckets:
        present |= (1 << (last + 1)) - (1 << first)
        unknown |= 0 if known else 1 << first
        line = sums.setdefault(upper, [0] * SPAN)
        for index, count in enumerate(waits):
            if count:
                line[index] += count
    return [poll if (present & ~unknown) >> index & 1 else None for index, poll in enumerate(polls)], sums
