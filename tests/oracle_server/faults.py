"""Faults that the server makes on demand at a chosen point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

FATAL = frozenset({18, 20, 28, 600, 1012, 1033, 1034, 1089, 1092, 2396, 3113, 3114, 3135})
"""ORA codes after which the server closes the connection."""


class Stage(Enum):
    """The point at which a fault occurs."""

    CONNECT = "connect"
    LOGIN = "login"
    STATEMENT = "statement"


@dataclass(frozen=True, slots=True)
class Refuse:
    """The listener refuses with a TNS code (12514: no such service)."""

    code: int


@dataclass(frozen=True, slots=True)
class Redirect:
    """The listener redirects the client to another port of this machine, and disconnects at once."""

    port: int


@dataclass(frozen=True, slots=True)
class Resend:
    """The listener asks the client to send its CONNECT again."""


@dataclass(frozen=True, slots=True)
class Mute:
    """The server sends nothing any more, and does not answer breaks either."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """The server sends bytes that are not TNS, and then nothing."""

    data: bytes = b"HTTP/1.1 400 Bad Request\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends after `after` more bytes of the answer."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class Ora:
    """An Oracle error after `after` rows; errors in FATAL end the connection."""

    code: int
    text: str = "injected"
    after: int = 0


@dataclass(frozen=True, slots=True)
class Warn:
    """The login succeeds with a warning (28002: the password will expire)."""

    code: int
    text: str


@dataclass(frozen=True, slots=True)
class Delay:
    """The statement takes this many seconds unless a break ends it."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """The first packet of the answer is sent, the others `seconds` later."""

    seconds: float


Action = Refuse | Redirect | Resend | Mute | Garbage | Cut | Ora | Warn | Delay | Hold


@dataclass(slots=True)
class Fault:
    """One fault: it occurs at `stage` on statements that contain `sql`, `times` times after the first `skip`."""

    stage: Stage
    action: Action
    sql: str = ""
    times: int = 1
    skip: int = 0

    def strikes(self, stage: Stage, sql: str) -> bool:
        """Return whether the fault occurs now, and count it if so."""
        if stage is not self.stage or self.sql.lower() not in sql.lower() or not self.times:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class Faults:
    """The faults that are still to occur. `chooser`, if set, is asked first at every point."""

    def __init__(self) -> None:
        self.waiting: list[Fault] = []
        self.chooser: Callable[[Stage, str], Action | None] | None = None

    def add(self, stage: Stage, action: Action, sql: str = "", *, times: int = 1, skip: int = 0) -> Fault:
        """Add a fault; with `times` -1 it occurs every time."""
        fault = Fault(stage, action, sql, times, skip)
        self.waiting.append(fault)
        return fault

    def clear(self) -> None:
        self.waiting.clear()
        self.chooser = None

    def next(self, stage: Stage, sql: str = "") -> Action | None:
        """Return the fault that occurs now, if any."""
        if self.chooser is not None and (action := self.chooser(stage, sql)):
            return action
        for fault in list(self.waiting):
            if fault.strikes(stage, sql):
                return fault.action
        return None
