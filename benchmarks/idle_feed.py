"""A feed for apps that are fed by hand."""

from __future__ import annotations

from presman.tui.feed import Feed


class IdleFeed(Feed):
    """A feed that brings nothing by itself."""
