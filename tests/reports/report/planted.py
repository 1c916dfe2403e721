"""Recordings with hostile text in every text column, and the pages made from them.

The columns are those of the records, so that a new one is among them by itself. A word of an enumeration that became
hostile hides what it stands for: so each round plants one text column of every view, one more all of them, and one
those of the recording's own tables.
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
"""What a script that runs leaves in its window."""

HARMLESS = "harmless "
"""What pages are made with to know what they are made of."""

_POLLS = 2
EVERY = -1
"""The round that plants all text columns."""


def attack(bait: str) -> str:
    """Return a text that wants to be script, style, link, frame or comment, and to have `bait` asked for."""
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
    """A page of presman and what it is of."""

    name: str
    text: str


def rounds() -> range:
    """Return the rounds of text columns: the first of each view, the second ..., and before them all at once."""
    most = max(len(_text_fields(each)) for each in by_query().values())
    return range(EVERY, most)


def pages_of_round(number: int, text: str, folder: Path) -> Iterator[PlantedPage]:
    """Yield the pages of a recording in whose views `text` stands in the columns of a round."""
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
    """Yield the pages of a recording whose own tables have `text` in every column of texts."""
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
    """Return the word by which the hostile text of a column is found on a page."""
    return f"[{record_type.__name__}.{name}]"


def _planted(snapshot: Snapshot, number: int, text: str) -> Snapshot:
    """Return a snapshot with `text` before what the text columns of a round and its own words say.

    A view without rows gets one, with one column hostile also those that are empty, so that each is somewhere.
    """
    sections: dict[RecordType, Section] = {}
    for each in by_query().values():
        section, names = snapshot.section(each), _text_fields(each)
        rows = section.rows or (() if number == EVERY else (null_row(each),))
        if number == EVERY:  # alike in all columns: what is joined by its name stays so
            told = [row._replace(**{name: text + old for name in names if (old := getattr(row, name))}) for row in rows]
        else:
            own = names[number : number + 1]
            told = [
                row._replace(**{name: label(each, name) + text + getattr(row, name) for name in own}) for row in rows
            ]
        problem = Problem(text, text, text, text) if number == 0 and not section.rows else section.problem
        sections[each] = replace(section, rows=tuple(told), problem=problem, at=section.at or snapshot.at)
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
            told = csv.writer(file)
            told.writerow(measure.header())
            told.writerows([cell(value) for value in row] for _, reading in moments for row in measure.tidy(reading))
        with suppress(ChartError):  # no value in any of its rows, whatever its texts are
            found = read_series(path)
            yield PlantedPage(f"chart of {measure.name}, {name}", chart_page(clean(text), found, START))
