"""The filter of terminals that have no Unicode: all signs that are painted, in ASCII."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from presman.base.ascii_signs import ascii_only


class AsciiFilter(LineFilter):
    """Replaces signs by their likeness, each in its cell, in whatever widget they are."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual passes it
        """Return the segments in ASCII."""
        return [Segment(ascii_only(text), style, control) for text, style, control in segments]
