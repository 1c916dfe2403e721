"""Counters of the server: the figures that tests check."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class Seen(NamedTuple):
    """One call: the session's number, what was called and the SQL text ("" where there is none)."""

    session: int
    call: str
    sql: str


class Login(NamedTuple):
    """Who logged in: the user, the one he stands for ("" without a proxy login), the privilege ("" for none).

    `alters` is the ALTER SESSION that a login may bring along, "" for none.
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
        """Note one call; only the newest are kept."""
        self.calls[call] += 1
        self.log.append(Seen(session, call, sql))
        if len(self.log) > 10_000:
            del self.log[:5_000]

    def statements(self) -> list[str]:
        """Return the SQL texts executed, in order."""
        return [seen.sql for seen in self.log if seen.sql]

    def reset(self) -> None:
        """Begin to count anew; gauges stay."""
        self.round_trips = self.bytes_in = self.bytes_out = self.logins = 0
        self.most_sessions = self.sessions
        self.calls.clear()
        self.log.clear()
