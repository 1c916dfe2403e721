"""A folder of CSV files, one per view, as a source: for sites that allow no tool to connect, and for published outputs.

Each file is named after its view (`v$px_session.csv`, `gv_session.csv`, `dba_rsrc_plans.csv`, in any case); its header
names any columns of the view in any order. A `sample_time` column divides a file into passes, each of which is a poll;
files without it are valid in all passes. If a view that is read at each poll has no rows in a pass, its content is not
known then: a view that was empty has a row with only the sample time. The rows of the current pass are loaded into the
embedded database, and the same queries run on them as on Oracle. Missing columns are empty, and the section names them
in `absent`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import combinations
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from presman.base.errors import closest
from presman.base.formats import counted
from presman.base.private_files import is_file
from presman.base.release import SUPPORTED, Release
from presman.base.text import clean
from presman.rows.instance_rows import Instance
from presman.rows.queries import Cadence, Query, Scope, columns_of, field_types, load, selection
from presman.rows.query_files import Selection, catalog
from presman.rows.snapshot import Problem, Section
from presman.sources import USUAL_BINDS, Answer, Exhausted, Request, SourceError
from presman.sources.embedded import EmbeddedDatabase
from presman.sources.spool import spool_file, spool_table
from presman.sources.spool.spool_file import SAMPLE_TIME, SAMPLES, SpoolFile
from presman.sources.spool.spool_table import Instant, SpoolTable

DEFAULT_RELEASE = Release(19)

_UNSPOOLED = "could not be spooled"
_GOES_BACK = "its clocks went back; the order of the rows decides, and other dates of that hour may be an hour off"
_MOST_NAMED = 20
"""Unused files that are named in notes."""


class SpoolSource:
    """Reads `folder`. `zone` is the time zone of dates without an offset; default: that of the sample times, else UTC.

    The release is that in the spooled V$INSTANCE or V$VERSION, else `release`, else 19. Without sample times the only
    instant is the modification time of the newest file. `encoding` is that of files that are not UTF-8; by default they
    are read as Windows-1252. `notes` describes the unused files and columns of the folder, and the assumptions.
    """

    kind = "spool"

    def __init__(
        self, folder: Path | str, *, zone: tzinfo | None = None, release: Release | None = None, encoding: str = ""
    ) -> None:
        self.folder = Path(folder)
        self.name = clean(f"spool:{folder}")
        self.scope = Scope.CLUSTER
        self.notes: tuple[str, ...] = ()
        self._zone = zone
        self._release = release
        self._encoding = encoding
        self._tables: Mapping[str, SpoolTable] = {}
        self._failures: dict[str, Problem] = {}
        self._instants: list[Instant] = []
        self._index = -1
        self._inst_id = 1
        self._loaded: dict[str, int] = {}
        self._database: EmbeddedDatabase | None = None

    def open(self) -> Release:
        """Read all files. Raises SourceError naming the faulty file and line."""
        self.close()
        files, notes = _files(self.folder, self._encoding)
        release = _release(files) or self._release or DEFAULT_RELEASE
        if release < SUPPORTED[0]:
            raise SourceError(f"{self.folder} is of release {release}; presman reads {SUPPORTED[0]} and later")
        words = frozenset().union(*(selection(query).words for query in load(release).values()))
        used = words | {"INST_ID", *spool_table.STAND_IN_COLUMNS}
        zone, mark = spool_table.forms(files, self._zone)
        tables = {file.view: spool_table.table(file, used, zone, mark) for file in files if file.columns}
        self._failures = {}
        for file in files:
            if file.failure:
                code, _, text = file.failure.partition(":")
                self._failures[file.view.removeprefix("G")] = Problem(code, text.strip() or _UNSPOOLED, file.view)
        twice = next((text for file in files if (text := spool_table.repeated(file, zone))), "")
        notes += [f"{twice} occurs twice in {zone}: {_GOES_BACK}"] if twice else []
        self.notes = (*notes, *(note for file in files for note in _notes(file)))
        written_at = datetime.fromtimestamp(int(max(file.path.stat().st_mtime for file in files)), UTC)
        del files  # their rows have become tables
        self._tables = spool_table.complete(tables, release)
        self._inst_id = spool_table.own_instance(self._tables)
        queries = [query for query in load(release).values() if not is_lasting(query)]
        momentary = frozenset(selection(query, scope).view for query in queries for scope in Scope)
        self._instants = self._complete_samples(zone, momentary) or [Instant(written_at, written_at)]
        self._database = EmbeddedDatabase(release)
        return release

    def _complete_samples(self, zone: tzinfo, momentary: Collection[str]) -> list[Instant]:
        """Return the samples of all files; if there is a list of complete samples, only those in it."""
        found = spool_table.instants(self._tables, momentary)
        path = self.folder / SAMPLES
        if not is_file(path):
            return found
        file = spool_file.read_spool_file(path, SAMPLES, {SAMPLE_TIME: ""})
        # A script that was interrupted leaves its last sample incomplete.
        whole = spool_table.sample_times(file, zone) if file.columns else []
        kept = [each for each in found if any(each.at <= time <= each.until for time in whole)]
        if len(kept) < len(found):
            self.notes += (f"{SAMPLES}: {len(found) - len(kept)} of {len(found)} samples not complete; not used",)
        return kept

    def advance(self) -> None:
        """Move to the next instant. Raises Exhausted after the last one."""
        if self._index + 1 >= len(self._instants):
            raise Exhausted(f"{self.name} has been read to its end")
        self._index += 1

    def leave_only(self, newest: int) -> None:
        """Skip all unread instants but the `newest` ones."""
        del self._instants[self._index + 1 : max(self._index + 1, len(self._instants) - newest)]

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:  # noqa: ARG002 - quick
        """Run the queries on the rows of the current instant."""
        database = self._database
        if database is None:
            raise SourceError(f"{self.name} is closed")
        now = self._instants[max(0, self._index)]
        sections = tuple(self._run(database, request, now) for request in requests)
        return Answer(now.at, sections, notes=self.notes)

    def cancel(self) -> None:
        """Do nothing: all rows are in memory."""

    def close(self) -> None:
        """Drop all rows."""
        if self._database is not None:
            self._database.close()
        self._database = None
        self._tables, self._instants, self._index = {}, [], -1
        self._loaded = {}

    def _run(self, database: EmbeddedDatabase, request: Request, now: Instant) -> Section:
        parts = selection(request.query, self.scope)
        found = self._tables.get(parts.view)
        if found is None:
            problem = self._failures.get(parts.view.removeprefix("G"))
            return Section(problem=problem, absent=frozenset(parts.fields))
        index = found.at(now, lasting=is_lasting(request.query))
        if index < 0:
            return Section(absent=frozenset(parts.fields))
        self._load(database, parts.view, found, index)
        # A spool has no session of presman: no session has these numbers.
        instances = {"inst_id": self._inst_id, "own_inst_id": 0, "own_sid": 0}
        binds: dict[str, Any] = {**USUAL_BINDS, **instances, **request.binds}
        section = database.run(request.query, self.scope, binds)
        types = field_types(request.query.record)
        # Rounded counters that cannot be None in single rows: the whole field counts as absent.
        lost = frozenset(name for name, words in parts.fields.items() if words & found.rounded and not types[name][1])
        absent = section.absent | _absent(parts, found) | lost
        return replace(section, at=found.times[index], absent=absent, rounded=lost)

    def _load(self, database: EmbeddedDatabase, view: str, found: SpoolTable, index: int) -> None:
        """Fill the columns that the view has in this release: tables that are made of one another share their rows."""
        if self._loaded.get(view) != index:
            known = {column.name for column in columns_of(view, database.release)}
            places = [place for place, name in enumerate(found.columns) if name in known]
            rows = (tuple([row[place] for place in places]) for row in found.rows[index])
            database.replace(view, [found.columns[place] for place in places], rows)
            self._loaded[view] = index


def is_lasting(query: Query) -> bool:
    """Return whether a query's rows stay valid until the next ones; those of V$INSTANCE do, too."""
    return query.cadence is not Cadence.REFRESH or query.record is Instance


