"""Forecasts in a recording: a poll keeps the forecasts shown live, and its readers show them again."""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType

from msgspec.structs import replace

from presman.analysis.readings.forecast_readings import EndingEffect, ForecastRecord, QueueForecast
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Executing, StartForecast
from presman.rows.queries import RecordType
from presman.rows.snapshot import Section, ShownBypassed, ShownEffect, ShownRecord, ShownStart, Snapshot


def with_shown(snapshot: Snapshot, reading: Reading) -> Snapshot:
    """Return a poll with the forecasts of its reading, and the bypassing statements that earlier polls have shown."""
    shown: dict[RecordType, Section] = {}
    if reading.bypassed or reading.forecast is not None:
        shown[ShownBypassed] = Section(tuple(ShownBypassed(*executing) for executing in reading.bypassed))
    if reading.forecast is not None:
        record, since = reading.forecast.record, reading.forecast.judged_since
        starts = tuple(_start(row.executing(), row.starts) for row in reading.queue if row.starts is not None)
        shown[ShownStart] = Section(starts)
        shown[ShownRecord] = Section((ShownRecord(record.judged, record.held, _tenths(record.median_error), since),))
        shown[ShownEffect] = Section(tuple(_effects(reading.forecast)))
    return replace(snapshot, sections=MappingProxyType({**snapshot.sections, **shown})) if shown else snapshot


def _start(executing: Executing, starts: StartForecast) -> ShownStart:
    median, low, high = map(_tenths, (starts.median, starts.low, starts.high))
    return ShownStart(*executing, median, low, high, int(starts.timeout), starts.why_none)


_times = attrgetter("through", "otherwise", "sooner", "sooner_low", "sooner_high")
"""The times of an effect, in seconds, and of its row, in tenths."""


def _effects(forecast: QueueForecast) -> Iterator[ShownEffect]:
    for way, each in enumerate(forecast.effects):
        through, otherwise, *sooner = map(_tenths, _times(each))
        for executing in each.who:
            yield ShownEffect(way, *executing, each.starts, through, otherwise, int(each.proven), *sooner)


def _shown_effects(snapshot: Snapshot) -> Iterator[EndingEffect]:
    # The rows of one way follow one another, as they were written.
    for _, rows in groupby(snapshot.rows(ShownEffect), lambda row: row.way):
        first, *others = rows
        executing = tuple((row.inst_id, row.sid, row.serial, row.sql_id) for row in (first, *others))
        through, otherwise, *sooner = map(_seconds, _times(first))
        if first.sooner is None:  # its range was not kept, nor the figures of its table
            through = otherwise = None
        yield EndingEffect(executing, first.starts, through, otherwise, bool(first.proven), *sooner)


def as_shown(reading: Reading, snapshot: Snapshot) -> Reading:
    """Return a reading with the forecasts stored with its poll; without any it is unchanged."""
    if ShownBypassed in snapshot.sections:
        reading = replace(reading, bypassed=tuple(map(tuple, snapshot.rows(ShownBypassed))))
    found = next(iter(snapshot.rows(ShownRecord)), None)
    if found is None:
        return reading
    starts = {}
    for row in snapshot.rows(ShownStart):
        median, low, high = map(_seconds, (row.median, row.low, row.high))
        found_start = StartForecast(median, low, high, bool(row.timeout), row.why_none)
        starts[row.inst_id, row.sid, row.serial, row.sql_id] = found_start
    record = ForecastRecord(found.judged, found.held, _seconds(found.median_error))
    # What the recording lacks (the number of courses, the seed) is that of the forecasts calculated again, if any.
    behind = reading.forecast or QueueForecast()
    effects = tuple(_shown_effects(snapshot)) if record.shows_effects() else ()
    behind = replace(behind, record=record, effects=effects, judged_since=found.since, worked_out_again=False)
    return reading.with_forecast(starts, behind)


def _tenths(seconds: float | None) -> int | None:
    return None if seconds is None else round(10 * seconds)


def _seconds(tenths: int | None) -> float | None:
    return None if tenths is None else tenths / 10
