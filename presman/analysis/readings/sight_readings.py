"""Readings of sight: what is known not to be there, by which views, and what cannot be told."""

from __future__ import annotations

from typing import NamedTuple


class Basis(NamedTuple):
    """What it takes to say that something is not there.

    `what` is queue, starved group or downgrade; `views` are those that must have told it; `lacking` says why nothing
    is known of it, "" where it is known.
    """

    what: str
    views: tuple[str, ...]
    lacking: str


class UnseenView(NamedTuple):
    """A view that told nothing, and why in words: it could not be read, or the spool has no file of it."""

    view: str
    why: str
