"""Copies of a statement's SQL_ID, text, session and commands, and of its part of the screen. Pure."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from presman.analysis.advice.contenders import Candidate
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.trends.sql_minutes import SqlTexts
from presman.rows.commands import Command
from presman.tabs.drill_down import Statement, statement_of
from presman.tui.pages.advice_lines import Offers, offers_for, without_command

MOST_COMMANDS = 9
"""Most commands with a key: 1 to 9."""


class Copyable(NamedTuple):
    """A choice to copy: its key, its description, and its text, "" if there is none for the reason `why_not`.

    For a `command`, `affects` names the sessions that it affects.
    """

    key: str
    what: str
    text: str
    why_not: str = ""
    command: Command | None = None
    affects: str = ""


def copies(
    row: Any, reading: Reading, texts: SqlTexts, shown: Copyable, *, old: str = "", recorded: bool = False
) -> tuple[Copyable, ...]:
    """Return the choices to copy for the statement of a row, the SQL_ID first; () for other rows.

    `shown` is the part of the screen on it, which comes last if it has text; `old` is why no command is offered at
    all, "" if commands are.
    """
    statement = statement_of(row)
    # For a session that executes nothing, its row is what can be copied.
    if statement is None or (not statement.sql_id and isinstance(row, SessionReading)):
        return ()
    found = [*_sql(row, statement, reading, texts, recorded=recorded), *_session(statement)]
    return (*found, *_commands(row, reading, old), *([shown] if shown.text else []))


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


def _commands(row: Any, reading: Reading, old: str) -> list[Copyable]:
    """Return the commands for a row, then the other candidates, each with the reason why it has no command.

    If there is neither, a line says why.
    """
    offers = Offers(why=f"no command is offered: {old}") if old else offers_for(row, reading)
    found = [Copyable("", "no command", "", offers.why)] if offers.why else []
    found += [Copyable("", each.kind.value, each.text, "", each, affected) for each, affected in offers.commands]
    found += map(_without_command, offers.without)
    return [each._replace(key=f"{number}") for number, each in enumerate(found[:MOST_COMMANDS], start=1)]


def _without_command(each: Candidate) -> Copyable:
    """Return the session of a candidate without a command, and the reason."""
    statement = statement_of(each.statement)
    session = "" if statement is None else statement.session_name
    return Copyable("", "sid,serial", session, affects=without_command(each))
