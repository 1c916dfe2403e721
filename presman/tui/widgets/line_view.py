"""A fixed block of lines: header, alerts, tabs, keys and charts are all this."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Region
from textual.strip import Strip

from presman.figures.drawing.lines import Line, changes, pad
from presman.tui.widgets.line_api import LineApiWidget


class LineView(LineApiWidget):
    """Shows lines; sends only the parts that changed."""

    ground = ""
    """The background: "" or "panel"."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, classes=classes)
        self._lines: tuple[Line, ...] = ()
        self._shown: list[Line] = []
        self._shown_width = 0

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines; more than the height are cut."""
        if tuple(lines) == self._lines:
            return
        self._lines = tuple(lines)
        width = self.size.width
        if not self._shown or self._shown_width != width or len(self._shown) != self.size.height:
            self._shown = []
            self.refresh()
            return
        height = self.size.height
        padded = [self._padded(y, width) for y in range(height)]
        regions = []
        for y, line in enumerate(padded):
            before = self._shown[y] if y < len(self._shown) else ()
            regions += [Region(x, y, span, 1) for x, span in changes(before, line, width)]
        self._shown = padded
        if regions:
            self.refresh(*regions)

    def fit_lines(self, lines: Sequence[Line], step: int = 1) -> None:
        """Show these lines at the height they need, rounded up to `step` so that what is below seldom moves."""
        height = max(1, -(-len(lines) // step) * step)
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.show_lines(lines)

    def _padded(self, y: int, width: int) -> Line:
        return pad(self._lines[y] if y < len(self._lines) else (), width)

    def render_line(self, y: int) -> Strip:
        """Return one line of the widget."""
        width = self.size.width
        if self._shown_width != width or len(self._shown) != self.size.height:
            self._shown_width = width
            self._shown = [self._padded(line, width) for line in range(self.size.height)]
        line = self._shown[y] if y < len(self._shown) else pad((), width)
        return self.strip(y, line, width, self.ground)

    def notify_style_update(self) -> None:
        """Forget what was drawn in other colours."""
        self._shown = []
        super().notify_style_update()
