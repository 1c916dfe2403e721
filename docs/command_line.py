"""The command line as tables: each command's options and their possible values, read from presman's own parsers.

The completions and the manual are made from them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from presman.base.errors import OneOf
from presman.base.measure_names import MEASURES
from presman.base.release import SUPPORTED
from presman.cli.command_line import COMMANDS, parser_of
from presman.cli.parser import Parser, common, measure
from presman.config.target import scenarios
from presman.figures.measures import MEASURES as EXPORTED

ANY = "@any"
"""A value without further information: a number, a name."""

BY_METAVAR = {
    "FILE": "@file",
    "TARGET": "@target",
    "FILE|FOLDER|URL": "@file",
    "CSV|TARGET": "@csv",
    "GROUP=N": "@group",
    "=LIBDIR": "@attached",
    "SCENARIO": f"@scenario {' '.join(scenarios())}",
    "R": " ".join(str(release) for release in reversed(SUPPORTED)),
}
"""The kind of a value by its metavar in the help; the words after @scenario are possible, and so is a file."""

BY_ARGUMENT = {
    ("export", "column"): " ".join(dict.fromkeys(key for each in EXPORTED.values() for key in each.wide)),
    ("connect", "section"): "@section",
    ("compare", "first"): "@file",
    ("monitor", "measure"): "cpu session_io parallel emphasis",
}


@dataclass(frozen=True)
class Option:
    """An option or a positional argument: `values` are its words, one of the @ kinds, or "" if it takes none."""

    flags: tuple[str, ...]
    values: str
    help: str
    metavar: str


@dataclass(frozen=True)
class Command:
    """A command with its options, including those of every command, and its positional `argument` (or None)."""

    name: str
    summary: str
    options: tuple[Option, ...]
    argument: Option | None


@cache
def commands() -> tuple[Command, ...]:
    """Return all commands; the first, monitor, is presman without one, with the options of presman 1.x."""
    return tuple(_command(name, *_parsers(name)) for name in ("monitor", *COMMANDS))


def everywhere() -> tuple[Option, ...]:
    """Return the options of every command."""
    return tuple(_option("", action) for action in common()._actions)


def _parsers(name: str) -> list[Parser]:
    return [parser_of("monitor"), parser_of("v1")] if name == "monitor" else [parser_of(name)]


def _command(name: str, *parsers: Parser) -> Command:
    found: dict[tuple[str, ...], Option] = {}
    for parser in parsers:
        for option in _options(name, parser):
            found.setdefault(option.flags, option)
    argument = found.pop((), None)
    return Command(name, COMMANDS.get(name, ""), tuple(found.values()), argument)


def _options(name: str, parser: Parser) -> Iterator[Option]:
    for action in parser._actions:
        yield _option(name, action)


def _option(name: str, action: argparse.Action) -> Option:
    metavar = action.metavar if isinstance(action.metavar, str) else "|".join(map(str, action.choices or ()))
    shown = (action.help or "").replace("%%", "%").replace("%(prog)s", "presman")
    return Option(tuple(action.option_strings), _values(name, action), shown, metavar)


def _values(name: str, action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if (name, action.dest) in BY_ARGUMENT:
        return BY_ARGUMENT[name, action.dest]
    if isinstance(action.type, OneOf):
        return " ".join(action.type.known)
    if action.choices:
        return " ".join(map(str, action.choices))
    if action.type is measure:
        return " ".join(MEASURES)
    return BY_METAVAR.get(str(action.metavar), ANY)
