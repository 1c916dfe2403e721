"""Figures: each has one definition under its key, and screen, text and files agree."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from inspect import get_annotations
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from msgspec.structs import replace

from docs.json_page import objects
from presman import figures, tabs, tui
from presman.analysis.readings.group_readings import Verdict
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import DopFacts
from presman.base.measure_names import MEASURES as NAMES
from presman.figures.drawing.columns import fit_columns
from presman.figures.figure import COUNT, CPUS, WORD, Figure, Table
from presman.figures.group_figures import GROUPS, OVERVIEW
from presman.figures.io_figures import MB_BAR
from presman.figures.measures import COMMON, MEASURES
from presman.figures.statement_figures import HOLDERS, QUEUED, running_state
from presman.output.cells import cell
from tests.output.readings import group, reading
from tests.tui.readings import busy, running

KEY = re.compile(r"[a-z][a-z0-9_]*")


def all_tables() -> Iterator[tuple[Table[Any], type[Any]]]:
    """Every table of screens and texts, in any module, with the record of its rows."""
    for package in (figures, tabs, tui):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            names = [name for name in get_annotations(module) if isinstance(vars(module).get(name), Table)]
            for name in names:
                (record,) = get_args(get_type_hints(module)[name])
                yield vars(module)[name], record


RECORDS = {table.key: record for table, record in all_tables()}
TABLES = sorted((table for table, _ in all_tables()), key=lambda table: table.key)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key)
def test_each_column_is_complete_named_once_and_fits(table: Table[Any]) -> None:
    keys = [figure.key for figure in table.columns]
    assert len(keys) == len(set(keys))
    heads = [figure.head for figure in table.columns if figure.head]
    assert len(heads) == len(set(heads)), "help would explain one name twice"
    for figure in table.columns:
        assert KEY.fullmatch(figure.key), figure.key
        assert figure.head or table.key.startswith("choose_"), "on no page of help, unlike any other"
        assert figure.help.endswith((".", ")")) or figure.help[-1].isalnum(), figure.key
        assert figure.width >= len(figure.head) or figure.width >= 3
    assert not table.order or table.column(table.order).sort is not None
    assert table.empty.endswith(".")
    places = [path for path, kind in objects().items() if kind is RECORDS[table.key] and path.endswith("[]")]
    assert all(path == f".{table.json}[]" for path in places), f"give the table json= one of {places}"
    fitted = {figure.key for figure, _ in fit_columns(table.columns, 398, (), {})}
    assert fitted == {*keys}, "a column that never fits would be only in CSV and help: it must be further to the left"


def test_each_table_has_its_own_key() -> None:
    """A table made without the type of its rows (`NAME: Table[Record] = ...`) is not found."""
    assert len(RECORDS) == len(TABLES)
    modules = [module for name, module in sys.modules.items() if name.startswith("presman.")]
    made = {id(each) for module in modules for each in vars(module).values() if isinstance(each, Table)}
    assert made == {id(each) for each in TABLES}


def test_a_key_has_one_meaning_for_the_same_records() -> None:
    """In a measure and in the tables of the same records a key has one unit and one way to its value."""
    meanings: dict[tuple[str, str], set[tuple[str, Any]]] = defaultdict(set)
    for measure, table in (("cpu", "cpu"), ("session_io", "io"), ("parallel", "parallel_groups"), ("queue", "queue")):
        own = next(each for each in TABLES if each.key == table)
        for figure in (*MEASURES[measure].figures, *own.columns):
            meanings[measure, figure.key].add((figure.unit.name, figure.of))
    assert {place: found for place, found in meanings.items() if len(found) > 1} == {}


def test_the_measures_match_the_list_of_names() -> None:
    assert set(MEASURES) == set(NAMES)
    for measure in MEASURES.values():
        assert measure.help == NAMES[measure.name]
        header = measure.header()
        assert len(header) == len(set(header))
        assert header[: len(COMMON)] == ["time", "database", "interval_s"]


def test_screen_and_file_have_one_value() -> None:
    row = group("BATCH")._replace(used=2.94, verdict=Verdict.CONTENDED)
    assert GROUPS["used_cpus"].value(row) == 2.94
    assert (GROUPS["used_cpus"].show(row), cell(GROUPS["used_cpus"].value(row))) == ("2.9", "2.94")
    assert (GROUPS["verdict"].show(row), cell(GROUPS["verdict"].value(row))) == (
        "▬ contended, entitlement met",
        "contended",
    )


def test_a_path_ends_at_the_first_none() -> None:
    without = group("BATCH")._replace(io=None)
    assert (MB_BAR.value(without), MB_BAR.show(without), MB_BAR.path) == (None, "-", "io.mb")


def test_a_unit_formats_values() -> None:
    doubled: Figure[float] = Figure("twice", "twice", CPUS, "Twice.", lambda row: 2 * row)
    assert (doubled.value(1.5), doubled.show(1.5), doubled.path, doubled.align) == (3.0, "3.0", "", "right")
    worded: Figure[Reading] = Figure("word", "word", WORD, "A word.", lambda _: None)
    assert worded.show(reading()) == "-"
    assert Figure("n", "a long head", COUNT, "n", len).width == len("a long head")


def test_a_state_shows_forty_characters_of_an_event() -> None:
    assert running_state(running(event="e" * 40)) == f"● {'e' * 40}"
    assert running_state(running(event="e" * 41)) == f"● {'e' * 39}…"


def test_words_are_sorted_as_shown() -> None:
    assert GROUPS["verdict"].sort is not None
    assert GROUPS["verdict"].sort(group("A")) == group("A").verdict.value
    assert OVERVIEW.column("io_trend").sort is None


WIDTHS = Path(__file__).parent / "columns_by_width.txt"
"""Which columns each table has at 40 (beside another) to 400 cells (there it has all), and how wide they are.

