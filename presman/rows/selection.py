"""Takes a query of queries/ apart: which columns of its view it reads, for which field, and under what condition.

The query contract (one SELECT on one view, one item per field) keeps this simple.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from presman.rows.queries import Query, Scope

_BODY = re.compile(
    r"SELECT\s+(?P<list>.+?)\s+FROM\s+(?P<view>[\w$]+)(?:\s+WHERE\s+(?P<where>.+?))?(?:\s+GROUP\s+BY\s.+)?",
    re.I | re.S,
)
_ALIAS = re.compile(r"(?P<expression>.+?)\s+AS\s+(?P<field>\w+)", re.I | re.S)
_LITERAL = re.compile(r"'[^']*'|:\w+")
_WORD = re.compile(r'"[^"]+"|[A-Za-z_][\w$#]*')


class Selection(NamedTuple):
    """A query's parts. `fields` maps each field to the words in its expression, in upper case and unquoted: columns,
    and keywords and functions too. `view` is in upper case, `where` "" without a condition.
    """

    view: str
    fields: Mapping[str, frozenset[str]]
    where: str

    @property
    def words(self) -> frozenset[str]:
        """All words of select list and condition: a superset of the columns that are read."""
        return frozenset().union(*self.fields.values(), _words(self.where))


@cache
def selection(query: Query, scope: Scope = Scope.CLUSTER) -> Selection:
    """Return the parts of `query`. Raises ValueError if it is not one SELECT on one view."""
    found = _BODY.fullmatch(query.sql(scope).strip())
    if found is None:
        raise ValueError(f"{query.path}: not one SELECT on one view")
    items = [_ALIAS.fullmatch(item) or item for item in _split(found["list"])]
    fields = {
        (item if isinstance(item, str) else item["field"]).strip('"').lower(): _words(
            item if isinstance(item, str) else item["expression"]
        )
        for item in items
    }
    return Selection(found["view"].upper(), fields, found["where"] or "")


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip('"').upper() for word in _WORD.findall(_LITERAL.sub(" ", text)))


def _split(text: str) -> list[str]:
    """Split a select list at the commas outside of parentheses."""
    items, depth, item = [], 0, ""
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            items.append(item.strip())
            item = ""
        else:
            item += sign
    return [*items, item.strip()]
