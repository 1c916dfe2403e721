"""Figures of wait histograms: of all events, of one event with its buckets, and of I/O outliers."""

from collections.abc import Callable, Hashable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.latency.histograms import (
    PERMILLES,
    THRESHOLDS_US,
    EventLatency,
    HistogramSpan,
    Latency,
    LatencyBucket,
    Percentile,
)
from presman.analysis.readings.wait_readings import Outlier, RedoHealth
from presman.base.formats import ABSENT, compact, count, duration, microseconds, milliseconds, number, throughput
from presman.figures.figure import COUNT, NUMBER, RATE, TEXT, TOTAL, Bar, Figure, Table, Unit
from presman.figures.group_figures import INSTANCE

Event = Figure[EventLatency]
BucketFigure = Figure[LatencyBucket]
OutlierFigure = Figure[Outlier]
Line = tuple[tuple[str, str], ...]
"""Runs: each a text and the name of its style."""


class SpanFacts(Struct, frozen=True):
    """One fact about the histogram of an event as text, for each of the three spans."""

    name: str
    now: str
    window: str
    startup: str
    event: str = ""


FactFigure = Figure[SpanFacts]


def bound_text(bucket: LatencyBucket | None) -> str:
    """Return the bound of the bucket of the longest wait: ``<8.2ms``, or ``>=35.8min`` without an upper bound."""
    return ABSENT if bucket is None else _bound(bucket.lower_us, None if bucket.open_ended else bucket.upper_us)


def _bound(lower: float, upper: float | None) -> str:
    return f"≥{microseconds(lower)}" if upper is None else f"<{microseconds(upper)}"


def range_text(lower: float, upper: float | None) -> str:
    """Return both bounds of a bucket: ``256-512µs``, ``512µs-1.0ms``, ``≥35:47``."""
    if upper is None:
        return f"≥{microseconds(lower)}"
    low, high = microseconds(lower), microseconds(upper)
    unit = high.lstrip("0123456789.,")
    # A unit that both bounds share stands once; times by the clock (35:47) have none.
    if unit.isalpha() and low.lstrip("0123456789.,") == unit:
        low = low.removesuffix(unit)
    return f"{'0' if lower == 0 else low}–{high}"


def percentile_text(percentile: Percentile | None) -> str:
    """Return the bucket of a percentile and the estimate inside it: ``512µs–1.0ms ~0.91ms``."""
    if percentile is None:
        return ABSENT
    text = range_text(percentile.lower_us, percentile.upper_us)
    return text if percentile.estimate_us is None else f"{text} ~{_roughly(percentile.estimate_us)}"


def _roughly(microsecond: float) -> str:
    """Return an estimate rounded to the digits it justifies."""
    return f"{microsecond / 1000:.0f}ms" if 1e5 <= microsecond < 1e6 else microseconds(microsecond)


def _sessions(row: EventLatency) -> str:
    if row.sessions is None:
        return ABSENT
    return f"{'~' if row.estimated else ''}{row.sessions:.2f}" if row.sessions < 10 else number(row.sessions)


def figures(
    now: Latency | None, window: Latency | None, startup: Latency | None, minutes: int
) -> tuple[SpanFacts, ...]:
    """Return the facts of a histogram's three spans, one figure per line; the first line has their lengths.

    `window` is that of the last `minutes`.
    """
    spans = (now, window, startup)

    def line(name: str, text: Callable[[Latency], str]) -> SpanFacts:
        return SpanFacts(name, *(ABSENT if span is None else text(span) for span in spans))

    lines = [
        SpanFacts(
            "over",
            "no delta yet" if now is None else f"last {lately(now)}",
            ABSENT if window is None else f"{span_text(window.seconds)} of {minutes} min",
            duration(startup.seconds if startup else None),
        ),
        line("waits", lambda span: f"{count(span.waits)}{_rate(span)}"),
        line("average, measured", lambda span: _time(span.mean_us)),
        line("est. average (error)", lambda span: f"{_time(span.estimated_mean_us)}{_error(span)}"),
    ]
    names = ("p50", "p90", "p95", "p99", "p99.9")
    lines += [line(f"{name} in bucket", partial(_percentile, index=index)) for index, name in enumerate(names)]
    lines.append(line("longest in bucket", lambda span: bound_text(span.longest)))
    limits = (f"% under / over {limit // 1000} ms" for limit in THRESHOLDS_US)
    lines += [line(name, partial(_threshold, index=index)) for index, name in enumerate(limits)]
    event = next((each.event for each in spans if each is not None), "")
    return tuple(replace(each, event=event) for each in lines)


