"""Comparison of two windows: each figure of both, the difference in percent, and whether it is more than noise."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from itertools import accumulate, pairwise
from math import isnan
from statistics import median
from typing import Any, NamedTuple

from presman.analysis.goals import Goal
from presman.analysis.plans.plan_view import plan_name
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.database_events import LOST
from presman.base.errors import InputError
from presman.base.formats import counted, spelled
from presman.recording.codec.shapes import instant
from presman.recording.playback import LostPollError, Playback
from presman.recording.reader import Recording
from presman.recording.statement_lives import goals_between
from presman.recording.store_errors import DamagedStoreError
from presman.recording.time_bins import CHANGES, busiest_sql_ids, counted_kinds, event_marks, first_events
from presman.recording.time_words import TimeError, nothing_in, span_of, spelled_span, spelled_time
from presman.recording.window_lines import PollLines, poll_lines
from presman.reports.compare import noise
from presman.reports.compare import window_figures as figures
from presman.reports.compare.noise import Judgement, Value
from presman.reports.compare.window_figures import FigureKey, WindowFigures
from presman.rows.snapshot import Snapshot

PERCENTILES = (50, 95, 99)
MOST_STATEMENTS = 10
"""The most statements to show: those that held the most servers in either window."""
MOST_HISTOGRAMS = 8
_MILLISECOND = 1024
"""Microseconds: the bucket bound in V$EVENT_HISTOGRAM_MICRO that is nearest to 1 ms."""
_NEARLY_NOTHING = 0.01
"""A value below this part of the other is no base for a percentage: +300,000 % only means from 0.001 to 3."""


class Line(NamedTuple):
    """A figure of both windows; None if unknown. `percent` is relative to the first, None if that makes no sense.

    `is_bound` means that the value is the upper bound of a bucket: the percentile is below it.
    """

    section: str
    subject: str
    figure: str
    first: float | None
    second: float | None
    percent: float | None
    difference: Judgement
    is_bound: bool = False


class PlanDifference(NamedTuple):
    """A value of the plan that differs between the ends of the windows; text if it is not a number."""

    subject: str
    figure: str
    first: str | float | bool | None
    second: str | float | bool | None


class ComparedWindow(NamedTuple):
    """One of the windows: its source, its first and last poll. `notes` describe incomplete data."""

    recording: str
    database: str
    first: datetime
    last: datetime
    polls: int
    plan: str | None
    notes: tuple[str, ...]


class ComparedHistogram(NamedTuple):
    """The waits for an event in both windows, by the upper bound of their bucket in microseconds."""

    event: str
    first: Mapping[int, int]
    second: Mapping[int, int]


class ComparedWindows(NamedTuple):
    """Two windows side by side. `histograms` are of the events whose waits took most time."""

    first: ComparedWindow
    second: ComparedWindow
    plan: tuple[PlanDifference, ...]
    lines: tuple[Line, ...]
    histograms: tuple[ComparedHistogram, ...]
    notes: tuple[str, ...]
    method: str


def lines(first: WindowFigures, second: WindowFigures) -> tuple[Line, ...]:
    """Return the figures of two windows side by side, by section, with the figures of a group together."""
    keys = list(dict.fromkeys([*first.series, *second.series]))
    most: dict[str, float] = {}
    for key, values in (*first.series.items(), *second.series.items()):
        if key.section == figures.STATEMENTS:
            most[key.subject] = max(most.get(key.subject, 0.0), noise.mean(values) or 0.0)
    shown = sorted(most, key=lambda sql_id: (-most[sql_id], sql_id))[:MOST_STATEMENTS]
    keys = [key for key in keys if key.section != figures.STATEMENTS or key.subject in shown]
    keys = [key for key in keys if key.figure != figures.MEAN_WAIT]  # judged with the percentiles of the same waits
    found = [_line(key, list(first.series.get(key, ())), list(second.series.get(key, ()))) for key in keys]
    found += _latency(first, second)
    found += _queue_waits(first.queued, second.queued)
    ranks = {figures.ALL: -2} | {sql_id: index for index, sql_id in enumerate(shown)}
    found.sort(key=lambda line: (figures.SECTIONS.index(line.section), ranks.get(line.subject, -1), line.subject))
    return tuple(found)


def plan_differences(
    first: tuple[ComparedWindow, WindowFigures], second: tuple[ComparedWindow, WindowFigures]
) -> tuple[PlanDifference, ...]:
    """Return the differences between the plans at the ends of the windows; a group in only one of them is one, too."""
    found = []
    plans = first[0].plan, second[0].plan
    if plans[0] != plans[1]:
        found.append(PlanDifference("", "plan", *plans))
    directives = first[1].directives, second[1].directives
    for key in sorted(directives[0].keys() | directives[1].keys()):
        a, b = (_at_end(each, key) for each in directives)
        if a != b and {a, b} != {figures.NOT_SET, figures.NOT_KNOWN}:
            found.append(PlanDifference(*key, a, b))
    return tuple(found)


def _at_end(directives: figures.Directives, key: tuple[str, str]) -> Any:
    """Return the plan's value for a key. If there is none, say whether the plan lacks the group or only the value.

    That is not known if no groups were read.
    """
    there = {group for group, _ in directives if group}
    absent = figures.NOT_SET if key[0] in there else figures.NOT_IN_PLAN if there else figures.NOT_KNOWN
    value = directives.get(key, absent)
    return round(value, 4) if isinstance(value, float) else value


def histograms(first: WindowFigures, second: WindowFigures) -> tuple[ComparedHistogram, ...]:
    """Return the waits of both windows for the events whose waits took most time in either."""
    events = first.histograms.keys() | second.histograms.keys()
    found = [
        ComparedHistogram(event, *(total(each.histograms.get(event, ())) for each in (first, second)))
        for event in events
    ]

    def most(each: ComparedHistogram) -> int:
        return max(sum(upper * waits for upper, waits in own.items()) for own in (each.first, each.second))

    there = [each for each in found if any(each.first.values()) or any(each.second.values())]
    return tuple(sorted(there, key=lambda each: (-most(each), each.event))[:MOST_HISTOGRAMS])


def quantile(buckets: Mapping[int, int], percent: float) -> int | None:
    """Return the upper bound of the bucket with the wait of that rank; None if there are no waits."""
    bounds = sorted(bound for bound, waits in buckets.items() if waits)
    sums = list(accumulate(buckets[bound] for bound in bounds))
    return bounds[bisect_left(sums, percent / 100 * sums[-1])] if bounds else None


def _line(key: FigureKey, first: Sequence[Value], second: Sequence[Value], length: int = noise.LEAST_LENGTH) -> Line:
    one, other = noise.mean(first), noise.mean(second)
    return Line(*key, one, other, _percent(one, other), noise.judge(first, second, length))


def _percent(first: float | None, second: float | None) -> float | None:
    """Return the difference in percent of the first; None if that is nothing, or nearly nothing beside the second."""
    if not first or second is None or abs(first) < _NEARLY_NOTHING * abs(second):
        return None
    return 100 * (second - first) / first


# ---- percentiles


class _Ranked(NamedTuple):
    """A percentile of both windows, and the share of each window above the percentile of both together."""

    key: FigureKey
    values: Sequence[float | None]
    shares: tuple[Sequence[Value], Sequence[Value]]
    is_bound: bool = False


Means = Mapping[FigureKey, tuple[Sequence[Value], Sequence[Value]]]


def _of_same_waits(means: Means, ranks: Sequence[_Ranked]) -> Iterator[Line]:
    """Yield the figures that rest on the same waits, all with blocks of one length: all can be compared, or none."""
    length = noise.block_length([*means.values(), *(each.shares for each in ranks)])
    for key, (one, other) in means.items():
        if one or other:
            yield _line(key, one, other, length)
    for each in ranks:
        yield _ranked(each, length)


def _latency(first: WindowFigures, second: WindowFigures) -> Iterator[Line]:
    for event in sorted(first.histograms.keys() | second.histograms.keys()):
        one, other = (list(each.histograms.get(event, ())) for each in (first, second))
        mean_key = FigureKey(figures.LATENCY, event, figures.MEAN_WAIT)
        shares = [[_share(each, _MILLISECOND, above=False) for each in polls] for polls in (one, other)]
        means = {mean_key: (list(first.series.get(mean_key, ())), list(second.series.get(mean_key, ())))}
        means[FigureKey(figures.LATENCY, event, "% within 1 ms")] = shares[0], shares[1]
        yield from _of_same_waits(means, [_rank_of(event, percent, one, other) for percent in PERCENTILES])


Polls = Sequence[Mapping[int, int]]


def _rank_of(event: str, percent: int, one: Polls, other: Polls) -> _Ranked:
    found = (quantile(total(each), percent) for each in (one, other))
    bounds = [None if bound is None else bound / 1000 for bound in found]
    # A percentile is a bound of a bucket, too coarse to be judged. The share of waits above a common bound is judged.
    limit = quantile(total([*one, *other]), percent) or 0
    shares = [[_share(each, limit, above=True) for each in polls] for polls in (one, other)]
    return _Ranked(FigureKey(figures.LATENCY, event, f"p{percent} ms"), bounds, (shares[0], shares[1]), is_bound=True)


def _ranked(found: _Ranked, length: int) -> Line:
    """Return the line of two percentiles."""
    key, (one, other), shares, is_bound = found
    difference = noise.judge(*shares, length)
    if difference is not Judgement.ONE_SIDED and one == other:  # other shares do not make equal bounds differ
        difference = Judgement.SAME
    elif difference is Judgement.SAME:  # equal shares above a bound do not make percentiles equal
        difference = Judgement.TOO_FEW if noise.chance(*shares, length) is None else Judgement.NOISE
    return Line(*key, one, other, _percent(one, other), difference, is_bound)


def _share(buckets: Mapping[int, int], limit: int, *, above: bool) -> Value:
    counted = sum(waits for bound, waits in buckets.items() if (bound > limit) is above)
    return Value(100.0 * counted, sum(buckets.values()))


def total(polls: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """Return the sum of several histograms."""
    found = Counter[int]()
    for buckets in polls:
        found.update(buckets)
    return found


def _queue_waits(first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]) -> Iterator[Line]:
    """Yield figures of the time in the queue, of statements whose wait ended in the windows."""
    for group in sorted(first.keys() | second.keys()):
        one, other = first.get(group, ()), second.get(group, ())
        both = [figures.thinned([Value(each, 1.0) for each in waits]) for waits in (one, other)]
        limit = rank([*one, *other], 95) or 0.0
        above = [figures.thinned([Value(float(each > limit), 1.0) for each in waits]) for waits in (one, other)]
        key = FigureKey(figures.QUEUE, group, "p95 wait s, ended")
        ranked = _Ranked(key, (rank(one, 95), rank(other, 95)), (above[0], above[1]))
        yield from _of_same_waits({FigureKey(figures.QUEUE, group, "mean wait s, ended"): (both[0], both[1])}, [ranked])


def rank(values: Sequence[float], percent: int) -> float | None:
    """Return the value of that rank, which is one of the values; None if there are none."""
    return sorted(values)[max(0, -(-percent * len(values) // 100) - 1)] if values else None


# ---- The two windows, read from recordings, and notes on what is incomplete.


FORM = "FILE.presman@03:00..03:30"


class WindowError(InputError):
    """A text is not a window, or the window cannot be read; the error is one line."""


class WindowWords(NamedTuple):
    """A window as the user typed it: the target ("" for that of the other window), start and end ("" for the ends)."""

    target: str
    start: str
    end: str


def window_words(text: str) -> WindowWords:
    """Return the parts of `TARGET@FROM..TO`; without `@` all of it is the target. Raises WindowError.

    Either end may be left out. The text before the last @ is the target, so a URL may contain another one.
    """
    target, mark, tail = text.strip().rpartition("@")
    start, dots, end = tail.partition("..")
    # An @ also stands in connect strings and URLs: it is the mark only before "..", or after the name of a file.
    if not mark or not (dots or target.endswith(".presman") or not target):
        return WindowWords(text.strip(), "", "")
    if not dots:
        raise WindowError(f"a window has two ends: write {FORM}")
    return WindowWords(target, start.strip(), end.strip())


_CANDIDATES = 10 * MOST_STATEMENTS
"""The busiest SQL_IDs of each window, among which those that held the most servers at its polls are found."""

_GAP = 3.0
"""Polls are missing where the distance is more than this many times the usual one."""
_MOST_CHANGES = 100
"""The most changes of the plan to report for a window."""
_TRIED = 3
"""The most polls that are tried for the plan's name, from the last one back: some may be damaged."""


