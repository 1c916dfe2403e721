"""The panel of the tab Top: where its tables of SQL stand one below the other, they share their lines by need."""

from __future__ import annotations

from presman.tabs.parts import Moment
from presman.tui.panels.panel import Panel
from presman.tui.panels.shared_panel import share, wanted_by
from presman.tui.widgets.grid import Grid


class TopPanel(Panel):
    """Lays out the parts by its style sheet, but for the lines of the tables of SQL."""

    def show(self, moment: Moment) -> None:
        """Fill the widgets."""
        super().show(moment)
        self.call_after_refresh(self._share)

    def on_resize(self) -> None:
        """Share out another number of lines."""
        self.call_after_refresh(self._share)

    def _share(self) -> None:
        box = self.query_one("#top-sql")
        grids = [grid for grid in box.query(Grid) if grid.display]
        if self.screen.has_class("-wide") or not box.size.height or len(grids) < 2:
            heights: list[int | str] = ["1fr"] * len(grids)
        else:
            room = box.size.height - sum(grid.styles.margin.height for grid in grids)
            wanted = [wanted_by(grid, self.size.width, room, room // len(grids)) for grid in grids]
            heights = list(share(room, wanted, 0))
        for grid, height in zip(grids, heights, strict=True):
            before = grid.styles.height
            if before is None or str(before) != str(height):
                grid.styles.height = height
