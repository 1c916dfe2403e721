"""Figures of one window of a recording, poll by poll, as they were recorded: nothing is worked out again.

What was not known at a poll is left out of it, and never counts as nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from presman.compare.noise import Value
from presman.compare.statement_servers import servers_held
from presman.recording.tape import Tape
from presman.recording.tape_values import PollMark, Row

CPU, IO, PARALLEL, QUEUE, LATENCY, STATEMENTS = (
    "CPU", "I/O", "parallel servers", "queue", "latency", "statements by servers x time"
)  # fmt: skip
SECTIONS = (CPU, IO, PARALLEL, QUEUE, LATENCY, STATEMENTS)
ALL = "all"
"""The subject of what is not of one group."""

_HOUR = 3600.0
_DIRECTIVES = ("in_plan", "guaranteed_share", "limit_cpus", "px_servers_limit")


class FigureKey(NamedTuple):
    """Which figure of whom: section, group or event or statement, name with unit."""

    section: str
    subject: str
    figure: str


Series = Mapping[FigureKey, Sequence[Value]]
Directives = Mapping[tuple[str, str], Any]
"""What the plan says at the last poll, by (group, figure)."""


class WindowFigures(NamedTuple):
    """All that is compared of a window. `queued` are the seconds that each statement waited, by group."""

    series: Series
    histograms: Mapping[str, Sequence[Mapping[int, int]]]
    queued: Mapping[str, Sequence[float]]
    directives: Directives


def window_figures(tape: Tape, start: datetime, end: datetime, marks: Sequence[PollMark]) -> WindowFigures:
    """Return the figures of the polls between two instants, both included; `marks` are these polls."""
    series: dict[FigureKey, list[Value]] = {}
    rows = {name: tape.figures(name, start, end) for name in ("cpu", "session_io", "parallel", "emphasis")}
    _add_marks(series, marks)
    _add_groups(series, CPU, rows["cpu"], _CPU)
    _add_groups(series, IO, rows["session_io"], _IO)
    _add_groups(series, PARALLEL, rows["parallel"], _PARALLEL)
    _add_counters(series, rows["parallel"])
    histograms = _add_latency(series, tape.figures("latency", start, end))
    for sql_id, held in servers_held(tape.statements(start, end), [mark.at for mark in marks]).items():
        series[FigureKey(STATEMENTS, sql_id, "servers held")] = [Value(each, 1.0) for each in held]
    queued: dict[str, list[float]] = {}
    for row in sorted(tape.figures("arrivals", start, end), key=itemgetter("arrived")):
        if row["waited_s"] is not None:
            queued.setdefault(row["consumer_group"], []).append(row["waited_s"])
    return WindowFigures(series, histograms, queued, _directives(rows["emphasis"]))


def _add_marks(series: dict[FigureKey, list[Value]], marks: Iterable[PollMark]) -> None:
    for mark in marks:
        figures = (
            (CPU, "used CPUs", mark.used_cpus),
            (CPU, "waited-for CPUs", mark.waited_cpus),
            (PARALLEL, "servers in use", mark.servers_in_use),
            (QUEUE, "statements queued", mark.queued),
        )
        for section, figure, value in figures:
            if value is not None:
                series.setdefault(FigureKey(section, ALL, figure), []).append(Value(value, 1.0))


# ---- of groups

OfGroup = Callable[[Sequence[Row], float], Value | None]
"""Makes a value of a group's rows at one poll, one for each instance, and the seconds since the poll before."""


def _sum(rows: Sequence[Row], key: str) -> float | None:
    """Return the sum over instances; None if one of them is not known."""
    values = [row[key] for row in rows]
    return None if None in values else sum(values)


def _each_second(key: str) -> OfGroup:
    def value(rows: Sequence[Row], seconds: float) -> Value | None:
        total = _sum(rows, key)
        return None if total is None else Value(total * seconds, seconds)

    return value


def _throttled(rows: Sequence[Row], seconds: float) -> Value | None:
    used, waited = _sum(rows, "used_cpus"), _sum(rows, "waited_cpus")
    return None if used is None or waited is None else Value(100 * waited * seconds, (used + waited) * seconds)


def _service(rows: Sequence[Row], seconds: float) -> Value | None:
    known = [row for row in rows if row["service_ms"] is not None and row["io_requests_per_s"] is not None]
    if not known:
        return None
    taken = sum(row["service_ms"] * row["io_requests_per_s"] for row in known)
    return Value(taken * seconds, sum(row["io_requests_per_s"] for row in known) * seconds)


