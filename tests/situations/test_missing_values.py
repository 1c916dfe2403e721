"""A value that is not known is left out of a sentence, or called unknown: no sentence has a dash."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.figures.drawing.lines import plain
from presman.figures.group_figures import OVERVIEW
from presman.figures.session_figures import SESSIONS
from presman.figures.statement_figures import QUEUE, RUNNING
from presman.output.plugin_check import result
from presman.output.why_answer import AskedStatement, ReasonHistory, as_text
from presman.tui.pages.advice_lines import candidates_lines, to_start_line, without_command
from presman.tui.pages.row_details import page
from tests.situations.test_unchecked_alerts import polls, records, without
from tests.thorough import some

_DASH = re.compile(r"(?:^|(?<=[ (]))-(?=[ ,;.:)%]|$)")
_NOTHING = re.compile(r"  [\w/ ]{2,16} +-")
"""A labelled fact that is missing as a whole."""


def sentences(reading: Reading) -> Iterator[str]:
    """Yield the texts of a reading."""
    for alert in wrong(reading):
        yield from (alert.text, alert.short, *alert.between)
    step = to_do(reading)
    yield from [*step.lines, step.short] if step is not None else ()
    yield from result(reading, (), (), verbose=True).more
    for way in unblock(reading):
        yield from map(plain, (to_start_line(way), *candidates_lines(way)))
        yield from (without_command(each) for each in way.candidates if not each.commands)
    history = ReasonHistory()
    history.add(reading)
    tables = ((reading.queue, QUEUE), (reading.running, RUNNING), (reading.sessions, SESSIONS))
    for rows, table in (*tables, (reading.groups, OVERVIEW)):
        yield from (plain(line) for row in rows[:20] for line in page(row, table, reading))
    for row in (*reading.queue, *reading.running):
        yield from as_text(reading, AskedStatement.of(f"{row.inst_id}:{row.sid}"), history).splitlines()


@pytest.mark.parametrize(
    "scenario", some(("pdb", "rac"), ("holders", "throttled", "storm", "quiesce", "lost", "mixed"))
)
def test_no_sentence_has_a_dash_for_what_is_not_known(scenario: str) -> None:
    *_, last, now = polls(scenario)
    found = set()
    for view in ("", *records(now)):
        blind = analyse(last, without(now, view)) if view else analyse(None, now)
        found |= {(view, each) for each in sentences(blind) if _DASH.search(each) and not _NOTHING.fullmatch(each)}
    assert not sorted(found)
