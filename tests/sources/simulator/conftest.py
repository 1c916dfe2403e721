"""A simulated database with a clock that the test moves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from presman.base.release import Release
from presman.rows import queries
from presman.rows.queries import Cadence, Query, Scope
from presman.rows.query_files import OLDEST
from presman.sources import Request
from presman.sources.simulator_source import SimulatorSource

R = TypeVar("R")

START = datetime(2026, 3, 12, 9, 0, tzinfo=UTC)
_DEMAND = {"at_inst_id": 1, "sql_id": "", "child_number": 0, "event": "log file sync"}


def binds_of(query: Query) -> dict[str, Any]:
    """Return values for the binds of a query."""
    asked = set(re.findall(r":(\w+)", query.cluster_sql)) - {"inst_id", "own_inst_id", "own_sid", "with_idle"}
    return {bind: _DEMAND.get(bind, "") for bind in asked}


class Played:
    """An open source, its current instant, and its queries."""

    def __init__(self, scenario: str | Path, **options: Any) -> None:
        self.seconds = 0.0
        self.source = SimulatorSource(scenario, clock=lambda: self.seconds, start=START, **options)
        self.release = self.source.open()
        self.queries = queries.load(self.release)
        self._read: dict[Any, tuple[Any, ...]] = {}

    def to(self, seconds: float) -> Played:
        self.seconds = seconds
        self._read.clear()
        self.source.advance()
        return self

    def rows(self, record: type[Any], **binds: Any) -> tuple[Any, ...]:
        """Return the rows of a query of the whole cluster at this instant, read once."""
        key = (record, *binds.items())
        if key not in self._read:
            self._read[key] = self._asked(record, binds)
        return self._read[key]

    def _asked(self, record: type[Any], binds: dict[str, Any]) -> tuple[Any, ...]:
        (section,) = self.source.read(
            [Request(self.queries[record], {**binds_of(self.queries[record]), **binds})]
        ).sections
        assert section.problem is None, section.problem
        return section.rows

    def view(self, name: str, record: type[R]) -> list[R]:
        """Return all rows of a view with the columns in `record`, more than presman reads."""
        sql = f"SELECT\n    {', '.join(record._fields)}\nFROM {name}"  # type: ignore[attr-defined]
        query = Query(name, record, "", Cadence.DEMAND, "", "none", OLDEST, sql, Path())  # type: ignore[arg-type]
        (section,) = self.source.read([Request(query, {})]).sections
        assert section.problem is None, section.problem
        return list(section.rows)

    def everything(self, scope: Scope = Scope.CLUSTER) -> dict[str, tuple[Any, ...]]:
        self.source.scope = scope
        answer = self.source.read([Request(query, binds_of(query)) for query in self.queries.values()])
        for query, section in zip(self.queries.values(), answer.sections, strict=True):
            assert section.problem is None, f"{query.name}: {section.problem}"
            assert section.at == answer.at
        return {query.name: section.rows for query, section in zip(self.queries.values(), answer.sections, strict=True)}


@pytest.fixture
def play() -> Iterator[Callable[..., Played]]:
    opened: list[Played] = []

    def make(scenario: str | Path, **options: Any) -> Played:
        opened.append(Played(scenario, **options))
        return opened[-1]

    yield make
    for played in opened:
        played.source.close()


@pytest.fixture
def release() -> Release:
    return Release(19)