class RecordingWindow(NamedTuple):
    """The source of a window: `location` is a file, a folder or a URL; `start` and `end` are as typed, "" for the ends.

    `goals` of service are judged in it.
    """

    location: str
    database: str | None
    start: str
    end: str
    goals: Sequence[Goal] = ()


def compare(first: RecordingWindow, second: RecordingWindow) -> ComparedWindows:
    """Read two windows and compare them. Raises WindowError and RecordingError."""
    with ExitStack() as stack:
        locations = dict.fromkeys((first.location, second.location))
        recordings = {location: stack.enter_context(Recording(location)) for location in locations}
        found = [_found(recordings[each.location], each) for each in (first, second)]
        busiest = {sql_id for at in found for sql_id in busiest_sql_ids(at.playback, at.start, at.end, _CANDIDATES)}
        one, other = (_read(each, busiest) for each in found)
        compared = lines(one[1], other[1])
        plan = plan_differences(one, other)
    notes = _notes(one[0], other[0], [line.difference for line in compared])
    spread = histograms(one[1], other[1])
    return ComparedWindows(one[0], other[0], plan, compared, spread, tuple(notes), noise.METHOD)


class _FoundWindow(NamedTuple):
    """A window that has polls: its recording, start, end and polls, and which of two possible times was taken."""

    recording: Recording
    playback: Playback
    start: datetime
    end: datetime
    polls: PollLines
    twice: Sequence[str]
    goals: Sequence[Goal]


