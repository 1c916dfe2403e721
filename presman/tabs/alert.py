"""Alert: one thing to know."""

from __future__ import annotations

from typing import NamedTuple

from presman.figures.figure import State


class Alert(NamedTuple):
    """One thing to know: how bad, its glyph, the sentence, and a shorter form for one line among others."""

    state: State
    glyph: str
    text: str
    short: str
