"""Statistics of a histogram of waits: shares, percentiles, thresholds, and the error of its estimated time.

A bucket counts the waits shorter than its bound and not shorter than the bound before. Everything about single waits
inside a bucket is an estimate and is marked as one; percentiles are given as the bucket that contains them.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from msgspec import Struct

from presman.analysis.readings.reading import CLUSTER, Reading
from presman.analysis.readings.wait_readings import ESTIMATOR, Bucket, EventWaits, Histogram, WaitReading
from presman.base.sums import added, grouped

PERMILLES = (500, 900, 950, 990, 999)
"""The percentiles shown, in thousandths, so that their ranks are exact."""

THRESHOLDS_US = (1_000, 10_000, 20_000)

OPEN_FROM = 4_194_304_000
"""The bound of the last bucket (2**22 ms, or 2**32 us just above it): waits in it may be of any length."""

_BINARY = 1.05
"""Bounds in microseconds are powers of two: 1,024 us correspond to one millisecond."""


class HistogramSpan(Enum):
    """The time that a histogram covers, in the words shown."""

    NOW = "now"
    WINDOW = "window"
    STARTUP = "since startup"


class LatencyBucket(Struct, frozen=True):
    """Waits from `lower_us` up to, not including, `upper_us` (`open_ended`: of any length from `lower_us` on).

    `time_us` is the estimated total time; percents are of all waits and of all estimated time.
    """

    lower_us: int
    upper_us: int
    waits: int
    waits_percent: float
    time_us: float
    time_percent: float
    open_ended: bool


class Percentile(Struct, frozen=True):
    """The bucket that contains a percentile (nearest rank). `upper_us` is None in the open-ended one.

    `estimate_us` is interpolated inside the bucket, as if its waits were evenly distributed; None in the open-ended
    one.
    """

    percent: float
    lower_us: int
    upper_us: int | None
    estimate_us: float | None


class Threshold(Struct, frozen=True):
    """Percent of waits certainly under and certainly not under `limit_us`: only whole buckets count in either.

    The rest to 100 is in the bucket that contains the limit.
    """

    limit_us: int
    under: float
    over: float


class Latency(Struct, frozen=True):
    """One event's waits over one span of time. `seconds` is its length, None if not known.

    `mean_us` is measured (V$SYSTEM_EVENT), None if that view does not have it; `estimated_mean_us` comes from the
    buckets.
    """

    inst_id: int
    event: str
    span: HistogramSpan
    seconds: float | None
    waits: int
    buckets: tuple[LatencyBucket, ...]
    percentiles: tuple[Percentile, ...]
    thresholds: tuple[Threshold, ...]
    longest: LatencyBucket | None
    estimated_us: float
    mean_us: float | None

    @property
    def estimated_mean_us(self) -> float | None:
        """Mean estimated from the buckets: 0.75 of the bound for each wait."""
        return self.estimated_us / self.waits if self.waits else None

    @property
    def error_percent(self) -> float | None:
        """Percent by which the estimated mean is above (or, negative, below) the measured one."""
        estimate = self.estimated_mean_us
        return 100 * (estimate / self.mean_us - 1) if estimate is not None and self.mean_us else None

    @property
    def waits_per_s(self) -> float | None:
        """Waits per second of the span."""
        return self.waits / self.seconds if self.seconds else None

    @property
    def frequency(self) -> tuple[float, ...]:
        """Waits per second in each bucket: what a column of the first heat map shows. Empty without `seconds`."""
        return tuple(bucket.waits / self.seconds for bucket in self.buckets) if self.seconds else ()

    @property
    def intensity(self) -> tuple[float, ...]:
        """Estimated seconds waited per second in each bucket: what a column of the second heat map shows."""
        return tuple(bucket.time_us / 1e6 / self.seconds for bucket in self.buckets) if self.seconds else ()


def latency(
    key: tuple[int, str],
    span: HistogramSpan,
    counts: Mapping[int, int],
    seconds: float | None,
    waited: EventWaits | None,
) -> Latency:
    """Return the latency of the event at `key` (inst_id, event) from `counts` (bound in microseconds → waits)."""
    total = sum(counts.values())
    estimated = sum(ESTIMATOR * upper * count for upper, count in counts.items())
    buckets = tuple(_buckets(counts, total, estimated))
    return Latency(
        *key,
        span,
        seconds,
        total,
        buckets,
        tuple(_percentile(buckets, total, permille) for permille in PERMILLES) if total else (),
        tuple(_threshold(buckets, limit) for limit in THRESHOLDS_US) if total else (),
        buckets[-1] if buckets else None,
        estimated,
        waited.mean_us if waited else None,
    )


def now(histogram: Histogram) -> Latency | None:
    """Return the waits since the last poll; None without a delta."""
    if any(bucket.delta is None for bucket in histogram.buckets):
        return None
    counts = {bucket.upper_us: bucket.delta or 0 for bucket in histogram.buckets}
    return latency((histogram.inst_id, histogram.event), HistogramSpan.NOW, counts, histogram.seconds, histogram.now)


def latency_percentile(histogram: Histogram, permille: int) -> Percentile | None:
    """Return a percentile of the waits since the last poll; None without a delta or such waits."""
    found = now(histogram)
    return _percentile(found.buckets, found.waits, permille) if found is not None and found.waits else None


def since_startup(histogram: Histogram, uptime: float | None) -> Latency:
    """Return the waits since the instance was started, `uptime` seconds ago."""
    counts = {bucket.upper_us: bucket.count for bucket in histogram.buckets}
    return latency((histogram.inst_id, histogram.event), HistogramSpan.STARTUP, counts, uptime, histogram.startup)


def lower_bound(upper: int, before: int) -> int:
    """Return the lower bound of the bucket below `upper`: half of it, 0 for the first bucket of either view.

    `before` is the bound of the previous bucket, which counts if the bounds are not powers of two.
    """
    if upper in (1, 1_000):  # 1 us in V$EVENT_HISTOGRAM_MICRO, 1 ms in V$EVENT_HISTOGRAM
        return 0
    return upper // 2 if _is_regular(upper) else before


def _is_regular(upper: int) -> bool:
    """Whether it is a power of two in microseconds or in milliseconds."""
    unit = upper // 1_000 if upper % 1_000 == 0 else upper
    return unit > 0 and unit & (unit - 1) == 0


def _bounds(counts: Mapping[int, int]) -> Iterator[int]:
    """Yield the bounds from the shortest to the longest wait, including those of missing buckets in between."""
    used = [upper for upper, count in sorted(counts.items()) if count]
    if not used:
        return
    upper = used[0]
    for following in sorted(upper for upper in counts if upper >= used[0] and upper <= used[-1]):
        while _is_regular(upper) and _is_regular(following) and 2 * upper < following:
            upper *= 2
            if upper not in counts:
                yield upper
        yield following
        upper = following


def _buckets(counts: Mapping[int, int], total: int, estimated: float) -> Iterator[LatencyBucket]:
    before = 0
    for upper in _bounds(counts):
        waits = counts.get(upper, 0)
        time = ESTIMATOR * upper * waits
        yield LatencyBucket(
            lower_bound(upper, before),
            upper,
            waits,
            100 * waits / total if total else 0.0,
            time,
            100 * time / estimated if estimated else 0.0,
            upper >= OPEN_FROM,
        )
        before = upper


def _percentile(buckets: tuple[LatencyBucket, ...], total: int, permille: int) -> Percentile:
    rank = max(1, -(-total * permille // 1000))  # nearest rank: rounded up
    passed = 0
    bucket = buckets[-1]
    for bucket in buckets:
        if passed + bucket.waits >= rank:
            break
        passed += bucket.waits
    if bucket.open_ended:
        return Percentile(permille / 10, bucket.lower_us, None, None)
    # The waits divide the bucket into equal parts, and each lies in the middle of its part.
    part = (rank - passed - 0.5) / bucket.waits
    estimate = bucket.lower_us + part * (bucket.upper_us - bucket.lower_us)
    return Percentile(permille / 10, bucket.lower_us, bucket.upper_us, estimate)


def _threshold(buckets: tuple[LatencyBucket, ...], limit: int) -> Threshold:
    total = sum(bucket.waits for bucket in buckets)
    under = sum(bucket.waits for bucket in buckets if bucket.upper_us <= limit * _BINARY)
    over = sum(bucket.waits for bucket in buckets if bucket.lower_us >= limit)
    return Threshold(limit, 100 * under / total, 100 * over / total)


def together(histograms: Iterable[Histogram]) -> Histogram | None:
    """Return the histograms of one event on several instances as one; without a delta if one of them has none."""
    parts = list(histograms)
    if len(parts) < 2:
        return parts[0] if parts else None
    found = grouped((bucket for part in parts for bucket in part.buckets), lambda bucket: bucket.upper_us)
    has_deltas = all(bucket.delta is not None for same in found.values() for bucket in same)
    buckets = tuple(
        Bucket(upper, sum(each.count for each in same), added(each.delta for each in same) if has_deltas else None)
        for upper, same in sorted(found.items())
    )
    first = parts[0]
    startup, latest = _sum(part.startup for part in parts), _sum(part.now for part in parts)
    return Histogram(CLUSTER, first.event, buckets, first.seconds, first.wait_class, startup, latest)


def _sum(parts: Iterable[EventWaits | None]) -> EventWaits | None:
    found = list(parts)
    known = [part for part in found if part is not None]
    if not known or len(known) < len(found):
        return None
    return EventWaits(sum(part.waits for part in known), sum(part.microseconds for part in known))


def histogram_of(reading: Reading, inst_id: int, event: str) -> Histogram | None:
    """Return an event's histogram on one instance, or of all for `inst_id` 0; None without one."""
    found = [each for each in reading.histograms if each.event == event and inst_id in (CLUSTER, each.inst_id)]
    return together(found)


