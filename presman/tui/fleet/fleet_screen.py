"""The screen of a fleet: two lines on top, the table, the database under the cursor, keys."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from presman.analysis.readings.fleet_readings import Member
from presman.figures.drawing.lines import Line
from presman.figures.fleet_figures import FLEET, past
from presman.tui.screen import LEAST
from presman.tui.widgets.containers import PlainBackground
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.page import Page
from presman.tui.widgets.sentences import Sentences
from presman.tui.widgets.tab_line import KeysLine, Labelled


class FleetScreen(Screen[None], PlainBackground):
    """Textual's own paints everything anew when the focus moves; here only what has it looks different."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self) -> None:
        super().__init__(id="_default")
        self.top, self.message = LineView(id="fleet-top"), LineView(id="message")
        self.grid = Grid(FLEET, trend=past)
        self.about = Sentences(id="fleet-about")
        self.page, self.keys = Page(), KeysLine(id="keys")

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield self.top
        yield self.grid
        yield self.about
        yield self.page
        yield self.message
        yield self.keys

    def show(self, members: Sequence[Member], unseen: str) -> None:
        """Fill the table; `unseen` says why there is no row."""
        self.grid.show_rows(members, unseen=unseen)

    def read(self, lines: Sequence[Line] | None) -> None:
        """Put a page in place of the table, or (None) the table back."""
        reading = lines is not None
        self.page.display = reading
        self.grid.display = self.about.display = not reading
        if lines is not None:
            self.page.show_lines(lines)
            self.page.scroll_to(y=0, animate=False)
            self.page.focus()
        else:
            self.grid.focus()

    def paint_message(self) -> bool:
        """Say plainly when the terminal is too small; return whether it is."""
        width, height = self.app.size
        too_small = width < LEAST[0] or height < LEAST[1]
        lines: list[Line] = [
            (("terminal too small", "bad"),),
            ((f"presman needs {LEAST[0]} x {LEAST[1]}, this one has {width} x {height}", ""),),
            (("enlarge it, or q quits", "dim"),),
        ]
        self.message.show_lines(lines if too_small else [])
        self.set_class(too_small, "-message")
        return too_small

    def paint_keys(self, keys: Sequence[Labelled]) -> None:
        """Offer these keys."""
        self.keys.show(keys)
