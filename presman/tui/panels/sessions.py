"""Tab 5: the sessions."""

from __future__ import annotations

from textual.app import ComposeResult

from presman.analysis.waiters import cpu_waiters
from presman.tables import SESSIONS
from presman.tables.waiters import CPU_WAITERS
from presman.tui.panels.panel import Panel, Shown
from presman.tui.widgets.grid import Grid


class Sessions(Panel):
    """Every user session, sorted by the CPU it uses, and the statements that are held off CPU."""

    tables = (SESSIONS, CPU_WAITERS)

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._sessions = Grid(SESSIONS)
        self._waiters = Grid(CPU_WAITERS, filterable=False)
        yield self._sessions
        yield self._waiters

    def show(self, shown: Shown) -> None:
        """Fill the table."""
        reading = shown.reading
        self._sessions.show_rows(reading.sessions)
        moment = shown.moment()
        found = cpu_waiters(reading, moment[1] if moment else None)
        self._waiters.display = bool(found)
        hidden = set() if len({row.con_id for row in found}) > 1 else {"con"}
        self._waiters.show_rows(found, hidden)

    def measure(self, _grid: Grid | None) -> str:
        """Return the measure that `e` exports from here."""
        return "session_io"
