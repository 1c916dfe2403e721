"""The simulation as V$, GV$ and DBA_ views: each made of rows only when a query reads it and time has moved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from presman.sources.simulator.views import (
    cursor_views,
    dictionary_views,
    group_views,
    session_views,
    statistic_views,
    system_views,
)
from presman.sources.simulator.views.view import Row, View

if TYPE_CHECKING:
    from presman.sources.embedded import EmbeddedDatabase
    from presman.sources.simulator.simulation import Simulation

VIEWS: Mapping[str, View] = {
    view.name: view
    for module in (
        system_views,
        group_views,
        session_views,
        cursor_views,
        dictionary_views,
        statistic_views,
    )
    for view in module.VIEWS
}
"""Every view that the simulator fills, by its V$ or DBA_ name."""

_WORD = re.compile(r"\b(?:g?v\$\w+|(?:dba|cdb)_\w+)", re.IGNORECASE)


@cache
def views_of(text: str) -> tuple[str, ...]:
    """Return the views that an SQL text names, upper case."""
    return tuple(dict.fromkeys(word.upper() for word in _WORD.findall(text)))


class Publisher:
    """Keeps the tables of an embedded database as new as the simulation, one view at a time, on demand."""

    def __init__(self, simulation: Simulation, database: EmbeddedDatabase) -> None:
        self._simulation = simulation
        self._database = database
        self._stamps: dict[str, object] = {}
        self._plans: dict[str, tuple[tuple[str, ...], Callable[[Iterable[Row]], Iterable[Sequence[Any]]]]] = {}

    def refresh(self, text: str) -> None:
        """Bring every view that `text` reads up to the simulation's present."""
        for name in views_of(text):
            view = VIEWS.get(name.removeprefix("G") if name.startswith("GV$") else name)
            if view is None:
                continue
            stamp = (view.stamp(self._simulation), self._simulation.down)
            if self._stamps.get(name) != stamp:
                self._stamps[name] = stamp
                self._publish(name, view)

    def _publish(self, name: str, view: View) -> None:
        if name not in self._plans:
            self._plans[name] = self._plan(name, view)
        columns, project = self._plans[name]
        if columns:
            self._database.replace(name, columns, project(self._seen(view)))

    def _seen(self, view: View) -> Iterable[Row]:
        """Return a view's rows but those of instances that are down.

        From inside a pluggable database those of other containers are not seen.
        """
        rows = view.rows(self._simulation)
        scenario, down = self._simulation.scenario, self._simulation.down
        if down and view.global_:
            rows = [row for row in rows if row[0] not in down]
        if not scenario.header.inside or "CON_ID" not in view.columns:
            return rows
        seen, index = {0, scenario.con_id(scenario.header.inside)}, view.columns.index("CON_ID")
        return [row for row in rows if row[index] in seen]

    def _plan(
        self, name: str, view: View
    ) -> tuple[tuple[str, ...], Callable[[Iterable[Row]], Iterable[Sequence[Any]]]]:
        """Work out which of the view's columns this release has, and whether INST_ID goes or stays."""
        from presman.rows.queries import columns_of

        present = {column.name for column in columns_of(name, self._simulation.release)}
        kept = [index for index, column in enumerate(view.columns) if column in present]
        columns = tuple(view.columns[index] for index in kept)
        one = view.global_ and not name.startswith("GV$")
        if len(kept) == len(view.columns):
            return columns, lambda rows: rows

        def project(rows: Iterable[Row]) -> Iterable[Sequence[Any]]:
            return [[row[index] for index in kept] for row in rows if not one or row[0] == 1]

        return columns, project
