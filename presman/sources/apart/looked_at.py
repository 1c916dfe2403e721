"""A source in its own process, looked at there once it is open, before whoever started the process asks anything."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from presman.base.release import Release
from presman.records.queries import Scope
from presman.sources import Answer, Request, Source

FRESH = 1.0
"""Seconds for which what was read for a look is as good as new."""

Look = Callable[[Source], Any]
"""What is made of an open source; a value that another process can be given."""


class LookedAt:
    """Calls of a source. What a look has read is not read again: the same question is answered with it, once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._release: Release | None = None
        self._noted: tuple[float, Scope, tuple[Request, ...], Answer] | None = None

    def __getattr__(self, name: str) -> Any:
        """Return what the source has of that name: what is asked as it is."""
        return getattr(self._source, name)

    def open(self) -> Release:
        """Open the source."""
        self._release = None
        self._release = self._source.open()
        return self._release

    def look(self, look: Look) -> Any:
        """Return what `look` makes of the source, None while that is not open."""
        return None if self._release is None else look(_Noting(self._source, self._release, self._note))

    def read(self, scope: Scope, requests: tuple[Request, ...], within: float | None = None) -> Answer:
        """Read in that scope, or return what a look has just read."""
        noted, self._noted = self._noted, None
        if noted is not None and time.monotonic() - noted[0] < FRESH and noted[1:3] == (scope, requests):
            return noted[3]
        self._source.scope = scope
        return self._source.read(requests, within)

    def _note(self, scope: Scope, requests: Sequence[Request], answer: Answer) -> None:
        if self._noted is None:
            self._noted = time.monotonic(), scope, tuple(requests), answer


class _Noting:
    """An open source as a look sees it: to open it again tells the release, and what is read is noted."""

    def __init__(
        self, source: Source, release: Release, note: Callable[[Scope, Sequence[Request], Answer], None]
    ) -> None:
        self._source, self._release, self._note = source, release, note
        self.name, self.kind, self.scope = source.name, source.kind, source.scope

    def open(self) -> Release:
        return self._release

    def advance(self) -> None:
        self._source.advance()

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        self._source.scope = self.scope
        answer = self._source.read(requests, within)
        self._note(self.scope, requests, answer)
        return answer

    def cancel(self) -> None:
        self._source.cancel()

    def close(self) -> None:
        """Leave it open."""
