"""Tab 5: the sessions."""

from __future__ import annotations

from textual.app import ComposeResult

from presman.tables import SESSIONS
from presman.tui.panels.panel import Panel, Shown
from presman.tui.widgets.grid import Grid


class Sessions(Panel):
    """Every user session, sorted by the CPU it uses."""

    tables = (SESSIONS,)

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._sessions = Grid(SESSIONS)
        yield self._sessions

    def show(self, shown: Shown) -> None:
        """Fill the table."""
        self._sessions.show_rows(shown.reading.sessions)

    def measure(self, _grid: Grid | None) -> str:
        """Return the measure that `e` exports from here."""
        return "session_io"
