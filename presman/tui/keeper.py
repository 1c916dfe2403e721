"""Keeper of what a user sets: puts it back at the start, and notes it after each key that changed something."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from presman.tui import kept_view
from presman.tui.kept_view import KeptView

if TYPE_CHECKING:
    from presman.tui.frame_app import FrameApp

T = TypeVar("T")


class Keeper:
    """Keeps the view of one target. `fixed` names what the command line says, which comes before what is kept.

    `trouble` says why a file that is there was not used.
    """

    def __init__(self, target: str, fixed: Collection[str] = ()) -> None:
        self._target = target
        self._fixed = frozenset(fixed)
        self.kept, self.trouble = kept_view.load(target)
        self._begun = KeptView()
        self._told = False

    def attend(self, app: FrameApp) -> None:
        """Have an app ask for what was kept before anything is painted, and tell what is set."""
        app.put_back, app.note_view = partial(self._put_back, app), partial(self._note, app)
        app.notice = app.notice or self.trouble

    def _put_back(self, app: FrameApp) -> None:
        kept, monitor = self.kept, app.monitor
        if kept.theme in app.available_themes and "theme" not in self._fixed:
            app.theme = kept.theme
        given = {name: value for name in ("refresh", "window", "by_instance", "unfolded")
                 if (value := getattr(kept, name)) is not None and name not in self._fixed}  # fmt: skip
        monitor.choose(filters=dict(kept.filters), **given)
        app.feed.set_refresh(monitor.choices.refresh)
        if kept.ascii_only is not None:
            app.keep_to_ascii(only=kept.ascii_only)
        app.panels.kept = kept
        self._begun = self._now(app)

    def _note(self, app: FrameApp) -> None:
        """Keep what differs from how it began or from what is kept; a file that cannot be written is told once."""
        if not app.begun:
            return
        now, begun, kept = self._now(app), self._begun, self.kept
        changed: dict[str, Any] = {
            name: getattr(now, name)
            for name in ("theme", "refresh", "window", "by_instance", "unfolded", "ascii_only")
            if getattr(now, name) != getattr(begun, name)
        }
        view = replace(
            kept,
            **changed,
            filters=now.filters,
            sorts=_merged(kept.sorts, now.sorts, app.panels.all_grids),
            columns=_merged(kept.columns, now.columns, app.panels.all_grids),
        )
        if view != kept:
            self.kept = view
            self._begun = replace(begun, **changed)
            app.panels.kept = view
            self._save(app)

    def _save(self, app: FrameApp) -> None:
        try:
            kept_view.save(self._target, self.kept)
        except OSError as error:
            if not self._told:
                app.tell(f"Settings are not kept: {error.filename or 'its file'}: {error.strerror}", severity="warning")
            self._told = True

    def forget(self, app: FrameApp) -> None:
        """Do away with what is kept; what is on the screen stays as it is until presman ends."""
        there = kept_view.forget(self._target)
        self._begun = self._now(app)
        self.kept = KeptView(filters=self._begun.filters, sorts=self._begun.sorts, columns=self._begun.columns)
        app.tell("Settings are forgotten: the next start is as config.ini says." if there else "Nothing was kept.")

    def _now(self, app: FrameApp) -> KeptView:
        choices = app.monitor.choices
        sorts, columns = {}, {}
        for name, grid in app.panels.all_grids.items():
            rows, table = grid.rows, grid.table
            if (rows.sort_key, rows.descending) != (table.order, table.descending):
                sorts[name] = (rows.sort_key, rows.descending)
            if grid.drawing.chosen:
                columns[name] = grid.drawing.chosen
        return KeptView(
            app.theme, choices.refresh, choices.window, choices.by_instance, choices.unfolded, app.is_ascii,
            {name: needle for name, needle in choices.filters.items() if needle}, sorts, columns,
        )  # fmt: skip


def _merged(kept: Mapping[str, T], now: Mapping[str, T], seen: Collection[str]) -> dict[str, T]:
    """Return what is so now, and what is kept of tables that were not made."""
    return {**{name: value for name, value in kept.items() if name not in seen}, **now}
