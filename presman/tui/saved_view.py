"""View as a user set it, saved between runs: one private file for all targets, read with suspicion.

Filters are not saved: rows that are missing for what somebody typed last night are not looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import asdict, fields, replace

from presman.base import private_files
from presman.base.private_files import read_private, state_folder
from presman.base.text import one_line
from presman.tabs.choices import WINDOWS

if TYPE_CHECKING:
    from presman.tui.terminal_app import TerminalApp
    from presman.tui.widgets.grid import Grid

LARGEST = 65_536
"""Bytes of such a file that are read."""

_MOST = 100
"""Tables and columns that are believed to be there at most."""

_LONGEST = 200
"""Characters of a name."""

_FILE = "view.json"


class SavedView(Struct, frozen=True, dict=True):
    """What a user set by keys, None or empty where he did not.

    `refresh`, of a monitor, and `fleet_refresh` in seconds, `window` in minutes. Tables go by panel and key
    (``parallel/queue``): what each is sorted by and whether that is descending, and its columns in order.
    """

    theme: str | None = None
    refresh: float | None = None
    fleet_refresh: float | None = None
    window: int | None = None
    by_instance: bool | None = None
    unfolded: bool | None = None
    ascii_only: bool | None = None
    sorts: Mapping[str, tuple[str, bool] | None] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def path() -> Path:
    """Return the file. Raises OSError."""
    return state_folder() / _FILE


def load() -> tuple[SavedView, str]:
    """Return what is kept, and why a file that is there was not used ("" if it was, or there is none)."""
    try:
        content = read_private(path(), LARGEST)
    except FileNotFoundError:
        return SavedView(), ""
    except OSError as error:
        return SavedView(), f"The kept settings are not used: {error.filename or 'its file'}: {error.strerror}."
    import json  # the first frame does not wait for it where nothing is kept

    try:
        return _read(json.loads(content)), ""
    except (ValueError, RecursionError) as error:
        problem = (
            "it is not JSON" if isinstance(error, json.JSONDecodeError | UnicodeError | RecursionError) else str(error)
        )
        return SavedView(), f"The kept settings are not used: {path()}: {one_line(problem, 100)}."


def save_changes(before: SavedView, now: SavedView) -> SavedView:
    """Keep what differs between two views, of tables those of `now`; return all that is kept. Raises OSError.

    What another presman has kept meanwhile stays.
    """
    kept = load()[0]
    changed = {name: value for name, value in asdict(now).items() if value != getattr(before, name)}
    for name in changed.keys() & {"sorts", "columns"}:
        merged = {**getattr(kept, name), **changed[name]}
        changed[name] = {table: value for table, value in merged.items() if value}
    view = replace(kept, **changed)
    if view != kept:
        save(view)
    return view


def save(view: SavedView) -> None:
    """Write what is kept. Raises OSError."""
    import json

    given = {name: value for name, value in asdict(view).items() if value is not None and value != {}}
    private_files.keep_file(_FILE, json.dumps(given, indent=1, sort_keys=True) + "\n")


def forget() -> bool:
    """Do away with what is kept; return whether there was anything."""
    with suppress(OSError):
        path().unlink()
        return True
    return False


def put_back_table(kept: SavedView, name: str, grid: Grid) -> None:
    """Sort a table and choose its columns as they were kept, as far as it has those."""
    key, descending = kept.sorts.get(name) or (grid.rows.sort_key, grid.rows.descending)
    if not key or any(column.key == key and column.sort for column in grid.table.columns):
        grid.rows.sort_key, grid.rows.descending = key, descending
    grid.drawing.choose(kept.columns.get(name, ()))


def set_in_tables(grids: Mapping[str, Grid]) -> dict[str, Any]:
    """Return how tables are sorted, None as it is at first, and which columns were chosen."""
    sorts, columns = {}, {}
    for name, grid in grids.items():
        now, first = (grid.rows.sort_key, grid.rows.descending), (grid.table.order, grid.table.descending)
        sorts[name], columns[name] = None if now == first else now, grid.drawing.chosen
    return {"sorts": sorts, "columns": columns}


def _read(content: Any) -> SavedView:
    """Return what a file says. Raises ValueError naming what makes no sense; what a later version wrote is left out."""
    if not isinstance(content, dict):
        raise ValueError("it has no object")
    known = {each.name for each in fields(SavedView)}
    found = {}
    for name, value in content.items():
        if name in known:
            try:
                found[name] = _CHECKS[name](value)
            except (TypeError, ValueError, AttributeError):
                raise ValueError(f"{name} is not valid") from None
    return SavedView(**found)


def _word(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
        raise ValueError(value)
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.5 <= value <= 3600:
        raise ValueError(value)
    return float(value)


def _window(value: Any) -> int:
    if value not in WINDOWS or not isinstance(value, int):
        raise ValueError(value)
    return value


def _each(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a check of an object by names, each of whose values passes `check`."""

    def read(value: Any) -> dict[str, Any]:
        if len(value) > _MOST:
            raise ValueError(value)
        return {_word(name): check(item) for name, item in value.items()}

    return read


def _sort(value: Any) -> tuple[str, bool]:
    key, descending = value
    return _word(key), _flag(descending)


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST:
        raise ValueError(value)
    return tuple(map(_word, value))


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "theme": _word, "refresh": _seconds, "fleet_refresh": _seconds, "window": _window, "by_instance": _flag,
    "unfolded": _flag, "ascii_only": _flag, "sorts": _each(_sort), "columns": _each(_names),
}  # fmt: skip


class ViewSaver:
    """Saves what is set, the same for all targets. `fixed` names what comes before what was saved.

    `trouble` says why a file that is there was not used.
    """

    def __init__(self, fixed: Collection[str] = ()) -> None:
        self._fixed = frozenset(fixed)
        self.saved, self.trouble = load()
        self._noted: SavedView | None = None
        self._complained = False

    def put_back_colours(self, app: TerminalApp) -> None:
        """Give an app the theme and the signs that were kept."""
        if self.saved.theme in app.available_themes and "theme" not in self._fixed:
            app.theme = self.saved.theme
        if self.saved.ascii_only is not None:
            app.keep_to_ascii(only=self.saved.ascii_only)

    @property
    def choices(self) -> dict[str, Any]:
        """What was saved of the user's choices in a monitor, by name."""
        found = {name: getattr(self.saved, name) for name in ("refresh", "window", "by_instance", "unfolded")}
        return {name: value for name, value in found.items() if value is not None and name not in self._fixed}

    def note(self, app: TerminalApp, now: SavedView) -> None:
        """Save what has changed since the last time, the first time nothing; a failure is reported once."""
        before, self._noted = self._noted, now
        if before is None or now == before:
            return
        try:
            self.saved = save_changes(before, now)
        except OSError as error:
            if not self._complained:
                why = f"{error.filename or 'its file'}: {error.strerror}"
                app.notify(f"Settings are not kept: {why}", severity="warning")
            self._complained = True

    def forget(self) -> str:
        """Do away with what is saved, and return what to say of it; what is on the screen stays as it is."""
        there = forget()
        self.saved = SavedView()
        return "Settings are forgotten: the next start is as config.ini says." if there else "Nothing was kept."
