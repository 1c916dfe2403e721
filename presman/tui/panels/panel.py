"""What a tab is: widgets mounted once, filled by one method, told nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any, ClassVar, NamedTuple

from presman.analysis.latency_history import LatencyHistory
from presman.analysis.reading import CLUSTER, GroupReading, Reading
from presman.columns import Table
from presman.commands import Command
from presman.snapshot import Snapshot
from presman.tui.alerts import Alert
from presman.tui.series import Series, completed, window_start
from presman.tui.state import View
from presman.tui.widgets.chart import ChartData
from presman.tui.widgets.containers import PlainBackground
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import LineApiWidget
from presman.tui.widgets.palette import SERIES
from presman.watch import Watch

CPU_LEGEND = "CPU of all there are: █ used ▒ waiting │ entitled ┊ limit"
"""What the bars of CPU are made of."""


APART = 4.0
"""Seconds by which the second of two charts is drawn later than the first: two refreshes."""

BRIDGE = 120.0
"""Seconds without a point that a chart's line goes on across: the history has one point a minute."""


Moment = tuple[Snapshot | None, Snapshot]


class Shown(NamedTuple):
    """All that a panel draws from."""

    reading: Reading
    view: View
    series: Series
    alerts: Sequence[Alert]
    newest: datetime
    latencies: LatencyHistory
    watch: Watch
    moment: Callable[[], Moment | None] = lambda: None
    """Gives the two snapshots the reading was made of; None where they are not kept."""


class Panel(PlainBackground):
    """One tab's content."""

    tables: ClassVar[tuple[Table[Any], ...]] = ()
    """The tables on it, in order, for help."""

    charts: ClassVar[bool] = False
    notes: ClassVar[tuple[str, ...]] = ()
    """What the help says besides the columns."""

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        raise NotImplementedError

    def forget(self) -> None:
        """Let go of the lines that were painted while the panel was on show: some 300 kB."""
        for widget in self.walk_children(LineApiWidget):
            widget.forget()

    def grids(self) -> list[Grid]:
        """Return the tables on show, in the order Tab goes through them."""
        return [grid for grid in self.query(Grid) if self._shows(grid)]

    def _shows(self, grid: Grid) -> bool:
        """Whether neither the table nor what it stands in is put away."""
        return all(node.display for node in takewhile(lambda node: node is not self, grid.ancestors_with_self))

    def toggle_maps(self) -> None:
        """Give the heat maps, where there are some, the whole tab, or take it back."""

    def next_span(self) -> None:
        """Show another span of time, where there are several."""

    def next_plan(self) -> None:
        """Show another plan, where there are several."""

    def toggle_gantt(self) -> None:
        """Show the Gantt chart in place of the tables, or the tables again, where there is one."""

    def command(self, _grid: Grid | None) -> tuple[Command, str] | None:
        """Return the command that `c` copies from here, and whom it hits; None where a row is copied."""
        return None

    def measure(self, _grid: Grid | None) -> str:
        """Return the measure that `e` exports from here."""
        return "cpu"


def group_rows(shown: Shown) -> tuple[GroupReading, ...]:
    """Return the groups to show: the cluster's, or those of each instance side by side."""
    reading = shown.reading
    if not shown.view.by_instance:
        return reading.cluster_groups()
    apart = [group for group in reading.groups if group.inst_id != CLUSTER]
    places = {(group.con_id, group.name): place for place, group in enumerate(reading.cluster_groups())}
    apart.sort(key=lambda group: (places.get((group.con_id, group.name), len(places)), group.inst_id))
    return tuple(apart) or reading.cluster_groups()


def hidden_columns(shown: Shown) -> set[str]:
    """Return the columns that would say the same in every row: instance on one, container in one."""
    hidden = set()
    if len(shown.reading.header.instances) < 2 or not shown.view.by_instance:
        hidden.add("inst")
    if len({group.con_id for group in shown.reading.groups}) < 2:
        hidden.add("con")
    return hidden


