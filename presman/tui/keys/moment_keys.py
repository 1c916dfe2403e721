"""Keys that lead to a moment: a time, what happened next or before. The same live and in a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presman.tabs.parts import Key
from presman.tui.keys.app_key import NO_DATA, AppKey, has_data
from presman.tui.keys.page_keys import show_tab

if TYPE_CHECKING:
    from presman.analysis.trends.database_events import DatabaseEvent
    from presman.tui.frame_app import FrameApp


async def ask_time(app: FrameApp) -> None:
    """Ask where to go."""
    from presman.tui.widgets.jump_line import JumpLine

    line = app.query_one_optional(JumpLine)
    if line is None:
        line = JumpLine()
        await app.mount(line, before=app.query("#scrub").first() if app.query("#scrub") else "#keys")
    line.begin()


async def to_moment(app: FrameApp, event: DatabaseEvent) -> None:
    """Go to the moment of an event, on the tab that shows most of it."""
    from presman.tabs.events import tab_of

    await show_tab(app, tab_of(event))
    app.moments.show(event)


JUMP = AppKey(
    Key("jump", "at,J", "J", "jump", "Go to a time: 03:12, -15m, 3m ago, first, last; `:` takes it, too (:19:08, "
        ":-15m), and a click on a chart goes to that minute."),
    ask_time, has_data, NO_DATA,
)  # fmt: skip
NEXT_EVENT = AppKey(
    Key("next_event", "n", "n", "next event", "Go to what happened next; E lists it all."),
    lambda app: app.moments.to_event(1), has_data, NO_DATA,
)  # fmt: skip
PREVIOUS_EVENT = AppKey(
    Key("previous_event", "p", "p", "event before", "Go to what happened before: a queue began, a plan switched, a "
        "limit was hit, an instance restarted, an alert came."),
    lambda app: app.moments.to_event(-1), has_data, NO_DATA,
)  # fmt: skip
