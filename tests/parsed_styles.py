"""Style sheets of Textual, parsed once for all apps of a test run: a fifth of what it takes to start one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.css.stylesheet import Stylesheet

_parsed: dict[tuple[Any, ...], Any] = {}

by_each: Callable[..., Any] | None = getattr(Stylesheet, "_parse_rules", None)
"""How each app parses them for itself, for tests of what comes of that."""


def share() -> None:
    """Have all apps share what was parsed; one of other colours has other variables."""
    parse = by_each
    if parse is None:  # a name of Textual's own: without it all is slower, and no more
        return

    def parse_once(sheet: Stylesheet, *given: Any, **named: Any) -> Any:
        key = (tuple(getattr(sheet, "_variables", {}).items()), given, tuple(named.items()))
        if key not in _parsed:
            _parsed[key] = parse(sheet, *given, **named)
        return _parsed[key]

    Stylesheet._parse_rules = parse_once  # type: ignore[method-assign,assignment]
