"""What is wrong, in full sentences, below the groups and above the queue."""

from __future__ import annotations

from collections.abc import Sequence

from presman.tui.alerts import Alert
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import Line, wrap


class Findings(LineView):
    """The alerts, wrapped; as high as they need, up to what the style sheet allows."""

    _found: tuple[Alert, ...] | None = None

    def show(self, found: Sequence[Alert]) -> None:
        """Show these alerts."""
        self._found = tuple(found)
        self._lay_out()

    def on_resize(self) -> None:
        """Wrap to the new width."""
        self._lay_out()

    def _lay_out(self) -> None:
        if self._found is None:
            return
        width = self.size.width or self.app.size.width
        lines: list[Line] = []
        for alert in self._found:
            lines += wrap(((f" {alert.glyph} ", alert.state), (alert.text, alert.state)), width, 3)
        height = max(1, len(lines))
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.show_lines(lines or [((" ● Nothing is wrong: no queue, no starved group, no downgrade.", "good"),)])
