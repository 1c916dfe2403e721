"""The source of a screen: it lives in a process of its own, which starts to open it while the screen is being made.

Compiled code of a driver can spin, eat memory or die. There it holds up nobody, and what is lost is a connection:
the next attempt starts another process.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from presman.base.release import Release
from presman.records.queries import Scope
from presman.sources import Answer, Request, SourceError
from presman.sources.apart.channel import Channel, ChannelEndedError
from presman.sources.recipe import SourceRecipe
from presman.watcher import log_path

BEGIN = (
    "import sys; descriptor = int(sys.argv[1]); sys.path[:] = sys.argv[2:]; "
    "from presman.sources.apart.source_process import main; main(descriptor)"
)
"""What the process is started with: it finds presman where it was found here, in one file, too."""

GLANCE = 0.25
"""Seconds between two looks whether somebody has lost patience."""

CANCELLED = 1.5
"""Seconds that a call may still take once it was cancelled."""

OVERTIME = 30.0
"""Seconds that a read may take beyond what it was given, before the driver counts as hung."""

CLOSING = 1.0
"""Seconds that it may take to log off."""


class ProcessSource:
    """A source in a process of its own. See :class:`presman.sources.Source`; `kind` and `name` are those of the source.

    `begin` starts the process ahead of `open`, from any thread.
    """

    def __init__(self, recipe: SourceRecipe, *, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        self.scope = Scope.CLUSTER
        self.instance = 0
        self._recipe = recipe
        self._process = 0
        self._channel: Channel | None = None
        self._is_opening = False
        self._patience_ends = float("inf")

    def begin(self) -> None:
        """Start the process and have it open the source. Raises SourceError where no process can be had."""
        ours, theirs = socket.socketpair()
        words = [sys.executable, "-P", "-c", BEGIN, str(theirs.fileno()), *sys.path]
        theirs.set_inheritable(True)
        silence = [(os.POSIX_SPAWN_OPEN, each, os.devnull, os.O_RDWR, 0) for each in (0, 1, 2)]
        try:
            self._process = os.posix_spawn(sys.executable, words, os.environ, file_actions=silence)
        except OSError as error:
            ours.close()
            raise SourceError(f"no process for {self.name}: {error.strerror or error}") from error
        finally:
            theirs.close()
        self._channel = Channel(ours)
        self._is_opening = True
        try:
            self._channel.entrust(self._recipe)
            self._channel.send(("open", ()))
        except ChannelEndedError:
            return  # the answer will tell

    def open(self) -> Release:
        """Open the source in a process, in that which was begun if there is one. Raises SourceError."""
        self._patience_ends = float("inf")
        if self._channel is None:
            self.begin()
        elif not self._is_opening:
            self._send("open")
        self._is_opening = False
        release: Release = self._answer(float("inf"))
        return release

    def advance(self) -> None:
        """Move on to the present."""
        self._call("advance")

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        """Run `requests`. Raises SourceError if the connection, or the process, is lost."""
        limit = float("inf") if within is None else within + OVERTIME
        answer: Answer = self._call("read", self.scope, tuple(requests), within, limit=limit)
        return answer

    def container(self) -> int | None:
        """Ask which container the session is in."""
        found: int | None = self._call("container")
        return found

    def perform(self, statement: str, binds: Mapping[str, Any]) -> None:
        """Run a statement that acts. Raises SourceError, OutcomeUnknown."""
        self._call("perform", statement, dict(binds))

    def cancel(self) -> None:
        """Make a call that is under way end soon: if it does not, with its process. Called from another thread."""
        self._patience_ends = min(self._patience_ends, time.monotonic() + CANCELLED)
        if self._channel is not None:
            with suppress(ChannelEndedError):
                self._channel.send(("cancel", ()))

    def close(self) -> None:
        """Log off, and let the process end."""
        if self._channel is None:
            return
        with suppress(SourceError):
            self._call("close", limit=CLOSING)
        self._end()

    # -- the process ----------------------------------------------------------------------------------------------

    def _call(self, name: str, *arguments: Any, limit: float = float("inf")) -> Any:
        self._send(name, *arguments)
        return self._answer(limit)

    def _send(self, name: str, *arguments: Any) -> None:
        if self._channel is None:
            raise SourceError(f"{self.name} is not open")
        try:
            self._channel.send((name, arguments))
        except ChannelEndedError:
            raise self._death() from None

    def _answer(self, limit: float) -> Any:
        """Wait for the answer to what was asked. Raises what the source raised, or SourceError if it was given up."""
        assert self._channel is not None
        end = time.monotonic() + limit
        while not self._channel.comes(GLANCE):
            if time.monotonic() > min(end, self._patience_ends):
                self._end(by_force=True)
                raise SourceError(f"{self.name}: the driver did not answer, its process was ended")
        try:
            value, self.instance = self._channel.receive()
        except ChannelEndedError:
            raise self._death() from None
        if isinstance(value, Exception):
            raise value
        return value

    def _death(self) -> SourceError:
        """Return what became of a process that is gone."""
        code = self._end()
        if code >= 0:
            return SourceError(f"{self.name}: the driver's process ended by itself (exit code {code})")
        with suppress(ValueError):
            return SourceError(f"{self.name}: the driver's process ended by {signal.Signals(-code).name}: {log_path()}")
        return SourceError(f"{self.name}: the driver's process ended by signal {-code}: {log_path()}")

    def _end(self, *, by_force: bool = False) -> int:
        """Let go of the process and return its exit code, negative for a signal."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        process, self._process = self._process, 0
        if not process:
            return 0
        if by_force:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
