"""Charts and trends of a tab: series over the window the user chose. Only the data, not the drawing."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.plans.plan_changes import plan_switches
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import CLUSTER
from presman.analysis.trends.series import CPUS, Series, completed
from presman.base.colours import CLASS_STYLES, OTHERS, ColourKey, GroupColours
from presman.tabs.parts import GroupLevel, Moment, OverTime

BRIDGE = 120.0
"""A chart bridges gaps of up to this many seconds: the history has one point a minute."""

STRETCHES = 60
"""The stretches that a window is divided into: the chart moves by one of them."""

MOST = 5
"""Most groups with an area of their own: the eye cannot distinguish more."""

_LITTLE = 0.01
"""A smaller share than this gets no area."""

Styles = Callable[[ColourKey], str]
"""Returns the style of a group, a container or a wait class, "" if it has none of its own."""


class Area(NamedTuple):
    """One area of a chart: its name, the keys whose values it sums, and the sums, None where nothing was measured.

    The last area may be the sum of all others: its `keys` are empty. `style` is the name of its colour.
    """

    name: str
    keys: tuple[ColourKey, ...]
    values: tuple[float | None, ...]
    style: str = OTHERS


class ChartData(Struct, frozen=True):
    """The data of a chart: stacked areas, the lowest first, over `length` equal stretches up to now.

    `ticks` are (stretch, label) on the time axis. `capacity` is the number of CPUs at the instant on screen, None for a
    chart without a line for them; the line is drawn at `capacities`, the CPUs of each stretch (None: not known; ():
    `capacity` in all). `cursor` is the stretch of the instant on screen while scrolled back, `marks` are (stretch,
    words) where a plan was activated. The first stretch begins at `start` (seconds since 1970), each lasts `width`
    seconds.
    """

    title: str
    areas: tuple[Area, ...]
    ticks: tuple[tuple[int, str], ...]
    length: int
    capacity: float | None = None
    capacities: tuple[float | None, ...] = ()
    cursor: int | None = None
    marks: tuple[tuple[int, str], ...] = ()
    start: float = 0.0
    width: float = 0.0

    @property
    def is_nothing(self) -> bool:
        """Whether all of it is 0, or not known."""
        return not any(value for area in self.areas for value in area.values)


class Trends:
    """The values of a grid's trend columns: means of the last minutes, recalculated once a minute."""

    def __init__(self, measures: Mapping[str, str], minutes: int = 10) -> None:
        self._measures = measures
        self._minutes = minutes
        self._series: Series | None = None
        self._end = 0.0
        self._made: dict[object, tuple[float | None, ...]] = {}

    def at(self, moment: Moment) -> None:
        """Move to the instant on screen."""
        end = completed(moment.reading.at, 60.0)
        if end != self._end or moment.series is not self._series:
            self._series, self._end = moment.series, end
            self._made.clear()

    def __call__(self, row: GroupReading, column: str) -> Sequence[float | None]:
        """Return the means per minute, oldest first."""
        if self._series is None:
            return ()
        key = (self._measures[column], row.inst_id, row.con_id, row.name)
        if key not in self._made:
            self._made[key] = self._series.buckets(key, self._end - self._minutes * 60, 60.0, self._minutes)
        return self._made[key]


