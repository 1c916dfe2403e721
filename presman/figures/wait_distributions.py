"""Distributions of waits: a view's histogram as cumulative buckets with bounds that never change.

A view has no rows for buckets without waits, and buckets that come and go would make nonsense of rates. Its bounds are
powers of two, in microseconds or (before 12.1) in milliseconds; of those some are kept, and nothing is estimated: how
many waits were shorter than a bound is exact. A wait of just that bound counts as longer.
"""

from __future__ import annotations

from collections.abc import Iterable

from presman.analysis.latency.histograms import OPEN_FROM
from presman.analysis.readings.wait_readings import Histogram
from presman.figures.metric import Distribution

MOST_EVENTS = 24
"""Events of an instance that have a histogram: those waited for longest since it started."""

_POWERS = (8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 24, 28)
_MICROSECONDS = tuple(1 << power for power in _POWERS)
_MILLISECONDS = tuple(1_000 << power - 10 for power in _POWERS if power >= 10)


def distribution(histogram: Histogram) -> Distribution:
    """Return a histogram since the instance started; its sum is measured (V$SYSTEM_EVENT), None where it is not."""
    bounds = _MILLISECONDS if _is_coarse(histogram) else _MICROSECONDS
    counts = tuple(
        sum(bucket.count for bucket in histogram.buckets if bucket.upper_us <= bound < OPEN_FROM) for bound in bounds
    )
    total = sum(bucket.count for bucket in histogram.buckets)
    measured = None if histogram.startup is None else histogram.startup.microseconds / 1_000_000
    return Distribution(tuple(bound / 1_000_000 for bound in bounds), counts, total, measured)


def _is_coarse(histogram: Histogram) -> bool:
    """Tell whether the bounds are milliseconds: then every one is a multiple of a thousand."""
    return all(bucket.upper_us % 1_000 == 0 for bucket in histogram.buckets)


def longest_waited(histograms: Iterable[Histogram]) -> list[Histogram]:
    """Return those of events that are not idle, of each instance so many at most, in the order given."""
    found = [each for each in histograms if each.startup is not None]
    by_time = sorted(found, key=lambda each: -(each.startup.microseconds if each.startup else 0))
    taken: dict[int, int] = {}
    kept = set()
    for each in by_time:
        taken[each.inst_id] = taken.get(each.inst_id, 0) + 1
        if taken[each.inst_id] <= MOST_EVENTS:
            kept.add(id(each))
    return [each for each in found if id(each) in kept]