def _found(recording: Recording, asked: RecordingWindow) -> _FoundWindow:
    playback = recording.playback(asked.database)
    if playback.first is None or playback.last is None:
        damage = [each.removeprefix(f"{recording.name}: ") for each in recording.damage_of(playback)]
        raise DamagedStoreError("; ".join([f"{recording.name} has no polls", *damage]))
    twice: list[str] = []
    try:
        bounds = span_of(asked.start, asked.end, playback.first, playback.last, note=twice.append)
    except TimeError as error:
        raise WindowError(f"{recording.name}: {error}") from None
    start, end = bounds[0] or playback.first, bounds[1] or playback.last
    polls = poll_lines(playback, start, end)
    if not polls.times:
        if playback.indexes(start, end):
            raise DamagedStoreError(f"{recording.name}: the figures of that time are damaged")
        raise nothing_in(recording.name, spelled_span(*bounds), playback.first, playback.last)
    return _FoundWindow(recording, playback, start, end, polls, twice, asked.goals)


def _read(found: _FoundWindow, sql_ids: Collection[str]) -> tuple[ComparedWindow, WindowFigures]:
    recording, playback, start, end, polls, twice, goals = found
    newest = _last_poll(playback, start, end)
    window = figures.window_figures(playback, start, end, polls, sql_ids, newest)
    name = figures.NOT_KNOWN if newest is None else plan_name(newest[1])
    plan = None if name == figures.NOT_KNOWN else name
    notes = [*twice, *_gaps(polls.times, start, end), *_events(playback, start, end), *recording.damage_of(playback)]
    notes += [f"goal {each.sentence}" for each in goals_between(playback, goals, start, end)]
    if (step := figures.step_for(len(polls.times))) > 1:
        notes.append(f"groups and waits are those of 32 polls in every {32 * step}: it is long")
    notes += _still_queued(polls.values["queued"])
    if newest is None:
        notes.append("the plan at its end is not known: those polls are damaged")
    first, last = instant(polls.times[0]), instant(polls.times[-1])
    compared = ComparedWindow(recording.name, playback.target, first, last, len(polls.times), plan, tuple(notes))
    return compared, window


