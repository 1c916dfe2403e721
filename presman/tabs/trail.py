"""Trail: where one is, from the tab inwards."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct

ARROW = " › "
"""What stands between two steps of the trail."""

INSIDE = "inside"
"""The name of what lists a place: it is laid out as a tab, and has no key of its own."""


class Place(Struct, frozen=True):
    """What is listed: sessions and statements that have all of this; None and "" are any.

    `alike` is what queued statements of one folded row have in common (`kind_of`), () if it is no such row.
    """

    title: str
    inst_id: int | None = None
    con_id: int | None = None
    group: str = ""
    event: str = ""
    sql_id: str = ""
    alike: Hashable = ()


def trail(tab: str, places: Sequence[Place], page: str = "") -> str:
    """Return where one is: ``Overview › BATCH › 1:503,7``."""
    return ARROW.join([tab, *(place.title for place in places), *([page] if page else [])])
