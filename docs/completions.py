"""The completions of bash, zsh and fish: a table of the command line, and code for each shell that searches it.

The scripts do not need presman to complete: awk reads the sections of config.ini and the groups of a CSV file. Only
names of plain characters are offered, so that no content of a file can become a command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from docs.command_line import Command, Option, commands
from docs.man_page import man_page
from presman.cli.command_line import COMMANDS
from presman.config.target import SCENARIOS, scenarios

TEMPLATES = Path(__file__).parent / "templates"

SECTIONS = r"""
/^[[]/ { name = $0; sub(/^[[]/, "", name); sub(/[]].*/, "", name); seen = 0 }
tolower($0) ~ /^[ \t]*(connection_string|dsn)[ \t]*[=:]/ && !seen++ && name ~ /^[A-Za-z0-9_.@:+-]+$/ { print name }
""".strip()
"""awk: the sections of config.ini that have a connection."""

GROUPS = r"""
{ sub(/\r$/, "") }
NR == 1 { for (i = 1; i <= NF; i++) if ($i == "consumer_group") at = i; next }
at && $at ~ /^[A-Za-z0-9_#]+$/ && !seen[$at]++ { print $at }
NR > 5000 { exit }
""".strip()
"""awk -F,: the consumer groups in a file that `presman export` wrote."""


def shell_files() -> dict[str, str]:
    """Return all files for shells and man, by file name."""
    return {
        "presman.bash": script("bash"),
        "_presman": script("zsh"),
        "presman.fish": script("fish"),
        "presman.1": man_page(),
    }


def script(shell: str) -> str:
    """Return the completions of a shell."""
    text = (TEMPLATES / f"presman.{shell}").read_text(encoding="utf-8")
    case = CASES[shell]
    return (
        text.replace("@TABLE@", "\n".join(case(command) for command in commands()))
        .replace("@COMMANDS@", _lines(COMMANDS.items()))
        .replace("@SCENARIOS@", _lines((f"demo:{name}", _title(name)) for name in scenarios()))
        .replace("@SECTIONS@", SECTIONS)
        .replace("@GROUPS@", GROUPS)
    )


def _lines(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a line `word|help` for each pair, without quotes and further bars."""
    return "\n".join(f"{word}|{_plain(text)}" for word, text in pairs)


def _title(name: str) -> str:
    import tomllib

    return str(tomllib.loads((SCENARIOS / f"{name}.toml").read_text("utf-8")).get("title", ""))


def _plain(text: str) -> str:
    return " ".join(text.replace("'", "’").replace("\\", "/").replace("|", " or ").split())


def _table(command: Command) -> str:
    """Return a line `word|values|help` for each flag, and one with an empty word for the positional argument."""
    options: list[tuple[str, Option]] = [(flag, option) for option in command.options for flag in option.flags]
    if command.argument:
        options.append(("", command.argument))
    return "\n".join(f"{flag}|{option.values}|{_plain(option.help)}" for flag, option in options)


def _posix(command: Command) -> str:
    return f"    {command.name}) table='{_table(command)}' ;;"


def _fish(command: Command) -> str:
    return f"        case {command.name}\n            set table '{_table(command)}'"


CASES: dict[str, Callable[[Command], str]] = {"bash": _posix, "zsh": _posix, "fish": _fish}
