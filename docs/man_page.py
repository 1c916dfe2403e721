"""presman.1, the manual page, from presman's own parsers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from docs.command_line import Command, Option, commands, everywhere
from presman import __version__
from presman.cli import exit_codes
from presman.cli.command_line import parser_of
from presman.cli.parser import TARGET_HELP

FILES = (
    ("config.ini", "in the current folder, else ~/.config/presman/config.ini ($XDG_CONFIG_HOME): targets and settings"),
    ("~/.local/state/presman/", "($XDG_STATE_HOME) what is set by keys, copied pages, faults.log"),
)
ENVIRONMENT = (
    ("PRESMAN_CONFIG", "the configuration file"),
    ("PRESMAN_PASSWORD", "the password where neither TARGET nor config.ini has one"),
    ("PRESMAN_DEBUG", "1 adds tracebacks to errors"),
    ("NO_COLOR", "no colours"),
    ("TNS_ADMIN", "the folder of tnsnames.ora"),
)


def man_page() -> str:
    """Return the page in the macros of man(7)."""
    front, *others = commands()
    shared = everywhere()
    lines = [
        ".\\\" Made from presman's own options.",
        f'.TH PRESMAN 1 "" "presman {__version__}" "User Commands"',
        ".SH NAME",
        r"presman \- terminal monitor of Oracle Database Resource Manager and the parallel statement queue",
        ".SH SYNOPSIS",
        *(_verbatim("presman [OPTIONS] [TARGET]\npresman [OPTIONS] COMMAND ...\npresman -m MEASURE [-c COLUMN] [-p]")),
        ".SH DESCRIPTION",
        *_text(parser_of("monitor").description or ""),
        *_text(
            "It shows who uses CPU and I/O, who is throttled and by which rule, which parallel statements are queued, "
            "and what the head of the queue waits for. It reads only, unless it is started with --allow-actions."
        ),
        ".SH OPTIONS",
        *_options(option for option in front.options if option not in shared),
        ".SS For every command, before or after its name",
        *_options(shared),
        ".SH TARGET",
        *_verbatim(TARGET_HELP.partition("\n")[2]),
        ".SH COMMANDS",
    ]
    for command in others:
        lines += _command(command, shared)
    lines += [".SH FILES", *_pairs(FILES), ".SH ENVIRONMENT", *_pairs(ENVIRONMENT), ".SH EXIT STATUS"]
    lines += _verbatim(exit_codes.HELP.partition("\n")[2])
    return "\n".join(lines) + "\n"


def _command(command: Command, shared: tuple[Option, ...]) -> Iterator[str]:
    parser = parser_of(command.name)
    argument = f" [{command.argument.metavar}]" if command.argument else ""
    yield f".SS {_escaped(f'presman {command.name} [OPTIONS]{argument}')}"
    yield from _text(parser.description or "")
    own = [option for option in command.options if option not in shared]
    yield from _options(([command.argument] if command.argument else []) + own)
    examples = (parser.epilog or "").partition("examples:\n")[2]
    if examples:
        yield ".PP"
        yield "Examples:"
        yield from _verbatim(examples)


def _options(options: Iterable[Option]) -> Iterator[str]:
    for option in options:
        joint = "" if option.metavar.startswith("=") else " "
        value = f"{joint}{option.metavar}" if option.values and option.flags else option.metavar
        yield ".TP"
        yield _line(rf"\fB{_escaped(', '.join(option.flags))}\fR\fI{_escaped(value)}\fR")
        yield from _text(option.help)[1:] or ["\\&"]


def _pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in pairs:
        yield from (".TP", _line(rf"\fB{_escaped(name)}\fR"), *_text(text)[1:])


def _text(text: str) -> list[str]:
    """Return a paragraph."""
    return [".PP", *(_line(_escaped(line)) for line in text.splitlines() if line)]


def _verbatim(text: str) -> list[str]:
    return [".PP", ".nf", *(_line(_escaped(line)) for line in text.splitlines()), ".fi"]


def _escaped(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")


def _line(text: str) -> str:
    """Return a line that man does not take for a macro."""
    return rf"\&{text}" if re.match(r"[.']", text) else text
