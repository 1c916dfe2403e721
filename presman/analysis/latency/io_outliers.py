"""I/O outliers, and whether their latencies can be latencies at all.

On some platforms the latency column of V$IO_OUTLIER and V$LGWRIO_OUTLIER has been seen to hold no latency: its
values only grew from row to row. presman looks before it prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from presman.analysis.facts.facts import Facts
from presman.analysis.latency.histograms import OPEN_FROM
from presman.analysis.readings.wait_readings import Histogram, Outlier, OutlierReading
from presman.rows.instance_rows import IoOutlier, LgwrioOutlier

VIEWS = {IoOutlier: "V$IO_OUTLIER", LgwrioOutlier: "V$LGWRIO_OUTLIER"}

LONGEST_MS = 3_600_000
"""One hour: no storage answers that late without failing first."""

GROWING = 5
"""So many rows in ascending order are no chance: it has one in 120."""

BEYOND = 4
"""A latency this many times above the bound of the longest wait since startup contradicts the histogram."""


def outliers(facts: Facts, histograms: Sequence[Histogram]) -> tuple[OutlierReading, ...]:
    """Return what was asked of the views of outliers; empty where they were not asked."""
    found = []
    for record, view in VIEWS.items():
        section = facts.snapshot.sections.get(record)
        if section is None or section.problem:
            continue
        rows = tuple(_outlier(view, row) for row in section.rows)
        reasons = doubts([(row.inst_id, row.wait_event, row.io_latency) for row in section.rows], histograms)
        if reasons:
            rows = tuple(replace(row, latency_ms=None, disks=()) for row in rows)
        found.append(OutlierReading(view, section.at, rows, reasons))
    return tuple(found)


def _outlier(view: str, row: IoOutlier | LgwrioOutlier) -> Outlier:
    disks = (
        (row.disk1_name, row.disk1_latency),
        (row.disk2_name, row.disk2_latency),
        (row.disk3_name, row.disk3_latency),
    )
    named = tuple(disk for disk in disks if disk[0])
    return Outlier(
        view, row.inst_id, row.function_name, row.io_size, row.wait_event, row.file_name, row.io_latency, named
    )


Latency = tuple[int, str, int]
"""Instance, wait event and milliseconds of one row."""


def doubts(rows: Sequence[Latency], histograms: Sequence[Histogram] = ()) -> tuple[str, ...]:
    """Return why the latencies of `rows`, in the order they were read, are not believed; empty if they may be true."""
    found = []
    for place in sorted({inst_id for inst_id, _, _ in rows}):
        own = [value for inst_id, _, value in rows if inst_id == place]
        if len(own) >= GROWING and all(earlier < later for earlier, later in pairwise(own)):
            found.append(
                f"instance {place}: each of the {len(own)} values is larger than the one before: "
                "a clock or a counter, not a latency"
            )
    if any(value < 0 for _, _, value in rows):
        found.append("some values are negative")
    absurd = sum(value > LONGEST_MS for _, _, value in rows)
    if absurd:
        found.append(f"{absurd} of {len(rows)} values are above an hour")
    return (*found, *_contradictions(rows, histograms))


def _contradictions(rows: Sequence[Latency], histograms: Sequence[Histogram]) -> list[str]:
    """Compare with the longest wait for the same event that the histogram has counted."""
    longest = {(each.inst_id, each.event): _longest_us(each) for each in histograms}
    found = []
    for inst_id, event in dict.fromkeys(row[:2] for row in rows):
        bound = longest.get((inst_id, event), 0) / 1000
        beyond = sum(1 for row in rows if row[:2] == (inst_id, event) and row[2] > BEYOND * bound)
        if bound and beyond:
            found.append(
                f"{beyond} values are far above the longest wait for {event} on instance {inst_id} since startup "
                f"(under {bound:,.0f} ms)"
            )
    return found


def _longest_us(histogram: Histogram) -> int:
    """Return the bound of the longest wait since startup, 0 where it has none."""
    longest = max((bucket.upper_us for bucket in histogram.buckets if bucket.count), default=0)
    return longest if longest < OPEN_FROM else 0