def chart_data(moment: Moment, measure: str, title: str, capacity: float | None) -> ChartData:
    """Return the chart of a measure by group over the window the user chose. The window ends now, with the poll of a
    recording, or around the instant on screen."""
    choices, reading = moment.choices, moment.reading
    # A window of N minutes has 60 stretches, so each lasts N seconds.
    width, count = float(choices.window), STRETCHES
    start = completed(moment.latest, width) - count * width
    cursor = None
    if choices.behind:
        at = reading.at.timestamp()
        if at < start:
            start = completed(datetime.fromtimestamp(at, UTC), width) - count // 2 * width
        cursor = int(min(count - 1, max(0, (at - start) // width)))
    keys = moment.series.names(measure, CLUSTER)
    found = {key: moment.series.buckets((measure, CLUSTER, *key), start, width, count) for key in keys}
    containers = {group.con_id: group.container for group in reading.groups if group.container}
    areas = _areas(without_gaps(found, max(1, round(BRIDGE / width))), containers, _styles(moment, measure))
    ticks = _ticks(start, width, count, now=not (choices.behind or choices.recorded))
    changes = plan_changes(moment, start, width, count)
    title = f"{title}, {choices.window} min"
    seen = () if capacity is None else moment.series.buckets(CPUS, start, width, count)
    there = tuple(accumulate(seen, _carried))
    return ChartData(title, areas, ticks, count, capacity, there, cursor, changes, start, width)


def _carried(before: float | None, now: float | None) -> float | None:
    """Return the value of a stretch: one without a value keeps the one before it."""
    return before if now is None else now


def without_gaps(
    found: Mapping[ColourKey, Sequence[float | None]], bridge: int
) -> dict[ColourKey, tuple[float | None, ...]]:
    """Fill gaps of up to `bridge` stretches without a poll, for polls that are further apart than stretches.

    A poll measures the time before it, so the gap gets the values of the next poll. Where anything was measured, a
    group without a value gets 0; where nothing was measured, None remains.
    """
    measured = [any(value is not None for value in values) for values in zip(*found.values(), strict=True)]
    source: list[int | None] = [None] * len(measured)
    last = None
    for index in (index for index, known in enumerate(measured) if known):
        first = index if last is None or index - last > bridge else last + 1
        source[first : index + 1] = [index] * (index + 1 - first)
        last = index
    return {key: tuple(None if at is None else values[at] or 0.0 for at in source) for key, values in found.items()}


def _styles(moment: Moment, measure: str) -> Styles:
    """Return the styles of a measure's areas: those of wait classes, containers or groups."""
    if measure == "active":
        return lambda key: CLASS_STYLES.get(key[1], "")
    colours = moment.colours
    if measure.startswith("pdb"):
        colours = GroupColours(moment.series.names("pdb_used", CLUSTER))
    return lambda key: colours.style(key[1], key[0])


def _areas(
    found: Mapping[ColourKey, tuple[float | None, ...]], containers: Mapping[int, str], style: Styles
) -> tuple[Area, ...]:
    """Return the largest groups by name (with the container if several share the name), and the sum of the others."""
    sums = {key: sum(value or 0.0 for value in values) for key, values in found.items()}
    ranked = sorted((key for key in sums if sums[key] > 0), key=lambda key: (-sums[key], key))
    most = [key for key in ranked if sums[key] >= _LITTLE * sum(sums.values())]
    if len(most) > MOST + (len(most) == len(ranked)):  # a single one keeps its own name
        most = most[:MOST]
    most = [key for key in most if style(key)]  # a group without a colour belongs to the others
    named = sorted(most, key=lambda key: (key[1], key[0]))
    names = [name for _, name in named]
    areas = []
    for con, name in named:
        title = name if names.count(name) == 1 else f"{name} ({containers.get(con, con)})"
        areas.append(Area(title, ((con, name),), found[con, name], style((con, name))))
    rest = [found[key] for key in ranked if key not in most]
    if rest:
        sums_of_rest = (None if each[0] is None else sum(filter(None, each)) for each in zip(*rest, strict=True))
        areas.append(Area(OTHERS, (), tuple(sums_of_rest)))
    if not areas:  # nothing was measured, or all was 0
        measured = sorted(item for item in found.items() if any(value is not None for value in item[1]))
        return tuple(Area(key[1], (key,), values, style(key) or OTHERS) for key, values in measured[:1])
    return tuple(areas)


def levels_of(areas: Sequence[Area], levels: Sequence[GroupLevel]) -> list[tuple[float | None, float | None]]:
    """Return (value, limit) of each area at an instant; the last area sums up the groups without an area."""
    named = {key for area in areas for key in area.keys}
    found = []
    for area in areas:
        of_area = [each for each in levels if ((each.con_id, each.name) in (area.keys or named)) == bool(area.keys)]
        values = [each.value for each in of_area if each.value is not None]
        limit = of_area[0].limit if area.keys and of_area else None
        found.append((sum(values) if values else None, limit))
    return found


def _ticks(start: float, width: float, count: int, *, now: bool) -> tuple[tuple[int, str], ...]:
    """Return the labels of the time axis at round fifths of the window by the clock, and "now" at the end if `now`."""
    step = count * width / 5
    first = -(-start // step) * step
    times = [first + index * step for index in range(5)]
    ticks = [(round((at - start) / width), _label(at)) for at in times]
    last = start + count * width
    end = (count, "now" if now else _label(last, "%H:%M:%S" if last % 60 else "%H:%M"))
    return (*(tick for tick in ticks if tick[0] < count), end)


def plan_changes(moment: Moment, start: float, width: float, count: int) -> tuple[tuple[int, str], ...]:
    """Return (stretch, plan) of each plan activation on a time axis of `count` stretches of `width` seconds."""
    snapshot = moment.snapshot
    if snapshot is None:
        return ()
    found = [(int((mark.at.timestamp() - start) // width), mark) for mark in plan_switches(snapshot)]
    return tuple((x, f"{_label(mark.at.timestamp())} {mark.text}") for x, mark in found if 0 <= x < count)


def _label(at: float, form: str = "%H:%M") -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime(form)


class ChartFeed:
    """Builds a chart's data once per completed stretch of time, not at each poll."""

    def __init__(self, part: OverTime) -> None:
        self._part = part
        self._key: tuple[object, ...] = ()
        self._data = ChartData(part.title, (), (), STRETCHES)

    def data(self, moment: Moment) -> ChartData:
        """Return the data, rebuilt only if something visible has changed, as the past does once it has been read."""
        choices, capacity = moment.choices, self._part.capacity(moment)
        back = moment.reading.at if choices.behind else None
        key = (completed(moment.latest, float(choices.window)), choices.window, back, capacity, moment.series)
        if key != self._key or not self._data.areas:
            self._key = key
            self._data = chart_data(moment, self._part.series, self._part.title, capacity)
        return self._data


def used_levels(moment: Moment) -> list[GroupLevel]:
    """Return the CPUs that each group uses, with its limit."""
    return [GroupLevel(row.con_id, row.name, row.used, row.limit) for row in moment.reading.cluster_groups()]


def waiting_levels(moment: Moment) -> list[GroupLevel]:
    """Return the CPUs that each group waits for."""
    return [GroupLevel(row.con_id, row.name, row.waiting) for row in moment.reading.cluster_groups()]


def io_levels(moment: Moment) -> list[GroupLevel]:
    """Return the megabytes per second that each group reads and writes."""
    return [GroupLevel(row.con_id, row.name, row.io.mb if row.io else None) for row in moment.reading.cluster_groups()]


def capacity(moment: Moment) -> float | None:
    """Return the CPUs available to all groups together."""
    return moment.reading.header.num_cpus
