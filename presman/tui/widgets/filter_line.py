"""The line a filter is typed in. Imported when the filter key is first pressed."""

from __future__ import annotations

from textual.widgets import Input


class FilterLine(Input):
    """One line above the keys."""

    def __init__(self) -> None:
        super().__init__(
            id="filter", placeholder="text to show, !text to hide; Enter keeps it, Esc clears it", compact=True
        )

    def begin(self, text: str) -> None:
        """Appear with the present filter, ready to be typed in."""
        self.display = True
        self.value = text
        self.focus()