def span_text(seconds: float | None) -> str:
    """Return the time that figures cover: with tenths below a minute, ``2.0 s``, then by the clock, ``1:05``."""
    # From 59.95 on one decimal would be 60.0 s.
    return f"{seconds:.1f} s" if seconds is not None and seconds < 59.95 else duration(seconds)


def lately(now: Latency | None) -> str:
    """Return the time that the newest figures of a histogram cover."""
    return span_text(now.seconds) if now and now.seconds else "now"


def brief(name: str, span: Latency | None, width: int) -> Line:
    """Return the most important facts of a span in one line: in columns if they fit, else as many as fit, closer.

    The line begins with the `name` of the span and its length. An average with ~ is estimated from the buckets.
    """
    length = span_text(span.seconds) if span is not None and span.seconds else ""
    label = f" {f'{name} {length}':<13} "
    if span is None or not span.waits:
        return ((label, "title"), ("no delta yet" if span is None else "no wait has ended", "dim"))
    rate = span.waits_per_s
    mean = f"~{_time(span.estimated_mean_us, '.3g')}" if span.mean_us is None else _time(span.mean_us, ".3g")
    amount = f"{compact(rate)}/s" if rate is not None and rate >= 1 else f"{count(span.waits)} waits"
    parts = [
        f"{amount:<8}",
        f"avg {mean}".ljust(13),
        *(f"{what} {percentile_bound(span.percentiles[index]):<7}" for what, index in (("p50", 0), ("p99", 3))),
        f"max {bound_text(span.longest)}",
    ]
    if len(label + "  ".join(parts)) > width:
        parts = [part.rstrip() for part in parts]
    while len(parts) > 1 and len(label + "  ".join(parts)) > width:
        parts.pop()
    return ((label, "title"), ("  ".join(parts), ""))


def percentile_bound(percentile: Percentile) -> str:
    """Return the bound of the bucket a percentile lies in: ``<8.2ms``."""
    return _bound(percentile.lower_us, percentile.upper_us)


def _rate(span: Latency) -> str:
    """Return the waits per second, per hour or per day, whichever needs no small fraction."""
    rate = span.waits_per_s
    if rate is None:
        return ""
    per = next((per for per in ((1, "s"), (3600, "h")) if rate * per[0] >= 0.1 or not rate), (86400, "d"))
    value = rate * per[0]
    return f" ({compact(value) if value >= 1 else f'{value:.2g}'}/{per[1]})"


def _time(microsecond: float | None, digits: str = ",.3f") -> str:
    if microsecond is None or microsecond >= 999_500:  # three significant digits of more would be 1e+03 ms
        return microseconds(microsecond)
    return f"{microsecond / 1000:{digits}} ms"


def _error(span: Latency) -> str:
    return "" if span.error_percent is None else f" ({span.error_percent:+.0f} %)"


def _percentile(span: Latency, index: int) -> str:
    return percentile_text(span.percentiles[index]) if span.percentiles else ABSENT


def _threshold(span: Latency, index: int) -> str:
    if not span.thresholds:
        return ABSENT
    threshold = span.thresholds[index]
    return f"{threshold.under:.4f} / {threshold.over:.4f}"


def redo_text(redo: RedoHealth) -> str:
    """Return the health of redo writes in one line, the most important figures first."""
    parts = []
    if redo.sync_ms is not None:
        rest = redo.outside_percent
        beside = "" if rest is None else f", {rest:.0f} % of it not spent on the write"
        parts.append(f"log file sync {redo.sync_ms:.2f} ms{beside}")
    if redo.write_ms is not None:
        parts.append(f"parallel write {redo.write_ms:.2f} ms")
    if redo.redo_mb is not None:
        parts.append(f"redo {throughput(redo.redo_mb)}")
    rates = f"{compact(redo.syncs_per_s)} syncs/s, {compact(redo.writes_per_s)} writes/s"
    return ", ".join([*parts, rates])


def _latency_ms(row: Outlier) -> str:
    return "not plausible" if row.latency_ms is None else count(row.latency_ms)


def _disks(row: Outlier) -> str:
    return ", ".join(f"{name} {latency:,}" for name, latency in row.disks) or ABSENT


def _outlier(row: Outlier) -> Hashable:
    return row.view, row.inst_id, row.function, row.file, row.event, row.latency_ms, row.size_kb


