"""Tab of latencies: is it slow storage, or is it the plan?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.message import Message

from presman.analysis import latency
from presman.analysis.latency import EventLatency, Latency, LatencyBucket, Span
from presman.analysis.latency_history import Column, LatencyHistory, Track
from presman.analysis.marks import Mark, marks
from presman.formats import duration, number
from presman.tables.histogram import BUCKETS, EVENTS, FIGURES, brief, figures, range_text
from presman.tui.messages import Wanted
from presman.tui.panels.panel import Panel, Shown, one_instance
from presman.tui.widgets.containers import Container, Horizontal, Vertical
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.heat import HeatData, Quantity, rates
from presman.tui.widgets.heatmap import HeatMap
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import Line, pad

SIDE_BY_SIDE = 188
"""From this width on events, figures and buckets stand side by side."""

ALL_AT_ONCE = 24
"""From this height on figures and maps stand one above the other."""

SPANS = (Span.WINDOW, Span.STARTUP, Span.NOW)
"""What the buckets can be of; the first is usual."""


class Chooser(Grid):
    """The events; the one under the cursor is shown, at first that of most time waited."""

    chosen = False

    class Chosen(Message):
        """The cursor may have come to another event."""

    def _go(self, y: int) -> None:
        super()._go(y)
        self.chosen = True
        self.post_message(self.Chosen())

    def set_filter(self, needle: str) -> None:
        """Show only the rows that match; the cursor may come to another event."""
        super().set_filter(needle)
        self.post_message(self.Chosen())


class Facts(Grid):
    """A table whose rows nobody counts."""

    def _title(self, width: int) -> Line:
        return pad(((f"{self.table.title}  ", "title"), (self._note, "dim")), width)


class Latencies(Panel):
    """Events, what the histogram of one says, and two heat maps of it over time."""

    tables = (EVENTS, FIGURES, BUCKETS)
    charts = True
    notes: ClassVar[tuple[str, ...]] = (
        "The heat maps have a column per poll and a row per bucket, the longest waits on top; the shades span four "
        "powers of ten. Frequency is waits per second, intensity seconds waited per second, estimated at 0.75 of the "
        "bucket's bound. Below them, on the same time axis, the CPUs that Resource Manager held back: full height is "
        "all the CPUs there are. Long waits without throttling are slow storage; with it they may be the plan. ┆ marks "
        "where a plan was activated, by which window.",
        "m gives the maps the whole tab. In a map ↑ and ↓ read another bucket, ← and → another poll. b changes the "
        "span of the buckets; on a small screen it goes through the figures and the buckets in place of the maps. "
        "o asks for I/O outliers.",
    )

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._events = Chooser(EVENTS)
        self._figures = Facts(FIGURES, filterable=False)
        self._buckets = Facts(BUCKETS, filterable=False)
        self._maps = (
            HeatMap(Quantity.FREQUENCY, id="heat-frequency"),
            HeatMap(Quantity.INTENSITY, id="heat-intensity"),
        )
        self._readout = LineView(id="heat-readout")
        self._track: Track | None = None
        self._shown: Shown | None = None
        self._step = 0
        self._bucket: int | None = None
        self._changes: dict[Mark, None] = {}
        self._wanted = ""
        with Horizontal(id="latency-top"):
            yield self._events
            with Vertical(id="latency-figures"):
                yield self._figures
            yield self._buckets
        self._brief = LineView(id="latency-brief")
        yield self._brief
        with Container(id="latency-maps"):
            yield from self._maps
        yield self._readout

    # ---- filling

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        self._shown = shown
        by_instance = shown.view.by_instance
        rows = latency.events(shown.reading, by_instance=by_instance)
        hidden = one_instance(shown) if not by_instance else set()
        self._events.show_rows(rows, hidden | (set() if by_instance else {"by_instance"}))
        if rows and not self._events.chosen:
            self._events.select(EVENTS.identity(self._events.rows[0]) if self._events.rows else None)
        self._show_event()

    def on_chooser_chosen(self) -> None:
        """Show the event that the cursor has come to."""
        self._show_event()

    def _show_event(self) -> None:
        shown, row = self._shown, self._events.row
        if shown is None or not isinstance(row, EventLatency):
            self._figures.show_rows(())
            self._buckets.show_rows(())
            self._brief.show_lines(())
            return
        if not row.counted and row.event != self._wanted:
            self._wanted = row.event
            self.post_message(Wanted(row.event))
        if self._track is None or self._track.history is not shown.latencies:
            self._track = Track(shown.latencies)
        if self._track.follow(row.inst_id, row.event):
            self._bucket = None
        self._show_figures(shown, self._track, row)
        self._show_maps(shown, self._track)

    def _show_figures(self, shown: Shown, track: Track, row: EventLatency) -> None:
        minutes = shown.view.window
        histogram = latency.histogram_of(shown.reading, row.inst_id, row.event)
        lately = latency.now(histogram) if histogram else None
        startup = latency.since_startup(histogram, shown.reading.header.uptime) if histogram else None
        window = track.window(shown.reading.at.timestamp(), minutes * 60) if histogram else None
        labels = {
            Span.NOW: f"now: last {number(lately.seconds)} s" if lately and lately.seconds else "now: no delta yet",
            Span.WINDOW: f"window: last {minutes} min ({duration(window.seconds) if window else '-'} polled)",
            Span.STARTUP: f"since startup: {duration(shown.reading.header.uptime)}",
        }
        note = f"{row.event}  {labels[Span.NOW]}, {labels[Span.WINDOW]}"
        if histogram is None:
            note = f"{row.event}  its histogram is read from the next poll on"
        self._figures.show_rows(figures(lately, window, startup), (), note)
        spans: dict[Span, Latency | None] = {Span.NOW: lately, Span.WINDOW: window, Span.STARTUP: startup}
        span = self._steps()[self._step][1]
        chosen = spans[span]
        self._buckets.show_rows(chosen.buckets if chosen else (), (), f"{labels[span]}  * estimate")
        self._brief.show_lines([brief("now", lately), brief(f"{minutes} min", window)])

    def _show_maps(self, shown: Shown, track: Track) -> None:
        history = shown.latencies
        columns = track.columns
        first = history.dropped + len(history) - len(columns)
        cursor = None
        if shown.view.behind or shown.view.paused is not None:
            at = shown.reading.at.timestamp()
            cursor = first + max((i for i, column in enumerate(columns) if column.at <= at), default=0)
        column = columns[-1 if cursor is None else cursor - first] if columns else None
        waited = next((each for each in reversed(columns) if each.counts), None)
        if self._bucket is None and waited is not None:
            seconds = rates(waited, Quantity.INTENSITY, history.bounds)
            self._bucket = max(seconds, key=lambda bucket: seconds[bucket])
        data = HeatData(
            columns,
            first,
            history.bounds,
            shown.reading.header.num_cpus,
            cursor,
            track.event,
            track.inst_id,
            self._marks(shown, columns, first),
            min(each.size.height for each in self._maps if each.display),
        )
        for each in self._maps:
            each.show(data, self._bucket)
        self._readout.show_lines([self._read(shown, history, column)])

    def _marks(self, shown: Shown, columns: Sequence[Column], first: int) -> tuple[tuple[int, str], ...]:
        """Return the first poll under each plan that was activated while the columns were made, and the plan.

        What is known stays known while one looks back, to snapshots in which it had not happened yet.
        """
        moment = shown.moment()
        if moment is None or not columns:
            return ()
        oldest = columns[0].at
        self._changes.update(dict.fromkeys(marks(moment[1])))
        for mark in [mark for mark in self._changes if mark.at.timestamp() <= oldest]:
            del self._changes[mark]
        found = []
        for mark in self._changes:
            at = mark.at.timestamp()
            place = next((place for place, column in enumerate(columns) if column.at >= at), None)
            if place is not None:
                found.append((first + place, mark.text))
        return tuple(found)

    def _read(self, shown: Shown, history: LatencyHistory, column: Column | None) -> Line:
        """Return what the cell under the cursor holds."""
        if column is None or self._bucket is None:
            return ((" collecting: a column comes with each poll", "dim"),)
        numbers = self._maps[1].row_numbers(self._bucket)
        low, high = history.bound(numbers[0]) // 2 if numbers[0] else 0, history.bound(numbers[-1])
        place = range_text(low, None if numbers[-1] == 32 else high)
        at = shown.reading.at.astimezone().strftime("%H:%M:%S")
        if column.seconds is None:
            return ((f" {at}  ", "title"), ("no delta in this poll: a gap", "warn"))
        waits, seconds = (
            sum(value for bucket, value in rates(column, quantity, history.bounds).items() if bucket in numbers)
            for quantity in Quantity
        )
        cpus = shown.reading.header.num_cpus
        held = "not known" if column.throttled is None else f"{column.throttled:.1f} of {cpus:g} CPUs"
        return (
            (f" {at}  ", "title"), (f"{place}: ", "dim"), (f"{waits:,.2f} waits/s", ""), (", ", "dim"),
            (f"~{seconds:.4f} s/s", ""), ("  held back ", "dim"), (held, "waiting"),
        )  # fmt: skip

    # ---- keys

    def on_heat_map_read(self, event: HeatMap.Read) -> None:
        """Read another cell; another poll is looked at in all tabs."""
        if event.number is not None:
            self._bucket = event.number
        if event.steps:
            self.app.call_later(self.app.run_action, f"step({event.steps})")
        if self._shown is not None and self._track is not None:
            self._show_maps(self._shown, self._track)

    def _steps(self) -> list[tuple[frozenset[str], Span]]:
        """Return what `b` goes through: classes of the tab that say what is on show, and the span of the buckets."""
        steps: list[tuple[frozenset[str], Span]] = [(frozenset(), span) for span in SPANS]
        if self.has_class("-tight"):
            steps = [steps[0], *((frozenset({"-buckets"}), span) for span in SPANS)]
        if self.has_class("-low"):
            steps = [steps[0], *((classes | {"-figures"}, span) for classes, span in steps)]
        return steps

    def next_span(self) -> None:
        """Show the buckets of the next span; where there is no room, figures and buckets by turns, and the maps."""
        self._take((self._step + 1) % len(self._steps()))
        self.remove_class("-maps")
        self.call_after_refresh(self._show_event)

    def _take(self, step: int) -> None:
        self._step = step
        classes = self._steps()[step][0]
        for name in ("-buckets", "-figures"):
            self.set_class(name in classes, name)

    def on_resize(self) -> None:
        """See whether there is room for the buckets beside the figures, and for the figures above the maps."""
        before = self._steps()
        self.set_class(self.size.width < SIDE_BY_SIDE, "-tight")
        self.set_class(self.size.height < ALL_AT_ONCE, "-low")
        if self._steps() != before:
            self._take(0)
        self.call_after_refresh(self._show_event)

    def toggle_maps(self) -> None:
        """Give the maps the whole tab, or take it back."""
        self.toggle_class("-maps")
        self.call_after_refresh(self._show_event)

    @property
    def bucket(self) -> LatencyBucket | None:
        """The bucket under the cursor of the table of buckets."""
        return self._buckets.row

    def measure(self, _grid: Grid | None) -> str:
        """Return the measure that `e` exports from here."""
        return "latency"
