"""The panel of latencies: events, the histogram of one event, and heat maps of it over time."""

from bisect import bisect_left
from collections.abc import Sequence

from msgspec.structs import replace
from textual.app import ComposeResult

from presman.analysis.latency import histograms
from presman.analysis.latency.histograms import EventLatency, HistogramSpan, Latency
from presman.analysis.latency.latency_history import LatencyColumn, LatencyHistory, Track
from presman.analysis.plans.plan_changes import PlanSwitch, plan_switches
from presman.base.formats import counted, duration
from presman.figures.drawing.lines import Line, length
from presman.figures.histogram_figures import brief, figures, lately, range_text, span_text
from presman.tabs.parts import Moment
from presman.tui.panels.panel import PageWanted, Panel, QueryWanted
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.heat import HeatData, Quantity, rates
from presman.tui.widgets.heatmap import HeatMap
from presman.tui.widgets.line_api import Container, Horizontal, LineView, Vertical

SIDE_BY_SIDE = 188
"""Width from which events, figures and buckets are side by side."""

ALL_AT_ONCE = 24
"""Height from which figures and maps are shown together, one above the other."""

BOTH_MAPS = 16
"""Height from which both maps can be read one above the other."""

SPANS = (HistogramSpan.WINDOW, HistogramSpan.STARTUP, HistogramSpan.NOW)
"""The spans that the buckets can cover; the first is the default."""


