"""Sources of snapshots. Downstream code does not know which kind of source it reads.

A source answers named queries with typed rows. `Source` is their common interface; `open_source` makes one from a
target (see :mod:`presman.config.target`). A `SourceRecipe` describes how to make one and can be passed to another
process.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from importlib import import_module
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, field

from presman.base.release import Release
from presman.rows.queries import Query, Scope
from presman.rows.snapshot import Section, Snapshot

USUAL_BINDS: Mapping[str, Any] = MappingProxyType({"with_idle": 1})
"""Default binds of a request: a single query usually wants idle sessions, too."""

NO_BINDS: Mapping[str, Any] = MappingProxyType({})


class LoginRefusal(Enum):
    """Why a database refuses the login, where quick retries do not help but the reason may go away later."""

    LOCKED = "locked"
    """The account is locked: an occasional login does no harm, and the account may have been unlocked."""

    PASSWORD = "password"
    """The password is wrong or has expired: a new one may help, but retries with the same one lock the account."""


class SourceError(Exception):
    """The source cannot be opened or is lost. The text is one line, free of secrets.

    `retry` is whether a retry can help (a listener that is down) or not (a wrong password); `refusal` is why the login
    was refused, where that may change.
    """

    def __init__(self, text: str, *, code: str = "", retry: bool = True, refusal: LoginRefusal | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.retry = retry
        self.refusal = refusal


class InvalidSourceError(SourceError):
    """What the user wrote of a source is wrong, such as its scenario: nothing was read."""


class OutcomeUnknown(SourceError):  # noqa: N818 - it may not be an error
    """A statement that acts was sent, but no answer arrived: it may or may not have been executed."""


class Exhausted(Exception):  # noqa: N818 - an end, not an error
    """A source of finite length (a spool, a recording) has been read to its end."""


class Request(Struct, frozen=True):
    """One query to run, with its own binds (the source adds inst_id and own_sid)."""

    query: Query
    binds: Mapping[str, Any] = field(default_factory=lambda: NO_BINDS)


class Answer(Struct, frozen=True):
    """The answer to a list of requests: one section each, in their order.

    `at` is the database's time in UTC; `round_trips` is the number of network round trips (0 for embedded sources);
    `cloud_service` is SYS_CONTEXT's CLOUD_SERVICE, "" for none; `notes` are sentences on data that the source ignored,
    and on its assumptions; `spent` is the seconds that reading took if the answer was read ahead of the request.
    """

    at: datetime
    sections: tuple[Section, ...]
    round_trips: int = 0
    cloud_service: str = ""
    notes: tuple[str, ...] = ()
    spent: float = 0.0


class Source(Protocol):
    """Answers queries. All calls but `cancel` come from one thread.

    `name` is the target without secrets, `kind` one of oracle, simulator, spool, recording; `scope` may be set at
    any time between reads.
    """

    name: str
    kind: str
    scope: Scope

    def open(self) -> Release:
        """Connect and return the release. May be called again after `close`, to reconnect. Raises SourceError."""

    def advance(self) -> None:
        """Move to the next instant of the source. Live sources do nothing. Raises Exhausted at the end."""

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        """Run `requests` at the current instant. A failed query yields a section with its problem.

        A query that is not answered `within` so many seconds for the whole read (None: no limit) yields a problem that
        is `late`. Raises SourceError if the connection is lost.
        """

    def cancel(self) -> None:
        """End a `read` in progress soon; called from another thread."""

    def close(self) -> None:
        """Release all resources. Never raises."""


@runtime_checkable
class Finite(Protocol):
    """A source of finite length."""

    def leave_only(self, newest: int) -> None:
        """Skip all unread instants but the `newest` ones; earlier rows that are still valid then remain in use."""


@runtime_checkable
class WholePolls(Protocol):
    """A source that contains complete snapshots, which are used as they are: no queries run on it."""

    def snapshot(self) -> Snapshot:
        """Return the current snapshot."""

    def before(self) -> Snapshot | None:
        """Return the snapshot with which the rates of the current one are computed, None if there is none."""

    @property
    def notes(self) -> Sequence[str]:
        """Sentences about how the requested part of the source was understood."""

    def find_newest(self) -> str:
        """Find the newest readable snapshot; return a text on its age if newer ones are damaged, else ""."""

    @property
    def damage(self) -> Sequence[str]:
        """Sentences about parts that could not be read so far."""


class SourceRecipe(Struct, frozen=True):
    """The class `name` in `module`, and the `arguments` to make a source of it. It is imported only when called."""

    module: str
    name: str
    arguments: Mapping[str, Any]

    def __call__(self) -> Source:
        """Make the source, not yet open."""
        source: Source = getattr(import_module(self.module), self.name)(**self.arguments)
        return source
