"""Generated parts of the documents are up to date, and everything promised by name exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from docs.json_page import BY_HAND, ROOT, objects
from docs.make import TABS, written
from presman.analysis.assemble import analyse
from presman.analysis.plans import lint
from presman.cli import exit_codes
from presman.figures.measures import MEASURES
from presman.output.json_document import assess, document, names
from presman.output.v1_tables import COLUMNS
from presman.polling.poller import Poller
from presman.sources.simulator_source import SimulatorSource
from presman.tabs import tab, tab_names
from tests.analysis.test_simulated import Clock
from tests.docs.pages import named, text_of
from tests.scenarios import with_short_past


def test_written_documents_are_up_to_date() -> None:
    stale = [named(path) for path, text in written().items() if not path.exists() or path.read_text("utf-8") != text]
    assert stale == [], "run make docs"
    assert set(TABS.glob("*.md")) <= set(written()), "a page of a tab that is gone"


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_is_documented(measure: str) -> None:
    assert f"| `{measure}` |" in text_of("docs/export.md")


def test_every_column_of_1_x_is_documented_with_its_index() -> None:
    page = text_of("docs/upgrading.md")
    for columns in COLUMNS.values():
        for index, name in enumerate(columns):
            assert f"{index} `{name}`" in page


def test_every_exit_code_is_documented() -> None:
    table = text_of("docs/targets.md").partition("## Exit codes")[2].partition("##")[0]
    codes = {name: value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert len(codes) == 11
    for name, code in codes.items():
        assert re.search(rf"\b{code}\b", table), name
        assert re.search(rf"\b{code}\b", exit_codes.HELP), name


def test_every_rule_of_the_linter_is_documented() -> None:
    found = {rule.key for rule in (*lint.RULES, *lint.CDB_RULES)}
    found |= set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', Path(lint.__file__).read_text("utf-8")))  # those of no rule
    assert len(found) > 20
    assert {rule for rule in found if f"`{rule}`" not in text_of("docs/plan.md")} == set()


@cache
def documents() -> tuple[dict[str, Any], ...]:
    """Return the documents of two scenarios that have most of what there is."""
    return tuple(_document(scenario) for scenario in ("storm", "pdb"))


def _document(scenario: str) -> dict[str, Any]:
    clock = Clock()
    start = datetime(2026, 3, 14, 9, tzinfo=UTC)
    poller = Poller(SimulatorSource(with_short_past(scenario), clock=clock, start=start))
    poller.open()
    previous = poller.poll()
    clock.now += 2.0
    current = poller.poll()
    poller.close()
    reading = analyse(previous, current)
    return document(reading, assess(reading, previous, current))


def follow(found: Any, path: str) -> Iterator[Any]:
    """Yield what stands at a path such as `.groups[].io`, nulls left out."""
    name, _, rest = path.lstrip(".").partition(".")
    if found is None or not path:
        yield from () if found is None else (found,)
    elif name.endswith("[]"):
        for each in found[name[:-2]] or ():
            yield from follow(each, rest)
    else:
        yield from follow(found[name], rest)


def has(row: Any, path: str) -> bool:
    """Whether a path of names leads somewhere, or to something that is null."""
    for name in path.split("."):
        if row is None:
            return True
        if name not in row:
            return False
        row = row[name]
    return True


def test_the_json_field_of_a_figure_is_in_the_document() -> None:
    found: set[str] = set()
    for each in documents():
        for shown in {table.key: table for name in tab_names() for table in tab(name.name).tables}.values():
            rows = list(follow(each, f"{shown.json}[]")) if shown.json else []
            for figure in shown.columns if rows else ():
                if figure.path:
                    found.add(figure.path)
                    enough = any if figure.path.startswith("amounts.") else all  # those that another view shows
                    assert enough(has(row, figure.path) for row in rows), (shown.json, figure.path)
    assert len(found) > 80


def test_the_page_of_json_has_the_fields_of_the_document() -> None:
    met = set()
    for each in documents():
        for path, kind in objects().items():
            for row in [] if path == ROOT else follow(each, path):
                met.add(path)
                assert set(row) == set(names(kind)), path
    assert len(met) > 40
    (storm, _) = documents()
    page = text_of("docs/reference/json.md")
    top = page.partition("## `.header`")[0]
    assert {name for name in storm if f"`{name}`" not in top} - BY_HAND == {"format", "presman"}
