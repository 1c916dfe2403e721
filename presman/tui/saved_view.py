"""View settings of a user, saved between runs: one private file for all targets, strictly validated.

All are habits of the user and of a table, not of a database: none is saved for each target. Filters are not saved: a
user would not expect yesterday's filter to hide rows.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import asdict, replace

from presman.base import private_files
from presman.base.private_files import read_private, state_folder
from presman.tabs.choices import Window
from presman.tui.terminal_app import TerminalApp
from presman.tui.widgets.grid import Grid

LARGEST = 65_536
"""Most bytes of the file that are read."""

SAVED = "Saved for the next start, for all databases. ^P and `forget` undo it."
"""The notice shown when a setting is saved for the first time."""

_MOST = 100
"""Most tables and columns that are accepted."""

_FILE = "view.json"

_Name = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$")]
"""A valid name in the file: without control characters."""

_WHERE = re.compile(r"\$\.(\w+)")
"""Finds the setting that msgspec rejects."""

_Seconds = Annotated[float, Meta(ge=0.5, le=3600)]
_Columns = Annotated[tuple[_Name, ...], Meta(min_length=1, max_length=_MOST)]


class SavedView(Struct, frozen=True, dict=True):
    """The settings that a user made with keys; None or empty for all others.

    `refresh` (of a monitor) and `fleet_refresh` are in seconds, `window` is in minutes. Tables are named by panel and
    key (``parallel/queue``): each has its sort key with whether it is descending, and its columns in order.
    """

    theme: _Name | None = None
    refresh: _Seconds | None = None
    fleet_refresh: _Seconds | None = None
    window: Window | None = None
    by_instance: bool | None = None
    unfolded: bool | None = None
    ascii_only: bool | None = None
    sorts: Annotated[Mapping[_Name, tuple[_Name, bool] | None], Meta(max_length=_MOST)] = field(default_factory=dict)
    columns: Annotated[Mapping[_Name, _Columns], Meta(max_length=_MOST)] = field(default_factory=dict)


def path() -> Path:
    """Return the path of the file. Raises OSError."""
    return state_folder() / _FILE


def load() -> tuple[SavedView, str]:
    """Return the saved view, and why an existing file was not used ("" if it was, or if there is none)."""
    try:
        content = read_private(path(), LARGEST)
    except FileNotFoundError:
        return SavedView(), ""
    except OSError as error:
        return SavedView(), f"The saved settings are not used: {error.filename or 'its file'}: {error.strerror}."
    import json  # only if there is a file: the first frame need not wait for it

    try:
        return convert(json.loads(content), SavedView), ""
    except ValidationError as error:
        where = _WHERE.search(str(error))
        problem = f"{where[1]} is not valid" if where else "it has no object"
    except (ValueError, RecursionError):
        problem = "it is not JSON"
    return SavedView(), f"The saved settings are not used: {path()}: {problem}."


def save_changes(before: SavedView, now: SavedView) -> tuple[SavedView, bool]:
    """Save the differences between two views; return the whole saved view, and whether it was written. Raises OSError.

    Settings that another presman has saved meanwhile are kept. Opening a tab adds its tables, which saves nothing.
    """
    kept = load()[0]
    changed = {name: value for name, value in asdict(now).items() if value != getattr(before, name)}
    for name in changed.keys() & {"sorts", "columns"}:
        merged = {**getattr(kept, name), **changed[name]}
        changed[name] = {table: value for table, value in merged.items() if value}
    view = replace(kept, **changed)
    if view != kept:
        save(view)
    return view, view != kept


def save(view: SavedView) -> None:
    """Write the saved view. Raises OSError."""
    import json

    given = {name: value for name, value in asdict(view).items() if value is not None and value != {}}
    private_files.keep_file(_FILE, json.dumps(given, indent=1, sort_keys=True) + "\n")


def restore_table(kept: SavedView, name: str, grid: Grid) -> None:
    """Restore the saved order and columns of a table, as far as it has these columns."""
    key, descending = kept.sorts.get(name) or (grid.rows.sort_key, grid.rows.descending)
    if not key or any(column.key == key and column.sort for column in grid.table.columns):
        grid.rows.sort_key, grid.rows.descending = key, descending
    grid.drawing.choose(kept.columns.get(name, ()))


def set_in_tables(grids: Mapping[str, Grid]) -> dict[str, Any]:
    """Return the sort order of tables, None for the default, and the chosen columns.

    A reversed order of the data is not saved: other targets have their worst rows at the beginning.
    """
    sorts, columns = {}, {}
    for name, grid in grids.items():
        now, first = (grid.rows.sort_key, grid.rows.descending), (grid.table.order, grid.table.descending)
        sorts[name], columns[name] = None if now == first or not now[0] else now, grid.drawing.chosen
    return {"sorts": sorts, "columns": columns}


class ViewSaver:
    """Saves the view, one for all targets. `fixed` names the settings that override the saved ones.

    `trouble` is why an existing file was not used.
    """

    def __init__(self, fixed: Collection[str] = ()) -> None:
        self._fixed = frozenset(fixed)
        self.saved, self.trouble = load()
        self._noted: SavedView | None = None
        self._notified: set[str] = set()

    def restore_colours(self, app: TerminalApp) -> None:
        """Restore the saved theme and signs of an app."""
        if self.saved.theme in app.available_themes and "theme" not in self._fixed:
            app.theme = self.saved.theme
        if self.saved.ascii_only is not None:
            app.keep_to_ascii(only=self.saved.ascii_only)

    @property
    def choices(self) -> dict[str, Any]:
        """The saved choices of a monitor, by name."""
        found = {name: getattr(self.saved, name) for name in ("refresh", "window", "by_instance", "unfolded")}
        return {name: value for name, value in found.items() if value is not None and name not in self._fixed}

    def note(self, app: TerminalApp, now: SavedView) -> None:
        """Save the changes since the last call; the first call saves nothing. A notice says once what is saved."""
        before, self._noted = self._noted, now
        if before is None or now == before:
            return
        try:
            self.saved, is_written = save_changes(before, now)
        except OSError as error:
            why = f"{error.filename or 'its file'}: {error.strerror}"
            self._notify(app, f"Settings are not saved: {why}", "warning")
        else:
            if is_written:
                self._notify(app, SAVED, "information")

    def _notify(self, app: TerminalApp, text: str, severity: Literal["information", "warning"]) -> None:
        if text not in self._notified:
            app.notify(text, severity=severity)
        self._notified.add(text)

    def forget(self) -> str:
        """Delete the saved view and return a notice; the screen does not change."""
        self.saved = SavedView()
        try:
            path().unlink()
        except OSError:
            return "Nothing was saved."
        return "Settings are forgotten: the next start uses config.ini."
