"""Page of the columns of `presman fleet` and `presman status`, generated from their figures."""

from __future__ import annotations

from docs.file_pages import csv_table
from docs.markdown import page
from presman.figures.fleet_figures import FLEET, WRITTEN
from presman.figures.status_figures import RUNS


def fleet_page() -> str:
    """Return the page of the columns of fleet and status."""
    trends = [figure for figure in FLEET.columns if figure.trend]
    return page(
        "Columns of fleet and status",
        "Every column of presman fleet and presman status: unit, view and formula, for screens, text, JSON and CSV.",
        "Fleet and status columns",
        "## Fleet",
        "`presman fleet`. Files have all columns, screens what there is room for.",
        csv_table([*WRITTEN, *trends]),
        "## Status",
        "`presman status`.",
        csv_table(RUNS.columns),
    )
