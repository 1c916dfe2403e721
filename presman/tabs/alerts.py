"""Line of alerts: problems, the link to the database, and unknown facts."""

import re
from collections.abc import Iterable

from presman.analysis.alerts.alert_rules import all_clear, basis_not_known, is_wrong, worst_first, wrong
from presman.analysis.alerts.not_known import of_rules
from presman.analysis.readings.reading import Alert, Evidence, Reading, UnansweredQuery
from presman.base.formats import counted
from presman.base.text import one_line
from presman.figures.drawing.lines import Line
from presman.tabs.choices import Link, LinkState


def alerts(reading: Reading | None, link: Link) -> tuple[Alert, ...]:
    """Return all alerts: the worst, then idle holders, then the others, worst first.

    If nothing is wrong, they begin with the problems that are known to be absent.
    """
    lost = [Alert("bad", "✕", f"No connection: {link.text}", link.text)] if link.state is LinkState.LOST else []
    if reading is None:
        return tuple(lost)
    known = wrong(reading)
    found = lost + known + ([] if lost or is_wrong(known) else all_clear(reading)) + basis_not_known(reading)
    found += [_trouble(trouble.view or trouble.query, trouble.sentence, trouble.cure) for trouble in reading.troubles]
    found += [
        Alert("note", "?", f"Not known: {words} ({why}).", f"not known: {words}") for why, words in of_rules(reading)
    ]
    found += [Alert("note", "·", one_line(note, 400), one_line(note, 80)) for note in reading.notes]
    return worst_first(found)


def availability_notes(reading: Reading) -> tuple[str, ...]:
    """Return sentences on which problems are known to be absent and what is not known, with the views."""
    return tuple(alert.text for alert in clear_now(reading) + basis_not_known(reading))


def clear_now(reading: Reading) -> list[Alert]:
    """Return which problems are known to be absent, nothing if anything is wrong."""
    return [] if is_wrong(wrong(reading)) else all_clear(reading)


def unmentioned(reading: Reading, told: Iterable[str]) -> list[UnansweredQuery]:
    """Return the queries without an answer that have a cure, or whose view `told` does not name.

    While no view answers, a single sentence says so: then only those with a cure are returned.
    """
    text = " ".join(told)
    return [each for each in reading.troubles if each.cure or not (reading.is_silent() or each.view in text)]


def no_queue(reading: Reading) -> Line:
    """Return the line for an empty queue: the view that shows it as empty, the count, or why it is not known."""
    basis = next((each for each in reading.basis if each.what == "queue"), None)
    if queued := sum(reading.queued_by_group().values()):
        are = f"{counted(queued, 'statement')} {'is' if queued == 1 else 'are'} queued (by V$RSRC_CONSUMER_GROUP)"
        return ((f" ▲ {are}; which and why is not known{_because(basis)}.", "warn"),)
    if basis is None or basis.lacking:
        return ((f" ? Whether a statement is queued is not known{_because(basis)}.", "note"),)
    return ((f" ● Nothing is queued (by {', '.join(basis.views)}).", "good"),)


def queue_unavailable(reading: Reading) -> str:
    """Return why the queued statements cannot be seen, "" if they can."""
    basis = next((each for each in reading.basis if each.what == "queue"), None)
    return f"Not known{_because(basis)}." if basis is None or basis.lacking else ""


def _because(basis: Evidence | None) -> str:
    return f": {basis.lacking}" if basis is not None else ""


def _trouble(view: str, text: str, cure: str) -> Alert:
    line = f"{view}: {text}" if view not in text else text
    shorter = (line, _ASIDE.sub("", line), _ASIDE.sub("", line).partition(";")[0])
    short = next((each for each in shorter if len(each) <= _SHORT), line)
    return Alert("note", "!", one_line(f"{line}{' – ' + cure if cure else ''}", 400), one_line(short, _SHORT))


_SHORT = 60
"""Characters of the short words on a view that did not answer."""

_ASIDE = re.compile(r" \([^()]*\)")
"""The parts that these words may lose."""
