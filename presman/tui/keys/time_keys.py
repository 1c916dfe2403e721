"""Keys for time: freezing the view, looking back, going to a time or an event, polling more or less often."""

from presman.analysis.trends.database_events import DatabaseEvent
from presman.tabs.choices import LinkState, next_step
from presman.tabs.parts import Key
from presman.tui.frame_app import FrameApp
from presman.tui.keyed_app import NO_DATA, AppKey, has_data
from presman.tui.keys.page_keys import show_tab

_SHORT = 2.0
"""Seconds that the notice of a changed setting is shown."""


def pause(app: FrameApp) -> None:
    """Freeze the view, or resume."""
    app.monitor.pause()
    app.repaint()


def live(app: FrameApp) -> None:
    """Show the newest poll, and each that follows."""
    app.monitor.live()
    app.repaint()


def refresh(app: FrameApp, direction: int) -> None:
    """Poll less (1) or more (-1) often, and notify the user: a short line of facts does not have the interval."""
    app.monitor.choose(refresh=next_step(app.monitor.choices.refresh, direction))
    app.feed.set_refresh(app.monitor.choices.refresh)
    app.repaint()
    app.notify(f"A poll every {app.monitor.choices.refresh:g} s.", timeout=_SHORT)


def poll_now(app: FrameApp) -> None:
    """Poll at once, and notify the user: unchanged figures do not show that they are new."""
    app.feed.poll_now()
    app.notify("Trying to connect now." if is_lost(app) else "Asked for a poll now.", timeout=_SHORT)


def has_past(app: FrameApp) -> bool:
    """Return whether there is a poll before the one on screen."""
    monitor = app.monitor
    return monitor.reading is not None and monitor.choices.behind + 1 < len(monitor.timeline)


def is_behind(app: FrameApp) -> bool:
    """Return whether the screen shows an earlier poll."""
    return app.monitor.choices.behind > 0


def is_frozen(app: FrameApp) -> bool:
    """Return whether the newest poll is not on screen."""
    return app.monitor.is_frozen


def is_lost(app: FrameApp) -> bool:
    """Return whether the connection is lost."""
    return app.monitor.link.state is LinkState.LOST


_FIRST, _NEWEST = "There is no poll before this one.", "This is the newest poll."


def _step(key: Key, polls: int) -> AppKey:
    """Return the key that moves by `polls`, back if negative."""
    when, why_not = (has_past, _FIRST) if polls < 0 else (is_behind, _NEWEST)
    return AppKey(key, lambda app: app.moments.step(polls), when, why_not)


PAUSE = AppKey(
    Key("pause", "space", "Space", "pause", "Freeze the view; polling and history continue."),
    pause, has_data, NO_DATA, relabel=lambda app: "pause" if app.monitor.choices.paused is None else "go on",
)  # fmt: skip
BACK = _step(Key("back", "left", "←", "back in time", "Step one poll back in time."), -1)
FORWARD = _step(Key("forward", "right", "→", "forward", "Step one poll forward in time."), 1)
FAR_BACK = _step(Key("far_back", "shift+left", "⇧←", "15 back", "Step 15 polls back in time."), -15)
FAR_FORWARD = _step(Key("far_forward", "shift+right", "⇧→", "15 forward", "Step 15 polls forward in time."), 15)
LIVE = AppKey(Key("live", "end", "End", "live", "Back to the newest poll; ends a pause too."), live, is_frozen, _NEWEST)
SLOWER = AppKey(Key("slower", "plus,equals_sign", "+", "slower", "Poll less often."), lambda app: refresh(app, 1))
FASTER = AppKey(Key("faster", "minus", "-", "faster", "Poll more often."), lambda app: refresh(app, -1))
POLL_NOW = AppKey(Key("poll_now", "f5", "F5", "poll now", "Poll at once, or try at once to connect again."), poll_now)


async def ask_time(app: FrameApp) -> None:
    """Open the input line for a time."""
    from presman.tui.widgets.choosers import ask

    await ask(app, "jump", before="#scrub" if app.query("#scrub") else "#keys")


async def to_moment(app: FrameApp, event: DatabaseEvent) -> None:
    """Go to the moment of an event, on the tab that shows most about it."""
    from presman.tabs.events import tab_of

    await show_tab(app, tab_of(event))
    app.moments.show(event)


JUMP = AppKey(
    Key("jump", "at,J", "J", "jump", "Go to a time: Enter alone goes back 15 minutes from the moment on screen, 40 "
        "goes back 40 minutes, -2h two hours; 03:12, 3m ago (before the newest poll), first, last. `:` takes a time, "
        "too (:19:08, :-15m), and a click on a chart goes to that minute."),
    ask_time, has_data, NO_DATA,
)  # fmt: skip
NEXT_EVENT = AppKey(
    Key("next_event", "n", "n", "next event", "Go to the next event, and skip those that only end something; E lists "
        "them all, and / there finds some (queue began)."),
    lambda app: app.moments.to_event(1), has_data, NO_DATA,
)  # fmt: skip
PREVIOUS_EVENT = AppKey(
    Key("previous_event", "p", "p", "event before", "Go to the event before: a queue began, a plan switched, a "
        "limit was hit, an instance restarted, an alert came. Those that only end something are skipped."),
    lambda app: app.moments.to_event(-1), has_data, NO_DATA,
)  # fmt: skip
