"""Series of a file of presman (CSV, JSON lines, Parquet): the values of each group or event over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from presman.base.text import clean, one_line
from presman.reports.chart.csv_columns import TIME, ColumnPlan, HeaderError, columns
from presman.reports.chart.row_files import ChartError, FileRows, opened

_LARGEST = 1e18
"""No figure of presman is larger; a chart of what is has nothing to tell."""
_LATEST = 2e11
"""Seconds since 1970 of an instant that every calendar still has."""


class SeriesPanel(NamedTuple):
    """One chart: what is drawn, and for each subject its points (seconds since 1970, value) in order of time."""

    title: str
    series: dict[str, list[tuple[float, float]]]


class FileSeries(NamedTuple):
    """What is in a file: its measure ("" for a wide one), its charts, and what has to be told of it."""

    measure: str
    panels: tuple[SeriesPanel, ...]
    notes: tuple[str, ...]


def read_series(path: Path, wanted: Sequence[str] = ()) -> FileSeries:
    """Return the series of the `wanted` columns, or of the usual one. Raises ChartError."""
    try:
        with opened(path) as rows:
            return _read(rows, wanted)
    except OSError as error:
        raise ChartError(f"{clean(str(path))}: {error.strerror or error}") from error


def _read(rows: FileRows, wanted: Sequence[str]) -> FileSeries:
    lines = iter(rows)
    header = next(lines, None)
    if header is None:
        raise ChartError(f"{rows.name} is empty")
    plan = _plan(rows, header, wanted)
    joined = _joiner(plan)
    found: dict[str, dict[str, dict[float, float]]] = {name: {} for name in plan.values.values()}
    torn: ChartError | None = None
    for row in lines:
        if torn is not None:
            raise torn
        if row[0] == header[0]:  # of a stream with a new group, or of two files in one
            plan, header = _next_plan(rows, plan, row, header, wanted), row
            continue
        if len(row) != len(header):
            # The last line of a file is cut short where its writer was killed; of any other it is an error.
            torn = rows.error(f"it has {len(row)} cells, the header {len(header)}")
            continue
        _take(rows, plan, row, found, joined)
    torn = torn or rows.cut
    notes = [f"{torn}: left out, the last line is cut short"] if torn is not None else []
    panels = [panel for panel in _panels(plan, found) if any(panel.series.values())]
    if not panels:
        raise ChartError(f"{rows.name} has no values to chart in {', '.join(map(clean, plan.values.values()))}")
    if plan.measure:
        notes += [f"{rows.name} has no value in {clean(name)}" for name, own in found.items() if not own]
    return FileSeries(plan.measure, tuple(panels), tuple(notes))


def _plan(rows: FileRows, header: Sequence[str], wanted: Sequence[str]) -> ColumnPlan:
    try:
        return columns(header, wanted)
    except HeaderError as error:
        raise rows.error(str(error)) from None


def _next_plan(
    rows: FileRows, plan: ColumnPlan, row: Sequence[str], header: Sequence[str], wanted: Sequence[str]
) -> ColumnPlan:
    if row == header:
        return plan
    if row[0] != TIME:
        raise rows.error("another header: two measures in one file")
    return _plan(rows, row, [name for name in wanted if name in row])


def _joiner(plan: ColumnPlan) -> Callable[[float, float], float]:
    return (lambda a, b: a + b) if plan.measure == "latency" else max


def _take(
    rows: FileRows,
    plan: ColumnPlan,
    row: Sequence[str],
    found: dict[str, dict[str, dict[float, float]]],
    joined: Callable[[float, float], float],
) -> None:
    at = _instant(rows, row[plan.time])
    subject = _subject(plan, row)
    for place, name in plan.values.items():
        text = row[place]
        if not text:  # not known
            continue
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not abs(value) < _LARGEST or "_" in text:
            raise rows.error(f"{one_line(clean(text), 40)!r} is not a number, under {clean(name)}")
        points = found.setdefault(name, {}).setdefault(subject, {})
        points[at] = joined(points[at], value) if at in points else value


def _instant(rows: FileRows, text: str) -> float:
    try:
        found = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        found = -1.0
    if not 0 <= found < _LATEST:
        raise rows.error(f"{one_line(clean(text), 40)!r} is not a time")
    return found


def _subject(plan: ColumnPlan, row: Sequence[str]) -> str:
    """Return who a line is about: the name, its container after #, its instance after @."""
    if plan.subject < 0:
        return ""
    con, inst = (row[place] if place >= 0 else "" for place in (plan.con, plan.inst))
    return row[plan.subject] + (f"#{con}" if con not in {"", "0"} else "") + (f"@{inst}" if inst else "")


def _panels(plan: ColumnPlan, found: dict[str, dict[str, dict[float, float]]]) -> list[SeriesPanel]:
    if not plan.measure:
        return [SeriesPanel("by column", {clean(name): sorted(own[""].items()) for name, own in found.items() if own})]
    panels = []
    for name, own in found.items():
        instances = {subject.rpartition("@")[2] for subject in own} if plan.inst >= 0 else set()
        series = {
            clean(subject.rpartition("@")[0] if len(instances) == 1 else subject): sorted(points.items())
            for subject, points in own.items()
        }
        title = f"{plan.measure}: {name}" + (f" ({plan.joined})" if plan.joined else "")
        panels.append(SeriesPanel(title, series))
    return panels
