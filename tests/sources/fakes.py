"""Fake sources: the test determines their answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from presman.base.release import Release
from presman.rows.instance_rows import Instance
from presman.rows.queries import Scope, field_types
from presman.rows.snapshot import Section
from presman.sources import Answer, Exhausted, Request

START = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


def row(record: Any, **values: Any) -> Any:
    """Return a record with `values`, and empty values (None, 0, "") elsewhere."""
    nothing = {int: 0, float: 0.0, str: ""}
    blank = {name: None if optional else nothing.get(kind) for name, (kind, optional) in field_types(record).items()}
    return record(**(blank | values))


@dataclass
class FakeSource:
    """A single instance that answers every query with `rows[record]`; its clock advances by `step` seconds."""

    rows: dict[Any, tuple[Any, ...]] = field(default_factory=dict)
    answers: Callable[[Request], Section | None] = lambda request: None
    step: float = 2.0
    length: int | None = None
    release: Release = field(default_factory=lambda: Release(19))
    name: str = "fake"
    kind: str = "simulator"
    scope: Scope = Scope.CLUSTER
    now: datetime = START
    opened: int = 0
    closed: int = 0
    advanced: int = 0
    reads: list[list[Request]] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    hang: threading.Event | None = None
    entered: threading.Event = field(default_factory=threading.Event)

    def open(self) -> Release:
        self.opened += 1
        return self.release

    def advance(self) -> None:
        if self.advanced == self.length:
            raise Exhausted("the end")
        self.advanced += 1
        self.now += timedelta(seconds=self.step)

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        self.reads.append(list(requests))
        self.entered.set()
        if self.hang is not None:
            self.hang.wait(30)
        if self.failures:
            raise self.failures.pop(0)
        rows = {Instance: (row(Instance, inst_id=1, parallel="NO"),), **self.rows}
        found = [self.answers(request) or Section(rows.get(request.query.record, ())) for request in requests]
        return Answer(self.now, tuple(found), 1)

    def cancel(self) -> None:
        if self.hang is not None:
            self.hang.set()

    def close(self) -> None:
        self.closed += 1

    def asked(self, read: int) -> list[Any]:
        """Return the records that the read of this number requested."""
        return [request.query.record for request in self.reads[read]]