_CPU: Mapping[str, OfGroup] = {
    "used CPUs": _each_second("used_cpus"),
    "throttled %": _throttled,
    "entitled CPUs": _each_second("entitled_cpus"),
}
_IO: Mapping[str, OfGroup] = {
    "MB/s": _each_second("io_mb_per_s"),
    "requests/s": _each_second("io_requests_per_s"),
    "service ms": _service,
}
_PARALLEL: Mapping[str, OfGroup] = {
    "servers in use": _each_second("px_servers_active"),
    "statements queued": _each_second("px_statements_queued"),
}


def _by_poll(rows: Iterable[Row]) -> Iterator[list[Row]]:
    for _, polled in groupby(sorted(rows, key=itemgetter("time")), key=itemgetter("time")):
        yield list(polled)


def _by_group(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(_group(row), []).append(row)
    return found


def _group(row: Row) -> str:
    return f"{row['consumer_group']}#{row['con_id']}" if row["con_id"] else str(row["consumer_group"])


def _add_groups(
    series: dict[FigureKey, list[Value]], section: str, rows: Iterable[Row], figures: Mapping[str, OfGroup]
) -> None:
    for polled in _by_poll(rows):
        seconds = polled[0]["interval_s"]
        if not seconds or seconds <= 0:  # the first poll, whose rates are not known
            continue
        for group, own in _by_group(polled).items():
            for figure, of in figures.items():
                value = of(own, seconds)
                if value is not None:
                    series.setdefault(FigureKey(section, group, figure), []).append(value)


_COUNTERS = {
    "statements_queued_total": "queued per hour",
    "queue_timeouts_total": "timeouts per hour",
}


def _add_counters(series: dict[FigureKey, list[Value]], rows: Iterable[Row]) -> None:
    """Add what counters grew by; where one fell it began anew (another plan, a restart), and that poll is not known."""
    before: dict[tuple[str, str], tuple[datetime, int, float]] = {}
    for polled in _by_poll(rows):
        for group, own in _by_group(polled).items():
            for key, figure in _COUNTERS.items():
                total = _sum(own, key)
                old = before.pop((group, key), None)
                if total is None:
                    continue
                now = own[0]["time"]
                before[group, key] = (now, len(own), total)
                if old is not None and old[1] == len(own) and total >= old[2] and now > old[0]:
                    hours = (now - old[0]).total_seconds() / _HOUR
                    series.setdefault(FigureKey(QUEUE, group, figure), []).append(Value(total - old[2], hours))


# ---- latency and plan


def _add_latency(series: dict[FigureKey, list[Value]], rows: Iterable[Row]) -> dict[str, list[dict[int, int]]]:
    """Add waits and their time of each event; return its histograms poll by poll."""
    found: dict[str, list[dict[int, int]]] = {}
    polls: dict[tuple[datetime, str], dict[int, int]] = {}
    unknown: set[tuple[datetime, str]] = set()
    lasted: dict[tuple[datetime, str], tuple[float, float]] = {}
    for row in rows:
        at = row["time"], row["event"]
        if row["waits"] is None or not row["interval_s"]:
            unknown.add(at)
            continue
        buckets = polls.setdefault(at, {})
        buckets[row["upper_us"]] = buckets.get(row["upper_us"], 0) + row["waits"]
        took, _ = lasted.get(at, (0.0, 0.0))
        lasted[at] = took + row["estimated_us"], row["interval_s"]
    for at in sorted(polls.keys() - unknown):
        buckets, (took, seconds) = polls[at], lasted[at]
        waits, event = sum(buckets.values()), at[1]
        series.setdefault(FigureKey(LATENCY, event, "waits/s"), []).append(Value(waits, seconds))
        series.setdefault(FigureKey(LATENCY, event, "mean ms (estimated)"), []).append(Value(took / 1000, waits))
        found.setdefault(event, []).append(buckets)
    return found


def _directives(rows: Sequence[Row]) -> dict[tuple[str, str], Any]:
    """Return what the plan gave each group at the last poll; on several instances that of the first."""
    if not rows:
        return {}
    last = max(row["time"] for row in rows)
    found: dict[tuple[str, str], Any] = {}
    for row in rows:
        if row["time"] == last:
            for key in _DIRECTIVES:
                found.setdefault((_group(row), key), row[key])
    return found
