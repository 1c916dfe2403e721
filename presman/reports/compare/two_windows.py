"""Two windows of recordings read and compared; what is not whole about them is said."""

from array import array
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from itertools import pairwise
from math import isnan
from statistics import median
from typing import NamedTuple

from presman.analysis.goals import Goal
from presman.analysis.trends.database_events import LOST, PLAN_CHANGED
from presman.base.errors import InputError
from presman.base.formats import counted, spelled
from presman.recording.codec.shapes import instant
from presman.recording.playback import LostPollError, Playback
from presman.recording.reader import Recording
from presman.recording.statement_lives import goals_between
from presman.recording.store_errors import DamagedStoreError
from presman.recording.time_bins import busiest_sql_ids, count_of_kind, events_of_kind
from presman.recording.time_words import TimeError, span_of, spelled_span, spelled_time
from presman.recording.window_lines import PollLines, poll_lines
from presman.reports.compare.comparison import (
    MOST_STATEMENTS,
    ComparedWindow,
    ComparedWindows,
    histograms,
    lines,
    plan_differences,
)
from presman.reports.compare.noise import FALSE_ALARMS, METHOD, Judgement
from presman.reports.compare.window_figures import WindowFigures, step_for, window_figures

FORM = "FILE.presman@03:00..03:30"


class WindowError(InputError):
    """Words that are no window, or a window that cannot be read; the text is one line."""


class WindowWords(NamedTuple):
    """A window as it was asked for: the target ("" is that of the other window), from and to ("" are the ends)."""

    target: str
    start: str
    end: str


def window_words(text: str) -> WindowWords:
    """Return what `TARGET@FROM..TO` says; all of the target without `@`. Raises WindowError.

    Either end may be left out. What stands before the last @ is the target, so a URL may have its own.
    """
    target, mark, tail = text.strip().rpartition("@")
    start, dots, end = tail.partition("..")
    if not mark or not (dots or target.endswith(".presman") or not target):
        return WindowWords(text.strip(), "", "")
    if not dots:
        raise WindowError(f"a window has two ends: write {FORM}")
    return WindowWords(target, start.strip(), end.strip())


_CANDIDATES = 10 * MOST_STATEMENTS
"""SQL_IDs of each window, by their time, among which are those that held most servers at its polls."""

_GAP = 3.0
"""Times the usual seconds between polls from which on polls are missing."""
_MOST_CHANGES = 100
"""Changes of the plan that are told of a window."""

_TRIED = 3
"""Polls, from the last one back, that are read for the plan's name where some are damaged."""


class RecordingWindow(NamedTuple):
    """Where a window is: `location` is a file, a folder or a URL; `start` and `end` are words, "" for the ends.

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
        busiest = {
            sql_id for each in found for sql_id in busiest_sql_ids(each.playback, each.start, each.end, _CANDIDATES)
        }
        one, other = (_read(each, busiest) for each in found)
        compared = lines(one[1], other[1])
        plan = plan_differences(one, other)
    notes = _notes(one[0], other[0], [line.difference for line in compared])
    spread = histograms(one[1], other[1])
    return ComparedWindows(one[0], other[0], plan, compared, spread, tuple(notes), METHOD)


class _FoundWindow(NamedTuple):
    """A window that has polls: where, from when to when, its polls, which of two instants was taken."""

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
        whole = spelled_span(playback.first, playback.last)
        raise WindowError(f"{recording.name} has no polls {spelled_span(*bounds)}: it is {whole}")
    return _FoundWindow(recording, playback, start, end, polls, twice, asked.goals)


def _read(found: _FoundWindow, sql_ids: Collection[str]) -> tuple[ComparedWindow, WindowFigures]:
    recording, playback, start, end, polls, twice, goals = found
    figures = window_figures(playback, start, end, polls, sql_ids)
    plan = _plan(playback, start, end)
    notes = [*twice, *_gaps(polls.times, start, end), *_events(playback, start, end), *recording.damage_of(playback)]
    notes += [f"goal {each.sentence}" for each in goals_between(playback, goals, start, end)]
    if (step := step_for(len(polls.times))) > 1:
        notes.append(f"groups and waits are those of 32 polls in every {32 * step}: it is long")
    notes += _still_queued(polls.values["queued"])
    if plan is None:
        notes.append("the plan at its end is not known: those polls are damaged")
    first, last = instant(polls.times[0]), instant(polls.times[-1])
    told = ComparedWindow(recording.name, playback.target, first, last, len(polls.times), plan, tuple(notes))
    return told, figures


def _plan(playback: Playback, start: datetime, end: datetime) -> str | None:
    """Return the plan at the last poll that can be read, "none" without one; None if none of the last can be."""
    for index in reversed(playback.indexes(start, end)[-_TRIED:]):
        try:
            return playback.reading(index).header.plan or "none"
        except LostPollError:
            continue
    return None


def _gaps(times: Sequence[int], start: datetime, end: datetime) -> list[str]:
    """Say where polls are missing: between them, before the first, after the last."""
    apart = array("d", ((later - earlier) / 1e6 for earlier, later in pairwise(times)))
    if not apart:
        return ["it has one poll only"]
    usual = median(apart)
    long = [each for each in apart if each > _GAP * usual]
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
    changes = events_of_kind(playback, PLAN_CHANGED, start, end, _MOST_CHANGES)
    notes = [f"{each.text} at {spelled_time(each.at)}" for each in changes]
    if len(changes) >= _MOST_CHANGES:
        notes.append(f"more changes of the plan than these {_MOST_CHANGES} are not told")
    lost = count_of_kind(playback, LOST, start, end)
    return notes + ([f"the connection was lost {counted(lost, 'time')}"] if lost else [])


def _still_queued(queued: Sequence[float]) -> list[str]:
    """Return that the waits of a window are not all: who still waited at its end has no part in their mean."""
    left = queued[-1]
    if isnan(left) or not left:
        return []
    verb = "was" if left == 1 else "were"
    return [f"{counted(int(left), 'statement')} {verb} still queued at its end: waits are of those that had ended"]


def _notes(one: ComparedWindow, other: ComparedWindow, differences: Sequence[Judgement]) -> list[str]:
    notes = []
    same = (one.recording, one.database) == (other.recording, other.database)
    if same and one.first <= other.last and other.first <= one.last:
        both = min(one.last, other.last) - max(one.first, other.first)
        if both > timedelta(0):
            notes.append(f"the windows overlap by {spelled(both.total_seconds())}, so that part is the same in both")
    if one.database != other.database:
        notes.append(f"two databases: {one.database} and {other.database}")
    judged = sum(each in {Judgement.MORE, Judgement.NOISE} for each in differences)
    if judged:
        chance = f"chance alone would mark about {judged * FALSE_ALARMS:.1f} as more than noise"
        notes.append(f"of {counted(judged, 'difference')} judged, {chance}")
    return notes
