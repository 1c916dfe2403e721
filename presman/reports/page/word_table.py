"""Word table: texts as a table of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from presman.base.markup import Markup, element


def word_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """Return a table of texts."""
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    head = element("thead", element("tr", *(element("th", each) for each in heads)))
    return element("div", element("table", head, element("tbody", *body)), class_="wide")
