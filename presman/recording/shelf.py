"""Shelf: where a recorder's polls go: one file, one file a day in a folder, or a database."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path

from presman.base.private_files import expanded
from presman.recording.store import SUFFIX, RecordingError, Store, is_url, shown

FILES_OPEN = 8
"""Files of a folder that are open at a time: not those of all days of a year, but clocks of databases differ."""


class Shelf:
    """Gives the store for an instant. `place` is a file, a folder (there already, or named with a slash) or a URL.

    Used by several threads. Raises RecordingError.
    """

    def __init__(self, place: str) -> None:
        self.name = shown(place)
        self._place = place
        self._turn = threading.Lock()
        self._stores: dict[str, Store] = {}
        try:
            self.is_daily = not is_url(place) and (place.endswith(os.sep) or expanded(place).is_dir())
            if self.is_daily:
                expanded(place).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(f"{self.name}: {error.strerror or error}") from error

    def store(self, at: datetime) -> Store:
        """Return the store for polls of an instant, opened when it is needed first."""
        place = str(self._day(at)) if self.is_daily else self._place
        with self._turn:
            if place not in self._stores or self._stores[place].was_removed():
                # One whose file is gone is not closed: whoever still writes to it would make a file in its place.
                self._stores[place] = Store(place, writing=True)
                if len(self._stores) > FILES_OPEN:
                    self._stores.pop(next(iter(self._stores))).close()
            found = self._stores[place] = self._stores.pop(place)  # the one that was not asked for longest stands first
            return found

    def stores(self) -> list[Store]:
        """Return the stores that are open."""
        with self._turn:
            return list(self._stores.values())

    def days(self) -> list[Path]:
        """Return the files of a folder, the oldest first."""
        return sorted(expanded(self._place).glob(f"*{SUFFIX}")) if self.is_daily else []

    def let_go(self, place: Path) -> None:
        """Close the store of a file that is to be removed."""
        with self._turn:
            store = self._stores.pop(str(place), None)
        if store is not None:
            store.close()

    def close(self) -> None:
        """Close all stores."""
        with self._turn:
            stores, self._stores = self._stores, {}
        for store in stores.values():
            store.close()

    def _day(self, at: datetime) -> Path:
        return expanded(self._place) / f"presman-{at.astimezone(UTC):%Y-%m-%d}{SUFFIX}"
