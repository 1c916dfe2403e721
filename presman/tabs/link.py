"""Facts of the top line: the link to the database, how the data comes in, and the name of the active plan."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading


class LinkState(Enum):
    """How the data comes in."""

    CONNECTING = "connecting"
    LIVE = "live"
    LOST = "lost"
    ENDED = "ended"
    REPLAY = "replay"


class Link(Struct, frozen=True):
    """The link to the source. Times are of the app's monotonic clock; `text` says why it was lost, and of a
    recording what it does.

    `fresh` is when the newest data were read (when the poll that brought them began), `since` when the state began;
    while it is live, with the last poll. `retry_at` is None where no attempt will follow.
    """

    state: LinkState = LinkState.CONNECTING
    text: str = ""
    since: float = 0.0
    fresh: float = 0.0
    retry_at: float | None = None


def plan_name(reading: Reading) -> str:
    """Return the plan's name; none if no plan is active, and not known if no view tells."""
    if reading.header.plan:
        return reading.header.plan
    return "not known" if any(each.view.endswith("RSRC_PLAN") for each in reading.unseen) else "none"
