"""Charts and trends of a tab: series over the window the user chose. What is drawn, not how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from presman.analysis.plans.plan_changes import plan_switches
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.instance_readings import CLUSTER
from presman.tabs.moment import Moment
from presman.tabs.parts import OverTime
from presman.watch.series import Series, completed, window_start

BRIDGE = 120.0
"""Seconds without a point that a chart's line goes on across: the history has one point a minute."""

MOST = 6
"""Groups on a chart: more lines than that nobody tells apart."""


@dataclass(frozen=True, slots=True)
class ChartData:
    """What a chart shows: equally spaced values per series (None where there is none), oldest first.

    `length` is that of the time axis in values, `ticks` are (index, label) on it, `limit` a horizontal line (the CPUs
    there are), None without one, `cursor` the index of the instant on screen while scrolled back, `bridge` how many
    steps without a value a line goes on across, `marks` (index, words) where something changed: a plan was activated.
    """

    title: str
    series: tuple[tuple[str, tuple[float | None, ...]], ...]
    ticks: tuple[tuple[int, str], ...]
    length: int
    limit: float | None = None
    cursor: int | None = None
    bridge: int = 1
    marks: tuple[tuple[int, str], ...] = ()


class Trends:
    """What a grid's trend columns read: the means of the last minutes, made anew once a minute."""

    def __init__(self, measures: Mapping[str, str], minutes: int = 10) -> None:
        self._measures = measures
        self._minutes = minutes
        self._series: Series | None = None
        self._end = 0.0
        self._made: dict[object, tuple[float | None, ...]] = {}

    def at(self, moment: Moment) -> None:
        """Move to the instant on screen."""
        end = completed(moment.reading.at, 60.0)
        if end != self._end or moment.series is not self._series:
            self._series, self._end = moment.series, end
            self._made.clear()

    def __call__(self, row: GroupReading, column: str) -> Sequence[float | None]:
        """Return the means per minute, oldest first."""
        if self._series is None:
            return ()
        key = (self._measures[column], row.inst_id, row.con_id, row.name)
        if key not in self._made:
            start = self._end - self._minutes * 60
            self._made[key] = self._series.buckets(key, start, 60.0, self._minutes)
        return self._made[key]


def chart_data(moment: Moment, measure: str, title: str, limit: float | None) -> ChartData:
    """Return the chart of a measure by group: the groups with most of it, over the window the user chose."""
    choices, reading = moment.choices, moment.reading
    width, count = float(choices.window), 60
    end = completed(moment.latest, width)
    start = window_start(end, choices.window)
    cursor = None
    if choices.behind:
        at = reading.at.timestamp()
        if at < start:
            end = completed(datetime.fromtimestamp(at + choices.window * 30, UTC), width)
            start = window_start(end, choices.window)
        cursor = int(min(count - 1, max(0, (at - start) // width)))
    found = {
        (con, name): moment.series.buckets((measure, CLUSTER, con, name), start, width, round((end - start) / width))
        for con, name in moment.series.names(measure, CLUSTER)
    }
    ranked = sorted(found, key=lambda key: (-sum(value or 0.0 for value in found[key]), key))[:MOST]
    chosen = [key for key in sorted(ranked, key=lambda key: key[1]) if any(found[key])] or ranked[:1]
    ticks = tuple((x, _label(start + x * width)) for x in range(0, count + 1, 12))
    series = tuple((name, found[con, name]) for con, name in chosen)
    bridge = max(1, round(BRIDGE / width))
    changes = plan_changes(moment, start, width, count)
    return ChartData(f"{title}, {choices.window} min", series, ticks, count, limit, cursor, bridge, changes)


def plan_changes(moment: Moment, start: float, width: float, count: int) -> tuple[tuple[int, str], ...]:
    """Return where on a time axis of `count` stretches of `width` seconds a plan was activated, and which."""
    snapshot = moment.snapshot
    if snapshot is None:
        return ()
    found = [(int((mark.at.timestamp() - start) // width), mark) for mark in plan_switches(snapshot)]
    return tuple((x, f"{_label(mark.at.timestamp())} {mark.text}") for x, mark in found if 0 <= x < count)


def _label(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M")


class ChartFeed:
    """Builds a chart's data once per completed stretch of time, not at each poll."""

    def __init__(self, part: OverTime) -> None:
        self._part = part
        self._after = timedelta(seconds=part.after)
        self._key: tuple[object, ...] = ()
        self._data = ChartData(part.title, (), (), 60)

    def data(self, moment: Moment) -> ChartData:
        """Return the data, built anew only if something that shows has changed."""
        choices, limit = moment.choices, self._part.limit(moment)
        if self._data.series:
            moment = replace(moment, newest=moment.latest - self._after)
        start = completed(moment.latest, float(choices.window))
        back = moment.reading.at if choices.behind else None
        key = (start, choices.window, back, limit, not self._data.series)
        if key != self._key:
            self._key = key
            self._data = chart_data(moment, self._part.series, self._part.title, limit)
        return self._data