def _last_poll(playback: Playback, start: datetime, end: datetime) -> tuple[Snapshot, Reading] | None:
    """Return the last poll that can be read, and its reading; None if none of the last ones can be read."""
    for index in reversed(playback.indexes(start, end)[-_TRIED:]):
        try:
            pair = playback.pair(index)
            return pair[1], playback.meaning(pair)
        except LostPollError:
            continue
    return None


def _gaps(times: Sequence[int], start: datetime, end: datetime) -> list[str]:
    """Return sentences on missing polls: between the polls, before the first, after the last."""
    distances = array("d", ((later - earlier) / 1e6 for earlier, later in pairwise(times)))
    if not distances:
        return ["it has one poll only"]
    usual = median(distances)
    long = [each for each in distances if each > _GAP * usual]
    notes = []
    if long:
        notes.append(f"{counted(len(long), 'gap')} without polls, {spelled(sum(long))} in all")
    first, last = instant(times[0]), instant(times[-1])
    if (first - start).total_seconds() > _GAP * usual:
        notes.append(f"no polls before {spelled_time(first)}, though it should begin at {spelled_time(start)}")
    if (end - last).total_seconds() > _GAP * usual:
        notes.append(f"no polls after {spelled_time(last)}, though it should end at {spelled_time(end)}")
    return notes


