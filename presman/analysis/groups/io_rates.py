"""I/O rates from the counters of a consumer group: the database's view, not that of the storage cells."""

from __future__ import annotations

from collections.abc import Iterable

from presman.analysis.groups.counter_deltas import CounterDeltas
from presman.analysis.readings.group_readings import IoRates


def rates(grown: CounterDeltas, seconds: float) -> IoRates:
    """Return what a group read and wrote per second, and the mean service time of a request in milliseconds."""
    requests = (
        grown.small_read_requests + grown.small_write_requests + grown.large_read_requests + grown.large_write_requests
    )
    return IoRates(
        small_read_mb=grown.small_read_megabytes / seconds,
        small_write_mb=grown.small_write_megabytes / seconds,
        large_read_mb=grown.large_read_megabytes / seconds,
        large_write_mb=grown.large_write_megabytes / seconds,
        small_read_requests=grown.small_read_requests / seconds,
        small_write_requests=grown.small_write_requests / seconds,
        large_read_requests=grown.large_read_requests / seconds,
        large_write_requests=grown.large_write_requests / seconds,
        service_ms=grown.io_service_time / requests if requests else None,
        waits=grown.io_service_waits / seconds,
    )


def together(parts: Iterable[IoRates]) -> IoRates:
    """Return the sum over instances; service times are weighted by requests."""
    rows = tuple(parts)
    timed = [(row.service_ms, row.requests) for row in rows if row.service_ms is not None]
    requests = sum([count for _, count in timed])
    service_ms = sum([mean * count for mean, count in timed]) / requests if requests else None
    *kinds, waits = map(sum, zip(*[(*row[:8], row.waits) for row in rows], strict=True))
    return IoRates._make((*kinds, service_ms, waits))
