"""The simulation as V$, GV$ and DBA_ views: each is filled only when a query reads it and time has advanced."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from typing import Any

from presman.rows.queries import columns_of
from presman.rows.query_files import views_named
from presman.sources.embedded import EmbeddedDatabase
from presman.sources.simulator.simulation import Simulation
from presman.sources.simulator.views import (
    cursor_views,
    dictionary_views,
    group_views,
    session_views,
    statistic_views,
    system_views,
)
from presman.sources.simulator.views.view import Row, View, plausible

_MODULES = (system_views, group_views, session_views, cursor_views, dictionary_views, statistic_views)

VIEWS: Mapping[str, View] = {view.name: view for module in _MODULES for view in module.VIEWS}
"""Every view that is simulated, by its V$ or DBA_ name; other V$ views have plausible values."""


class Publisher:
    """Updates the tables of an embedded database from the simulation, one view at a time, on demand."""

    def __init__(self, simulation: Simulation, database: EmbeddedDatabase) -> None:
        self._simulation = simulation
        self._database = database
        self._made_at: dict[str, float] = {}
        self._kept: dict[str, tuple[bool, ...]] = {}

    def refresh(self, text: str) -> None:
        """Update every view that the SQL `text` reads to the current simulated time."""
        for name in views_named(text):
            view = VIEWS.get(name.removeprefix("G")) or plausible(name.removeprefix("G"))
            if view is not None and self._made_at.get(name) != self._simulation.now:
                self._made_at[name] = self._simulation.now
                self._publish(name, view)

    def _publish(self, name: str, view: View) -> None:
        """Fill the columns that this release has; a V$ view has no INST_ID, and shows the first instance."""
        if any(each.name == view.name for each in self._simulation.scenario.views):
            view = self._changed(view)
        if name not in self._kept:
            present = {column.name for column in columns_of(name, self._simulation.release)}
            self._kept[name] = tuple(column in present for column in view.columns)
        kept = self._kept[name]
        if any(kept):
            rows = self._visible_rows(view)
            if name.startswith("V$"):
                rows = (row for row in rows if row[0] == 1)
            rows = rows if all(kept) else (tuple(compress(row, kept)) for row in rows)
            self._database.replace(name, list(compress(view.columns, kept)), rows)

    def _changed(self, view: View) -> View:
        """Return a view with the columns that a scenario changes, and the rows as they are shown now."""
        changes = [each for each in self._simulation.scenario.views if each.name == view.name]
        more = dict.fromkeys(
            name for each in changes for name, _ in (*each.where, *each.set) if name not in view.columns
        )

        def rows(simulation: Simulation) -> Iterator[Row]:
            now = [each for each in changes if each.holds(view.name, simulation.now)]
            for values in view.rows(simulation):
                row: Mapping[str, Any] | None = {**dict(zip(view.columns, values, strict=True)), **more}
                for each in now:
                    row = each.applied(row) if row is not None else None
                if row is not None:
                    yield tuple(row.values())

        return View(view.name, " ".join((*view.columns, *more)), rows)

    def _visible_rows(self, view: View) -> Iterable[Row]:
        """Return the rows of a view, except those of instances that are down.

        Inside a pluggable database the rows of other containers are not visible.
        """
        rows = view.rows(self._simulation)
        scenario, down = self._simulation.scenario, self._simulation.down
        if down and view.name.startswith("V$"):
            rows = [row for row in rows if row[0] not in down]
        if not scenario.header.inside or "CON_ID" not in view.columns:
            return rows
        seen, index = {0, scenario.con_id(scenario.header.inside)}, view.columns.index("CON_ID")
        return [row for row in rows if row[index] in seen]