class LatencyPanel(Panel):
    """Events, the histogram of one event, and two heat maps of it over time."""

    _track: Track | None = None
    _moment: Moment | None = None
    _chosen = ""
    _is_gone = False
    _step = 0
    _bucket: int | None = None
    _wanted = ""

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        events, *others = self.tab.rows()
        self._events = self.grid(events)
        self._figures, self._buckets = (Grid(part.table, filterable=False, counted=False) for part in others)
        self._maps = tuple(HeatMap(each, id=f"heat-{each.name.lower()}") for each in Quantity)
        self._brief, self._readout = LineView(id="latency-brief"), LineView(id="heat-readout")
        self._changes: dict[PlanSwitch, None] = {}
        with Horizontal(id="latency-top"):
            yield self._events
            yield Vertical(self._figures, id="latency-figures")
            yield self._buckets
        yield self._brief
        with Container(id="latency-maps"):
            yield from self._maps
        yield self._readout

    # ---- filling

    def show(self, moment: Moment) -> None:
        """Fill the widgets."""
        self._moment = moment
        super().show(moment)
        self._keep_event()
        self._show_event()

    def on_grid_moved(self) -> None:
        """Show the event under the cursor."""
        if isinstance(row := self._events.row, EventLatency):
            self._chosen = row.event
        self._show_event()

    def _keep_event(self) -> None:
        """Keep the cursor on the chosen event, at first one whose waits have ended; notify the user if it is gone."""
        row, rows = self._events.row, self._events.rows.shown
        if not self._chosen and any(each.per_second is not None for each in rows):
            ended = (each for each in rows if each.per_second and each.counted)
            self._chosen = next(ended, rows[0]).event
        if not self._chosen or row is None:
            return
        found = next((each for each in rows if each.event == self._chosen), None)
        if found is not None and row.event != self._chosen:
            self._events.select(self._events.table.identity(found))
        was_gone, self._is_gone = self._is_gone, all(each.event != self._chosen for each in self._events.rows.all)
        if self._is_gone and not was_gone:
            self.app.notify(f"{self._chosen} is gone: no session waits for it. This is {row.event}.")

    def _show_event(self) -> None:
        moment, row = self._moment, self._events.row
        if moment is None or not isinstance(row, EventLatency):
            self._figures.show_rows(())
            self._buckets.show_rows(())
            self._brief.show_lines(())
            return
        # Only some events have their histogram read at each poll; that of another is read once it was requested.
        if not row.counted and row.event != self._wanted:
            self._wanted = row.event
            self.post_message(QueryWanted("watched_histogram", {"event": row.event}, lasting=True))
        if self._track is None or self._track.history is not moment.latencies:
            before = self._track or Track(moment.latencies)
            self._track = Track(moment.latencies, before.inst_id, before.event)
        # For another event the cursor moves to the bucket in which most time was waited.
        if self._track.follow(row.inst_id, row.event):
            self._bucket = None
        self._show_figures(moment, self._track, row)
        self._show_maps(moment, self._track)

    def _show_figures(self, moment: Moment, track: Track, row: EventLatency) -> None:
        minutes = moment.choices.window
        histogram = histograms.histogram_of(moment.reading, row.inst_id, row.event)
        latest = histograms.now(histogram) if histogram else None
        uptime = moment.reading.header.uptime_of(row.inst_id)
        startup = histograms.since_startup(histogram, uptime) if histogram else None
        window = track.window(moment.reading.at.timestamp(), minutes * 60) if histogram else None
        now, span = lately(latest), span_text(window.seconds if window else None)
        polled = f"window: {span} of {minutes} min"
        note = row.event if histogram else f"{row.event}  its histogram is read from the next poll on"
        self._figures.show_rows(figures(latest, window, startup, minutes), (), note)
        spans: dict[HistogramSpan, tuple[Latency | None, str]] = {
            HistogramSpan.NOW: (latest, f"now: last {now}" if latest else "now: no delta yet"),
            HistogramSpan.WINDOW: (window, polled),
            HistogramSpan.STARTUP: (startup, f"since startup: {duration(uptime)}"),
        }
        chosen, of = spans[self._steps()[self._step][1]]
        self._buckets.show_rows(chosen.buckets if chosen else (), (), f"{of}, * estimate")
        width = self._brief.size.width
        self._brief.show_lines([brief("now", latest, width), brief("window", window, width)])

    def _show_maps(self, moment: Moment, track: Track) -> None:
        history = moment.latencies
        columns: Sequence[LatencyColumn] = track.columns
        first, at = history.dropped + len(history) - len(columns), moment.reading.at.timestamp()
        if moment.choices.paused is not None:
            columns = [column for column in columns if column.at <= at]
        cursor = None
        if moment.choices.behind or moment.choices.paused is not None:
            cursor = first + max((i for i, column in enumerate(columns) if column.at <= at), default=0)
        column = columns[-1 if cursor is None else cursor - first] if columns else None
        waited = next((each for each in reversed(columns) if each.counts), None)
        if self._bucket is None and waited is not None:
            seconds = rates(waited, Quantity.INTENSITY, history.bounds)
            self._bucket = max(seconds, key=lambda bucket: seconds[bucket])
        shown = [each for each in self._maps if each.display]
        why_none = self._why_none(columns)
        data = HeatData(
            columns=columns,
            first=first,
            bounds=history.bounds,
            cpus=moment.reading.header.num_cpus or 0.0,
            cursor=cursor,
            event=track.event,
            inst_id=track.inst_id,
            marks=self._marks(moment, columns, first),
            height=min(each.size.height for each in shown),
            why_none=why_none,
        )
        below = replace(data, why_none=" ") if why_none else data  # the first map says why
        for number, each in enumerate(shown):
            each.show(below if number else data, self._bucket)
        self._readout.show_lines([] if why_none else [self._read(moment, history, column)])

    def _why_none(self, columns: Sequence[LatencyColumn]) -> str:
        """Return why the maps are empty, "" if they are not."""
        row = self._events.row
        if row is None or any(column.counts for column in columns):
            return ""
        covered = sum(column.seconds or 0.0 for column in columns)
        if not covered:
            return f"Each poll that reads the histogram of {row.event} adds a column; none has yet."
        ended = f"No wait for {row.event} has ended in the last {duration(covered)}"
        if row.sessions is None or row.estimated:
            return f"{ended}."
        sessions = round(row.sessions)
        return f"{ended}; {counted(sessions, 'session')} {'waits' if sessions == 1 else 'wait'} now."

    def _marks(self, moment: Moment, columns: Sequence[LatencyColumn], first: int) -> tuple[tuple[int, str], ...]:
        """Return (poll number, plan) of the first poll under each plan that was activated within the columns.

        Known plans are kept while the user looks back to snapshots before their activation.
        """
        snapshot = moment.snapshot
        if snapshot is None or not columns:
            return ()
        oldest = columns[0].at
        self._changes.update(dict.fromkeys(plan_switches(snapshot)))
        for mark in [mark for mark in self._changes if mark.at.timestamp() <= oldest]:
            del self._changes[mark]
        times = [column.at for column in columns]
        found = ((bisect_left(times, mark.at.timestamp()), mark.text) for mark in self._changes)
        return tuple((first + index, text) for index, text in found if index < len(times))

    def _read(self, moment: Moment, history: LatencyHistory, column: LatencyColumn | None) -> Line:
        """Return the line on the contents of the cell under the cursor."""
        if column is None or self._bucket is None:
            return ((" collecting: each poll adds a column", "dim"),)
        numbers = self._maps[1].row_numbers(self._bucket)
        # Bounds are powers of two: a bucket begins at half of its own bound. The last bucket (32) has none.
        low, high = history.bound(numbers[0]) // 2 if numbers[0] else 0, history.bound(numbers[-1])
        index = range_text(low, None if numbers[-1] == 32 else high)
        at = moment.reading.at.astimezone().strftime("%H:%M:%S")
        if column.seconds is None:
            return ((f" {at}  ", "title"), ("no delta in this poll: a gap", "warn"))
        waits, seconds = (
            sum(value for bucket, value in rates(column, quantity, history.bounds).items() if bucket in numbers)
            for quantity in Quantity
        )
        held = "CPUs: not known" if column.throttled is None else f"{column.throttled:.1f} CPUs"
        line: Line = (
            (f" {at}  ", "title"),
            (f"{index}: ", "dim"),
            (f"{waits:,.2f} waits/s", ""),
            (", ", "dim"),
            (f"~{seconds:.{1 if seconds >= 1 else 2}f} s waited/s", ""),
        )
        throttled: Line = (("  waited for ", "dim"), (held, "waiting"))
        return (*line, *throttled) if length((*line, *throttled)) <= self._readout.size.width else line

    # ---- keys

    def on_heat_map_read(self, event: HeatMap.Read) -> None:
        """Read another cell. The app moves all tabs to another poll."""
        if event.number is not None:
            self._bucket = event.number
        if self._moment is not None and self._track is not None:
            self._show_maps(self._moment, self._track)

    def _steps(self) -> list[tuple[frozenset[str], HistogramSpan]]:
        """Return the steps of the key `b`: the style classes of the visible parts, and the span of the buckets."""
        steps: list[tuple[frozenset[str], HistogramSpan]] = [(frozenset(), span) for span in SPANS]
        if self.has_class("-tight"):
            steps = [steps[0], *((frozenset({"-buckets"}), span) for span in SPANS)]
        if self.has_class("-low"):
            steps = [steps[0], *((classes | {"-figures"}, span) for classes, span in steps)]
        return steps

    def action_next_span(self) -> None:
        """Show the buckets of the next span or, if room is short, figures, buckets and maps in turn."""
        if self._has_only_events():
            return
        self._take((self._step + 1) % len(self._steps()))
        self.remove_class("-maps")
        self.call_after_refresh(self._show_event)

    def _take(self, step: int) -> None:
        self._step = step
        classes = self._steps()[step][0]
        for name in ("-buckets", "-figures"):
            self.set_class(name in classes, name)

    def on_resize(self) -> None:
        """Check whether the buckets fit beside the figures, and the figures above the maps."""
        before = self._steps()
        if self.screen.has_class("-flat"):
            self.remove_class("-maps")
        self.set_class(self.size.width < SIDE_BY_SIDE, "-tight")
        self.set_class(self.size.height < ALL_AT_ONCE, "-low")
        self.set_class(self.size.height < BOTH_MAPS, "-one-map")
        if self._steps() != before:
            self._take(0)
        self.call_after_refresh(self._show_event)

    def action_maps(self) -> None:
        """Give the maps the whole tab, or restore the layout."""
        if self._has_only_events():
            return
        if self.has_class("-figures"):
            self._take(0)
        self.toggle_class("-maps")
        self.call_after_refresh(self._show_event)

    def _has_only_events(self) -> bool:
        """Return whether there is room only for the events, and then notify the user."""
        if flat := self.screen.has_class("-flat"):
            self.app.notify("Only the events have room here: maps and buckets need 15 lines.")
        return flat

    def action_outliers(self) -> None:
        """Request the I/O outliers, and show them as soon as they arrive."""
        from presman.tui.pages.content import outliers_page  # only when a page is opened

        for query in ("io_outlier", "lgwrio_outlier"):
            self.post_message(QueryWanted(query))
        self.post_message(PageWanted(outliers_page(self.size.width)))
