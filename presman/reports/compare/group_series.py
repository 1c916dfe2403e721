"""Series of the consumer groups: CPU, I/O, parallel servers, and what their counters grew by, poll by poll."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan, nan

from presman.recording.window_lines import GroupLines
from presman.reports.compare.binned_series import BinnedSeries, FigureKey
from presman.reports.compare.window_sections import CPU, IO, PARALLEL, QUEUE

_HOUR = 3600.0

Lines = Mapping[str, Sequence[float]]
"""The lines of one group on one instance by figure, NaN where not known."""

Quotient = tuple[int, float, float]
"""Place of a poll, and a value as a quotient."""


def add_groups(found: BinnedSeries, lines: GroupLines) -> None:
    """Add the figures of all groups. Instances are added up; what one of them does not know is not known."""
    for group, instances in _by_group(lines).items():
        for (section, figure), quotients in _OF_GROUP.items():
            for quotient in quotients(instances, lines):
                found.add(FigureKey(section, group, figure), *quotient)


def _by_group(lines: GroupLines) -> dict[str, list[Lines]]:
    found: dict[str, dict[int, dict[str, array[float]]]] = {}
    for (figure, (inst_id, con_id, name)), line in lines.values.items():
        group = f"{name}#{con_id}" if con_id else name
        found.setdefault(group, {}).setdefault(inst_id, {})[figure] = line
    return {group: list(instances.values()) for group, instances in found.items()}


def _total(instances: Sequence[Lines], figure: str, count: int) -> Sequence[float]:
    """Return a figure over all instances at each of `count` polls; NaN where one that is there does not know it."""
    blank = [nan] * count
    if len(instances) == 1:
        return instances[0].get(figure, blank)
    found = blank[:]
    unknown: set[int] = set()
    for lines in instances:
        for place, (value, there) in enumerate(zip(lines.get(figure, blank), lines.get("servers", blank), strict=True)):
            if not isnan(value):
                found[place] = value + (0.0 if isnan(found[place]) else found[place])
            elif not isnan(there):
                unknown.add(place)
    return [nan if place in unknown else value for place, value in enumerate(found)]


OfGroup = Callable[[Sequence[Lines], GroupLines], Iterator[Quotient]]


def _each_second(figure: str) -> OfGroup:
    def quotients(instances: Sequence[Lines], lines: GroupLines) -> Iterator[Quotient]:
        for place, (value, seconds) in enumerate(_paired(_total(instances, figure, len(lines.times)), lines)):
            if seconds > 0 and not isnan(value):
                yield place, value * seconds, seconds

    return quotients


def _throttled(instances: Sequence[Lines], lines: GroupLines) -> Iterator[Quotient]:
    used, waited = (_total(instances, each, len(lines.times)) for each in ("used", "waiting"))
    for place, (one, other, seconds) in enumerate(zip(used, waited, lines.seconds, strict=True)):
        if seconds > 0 and not isnan(one + other):
            yield place, 100 * other * seconds, (one + other) * seconds


def _service(instances: Sequence[Lines], lines: GroupLines) -> Iterator[Quotient]:
    blank = [nan] * len(lines.times)
    for own in instances:
        taken, requests = own.get("service", blank), own.get("requests", blank)
        for place, (each, number, seconds) in enumerate(zip(taken, requests, lines.seconds, strict=True)):
            if seconds > 0 and not isnan(each + number):
                yield place, each * number * seconds, number * seconds


def _growth(figure: str) -> OfGroup:
    """Return what a counter grew by; where it fell it began anew (another plan, a restart), and that is not known."""

    def quotients(instances: Sequence[Lines], lines: GroupLines) -> Iterator[Quotient]:
        there = [own.get("servers", [nan] * len(lines.times)) for own in instances]
        before: tuple[float, int, float] | None = None
        for place, total in enumerate(_total(instances, figure, len(lines.times))):
            number = sum(not isnan(each[place]) for each in there)
            if isnan(total):
                before = None if number else before
                continue
            at = lines.times[place]
            if before is not None and before[1] == number and total >= before[2] and at > before[0]:
                yield place, total - before[2], (at - before[0]) / _HOUR
            before = at, number, total

    return quotients


def _paired(line: Sequence[float], lines: GroupLines) -> Iterator[tuple[float, float]]:
    return zip(line, lines.seconds, strict=True)


_OF_GROUP: Mapping[tuple[str, str], OfGroup] = {
    (CPU, "used CPUs"): _each_second("used"),
    (CPU, "throttled %"): _throttled,
    (CPU, "entitled CPUs"): _each_second("entitled"),
    (IO, "MB/s"): _each_second("io"),
    (IO, "requests/s"): _each_second("requests"),
    (IO, "service ms"): _service,
    (PARALLEL, "servers in use"): _each_second("servers"),
    (PARALLEL, "statements queued"): _each_second("queued"),
    (QUEUE, "queued per hour"): _growth("ever_queued"),
    (QUEUE, "timeouts per hour"): _growth("timeouts"),
}
