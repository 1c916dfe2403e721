"""Figures of wait histograms: what each says of the last interval and of the time since startup."""

from __future__ import annotations

from collections.abc import Hashable

from presman.analysis.latency.histograms import PERMILLES, THRESHOLDS_US, HistogramSpan, Latency
from presman.base.formats import ABSENT, duration, milliseconds, number
from presman.figures.figure import COUNT, NUMBER, TEXT, Figure, Table, Unit
from presman.figures.histogram_figures import bound_text, percentile_bound

LatencyFigure = Figure[Latency]

_MS = Unit("milliseconds", lambda value: milliseconds(value, "{:,.3f}".format), 9)
_BOUND = Unit("microseconds", number, 8)
_PERCENT = Unit("percent", lambda value: ABSENT if value is None else f"{value:.4f}", 10)


def _identity(row: Latency) -> Hashable:
    return row.inst_id, row.event, row.span


def _over(row: Latency) -> str:
    seconds = ABSENT if row.seconds is None else duration(row.seconds)
    return f"now: {number(row.seconds)} s" if row.span is HistogramSpan.NOW else f"startup: {seconds}"


def _percentile(permille: int) -> LatencyFigure:
    place, name = PERMILLES.index(permille), f"p{permille / 10:g}"

    def value(row: Latency) -> float | None:
        return row.percentiles[place].lower_us if row.percentiles else None

    def text(row: Latency) -> str:
        return percentile_bound(row.percentiles[place]) if row.percentiles else ABSENT

    key = f"{name.replace('.', '_')}_us"
    return LatencyFigure(
        key, name, _BOUND, f"The bucket in which the {permille / 10:g}th percentile lies.", value, text=text
    )


def _under(limit_us: int) -> LatencyFigure:
    place, limit = THRESHOLDS_US.index(limit_us), limit_us // 1000

    def value(row: Latency) -> float | None:
        return row.thresholds[place].under if row.thresholds else None

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
        LatencyFigure("mean_ms", "avg ms", _MS,
                      "The average wait, measured (V$SYSTEM_EVENT; none for idle events).",
                      lambda row: None if row.mean_us is None else row.mean_us / 1000),
        LatencyFigure("estimated_mean_ms", "est. ms", _MS,
                      "The average from the buckets, 0.75 of the bound for each wait: an estimate.",
                      lambda row: None if row.estimated_mean_us is None else row.estimated_mean_us / 1000),
        *map(_percentile, (500, 990, 999)),
        LatencyFigure("longest_us", "longest", _BOUND, "The bucket of the longest wait.",
                      lambda row: row.longest.lower_us if row.longest else None,
                      text=lambda row: bound_text(row.longest)),
        *map(_under, THRESHOLDS_US),
    ),
    _identity, "V$EVENT_HISTOGRAM has no rows.",
)
