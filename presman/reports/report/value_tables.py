"""Value tables: rows and figures as tables of a page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from presman.base.colours import GroupColours
from presman.base.formats import ABSENT
from presman.base.markup import Markup, element, joined
from presman.figures.figure import Figure, Table

MOST = 100
"""Rows that are shown of one table."""

_UNITS = {
    "seconds": "m:ss",
    "microseconds": "",
    "instant": "time of day",
    "percent": "%",
    "milliseconds": "ms",
}
_NO_UNIT = frozenset({"text", "word", "true or false", "number", "count", "microseconds"})


def value_table(
    table: Table[Any], rows: Sequence[Any], hidden: Collection[str], empty: str, colours: GroupColours
) -> Markup:
    """Return the rows of a table with the heads, units and words that the screens have, `empty` without rows."""
    shown = [each for each in table.columns if not each.trend and each.key not in hidden and not _bare(each, rows)]
    if not rows:
        return element("p", empty or table.empty, class_="none")
    heads = [_head(each) for each in shown]
    body = [element("tr", *(_cell(each, row, colours) for each in shown)) for row in rows[:MOST]]
    more = [f"{len(rows) - MOST} more rows are in the recording."] if len(rows) > MOST else []
    return element(
        "div",
        element("table", element("thead", element("tr", *heads)), element("tbody", *body)),
        *(element("p", text, class_="none") for text in more),
        class_="wide",
    )


def unit_of(figure: Figure[Any]) -> str:
    """Return what stands below a head: the unit as its figures are written, "" for none."""
    return "" if figure.unit.name in _NO_UNIT else _UNITS.get(figure.unit.name, figure.unit.name)


def _bare(figure: Figure[Any], rows: Sequence[Any]) -> bool:
    return all(figure.show(row) in {"", ABSENT} for row in rows)


def _head(figure: Figure[Any]) -> Markup:
    unit = unit_of(figure)
    under = [element("small", unit)] if unit else []
    return element("th", figure.head, *under, title=figure.help, class_=figure.align)


def group_name(name: str, colours: GroupColours, con_id: int | None = None) -> str:
    """Return the name of a consumer group with its colour before it, if it has one."""
    style = colours.style(name, con_id)
    return joined([element("b", "■\u00a0", class_=style), element("span", name)]) if style else name


def _cell(figure: Figure[Any], row: Any, colours: GroupColours) -> Markup:
    state = figure.state(row) if figure.state is not None else ""
    text = figure.show(row)
    if figure.key == "consumer_group":
        text = group_name(text, colours, getattr(row, "con_id", None))
    return element("td", text, class_=f"{figure.align} {state}".strip())
