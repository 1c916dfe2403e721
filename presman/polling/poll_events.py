"""Poll events: what a sampler tells of the database that it polls."""

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
    """A poll succeeded."""

    snapshot: Snapshot


class FirstLook(Struct, frozen=True):
    """What the first poll has read before it is whole. A whole one follows, or the loss of the source."""

    snapshot: Snapshot


class PreviewCame(Struct, frozen=True):
    """A preview came: what the source's process made of it ahead of the first poll. That follows, or the loss.

    `begun` is when it began to be read, in seconds of the monotonic clock.
    """

    seen: Any
    begun: float


class SourceLost(Struct, frozen=True):
    """The source cannot be opened or was lost; `text` is one line free of secrets.

    `code` is Oracle's or the driver's, or "". The next attempt is in `retry_in` seconds; None means none without
    `poll_now`, because trying again cannot help (a wrong password locks accounts). `since` is when it was lost.
    `refusal` tells that it is there and lets nobody in: then the next attempt is for another password, or far off.
    `has_run_out`: not the source is to blame, this machine allows no thread, file or memory for it, and never did.
    """

    text: str
    code: str
    retry_in: float | None
    since: datetime
    refusal: LoginRefusal | None = None
    has_run_out: bool = False

    @property
    def line(self) -> str:
        """Why, with the code where the text lacks it."""
        return self.text if self.code in self.text else one_line(f"{self.code} {self.text}", 500)

    @property
    def outlook(self) -> str:
        """What follows, where that is not one attempt after the other; else ""."""
        if self.retry_in is None:
            return "not tried again"
        if self.refusal is LoginRefusal.LOCKED:
            return f"tried again every {spelled(self.retry_in)}"
        if self.refusal is LoginRefusal.PASSWORD:
            return f"tried again once the password changes, checked every {spelled(self.retry_in)}"
        return ""

    @property
    def next_try(self) -> datetime | None:
        """When it is tried next, counted from now, by the clock of this machine; None if it is not."""
        return None if self.retry_in is None else datetime.now(UTC) + timedelta(seconds=self.retry_in)


class SourceEnded(Struct, frozen=True):
    """A finite source has been read to its end."""


class ActionResult(Struct, frozen=True):
    """A command was carried out, or was not: `text` is one line about it. One that was not `tried` is in no log yet."""

    command: Command
    done: bool
    text: str
    tried: bool = True


Event = Polled | FirstLook | PreviewCame | SourceLost | SourceEnded | ActionResult

CarryOut = Callable[[Command, Source, Release], tuple[Command, bool, str]]
"""Carries out a command on an open source; returns the command, whether it was done and a line about it."""