def _events(playback: Playback, start: datetime, end: datetime) -> list[str]:
    changes = first_events(playback, start, end, _MOST_CHANGES, CHANGES)
    notes = [f"{each.text} at {spelled_time(each.at)}" for each in changes]
    if len(changes) >= _MOST_CHANGES:
        notes.append(f"more changes of the plan than these {_MOST_CHANGES} are not listed")
    lost = counted_kinds(event_marks(playback, start, end, 1))[LOST]
    return notes + ([f"the connection was lost {counted(lost, 'time')}"] if lost else [])


def _still_queued(queued: Sequence[float]) -> list[str]:
    """Return a sentence if statements are still queued at the end of a window: its mean wait lacks them."""
    left = queued[-1]
    if isnan(left) or not left:
        return []
    verb = "was" if left == 1 else "were"
    return [f"{counted(int(left), 'statement')} {verb} still queued at its end: waits are of those that had ended"]


def _notes(one: ComparedWindow, other: ComparedWindow, differences: Sequence[Judgement]) -> list[str]:
    notes = []
    same = (one.recording, one.database) == (other.recording, other.database)
    both = min(one.last, other.last) - max(one.first, other.first)
    if same and both > timedelta(0):
        notes.append(f"the windows overlap by {spelled(both.total_seconds())}, so that part is the same in both")
    if one.database != other.database:
        notes.append(f"two databases: {one.database} and {other.database}")
    if judged := sum(each in {Judgement.MORE, Judgement.NOISE} for each in differences):
        by_chance = f"chance alone would mark about {judged * noise.FALSE_ALARMS:.1f} as more than noise"
        notes.append(f"of {counted(judged, 'difference')} judged, {by_chance}")
    return notes
