"""The user's choices (tab, instant, window, rows, drill-down), and the link that delivers the data."""

from collections.abc import Hashable, Sequence
from enum import Enum
from typing import Literal, get_args

from msgspec import Struct, field

ARROW = " › "
"""The separator of breadcrumb steps."""

DRILL_DOWN = "drill_down"
"""The name of the panel that lists a scope: it is laid out like a tab, but has no key."""


class DrillScope(Struct, frozen=True):
    """A filter of sessions and statements: those that match all fields; None and "" match any.

    `alike` is what the queued statements of one folded row have in common (`kind_of`), () for any other scope.
    """

    title: str
    inst_id: int | None = None
    con_id: int | None = None
    group: str = ""
    event: str = ""
    sql_id: str = ""
    alike: Hashable = ()

    @property
    def is_location(self) -> bool:
        """Whether it is only an instance or a container."""
        return not (self.group or self.event or self.sql_id)


def breadcrumb(tab: str, scopes: Sequence[DrillScope], page: str = "", *, several: bool = False) -> str:
    """Return the path to what is on screen: ``Overview › BATCH on 2 › 1:503,7``.

    With `several` instances, the step that enters an instance names it.
    """
    pairs = zip((None, *scopes), scopes, strict=False)
    named = [_title(scope, before) if several else scope.title for before, scope in pairs]
    return ARROW.join([tab, *named, *([page] if page else [])])


def _title(scope: DrillScope, before: DrillScope | None) -> str:
    is_whole_instance = scope.is_location and scope.con_id is None
    known = None if before is None else before.inst_id
    return scope.title if is_whole_instance or scope.inst_id in {None, known} else f"{scope.title} on {scope.inst_id}"


Window = Literal[15, 60, 5]
WINDOWS: tuple[Window, ...] = get_args(Window)
"""Minutes a chart can show; the first is the default."""

STEPS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 30.0, 60.0)
"""Refresh intervals that + and - go through, in seconds."""


class Choices(Struct, frozen=True):
    """The user's choices. `behind` counts polls back from the newest while scrolled back, 0 is live.

    `paused` is when the view was frozen, None if it is not. `filters` are kept per tab. `packs` are the packs that
    the user has declared as licensed. `scopes` are the drill-down steps from the tab; the last one is on screen.
    `unfolded` gives parallel servers and identical queued statements rows of their own, `plain` shows all rows as
    they were read, for text output. `recorded` means that the past is shown: a recording, or a spool. `stopped` means
    that a replay is stopped at the poll on screen. `plan` is the plan to show in place of the active one, "" for that.
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
    stopped: bool = False
    plan: str = ""

    @property
    def panel(self) -> str:
        """The name of the panel on screen: the tab, or the list of a scope in it."""
        return DRILL_DOWN if self.scopes else self.tab

    @property
    def scope(self) -> DrillScope | None:
        """The scope on screen, None for a tab."""
        return self.scopes[-1] if self.scopes else None

    @property
    def filter(self) -> str:
        """The filter of the panel on screen."""
        return self.filters.get(self.panel, "")


def next_step(refresh: float, direction: int) -> float:
    """Return the next longer (1) or shorter (-1) refresh interval, or the same one if there is none."""
    return next((step for step in STEPS[::direction] if (step - refresh) * direction > 0), refresh)


# ---- Facts of the top line: the link to the database, and the name of the active plan.


class LinkState(Enum):
    """The state of the link that delivers the data."""

    CONNECTING = "connecting"
    LIVE = "live"
    LOST = "lost"
    SPOOL = "spool"
    """A sample of a spool was read; others follow."""
    ENDED = "ended"
    """The last sample of a spool was read."""
    REPLAY = "replay"


class Link(Struct, frozen=True):
    """The link to the source. Times are those of the app's monotonic clock.

    `text` is why the link was lost or, for a recording, what it is doing.

    `fresh` is when the newest data were read (the start of that poll), `since` when the state began; while it is live,
    the last poll. `retry_at` is None if no attempt will follow; if the link `wants_password`, another one is looked
    for then.
    """

    state: LinkState = LinkState.CONNECTING
    text: str = ""
    since: float = 0.0
    fresh: float = 0.0
    retry_at: float | None = None
    wants_password: bool = False

    @property
    def is_past(self) -> bool:
        """Whether the data comes from a recording or a spool: its age is not that of the last read."""
        return self.state in {LinkState.REPLAY, LinkState.SPOOL, LinkState.ENDED}

    def silence(self, now: float, refresh: float) -> float:
        """Return seconds since the newest data were read; 0 up to two intervals, and for data of the past."""
        age = now - self.fresh
        return 0.0 if self.is_past or (self.state is LinkState.LIVE and age <= 2 * refresh) else age