_MEAN_MS = Unit("milliseconds", lambda value: milliseconds(value, 2, 8), 8)
_BOUND = Unit("microseconds", number, 8)
_SHARE = Unit("percent", lambda value: f"{value:.2f}", 16)

# fmt: off
EVENTS: Table[EventLatency] = Table(
    "events", "Events",
    (
        Event("inst_id", "Inst", INSTANCE, "INST_ID.", "inst_id"),
        Event("event", "Wait event", TEXT,
              "Every event with waits since the last poll (V$SYSTEM_EVENT), and the events whose histogram is read at "
              "each poll: resmgr, log file, db file, direct path, cell and PX. For any other event, put the cursor on "
              "it: its histogram is read from the next poll on.", "event", width=18, flexible=True,
              state=lambda row: "warn" if row.wait_class == "Scheduler" else "" if row.counted else "dim"),
        Event("waiting_sessions", "avg sess", Unit("average sessions", number, 8), "Average sessions that waited: "
              "change of TIME_WAITED_MICRO in V$SYSTEM_EVENT since the last poll / time; where waits last longer than "
              "that, the sessions that wait now (V$SESSION). With ~ it is estimated from the buckets, because the "
              "event is idle.", "sessions", text=_sessions),
        Event("waits_per_s", "waits/s", RATE, "Waits since the last poll, per second.", "per_second"),
        Event("mean_ms", "mean ms", _MEAN_MS,
              "Mean wait since the last poll, measured (V$SYSTEM_EVENT); of idle events estimated.", "mean_ms"),
        Event("p99_us", "p99", _BOUND, "Bound of the bucket in which the 99th percentile of the waits since the last "
              "poll lies; none if that poll did not read the histogram.", "p99.lower_us",
              text=lambda row: ABSENT if row.p99 is None else percentile_bound(row.p99), narrow=False),
        Event("longest_us", "longest", _BOUND, "Bound of the bucket of the longest wait since the last poll; none if "
              "that poll did not read the histogram.", "longest.lower_us", text=lambda row: bound_text(row.longest)),
        Event("wait_class", "class", TEXT, "V$SYSTEM_EVENT.WAIT_CLASS.", "wait_class", width=12, narrow=False),
    ),
    lambda row: (row.inst_id, row.event),
    "No waits, and no histogram could be read.", order="waiting_sessions", descending=True, json="latency_events",
)
FACTS: Table[SpanFacts] = Table(
    "figures", "Latency",
    (
        FactFigure("name", "figure", TEXT, "Averages are measured (V$SYSTEM_EVENT, TIME_WAITED_MICRO / TOTAL_WAITS), "
                   "or estimated from the buckets at 0.75 of the bound of each; beside the estimate is its error. A "
                   "percentile (nearest rank) is shown as its bucket; the value after ~ is an estimate, interpolated "
                   "in that bucket. Percents under and over a limit count whole buckets only, so neither is too high; "
                   "1,024 µs counts as 1 ms.", "name", sortable=False, width=20),
        FactFigure("now", "now", TEXT, "Since the histogram was read before: at the last poll, or up to a minute ago "
                   "if the tab was not open; the row *over* says for how long.", "now", sortable=False, width=20),
        FactFigure("window", "window", TEXT, "Over the minutes chosen with w, as far as presman has polled them; the "
                   "first line says how far.", "window", sortable=False, width=20),
        FactFigure("startup", "since startup", TEXT, "Since the instance was started.", "startup", sortable=False,
                   width=20),
    ),
    lambda row: row.name, "Choose an event.",
)
BUCKETS: Table[LatencyBucket] = Table(
    "buckets", "Buckets",
    (
        BucketFigure("upper_us", "waits of", TEXT,
                     "From the lower bound up to, not including, the upper one; the last bucket has none.", "upper_us",
                     text=lambda row: range_text(row.lower_us, None if row.open_ended else row.upper_us),
                     sortable=False, side="right", width=13),
        BucketFigure("waits", "waits", TOTAL, "Waits in the bucket.", "waits", sortable=False, width=7),
        BucketFigure("waits_percent", "% of waits", _SHARE, "Share of all waits.", "waits_percent", sortable=False,
                     bar=lambda row: Bar(100.0, row.waits_percent), most=40),
        BucketFigure("time_percent", "% of time*", _SHARE, "Share of all time waited, estimated: each wait counts as "
                     "0.75 of the bucket's upper bound; the last bucket has no bound, so it may be more.",
                     "time_percent", sortable=False, bar=lambda row: Bar(100.0, row.time_percent), most=40),
    ),
    lambda row: row.upper_us, "No waits in this span.",
)
OUTLIERS: Table[Outlier] = Table(
    "outliers", "I/O outliers",
    (
        OutlierFigure("view", "View", TEXT, "V$IO_OUTLIER or V$LGWRIO_OUTLIER, read on request only.", "view",
                      width=16),
        OutlierFigure("inst_id", "Inst", NUMBER, "INST_ID.", "inst_id"),
        OutlierFigure("latency_ms", "latency ms", Unit("milliseconds", count, 12), "IO_LATENCY. Not shown where the "
                      "value cannot be a latency.", "latency_ms", text=_latency_ms),
        OutlierFigure("size_kb", "size", NUMBER, "IO_SIZE, probably KB.", "size_kb", width=6),
        OutlierFigure("function", "function", TEXT, "FUNCTION_NAME.", "function", width=18),
        OutlierFigure("event", "wait event", TEXT, "WAIT_EVENT.", "event", width=24),
        OutlierFigure("file", "file", TEXT, "FILE_NAME.", "file", width=30, flexible=True),
        OutlierFigure("disks", "disks, ms", TEXT, "DISK1_NAME and DISK1_LATENCY, and so on.", _disks, sortable=False,
                      width=24, narrow=False),
    ),
    _outlier, "No outliers: no I/O took longer than about half a second, or Oracle kept none.", json="outliers[].rows",
)
# fmt: on


