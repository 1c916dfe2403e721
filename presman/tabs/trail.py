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


def trail(tab: str, places: Sequence[Place], page: str = "", *, several: bool = False) -> str:
    """Return where one is: ``Overview › BATCH on 2 › 1:503,7``.

    With `several` instances each is said where one comes to it.
    """
    named = [
        _title(place, before) if several else place.title
        for before, place in zip((None, *places), places, strict=False)
    ]
    return ARROW.join([tab, *named, *([page] if page else [])])


def _title(place: Place, before: Place | None) -> str:
    is_whole_instance = not (place.group or place.event or place.sql_id) and place.con_id is None
    known = None if before is None else before.inst_id
    return place.title if is_whole_instance or place.inst_id in {None, known} else f"{place.title} on {place.inst_id}"
