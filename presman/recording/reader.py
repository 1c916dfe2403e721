"""Reader of recordings: a file, a folder with a file for each day, or a URL; the databases in it."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from sqlalchemy import select

from presman.base.private_files import expanded, is_folder
from presman.base.text import clean, one_line
from presman.recording.playback import Playback
from presman.recording.schema import BLOCKS, DATABASES
from presman.recording.sqlite_files import which_file
from presman.recording.store import MOST_DATABASES, Store, as_option, files_of, is_url, shown
from presman.recording.store_errors import DamagedStoreError, RecordingError

_FEW = 8
"""The most files whose connections stay open: with a file a day, a year would have too many."""


class Recording:
    """A recording open for reading. Raises RecordingError if there is none.

    `playbacks` are the databases in it, by name; `damage` has sentences about files that cannot be read at all. Once
    `is_unwanted` returns True, queries of files are aborted.
    """

    def __init__(self, location: str, is_unwanted: Callable[[], bool] = bool) -> None:
        self._is_unwanted = is_unwanted
        self.name = shown(location)
        self.damage: list[str] = []
        self.is_folder = not is_url(location) and is_folder(expanded(location))
        self._location = location
        self._stores = self._open(location)
        self._file = self._which_file()
        try:
            self.playbacks = self._playbacks()
        except BaseException:
            self.close()
            raise

    def _playbacks(self) -> tuple[Playback, ...]:
        parts: dict[str, list[tuple[Store, int]]] = {}
        about: dict[str, tuple[str, str]] = {}
        for store in self._stores:
            for number, target, name, kind in self._databases(store):
                parts.setdefault(target, []).append((store, number))
                about[target] = (name, kind)
            self.damage += store.damage
        return tuple(Playback(target, *about[target], pieces) for target, pieces in sorted(parts.items()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        for store in self._stores:
            store.close()

    def damage_of(self, playback: Playback) -> list[str]:
        """Return what could not be read of a database so far, with one line for each file."""
        texts = [*self.damage, *playback.damage]
        found = []
        for store in self._stores:
            about = [text for text in texts if text.startswith((f"{store.name}:", f"{store.name} "))]
            texts = [text for text in texts if text not in about]
            if about:
                found.append("; ".join([about[0], *(text.removeprefix(store.name).lstrip(": ") for text in about[1:])]))
        return texts + found

    def was_replaced(self) -> bool:
        """Whether another file has replaced the open one. Raises RecordingError if there is none any more."""
        try:
            return self._which_file() != self._file
        except FileNotFoundError:
            raise RecordingError(f"{self.name}: the file is gone") from None

    def _which_file(self) -> tuple[int, int] | None:
        """Return device and inode of a recording that is a single file, None for others."""
        if self.is_folder or is_url(self._location):
            return None
        return which_file(expanded(self._location))

    def playback(self, name: str | None = None) -> Playback:
        """Return the database with that target or name, or the only one. Raises RecordingError."""
        wanted = [playback for playback in self.playbacks if name is None or name in {playback.target, playback.name}]
        if len(wanted) == 1:
            return wanted[0]
        if not self.playbacks:
            raise RecordingError(f"{self.name} holds no database yet")
        known = one_line(", ".join(as_option(playback.target) for playback in self.playbacks), 400)
        if name is None:
            raise RecordingError(f"{self.name} holds several databases, choose one by ?database=NAME: {known}")
        raise RecordingError(f"{self.name} holds no database {name!r}: {known}")

    def _databases(self, store: Store) -> list[tuple[int, str, str, str]]:
        """Return number, target, name and kind of each database in a store; as many as a damaged one still has."""
        c = DATABASES.c
        chosen = select(c.database_id, c.target, c.name, c.kind).order_by(c.database_id).limit(MOST_DATABASES + 1)
        try:
            rows = store.rows(chosen)
        except DamagedStoreError as error:
            self.damage.append(str(error))
            # The blocks still say which databases there are, without their names.
            numbers = store.rows(select(BLOCKS.c.database_id).distinct())
            return [(each, f"database {each}", "", "recording") for (each,) in numbers if isinstance(each, int)]
        if len(rows) > MOST_DATABASES:
            raise RecordingError(f"{self.name} names more than {MOST_DATABASES:,} databases")
        words = [
            (number, clean(str(target)), clean(str(name)), clean(str(kind))) for number, target, name, kind in rows
        ]
        return [each for each in words if isinstance(each[0], int)]

    def _open(self, location: str) -> list[Store]:
        paths = files_of(location)
        if not self.is_folder:
            return [Store(location, writing=False, is_unwanted=self._is_unwanted)]
        found: list[Store] = []
        for path in paths:
            try:
                found.append(Store(path, writing=False, alone=len(paths) <= _FEW, is_unwanted=self._is_unwanted))
            except RecordingError as error:
                self.damage.append(str(error))
        if not found:
            raise RecordingError(self.damage[0])
        return found
