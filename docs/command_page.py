"""Page of the command line, from presman's own parsers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from docs.command_line import Command, Option, commands, everywhere
from docs.markdown import page, rows
from presman.cli.command_line import parser_of


def command_page() -> str:
    """Return the page of commands."""
    front, *others = commands()
    shared = everywhere()
    return page(
        "Commands and options",
        "Every command and option of presman, the terminal monitor for Oracle Resource Manager, with examples.",
        "Commands",
        "What TARGET can be, exit codes and environment variables: [Targets and exit codes](../targets.md). "
        "Every command has `--help`, which lists the options that apply to it; `--help all` lists all of these.",
        "## presman",
        "`presman [OPTIONS] [TARGET]`: the monitor. Without a terminal it prints `--polls` readings as text.",
        options(option for option in front.options if option not in shared),
        "## For every command",
        "Before or after the command's name.",
        options(shared),
        *(part for command in others for part in section(command, shared)),
    )


def section(command: Command, shared: tuple[Option, ...]) -> Iterator[str]:
    """Yield the parts of a command's section."""
    parser = parser_of(command.name)
    argument = f" [{command.argument.metavar}]" if command.argument else ""
    yield f"## presman {command.name}"
    yield f"`presman {command.name} [OPTIONS]{argument}`"
    yield " ".join((parser.description or "").split())
    own = [option for option in command.options if option not in shared]
    if command.argument or own:
        yield options([command.argument] * bool(command.argument) + own)
    examples = (parser.epilog or "").partition("examples:\n")[2]
    lines = [line.removeprefix("  ") for line in examples.splitlines() if line.startswith("  presman ")]
    if lines:
        yield "\n".join(["```sh", *lines, "```"])


def options(found: Iterable[Option | None]) -> str:
    """Return a table of options and positional arguments."""
    return rows(("option", "what it does"), ((_written(each), each.help) for each in found if each))


def _written(option: Option) -> str:
    joint = "" if option.metavar.startswith("=") else " "
    value = f"{joint}{option.metavar}" if option.values and option.flags else option.metavar
    return f"`{', '.join(option.flags)}{value}`"
