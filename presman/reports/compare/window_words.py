"""Words for a window of a recording: `prod.presman@03:00..03:30`, and `@04:00..04:30` for another of the same one."""

from __future__ import annotations

from typing import NamedTuple

from presman.base.errors import InputError

FORM = "FILE.presman@03:00..03:30"


class WindowError(InputError):
    """Words that are no window, or a window that cannot be read; the text is one line."""


class WindowWords(NamedTuple):
    """A window as it was asked for: the target ("" is that of the other window), from and to ("" are the ends)."""

    target: str
    start: str
    end: str


def window_words(text: str) -> WindowWords:
    """Return what `TARGET@FROM..TO` says; all of the target without `@`. Raises WindowError.

    Either end may be left out. What stands before the last @ is the target, so a URL may have its own.
    """
    target, mark, tail = text.strip().rpartition("@")
    start, dots, end = tail.partition("..")
    if not mark or not (dots or target.endswith(".presman") or not target):
        return WindowWords(text.strip(), "", "")
    if not dots:
        raise WindowError(f"a window has two ends: write {FORM}")
    return WindowWords(target, start.strip(), end.strip())
