"""Style sheets of Textual, parsed once for all apps of a test run; parsing takes a fifth of an app's start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.css.stylesheet import Stylesheet

_parsed: dict[tuple[Any, ...], Any] = {}

by_each: Callable[..., Any] | None = getattr(Stylesheet, "_parse_rules", None)
"""The original method, with which each app parses its own, for tests of the result."""


def share() -> None:
    """Let all apps share parsed style sheets; the key includes the variables, which differ with the colours."""
    parse = by_each
    if parse is None:  # a private name of Textual: without it the tests are only slower
        return

    def parse_once(sheet: Stylesheet, *given: Any, **named: Any) -> Any:
        key = (tuple(getattr(sheet, "_variables", {}).items()), given, tuple(named.items()))
        if key not in _parsed:
            _parsed[key] = parse(sheet, *given, **named)
        return _parsed[key]

    Stylesheet._parse_rules = parse_once  # type: ignore[method-assign,assignment]
