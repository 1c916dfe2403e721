"""Verdicts in words: whether the plan is kept, and why each group that waits does, worst first."""

from __future__ import annotations

from collections.abc import Sequence

from presman.analysis.reading import GroupReading, Reading, Verdict
from presman.analysis.verdicts import conformance, in_words
from presman.columns import State
from presman.tables.groups import VERDICT_MARKS
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import Line, wrap

_QUIET = frozenset({Verdict.IDLE, Verdict.NOT_THROTTLED, Verdict.UNKNOWN, Verdict.NOT_MANAGED})
_ORDER = (Verdict.STARVED, Verdict.ZERO_SHARE, Verdict.CAPPED, Verdict.CAGED, Verdict.CONTENDED, Verdict.THROTTLED)


def verdict_lines(reading: Reading, groups: Sequence[GroupReading]) -> list[Line]:
    """Return one line per instance and one per group that waits, unwrapped."""
    lines: list[Line] = []
    several = len(reading.header.instances) > 1
    for kept in conformance(reading):
        if kept.sentence:
            state: State = "good" if kept.score is not None and kept.score >= 99.95 else "bad"
            glyph = {"good": "●", "bad": "✕"}[state] if kept.score is not None else "○"
            name = f"instance {kept.inst_id}: " if several else ""
            lines.append(((f" {glyph} ", state if kept.score is not None else "dim"), (name + kept.sentence, "")))
    waiting = sorted((row for row in groups if row.verdict not in _QUIET), key=lambda row: _ORDER.index(row.verdict))
    for row in waiting:
        mark, state = VERDICT_MARKS[row.verdict]
        where = f" on {row.inst_id}" if row.inst_id else ""
        text = in_words(reading, row)
        lines.append(((f" {mark} ", state), (f"{row.name}{where}: ", state), (text, "")))
    if not lines:
        return [((" ○ No delta yet: verdicts need two polls of the same plan window.", "dim"),)]
    return lines


class VerdictLines(LineView):
    """The lines, wrapped; as high as they need, up to what the style sheet allows."""

    _found: tuple[Line, ...] = ()

    def show(self, reading: Reading, groups: Sequence[GroupReading]) -> None:
        """Show the verdicts of a reading."""
        self._found = tuple(verdict_lines(reading, groups))
        self._lay_out()

    def on_resize(self) -> None:
        """Wrap to the new width."""
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.size.width or self.app.size.width
        lines = [part for line in self._found for part in wrap(line, width, 3)]
        # In steps, so that the charts below are not drawn anew whenever a group begins to wait.
        self.fit_lines(lines, 3)
