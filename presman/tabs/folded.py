"""Words in the titles of tables for rows that are folded into others."""

from __future__ import annotations

from collections.abc import Sequence

from presman.analysis.folds import folded_servers
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import QueuedStatement
from presman.figures.statement_figures import stands_for


def servers_folded(rows: Sequence[SessionReading]) -> str:
    """Return what is said of parallel servers under their coordinators, "" where there are none."""
    number = sum(map(folded_servers, rows))
    return f"{number} parallel server{'s' * (number != 1)} folded: u unfolds" if number else ""


def statements_folded(rows: Sequence[QueuedStatement]) -> str:
    """Return what is said of identical statements in one row, "" where there are none."""
    number = sum(map(stands_for, rows))
    return f"in {len(rows)} row{'s' * (len(rows) != 1)}, identical ones folded: u unfolds" if number > len(rows) else ""
