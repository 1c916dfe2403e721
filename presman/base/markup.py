"""Markup: elements of HTML and SVG as text, everything in them escaped unless it is markup already.

What comes out is well-formed XML, too: each element is closed, each attribute quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML and so no page of ours may have."""

_VOID = frozenset({"meta", "rect", "path", "line", "circle"})


class Markup(str):
    """Text that is markup: escaped where it had to be."""

    __slots__ = ()


def safe(text: str) -> Markup:
    """Return a text of anybody as markup that shows it."""
    return Markup(escape(_FORBIDDEN.sub("\ufffd", text), quote=True))


def element(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element; children that are no Markup are escaped, attributes that are None are left out.

    A trailing underscore of an attribute goes (`class_`), others become hyphens (`stroke_width`).
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-") if key != "viewBox" else key}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not children:
        return Markup(f"<{name}{told}/>")
    return Markup(f"<{name}{told}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Markup:
    """Return several pieces as one; those that are no Markup are escaped."""
    return Markup("".join(each if isinstance(each, Markup) else safe(each) for each in children))


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return value if isinstance(value, Markup) else safe(value)
    return f"{value:.1f}".removesuffix(".0")
