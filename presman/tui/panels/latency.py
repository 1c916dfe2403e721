"""Tab of latencies: is it slow storage, or is it the plan?"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.message import Message

from presman.analysis import latency
from presman.analysis.latency import EventLatency, Latency, LatencyBucket, Span
from presman.analysis.latency_history import Column, LatencyHistory, Track
from presman.formats import duration, number
from presman.tables.histogram import BUCKETS, EVENTS, FIGURES, figures, range_text
from presman.tui.messages import Wanted
from presman.tui.panels.panel import Panel, Shown, one_instance
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.heat import Quantity, rates
from presman.tui.widgets.heatmap import HeatData, HeatMap
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import Line, pad

SIDE_BY_SIDE = 188
"""From this width on events, figures and buckets stand side by side."""

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
        "all the CPUs there are. Long waits without throttling are slow storage; with it they may be the plan.",
        "m gives the maps the whole tab. In a map ↑ and ↓ read another bucket, ← and → another poll. b changes the "
        "span of the buckets. o asks for I/O outliers.",
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
        self._span = SPANS[0]
        self._bucket: int | None = None
        self._wanted = ""
        with Horizontal(id="latency-top"):
            yield self._events
            with Vertical(id="latency-figures"):
                yield self._figures
            yield self._buckets
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
        chosen = spans[self._span]
        self._buckets.show_rows(chosen.buckets if chosen else (), (), f"{labels[self._span]}  * estimate")

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
            columns, first, history.bounds, shown.reading.header.num_cpus, cursor, track.event, track.inst_id
        )
        for each in self._maps:
            each.show(data, self._bucket)
        self._readout.show_lines([self._read(shown, history, column)])

    def _read(self, shown: Shown, history: LatencyHistory, column: Column | None) -> Line:
        """Return what the cell under the cursor holds."""
        if column is None or self._bucket is None:
            return ((" collecting: a column comes with each poll", "dim"),)
        numbers = self._maps[0].row_numbers(self._bucket)
        low, high = history.bound(numbers[0]) // 2 if numbers[0] else 0, history.bound(numbers[-1])
        place = range_text(low, None if numbers[-1] == 32 else high)
        at = shown.reading.at.astimezone().strftime("%H:%M:%S")
        if column.seconds is None:
            return ((f" {at}  ", "title"), ("no delta in this poll: a gap", "warn"))
        waits, seconds = (
            sum(value for bucket, value in rates(column, quantity, history.bounds).items() if bucket in numbers)
            for quantity in Quantity
        )
        held = (
            "not known" if column.throttled is None else f"{column.throttled:.1f} of {shown.reading.header.num_cpus:g}"
        )
        return (
            (f" {at}  ", "title"), (f"waits of {place}: ", "dim"), (f"{waits:,.2f}/s", ""), (", ", "dim"),
            (f"~{seconds:.4f} s waited/s", ""), ("   CPUs held back: ", "dim"), (held, "waiting"),
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

    def next_span(self) -> None:
        """Show the buckets of the next span; where there is no room beside the figures, in their place by turns."""
        tight = self.has_class("-tight")
        if tight and not self.has_class("-buckets"):
            self.add_class("-buckets")
        else:
            self._span = SPANS[(SPANS.index(self._span) + 1) % len(SPANS)]
            if self._span is SPANS[0]:
                self.remove_class("-buckets")
        self.call_after_refresh(self._show_event)

    def on_resize(self) -> None:
        """See whether there is room for the buckets beside the figures."""
        self.set_class(self.size.width < SIDE_BY_SIDE, "-tight")

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
