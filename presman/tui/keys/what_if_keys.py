"""The key that leads to what if: on the limit that the row, the group on show or the alert names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from presman.tabs.parts import Key
from presman.tui.keyed_app import NO_DATA, AppKey
from presman.tui.keys.take_keys import copy_script

if TYPE_CHECKING:
    from presman.forecast.scheduler import Group
    from presman.tui.frame_app import FrameApp


def what_if(app: FrameApp) -> None:
    """Open the panel."""
    from presman.reports.whatif_limits import of_alerts, of_group
    from presman.tui.what_if_screen import WhatIfScreen

    monitor = app.monitor
    if monitor.reading is not None:
        group, subject = _group_on_show(app), "" if monitor.to_do is None else monitor.to_do.subject
        found = of_alerts(monitor.alerts, monitor.reading, subject)
        meant = found if group is None else (group, of_group(group, monitor.reading))
        app.push_screen(WhatIfScreen(monitor, *meant, partial(copy_script, app)))


def _group_on_show(app: FrameApp) -> Group | None:
    """Return the group that the page, on the tab Parallel the row under the cursor, or the list is about."""
    from presman.forecast.scheduler import Group
    from presman.tabs.drill_down import scope_of

    choices, row = app.monitor.choices, app.reader.row
    if not app.reader.is_open and choices.panel == "parallel" and app.grid is not None:
        row = app.grid.row
    for each in (scope_of(row), row, *choices.scopes[-1:]):
        if name := getattr(each, "group", ""):
            return Group(getattr(each, "con_id", None) or 0, name)
    return None


def why_not_what_if(app: FrameApp) -> str:
    """Return why there is nothing to ask what if about, "" where there is."""
    if app.monitor.cost is None:
        return NO_DATA
    why = app.monitor.why_no_command
    return f"What if needs the newest poll: {why}." if why else ""


WHAT_IF = AppKey(
    Key("what_if", "W", "W", "what if", "Try other limits of the plan, first that of the row, the group or the alert: "
        "when each queued statement would start, the script for the change, advice (a). Nothing is changed in the "
        "database."),
    what_if, lambda app: not why_not_what_if(app), why_not_what_if,
)  # fmt: skip
