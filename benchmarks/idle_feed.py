"""A feed for apps that get their readings from the benchmark."""

from __future__ import annotations

from presman.tui.feed import Feed


class IdleFeed(Feed):
    """A feed that delivers nothing by itself."""
