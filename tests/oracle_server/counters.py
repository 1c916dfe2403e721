"""Counters of the server, which tests check."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class Seen(NamedTuple):
    """One call: the session's number, the name of the call and its SQL text ("" if it has none)."""

    session: int
    call: str
    sql: str


class Login(NamedTuple):
    """One login: the user, the user he acts for ("" without a proxy login), the privilege ("" for none).

    `alters` is the ALTER SESSION that a login may contain, "" for none.
    """

    user: str = ""
    proxied: str = ""
    privilege: str = ""
    alters: str = ""


@dataclass(slots=True)
class Counters:
    """Totals since the server started, or since :meth:`reset`. `sessions` and `connections` are gauges."""

    round_trips: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    logins: int = 0
    connections: int = 0
    sessions: int = 0
    most_sessions: int = 0
    last_login: Login = field(default_factory=Login)
    calls: Counter[str] = field(default_factory=Counter)
    log: list[Seen] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)

    def note(self, session: int, call: str, sql: str = "") -> None:
        """Record one call; only the newest are kept."""
        self.calls[call] += 1
        self.log.append(Seen(session, call, sql))
        if len(self.log) > 10_000:
            del self.log[:5_000]

    def statements(self) -> list[str]:
        """Return the SQL texts executed, in order."""
        return [seen.sql for seen in self.log if seen.sql]

    def reset(self) -> None:
        """Set the counters to 0; gauges keep their values."""
        self.round_trips = self.bytes_in = self.bytes_out = self.logins = 0
        self.most_sessions = self.sessions
        self.calls.clear()
        self.log.clear()
