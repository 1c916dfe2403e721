"""The frame of the fleet's screen: what is painted and when, what is set. Keys: :mod:`presman.tui.fleet.fleet_app`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from presman.analysis.fleet import by_trouble
from presman.analysis.readings.fleet_readings import Member
from presman.figures.drawing.lines import Line
from presman.tui import garbage
from presman.tui.fleet import fleet_lines
from presman.tui.fleet.fleet_screen import FleetScreen
from presman.tui.fleet.fleet_view import FleetView
from presman.tui.terminal_app import TerminalApp
from presman.tui.widgets.tab_line import Labelled

if TYPE_CHECKING:
    from presman.services.fleet.any_fleet import Fleet
    from presman.tui.widgets.grid import Grid

TICK = 1.0
"""Seconds between two pictures: figures come from many databases at any time, and ages count."""

FIRST_TICKS, SHORT_TICK = 20, 0.25
"""At first pictures come sooner, so many of them."""

_SETTLED, _TIDY = 10.0, 15.0
"""Seconds by when what stays has been made, and between two rounds of the garbage collector from then on."""


class FleetFrame(TerminalApp):
    """The screen of a fleet. `begin` starts the fleet, after the first frame."""

    CSS_PATH = ["../presman.tcss", "fleet.tcss"]  # noqa: RUF012 - Textual declares it so
    TITLE = "presman fleet"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (160, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (28, "-middle"), (42, "-tall")]  # noqa: RUF012

    def __init__(
        self,
        fleet: Fleet,
        view: FleetView,
        begin: Callable[[], None],
        *,
        notice: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.fleet = fleet
        self.view = view
        self.notice = notice
        self.chosen: Member | None = None
        self._begin_fleet = begin
        self._clock = clock
        self._members: list[Member] = []
        self.paused_at: float | None = None
        """Since when the table is frozen, None while it is not."""
        self.is_reading = False
        """Whether the help is open."""
        self._ticks = 0
        self._told = False
        self.take_theme(view.theme)

    # ---- making the screen

    def get_default_screen(self) -> FleetScreen:
        """Return the screen everything stands on."""
        return FleetScreen()

    @property
    def frame(self) -> FleetScreen:
        """The screen everything stands on, also while a dialog is above it."""
        frame = self.screen_stack[0]
        assert isinstance(frame, FleetScreen)
        return frame

    @property
    def grid(self) -> Grid:
        """The table."""
        return self.frame.grid

    def on_mount(self) -> None:
        """Show what there is, as it was left; begin to poll as soon as the first frame is on the screen."""
        self.animation_level = "none"
        if self.view.ascii_only is not None:
            self.keep_to_ascii(only=self.view.ascii_only)
        grid, view = self.grid, self.view
        if any(column.key == view.sort_key and column.sort for column in grid.table.columns):
            grid.rows.sort_key = view.sort_key
        grid.rows.descending, grid.rows.needle = view.descending, view.filter
        grid.drawing.choose(view.columns)
        grid.focus()
        self.repaint()
        if view.cursor is not None:
            grid.select(view.cursor)
            self.paint_about()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._begin_fleet()
        if self.view.row:
            self.grid.scroll_to(y=self.view.row, animate=False)
        if self.notice or self.view.trouble:
            self.tell(self.notice or self.view.trouble, severity="warning", seconds=12)
        self.set_timer(SHORT_TICK, self._tick)
        self.set_timer(_SETTLED, self._settle)

    def _settle(self) -> None:
        garbage.settle()
        self.set_interval(_TIDY, garbage.tidy)

    def on_resize(self) -> None:
        """Say plainly when the terminal is too small."""
        self.call_after_refresh(self.repaint)

    def on_unmount(self) -> None:
        """Keep the view."""
        self.note_view()

    # ---- painting

    def _tick(self) -> None:
        self._ticks += 1
        self.set_timer(SHORT_TICK if self._ticks < FIRST_TICKS else TICK, self._tick)
        if not self.is_leaving:
            self.repaint()

    def repaint(self) -> None:
        """Draw everything from the fleet as it is now; the table stays as it is while it is paused."""
        try:
            if self.paused_at is None:
                self._members = by_trouble(self.fleet.members())
            frame = self.frame
            frame.paint_keys(self.keys_here())
            if frame.paint_message():
                return
            self._paint_top()
            if not self.is_reading:
                frame.show(self._members, self.fleet.trouble)
                self.paint_about()
        except Exception as error:
            self.complain(error)

    def _paint_top(self) -> None:
        from presman.tui.widgets.top_lines import alert_line

        width, trouble = self.size.width, self.fleet.trouble
        paused = None if self.paused_at is None else self._clock() - self.paused_at
        state = fleet_lines.state(self._members, trouble, paused=paused)
        first = fleet_lines.first_line(self.fleet.name, self._members, self.fleet.interval, state, width)
        self.frame.top.show_lines(
            [first, alert_line(fleet_lines.alerts(self._members, trouble), width, listed=True)]
        )  # fmt: skip

    def paint_about(self) -> None:
        """Draw what is said of the database under the cursor."""
        row = self.grid.row
        to_do = "" if row is None else self.fleet.to_do(row.name)
        self.frame.about.show(fleet_lines.about(row, to_do), fleet_lines.about_in_short(row, to_do))

    def keys_here(self) -> list[Labelled]:
        """Return the keys that do something here, the most needed first."""
        return []

    # ---- what keys do

    def pause(self) -> None:
        """Freeze the table, or let it go on."""
        self.paused_at = self._clock() if self.paused_at is None else None
        self.repaint()

    def filter(self, needle: str, *, done: bool) -> None:
        """Show only rows that match; once that is `done`, go back to the table."""
        self.view.filter = needle
        self.grid.set_filter(needle)
        if done:
            for line in self.query("FilterLine"):
                line.display = False
            self.grid.focus()
        self.repaint()

    def read(self, lines: list[Line] | None) -> None:
        """Show a page in place of the table, or (None) the table again."""
        self.is_reading = lines is not None
        self.frame.read(lines)
        self.repaint()

    def note_view(self) -> None:
        """Take note of how the table is set, and keep it; a file that cannot be written is told once."""
        if not self.screen_stack:
            return
        rows, view = self.grid.rows, self.view
        view.sort_key, view.descending = rows.sort_key, rows.descending
        view.columns = self.grid.drawing.chosen
        try:
            view.save()
        except OSError as error:
            if not self._told:
                where = error.filename or "its file"
                self.tell(f"Settings are not kept: {where}: {error.strerror}", severity="warning")
            self._told = True

    # ---- what widgets ask for

    def on_grid_moved(self) -> None:
        """Say all about the database that the cursor is on now."""
        self.paint_about()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """End, to open a database."""
        if event.row is None:
            self.tell("There is no row here.")
            return
        self.view.cursor, self.view.row = event.row.name, self.grid.scroll_offset.y
        self.chosen, self.hands_on = event.row, True
        self.exit()
