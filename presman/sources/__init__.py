"""Sources of snapshots. Nothing downstream knows which one it is.

A source answers named queries with typed rows. `Source` is what all of them offer; `open_source` makes one from a
target (see :mod:`presman.config.targets`).
A `SourceRecipe` makes one, as a value that another process can be given.
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
"""Binds that a source fills in where a request does not: who asks once wants idle sessions, too."""

NO_BINDS: Mapping[str, Any] = MappingProxyType({})


class LoginRefusal(Enum):
    """Why a database lets nobody in, where that may change though trying again and again does not help."""

    LOCKED = "locked"
    """The account is locked: a login now and then does no harm, and somebody may unlock it."""

    PASSWORD = "password"
    """The password is wrong or has expired: another one may help, and the same one locks the account."""


class SourceError(Exception):
    """The source cannot be opened or is lost. The text is one line, free of secrets.

    `retry` says whether trying again can help (a listener that is down) or not (a wrong password); `refusal` what may
    help then.
    """

    def __init__(self, text: str, *, code: str = "", retry: bool = True, refusal: LoginRefusal | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.retry = retry
        self.refusal = refusal


class OutcomeUnknown(SourceError):  # noqa: N818 - nobody knows whether it is an error
    """A statement that acts was sent, and then nothing was heard of it: it may have been done or not."""


class Exhausted(Exception):  # noqa: N818 - an end, not an error
    """A source of finite length (a spool, a recording) has been read to its end."""


class Request(Struct, frozen=True):
    """One query to run, with the binds that are its own (the source adds inst_id and own_sid)."""

    query: Query
    binds: Mapping[str, Any] = field(default_factory=lambda: NO_BINDS)


class Answer(Struct, frozen=True):
    """What came back for a list of requests: one section each, in their order.

    `at` is the database's instant in UTC; `round_trips` what it cost the network (0 for embedded sources);
    `cloud_service` what the session calls the service it is in (SYS_CONTEXT's CLOUD_SERVICE), "" for none;
    `notes` what of the source is not used and what was assumed, a sentence each; `spent` the seconds that it took to be
    read where that was before it was asked for.
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
        """Connect and return the release; again after `close`, to reconnect. Raises SourceError."""

    def advance(self) -> None:
        """Move to the next instant to be read. Live sources do nothing. Raises Exhausted at the end."""

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        """Run `requests` at the present instant. A failing query yields a section with its problem.

        What is not answered `within` so many seconds (None: no limit to the whole) yields a problem that is `late`.
        Raises SourceError if the connection as a whole is lost.
        """

    def cancel(self) -> None:
        """Make a `read` that is under way end soon; called from another thread."""

    def close(self) -> None:
        """Release what is held. Never raises."""


@runtime_checkable
class Finite(Protocol):
    """A source that ends, and so knows its end."""

    def leave_only(self, newest: int) -> None:
        """Forget all instants still to be read but the `newest` ones; what lasts from before them still holds."""


@runtime_checkable
class WholePolls(Protocol):
    """A source that has whole polls as somebody made them: they are taken as they are, not asked together again."""

    def snapshot(self) -> Snapshot:
        """Return the present poll."""

    def before(self) -> Snapshot | None:
        """Return the poll that the rates of the present one are taken from, None where there is none."""

    @property
    def notes(self) -> Sequence[str]:
        """Sentences about how what was asked for is understood."""

    def find_newest(self) -> str:
        """Look for the newest poll that can be read; say how old it is where those behind it cannot, else ""."""

    @property
    def damage(self) -> Sequence[str]:
        """Sentences about what could not be read until now."""


class SourceRecipe(Struct, frozen=True):
    """Class `name` of `module`, made with `arguments`. Nothing is imported before it is followed."""

    module: str
    name: str
    arguments: Mapping[str, Any]

    def __call__(self) -> Source:
        """Make the source, not yet open."""
        source: Source = getattr(import_module(self.module), self.name)(**self.arguments)
        return source