PRESMAN_UPDATE_GOLDEN=1 makes it anew: read the diff.
"""


def columns_by_width(table: Table[Any]) -> Iterator[str]:
    """The table's order and its unsortable columns; then its headings, with all texts short and with all long.

    A cell on each side of a table is the screen's.
    """
    fixed = ", ".join(figure.head or figure.key for figure in table.columns if figure.sort is None)
    order = f"by {table.column(table.order).head}{' ▼' if table.descending else ''}" if table.order else "as it comes"
    yield f"{table.key}: {order}{'; never by ' if fixed else ''}{fixed}"
    for width in (40, 60, 80, 120, 200, 400):
        for texts, length in (("short", 0), ("long", 999)):
            needed = {figure.key: length for figure in table.columns}
            fitted = fit_columns(table.columns, width - 2, (), needed)
            yield f"{width:5} {texts:5}  " + ", ".join(f"{figure.head or '-'} {size}" for figure, size in fitted)


def test_the_columns_of_a_table_at_each_width() -> None:
    text = "\n".join(line for table in TABLES for line in columns_by_width(table)) + "\n"
    if os.environ.get("PRESMAN_UPDATE_GOLDEN"):
        WIDTHS.write_text(text, encoding="utf-8")
    assert text == WIDTHS.read_text(encoding="utf-8")


@pytest.mark.parametrize("figure", [QUEUED["dop_reason"], HOLDERS["dop_reason"]])
def test_a_degree_without_a_reason_shows_what_it_was_derived_from(figure: Any) -> None:
    row = replace(busy().queue[0], dop=DopFacts(24, cpu_degree=24, io_degree=19))
    assert (figure.show(row), figure.sort(row)) == ("auto: CPU 24, I/O 19",) * 2
    assert figure.value(row) == "", "a file has Oracle's words alone"
    assert figure.show(replace(row, dop=DopFacts())) == "-"


@pytest.mark.parametrize("table", ["queue", "running"])
def test_statements_are_sorted_by_session_as_numbers_are(table: str) -> None:
    sort = next(each for each in TABLES if each.key == table).column("session").sort
    assert sort is not None
    row = busy().queue[0] if table == "queue" else busy().running[0]
    rows = [replace(row, inst_id=inst, sid=sid) for inst, sid in ((2, 5), (1, 1000), (1, 99))]
    assert [(each.inst_id, each.sid) for each in sorted(rows, key=sort)] == [(1, 99), (1, 1000), (2, 5)]