_ALIKE, _LEAST = 0.2, 0.25
"""Part, and seconds, by which the intervals of two views may differ if they are read one after the other in each
poll."""


def is_alike(seconds: float | None, others: float | None) -> bool:
    """Whether two intervals are the same: histograms may be read less often than the view with the summed waits."""
    return (
        seconds is not None
        and others is not None
        and abs(seconds - others) <= max(_LEAST, _ALIKE * max(seconds, others))
    )


class EventLatency(Struct, frozen=True):
    """One event to choose, with its cost since the last poll. Fields are None without a delta or such waits.

    `sessions` is the average number of sessions that waited; `estimated` means that it comes from the buckets.
    `counted` is whether its histogram is read.
    """

    inst_id: int
    event: str
    wait_class: str
    sessions: float | None
    estimated: bool
    per_second: float | None
    mean_ms: float | None
    p99: Percentile | None
    longest: LatencyBucket | None
    counted: bool


def events(reading: Reading, *, by_instance: bool = False) -> tuple[EventLatency, ...]:
    """Return the events that have a histogram or were waited for since the last poll, the most waited for first.

    Their instances are summed unless `by_instance`.
    """
    separate = by_instance or len(reading.header.instances) < 2

    def key(row: WaitReading | Histogram) -> tuple[int, str]:
        return row.inst_id if separate else CLUSTER, row.event

    waits, counted = grouped(reading.waits, key), grouped(reading.histograms, key)
    found = [
        _event(key, waits.get(key, []), counted.get(key, []), reading.interval) for key in waits.keys() | counted.keys()
    ]
    return tuple(sorted(found, key=lambda each: (-(each.sessions or 0.0), each.event, each.inst_id)))


