"""Answer to the question why a statement has not started: for a chat or a ticket, as text or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from presman.analysis.advice.contenders import Unblock
from presman.analysis.advice.freeing import why_useless
from presman.analysis.advice.step import in_words
from presman.analysis.advice.unblock import unblock_of
from presman.analysis.alerts.alert_rules import quiesced
from presman.analysis.readings.forecast_readings import effect_words
from presman.analysis.readings.reading import LateView, Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import (
    Executing,
    ParallelStatement,
    QueuedStatement,
    QueueHead,
    QueueReason,
    RunningStatement,
    group_title,
    runs,
)
from presman.analysis.view_availability import listed as listed_views
from presman.base.formats import clock, counted, duration, listed, spelled
from presman.figures.statement_figures import (
    first_of_queue,
    forecast_record,
    in_view,
    queue_position,
    starts_in_words,
    timeout_source,
)
from presman.output.cells import word
from presman.output.json_document import plain, unblock_document, written
from presman.rows.session_state import POOL_WAIT, QUIESCE_WAIT, comma_serial

_SESSION = re.compile(r"(?:(\d{1,4}):)?(\d{1,6})(?:,(\d{1,10}))?", re.ASCII)
_MOST_WAYS = 3
"""The most ways to let it start that are named."""
_MOST_TURNS, _LAST_TURNS = 6, 2
"""The most reasons of one statement that are all named, and how many of more are."""

_RESTS_ON = {
    "V$SESSION": "which sessions wait or are idle",
    "V$PX_SESSION": "who holds servers",
    "V$RSRC_PLAN": "the plan in force",
    "V$RSRC_CONSUMER_GROUP": "the servers that count for each group",
}
"""Views that show which sessions wait, and for what; each with the facts that no other view shows."""


class AskedStatement(NamedTuple):
    """The statement of the question: its SQL_ID, else its SID, on one instance or on any (0), with any SERIAL# (0)."""

    sql_id: str = ""
    sid: int = 0
    inst_id: int = 0
    serial: int = 0

    @classmethod
    def of(cls, text: str) -> AskedStatement:
        """Read ``507``, ``2:507``, either with its SERIAL# (``507,32323``), or a SQL_ID."""
        found = _SESSION.fullmatch(text)
        return cls(text.lower()) if found is None else cls("", int(found[2]), int(found[1] or 0), int(found[3] or 0))

    def is_about(self, row: ParallelStatement | SessionReading) -> bool:
        """Return whether a row is that statement."""
        if self.sql_id:
            return row.sql_id.lower() == self.sql_id
        return row.sid == self.sid and self.inst_id in {0, row.inst_id} and self.serial in {0, row.serial}

    def __str__(self) -> str:
        instance, serial = f"{self.inst_id}:" * bool(self.inst_id), f",{self.serial}" * bool(self.serial)
        return f"SQL_ID {self.sql_id}" if self.sql_id else f"session {instance}{self.sid}{serial}"


class ReasonSince(NamedTuple):
    """A reason for which a statement waited, and the time from which that was seen."""

    since: datetime
    reason: QueueReason


def _outdated(reading: Reading) -> list[LateView]:
    """Return the views whose rows are older than the poll, because they did not answer at it."""
    return [each for each in reading.late if each.age is not None and each.view.removeprefix("G") in _RESTS_ON]


def _older_part(late: LateView) -> str:
    """Return the line on the facts of a late view: the rest of the answer is of the poll itself."""
    told = _RESTS_ON[late.view.removeprefix("G")]
    return f"  as it was {duration(late.age)} before: {told} ({late.view} did not answer)"


class UnansweredSpan(NamedTuple):
    """Successive polls at which the views of waiting sessions did not answer."""

    since: datetime
    until: datetime
    views: frozenset[str]

    def __str__(self) -> str:
        return f"from {clock(self.since)} to {clock(self.until)} ({listed(sorted(self.views))} did not answer)"


def _may_last(before: ReasonSince, row: QueuedStatement, head: QueueHead) -> bool:
    """Whether an earlier reason may still hold, because a limit of the head is not known, or not what it counts."""
    is_known = head.not_known is None or not head.not_known.view
    if is_known and all(each.is_certain for each in head.shortages):
        return False
    return before.reason in _BY_LIMIT or row.reason is QueueReason.UNKNOWN


_BY_LIMIT = {QueueReason.GROUP_LIMIT, QueueReason.CONTAINER_LIMIT, QueueReason.NEVER_FITS}


