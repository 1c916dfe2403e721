"""Widgets that make each line when it is asked for, instead of all at once."""

from __future__ import annotations

from typing import Self

from textual.geometry import Region
from textual.widget import Widget


class ByLine(Widget):
    """A widget that has `render_line`, and says itself which parts of it changed.

    Beside another base it is named last: Textual takes its styles from the first.
    """

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Have these parts painted anew; all of it without one."""
        # Textual notes them until the widget is rendered as a whole, which this one never is: they would add up.
        self._dirty_regions.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
