"""Past spans: the executions before an instant of a recording, as whoever had watched since then would have them."""

from __future__ import annotations

from datetime import datetime

from presman.analysis.trends.statement_runs import Span
from presman.recording.statement_lives import as_known
from presman.recording.tape import Tape


def past_spans(tape: Tape, start: datetime, at: datetime) -> list[Span]:
    """Return the parallel statements that were there between two instants, as they were known at the second."""
    known = [as_known(life, at) for life in tape.statements(start, at)]
    return [span for span in known if span.queued or span.started]  # a damaged file may tell of neither