class ReasonHistory:
    """The reasons for which each statement waited since `begun`, the first reading (None before it).

    Up to `sparse_to` only one poll in `step` was read; None if each was. A poll at which a view did not answer has no
    reason, because its rows are those of an earlier poll; `gaps` are the spans of such polls. Nor has a poll at which
    an earlier reason may last unseen.
    """

    def __init__(self) -> None:
        self._reasons: dict[Executing, list[ReasonSince]] = {}
        self.gaps: list[UnansweredSpan] = []
        self._is_in_gap = False
        self.begun: datetime | None = None
        self.sparse_to: datetime | None = None
        self.step = 1

    def add(self, reading: Reading) -> None:
        """Take the next reading."""
        views = frozenset(each.view for each in _outdated(reading))
        was_in_gap, self._is_in_gap = self._is_in_gap, bool(views)
        if views:
            last = self.gaps.pop() if was_in_gap else UnansweredSpan(reading.at, reading.at, views)
            self.gaps.append(UnansweredSpan(last.since, reading.at, last.views | views))
            return
        self.begun = self.begun or reading.at
        for row in reading.queue:
            reasons, head = self._reasons.setdefault(row.executing(), []), reading.head_of((row.con_id, row.group))
            if reasons and (not reading.lists_queue() or (head is not None and _may_last(reasons[-1], row, head))):
                continue
            if not reasons or reasons[-1].reason is not row.reason:
                reasons.append(ReasonSince(reading.at, row.reason))

    def precede(self, earlier: Iterable[Reading], step: int) -> None:
        """Take readings from before all others, one in `step` polls."""
        before = ReasonHistory()
        for reading in earlier:
            before.add(reading)
        if before.begun is None:
            return
        for key, reasons in before._reasons.items():
            later = self._reasons.get(key, [])
            is_same = bool(later) and later[0].reason is reasons[-1].reason
            self._reasons[key] = reasons + later[is_same:]
        if before._is_in_gap and self.gaps and (self.begun is None or self.gaps[0].since < self.begun):
            last, first = before.gaps.pop(), self.gaps.pop(0)
            before.gaps.append(UnansweredSpan(last.since, first.until, last.views | first.views))
        self.gaps = before.gaps + self.gaps
        self.sparse_to, self.step = self.begun if step > 1 else None, step
        self.begun = before.begun

    def of(self, row: ParallelStatement) -> tuple[ReasonSince, ...]:
        """Return the reasons of a statement, oldest first."""
        return tuple(self._reasons.get(row.executing(), ()))

    def was_there(self, row: ParallelStatement) -> bool:
        """Return whether a statement may have waited before the first reading that has it: for an unknown reason."""
        reasons = self.of(row)
        return not reasons or reasons[0].since == self.begun


def found_in(reading: Reading, asked: AskedStatement) -> QueuedStatement | RunningStatement | None:
    """Return the statement of the question: the one that has queued for longest, else one that runs."""
    queued = sorted(filter(asked.is_about, reading.queue), key=lambda row: (-(row.waited or 0.0), row.position))
    return next(iter(queued), None) or next(filter(asked.is_about, reading.running), None)


def as_text(reading: Reading, asked: AskedStatement, history: ReasonHistory) -> str:
    """Return the answer in a few lines. Ends in a newline."""
    row, late = found_in(reading, asked), _outdated(reading)
    if row is None:
        lines: Iterable[str] = _not_found(reading, asked)
    elif isinstance(row, RunningStatement):
        lines = _running(row, reading, why_not_known(reading, asked), history)
    else:
        lines = _queued(row, reading, asked, history)
    lines = [*lines]
    if row is not None:
        lines[1:1] = map(_older_part, late)
    return "".join(f"{line}\n" for line in lines)


def _held(reading: Reading, asked: AskedStatement) -> SessionReading | None:
    """Return the session of the question that a quiesce of the database holds, of several the one held longest."""
    if reading.quiesce is None:
        return None
    # A quiesced database keeps sessions from becoming active, so they wait as for a full session pool.
    held = (row for row in reading.sessions if row.event == POOL_WAIT and asked.is_about(row))
    return max(held, key=lambda row: row.waited or 0.0, default=None)


def _quiescer(reading: Reading, asked: AskedStatement) -> SessionReading | None:
    """Return the session that quiesces or was seen to quiesce the database, if the question is about it."""
    names = () if reading.quiesce is None else reading.quiesce.by + reading.quiesce.was_by
    found = (row for row in reading.sessions if asked.is_about(row))
    return next((row for row in found if f"{row.user or 'session'} {row.inst_id}:{row.sid}" in names), None)


def why_not_known(reading: Reading, asked: AskedStatement) -> str:
    """Return why it is unknown whether, or how, a statement is queued or runs; "" if it is known."""
    row = found_in(reading, asked)
    if isinstance(row, QueuedStatement) or (row is None and (_held(reading, asked) or _quiescer(reading, asked))):
        return ""
    if isinstance(row, RunningStatement):
        return "" if (row.seen and row.status) or row.orphaned else reading.why_unavailable("V$SESSION") or reading.part
    is_in_view = reading.lists_queue() and asked.inst_id in {each.inst_id for each in reading.header.instances}
    queue = "" if is_in_view else reading.why_unknown("queue")
    return listed_views(filter(None, (queue, reading.why_unavailable("V$PX_SESSION"))))


