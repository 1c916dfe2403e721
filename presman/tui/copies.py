"""Copies: what can be taken of a statement, its SQL_ID, text, session, commands, and what is on show of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.trends.sql_minutes import SqlTexts
from presman.rows.commands import Command
from presman.tabs.drill_down import Statement, statement_of
from presman.tui.pages.advice_lines import commands_to_copy, why_no_command

MOST_COMMANDS = 9
"""Commands that have a key: 1 to 9."""


class Copyable(NamedTuple):
    """One thing to copy: the key that takes it, what it is, its text, "" where there is none and `why_not` says why.

    A `command` comes with whom it `affects`.
    """

    key: str
    what: str
    text: str
    why_not: str = ""
    command: Command | None = None
    affects: str = ""


class Shown(NamedTuple):
    """What is on show of a statement: the letter that copies it, what it is called, and its text."""

    key: str
    what: str
    text: str


def copies(
    row: Any, reading: Reading, texts: SqlTexts, shown: Shown, *, old: str = "", recorded: bool = False
) -> tuple[Copyable, ...]:
    """Return what can be copied of the statement that a row is about, the SQL_ID first; nothing of other rows.

    `old` is why no command is offered at all, "" where commands are.
    """
    statement = statement_of(row)
    if statement is None or (not statement.sql_id and isinstance(row, SessionReading)):
        return ()
    found = [*_sql(row, statement, reading, texts, recorded=recorded), *_session(statement)]
    return (*found, *_commands(row, reading, old), Copyable(*shown))


def _sql(row: Any, statement: Statement, reading: Reading, texts: SqlTexts, *, recorded: bool) -> Iterator[Copyable]:
    if not statement.sql_id:
        return
    text = getattr(row, "sql_text", "") or texts.text(statement.sql_id)
    why = texts.why_none(statement.sql_id, reading, recorded=recorded)
    yield Copyable("c", "SQL_ID", statement.sql_id)
    yield Copyable("t", "SQL text", text, "" if text else why.strip("()"))


def _session(statement: Statement) -> Iterator[Copyable]:
    if statement.session:
        yield Copyable("s", "sid,serial", statement.session_name)


def _commands(row: Any, reading: Reading, old: str) -> Iterable[Copyable]:
    """Return the commands for a row, or one line that says why there is none."""
    offered = [] if old else commands_to_copy(row, reading)
    if offered:
        return [
            Copyable(f"{number}", command.kind.value, command.text, command=command, affects=whom)
            for number, (command, whom) in enumerate(offered[:MOST_COMMANDS], start=1)
        ]
    why = f"no command is offered while {old}" if old else why_no_command(row, reading)
    why = why.removeprefix("Nothing copied: ").rstrip(".")
    return [Copyable("1", "command", "", why)] if why else []
