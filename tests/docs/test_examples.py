"""Examples in the documents: commands parse, files can be read, SELECTs run."""

from __future__ import annotations

import json
import re
import shlex
from argparse import Namespace
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from docs.contents import ROOT
from docs.markdown import spans
from presman.base.release import Release
from presman.cli.command_line import COMMANDS, parse, parser_of
from presman.cli.exit_codes import Failure
from presman.cli.parser import common
from presman.config.config_file import _OPTIONS, read_config
from presman.config.target import scenarios
from presman.recording.store import Store
from presman.rows.query_files import catalog
from presman.sources.embedded import EmbeddedDatabase
from presman.sources.simulator.loading import load_scenario
from tests.docs.pages import examples, named, pages, text_of

SHELL = {"", "sh"}
LANGUAGES = {"", "sh", "ini", "sql", "toml", "json", "text", "python"}
ENDS = {"|", ">", ">>", "<", "&&", ";", "||"}
"""What ends a command in a line of shell."""

FULL_HOUSE = "full-house.toml"


def test_every_block_says_its_language() -> None:
    assert {block.language for _, block in examples()} <= LANGUAGES
    nameless = {page for page, block in examples() if not block.language}
    assert nameless <= {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/connecting.md"}


@cache
def commands() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return every command of presman in the blocks, with its page."""
    lines = ((page, line) for page, block in examples() if block.language in SHELL for line in joined(block.text))
    return tuple((page, tuple(words)) for page, line in lines for words in invocations(line))


def joined(text: str) -> list[str]:
    """Return the lines of a block; one that ends in a backslash goes on in the next."""
    return text.replace("\\\n", " ").splitlines()


def invocations(line: str) -> Iterator[list[str]]:
    """Yield the words behind each `presman` that begins a command."""
    reader = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|<>;&")
    reader.whitespace_split = True
    found: list[str] | None = None
    for word in reader:
        if word in ENDS:
            if found is not None:
                yield found
            found = None
        elif found is not None:
            found.append(word)
        elif word in {"presman", ".venv/bin/presman"}:
            found = []
    if found is not None:
        yield found


@cache
def read(words: tuple[str, ...]) -> tuple[str, Namespace]:
    """Return what presman makes of a command line; one that asks for help makes it exit."""
    return parse([word for word in words if word not in {"--help", "--version"}])


def test_every_command_in_a_code_block_parses() -> None:
    assert len(commands()) > 150
    for page, words in commands():
        try:
            read(words)
        except (Failure, SystemExit) as error:
            raise AssertionError(f"{page}: presman {' '.join(words)}: {error}") from error


def test_every_scenario_that_is_named_is_there() -> None:
    for page, words in commands():
        command, options = read(words)
        if command == "demo" and options.scenario:
            check_scenario(page, options.scenario)
        for word in words:
            if word.startswith("demo:"):
                check_scenario(page, word[5:].partition("?")[0])
    for path, text in pages().items():
        for span in spans(text):
            for name in re.findall(r"\bdemo:([a-z-]+(?:\.toml)?)\b", span):
                check_scenario(named(path), name)


def check_scenario(page: str, name: str) -> None:
    """Hold a name to the scenarios there are; a file may be one that the book shows or the reader's own."""
    known = name in scenarios() or name in {FULL_HOUSE, "my-plan.toml"}
    assert known, f"{page}: there is no scenario {name}"


def test_commands_and_options_inside_sentences_are_there() -> None:
    for path, text in pages().items():
        for span in spans(text) if path.name != "CHANGELOG.md" else ():  # which describes earlier versions, too
            words = span.split()
            if words[:1] != ["presman"] or len(words) < 2:
                continue
            command = words[1] if words[1] in COMMANDS else "monitor"
            if re.fullmatch(r"[a-z]+", words[1]) and words[1] not in {*COMMANDS, "prod"}:
                raise AssertionError(f"{named(path)}: `{span}`: there is no such command")
            used = {re.split(r"[=\]]", word.lstrip("["))[0] for word in words if re.match(r"\[?--", word)}
            assert used <= options_of(command), f"{named(path)}: `{span}`"


@cache
def options_of(command: str) -> frozenset[str]:
    """Return the options of a command; those of 1.x go with the monitor's."""
    parsers = [parser_of(command), *([parser_of("v1")] if command == "monitor" else [])]
    return frozenset(option for parser in (common(), *parsers) for option in parser._option_string_actions)


def test_every_command_has_a_written_page() -> None:
    guides = " ".join(text for path, text in pages().items() if path.parent != ROOT / "docs" / "reference")
    assert [command for command in COMMANDS if f"presman {command}" not in guides] == []


def test_every_config_ini_is_read(tmp_path: Path) -> None:
    found = [(page, block.text) for page, block in examples() if block.language == "ini"]
    assert len(found) > 10
    for number, (page, text) in enumerate(found):
        file = tmp_path / f"{number}.ini"
        file.write_text(text)
        config = read_config(file)  # a mistake is an error that names the line
        assert config.targets, f"{page}: no section says what to connect to"


def test_every_json_is_json() -> None:
    for _, block in examples():
        if block.language == "json":
            json.loads(block.text)


def full_house() -> str:
    """Return the scenario that docs/simulator.md shows."""
    (text,) = [block.text for page, block in examples() if block.language == "toml" and page == "docs/simulator.md"]
    return text


def test_every_scenario_that_is_shown_is_one(tmp_path: Path) -> None:
    file = tmp_path / FULL_HOUSE
    for _, block in examples():
        if block.language == "toml":
            file.write_text(block.text if "plan =" in block.text else f"{full_house()}\n{block.text}")
            assert load_scenario(file).header.title


def selects() -> Iterator[tuple[str, str]]:
    """Yield every SELECT that is shown, with its page."""
    for page, block in examples():
        if block.language == "sql":
            if "\n-- needs:" in block.text:  # a file on a view that nothing knows: tests/test_contributing.py runs it
                continue
            for statement in re.sub(r"--[^\n]*", "", block.text).split(";"):
                if statement.strip().lower().startswith("select"):
                    yield page, statement.strip()


def is_on_views(statement: str) -> bool:
    """Tell SELECTs on Oracle's views from those on a recording."""
    return re.search(r"\bg?v\$|\bdba_", statement, re.IGNORECASE) is not None


def test_every_select_runs_on_the_views_of_the_catalog() -> None:
    database = EmbeddedDatabase(Release(19))
    known = {view for name in catalog() for view in (name, f"G{name}")}
    found = [each for each in selects() if is_on_views(each[1])]
    assert len(found) > 40
    for page, statement in found:
        views = {view.upper() for view in re.findall(r"\b(?:g?v\$|dba_|cdb_)\w+", statement, re.IGNORECASE)}
        assert views <= known, page
        database.provide(statement)
        database.driver.execute(re.sub(r"\b(\w+#)", r"[\1]", statement))
    database.close()


def test_every_select_on_a_recording_runs(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "empty.presman"), writing=True)
    found = [statement for _, statement in selects() if not is_on_views(statement)]
    assert len(found) >= 3
    with store.transaction() as connection:
        for statement in found:
            connection.exec_driver_sql(statement)
    store.close()


def test_every_option_of_config_ini_is_in_its_table_and_no_other() -> None:
    table = text_of("docs/config.md").partition("## Settings")[2]
    named_there = {name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split(" | ")[0])}
    assert named_there == set(_OPTIONS)
