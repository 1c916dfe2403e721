"""What the monitor's keys do, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual.app import SystemCommand
from textual.screen import Screen

from presman.text import clean
from presman.tui import keeping
from presman.tui.actions import ACTIONS, TITLES
from presman.tui.feed import Acted, Feed, Post, SamplerFeed
from presman.tui.frame import FrameApp
from presman.tui.messages import Wanted
from presman.tui.reader import Content, details_of, help_of
from presman.tui.state import WINDOWS, next_step
from presman.tui.widgets.tab_line import Clicked

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel
    from textual.widgets import Input

    from presman.focus import Focus
    from presman.queries import Scope
    from presman.sampler import CarryOut
    from presman.sources import Source
    from presman.tui.door import Door
    from presman.tui.widgets.grid import Grid

THEMES = ("textual-dark", "textual-light", "nord", "gruvbox", "solarized-light", "ansi-dark", "ansi-light")
"""What the theme key goes through."""


class MonitorApp(FrameApp):
    """The monitor."""

    _focus: Focus | None = None

    async def run_action(self, *arguments: Any, **named: Any) -> bool:
        """Do what a key or a click asks for; a fault in that is told, and the screen lives on."""
        try:
            return await super().run_action(*arguments, **named)
        except Exception as error:
            self.complain(error)
            return True

    # ---- tabs, tables, pages

    @property
    def grid(self) -> Grid | None:
        """The table that has the focus, else the first one of the tab; None while a page is read."""
        from presman.tui.widgets.grid import Grid

        if self.reader.is_open:
            return None
        if isinstance(self.focused, Grid):
            return self.focused
        return next(iter(self.panel.grids()), None)

    def on_clicked(self, event: Clicked) -> None:
        """Do what was clicked on the line of tabs or of keys."""
        self.call_later(self.run_action, event.action)

    def on_descendant_focus(self) -> None:
        """Offer the keys that do something there."""
        if self.reading is not None:
            self.paint_lines()

    async def action_tab(self, tab: str) -> None:
        """Show a tab."""
        if tab in self.hidden_tabs():
            self.notify("This is no container database: there are no PDBs to show.", markup=False, timeout=4)
            return
        self.reader.close()
        with self.batch_update():  # or it would be laid out before it has anything to show
            if tab not in self.panels:
                await self.query_one("#body").mount(self.make_panel(tab))
            for name, panel in self.panels.items():
                panel.display = name == tab
        self.view = replace(self.view, tab=tab)
        self.look_at(None)
        self._filter_tables()
        self.focus_first()
        self.repaint()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """Show the details of a row."""
        from presman.tui.closeup import focus_of

        self._open(details_of(event.row, event.grid.table, self.timeline.watch, self.size.width - 6))
        self.look_at(focus_of(event.row))

    def look_at(self, focus: Focus | None) -> None:
        """Have one session read closely; without one only progress, and that only where the tab shows it.

        That makes a poll at once, which would hold up the screen: so what there is already is painted first.
        """
        from presman.focus import Focus

        self._focus = focus or (Focus() if self.view.tab == "parallel" else None)
        self.call_after_refresh(lambda: self.feed.focus(self._focus))

    def action_details(self) -> None:
        """Show the details of the row under the cursor."""
        if self.grid is not None:
            self.grid.action_open()

    def action_help(self) -> None:
        """Show the keys and the columns of this tab."""
        from presman.tui.widgets.grid import Grid

        bindings = [binding for binding in Grid.BINDINGS if not isinstance(binding, tuple) and binding.action != "open"]
        keys = [(binding.key_display or binding.key, binding.description) for binding in bindings]
        offered = [action for action in ACTIONS if action.needs not in {"rac", "chart"} or self.offers(action.name)]
        self._open(help_of(self.panel, TITLES[self.view.tab], offered, keys))

    def _open(self, content: Content) -> None:
        from presman.tui.widgets.page import Page

        self.reader.open(self.query_one("#page", Page), self.panel, content)
        self.repaint()

    def action_escape(self) -> None:
        """Close the page, else end the filter."""
        if self.reader.is_open:
            self.reader.close()
            self.look_at(None)
            self.focus_first()
            self.repaint()
        else:
            self._end_filter("")

    async def action_leave(self) -> None:
        """Close the page; at the top, quit."""
        if self.reader.is_open:
            self.action_escape()
        else:
            await self.action_quit()

    # ---- acting, where it was allowed

    def action_act(self) -> None:
        """Ask what to do with the row under the cursor, and have it done if that is confirmed."""
        if self.door is None or not self.offers("act"):
            return
        grid, reading = self.grid, self.reading
        if grid is None or reading is None or not self.door.offers(grid.row, reading):
            self.notify("Nothing can be done with this row.", markup=False, timeout=4)
            return
        self.door.ask(self, grid.row, reading, self.feed.act)

    def on_acted(self, event: Acted) -> None:
        """Tell what became of a command."""
        severity: SeverityLevel = "information" if event.done else "error"
        text = f"{event.command.kind.value}: {event.text}\n{event.command.text}"
        self.notify(clean(text)[:500], markup=False, severity=severity, timeout=12)

    # ---- time

    def action_pause(self) -> None:
        """Freeze the view where it is, or go on."""
        if self.view.paused is not None or self.view.behind:
            self.action_live()
        elif self.reading is not None:
            self.view = replace(self.view, paused=self.clock())
            self.repaint()

    def action_step(self, polls: int) -> None:
        """Step through the polls; past the newest it is live again."""
        behind = max(0, min(len(self.timeline) - 1, self.view.behind - polls))
        if behind == self.view.behind:
            return
        if behind == 0:
            self.action_live()
            return
        try:
            self.reading = self.timeline.reading(behind) or self.reading
        except Exception as error:
            self.complain(error)
            return
        self.view = replace(self.view, behind=behind, paused=None)
        self.repaint()

    def action_live(self) -> None:
        """Show the newest poll and go on with each."""
        self.view = replace(self.view, behind=0, paused=None)
        self.reading = self.latest
        self.repaint()

    def action_refresh(self, direction: int) -> None:
        """Poll less (1) or more (-1) often."""
        self.view = replace(self.view, refresh=next_step(self.view.refresh, direction))
        self.feed.set_refresh(self.view.refresh)
        self.repaint()

    def action_poll_now(self) -> None:
        """Poll, or try to connect, at once."""
        self.feed.poll_now()

    # ---- what is shown

    def action_instances(self) -> None:
        """Switch between one row per instance and the cluster."""
        self.view = replace(self.view, by_instance=not self.view.by_instance)
        self.repaint()

    def action_plan(self) -> None:
        """Show the next plan there is."""
        if self.offers("plan"):
            self.panel.next_plan()

    def action_gantt(self) -> None:
        """Show the statements over time, or the tables again."""
        if self.offers("gantt"):
            self.panel.toggle_gantt()
            self.focus_first()
            self.call_after_refresh(self.repaint)

    def action_window(self) -> None:
        """Let the charts show more or less time."""
        following = WINDOWS[(WINDOWS.index(self.view.window) + 1) % len(WINDOWS)]
        self.view = replace(self.view, window=following)
        self.repaint()

    def on_wanted(self, event: Wanted) -> None:
        """Have the histogram of an event read that is not among the usual ones."""
        self.feed.wish("watched_histogram", {"event": event.event}, lasting=True)

    def action_maps(self) -> None:
        """Give the heat maps the whole tab, or take it back."""
        if self.offers("maps"):
            self.panel.toggle_maps()

    def action_span(self) -> None:
        """Show the buckets of another span."""
        if self.offers("span"):
            self.panel.next_span()

    def action_outliers(self) -> None:
        """Ask for the outliers of I/O, and show them as soon as they are there."""
        if self.offers("outliers"):
            from presman.tui.outliers import outliers_page

            for name in ("io_outlier", "lgwrio_outlier"):
                self.feed.wish(name, {}, lasting=False)
            self._open(outliers_page(self.size.width))

    def action_sort(self) -> None:
        """Sort the table by its next column."""
        grid = self.grid
        if grid is not None:
            keys = grid.sortable()
            place = keys.index(grid.sort_key) + 1 if grid.sort_key in keys else 0
            grid.sort_by(keys[place % len(keys)], grid.descending)

    def action_reverse(self) -> None:
        """Sort the table the other way round."""
        grid = self.grid
        if grid is not None:
            grid.sort_by(grid.sort_key, not grid.descending)

    def action_theme(self) -> None:
        """Take the next theme."""
        place = THEMES.index(self.theme) + 1 if self.theme in THEMES else 0
        self.theme = THEMES[place % len(THEMES)]
        self.notify(f"theme {self.theme}", markup=False, timeout=2)

    # ---- filter

    async def action_filter(self) -> None:
        """Ask for a filter; it works while it is typed."""
        if self.reader.is_open:
            return
        from presman.tui.widgets.filter_line import FilterLine

        line = self.query_one_optional(FilterLine)
        if line is None:
            line = FilterLine()
            await self.mount(line, before="#keys")
        line.begin(self.view.filter)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter by what is typed so far."""
        self._set_filter(clean(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter and go back to the table."""
        self._end_filter(clean(event.value))

    def _end_filter(self, needle: str) -> None:
        self._set_filter(needle)
        for line in self.query("FilterLine"):
            line.display = False
        self.focus_first()

    def _set_filter(self, needle: str) -> None:
        if needle != self.view.filter:
            self.view = replace(self.view, filters={**self.view.filters, self.view.tab: needle})
            self._filter_tables()
            self.paint_lines()

    def _filter_tables(self) -> None:
        for grid in self.panel.grids():
            grid.set_filter(self.view.filter)

    # ---- taking something along

    def action_copy(self) -> None:
        """Copy the page, or the row under the cursor, to the clipboard and to a file."""
        command = None if self.reader.is_open else self.panel.command(self.grid)
        text = command[0].text if command else self._copyable()
        if not text:
            return
        self.copy_to_clipboard(text)
        try:
            where = f"; also in {keeping.keep('copied.txt', text + chr(10))}"
        except OSError as error:
            where = f"; not kept in a file: {error.strerror}"
        if command is not None:
            text = f"Copied, not run: {text}\nIt would hit {command[1]}. {command[0].note}"
            self.notify(clean(text)[:500], markup=False, timeout=8)
            return
        self.notify(f"Copied {len(text)} characters{where}", markup=False, timeout=4)

    def _copyable(self) -> str:
        if self.reader.is_open:
            return self.reader.text
        grid = self.grid
        if grid is None or grid.row is None:
            return ""
        return "\n".join(f"{column.head}: {column.show(grid.row)}" for column in grid.table.columns if not column.trend)

    def action_export(self) -> None:
        """Begin to append this view's measure to a CSV file, or end that."""
        if self.export is not None:
            self.export.close()
            self.notify(f"CSV export ended: {self.export.path}", markup=False, timeout=8)
            self.export = None
        elif self.latest is not None:
            self._begin_export()
        self.paint_lines()

    def _begin_export(self) -> None:
        from presman.tui.export import Export, ExportError

        assert self.latest is not None
        measure = self.panel.measure(self.grid)
        try:
            self.export = Export(self.folder or Path.cwd(), self.database, measure, datetime.now(UTC))
        except (ExportError, OSError) as error:
            self.notify(f"CSV export: {error}"[:500], severity="error", markup=False, timeout=10)
            return
        self.write_export(self.latest)
        if self.export is not None:
            text = f"Appending {measure} to {self.export.path} at each poll; e ends it"
            self.notify(text, markup=False, timeout=8)

    # ---- palette, faults

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002 - Textual passes it
        """Offer every action by name, and every theme."""
        for action in ACTIONS:
            if action.name != "command_palette" and self.offers(action.name):
                yield SystemCommand(f"{action.label} ({action.shown})", action.help, partial(self._run, action.name))
        yield SystemCommand("themes", "Choose one of all themes.", self.action_change_theme)

    def _run(self, name: str) -> None:
        self.call_later(self.run_action, name)

    def action_next_table(self) -> None:
        """Go to the next table of the tab."""
        self.screen.focus_next("Grid")

    def _handle_exception(self, error: Exception) -> None:
        """End with one line and a log without the values of variables, which may hold what nobody should read."""
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._return_code = 1
        path = keeping.keep_crash(error)
        where = f" Where it came from: {path}" if path else ""
        self.panic(Text(f"presman: a fault in presman: {clean(f'{type(error).__name__}: {error}')[:300]}.{where}"))


def sampler_feed(
    make_source: Callable[[], Source], scope: Scope, carry_out: CarryOut | None = None, packs: tuple[str, ...] = ()
) -> Callable[[Post, float], Feed]:
    """Return what makes the feed of a source; `carry_out` only where actions are allowed."""
    return lambda post, refresh: SamplerFeed(make_source, scope, post, refresh, carry_out, packs)


def run_monitor(
    make_source: Callable[[], Source],
    *,
    name: str,
    refresh: float,
    scope: Scope,
    theme: str | None = None,
    packs: tuple[str, ...] = (),
    door: Door | None = None,
) -> int:
    """Show the monitor until the user quits, and return the exit code.

    `make_source` is called in the sampler's thread, after the first frame; `name` is the target without secrets.
    `packs` are the licensed packs the user has; `door` leads to actions and is given only where they were allowed.
    """
    make_feed = sampler_feed(make_source, scope, door.carry_out if door is not None else None, packs)
    app = MonitorApp(make_feed, name=clean(name), refresh=refresh, theme=theme, packs=packs, door=door)
    app.run()
    return app.return_code or 0
