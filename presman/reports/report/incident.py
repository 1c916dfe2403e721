"""Incident: the contents of a stretch of a recording: combined figures, events, statements, and some complete polls."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.advice.step import ToDo
from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import worst_first, wrong
from presman.analysis.goals import Goal, GoalReading
from presman.analysis.readings.reading import Alert, Reading
from presman.analysis.trends.database_events import DatabaseEvent
from presman.base.colours import GroupColours
from presman.recording import time_bins
from presman.recording.playback import LostPollError, Playback
from presman.recording.playback_values import DamagedPolls, StatementLife
from presman.recording.reader import Recording
from presman.recording.statement_lives import goals_between, with_forecasts
from presman.recording.store_errors import DamagedStoreError
from presman.recording.time_bins import EventMark, GroupBin, PollGap, StatementSum, TimeBin
from presman.recording.window_lines import ever_queued
from presman.reports.report import report_charts
from presman.reports.report.report_charts import HeatColumn
from presman.rows.snapshot import Snapshot

BINS = 240
"""Stretches of time in a chart."""

SAMPLES = 20
"""Number of polls to read again at even intervals, besides the worst ones."""

EVENTS = 150
"""The most events to list."""

CHECKED = 60_000
"""The most polls that are all checked for damage; of more, only those that are read again are checked."""

_HEAT_BINS, _HEAT_EVENTS, _HEAT_SECONDS = 60, 3, 60.0


class Sample(Struct, frozen=True):
    """A poll that was read again: its reading, its alerts, its step, and why it was chosen."""

    at: datetime
    why: str
    reading: Reading
    alerts: tuple[Alert, ...]
    to_do: ToDo | None
    previous: Snapshot | None
    snapshot: Snapshot


class Incident(Struct, frozen=True):
    """A stretch of a recording. `bins` and `groups` cover `width` polls each; polls are usually `usual` seconds apart.

    `events` are the listed ones, `marks` are of all; `heat` has the events whose waits took most time. `samples` are
    the polls that were read again, in order of time; `moment` is the one whose tables are shown, None if none can be
    read. Groups and waits are read from one of every `step` spans of 32 polls. `damaged` polls cannot be read again;
    `damage` describes other damage in sentences. `colours` are those of its groups. `queued_unseen` statements were
    queued in the gaps, by the counters on both sides.
    """

    source: str
    target: str
    start: datetime
    end: datetime
    polls: int
    usual: float
    width: int
    bins: tuple[TimeBin, ...]
    groups: tuple[GroupBin, ...]
    gaps: tuple[PollGap, ...]
    marks: tuple[EventMark, ...]
    events: tuple[DatabaseEvent, ...]
    lives: tuple[StatementLife, ...]
    sums: tuple[StatementSum, ...]
    heat: tuple[tuple[str, tuple[HeatColumn, ...]], ...]
    samples: tuple[Sample, ...]
    moment: Sample | None
    step: int
    damaged: tuple[DamagedPolls, ...]
    damage: tuple[str, ...]
    colours: GroupColours
    goals: tuple[GoalReading, ...] = ()
    queued_unseen: int = 0


def gather(
    recording: Recording, playback: Playback, indexes: range, at: datetime | None = None, goals: Sequence[Goal] = ()
) -> Incident:
    """Return the incident of at least one poll; `at` chooses the poll for the tables; `goals` are judged.

    Raises RecordingError if none of the polls can be read.
    """
    start, end = playback.span(indexes)
    width = time_bins.width_of(len(indexes), BINS)
    bins = time_bins.time_bins(playback, start, end, width)
    if not bins:
        raise DamagedStoreError(f"{recording.name}: the figures of that time are damaged")
    marks = time_bins.event_marks(playback, start, end, report_charts.PLACES)
    many = sum(each.many for each in marks)  # if there are many, queues that begin and end would fill the list
    samples = _samples(playback, indexes, at)
    usual = time_bins.usual_interval(playback, start, end)
    groups = tuple(time_bins.group_bins(playback, bins, start, end, width))
    gaps = tuple(time_bins.gaps(playback, start, end))
    return Incident(
        source=recording.name,
        target=playback.target,
        start=start,
        end=end,
        polls=len(indexes),
        width=width,
        usual=usual,
        bins=tuple(bins),
        groups=groups,
        gaps=gaps,
        marks=tuple(marks),
        events=tuple(time_bins.first_events(playback, start, end, EVENTS, time_bins.CALM if many > EVENTS else "")),
        lives=tuple(time_bins.busiest_lives(playback, start, end, report_charts.MOST)),
        sums=tuple(time_bins.statement_sums(playback, start, end)),
        heat=_heat(playback, start, end, len(indexes), usual),
        samples=samples,
        moment=_forecast_sample(playback, _moment(samples, at)),
        damaged=tuple(playback.damaged(start, end)) if len(indexes) <= CHECKED else (),
        step=max((time_bins.sampled(part).step for part in playback.parts(start, end)), default=1),
        damage=tuple(recording.damage_of(playback)),
        colours=GroupColours((each.con_id, each.group) for each in groups),
        goals=goals_between(playback, goals, start, end),
        queued_unseen=sum(ever_queued(playback, each.start, each.end) for each in gaps),
    )


def _samples(playback: Playback, indexes: range, at: datetime | None) -> tuple[Sample, ...]:
    """Return the polls to read again: the requested one, the worst ones, and others at even intervals."""
    start, end = playback.span(indexes)
    wanted: dict[int, str] = {}
    if at is not None:
        wanted[min(max(playback.index(at), indexes[0]), indexes[-1])] = "asked for"
    for column, why in (("queued", "the longest queue"), ("waited_cpus", "most CPU waited for")):
        if (found := time_bins.worst(playback, start, end, column)) is not None:
            wanted.setdefault(playback.index(found), why)
    step = max(1.0, (len(indexes) - 1) / SAMPLES)
    for number in range(SAMPLES + 1):
        if number * step <= len(indexes) - 1:
            wanted.setdefault(indexes[round(number * step)], "")
    read = (_sample(playback, index, why) for index, why in sorted(wanted.items()))
    return tuple(each for each in read if each is not None)


def _sample(playback: Playback, index: int, why: str) -> Sample | None:
    try:
        previous, snapshot = playback.pair(index)
    except LostPollError:
        return None
    reading = playback.meaning((previous, snapshot))
    return Sample(reading.at, why, reading, worst_first(wrong(reading)), to_do(reading), previous, snapshot)


def _moment(samples: tuple[Sample, ...], at: datetime | None) -> Sample | None:
    """Return the poll for the tables: that of `at`, else the longest queue, most CPU waited for, the last one."""
    reasons = ("asked for",) if at is not None else ()
    for why in (*reasons, "the longest queue", "most CPU waited for"):
        for each in samples:
            if each.why == why:
                return each
    return samples[-1] if samples else None


def _forecast_sample(playback: Playback, poll: Sample | None) -> Sample | None:
    """Return a poll with forecasts, if its queue has any."""
    if poll is None or not poll.reading.queue:
        return poll
    reading = with_forecasts(playback, playback.index(poll.at))
    return poll if reading is None or reading.at != poll.at else replace(poll, reading=reading, to_do=to_do(reading))


def _heat(
    playback: Playback, start: datetime, end: datetime, polls: int, usual: float
) -> tuple[tuple[str, tuple[HeatColumn, ...]], ...]:
    """Return the events whose waits took most time, in columns of at least a minute: histograms may be that old."""
    width = time_bins.width_of(polls, max(1, min(_HEAT_BINS, int(polls * usual / _HEAT_SECONDS))))
    columns = time_bins.time_bins(playback, start, end, width)
    waits = time_bins.bucket_bins(playback, start, end, width)
    totals = {event: sum(bins.values(), Counter()) for event, bins in waits.items()}
    took = {event: sum(upper * many for upper, many in total.items()) for event, total in totals.items()}
    worst = sorted(took, key=lambda event: (-took[event], event))[:_HEAT_EVENTS]
    spans = edges(columns, usual)
    heat = (tuple(HeatColumn(*spans[each.key], waits[event][each.key]) for each in columns) for event in worst)
    return tuple(zip(worst, heat, strict=True))


def edges(bins: list[TimeBin], usual: float) -> dict[time_bins.BinKey, tuple[datetime, datetime]]:
    """Return start and end of each bin: from the poll before it, unless there is a gap, to its last poll."""
    found, before = {}, None
    for each in bins:
        near = each.start - timedelta(seconds=3 * usual)
        found[each.key] = (before if before and before >= near else each.start - timedelta(seconds=usual), each.end)
        before = each.end
    return found
