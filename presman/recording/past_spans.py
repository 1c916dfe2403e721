"""Past spans: the executions before an instant of a recording, as whoever had watched since then would have them."""

from __future__ import annotations

from datetime import datetime

from presman.recording.statement_lives import SEEN_EVERY
from presman.recording.tape import Tape
from presman.recording.tape_values import StatementLife
from presman.watch.statement_spans import Span


def past_spans(tape: Tape, start: datetime, at: datetime) -> list[Span]:
    """Return the parallel statements that were there between two instants, as they were known at the second."""
    known = [_as_known(life, at) for life in tape.statements(start, at)]
    return [span for span in known if span.queued or span.started]  # a damaged file may tell of neither


def _as_known(life: StatementLife, at: datetime) -> Span:
    """Return a statement without what happened to it after `at`.

    One that nobody saw end, because the recorder was killed, was there as long as it was seen.
    """
    ended = life.ended_at or (life.last_seen if at - life.last_seen >= SEEN_EVERY else None)
    times = (life.queued_at, life.started_at, life.idle_at, ended)
    queued, started, idle, ended = (when if when is not None and when <= at else None for when in times)
    return Span(
        life.inst_id, life.sid, life.serial, life.sql_id, life.con_id, life.group, life.user, life.servers,
        queued=queued, started=started, idle=idle, ended=ended, first_seen=life.first_seen,
        waiting_at=at if started is None else None,
    )  # fmt: skip
