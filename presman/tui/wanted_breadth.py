"""Breadth that is wanted of each poll: what is on show, and what is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presman.records.queries import of_measure

if TYPE_CHECKING:
    from presman.tui.csv_recording import CsvRecording
    from presman.tui.feed import Feed
    from presman.tui.tab_panels import TabPanels


def read_enough(feed: Feed, panels: TabPanels, recording: CsvRecording) -> None:
    """Have each poll read what the present tab shows and what is being written."""
    feed.widen(panels.present.tab.breadth | of_measure(recording.measure))
