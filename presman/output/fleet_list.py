"""A fleet without a screen: the databases as text, JSON or CSV, those in trouble first."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from textwrap import wrap
from typing import Any

from presman import __version__
from presman.analysis.fleet import ConnectionState, Member, counts, is_seen
from presman.base.formats import counted
from presman.figures.drawing.lines import fit
from presman.figures.fleet_figures import FLEET, WRITTEN, why
from presman.output.cells import instant, lines, table
from presman.output.json_document import plain, written

FORMAT = 1
"""The version of the document; it grows when a name changes its meaning or is removed. New names do not change it."""


def summary(found: Counter[ConnectionState]) -> str:
    """Return the number of databases in each state: ``3 databases: 2 live, 1 lost``."""
    states = ", ".join(f"{found[state]} {state.value.lower()}" for state in ConnectionState if found[state])
    return f"{counted(sum(found.values()), 'database')}{': ' if states else ''}{states}"


def text(name: str, members: Sequence[Member], width: int | None = None) -> str:
    """Return the fleet as a table below a line with the counts. Ends in a newline."""
    totals = summary(counts(members))
    head = [f"{name}  {totals}"] if width is None or len(name) + 2 + len(totals) <= width else [name, totals]
    body = table(FLEET.columns, members, width) if members else [FLEET.empty]
    lines = [*head, "", *body]
    if width is not None:
        lines = [fit(line, width).rstrip() for line in lines]
    lines += _cut_reasons(members, "\n".join(lines), width)
    return "\n".join(lines) + "\n"


def _cut_reasons(members: Sequence[Member], shown: str, width: int | None) -> list[str]:
    """Return the full reasons why databases do not answer or are not seen as a whole, if the table cuts them."""
    cut = [each for each in members if not is_seen(each) and why(each) not in shown]
    reasons = [f"{each.name}: {why(each)}" for each in cut]
    if width is not None:
        reasons = [line for each in reasons for line in wrap(each, max(width, 20), subsequent_indent="  ")]
    return ["", *reasons] if reasons else []


def csv(members: Sequence[Member], at: datetime | None = None) -> str:
    """Return the fleet as CSV: a header line, and one line for each database."""
    now = at or datetime.now(UTC)
    header = ["time", *(figure.key for figure in WRITTEN)]
    return lines([header, *([now, *(figure.value(each) for figure in WRITTEN)] for each in members)])


def dump(name: str, members: Sequence[Member], at: datetime | None = None, *, ascii_only: bool = False) -> str:
    """Return the fleet as a JSON document that ends in a newline."""
    document = {
        "format": FORMAT,
        "presman": __version__,
        "fleet": name,
        "time": instant(at or datetime.now(UTC)),
        "databases": [_database(each) for each in members],
    }
    return written(document, ascii_only=ascii_only)


def _database(member: Member) -> dict[str, Any]:
    return {figure.key: plain(figure.value(member)) for figure in WRITTEN} | {"past": plain(member.past)}