def _not_found(reading: Reading, asked: AskedStatement) -> Iterator[str]:
    if row := _held(reading, asked):
        waits = f"{QueueReason.QUIESCED.value} ({word(QueueReason.QUIESCED)})"
        yield f"{_session(row)} has waited for {spelled(row.waited)}: {waits}"
    elif row := _quiescer(reading, asked):
        yield f"{_session(row)} {_quiesces(row)}"
    if row is not None:
        yield from (f"  {alert.text}" for alert in quiesced(reading))
        return
    if unseen := why_not_known(reading, asked):
        yield f"cannot tell whether {asked} is queued or runs in parallel: {unseen}"
        return
    running = sum(not each.orphaned for each in reading.running)
    queued = f"{counted(len(reading.queue), 'statement')} queued"
    where = " in view" * bool(reading.part)
    yield f"{asked} is neither queued nor running in parallel ({queued}, {running} in parallel{where})"


def _session(row: SessionReading) -> str:
    return f"session {row.inst_id}:{row.sid}{comma_serial(row.serial)} of {row.user or '?'} in {row.group}"


def _quiesces(row: SessionReading) -> str:
    """Return how a session quiesces the database, and what it waits for."""
    if row.event != QUIESCE_WAIT:
        return "was seen to quiesce the database, but no longer waits for it"
    since = f"has waited for {spelled(row.waited)} until" if row.waited is not None else "waits until"
    return f"quiesces the database: it {since} all calls under way have ended"


def _running(row: RunningStatement, reading: Reading, unseen: str, history: ReasonHistory) -> Iterator[str]:
    # V$PX_SESSION may have answered without an instance, or without the coordinator of some servers.
    is_part = reading.why_unavailable("V$PX_SESSION") and not reading.age_of("V$PX_SESSION")
    servers = f"{'at least ' if is_part else ''}{counted(row.servers, 'server')}"
    if unseen:
        who = _describe(row) if row.seen else f"session {row.inst_id}:{row.sid}{comma_serial(row.serial)}"
        yield f"{who} holds {servers}"
        yield f"  cannot tell whether it runs or is idle{'' if row.seen else ', or whose it is'}: {unseen}"
        return
    if row.orphaned:
        yield f"{_describe(row)} is gone with instance {row.inst_id}: {servers} not freed yet"
        return
    state = f"is idle for {row.idle_time} and keeps" if row.idle is not None else f"{runs(row)} with"
    yield f"{_describe(row)} has started: it {state} {servers}"
    yield from _past(row, history)


def _queued(row: QueuedStatement, reading: Reading, asked: AskedStatement, history: ReasonHistory) -> Iterator[str]:
    queued = f"has been queued for {spelled(row.waited)}"
    since = "is queued, for how long is not known" if row.waited is None else queued
    is_known = row.reason is not QueueReason.UNKNOWN
    reason = f": {row.reason.value} ({word(row.reason)})" if is_known else "; the reason is not known"
    yield f"{_describe(row)} {since}{reason}"
    alike = [each for each in reading.queue if asked.is_about(each)]
    if len(alike) > 1:  # the sessions of one SID on several instances, or of one SQL_ID
        sessions = listed(sorted(f"{each.inst_id}:{each.sid}" for each in alike))
        which = f"{len(alike)} are queued with {asked}" if asked.sql_id else f"{sessions} are queued"
        yield f"  {which}: {_which(row, alike)}"
    head = reading.head_of((row.con_id, row.group))
    first = "" if head is None else first_of_queue(row, head, reading)
    if head is not None:
        place = f"{queue_position(row, reading)} of its queue{in_view(reading)}"
        behind = f"{place}; {first}, {head.statement.sql_id}, " if first else ""
        yield f"  {behind}{head.sentence}"
    record = forecast_record(reading, since=True)
    if words := starts_in_words(row, reading):
        yield f"  {words[0].lower()}{words[1:]}" + (f" {record}." if record and row.starts else "")
    if row.timeout_left is not None:
        left = f"{duration(row.timeout_left)}{timeout_source(row)}"
        yield f"  it reaches its queue timeout in {left}: then {row.at_timeout}"
    elif row.no_timeout:
        yield f"  whether it has a queue timeout is not known ({row.no_timeout})"
    found = unblock_of(row, reading)
    yield from _ways(found, first or "it")
    offered = {each.executing() for way in (found.answers if found else ()) for each in way}
    idle = (each for each in reading.running if each.idle is not None and each.executing() not in offered)
    useless = ((each, why_useless(each, reading).get(group_title(row))) for each in idle)
    for each, why in [one for one in useless if one[1]][:_MOST_WAYS]:
        yield f"    ending {_holder(each)} does not help: {why}"
    yield from _past(row, history, None if row.waited is None else reading.at - timedelta(seconds=row.waited))