def _files(folder: Path, encoding: str) -> tuple[list[SpoolFile], list[str]]:
    """Read the files of a folder; return them, and notes about unused ones."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".csv" and path.name != SAMPLES)
    except OSError as error:
        raise SourceError(f"cannot read {folder}: {error.strerror or error}", retry=False) from None
    files: list[SpoolFile] = []
    spare: list[Path] = []
    for path in paths:
        view = spool_file.view_name(path, catalog())
        if view is None:
            spare.append(path)
            continue
        file = spool_file.read_spool_file(path, view, _types(view), encoding)
        # A file v_session.csv with INST_ID is a spooled GV$SESSION.
        files.append(replace(file, view=f"G{view}") if view.startswith("V$") and "INST_ID" in file.columns else file)
        if sum(len(file.rows) for file in files) > spool_file.MOST_LINES:
            most = f"{spool_file.MOST_LINES:,} lines in its files, which presman reads at most"
            raise SourceError(f"{folder} has more than {most}: split it by time", retry=False)
    for file, other in combinations(files, 2):
        if file.view == other.view:
            raise SourceError(f"{file.path} and {other.path} are both {file.view}", retry=False)
    names = {view.lower() for view in catalog()}
    names |= {f"g{name}" for name in names if name.startswith("v$")}
    unused = "not used: no view of this name is read"
    notes = [f"{clean(each.name)}: {unused}{_name_hint(each.stem, names)}" for each in spare[:_MOST_NAMED]]
    if len(spare) > _MOST_NAMED:
        notes.append(f"{counted(len(spare) - _MOST_NAMED, 'more file')} not used")
    if not files:
        seen = "".join(f"; {note}" for note in notes[:1])
        raise SourceError(f"{folder} has no CSV file named after a view (such as v$session.csv){seen}", retry=False)
    return files, notes


def _types(view: str) -> dict[str, str]:
    """Return the columns that a file of `view` may have, mapped to their types."""
    columns = {column.name: column.datatype for column in columns_of(view, Release(99))}
    return {SAMPLE_TIME: "", **({"INST_ID": "NUMBER"} if view.startswith("V$") else {}), **columns}


def _notes(file: SpoolFile) -> Iterator[str]:
    """Yield notes on the unused columns of a file, its encoding, its inexact numbers, and spooled errors."""
    known = _types(file.view)
    spare = known.keys() - set(file.columns)
    if unknown := [f"{clean(name)}{_name_hint(name, spare)}" for name in file.columns if name not in known]:
        yield f"{file.path.name}: not used: {', '.join(unknown)}"
    if file.note:
        yield f"{file.path.name}: {file.note}"
    if inexact := spool_table.rounded(file):
        yield f"{file.path.name}: rounded, so that no rate is made of them: {', '.join(inexact)} (SET NUMWIDTH 38)"
    if file.failure and file.columns:
        yield f"{file.path.name}: there is an error between its rows: {file.failure}"


def _name_hint(word: str, known: Iterable[str]) -> str:
    """Return a suggestion of the known name closest to a misspelt one, as the end of a note."""
    found = closest(word, known)
    return f" (did you mean {found}?)" if found else ""


def _release(files: Sequence[SpoolFile]) -> Release | None:
    """Return the release in the spooled V$INSTANCE or V$VERSION, None if neither has one."""
    for view, columns, pattern in (
        ("V$INSTANCE", ("VERSION_FULL", "VERSION"), r"(\d+\.\d+)"),
        ("V$VERSION", ("BANNER_FULL", "BANNER"), r"Release (\d+\.\d+)"),
    ):
        for file in files:
            for column in columns if file.view in {view, "G" + view} else ():
                texts = [row[file.columns.index(column)] for row in file.rows] if column in file.columns else []
                if found := next((match[1] for text in texts if (match := re.search(pattern, text))), None):
                    return Release.parse(found)
    return None


def _absent(parts: Selection, found: SpoolTable) -> frozenset[str]:
    """Return the fields whose columns are missing."""
    known = {column.name for column in columns_of(parts.view, Release(99))}
    provided = set(found.columns)
    return frozenset(field for field, words in parts.fields.items() if words & known and not words & provided)