LatencyFigure = Figure[Latency]

_MS = Unit("milliseconds", lambda value: milliseconds(value, 3, 9), 9)
_RANGE = Unit("microseconds", number, 8)
_PERCENT = Unit("percent", lambda value: ABSENT if value is None else f"{value:.4f}", 10)


def _over(row: Latency) -> str:
    seconds = ABSENT if row.seconds is None else duration(row.seconds)
    return f"now: {number(row.seconds)} s" if row.span is HistogramSpan.NOW else f"startup: {seconds}"


def _percentile_figure(permille: int) -> LatencyFigure:
    index, name = PERMILLES.index(permille), f"p{permille / 10:g}"

    def value(row: Latency) -> float | None:
        return row.percentiles[index].lower_us if row.percentiles else None

    def text(row: Latency) -> str:
        return percentile_bound(row.percentiles[index]) if row.percentiles else ABSENT

    key = f"{name.replace('.', '_')}_us"
    meaning = f"The bucket in which the {permille / 10:g}th percentile lies."
    return LatencyFigure(key, name, _RANGE, meaning, value, text=text)


def _under(limit_us: int) -> LatencyFigure:
    index, limit = THRESHOLDS_US.index(limit_us), limit_us // 1000

    def value(row: Latency) -> float | None:
        return row.thresholds[index].under if row.thresholds else None

    words = f"Percent of waits shorter than {limit} ms. Only whole buckets count, so it is never too high."
    return LatencyFigure(f"under_{limit}_ms_percent", f"% < {limit} ms", _PERCENT, words, value)


# fmt: off
HISTOGRAMS: Table[Latency] = Table(
    "histograms", "Wait histograms",
    (
        LatencyFigure("inst_id", "Inst", NUMBER, "INST_ID.", "inst_id"),
        LatencyFigure("event", "Wait event", TEXT, "V$EVENT_HISTOGRAM_MICRO.EVENT (V$EVENT_HISTOGRAM before 12.1).",
                      "event", width=20, flexible=True),
        LatencyFigure("span", "over", TEXT, "The time between the two polls, or since startup.", _over, width=14),
        LatencyFigure("waits", "waits", COUNT, "Waits in that time.", "waits", width=10),
        LatencyFigure("mean_ms", "avg ms", _MS, "The average wait, measured (V$SYSTEM_EVENT; none for idle events).",
                      lambda row: None if row.mean_us is None else row.mean_us / 1000),
        LatencyFigure("estimated_mean_ms", "est. ms", _MS,
                      "The average from the buckets, 0.75 of the bound for each wait: an estimate.",
                      lambda row: None if row.estimated_mean_us is None else row.estimated_mean_us / 1000),
        *map(_percentile_figure, (500, 990, 999)),
        LatencyFigure("longest_us", "longest", _RANGE, "The bucket of the longest wait.",
                      lambda row: row.longest.lower_us if row.longest else None,
                      text=lambda row: bound_text(row.longest)),
        *map(_under, THRESHOLDS_US),
    ),
    lambda row: (row.inst_id, row.event, row.span), "V$EVENT_HISTOGRAM has no rows.",
)
