"""The frame of the fleet's screen: what is painted and when, what is set. Keys: :mod:`presman.tui.fleet_app`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from presman.analysis.fleet import by_trouble
from presman.analysis.readings.fleet_readings import Member
from presman.figures.drawing.lines import Line
from presman.tui import textual_internals
from presman.tui.fleet_screen import FleetScreen, about_in_short, about_lines, first_line, fleet_alerts, fleet_state
from presman.tui.keyed_app import KeyedApp
from presman.tui.saved_view import SavedView, ViewSaver, put_back_table, set_in_tables

if TYPE_CHECKING:
    from presman.services.fleet.live_fleet import Fleet
    from presman.tui.widgets.grid import Grid


@dataclass
class FleetView:
    """Filter and cursor. `cursor` is the name of a database, None for the worst, `row` that at the top of the screen.

    `theme` is the one of the command line.
    """

    filter: str = ""
    cursor: str | None = None
    row: int = 0
    theme: str | None = None


TICK = 1.0
"""Seconds between two pictures: figures come from many databases at any time, and ages count."""

FIRST_TICKS, SHORT_TICK = 20, 0.25
"""At first pictures come sooner, so many of them."""

_SETTLED, _TIDY = 10.0, 15.0
"""Seconds by when what stays has been made, and between two rounds of the garbage collector from then on."""


class FleetFrame(KeyedApp):
    """The screen of a fleet. `begin` starts the fleet, after the first frame."""

    CSS_PATH = ["presman.tcss", "fleet.tcss"]  # noqa: RUF012 - Textual declares it so
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
        self._ticks, self._is_page_open = 0, False
        self.view_saver: ViewSaver = ViewSaver(["theme"] if view.theme else [])
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

    @property
    def is_page_open(self) -> bool:
        """Whether the help is open."""
        return self._is_page_open

    def on_mount(self) -> None:
        """Show what there is, as it was left; begin to poll as soon as the first frame is on the screen."""
        self.animation_level = "none"
        self.view_saver.put_back_colours(self)
        grid, view = self.grid, self.view
        put_back_table(self.view_saver.saved, "fleet", grid)
        grid.rows.needle = view.filter
        grid.focus()
        self.note_view()
        self.repaint()
        if view.cursor is not None:
            grid.select(view.cursor)
            self.paint_about()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._begin_fleet()
        if self.view.row:
            self.grid.scroll_to(y=self.view.row, animate=False)
        if notice := self.notice or self.view_saver.trouble:
            self.notify(notice, severity="warning", timeout=12)
        self.set_timer(SHORT_TICK, self._tick)
        self.set_timer(_SETTLED, self._settle)

    def _settle(self) -> None:
        textual_internals.settle_garbage()
        self.set_interval(_TIDY, textual_internals.tidy_garbage)

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
            if not self.is_page_open:
                frame.show(self._members, self.fleet.trouble)
                self.paint_about()
        except Exception as error:
            self.complain(error)

    def _paint_top(self) -> None:
        from presman.tui.widgets.top_lines import alert_line

        width, trouble = self.size.width, self.fleet.trouble
        paused = None if self.paused_at is None else self._clock() - self.paused_at
        state = fleet_state(self._members, trouble, paused=paused)
        first = first_line(self.fleet.name, self._members, self.fleet.interval, state, width)
        self.frame.top.show_lines(
            [first, alert_line(fleet_alerts(self._members, trouble), width, listed=True)]
        )  # fmt: skip

    def paint_about(self) -> None:
        """Draw all about the database under the cursor."""
        row = self.grid.row
        to_do = "" if row is None else self.fleet.to_do(row.name)
        self.frame.about.show(about_lines(row, to_do), about_in_short(row, to_do))

    # ---- what keys do

    def pause(self) -> None:
        """Freeze the table, or let it go on."""
        self.paused_at = self._clock() if self.paused_at is None else None
        self.repaint()

    def filter(self, needle: str, *, done: bool) -> None:
        """Show only rows, or lines of the help, that match; once that is `done`, go back to them."""
        if self.is_page_open:
            self.frame.page.set_filter(needle)
        else:
            self.view.filter = needle
            self.grid.set_filter(needle)
        if done:
            for line in self.query("#filter"):
                line.display = False
            (self.frame.page if self.is_page_open else self.grid).focus()
        self.repaint()

    def read(self, lines: list[Line] | None) -> None:
        """Show a page in place of the table, or (None) the table again."""
        self._is_page_open = lines is not None
        self.frame.page.set_filter("")
        self.frame.read(lines)
        self.repaint()

    def note_view(self) -> None:
        """Take note of what is set, and keep it."""
        if self.screen_stack:
            tables = set_in_tables({"fleet": self.grid})
            interval, is_ascii = self.fleet.interval, self.is_ascii
            self.view_saver.note(self, SavedView(self.theme, fleet_refresh=interval, ascii_only=is_ascii, **tables))

    # ---- what widgets ask for

    def on_grid_moved(self) -> None:
        """Say all about the database that the cursor is on now."""
        self.paint_about()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """End, to open a database."""
        if event.row is None:
            self.notify("There is no row here.")
            return
        self.view.cursor, self.view.row = event.row.name, self.grid.scroll_offset.y
        self.chosen, self.hands_on = event.row, True
        self.exit()
