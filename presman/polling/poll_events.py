"""Poll events: what a sampler reports about the database that it polls."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from presman.base.formats import spelled
from presman.base.release import Release
from presman.base.text import one_line
from presman.rows.commands import Command
from presman.rows.snapshot import Snapshot
from presman.sources import LoginRefusal, Source


class Polled(Struct, frozen=True):
    """A poll succeeded. One that `is_extra` was asked for between two regular ones, too soon for rates.

    See :class:`presman.polling.cadence.RegularPolls`.
    """

    snapshot: Snapshot
    is_extra: bool = False


class PreviewCame(Struct, frozen=True):
    """What the first poll will show, as far as it is known. Polled follows, or SourceLost.

    `seen` is a partial snapshot, or a reading which the source's process made ahead of the poll; `begun` is when
    reading began, in seconds of the monotonic clock.
    """

    seen: Any
    begun: float


class SourceLost(Struct, frozen=True):
    """The source cannot be opened or was lost; `text` is one line free of secrets.

    `code` is Oracle's or the driver's, or "". The next attempt is in `retry_in` seconds; None means that only
    `poll_now` starts one, because a retry cannot help (a wrong password locks accounts). `since` is when it was lost.
    `refusal` is set where the database answers but refuses the login: the next attempt then waits for another password,
    or comes much later. `has_run_out` is set where this machine, not the source, is the cause: it has no thread, file
    or memory to spare for it.
    """

    text: str
    code: str
    retry_in: float | None
    since: datetime
    refusal: LoginRefusal | None = None
    has_run_out: bool = False

    @property
    def line(self) -> str:
        """The text, preceded by the code if it does not contain it."""
        return self.text if self.code in self.text else one_line(f"{self.code} {self.text}", 500)

    @property
    def outlook(self) -> str:
        """When it is tried again, in words; "" for ordinary retries."""
        if self.retry_in is None:
            return "not tried again"
        if self.refusal is LoginRefusal.LOCKED:
            return f"tried again every {spelled(self.retry_in)}"
        if self.refusal is LoginRefusal.PASSWORD:
            return f"tried again once the password changes, checked every {spelled(self.retry_in)}"
        return ""

    @property
    def next_try(self) -> datetime | None:
        """The time of the next attempt on this machine's clock, counted from now; None if there is none."""
        return None if self.retry_in is None else datetime.now(UTC) + timedelta(seconds=self.retry_in)


class SourceEnded(Struct, frozen=True):
    """A finite source has been read to its end."""


class ActionResult(Struct, frozen=True):
    """The result of a command: `done` is whether it was carried out, `text` describes it in one line.

    A command that was not `tried` is not in any log yet.
    """

    command: Command
    done: bool
    text: str
    tried: bool = True


Event = Polled | PreviewCame | SourceLost | SourceEnded | ActionResult

CarryOut = Callable[[Command, Source, Release], ActionResult]
"""Carries out a command on an open source."""
