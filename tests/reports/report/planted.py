"""Recordings with hostile text in every text column, and the pages made from them.

The columns are those of the records, so that new ones are included by themselves. Hostile text in a column with fixed
words hides the rows that depend on the word. So each round changes one text column of every view, one further round
changes all of them, and one those of the recording's own tables.
"""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace
from sqlalchemy import Text

from presman.analysis.assemble import analyse
from presman.base.text import clean
from presman.figures.measures import MEASURES
from presman.output.cells import cell
from presman.recording.reader import Recording
from presman.recording.schema import METADATA
from presman.reports.compare.compare_page import compare_page
from presman.reports.compare.comparison import RecordingWindow, compare
from presman.reports.file_series import ChartError, read_series
from presman.reports.report.incident import gather
from presman.reports.report.incident_page import incident_page
from presman.reports.series_chart import chart_page
from presman.rows.queries import RecordType, by_query, field_types, null_row
from presman.rows.snapshot import Problem, Section, Snapshot
from tests.recording.recorded import START, Moment, polled, record

RAN = "planted"
"""The name that a script leaves in its window if it runs."""

HARMLESS = "harmless "
"""A harmless text, with which pages are made for comparison."""

_POLLS = 2
EVERY = -1
"""The round that changes all text columns."""


def attack(bait: str) -> str:
    """Return a text that tries to become script, style, link, frame or comment, and to load `bait`."""
    do = f"{RAN}=1;fetch('{bait}run')"
    return (
        f'"\'><svg onload="{do}"></title></style></script></textarea>--></svg><script>{do}</script>'
        f'<img src={bait}img onerror="{do}"><a href="javascript:{do}" autofocus onfocus="{do}" onmouseover="{do}">'
        f"<iframe src=\"javascript:{do}\"></iframe><iframe srcdoc='<script src={bait}frame></script>'></iframe>"
        f"<style>@import url({bait}style);*{{background:url({bait}ground)}}</style><link rel=stylesheet href={bait}l>"
        f"<base href={bait}base><meta http-equiv=refresh content='9;url={bait}refresh'><object data={bait}object>"
        f"<video src={bait}video><!-- ]]><![CDATA[ &lt;script&gt;{do}&lt;/script&gt; &#60;img src={bait}twice&#62;"
        f"\u2028{do}//\u2029\0\x1b]0;\x07\u202e javascript:{do} "
    )


class PlantedPage(NamedTuple):
    """A page of presman with its name."""

    name: str
    text: str


def rounds() -> range:
    """Return the rounds: all text columns at once, the first column of each view, the second, and so on."""
    most = max(len(_text_fields(each)) for each in by_query().values())
    return range(EVERY, most)


def pages_of_round(number: int, text: str, folder: Path) -> Iterator[PlantedPage]:
    """Yield the pages of a recording with `text` in the columns of a round."""
    path = _path(folder, text)
    previous, moments = None, []
    for snapshot, _ in polled("mixed", _POLLS):
        hostile = _planted(snapshot, number, text)
        moments.append((hostile, analyse(previous, hostile)))
        previous = hostile
    record(path, moments, f"demo:{text}")
    name = "all text columns" if number == EVERY else f"text column {number + 1} of each view"
    yield from _pages(path, name)
    if number == EVERY:
        yield from _charts(moments, folder, name, text)


def pages_of_tables(text: str, folder: Path) -> Iterator[PlantedPage]:
    """Yield the pages of a recording whose own tables have `text` in every text column."""
    path = _path(folder, text)
    record(path, list(polled("mixed", _POLLS)))
    with closing(sqlite3.connect(path)) as file, file:
        for table in METADATA.sorted_tables:
            for column in table.columns:
                if isinstance(column.type, Text) and table.name != "meta":
                    file.execute(f'UPDATE "{table.name}" SET "{column.name}" = ? || "{column.name}"', (text,))
    yield from _pages(path, "tables")


def text_columns() -> Iterator[tuple[RecordType, str]]:
    """Yield every text column that presman reads."""
    for each in by_query().values():
        yield from ((each, name) for name in _text_fields(each))


def label(record_type: RecordType, name: str) -> str:
    """Return the word that identifies the hostile text of a column on a page."""
    return f"[{record_type.__name__}.{name}]"


def _planted(snapshot: Snapshot, number: int, text: str) -> Snapshot:
    """Return a snapshot with `text` before the values of a round's text columns and of its own texts.

    A view without rows gets one row. In a round of one column, empty values get the text, too, so that it occurs.
    """
    sections: dict[RecordType, Section] = {}
    for each in by_query().values():
        section, names = snapshot.section(each), _text_fields(each)
        rows = section.rows or (() if number == EVERY else (null_row(each),))
        if number == EVERY:  # the same in all columns, so that joins by name still work
            new = [row._replace(**{name: text + old for name in names if (old := getattr(row, name))}) for row in rows]
        else:
            own = names[number : number + 1]
            new = [
                row._replace(**{name: label(each, name) + text + getattr(row, name) for name in own}) for row in rows
            ]
        problem = Problem(text, text, text, text) if number == 0 and not section.rows else section.problem
        sections[each] = replace(section, rows=tuple(new), problem=problem, at=section.at or snapshot.at)
    return replace(snapshot, sections=MappingProxyType(sections), notes=(text,), cloud_service=text if number else "")


def _text_fields(record_type: RecordType) -> list[str]:
    return [name for name, (kind, _) in field_types(record_type).items() if kind is str]


def _path(folder: Path, text: str) -> Path:
    return folder / f"{text.replace('/', '').replace(chr(0), '')[:180]}.presman"


def _pages(path: Path, name: str) -> Iterator[PlantedPage]:
    with Recording(str(path)) as recording:
        playback = recording.playback()
        yield PlantedPage(f"report, {name}", incident_page(gather(recording, playback, playback.indexes()), START))
        middle = playback.at(_POLLS // 2).isoformat()
    windows = (RecordingWindow(str(path), None, "", middle), RecordingWindow(str(path), None, middle, ""))
    yield PlantedPage(f"compare, {name}", compare_page(compare(*windows), START))
    path.unlink()


def _charts(moments: list[Moment], folder: Path, name: str, text: str) -> Iterator[PlantedPage]:
    """Yield the page of a chart of each measure that has a subject."""
    path = folder / "chart.csv"
    for measure in MEASURES.values():
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(measure.header())
            writer.writerows([cell(value) for value in row] for _, reading in moments for row in measure.tidy(reading))
        with suppress(ChartError):  # none of its rows has a value
            found = read_series(path)
            yield PlantedPage(f"chart of {measure.name}, {name}", chart_page(clean(text), found, START))
