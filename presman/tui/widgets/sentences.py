"""Sentences wrapped to the width; as high as they need, up to what the style sheet allows."""

from __future__ import annotations

from collections.abc import Sequence

from presman.drawing.lines import Line, wrap
from presman.tui.widgets.line_view import LineView

_INDENT = 3


class Sentences(LineView):
    """Lines that are wrapped anew when the width changes. Their height goes in steps, so that what is below stays."""

    _sentences: Sequence[Line] = ()

    def __init__(self, *, id: str, step: int = 1) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._step = step

    def show(self, sentences: Sequence[Line]) -> None:
        """Show these sentences."""
        self._sentences = sentences
        self._wrap()

    def on_resize(self) -> None:
        """Wrap to the new width."""
        if self._sentences:
            self._wrap()

    def _wrap(self) -> None:
        width = self.size.width or self.app.size.width
        self.fit_lines([part for line in self._sentences for part in wrap(line, width, _INDENT)], self._step)
