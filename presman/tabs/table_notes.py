"""Notes beside tables: rows folded into others, views without an answer, verdicts in words."""

from collections.abc import Callable, Sequence

from presman.analysis.collapsed_rows import collapsed_servers
from presman.analysis.groups.container_io import io_limited, io_sentence
from presman.analysis.groups.verdicts import Conformance, conformance, explain, in_words
from presman.analysis.readings.container_readings import PdbReading
from presman.analysis.readings.group_readings import GroupReading, Marked, Verdict
from presman.analysis.readings.reading import CLUSTER, Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import QueuedStatement
from presman.figures.drawing.lines import Line
from presman.figures.figure import State
from presman.figures.statement_figures import stands_for
from presman.tabs.parts import Moment


def servers_folded(rows: Sequence[SessionReading]) -> str:
    """Return the note about parallel servers folded under their coordinators, "" if there are none."""
    number = sum(map(collapsed_servers, rows))
    return f"{number} parallel server{'s' * (number != 1)} folded: u unfolds" if number else ""


def statements_folded(rows: Sequence[QueuedStatement]) -> str:
    """Return the note about identical statements in one row, "" if there are none."""
    number = sum(map(stands_for, rows))
    return f"in {len(rows)} row{'s' * (len(rows) != 1)}, identical ones folded: u unfolds" if number > len(rows) else ""


def unavailable(*views: str) -> Callable[[Moment], str]:
    """Return a function that says why a table from `views` (V$ names) has no rows, "" if the views answered."""

    def sentence(moment: Moment) -> str:
        found = [each.why for each in moment.reading.unseen if each.view.removeprefix("G") in views]
        return f"Not known: {'; '.join(found)}." if found else ""

    return sentence


CPU_LEGEND = "of all CPUs: █ used ▒ waiting │ entitled ┊ limit"
"""The legend of CPU bars."""

_QUIET = frozenset({Verdict.IDLE, Verdict.NOT_THROTTLED, Verdict.UNKNOWN, Verdict.NOT_MANAGED})


def verdict_lines(reading: Reading, groups: Sequence[GroupReading]) -> list[Line]:
    """Return one line per instance and one per group that waits, unwrapped."""
    lines: list[Line] = []
    for kept in conformance(reading):
        if kept.sentence:
            glyph, state = _mark(kept)
            name = f"instance {kept.inst_id}: " if len(reading.header.instances) > 1 else ""
            lines.append(((f" {glyph} ", state), (name + kept.sentence, "")))
    for row in sorted((row for row in groups if row.verdict not in _QUIET), key=lambda row: row.verdict.rank):
        where = f" on {row.inst_id}" if row.inst_id else ""
        lines.append(_line(row.verdict, f"{row.title}{where}", in_words(reading, row)))
    return lines or [((" … No rates yet: they need two polls with no plan change between them.", "dim"),)]


def _line(found: Marked, name: str, text: str) -> Line:
    return (f" {found.glyph} ", found.level), (f"{name}: ", found.level), (text, "")


def _mark(kept: Conformance) -> tuple[str, State]:
    """Return the mark of how well a plan is kept: green only if no group gets less than it should."""
    if kept.score is None:
        return "·", "dim"
    if kept.score < 99.95:
        return "✕", "bad"
    if kept.shareless or kept.near or kept.outside:
        return "▲", "warn"
    return ("?", "note") if kept.unjudged else ("●", "good")


def pdb_lines(rows: tuple[PdbReading, ...]) -> list[Line]:
    """Return each container's CPU verdict in words, then the I/O verdicts of containers with I/O limits."""
    return [_line(row.verdict, _named(row), explain(row)) for row in rows] + io_lines(rows)


def io_lines(rows: tuple[PdbReading, ...]) -> list[Line]:
    """Return in words the effect of MAX_IOPS and MAX_MBPS on each container that has them."""
    return [_line(row.io_verdict, f"{_named(row)} I/O", io_sentence(row)) for row in io_limited(rows)]


def _named(row: PdbReading) -> str:
    return row.name if row.inst_id == CLUSTER else f"{row.name} on {row.inst_id}"
