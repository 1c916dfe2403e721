"""Predictions of earlier readings that proved wrong. No view shows them any more; presman repeats none of them."""

from datetime import datetime, timedelta
from types import MappingProxyType

from msgspec.structs import replace

from presman.analysis.advice.ending import ends_in, starts_soon, step_left
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, Executing, RunningStatement
from presman.base.sums import grouped
from presman.rows.snapshot import PromisedEnd, PromisedStart, Section, Snapshot, UnexplainedWait


class EarlierPredictions:
    """Earlier predictions: heads that had room or were to start soon, and statements that were to end.

    A recorded poll has those of its recorder.
    """

    def __init__(self) -> None:
        self._waits: dict[Executing, UnexplainedWait] = {}
        self._ends: dict[Executing, PromisedEnd] = {}
        self._starts: dict[Executing, PromisedStart] = {}

    def add(self, reading: Reading) -> None:
        """Add the predictions of a reading with its forecasts, and forget those about statements that are gone."""
        if reading.lists_queue():
            still = {each.executing() for each in reading.queue}
            self._waits = {executing: row for executing, row in self._waits.items() if executing in still}
            self._starts = {executing: row for executing, row in self._starts.items() if executing in still}
        for head in reading.heads:
            if (seconds := starts_soon(head, reading)) is not None:
                self._note_start(PromisedStart(*head.statement.executing(), reading.at + timedelta(seconds=seconds)))
            # A quiesce explains why a head waits.
            if head.cause is Cause.UNEXPLAINED and reading.quiesce is None:
                pairs = ((head.target, head.in_use), (head.allowed, head.held))
                free = min((most - held for most, held in pairs if most is not None and held is not None), default=0)
                servers = int(min(free, reading.header.servers.left()))
                self._note_wait(UnexplainedWait(*head.statement.executing(), servers))
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

    def _note_wait(self, row: UnexplainedWait) -> None:
        """Note how many servers a statement left free; the most of several numbers counts."""
        self._waits[row[:4]] = max(row, self._waits.get(row[:4], row))

    def _note_start(self, row: PromisedStart) -> None:
        """Note by when a statement should start; the first of several times counts."""
        self._starts[row[:4]] = min(row, self._starts.get(row[:4], row))

    def added_to(self, snapshot: Snapshot) -> Snapshot:
        """Return the next poll with these predictions."""
        for row in snapshot.rows(UnexplainedWait):
            self._note_wait(row)
        self._ends |= {row[:4]: row for row in snapshot.rows(PromisedEnd)}
        for start in snapshot.rows(PromisedStart):
            self._note_start(start)
        rows = (*sorted(self._waits.values()), *self._ends.values(), *self._starts.values())
        more = {record: Section(tuple(those), snapshot.at) for record, those in grouped(rows, type).items()}
        return replace(snapshot, sections=MappingProxyType({**snapshot.sections, **more})) if more else snapshot
