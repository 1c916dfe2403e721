"""Execution of one command: reads the victim's identity again, runs the statement, writes down what was done."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from presman.base.release import Release
from presman.base.text import clean, one_line
from presman.records.commands import Command, CommandKind
from presman.records.queries import load
from presman.records.session_rows import Session
from presman.sources import Request, SourceError

_LONGEST = 500


class Outcome(NamedTuple):
    """What became of a command: whether it was done, and one line about it."""

    command: Command
    done: bool
    text: str


class Performer:
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

    def carry_out(self, command: Command, source: Any, release: Release) -> Outcome:
        """Carry out one command. Nothing is sent if the victim is not the same any more or the log cannot be written.

        Raises nothing: whatever goes wrong is told in the outcome.
        """
        try:
            self._write(source, command, "asked for")
            reason = elsewhere(command, source)
            if not reason:
                session = self._session(command, source, release)
                reason = changed(command, session) or in_another_container(command, session, source)
            if reason:
                return self._end(source, command, False, f"not sent: {reason}")
            source.perform(command.statement, command.binds)
        except SourceError as error:
            text = f"{error.code} {error}" if error.code and error.code not in str(error) else str(error)
            return self._end(source, command, False, f"refused: {text}")
        except AttributeError:
            return self._end(source, command, False, f"{source.name} cannot be acted on")
        except OSError as error:
            return Outcome(command, False, f"not sent: {self._log} cannot be written: {error.strerror or error}")
        return self._end(source, command, True, "done")

    def _session(self, command: Command, source: Any, release: Release) -> Session | None:
        """Read the session again. Raises SourceError if it cannot be read."""
        victim = command.victim
        section = source.read([Request(load(release)[Session])]).sections[0]
        if section.problem is not None:
            raise SourceError(f"its session cannot be read: {section.problem}", retry=False)
        rows = (row for row in section.rows if (row.inst_id, row.sid, row.serial) == victim[:3])
        return next(rows, None)

    def _end(self, source: Any, command: Command, done: bool, text: str) -> Outcome:
        line = one_line(clean(text), _LONGEST)
        try:
            self._write(source, command, line)
        except OSError as error:
            line += f"; the log could not be written: {error.strerror or error}"
        return Outcome(command, done, line)

    def _write(self, source: Any, command: Command, outcome: str) -> None:
        """Append one line; the file is the user's alone. Raises OSError."""
        entry = {
            "at": self._now().isoformat(timespec="milliseconds"),
            "by": os.environ.get("USER", ""),
            "database": source.name,
            "kind": command.kind.name,
            "inst_id": command.victim.inst_id,
            "sid": command.victim.sid,
            "serial": command.victim.serial,
            "sql_id": command.victim.sql_id,
            "statement": command.statement,
            "binds": dict(command.binds),
            "outcome": outcome,
        }
        self._log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=True) + "\n")


def changed(command: Command, session: Session | None) -> str:
    """Return why a command must not be sent to what its victim is now, "" if it is still the same."""
    victim = command.victim
    if session is None:
        return f"session {victim.sid},{victim.serial} on instance {victim.inst_id} is no longer there"
    executes = session.sql_id or (session.prev_sql_id if command.kind is CommandKind.KILL else "")
    if not victim.sql_id or executes == victim.sql_id:
        return ""
    return f"it executes {session.sql_id or 'nothing'} now, not {victim.sql_id}"


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


def default_log() -> Path:
    """Return $XDG_STATE_HOME/presman/actions.log."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "presman" / "actions.log"
