"""The page of I/O outliers, read on request only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presman.base.formats import clock
from presman.figures.drawing.lines import Line
from presman.figures.histogram_figures import OUTLIERS
from presman.tui.pages.content import Content

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading
    from presman.analysis.readings.wait_readings import OutlierReading

CAUTION = (
    "On some platforms the latency column of these views is not a latency (its values only grow). presman compares "
    "the rows with each other and with the histogram of the waits, and shows no latency that is impossible."
)


def outliers_page(width: int) -> Content:
    """Return the page; it fills as soon as the views have answered."""

    def content(reading: Reading | None) -> list[Line]:
        lines: list[Line] = [((" I/O outliers", "title"),), ((f" {CAUTION}", "dim"),), ()]
        if reading is None:
            return lines
        troubles = [trouble for trouble in reading.troubles if trouble.query in ("io_outlier", "lgwrio_outlier")]
        for trouble in troubles:
            lines += [((f" {trouble.view}: {trouble.text} {trouble.cure}", "warn"),), ()]
        if not reading.outliers and not troubles:
            lines.append(((" asked; the answer comes with the next poll (the views exist from 12.1 on)", "dim"),))
        for each in reading.outliers:
            lines += _view(each, width)
        return lines

    return content


def _view(found: OutlierReading, width: int) -> list[Line]:
    from presman.output.text_table import table

    head: Line = ((f" {found.view}", "title"), (f"  rows: {len(found.rows)}, asked at {clock(found.at)}", "dim"))
    lines: list[Line] = [head, *(((f" ▲ not plausible: {why}", "warn"),) for why in found.doubts)]
    if not found.rows:
        return [*lines, ((f" {OUTLIERS.empty}", "dim"),), ()]
    columns = [column for column in OUTLIERS.columns if column.key != "view"]
    return [*lines, *(((f" {text}", ""),) for text in table(columns, found.rows, max(40, width - 6))), ()]
