"""Execution of one command: reads the victim's identity again, runs the statement, writes down what was done."""

from __future__ import annotations

import json
import os
import pwd
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from presman.base.formats import spelled
from presman.base.private_files import open_private, state_folder
from presman.base.release import Release
from presman.base.text import clean, one_line
from presman.polling.named_sessions import requests
from presman.rows.commands import Command, CommandKind
from presman.rows.queries import load
from presman.rows.session_rows import NamedSession, Session
from presman.rows.session_state import is_queued
from presman.sources import OutcomeUnknown, SourceError

_LONGEST = 500

LOOK = 10.0
"""Seconds that the look at the session may take: what was confirmed before is not sent after that."""

MARKED = "ORA-00031"
"""Session marked for kill: it ends as soon as what it does can be undone."""

UNKNOWN = "sent; its result is not known"


class Outcome(NamedTuple):
    """What became of a command: whether it was done, and one line about it."""

    command: Command
    done: bool
    text: str


class ActionRunner:
    """Carries out commands on a source that can `perform`, one at a time, and keeps a line about each in a log.

    `log` is a file that lines are appended to, one JSON object each; `now` the clock of those lines.
    """

    def __init__(self, log: Path | None = None, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._log = log or default_log()
        self._now = now

    @property
    def log(self) -> Path:
        """The file of what was done."""
        return self._log

    def note(self, database: str, command: Command, text: str) -> str:
        """Write a line about a command that was not carried out; return why that cannot be done, "" if it is."""
        try:
            self._write(database, command, one_line(clean(text), _LONGEST))
        except OSError as error:
            return f"{self._log} cannot be written: {error.strerror or error}"
        return ""

    def carry_out(self, command: Command, source: Any, release: Release) -> Outcome:
        """Carry out one command. Nothing is sent if the victim is not the same any more or the log cannot be written.

        Raises nothing: the outcome says what went wrong.
        """
        try:
            self._write(source.name, command, "asked for")
            done, text = self._attempt(command, source, release)
        except OSError as error:
            return Outcome(command, False, f"not sent: {self._log} cannot be written: {error.strerror or error}")
        return self._end(source, command, done, text)

    def _attempt(self, command: Command, source: Any, release: Release) -> tuple[bool, str]:
        """Send a command if all is as it was; return whether it was done, and what there is to say. Raises OSError."""
        begun = time.monotonic()
        if reason := self._obstacle(command, source, release):
            return False, f"not sent: {reason}"
        if (took := time.monotonic() - begun) > LOOK:
            return False, f"not sent: reading its session took {spelled(took)}"
        self._write(source.name, command, "being sent")
        try:
            source.perform(command.statement, command.binds)
        except OutcomeUnknown as error:
            return False, f"{UNKNOWN}: {_told(error)}"
        except SourceError as error:
            if error.code == MARKED and command.kind is CommandKind.KILL:
                return True, f"done: {MARKED}, marked for kill: it ends as soon as it can"
            return False, f"refused: {_told(error)}"
        return True, "done"

    def _obstacle(self, command: Command, source: Any, release: Release) -> str:
        """Return why a command must not be sent, "" if nothing is in its way."""
        if not hasattr(source, "perform"):
            return f"{source.name} cannot be acted on"
        try:
            if reason := elsewhere(command, source):
                return reason
            session = self._session(command, source, release)
            return changed(command, session) or in_another_container(command, session, source)
        except SourceError as error:
            return _told(error)

    def _session(self, command: Command, source: Any, release: Release) -> Session | None:
        """Read the session again. Raises SourceError if it cannot be read."""
        victim = command.victim
        question = requests(load(release)[NamedSession], [(victim.inst_id, victim.sid)])
        section = source.read(question).sections[0]
        if section.problem is not None:
            raise SourceError(f"its session cannot be read: {section.problem}", retry=False)
        rows = (row for row in section.rows if (row.inst_id, row.sid, row.serial) == victim[:3])
        return next(rows, None)

    def _end(self, source: Any, command: Command, done: bool, text: str) -> Outcome:
        line = one_line(clean(text), _LONGEST)
        try:
            self._write(source.name, command, line)
        except OSError as error:
            line += f"; the log could not be written: {error.strerror or error}"
        return Outcome(command, done, line)

    def _write(self, database: str, command: Command, outcome: str) -> None:
        """Append one line; the file is the user's alone. Raises OSError."""
        entry = {
            "at": self._now().isoformat(timespec="milliseconds"),
            "by": who(),
            "database": database,
            "kind": command.kind.name,
            "inst_id": command.victim.inst_id,
            "sid": command.victim.sid,
            "serial": command.victim.serial,
            "sql_id": command.victim.sql_id,
            "statement": command.statement,
            "binds": dict(command.binds),
            "outcome": outcome,
        }
        with os.fdopen(open_private(self._log, os.O_APPEND), "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=True) + "\n")


def changed(command: Command, session: Session | None) -> str:
    """Return why a command must not be sent to what its victim is now, "" if it is still what was seen."""
    victim = command.victim
    if session is None:
        return f"session {victim.sid},{victim.serial} on instance {victim.inst_id} is no longer there"
    if victim.status and session.status != victim.status:
        return f"it is {session.status} now, was {victim.status}"
    idle = session.status != "ACTIVE" and command.kind is not CommandKind.CANCEL
    executes = session.sql_id or (session.prev_sql_id if idle and victim.sql_id else "")
    if executes != victim.sql_id:
        return f"it executes {session.sql_id or 'nothing'} now, not {victim.sql_id or 'nothing'}"
    if None not in (victim.exec_id, session.sql_exec_id) and session.sql_exec_id != victim.exec_id:
        return f"it executes {executes} again: SQL_EXEC_ID {session.sql_exec_id} now, {victim.exec_id} before"
    if victim.queued and not is_queued(session.event, session.state):
        return f"{executes} is not queued any more"
    return ""


def elsewhere(command: Command, source: Any) -> str:
    """Return why a command cannot be sent from this instance, "" if it can: a switch acts on its own instance only."""
    if command.kind is not CommandKind.SWITCH or source.instance == command.victim.inst_id:
        return ""
    there = command.victim.inst_id
    return f"it acts on instance {source.instance} only, the session is on {there}: connect to {there} and run it there"


def in_another_container(command: Command, session: Session | None, source: Any) -> str:
    """Return why a command cannot be sent from this container, "" if it can: a switch acts on its own one only."""
    if command.kind is not CommandKind.SWITCH or session is None or not session.con_id:
        return ""
    own = source.container()
    if own is None or own == session.con_id:
        return ""
    return f"it acts on container {own} only, the session is in {session.con_id}: connect to that one and run it there"


def who() -> str:
    """Return who acts: the user and the host of the operating system, which no variable of the environment changes."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = ""
    return f"{name or f'uid {os.getuid()}'}@{socket.gethostname() or 'localhost'}"


def default_log() -> Path:
    """Return $XDG_STATE_HOME/presman/actions.log. Raises OSError."""
    return state_folder() / "actions.log"


def _told(error: SourceError) -> str:
    return f"{error.code} {error}" if error.code and error.code not in str(error) else str(error)