def _which(row: QueuedStatement, alike: Sequence[QueuedStatement]) -> str:
    """Return which of several statements the answer is about."""
    longest = sum(each.waits_like(row) for each in alike)
    if any(each.waited is None for each in alike):
        return "this is one of them, and which has waited longest is not known"
    return f"this is {f'one of the {longest} that have' if longest > 1 else 'the one that has'} waited longest"


def _ways(found: Unblock | None, subject: str) -> Iterator[str]:
    """Yield the sessions to end so that a statement, or the head of its queue before it, can start."""
    if found is None:
        return
    unproven = found.turns and not found.answers and not found.checks_blocker_first and not found.only_waits
    yield f"  {'ending a session may not start' if unproven else 'to start'} {subject}: {found.sentence}"
    for way in found.answers:
        effects = [each.effect for each in found.candidates if way == (each.statement,)]
        effect = effect_words(effects[0] if effects else found.effect)
        yield f"    by ending {' and '.join(map(_holder, way))}{f': {effect}' if effect else ''}"
        proven = next(each.proven for each in found.candidates if each.statement in way and each.proven)
        yield f"      {in_words(proven)}"


def _holder(each: RunningStatement) -> str:
    doing = f"idle {each.idle_time}" if each.idle is not None else runs(each)
    return f"{each.who}{comma_serial(each.serial)} ({doing}, {counted(each.servers, 'server')})"


def _past(row: ParallelStatement, history: ReasonHistory, came: datetime | None = None) -> Iterator[str]:
    """Yield the reasons for which it waited; one at the first poll may have begun earlier."""
    reasons = history.of(row)
    from_start = history.was_there(row)
    if len(reasons) > 1 or (reasons and from_start):
        begun = clock(reasons[0].since)
        first, remark = (" or before", f"; presman watched from {begun} on") if from_start else ("", "")
        if history.sparse_to is not None:
            remark += f"; up to {clock(history.sparse_to)} one poll in {history.step} was read"
        spans = [str(span) for span in history.gaps if span.until > (came or reasons[0].since)]
        remark += f"; not known {listed(spans)}" if spans else ""
        yield f"  it waited: {_turns(reasons, first)}{remark}"


def _turns(reasons: Sequence[ReasonSince], first: str) -> str:
    """Return reasons in order, with `first` after the oldest one; of many turns only the last are named."""
    turns = [f"{each.reason.value} from {clock(each.since)}" for each in reasons]
    turns[0] += first
    if len(turns) <= _MOST_TURNS:
        return ", ".join(turns)
    kinds = listed([*dict.fromkeys(each.reason.value for each in reasons)])
    since = clock(reasons[0].since)
    return f"{kinds}, {len(turns)} turns from {since}{first}; the last: {', '.join(turns[-_LAST_TURNS:])}"


def _describe(row: QueuedStatement | RunningStatement) -> str:
    session = f"{row.inst_id}:{row.sid}{comma_serial(row.serial)}"
    return f"{row.sql_id or 'a statement'} of {row.user or '?'} in {group_title(row)} ({session})"


def _state(row: QueuedStatement | RunningStatement | None, unseen: str) -> str:
    if unseen:
        return "unknown"
    if isinstance(row, QueuedStatement):
        return "queued"
    return "gone" if row is None or row.orphaned else "running"


def as_json(reading: Reading, asked: AskedStatement, history: ReasonHistory, *, ascii_only: bool = False) -> str:
    """Return the answer as a JSON document: `state` is queued, running, gone, held, quiescing, or unknown."""
    row = found_in(reading, asked)
    found: dict[str, Any] = {"format": 1, "target": reading.target, "at": plain(reading.at)}
    unseen = why_not_known(reading, asked)
    found |= {"state": _state(row, unseen), "late": [plain(each) for each in reading.late]}
    if unseen:
        found["not_known"] = unseen
    if row is None and _held(reading, asked) is not None:
        found |= {"state": "held", "reason": word(QueueReason.QUIESCED)}
    elif row is None and _quiescer(reading, asked) is not None:
        found["state"] = "quiescing"
    if row is not None:
        found["statement"] = plain(row)
        found |= {"watched_since": plain(history.begun), "reasons": [plain(each._asdict()) for each in history.of(row)]}
    if isinstance(row, QueuedStatement):
        unblock = unblock_of(row, reading)
        head = None if unblock is None else unblock.head
        found |= {"reason": word(row.reason), "sentence": "" if head is None else head.sentence}
        found |= {"starts": plain(row.starts), "forecast": plain(reading.forecast)}
        found["unblock"] = None if unblock is None else unblock_document(unblock)
    return written(found, ascii_only=ascii_only)
