"""The table of wait histograms: how many waits, and how many of them were short."""

from __future__ import annotations

from collections.abc import Hashable

from presman.analysis.waiting import Histogram
from presman.analysis.waits import percent_under
from presman.columns import Column, Table
from presman.formats import ABSENT, count

Latency = Column[Histogram]


def _identity(row: Histogram) -> Hashable:
    return row.inst_id, row.event


def _total(row: Histogram) -> int:
    return sum(bucket.count for bucket in row.buckets)


def _now(row: Histogram) -> int | None:
    deltas = [bucket.delta for bucket in row.buckets]
    return sum(delta or 0 for delta in deltas) if deltas and None not in deltas else None


def _under(milliseconds: int) -> Latency:
    def share(row: Histogram) -> float | None:
        return percent_under(row, 1000.0 * milliseconds)

    def text(row: Histogram) -> str:
        value = share(row)
        return ABSENT if value is None else f"{value:.4f}"

    return Latency(
        f"under_{milliseconds}_ms",
        f"% < {milliseconds} ms*",
        10,
        text,
        f"Percent of all waits since startup that were shorter than {milliseconds} ms (V$EVENT_HISTOGRAM_MICRO, "
        "V$EVENT_HISTOGRAM before 12.1). Only whole buckets count, so it is never too high.",
        sort=share,
        align="right",
    )


# fmt: off
HISTOGRAMS: Table[Histogram] = Table(
    "histograms", "Wait histograms",
    (
        Latency("inst", "Inst", 4, lambda row: str(row.inst_id), "INST_ID.", sort=lambda row: row.inst_id,
                align="right"),
        Latency("event", "Wait event", 20, lambda row: row.event, "V$EVENT_HISTOGRAM_MICRO.EVENT.",
                sort=lambda row: row.event, flexible=True),
        Latency("now", "waits", 8, lambda row: count(_now(row)), "Waits since the last poll.", sort=_now,
                align="right"),
        Latency("total", "waits*", 12, lambda row: count(_total(row)), "Waits since startup.", sort=_total,
                align="right"),
        _under(1), _under(10), _under(20),
    ),
    _identity, "V$EVENT_HISTOGRAM gave no rows.",
)
