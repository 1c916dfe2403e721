"""README.md promises names; here the promise is kept."""

from __future__ import annotations

import re
from json import loads
from pathlib import Path
from typing import Any

import pytest

from docs.make import PROOF, REFERENCE, SHELL, proof, readme, reference, shell_files
from presman.classic.classic_tables import COLUMNS
from presman.cli import exit_codes
from presman.cli.arguments import COMMANDS, PARSERS
from presman.config.config_file import _OPTIONS
from presman.output.csv_export import MEASURES
from presman.tabs import tab, tab_names
from tests.cli.run import Run
from tests.scenarios import with_short_past

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_make_docs_writes_is_as_it_would_be_now() -> None:
    assert readme() == README, "run make docs"
    assert proof() == PROOF.read_text(encoding="utf-8"), "run make docs"
    assert reference() == REFERENCE.read_text(encoding="utf-8"), "run make docs"
    assert shell_files() == {path.name: path.read_text(encoding="utf-8") for path in SHELL.iterdir()}, "run make docs"


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_is_documented(measure: str) -> None:
    section = README.partition("## CSV")[2].partition("\n## ")[0]
    assert f"| `{measure}` |" in section


def test_the_json_field_of_a_figure_is_in_the_document(inside: Run) -> None:
    found: set[str] = set()
    for scenario in ("storm", "pdb"):
        document = loads(inside("once", f"demo:{with_short_past(scenario)}", "--format", "json").stdout)
        for shown in {table.key: table for name in tab_names() for table in tab(name.name).tables}.values():
            rows = follow(document, shown.json) if shown.json else None
            for figure in shown.columns if rows else ():
                if figure.path:
                    found.add(figure.path)
                    assert all(has(row, figure.path) for row in rows or ()), (shown.json, figure.path)
    assert len(found) > 80


def follow(document: Any, path: str) -> Any:
    for name in path.split("."):
        document = document[name]
    return document


def has(row: Any, path: str) -> bool:
    """Whether a path of names leads somewhere, or to something that is null."""
    for name in path.split("."):
        if row is None:
            return True
        if name not in row:
            return False
        row = row[name]
    return True


def test_every_column_of_1_x_is_documented_with_its_index() -> None:
    for columns in COLUMNS.values():
        for index, name in enumerate(columns):
            assert f"{index} `{name}`" in README


def test_every_command_and_option_is_documented() -> None:
    for command in COMMANDS:
        assert f"`presman {command}" in README
    for make in PARSERS.values():
        for option in make()._option_string_actions:
            if option not in {"-h", "--output"}:
                assert re.search(rf"(?<![-\w]){option}(?![-\w])", README), option


def test_every_option_of_the_configuration_is_documented() -> None:
    section = README.partition("## config.ini")[2].partition("\n## ")[0]
    for option in _OPTIONS:
        assert f"`{option}`" in section, option


def test_every_exit_code_is_documented() -> None:
    table = README.partition("### Exit codes")[2].partition("###")[0]
    for name in (
        "OK",
        "INTERNAL",
        "USAGE",
        "SOURCE",
        "OUTPUT",
        "FINDINGS",
        "PARTIAL",
        "HUNG_UP",
        "INTERRUPTED",
        "TERMINATED",
    ):
        code = str(getattr(exit_codes, name))
        assert re.search(rf"\b{code}\b", table), name
        assert re.search(rf"\b{code}\b", exit_codes.HELP), name
