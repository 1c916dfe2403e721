"""Progress line on standard error: how far a long file has been read."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from presman.base import formats
from presman.base.text import clean, one_line

_EVERY = 0.1
_WIDTH = 24


class Progress:
    """A bar rewritten at most ten times a second; silent if `stream` is no terminal. Use it as a context."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream.isatty() else None
        self._clock = clock
        self._next = self._start = clock()
        self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def start(self) -> None:
        """Begin another file."""
        self._start = self._clock()

    def show(self, name: str, position: int, size: int, read: int) -> None:
        """Show that `position` of `size` bytes on disk (0 if unknown) are done, `read` bytes of trace in all."""
        if self._stream is None or (now := self._clock()) < self._next:
            return
        self._next = now + _EVERY
        rate = read / 1e6 / max(now - self._start, 1e-3)
        self._stream.write(
            f"\r{bar(position, size)} {read / 1e6:,.0f} MB, {rate:,.0f} MB/s  {one_line(clean(name), 40)}\x1b[K"
        )
        self._stream.flush()
        self._drawn = True

    def clear(self) -> None:
        """Remove the line, before something else is written."""
        if self._stream is not None and self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False


def bar(position: int, size: int) -> str:
    """Return a bar with its percentage; nothing if the size is unknown."""
    if size <= 0:
        return "reading"
    share = min(1.0, position / size)
    full = round(share * _WIDTH)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {formats.percent(100 * share):>3} %"
