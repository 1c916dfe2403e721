"""README.md promises names; here the promise is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from presman.analysis.classic import COLUMNS
from presman.cli import codes
from presman.cli.arguments import COMMANDS, PARSERS
from presman.config import _OPTIONS
from presman.output.export import MEASURES
from presman.queries import variants

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("measure", MEASURES)
def test_every_csv_column_is_documented(measure: str) -> None:
    for name in MEASURES[measure].header():
        assert f"| `{name}` |" in README, name


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
    for name in ("OK", "INTERNAL", "USAGE", "SOURCE", "OUTPUT", "FINDINGS", "INTERRUPTED", "TERMINATED"):
        code = str(getattr(codes, name))
        assert re.search(rf"\b{code}\b", table), name
        assert re.search(rf"\b{code}\b", codes.HELP), name


def test_every_key_is_documented() -> None:
    actions = pytest.importorskip("presman.tui.actions")
    section = README.partition("## Keys")[2].partition("\n## ")[0]
    for action in actions.ACTIONS:
        assert f"`{action.shown}`" in section, action.name


def test_the_grants_are_those_of_the_queries() -> None:
    headers = [path.read_text(encoding="utf-8") for path in variants()]
    needed = {name for header in headers for name in re.findall(r"^-- needs: (\S+)$", header, re.MULTILINE)}
    section = README.partition("\n## Grants")[2].partition("\n## ")[0]
    named = set(re.findall(r"`((?:GV_\$|V_\$|DBA_)\w+)`", section))
    assert named == needed
    assert needed
