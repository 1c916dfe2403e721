"""Misbehaving sources, for tests of sources in processes of their own."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from presman.base.release import Release
from presman.base.secret import Secret
from presman.rows.queries import Scope
from presman.sources import Answer, Request, SourceError, source_process
from presman.sources.simulator_source import SimulatorSource
from presman.sources.source_process import PreviewedSource
from tests.patience import PATIENCE

AT = datetime(2026, 3, 12, tzinfo=UTC)


def keep_reads_of_a_look() -> None:
    """Let the source's process keep its first reads for as long as a busy machine needs until the first poll."""
    source_process.FRESH = PATIENCE


class OddSource:
    """A source that does at each read what `manner` names: nothing, die, spin, sleep, fail.

    `reading` is a file that is created when a read has begun.
    """

    kind = "oracle"
    name = "odd"
    instance = 7

    def __init__(self, manner: str = "", password: Secret | None = None, reading: str = "") -> None:
        self.scope = Scope.CLUSTER
        self._manner = manner
        if manner == "lose":
            keep_reads_of_a_look()
        self._password = password
        self._reading = reading
        self._cancelled = False
        self._reads = 0

    def open(self) -> Release:
        if self._manner == "refuse":
            raise SourceError("wrong password", code="ORA-01017", retry=False)
        return Release(19)

    def advance(self) -> None:
        """Stay."""

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        if self._reading:
            Path(self._reading).touch()
        if self._manner == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        self._reads += 1
        if self._manner == "lose" and self._reads == 1:
            raise SourceError("connection closed", code="DPY-4011")
        if self._manner == "spin":
            re.match("(a+)+$", "a" * 64 + "b")  # never releases Python's lock
        if self._manner == "break":
            raise ZeroDivisionError("0")
        while self._manner == "wait" and not self._cancelled:
            time.sleep(0.01)
        if self._cancelled:
            raise SourceError("cancelled")
        secret = self._password.reveal() if self._password else ""
        return Answer(AT, (), self._reads, notes=(self.scope.name, secret, str(within), str(os.getpid())))

    def perform(self, statement: str, binds: Mapping[str, Any]) -> None:
        if statement == "refuse":
            raise SourceError("no such session", code="ORA-00030", retry=False)
        os._exit(3)

    def container(self) -> int | None:
        return 4

    def cancel(self) -> None:
        self._cancelled = True

    def close(self) -> None:
        """Nothing is held."""


class CountingSource(SimulatorSource):
    """A simulated database that is read like a real one; its round trips are the number of reads."""

    kind = "oracle"
    _reads = 0

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        keep_reads_of_a_look()

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        self._reads += 1
        return replace(super().read(requests, within), round_trips=self._reads)


class Asked:
    """A source that is called like one in another process, and records the scope of each read."""

    kind = "simulator"
    name = "asked"

    def __init__(self, calls: PreviewedSource) -> None:
        self.scope = Scope.CLUSTER
        self.calls = calls

    def open(self) -> Release:
        return self.calls.open()

    def advance(self) -> None:
        self.calls.advance()

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        return self.calls.read(self.scope, tuple(requests), within)

    def cancel(self) -> None:
        """It answers at once."""

    def close(self) -> None:
        self.calls.close()


def reads_of(source: Any) -> tuple[Any, Answer]:
    """Make a look: return the process and the result of one read."""
    return os.getpid(), source.read((), 0.5)


def broken_look(source: Any) -> None:
    """Make a look that fails."""
    raise ZeroDivisionError(source.name)
