"""View of a fleet while databases are opened and left. What is kept between runs: :mod:`presman.tui.kept_view`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class FleetView:
    """Filter and cursor. `cursor` is the name of a database, None for the worst, `row` that at the top of the screen.

    `theme` is the one of the command line.
    """

    filter: str = ""
    cursor: str | None = None
    row: int = 0
    theme: str | None = None