def one_instance(shown: Shown) -> set[str]:
    """Return the columns to hide in tables of statements and waits where there is one instance."""
    return {"inst", "by_instance"} if len(shown.reading.header.instances) < 2 else set()


class Trends:
    """What a grid's trend columns read: the means of the last minutes, made anew once a minute."""

    def __init__(self, measures: Mapping[str, str], minutes: int = 10) -> None:
        self._measures = measures
        self._minutes = minutes
        self._series: Series | None = None
        self._end = 0.0
        self._made: dict[object, tuple[float | None, ...]] = {}

    def at(self, shown: Shown) -> None:
        """Move to the instant on screen."""
        end = completed(shown.reading.at, 60.0)
        if end != self._end or shown.series is not self._series:
            self._series, self._end = shown.series, end
            self._made.clear()

    def __call__(self, row: GroupReading, column: str) -> Sequence[float | None]:
        """Return the means per minute, oldest first."""
        if self._series is None:
            return ()
        key = (self._measures[column], row.inst_id, row.con_id, row.name)
        if key not in self._made:
            start = self._end - self._minutes * 60
            self._made[key] = self._series.buckets(key, start, 60.0, self._minutes)
        return self._made[key]


def chart_data(shown: Shown, measure: str, title: str, limit: float | None) -> ChartData:
    """Return the chart of a measure by group: the groups with most of it, over the window the user chose."""
    view, reading = shown.view, shown.reading
    width, count = float(view.window), 60
    end = completed(shown.newest, width)
    start = window_start(end, view.window)
    cursor = None
    if view.behind:
        at = reading.at.timestamp()
        if at < start:
            end = completed(datetime.fromtimestamp(at + view.window * 30, UTC), width)
            start = window_start(end, view.window)
        cursor = int(min(count - 1, max(0, (at - start) // width)))
    found = {
        (con, name): shown.series.buckets((measure, CLUSTER, con, name), start, width, round((end - start) / width))
        for con, name in shown.series.names(measure, CLUSTER)
    }
    ranked = sorted(found, key=lambda key: (-sum(value or 0.0 for value in found[key]), key))[: len(SERIES)]
    chosen = [key for key in sorted(ranked, key=lambda key: key[1]) if any(found[key])] or ranked[:1]
    ticks = tuple((x, _label(start + x * width)) for x in range(0, count + 1, 12))
    series = tuple((name, found[con, name]) for con, name in chosen)
    bridge = max(1, round(BRIDGE / width))
    changes = plan_changes(shown, start, width, count)
    return ChartData(f"{title}, {view.window} min", series, ticks, count, limit, cursor, bridge, changes)


def plan_changes(shown: Shown, start: float, width: float, count: int) -> tuple[tuple[int, str], ...]:
    """Return where on a time axis of `count` stretches of `width` seconds a plan was activated, and which."""
    moment = shown.moment()
    if moment is None:
        return ()
    from presman.analysis.marks import marks

    found = [(int((mark.at.timestamp() - start) // width), mark) for mark in marks(moment[1])]
    return tuple((x, f"{_label(mark.at.timestamp())} {mark.text}") for x, mark in found if 0 <= x < count)


def _label(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M")


class ChartFeed:
    """Builds a chart's data once per completed stretch of time, not at each poll.

    Of two charts side by side the second may come `after` so many seconds, so that no poll has to draw both.
    """

    def __init__(self, measure: str, title: str, after: float = 0.0) -> None:
        self._measure = measure
        self._title = title
        self._after = timedelta(seconds=after)
        self._key: tuple[object, ...] = ()
        self._data = ChartData(title, (), (), 60)

    def data(self, shown: Shown, limit: float | None = None) -> ChartData:
        """Return the data, built anew only if something that shows has changed."""
        view = shown.view
        if self._data.series:
            shown = shown._replace(newest=shown.newest - self._after)
        start = completed(shown.newest, float(view.window))
        back = shown.reading.at if view.behind else None
        key = (start, view.window, back, limit, not self._data.series)
        if key != self._key:
            self._key = key
            self._data = chart_data(shown, self._measure, self._title, limit)
        return self._data
