"""Reader of recordings: a file, a folder with a file for each day, or a URL; which databases are in it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import select

from presman.base.text import clean
from presman.recording.schema import DATABASES
from presman.recording.store import SUFFIX, RecordingError, Store, is_url, shown
from presman.recording.tape import Tape


class Recording:
    """A recording open for reading. Raises RecordingError where there is none.

    `tapes` are the databases in it, by name; `damage` are sentences about files that cannot be read at all.
    """

    def __init__(self, place: str) -> None:
        self.name = shown(place)
        self.damage: list[str] = []
        self.is_folder = not is_url(place) and Path(place).expanduser().is_dir()
        self._stores = self._open(place)
        parts: dict[str, list[tuple[Store, int]]] = {}
        about: dict[str, tuple[str, str]] = {}
        for store in self._stores:
            with store.saying(), store.engine.connect() as connection:
                for row in connection.execute(select(DATABASES).order_by(DATABASES.c.database_id)):
                    target = clean(str(row.target))
                    parts.setdefault(target, []).append((store, row.database_id))
                    about[target] = (clean(str(row.name)), clean(str(row.kind)))
        self.tapes = tuple(Tape(target, *about[target], own) for target, own in sorted(parts.items()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        for store in self._stores:
            store.close()

    def tape(self, name: str | None = None) -> Tape:
        """Return the database of that target or name, or the only one there is. Raises RecordingError."""
        wanted = [tape for tape in self.tapes if name is None or name in {tape.target, tape.name}]
        if len(wanted) == 1:
            return wanted[0]
        if not self.tapes:
            raise RecordingError(f"{self.name} holds no database yet")
        known = ", ".join(tape.target for tape in self.tapes)
        if name is None:
            raise RecordingError(f"{self.name} holds several databases: {known}")
        raise RecordingError(f"{self.name} holds no database {name!r}: {known}")

    def _open(self, place: str) -> list[Store]:
        folder = None if is_url(place) else Path(place).expanduser()
        if folder is None or not folder.is_dir():
            return [Store(place, writing=False)]
        found: list[Store] = []
        paths = sorted(folder.glob(f"*{SUFFIX}"))
        if not paths:
            raise RecordingError(f"{self.name} has no files *{SUFFIX}")
        for path in paths:
            try:
                found.append(Store(str(path), writing=False))
            except RecordingError as error:
                self.damage.append(str(error))
        if not found:
            raise RecordingError(self.damage[0])
        return found
