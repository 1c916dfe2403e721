"""The table of wait histograms in a text: what each says of the last interval and of the time since startup."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from presman.analysis.latency import PERMILLES, THRESHOLDS_US, Latency, Span
from presman.columns import Column, Table
from presman.formats import ABSENT, count, duration, number
from presman.tables.histogram import bound_text, percentile_bound

LatencyColumn = Column[Latency]


def _identity(row: Latency) -> Hashable:
    return row.inst_id, row.event, row.span


def _over(row: Latency) -> str:
    seconds = ABSENT if row.seconds is None else duration(row.seconds)
    return f"now: {number(row.seconds)} s" if row.span is Span.NOW else f"startup: {seconds}"


def _ms(microseconds: float | None) -> str:
    return ABSENT if microseconds is None else f"{microseconds / 1000:,.3f}"


def _percentile(permille: int) -> LatencyColumn:
    place = PERMILLES.index(permille)

    def value(row: Latency) -> float | None:
        return row.percentiles[place].lower_us if row.percentiles else None

    def text(row: Latency) -> str:
        return percentile_bound(row.percentiles[place]) if row.percentiles else ABSENT

    name = f"p{permille / 10:g}"
    return _figure(name, name, 8, text, f"The bucket in which the {permille / 10:g}th percentile lies.", value)


def _under(limit_us: int) -> LatencyColumn:
    place, limit = THRESHOLDS_US.index(limit_us), limit_us // 1000

    def value(row: Latency) -> float | None:
        return row.thresholds[place].under if row.thresholds else None

    def text(row: Latency) -> str:
        share = value(row)
        return ABSENT if share is None else f"{share:.4f}"

    words = f"Percent of waits shorter than {limit} ms. Only whole buckets count, so it is never too high."
    return _figure(f"under_{limit}_ms", f"% < {limit} ms", 10, text, words, value)


def _figure(
    key: str,
    head: str,
    width: int,
    text: Callable[[Latency], str],
    words: str,
    value: Callable[[Latency], float | None],
) -> LatencyColumn:
    return LatencyColumn(key, head, width, text, words, sort=value, align="right")


HISTOGRAMS: Table[Latency] = Table(
    "histograms",
    "Wait histograms",
    (
        _figure("inst", "Inst", 4, lambda row: str(row.inst_id), "INST_ID.", lambda row: row.inst_id),
        LatencyColumn(
            "event",
            "Wait event",
            20,
            lambda row: row.event,
            "V$EVENT_HISTOGRAM_MICRO.EVENT (V$EVENT_HISTOGRAM before 12.1).",
            sort=lambda row: row.event,
            flexible=True,
        ),
        LatencyColumn("over", "over", 14, _over, "The time between the two polls, or since startup.", sort=_over),
        _figure("waits", "waits", 10, lambda row: count(row.waits), "Waits in that time.", lambda row: row.waits),
        _figure(
            "mean",
            "avg ms",
            9,
            lambda row: _ms(row.mean_us),
            "The average wait, measured (V$SYSTEM_EVENT; none for idle events).",
            lambda row: row.mean_us,
        ),
        _figure(
            "estimate",
            "est. ms",
            9,
            lambda row: _ms(row.estimated_mean_us),
            "The average by the buckets, 0.75 of the bound for each wait: an estimate.",
            lambda row: row.estimated_mean_us,
        ),
        *map(_percentile, (500, 990, 999)),
        _figure(
            "longest",
            "longest",
            8,
            lambda row: bound_text(row.longest),
            "The bucket of the longest wait.",
            lambda row: row.longest.lower_us if row.longest else None,
        ),
        *map(_under, THRESHOLDS_US),
    ),
    _identity,
    "V$EVENT_HISTOGRAM gave no rows.",
)
