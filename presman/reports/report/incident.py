"""Incident: what is known of a stretch of a recording: figures put together, events, statements, some polls as read."""

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
from presman.recording.statement_lives import foreseen, goals_between
from presman.recording.store_errors import DamagedStoreError
from presman.recording.time_bins import EventMark, GroupBin, PollGap, StatementSum, TimeBin
from presman.reports.report import report_charts
from presman.reports.report.report_charts import HeatColumn
from presman.rows.snapshot import Snapshot

BINS = 240
"""Stretches that charts are made of."""

LOOKS = 20
"""Polls that are read again, spread over the stretch, beside the worst ones."""

EVENTS = 150
"""Events that are listed."""

CHECKED = 60_000
"""Polls up to which all of them are checked for damage; of more, those that are read again."""

_HEAT_BINS, _HEAT_EVENTS, _HEAT_SECONDS = 60, 3, 60.0


class Look(Struct, frozen=True):
    """A poll that was read again: what it means, what was wrong then, what would have been to do; why it was chosen."""

    at: datetime
    why: str
    reading: Reading
    alerts: tuple[Alert, ...]
    to_do: ToDo | None
    previous: Snapshot | None
    snapshot: Snapshot


class Incident(Struct, frozen=True):
    """A stretch of a recording. `bins` and `groups` are of `width` polls; `usual` seconds are between two polls.

    `events` are those that are listed, `marks` stand for all; `heat` has the events that took most time. `moment` is
    the poll whose tables are shown, None where none can be read; `looks` are all that were read again, in order of
    time. Groups and waits are those of every `step`th 32 polls. `damaged` polls cannot be read again; `damage` are
    sentences about what else cannot. `colours` are those of its groups.
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
    looks: tuple[Look, ...]
    moment: Look | None
    step: int
    damaged: tuple[DamagedPolls, ...]
    damage: tuple[str, ...]
    colours: GroupColours
    goals: tuple[GoalReading, ...] = ()


def gather(
    recording: Recording, playback: Playback, indexes: range, at: datetime | None = None, goals: Sequence[Goal] = ()
) -> Incident:
    """Return what is known of some polls, at least one; `at` chooses the moment of the tables; `goals` are judged.

    Raises RecordingError where nothing can be read of them.
    """
    start, end = playback.at(indexes[0]), playback.at(indexes[-1])
    width = time_bins.width_of(len(indexes), BINS)
    bins = time_bins.time_bins(playback, start, end, width)
    if not bins:
        raise DamagedStoreError(f"{recording.name}: the figures of that time are damaged")
    marks = time_bins.event_marks(playback, start, end, report_charts.PLACES)
    many = sum(each.many for each in marks)
    looks = _looks(playback, indexes, at)
    usual = time_bins.usual_interval(playback, start, end)
    groups = tuple(time_bins.group_bins(playback, bins, start, end, width))
    return Incident(
        source=recording.name, target=playback.target, start=start, end=end, polls=len(indexes),
        width=width,
        usual=usual,
        bins=tuple(bins),
        groups=groups,
        gaps=tuple(time_bins.gaps(playback, start, end)),
        marks=tuple(marks),
        events=tuple(time_bins.first_events(playback, start, end, EVENTS, calm=many > EVENTS)),
        lives=tuple(time_bins.busiest_lives(playback, start, end, report_charts.MOST)),
        sums=tuple(time_bins.statement_sums(playback, start, end)),
        heat=_heat(playback, start, end, len(indexes), usual),
        looks=looks,
        moment=_foreseen(playback, _moment(looks, at)),
        damaged=tuple(playback.damaged(start, end)) if len(indexes) <= CHECKED else (),
        step=max((time_bins.sampled(part).step for part in playback.parts(start, end)), default=1),
        damage=tuple(recording.damage_of(playback)),
        colours=GroupColours((each.con_id, each.group) for each in groups),
        goals=goals_between(playback, goals, start, end),
    )  # fmt: skip


def _looks(playback: Playback, indexes: range, at: datetime | None) -> tuple[Look, ...]:
    """Return the polls that are read again: the asked one, the worst ones, others at even intervals."""
    start, end = playback.at(indexes[0]), playback.at(indexes[-1])
    wanted: dict[int, str] = {}
    if at is not None:
        wanted[min(max(playback.index(at), indexes[0]), indexes[-1])] = "asked for"
    for column, why in (("queued", "the longest queue"), ("waited_cpus", "most CPU waited for")):
        found = time_bins.worst(playback, start, end, column)
        if found is not None:
            wanted.setdefault(playback.index(found), why)
    step = max(1.0, (len(indexes) - 1) / LOOKS)
    for number in range(LOOKS + 1):
        if number * step <= len(indexes) - 1:
            wanted.setdefault(indexes[round(number * step)], "")
    read = (_look(playback, index, why) for index, why in sorted(wanted.items()))
    return tuple(each for each in read if each is not None)


def _look(playback: Playback, index: int, why: str) -> Look | None:
    try:
        previous, snapshot = playback.pair(index)
    except LostPollError:
        return None
    reading = playback.meaning((previous, snapshot))
    return Look(reading.at, why, reading, worst_first(wrong(reading)), to_do(reading), previous, snapshot)


def _moment(looks: tuple[Look, ...], at: datetime | None) -> Look | None:
    """Return the poll whose tables are shown: that of `at`, else the longest queue, most CPU waited for, the last."""
    reasons = ("asked for",) if at is not None else ()
    for why in (*reasons, "the longest queue", "most CPU waited for"):
        for each in looks:
            if each.why == why:
                return each
    return looks[-1] if looks else None


def _foreseen(playback: Playback, look: Look | None) -> Look | None:
    """Return a poll with forecasts of its queue, where it has one."""
    if look is None or not look.reading.queue:
        return look
    reading = foreseen(playback, playback.index(look.at))
    return look if reading is None or reading.at != look.at else replace(look, reading=reading, to_do=to_do(reading))


def _heat(
    playback: Playback, start: datetime, end: datetime, polls: int, usual: float
) -> tuple[tuple[str, tuple[HeatColumn, ...]], ...]:
    """Return the events whose waits took most time, by columns of a minute at least: some histograms are no newer."""
    width = time_bins.width_of(polls, max(1, min(_HEAT_BINS, int(polls * usual / _HEAT_SECONDS))))
    columns = time_bins.time_bins(playback, start, end, width)
    waits = time_bins.bucket_bins(playback, start, end, width)
    took = {
        event: sum(upper * many for buckets in bins.values() for upper, many in buckets.items())
        for event, bins in waits.items()
    }
    worst = sorted(took, key=lambda event: (-took[event], event))[:_HEAT_EVENTS]
    spans = edges(columns, usual)
    return tuple(
        (event, tuple(HeatColumn(*spans[each.key], waits[event][each.key]) for each in columns)) for event in worst
    )


def edges(bins: list[TimeBin], usual: float) -> dict[time_bins.BinKey, tuple[datetime, datetime]]:
    """Return from when to when each bin is: from the poll before its first, where that is no gap, to its last."""
    found, before = {}, None
    for each in bins:
        near = each.start - timedelta(seconds=3 * usual)
        found[each.key] = (before if before and before >= near else each.start - timedelta(seconds=usual), each.end)
        before = each.end
    return found
