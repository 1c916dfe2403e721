"""Figures of one window of a recording, as they were recorded: nothing is worked out again.

What was not known at a poll is left out of it, and never counts as nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

from presman.analysis.readings.wait_readings import ESTIMATOR
from presman.recording.playback import Playback
from presman.recording.playback_values import PollMark, Row
from presman.recording.window_lines import FIGURES, LatencyBin, group_lines, latency_bins
from presman.reports.compare.noise import Value
from presman.reports.compare.window_series import (
    ALL,
    CPU,
    LATENCY,
    PARALLEL,
    QUEUE,
    STATEMENTS,
    BinnedSeries,
    FigureKey,
    Series,
    add_groups,
    servers_held,
    width_for,
)

_DIRECTIVES = ("in_plan", "guaranteed_share", "limit_cpus", "px_servers_limit")

Directives = Mapping[tuple[str, str], Any]
"""What the plan says at the last poll, by (group, figure)."""


class WindowFigures(NamedTuple):
    """All that is compared of a window. `queued` are the seconds that each statement waited, by group."""

    series: Series
    histograms: Mapping[str, Sequence[Mapping[int, int]]]
    queued: Mapping[str, Sequence[float]]
    directives: Directives


def window_figures(playback: Playback, start: datetime, end: datetime, marks: Sequence[PollMark]) -> WindowFigures:
    """Return the figures of the polls between two instants, both included; `marks` are these polls."""
    found = BinnedSeries(width_for(len(marks)))
    _add_marks(found, marks)
    add_groups(found, group_lines(playback, start, end, tuple(FIGURES)))
    latency = latency_bins(playback, start, end, found.width)
    series = found.series() | _latency(latency)
    held = servers_held(playback.statements(start, end), [mark.at for mark in marks], found.width)
    for sql_id, of in held.items():
        counts = (min(found.width, len(marks) - index * found.width) for index in range(len(of)))
        series[FigureKey(STATEMENTS, sql_id, "servers held")] = [
            Value(each, count) for each, count in zip(of, counts, strict=True)
        ]
    queued: dict[str, list[float]] = {}
    for row in sorted(playback.figures("arrivals", start, end), key=itemgetter("arrived")):
        if row["waited_s"] is not None:
            queued.setdefault(row["consumer_group"], []).append(row["waited_s"])
    histograms = {event: [each.waits for each in bins] for event, bins in latency.items()}
    last = marks[-1].at
    return WindowFigures(series, histograms, queued, _directives(playback.figures("emphasis", last, last)))


def _add_marks(found: BinnedSeries, marks: Iterable[PollMark]) -> None:
    for index, mark in enumerate(marks):
        figures = (
            (CPU, "used CPUs", mark.used_cpus),
            (CPU, "waited-for CPUs", mark.waited_cpus),
            (PARALLEL, "servers in use", mark.servers_in_use),
            (QUEUE, "statements queued", mark.queued),
        )
        for section, figure, value in figures:
            if value is not None:
                found.add(FigureKey(section, ALL, figure), index, value, 1.0)


def _latency(found: Mapping[str, Sequence[LatencyBin]]) -> dict[FigureKey, list[Value]]:
    """Return waits and their time of each event."""
    series = {}
    for event, bins in found.items():
        waits = [sum(each.waits.values()) for each in bins]
        took = [ESTIMATOR * sum(upper * count for upper, count in each.waits.items()) / 1000 for each in bins]
        series[FigureKey(LATENCY, event, "waits/s")] = [
            Value(count, each.seconds) for count, each in zip(waits, bins, strict=True)
        ]
        series[FigureKey(LATENCY, event, "mean ms (estimated)")] = [
            Value(each, count) for each, count in zip(took, waits, strict=True)
        ]
    return series


def _directives(rows: Sequence[Row]) -> dict[tuple[str, str], Any]:
    """Return what the plan gave each group at the last poll; on several instances that of the first."""
    found: dict[tuple[str, str], Any] = {}
    for row in rows:
        group = f"{row['consumer_group']}#{row['con_id']}" if row["con_id"] else str(row["consumer_group"])
        for key in _DIRECTIVES:
            found.setdefault((group, key), row[key])
    return found
