"""Keeper of what a user sets: puts it back at the start, and notes it after each key that changed something."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from presman.tui import kept_view
from presman.tui.kept_view import KeptView, set_in_tables

if TYPE_CHECKING:
    from presman.tui.frame_app import FrameApp
    from presman.tui.terminal_app import TerminalApp


class Keeper:
    """Keeps what is set, the same for all targets. `fixed` names what comes before what is kept.

    `trouble` says why a file that is there was not used.
    """

    def __init__(self, fixed: Collection[str] = ()) -> None:
        self._fixed = frozenset(fixed)
        self.kept, self.trouble = kept_view.load()
        self._noted: KeptView | None = None
        self._told = False

    def attend(self, app: FrameApp) -> None:
        """Have an app ask for what was kept before anything is painted, and tell what is set."""
        app.put_back = partial(self._put_back, app)
        app.note_view = lambda: self.note(app, _now(app)) if app.begun else None
        app.notice = app.notice or self.trouble

    def put_back_colours(self, app: TerminalApp) -> None:
        """Give an app the theme and the signs that were kept."""
        if self.kept.theme in app.available_themes and "theme" not in self._fixed:
            app.theme = self.kept.theme
        if self.kept.ascii_only is not None:
            app.keep_to_ascii(only=self.kept.ascii_only)

    def _put_back(self, app: FrameApp) -> None:
        self.put_back_colours(app)
        given = {name: value for name in ("refresh", "window", "by_instance", "unfolded")
                 if (value := getattr(self.kept, name)) is not None and name not in self._fixed}  # fmt: skip
        app.monitor.choose(**given)
        app.feed.set_refresh(app.monitor.choices.refresh)
        app.panels.kept = self.kept
        self._noted = _now(app)

    def note(self, app: TerminalApp, now: KeptView) -> None:
        """Keep what has changed since the last time, the first time nothing; that it cannot be kept is told once."""
        before, self._noted = self._noted, now
        if before is None or now == before:
            return
        try:
            self.kept = kept_view.keep(before, now)
        except OSError as error:
            if not self._told:
                why = f"{error.filename or 'its file'}: {error.strerror}"
                app.tell(f"Settings are not kept: {why}", severity="warning")
            self._told = True

    def forget(self, app: FrameApp) -> None:
        """Do away with what is kept; what is on the screen stays as it is until presman ends."""
        there = kept_view.forget()
        self.kept = app.panels.kept = KeptView()
        app.tell("Settings are forgotten: the next start is as config.ini says." if there else "Nothing was kept.")


def _now(app: FrameApp) -> KeptView:
    choices = app.monitor.choices
    refresh = choices.refresh if app.replayed is None else None  # that of a replay is its recording's
    return KeptView(
        app.theme, refresh, None, choices.window, choices.by_instance, choices.unfolded, app.is_ascii,
        **set_in_tables(app.panels.all_grids),
    )  # fmt: skip