def _event(
    key: tuple[int, str], waits: list[WaitReading], histograms: list[Histogram], interval: float | None
) -> EventLatency:
    whole = together(histograms)
    lately = now(whole) if whole and is_alike(whole.seconds, interval) else None
    wait_class = waits[0].wait_class if waits else whole.wait_class if whole else ""
    p99 = next((each for each in lately.percentiles if each.percent == 99), None) if lately else None
    longest = lately.longest if lately else None
    if waits or lately is None or (whole and whole.now):
        sessions = added(wait.sessions for wait in waits) if waits or lately else None
        rate = added(wait.per_second for wait in waits) if waits or lately else None
        ended = added(wait.ended for wait in waits)
        mean = 1000 * ended / rate if ended is not None and rate else None
        return EventLatency(*key, wait_class, sessions, False, rate, mean, p99, longest, whole is not None)
    # presman does not read idle events from V$SYSTEM_EVENT: the buckets are used.
    estimate = lately.estimated_us / 1e6 / lately.seconds if lately.seconds else None
    estimated_mean = lately.estimated_mean_us
    mean = None if estimated_mean is None else estimated_mean / 1000
    return EventLatency(*key, wait_class, estimate, True, lately.waits_per_s, mean, p99, longest, True)


class LatencySummary(Struct, frozen=True):
    """An event's waits on one instance since the last poll (None without a delta) and since startup."""

    now: Latency | None
    startup: Latency


def summaries(reading: Reading) -> tuple[LatencySummary, ...]:
    """Return a summary of every histogram of the reading."""
    uptime = reading.header.uptime_of
    return tuple(LatencySummary(now(each), since_startup(each, uptime(each.inst_id))) for each in reading.histograms)
