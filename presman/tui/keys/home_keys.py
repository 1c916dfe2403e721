"""Keys of a monitor that was opened from a fleet: at the top they lead back there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from presman.tui.keys.app_key import AppKey, always
from presman.tui.keys.page_keys import ESCAPE, LEAVE, can_go_back, escape, leave

if TYPE_CHECKING:
    from presman.tui.frame_app import FrameApp


def go_home(app: FrameApp) -> None:
    """End, to show the fleet again."""
    app.goes_home = app.hands_on = True
    app.exit()


def is_at_top(app: FrameApp) -> bool:
    """While neither a page is open nor anything was gone into."""
    return not (app.reader.is_open or app.monitor.choices.places)


async def escape_home(app: FrameApp) -> None:
    """Go back to where one came from, from the top to the fleet."""
    if can_go_back(app):
        await escape(app)
    else:
        go_home(app)


async def leave_home(app: FrameApp) -> None:
    """Go back to where one came from, from the top to the fleet."""
    if is_at_top(app):
        go_home(app)
    else:
        await leave(app)


HOME_KEYS: tuple[AppKey, ...] = (
    replace(
        ESCAPE,
        key=ESCAPE.key._replace(
            help="Back to where you came from, on the same row; clears a filter; then to the fleet."
        ),
        run=escape_home,
        when=always,
    ),
    replace(
        LEAVE,
        key=LEAVE.key._replace(
            label="back", help="Back to where you came from, on the same row; at the top, to the fleet."
        ),
        run=leave_home,
        relabel=lambda app: "fleet" if is_at_top(app) else "back",
    ),
)


def lead_home(app: FrameApp) -> None:
    """Have q and Esc lead back to the fleet."""
    app.home = True
    app.own_keys = {**app.own_keys, **{each.key.name: each for each in HOME_KEYS}}
