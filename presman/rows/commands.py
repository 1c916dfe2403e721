"""The commands that act on a session, built from validated numbers, SQL_IDs and group names.

This module sends nothing. `text` is for a user to read, copy and run; `statement` with `binds` is what a program would
send. ALTER SYSTEM takes no binds, so there the two are the same, and contain no values but numbers and a SQL_ID of 13
characters from Oracle's alphabet.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from presman.base.release import Release
from presman.rows.session_rows import IDLE_STATUSES

_SQL_ID = re.compile(r"[0-9a-df-hjkmnp-z]{13}")
_GROUP = re.compile(r"[A-Z][A-Z0-9_$#]{0,127}")
"""A name that needs no quotes. Others are not put into a text that a user may run."""
_LARGEST = 2**31 - 1

CANCELS_SINCE = Release(18)
"""ALTER SYSTEM CANCEL SQL came with 18; DEQUEUE_PARALLEL_STATEMENT is in the package of 18 and not in that of 12.1."""

_NO_BINDS: Mapping[str, int | str] = MappingProxyType({})


class CommandKind(Enum):
    """What a command does, in the words on screen."""

    DEQUEUE = "start it now"
    SWITCH = "switch its group"
    CANCEL = "cancel its SQL"
    KILL = "kill its session"


class Victim(NamedTuple):
    """The session that a command acts on, and its SQL_ID: "" if it executes nothing, the last one if it is idle.

    `status` (V$SESSION.STATUS), `exec_id` (SQL_EXEC_ID) and `queued` are the session's state when it was read; "", None
    and False where they are not known or do not matter.
    """

    inst_id: int
    sid: int
    serial: int
    sql_id: str = ""
    status: str = ""
    exec_id: int | None = None
    queued: bool = False


class Command(NamedTuple):
    """One command. `note` describes its effect in a sentence or two."""

    kind: CommandKind
    victim: Victim
    text: str
    statement: str
    binds: Mapping[str, int | str]
    note: str


def is_sql_id(text: str) -> bool:
    """Return whether `text` is a SQL_ID: 13 digits of Oracle's base 32, which lacks e, i, l and o."""
    return _SQL_ID.fullmatch(text) is not None


def cancel(victim: Victim) -> Command:
    """Return the command that cancels a session's statement (18 and later). Raises ValueError for an invalid victim."""
    inst_id, sid, serial = _numbers(victim)
    text = f"ALTER SYSTEM CANCEL SQL '{sid}, {serial}, @{inst_id}, {_sql_id(victim)}'"
    note = "The statement ends with ORA-01013 and is rolled back; the session stays."
    return Command(CommandKind.CANCEL, victim, text + ";", text, _NO_BINDS, note)


def kill(victim: Victim) -> Command:
    """Return the command that ends a session. Raises ValueError for an invalid victim."""
    inst_id, sid, serial = _numbers(victim)
    text = f"ALTER SYSTEM KILL SESSION '{sid},{serial},@{inst_id}'"
    note = "The session ends with ORA-00028 and its transaction is rolled back, which can take a while."
    if victim.status in IDLE_STATUSES:
        note = (
            "Its client gets ORA-00028 at the next call; until then V$SESSION shows it as KILLED. With IMMEDIATE, all "
            "that it holds is released at once."
        )
    return Command(CommandKind.KILL, victim, text + ";", text, _NO_BINDS, note)


def dequeue(victim: Victim) -> Command:
    """Return the command that starts a queued statement (18 and later). Raises ValueError for an invalid victim."""
    inst_id, sid, serial = _numbers(victim)
    sql_id = _sql_id(victim)
    call = "DBMS_RESOURCE_MANAGER.DEQUEUE_PARALLEL_STATEMENT"
    named = "session_id => :sid, session_serial => :serial, inst_id => :inst_id, sql_id => :sql_id"
    statement = f"BEGIN {call}({named}); END;"
    binds: dict[str, int | str] = {"sid": sid, "serial": serial, "inst_id": inst_id, "sql_id": sql_id}
    text = f"EXEC {call}({sid}, {serial}, {inst_id}, '{sql_id}')"
    note = (
        "It starts at once, past the target and its group's limit; nothing happens if the session runs another "
        "statement by then."
    )
    return Command(CommandKind.DEQUEUE, victim, text, statement, MappingProxyType(binds), note)


def switch(victim: Victim, group: str) -> Command:
    """Return the command that switches a session to another consumer group. Raises ValueError for invalid arguments."""
    _, sid, serial = _numbers(victim)
    if not _GROUP.fullmatch(group):
        raise ValueError(f"not the plain name of a consumer group: {group!r}")
    call = "DBMS_RESOURCE_MANAGER.SWITCH_CONSUMER_GROUP_FOR_SESS"
    statement = f"BEGIN {call}(session_id => :sid, session_serial => :serial, consumer_group => :consumer_group); END;"
    binds: dict[str, int | str] = {"sid": sid, "serial": serial, "consumer_group": group}
    text = f"EXEC {call}({sid}, {serial}, '{group}')"
    where = f"it must be run on instance {victim.inst_id}, in its container"
    note = f"The session and its parallel servers continue in {group}; {where}."
    return Command(CommandKind.SWITCH, victim, text, statement, MappingProxyType(binds), note)


def to_end(victim: Victim, release: Release | None, *, idle: bool, autonomous: bool = False) -> tuple[Command, ...]:
    """Return the commands that end a statement which holds servers, the gentlest first; () for an invalid victim.

    An idle coordinator executes nothing that could be cancelled: only ending its session closes the cursor.
    """
    gentle = not idle and _is_cancellable(victim, release, autonomous)
    return _built([cancel, kill] if gentle else [kill], victim)


def for_queued(victim: Victim, release: Release | None, *, autonomous: bool = False) -> tuple[Command, ...]:
    """Return the commands for a queued statement: start it, cancel it, end its session; () for an invalid victim."""
    return _built([dequeue, cancel, kill] if _is_cancellable(victim, release, autonomous) else [kill], victim)


def _is_cancellable(victim: Victim, release: Release | None, autonomous: bool) -> bool:
    """Return whether more than KILL SESSION is available: from 18 on, and not on an Autonomous Database."""
    return not autonomous and release is not None and release >= CANCELS_SINCE and is_sql_id(victim.sql_id)


def _built(makers: Sequence[Callable[[Victim], Command]], victim: Victim) -> tuple[Command, ...]:
    try:
        return tuple(make(victim) for make in makers)
    except ValueError:
        return ()


def is_session_number(number: object) -> bool:
    """Return whether a command can contain a number as an instance, SID or SERIAL#."""
    return type(number) is int and 0 < number <= _LARGEST


def _numbers(victim: Victim) -> tuple[int, int, int]:
    if not all(map(is_session_number, victim[:3])):
        raise ValueError(f"not a usable session: {victim[:3]}")
    return victim[:3]


def _sql_id(victim: Victim) -> str:
    if not is_sql_id(victim.sql_id):
        raise ValueError(f"not a SQL_ID: {victim.sql_id!r}")
    return victim.sql_id
