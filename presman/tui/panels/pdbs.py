"""Tab 8: pluggable databases side by side, in a container database."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult

from presman.analysis import io_limits
from presman.analysis.pdbs import PdbReading, io_limited, pdbs
from presman.analysis.reading import CLUSTER
from presman.analysis.verdicts import explain
from presman.tables.groups import VERDICT_MARKS
from presman.tables.pdbs import IO_MARKS, PDBS
from presman.tui.panels.panel import APART, CPU_LEGEND, ChartFeed, Panel, Shown
from presman.tui.widgets.chart import Chart
from presman.tui.widgets.containers import Horizontal
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import Line, wrap


def pdb_lines(rows: tuple[PdbReading, ...]) -> list[Line]:
    """Return each container's verdict in words, then those on its I/O where that is limited."""
    found: list[Line] = []
    for row in rows:
        mark, state = VERDICT_MARKS[row.verdict]
        found.append(((f" {mark} ", state), (f"{_named(row)}: ", state), (explain(row), "")))
    return found + io_lines(rows)


def io_lines(rows: tuple[PdbReading, ...]) -> list[Line]:
    """Return what MAX_IOPS and MAX_MBPS do to each container that has them, in words."""
    found: list[Line] = []
    for row in io_limited(rows):
        mark, state = IO_MARKS[row.io_verdict]
        found.append(((f" {mark} ", state), (f"{_named(row)} I/O: ", state), (io_limits.explain(row), "")))
    return found


def _named(row: PdbReading) -> str:
    return row.name if row.inst_id == CLUSTER else f"{row.name} on {row.inst_id}"


class Pdbs(Panel):
    """Containers with CPU, I/O, servers and memory, their verdicts in words, and CPUs over time."""

    tables = (PDBS,)
    charts = True
    notes: ClassVar[tuple[str, ...]] = (
        "Figures are those of V$RSRC_PDB and V$RSRCPDBMETRIC (12.2 and later), which count for all containers since "
        "the same instant. V$RSRC_CONSUMER_GROUP does not: it restarts when a container changes its own plan.",
    )

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._containers = Grid(PDBS)
        self._words = LineView(id="pdb-words")
        self._used, self._waiting = Chart(id="pdb-used"), Chart(id="pdb-waiting")
        self._used_feed = ChartFeed("pdb_used", "CPUs used")
        self._waiting_feed = ChartFeed("pdb_waiting", "CPUs waited for (throttled)", after=APART)
        yield self._containers
        yield self._words
        with Horizontal(classes="charts"):
            yield self._used
            yield self._waiting

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        moment = shown.moment()
        found = pdbs(shown.reading, *moment) if moment is not None else ()
        apart = tuple(row for row in found if row.inst_id != CLUSTER)
        cluster = tuple(row for row in found if row.inst_id == CLUSTER)
        rows = apart if shown.view.by_instance and apart else cluster
        hidden = set() if rows is apart else {"inst"}
        if all(row.cpu_exhausted is None for row in rows):
            hidden.add("cpu_exhausted")
        self._containers.show_rows(rows, hidden, CPU_LEGEND)
        width = self._words.size.width or self.app.size.width
        lines = [part for line in pdb_lines(apart or cluster) for part in wrap(line, width, 3)]
        self._words.fit_lines(lines)
        self._used.show(self._used_feed.data(shown, shown.reading.header.num_cpus or None))
        self._waiting.show(self._waiting_feed.data(shown))
