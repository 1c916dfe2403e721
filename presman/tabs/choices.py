"""The user's choices (tab, instant, time, rows, what was gone into), and the link by which the data comes in."""

from collections.abc import Hashable, Sequence
from enum import Enum
from typing import Literal, get_args

from msgspec import Struct, field

ARROW = " › "
"""What stands between two steps of the breadcrumb."""

DRILL_DOWN = "drill_down"
"""The name of what lists a scope: it is laid out as a tab, and has no key of its own."""


class DrillScope(Struct, frozen=True):
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

    @property
    def is_place(self) -> bool:
        """Whether it is no more than an instance or a container."""
        return not (self.group or self.event or self.sql_id)


def breadcrumb(tab: str, scopes: Sequence[DrillScope], page: str = "", *, several: bool = False) -> str:
    """Return where one is: ``Overview › BATCH on 2 › 1:503,7``.

    With `several` instances each is named where one comes to it.
    """
    pairs = zip((None, *scopes), scopes, strict=False)
    named = [_title(scope, before) if several else scope.title for before, scope in pairs]
    return ARROW.join([tab, *named, *([page] if page else [])])


def _title(scope: DrillScope, before: DrillScope | None) -> str:
    is_whole_instance = scope.is_place and scope.con_id is None
    known = None if before is None else before.inst_id
    return scope.title if is_whole_instance or scope.inst_id in {None, known} else f"{scope.title} on {scope.inst_id}"


Window = Literal[15, 60, 5]
WINDOWS: tuple[Window, ...] = get_args(Window)
"""Minutes a chart can show; the first is usual."""

STEPS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 30.0, 60.0)
"""Refresh intervals that + and - go through, in seconds."""


class Choices(Struct, frozen=True):
    """The user's choices. `behind` counts polls back from the newest while scrolled back, 0 is live.

    `paused` is when the view was frozen, None if it is not. `filters` are kept per tab. `packs` are the licensed
    packs the user says he has. `scopes` are those gone into from the tab, the last one is on show. `unfolded` tells
    that parallel servers and identical queued statements have rows of their own, `plain` that all rows are as they
    were read: in texts. `recorded` tells that a recording is on show.
    """

    tab: str = "overview"
    by_instance: bool = False
    paused: float | None = None
    behind: int = 0
    refresh: float = 2.0
    window: Window = WINDOWS[0]
    filters: dict[str, str] = field(default_factory=dict)
    packs: tuple[str, ...] = ()
    scopes: tuple[DrillScope, ...] = ()
    unfolded: bool = False
    plain: bool = False
    recorded: bool = False

    @property
    def panel(self) -> str:
        """The name of what is on show: the tab, or the list of a scope in it."""
        return DRILL_DOWN if self.scopes else self.tab

    @property
    def scope(self) -> DrillScope | None:
        """What is listed, None where a tab is on show."""
        return self.scopes[-1] if self.scopes else None

    @property
    def filter(self) -> str:
        """The filter of what is on show."""
        return self.filters.get(self.panel, "")


def next_step(refresh: float, direction: int) -> float:
    """Return the next longer (1) or shorter (-1) refresh interval; the same at the ends."""
    return next((step for step in STEPS[::direction] if (step - refresh) * direction > 0), refresh)


# ---- Facts of the top line: the link to the database, and the name of the active plan.


class LinkState(Enum):
    """How the data comes in."""

    CONNECTING = "connecting"
    LIVE = "live"
    LOST = "lost"
    ENDED = "ended"
    REPLAY = "replay"


class Link(Struct, frozen=True):
    """The link to the source. Times are of the app's monotonic clock.

    `text` says why it was lost, and of a recording what it does.

    `fresh` is when the newest data were read (when the poll that brought them began), `since` when the state began;
    while it is live, with the last poll. `retry_at` is None where no attempt will follow.
    """

    state: LinkState = LinkState.CONNECTING
    text: str = ""
    since: float = 0.0
    fresh: float = 0.0
    retry_at: float | None = None

    def silence(self, now: float, refresh: float) -> float:
        """Return seconds since the newest data were read, 0 while they are at most two intervals old, or recorded."""
        age, is_recorded = now - self.fresh, self.state in {LinkState.REPLAY, LinkState.ENDED}
        return 0.0 if is_recorded or (self.state is LinkState.LIVE and age <= 2 * refresh) else age
