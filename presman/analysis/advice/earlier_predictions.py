"""Predictions of earlier readings that proved wrong. No view shows them any more; presman repeats none of them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from presman.analysis.advice.ending import ends_in, starts_within, step_left
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, Executing, RunningStatement
from presman.rows.queries import RecordType
from presman.rows.snapshot import PromisedEnd, PromisedStart, Section, Snapshot, UnexplainedWait


class EarlierPredictions:
    """Earlier predictions: heads that had room or were to start soon, and statements that were to end.

    A recorded poll has those of its recorder.
    """

    def __init__(self) -> None:
        self._waits: dict[Executing, int] = {}
        self._ends: dict[Executing, PromisedEnd] = {}
        self._starts: dict[Executing, PromisedStart] = {}

    def add(self, reading: Reading) -> None:
        """Add the predictions of a reading with its forecasts, and forget those about statements that are gone."""
        if reading.lists_queue():
            still = {each.executing() for each in reading.queue}
            self._waits = {executing: servers for executing, servers in self._waits.items() if executing in still}
            self._starts = {executing: row for executing, row in self._starts.items() if executing in still}
        for head in reading.heads:
            if (seconds := starts_within(head, reading)) is not None:
                self._note_start(PromisedStart(*head.statement.executing(), reading.at + timedelta(seconds=seconds)))
        # A quiesce explains why a head waits.
        for head in reading.heads if reading.quiesce is None else ():
            if head.cause is Cause.UNEXPLAINED:
                pairs = ((head.target, head.in_use), (head.allowed, head.held))
                free = min((most - held for most, held in pairs if most is not None and held is not None), default=0)
                self._note(head.statement.executing(), int(min(free, reading.header.servers.left())))
        if not reading.why_unavailable("V$PX_SESSION"):
            promised = (self._end_of(each, reading.at) for each in reading.running)
            self._ends = {row[:4]: row for row in promised if row is not None}

    def _end_of(self, each: RunningStatement, at: datetime) -> PromisedEnd | None:
        """Return the first predicted end of a statement, None without one; one by its plan replaces an estimate."""
        executing = each.executing()
        old = self._ends.get(executing)
        if each.idle is not None or (old is not None and old.by_plan):
            return old
        by_plan = ends_in(each)
        left = step_left(each) if by_plan is None and old is None else by_plan
        if left is None:
            return old
        name, _, target = each.operation.partition(" of ")
        return PromisedEnd(*executing, name, target, at + timedelta(seconds=left), int(by_plan is not None))

    def _note(self, executing: Executing, servers: int) -> None:
        self._waits[executing] = max(servers, self._waits.get(executing, 0))

    def _note_start(self, row: PromisedStart) -> None:
        """Note by when a statement should start; the first of several times counts."""
        self._starts[row[:4]] = min(row, self._starts.get(row[:4], row))

    def added_to(self, snapshot: Snapshot) -> Snapshot:
        """Return the next poll with these predictions."""
        for row in snapshot.rows(UnexplainedWait):
            self._note(row[:4], row.servers)
        self._ends |= {row[:4]: row for row in snapshot.rows(PromisedEnd)}
        for start in snapshot.rows(PromisedStart):
            self._note_start(start)
        waits = (UnexplainedWait(*executing, servers) for executing, servers in sorted(self._waits.items()))
        found: dict[RecordType, Iterable[Any]] = {
            UnexplainedWait: waits, PromisedEnd: self._ends.values(), PromisedStart: self._starts.values()
        }  # fmt: skip
        more = {record: Section(rows, snapshot.at) for record, each in found.items() if (rows := tuple(each))}
        return replace(snapshot, sections=MappingProxyType({**snapshot.sections, **more})) if more else snapshot
