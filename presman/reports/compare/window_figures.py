"""Figures of one window of a recording, as they were recorded; what the plan says is from its last readable poll.

Polls at which a figure is unknown are left out of it; they never count as zero.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from math import isnan, nan
from typing import Any, NamedTuple

from sqlalchemy import text

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import positions
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.wait_readings import ESTIMATOR
from presman.base.text import clean
from presman.figures.measures import groups
from presman.recording import window_lines
from presman.recording.codec.shapes import instant
from presman.recording.measure_tables import SCALE, kept
from presman.recording.playback import Playback
from presman.recording.playback_values import StatementLife, is_number
from presman.recording.window_lines import GroupLines, LatencyBin, LazySequence, PollLines
from presman.reports.compare.noise import Value
from presman.rows.group_rows import ContainerPlanDirective, PlanDirective
from presman.rows.snapshot import Snapshot

CPU, IO, PARALLEL = "CPU", "I/O", "parallel servers"
QUEUE, LATENCY, STATEMENTS = "queue", "latency", "statements by servers x time"
SECTIONS = (CPU, IO, PARALLEL, QUEUE, LATENCY, STATEMENTS)
MEAN_WAIT = "mean ms (estimated)"
ALL = "all"
"""The subject of figures that are not of one group."""


MOST_VALUES = 720
"""The most values of a series: an hour at 5 seconds. In longer windows each value covers several polls."""


MOST_POLLS = 64_000
"""The most polls of a window to read for groups and waits: 4 days at 5 seconds. Of more, 32 in every 64, 96 …"""


def step_for(polls: int) -> int:
    """Return the step between the spans of 32 polls to read for groups and waits: 1 for all of them."""
    return max(1, -(-polls // MOST_POLLS))


class FigureKey(NamedTuple):
    """The key of a figure: section, subject (group, event or statement), name with unit."""

    section: str
    subject: str
    figure: str


Series = Mapping[FigureKey, Sequence[Value]]


def width_for(polls: int) -> int:
    """Return how many polls a value covers."""
    return max(1, -(-polls // MOST_VALUES))


Quotient = tuple[int, float, float]
"""Index of a poll, with numerator and denominator of a value."""


class BinnedSeries:
    """Series under construction for a number of polls; a poll is identified by its index in the window."""

    def __init__(self, polls: int) -> None:
        self.width = width_for(polls)
        self._sums: dict[FigureKey, tuple[array[float], array[float]]] = {}

    def add(self, key: FigureKey, quotients: Iterable[Quotient]) -> None:
        """Add values of single polls."""
        overs, unders = self._sums.get(key) or (array("d"), array("d"))
        for index, over, under in quotients:
            place = index // self.width
            if (missing := place + 1 - len(unders)) > 0:
                overs.extend([nan] * missing)
                unders.extend([nan] * missing)
            if isnan(unders[place]):
                overs[place] = unders[place] = 0.0
            overs[place] += over
            unders[place] += under
            self._sums[key] = overs, unders

    def series(self) -> dict[FigureKey, Sequence[Value]]:
        """Return the finished series in order of time."""
        return {key: _values(*own) for key, own in self._sums.items()}


def _values(overs: Sequence[float], unders: Sequence[float]) -> Sequence[Value]:
    there = array("l", (place for place, under in enumerate(unders) if not isnan(under)))
    return LazySequence(lambda place: Value(overs[there[place]], unders[there[place]]), len(there))


def thinned(values: Sequence[Value]) -> list[Value]:
    """Return the values, with neighbours combined so that there are not too many."""
    width = width_for(len(values))
    parts = [values[begin : begin + width] for begin in range(0, len(values), width)]
    return [Value(sum(each.over for each in part), sum(each.under for each in part)) for part in parts]


def servers_held(lives: Iterable[StatementLife], polls: Sequence[datetime], width: int = 1) -> dict[str, list[int]]:
    """Return, by SQL_ID, the servers held by its executions at `polls` (in order of time), summed over `width` polls.

    A waiting execution holds none; one that has finished its work but still holds its servers counts.
    """
    found: dict[str, list[int]] = {}
    for life in lives:
        if life.held_from is None or not life.sql_id:
            continue
        low, high = bisect_left(polls, max(life.held_from, life.first_seen)), bisect_right(polls, life.gone)
        if low < high:
            own = found.setdefault(life.sql_id, [0] * -(-len(polls) // width))
            for index in range(low // width, (high - 1) // width + 1):
                there = min(high, (index + 1) * width) - max(low, index * width)
                own[index] += life.servers * there
    return found


_HOUR = 3600.0

Lines = Mapping[str, Sequence[float]]
"""The series of one group on one instance by figure, NaN where unknown."""


def add_groups(found: BinnedSeries, lines: GroupLines, begin: int = 0, *, once: int = 0) -> None:
    """Add the figures of all groups. They are summed over instances, and unknown if an instance does not have them.

    `begin` is the index of the first poll in the lines; polls below `once` were added before.
    """
    for group, instances in _by_group(lines).items():
        for (section, figure), quotients in _OF_GROUP.items():
            own = ((begin + index, over, under) for index, over, under in quotients(instances, lines))
            new = (each for each in own if each[0] >= once)
            found.add(FigureKey(section, group, figure), new)


def _by_group(lines: GroupLines) -> dict[str, list[Lines]]:
    found: dict[str, dict[int, dict[str, array[float]]]] = {}
    for (figure, (inst_id, con_id, name)), line in lines.values.items():
        group = f"{name}#{con_id}" if con_id else name
        found.setdefault(group, {}).setdefault(inst_id, {})[figure] = line
    return {group: list(instances.values()) for group, instances in found.items()}


def _total(instances: Sequence[Lines], figure: str, count: int) -> Sequence[float]:
    """Return a figure over all instances at each of `count` polls; NaN if an instance with data does not have it."""
    blank = [nan] * count
    if len(instances) == 1:
        return instances[0].get(figure, blank)
    found = blank[:]
    unknown: set[int] = set()
    for lines in instances:
        for index, (value, there) in enumerate(zip(lines.get(figure, blank), lines.get("servers", blank), strict=True)):
            if not isnan(value):
                found[index] = value + (0.0 if isnan(found[index]) else found[index])
            elif not isnan(there):
                unknown.add(index)
    return [nan if index in unknown else value for index, value in enumerate(found)]


OfGroup = Callable[[Sequence[Lines], GroupLines], Iterator[Quotient]]


def _quotients(quotient: Callable[..., tuple[float, float]], *figures: str, by_instance: bool = False) -> OfGroup:
    """Return a function that yields a quotient for each poll with all `figures`: of all instances or `by_instance`.

    `quotient` is called with the seconds since the previous poll, NaN if there was none, and the figures.
    """

    def quotients(instances: Sequence[Lines], lines: GroupLines) -> Iterator[Quotient]:
        for own in [[each] for each in instances] if by_instance else [instances]:
            totals = (_total(own, figure, len(lines.times)) for figure in figures)
            for index, (seconds, *values) in enumerate(zip(lines.seconds, *totals, strict=True)):
                over, under = quotient(seconds if seconds > 0 else nan, *values)
                if not isnan(over + under):
                    yield index, over, under

    return quotients


def _rate(seconds: float, value: float) -> tuple[float, float]:
    return value * seconds, seconds


def _present(_seconds: float, value: float) -> tuple[float, float]:
    """Return a momentary value: all polls have the same weight, as in the sum of all groups."""
    return value, 1.0


def _growth(figure: str) -> OfGroup:
    """Return a function that yields the growth of a counter; if it fell, it was reset (new plan, restart): unknown."""

    def quotients(instances: Sequence[Lines], lines: GroupLines) -> Iterator[Quotient]:
        there = [own.get("servers", [nan] * len(lines.times)) for own in instances]
        before: tuple[float, int, float] | None = None
        for index, total in enumerate(_total(instances, figure, len(lines.times))):
            number = sum(not isnan(each[index]) for each in there)
            # Polls without the group are passed over: its counter goes on meanwhile. If only some instances have the
            # figure, or others than before, the difference of the sums would not be a growth.
            if isnan(total):
                before = None if number else before
                continue
            at = lines.times[index]
            if before is not None and before[1] == number and total >= before[2] and at > before[0]:
                yield index, total - before[2], (at - before[0]) / _HOUR
            before = at, number, total

    return quotients


_OF_GROUP: Mapping[tuple[str, str], OfGroup] = {
    (CPU, "used CPUs"): _quotients(_rate, "used"),
    (CPU, "throttled %"): _quotients(
        lambda s, used, waited: (100 * waited * s, (used + waited) * s), "used", "waiting"
    ),
    (CPU, "entitled CPUs"): _quotients(_rate, "entitled"),
    (IO, "MB/s"): _quotients(_rate, "io"),
    (IO, "requests/s"): _quotients(_rate, "requests"),
    (IO, "service ms"): _quotients(
        lambda s, each, many: (each * many * s, many * s), "service", "requests", by_instance=True
    ),
    (PARALLEL, "servers in use"): _quotients(_present, "servers"),
    (PARALLEL, "statements queued"): _quotients(_present, "queued"),
    (QUEUE, "queued per hour"): _growth("ever_queued"),
    (QUEUE, "timeouts per hour"): _growth("timeouts"),
}


NO_LIMIT, NOT_IN_PLAN, NOT_KNOWN, NOT_SET = "no limit", "not in plan", "not known", "not set"

Directives = Mapping[tuple[str, str], Any]
"""Values of the plan at the last poll, by (group, figure), for its groups; the group "" is the database."""


class WindowFigures(NamedTuple):
    """All figures of a window to compare. `queued` has the seconds that each statement waited, by group."""

    series: Series
    histograms: Mapping[str, Sequence[Mapping[int, int]]]
    queued: Mapping[str, Sequence[float]]
    directives: Directives


def window_figures(
    playback: Playback,
    start: datetime,
    end: datetime,
    polls: PollLines,
    sql_ids: Collection[str],
    newest: tuple[Snapshot, Reading] | None,
) -> WindowFigures:
    """Return the figures of the polls between two times, both included; `polls` are their lines, `newest` the last.

    Statements are limited to `sql_ids`.
    """
    found = BinnedSeries(len(polls.times))
    _add_polls(found, polls)
    step = step_for(len(polls.times))
    of_groups = BinnedSeries(len(polls.times) // step)
    there = 0
    for lines in window_lines.group_lines_in_turn(playback, start, end, tuple(window_lines.FIGURES), step):
        begin = max(0, there - 1)  # the first poll of a piece repeats the last one of the piece before
        add_groups(of_groups, lines, begin, once=there)
        there = begin + len(lines.times)
    latency = window_lines.latency_bins(playback, start, end, of_groups.width, step)
    series = found.series() | of_groups.series() | _latency(latency)
    times = LazySequence(lambda place: instant(polls.times[place]), len(polls.times))
    for sql_id, of in servers_held(playback.statements(start, end, sql_ids), times, found.width).items():
        counts = (min(found.width, len(times) - index * found.width) for index in range(len(of)))
        series[FigureKey(STATEMENTS, sql_id, "servers held")] = list(map(Value, of, counts))
    histograms = {event: LazySequence(partial(_waits_of, bins), len(bins)) for event, bins in latency.items()}
    directives = _directives(newest, polls.values["servers_target"][-1])
    return WindowFigures(series, histograms, _queued(playback, start, end), directives)


def _waits_of(bins: Sequence[LatencyBin], place: int) -> Mapping[int, int]:
    return bins[place].waits


# The + keeps SQLite from going through all polls of the window: it looks up the poll of each arrival.
_ARRIVALS = text(
    f"SELECT a.arrived, a.consumer_group, a.waited_s / {SCALE}.0 AS waited FROM arrived a"
    " JOIN polls p ON p.database_id = a.database_id AND p.poll = +a.poll"
    " WHERE a.database_id = :database_id AND a.poll BETWEEN :first AND :last AND a.waited_s IS NOT NULL"
)


def _queued(playback: Playback, start: datetime, end: datetime) -> dict[str, list[float]]:
    """Return the seconds that statements waited, by group, in order of arrival.

    For a statement that already ran at the very first poll the wait is unknown, so it is left out.
    """
    begun = kept(playback.first) if playback.first is not None else 0
    found: dict[str, list[tuple[int, float]]] = {}
    for part in playback.parts(start, end):
        for at, group, waited in playback.streamed(part, _ARRIVALS):
            if type(at) is int and isinstance(group, str) and is_number(waited):
                if waited or at >= begun:
                    found.setdefault(group, []).append((at, float(waited)))
            else:
                playback.left_out(part, "rows that no recorder wrote are skipped")
    merged: dict[str, list[tuple[int, float]]] = {}
    for group, own in found.items():  # after cleaning, two names in a foreign file may be equal
        merged.setdefault(clean(group), []).extend(own)
    return {group: [waited for _, waited in sorted(own)] for group, own in merged.items()}


_OF_ALL = {
    (CPU, "used CPUs"): "used_cpus",
    (CPU, "waited-for CPUs"): "waited_cpus",
    (PARALLEL, "servers in use"): "servers_in_use",
    (QUEUE, "statements queued"): "queued",
}


def _add_polls(found: BinnedSeries, polls: PollLines) -> None:
    ones = [1.0] * len(polls.times)
    for (section, figure), line in _OF_ALL.items():
        weights = polls.values["seconds"] if section == CPU else ones
        pairs = enumerate(zip(polls.values[line], weights, strict=True))
        own = ((index, each * weight, weight) for index, (each, weight) in pairs if each * weight >= 0)
        found.add(FigureKey(section, ALL, figure), own)


def _latency(found: Mapping[str, Sequence[LatencyBin]]) -> dict[FigureKey, list[Value]]:
    """Return the waits per second and the mean wait for each event."""
    series = {}
    for event, made in found.items():
        bins = list(made)
        waits = [sum(each.waits.values()) for each in bins]
        took = [ESTIMATOR * sum(upper * count for upper, count in each.waits.items()) / 1000 for each in bins]
        series[FigureKey(LATENCY, event, "waits/s")] = list(map(Value, waits, (each.seconds for each in bins)))
        series[FigureKey(LATENCY, event, MEAN_WAIT)] = list(map(Value, took, waits))
    return series


_OTHERWISE_TOLD = frozenset(
    ["con_id", "plan", "group_or_subplan", "type", "utilization_limit", "parallel_server_limit", "status", "comments"]
)
"""Columns of a directive that are not listed: its plan, its group, and what figures show together with the limits."""


def _directives(newest: tuple[Snapshot, Reading] | None, target: float) -> Directives:
    """Return the plan's values for each group that has a directive; on several instances those of the first.

    The servers of a percentage follow from the target. Columns of directives that are not set are left out.
    """
    found: dict[tuple[str, str], Any] = {("", "servers target"): NOT_KNOWN if isnan(target) else int(target)}
    for row in groups(newest[1]) if newest is not None else ():
        group = f"{row.name}#{row.con_id}" if row.con_id else row.name
        # Without its directive the limit may be known, but not the whole that it is a percentage of.
        is_unknown = row.servers_limit_percent is None and (row.servers_limit is not None or row.limit_view)
        of_servers = NOT_KNOWN if is_unknown else row.servers_limit_percent
        limits = {"limit_cpus": row.limit, "servers limit %": of_servers}
        for figure, value in {"guaranteed_share": row.share, **limits}.items() if row.in_plan else ():
            found.setdefault((group, figure), NO_LIMIT if value is None else value)
    return found if newest is None else {**_columns(newest[0]), **found}


def _columns(newest: Snapshot) -> Directives:
    """Return what the directives of groups and subplans in force set, by the names of their columns.

    A column that was not read is not known: it may be set.
    """
    absent = newest.section(PlanDirective).absent | newest.section(ContainerPlanDirective).absent
    found: dict[tuple[str, str], Any] = {}
    for _, shares in sorted(Facts.of(None, newest).division.shares.items(), reverse=True):
        for branch in (each.branch for each in positions(shares.root)):
            con_id, name = branch.key or (0, branch.name)
            # A directive without its name (GROUP_OR_SUBPLAN was not read) may be that of any group.
            values = {} if branch.directive is None or not name else branch.directive._asdict()
            for column, value in values.items():
                is_set = value not in {None, "", "FALSE"} and (value or not column.startswith("mgmt_p"))
                if (is_set or column in absent) and column not in _OTHERWISE_TOLD:
                    group = f"{name}#{con_id}" if con_id else name
                    found[group, column.upper()] = NOT_KNOWN if column in absent else value
    return found
