"""A source in its own process, looked at there once it is open, before whoever started the process asks anything."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from presman.base.release import Release
from presman.rows.queries import Scope
from presman.sources import Answer, Request, Source, SourceError

FRESH = 1.0
"""Seconds for which what was read for a look is as good as new."""

Look = Callable[[Source], Any]
"""What is made of an open source; a value that another process can be given."""


class Looked(NamedTuple):
    """What was made of a source, and the seconds since it began to be read."""

    value: Any
    seconds: float


class _Noted(NamedTuple):
    """What was read for a look, or why it could not be, and when that began and ended by the monotonic clock."""

    begun: float
    ended: float
    scope: Scope
    requests: tuple[Request, ...]
    answer: Answer | SourceError


class LookedAt:
    """Calls of a source. What a look has read is not read again: the same question is answered with it, once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._release: Release | None = None
        self._noted: list[_Noted] = []

    def __getattr__(self, name: str) -> Any:
        """Return what the source has of that name: what is asked as it is."""
        return getattr(self._source, name)

    def open(self) -> Release:
        """Open the source."""
        self._release = None
        self._release = self._source.open()
        return self._release

    def look(self, look: Look) -> Looked | None:
        """Return what `look` makes of the source, None while that is not open."""
        if self._release is None:
            return None
        begun = time.monotonic()
        value = look(_Noting(self._source, self._release, self._noted))
        return Looked(value, time.monotonic() - begun)

    def read(self, scope: Scope, requests: tuple[Request, ...], within: float | None = None) -> Answer:
        """Read in that scope, or return what a look has just read."""
        now = time.monotonic()
        self._noted[:] = [noted for noted in self._noted if now - noted.ended < FRESH]
        for place, noted in enumerate(self._noted):
            if (noted.scope, noted.requests) == (scope, requests):
                del self._noted[place]
                if isinstance(noted.answer, SourceError):
                    raise noted.answer  # the source is lost, and would say no more of it than that
                return replace(noted.answer, spent=noted.ended - noted.begun)
        self._source.scope = scope
        return self._source.read(requests, within)


class _Noting:
    """An open source as a look sees it: to open it again tells the release, and what is read is noted."""

    def __init__(self, source: Source, release: Release, noted: list[_Noted]) -> None:
        self._source, self._release, self._noted = source, release, noted
        self.name, self.kind, self.scope = source.name, source.kind, source.scope

    def open(self) -> Release:
        return self._release

    def advance(self) -> None:
        self._source.advance()

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        self._source.scope = self.scope
        begun = time.monotonic()
        try:
            answer = self._source.read(requests, within)
        except SourceError as error:
            self._note(begun, requests, error)
            raise
        self._note(begun, requests, answer)
        return answer

    def _note(self, begun: float, requests: Sequence[Request], answer: Answer | SourceError) -> None:
        self._noted.append(_Noted(begun, time.monotonic(), self.scope, tuple(requests), answer))

    def cancel(self) -> None:
        self._source.cancel()

    def close(self) -> None:
        """Leave it open."""
