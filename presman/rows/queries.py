"""Queries: the files of queries/, the record that each fills, the columns that each reads, and rows made records.

One question, one file, one SELECT on one view. A file's header lines say what it answers (the first line),
`every:` (refresh, minute, once, demand), `needs:` (the view to grant), `pack:` (none, diagnostics, tuning);
where its columns are younger than the view, `since:`; `only: cdb`, `only: root` or `only: cluster` where only
such a database has an answer; `shown: histograms` where it runs each refresh only while those are shown or written, and
else each minute; `amounts: session` where its rows are numbers of sessions (:mod:`presman.rows.query_files`).
For a release that lacks columns of the view, as the catalog says, constants stand in their place.
Folders named after a release hold what that release and later ones read instead, where more differs than that.
A focus is what a screen looks at closely: its questions are asked at each poll for as long as it does.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from enum import Enum, Flag
from functools import cache, lru_cache
from importlib import import_module
from inspect import getmembers, isclass
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType, NoneType
from typing import Any, TypeAlias, TypeVar, cast, get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from presman import rows
from presman.base.formats import listed
from presman.base.release import SUPPORTED, Release
from presman.base.text import LONGEST, LONGEST_STATEMENT, clean, clean_lines
from presman.rows import query_files
from presman.rows.cursor_rows import CursorTotals, PlanLine
from presman.rows.group_rows import ConsumerGroup, CpuExhausted
from presman.rows.instance_rows import PdbCpuExhausted, RsrcPdb
from presman.rows.session_rows import PxStatistic, SessionLongops, SessionStatistic, StatisticName

# ---- Conversion of driver tuples to records: the place where NULL, time zones and hostile text are dealt with.


R = TypeVar("R")

RecordType: TypeAlias = type[tuple[Any, ...]]
"""One of the records."""

LONGEST_DOCUMENT = 250_000
"""Characters of a document that is read; real ones have a few thousand. A longer one, cut, could not be parsed."""

LONG_TEXTS = {"sql_text": LONGEST_STATEMENT, "other_xml": LONGEST_DOCUMENT}
"""Fields that are CLOBs in the database and whose line ends survive, and how many characters are kept of them."""

COUNTERS: frozenset[RecordType] = frozenset({ConsumerGroup, RsrcPdb})
"""Records of counters that Oracle always fills: a column of theirs without a value was not read."""

TOO_LONG = f"too long to be read: more than {LONGEST_DOCUMENT:,} characters"
"""What stands in a field whose document is too long to be kept."""


def to_records(record: RecordType, rows: Iterable[tuple[Any, ...]], zone: tzinfo = UTC) -> tuple[Any, ...]:
    """Return `rows` as records. `zone` is the zone of the database's DATE columns.

    Raises ValueError or TypeError if a value does not fit its field's type.
    """
    make = _maker(record, zone)
    return tuple([make(row) for row in rows])


def null_counters(record: RecordType, rows: Sequence[Sequence[Any]]) -> frozenset[str]:
    """Return the counters of `record` that are NULL in every row: what nobody counted is not 0."""
    if record not in COUNTERS or not rows:
        return frozenset()
    kinds = enumerate(field_types(record).items())
    counted = [(index, name) for index, (name, (kind, optional)) in kinds if kind is int and not optional]
    return frozenset(name for index, name in counted if all(row[index] is None for row in rows))


@cache
def has_long_texts(record: RecordType) -> bool:
    """Say whether a field of `record` is a CLOB in the database."""
    return not LONG_TEXTS.keys().isdisjoint(field_types(record))


def shortened(record: RecordType, rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return rows of the driver with no more of each text than `to_records` needs to see that it is too long."""
    limits = [LONG_TEXTS.get(name, LONGEST) + 1 for name in field_types(record)]
    return [
        tuple(value[:limit] if isinstance(value, str) else value for value, limit in zip(row, limits, strict=True))
        for row in rows
    ]


@cache
def field_types(record: RecordType) -> Mapping[str, tuple[type[Any], bool]]:
    """Return for each field of `record` its type and whether NULL is kept as None."""
    types: dict[str, tuple[type[Any], bool]] = {}
    for name, hint in get_type_hints(record).items():
        members = [member for member in get_args(hint) if member is not NoneType] or [hint]
        types[name] = (members[0], bool(get_args(hint)))
    return types


def null_row(record: type[R]) -> R:
    """Return the record that a row of NULLs makes: what is read of a row that is not there."""
    found: R = _null_row(cast(RecordType, record))
    return found


@cache
def _null_row(record: RecordType) -> Any:
    none_of: dict[type[Any], Any] = {int: 0, float: 0.0, str: ""}
    values = [None if optional else none_of.get(kind) for kind, optional in field_types(record).values()]
    return cast(Any, record)(*values)


@cache
def _maker(record: RecordType, zone: tzinfo) -> Callable[[tuple[Any, ...]], Any]:
    """Compile one function for the record: hundreds of rows pass at each poll, so no loop per field."""
    values: list[str] = []
    environment: dict[str, Any] = {"new": tuple.__new__, "record": record, "short": _short}
    for index, (name, (kind, optional)) in enumerate(field_types(record).items()):
        environment[f"c{index}"] = _converter(kind, name, zone)
        null = {int: "0", float: "0.0", str: "''"}.get(kind, "None") if not optional else "None"
        # Most values are of the right type already, and a call costs three times as much as this look.
        shortcut = f"v if v.__class__ is {kind.__name__} else " if kind in {int, float} else ""
        if environment[f"c{index}"] is _text:
            shortcut = f"short(v) if v.__class__ is str and len(v) <= {LONGEST} else "
        values.append(f"{null} if (v := r[{index}]) is None else {shortcut}c{index}(v)")
    # The text holds field numbers, a limit and the names of types only: nothing from outside is compiled.
    code = f"lambda r: new(record, ({', '.join(values)},))"
    return eval(code, environment)  # type: ignore[no-any-return]  # noqa: S307


def _converter(kind: type[Any], name: str, zone: tzinfo) -> Callable[[Any], Any]:
    if kind is str:
        return {"other_xml": _document, "sql_text": _lines}.get(name, _text)
    if kind is datetime:
        return lambda value: _utc(value, getattr(value, "fold", 0), zone)
    return kind


def _lines(value: Any) -> str:
    return clean_lines(str(value))


def _document(value: Any) -> str:
    text = str(value)
    return clean_lines(text, LONGEST_DOCUMENT) if len(text) <= LONGEST_DOCUMENT else TOO_LONG


def _text(value: Any) -> str:
    return clean(str(value))


@lru_cache(maxsize=4096)
def _short(text: str) -> str:
    """Clean a name. The same few thousand come at every poll: each is cleaned, and kept, once."""
    return clean(text)


@lru_cache(maxsize=1024)
def _utc(value: datetime | str, _fold: int, zone: tzinfo) -> datetime:
    """Return an instant in UTC; SQLite has it as a text.

    The same ones come at each poll; `fold` tells two of one clock time apart.
    """
    value = datetime.fromisoformat(value) if isinstance(value, str) else value
    return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)


# ---- What is asked.


OF_AN_UPDATE: frozenset[RecordType] = frozenset({CpuExhausted, PdbCpuExhausted})
"""What only newer updates of a release have the columns for: a database that lacks them has no trouble."""


@cache
def by_query() -> Mapping[str, RecordType]:
    """Return every record by the stem of the query file that fills it (``px_session`` → PxSession)."""
    names = sorted(module.name for module in iter_modules(rows.__path__) if module.name.endswith("_rows"))
    found = [
        member
        for name in names
        for member in getmembers(import_module(f"{rows.__name__}.{name}"), isclass)
        if hasattr(member[1], "_fields")
    ]
    written = {_snake(name): cast(RecordType, record) for name, record in sorted(found)}
    return MappingProxyType({**written, **query_files.amount_records()})


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


# ---- Level of detail of a poll: what it reads besides what each refresh needs


class DetailLevel(Flag):
    """What of a database's many rows is read at each poll; without it, once a minute.

    Tens of thousands of sessions may be connected that do nothing: each refresh counts them and reads those that do
    something or that others name. Whoever shows or writes more says so with this.
    """

    NARROW = 0
    IDLE_SESSIONS = 1
    HISTOGRAMS = 2
    WHOLE = IDLE_SESSIONS | HISTOGRAMS


# ---- Queries: the files of queries/, their headers, and the record that each fills


READ_SINCE = Release(12, 1)
"""Releases that know the privilege READ (SQL Language Reference, GRANT: 12.1.0.2 on; 12.1.0.1 still wants SELECT)."""


class Cadence(Enum):
    """How often a query runs."""

    REFRESH = "refresh"
    MINUTE = "minute"
    ONCE = "once"
    DEMAND = "demand"


class Scope(Enum):
    """Whether a query reads GV$ (all instances) or V$ (the one presman is connected to)."""

    CLUSTER = "cluster"
    INSTANCE = "instance"


class Query(Struct, frozen=True):
    """One question in the form one release takes it.

    `record` is the NamedTuple whose fields are the select list; `grant` the object to grant, in the
    form Oracle wants it (``GV_$SESSION``); `view` the name as users know it (``GV$SESSION``). `only` is "cdb",
    "root" or "cluster" for what only a container database, its root or a cluster can answer, else "". `shown` is what
    must be on show, or be written, for it to run more often than each minute.
    """

    name: str
    record: RecordType
    answers: str
    cadence: Cadence
    grant: str
    pack: str
    since: Release
    cluster_sql: str
    path: Path
    only: str = ""
    shown: DetailLevel = DetailLevel.NARROW

    def sql(self, scope: Scope = Scope.CLUSTER) -> str:
        """Return the text for `scope`; in instance scope V$ stands for GV$ and :inst_id for the column."""
        return self.cluster_sql if scope is Scope.CLUSTER else _instance_text(self.cluster_sql)

    def grant_in(self, scope: Scope) -> str:
        """Return the object it reads in `scope` as GRANT wants it: ``GV_$SESSION``, ``V_$SESSION``."""
        local = scope is Scope.INSTANCE and self.grant.startswith("GV_$")
        return self.grant[1:] if local else self.grant

    def view_in(self, scope: Scope) -> str:
        """Return the view it reads in `scope` as users write it: ``GV$SESSION``, ``V$SESSION``."""
        return query_files.view_of_grant(self.grant_in(scope))

    @property
    def view(self) -> str:
        """The view as users write it: ``GV$SESSION`` for the grant ``GV_$SESSION``."""
        return query_files.view_of_grant(self.grant)


_OF_CURSOR = re.compile(r"\b(sql_id|child_number) = :\1\b")


@cache
def for_several(query: Query, count: int) -> Query:
    """Return a query about one cursor as one about up to `count`: with binds ``:sql_id_0`` to ``:sql_id_19``.

    It has a name of its own: how long it takes and how much it returns says nothing of the query about one.
    """

    def several(found: re.Match[str]) -> str:
        column = found[1]
        return f"{column} IN ({', '.join(f':{column}_{number}' for number in range(count))})"

    text = _OF_CURSOR.sub(several, query.cluster_sql)
    return replace(query, name=f"{query.name}_of_several", cluster_sql=text)


def grant_of_view(grant: str, user: str, release: Release) -> str:
    """Return the GRANT that lets `user` query one object of SYS, without a semicolon.

    READ is the lesser right: SELECT would also allow SELECT ... FOR UPDATE and LOCK TABLE.

    >>> grant_of_view("GV_$SESSION", "PRESMAN", Release(19)), grant_of_view("V_$OSSTAT", "PRESMAN", Release(11, 2))
    ('GRANT READ ON SYS.GV_$SESSION TO PRESMAN', 'GRANT SELECT ON SYS.V_$OSSTAT TO PRESMAN')
    """
    return f"GRANT {'READ' if release >= READ_SINCE else 'SELECT'} ON SYS.{grant} TO {user}"


_LEADING_INSTANCE = re.compile(r"^(SELECT\s+)inst_id\b", re.IGNORECASE)
_INSTANCE_COLUMN = re.compile(r"(?<![:\w])inst_id\b")
_GROUPED_BY_INSTANCE = re.compile(r"^(GROUP BY )inst_id, ", re.MULTILINE)
_GLOBAL_VIEW = re.compile(r"\bgv\$", re.IGNORECASE)


@cache
def _instance_text(text: str) -> str:
    if not _GLOBAL_VIEW.search(text):
        return text
    text = _GROUPED_BY_INSTANCE.sub(r"\1", _GLOBAL_VIEW.sub("v$", text))
    text = _LEADING_INSTANCE.sub(r"\1:inst_id AS instance_number", text)
    return _INSTANCE_COLUMN.sub(":inst_id", text).replace("instance_number", "inst_id", 1)


_TEXT_OR_BIND = re.compile(r"'(?:[^']|'')*'|:(\w+)")


@cache
def bind_names(sql: str) -> tuple[str, ...]:
    """Return the names of the binds of an SQL text, each once, in order of occurrence."""
    return tuple(dict.fromkeys(name for name in _TEXT_OR_BIND.findall(sql) if name))


@cache
def load(release: Release, folder: Path | None = None) -> Mapping[RecordType, Query]:
    """Return the queries that `release` answers, by record, in a fixed order.

    Raises QueryError if a file is missing, unreadable or has a broken header.
    """
    folder = folder or query_files.queries_folder()
    versions = [
        (Release.parse(each.name), each) for each in folder.iterdir() if each.is_dir() and each.name[0].isdigit()
    ]
    serving = [each for version, each in sorted(versions, reverse=True) if version <= release]
    chosen: dict[RecordType, Query] = {}
    for name, record in by_query().items():
        files = (each / f"{name}.sql" for each in (*serving, folder))
        path = next((each for each in files if each.is_file()), None)
        if path is None:
            raise query_files.QueryError(f"query file missing: {folder / name}.sql")
        query = read(path, record)
        if query.since <= release:
            chosen[record] = replace(query, cluster_sql=text_for(query, release))
    return MappingProxyType(chosen)


_SELECTED = re.compile(r"^    (\w+)(,?)$", re.MULTILINE)
_GROUPED_BY = re.compile(r"^GROUP BY (.*)$", re.MULTILINE)


def text_for(query: Query, release: Release) -> str:
    """Return the text that `release` understands: what a row of NULLs is read as stands for each younger column."""
    columns = query_files.catalog().get(query.view.removeprefix("G"), {})
    younger = {name.lower() for name, column in columns.items() if column.since > release}
    if not younger:
        return query.cluster_sql
    nulls = null_row(query.record)

    def selected(found: re.Match[str]) -> str:
        value = getattr(nulls, found[1], None)
        constant = "NULL" if value is None else repr(value)
        return f"    {constant} AS {found[1]}{found[2]}" if found[1] in younger else found[0]

    def grouped_by(found: re.Match[str]) -> str:
        return f"GROUP BY {', '.join(name for name in found[1].split(', ') if name not in younger)}"

    return _GROUPED_BY.sub(grouped_by, _SELECTED.sub(selected, query.cluster_sql))


_WORDS = {
    "pack": ("none", "diagnostics", "tuning"), "only": ("cdb", "root", "cluster"), "shown": ("histograms",),
}  # fmt: skip
"""The words that header lines may have."""


def read(path: Path, record: RecordType) -> Query:
    """Read one query file. Raises QueryError naming `path` if it cannot be read or its header is broken."""
    file = query_files.read_file(path)
    header = file.header
    try:
        cadence = Cadence(header["every"])
        since = Release.parse(header["since"]) if "since" in header else query_files.since_of(file.view)
    except ValueError as error:
        raise query_files.QueryError(f"{path}: {error}") from error
    for key, words in _WORDS.items():
        if key in header and header[key] not in words:
            raise query_files.QueryError(f"{path}: {key} must be {listed(words, 'or')}, not {header[key]!r}")
    detail_level = DetailLevel.HISTOGRAMS if "shown" in header else DetailLevel.NARROW
    needs, pack, only = header["needs"], header["pack"], header.get("only", "")
    return Query(path.stem, record, file.answers, cadence, needs, pack, since, file.sql, path, only, detail_level)


@cache
def selection(query: Query, scope: Scope = Scope.CLUSTER) -> query_files.Selection:
    """Return the parts of `query`. Raises QueryError if it is not one SELECT on one view."""
    return query_files.parts(query.path, query.sql(scope))


def columns_of(view: str, release: Release) -> list[query_files.SqlColumn]:
    """Return the columns that `view` (V$, GV$ or DBA_ name) has in `release`; empty if it does not exist there."""
    is_global = view.startswith("GV$")
    name = view[1:] if is_global else view
    present = [fact for fact in query_files.catalog().get(name, {}).values() if fact.since <= release]
    if is_global and present:
        present.insert(0, query_files.SqlColumn(view, "INST_ID", "NUMBER", query_files.OLDEST))
    return present


@cache
def main_records(release: Release) -> tuple[RecordType, ...]:
    """Return the record that speaks for each view that a release is asked without being told of whom.

    Of several queries on one view that is the one which reads most of its columns.
    """
    found: dict[str, RecordType] = {}
    for record, query in load(release).items():
        if query.cadence is not Cadence.DEMAND and record not in OF_AN_UPDATE:
            found[query.view] = max(found.get(query.view, record), record, key=lambda each: len(field_types(each)))
    return tuple(found.values())


def view_read(record: RecordType, release: Release, scope: Scope) -> str:
    """Return the view that a record's query reads in a release: ``GV$SESSION``, ``V$SESSION``."""
    return (load(release).get(record) or load(SUPPORTED[-1])[record]).view_in(scope)


CPU, LOGICAL_READS, BYTES_READ = "CPU used by this session", "session logical reads", "physical read total bytes"
"""The statistics by which the work of parallel servers is compared (names as in V$STATNAME)."""

RECORDS: tuple[type[Any], ...] = (SessionLongops, PlanLine, CursorTotals, SessionStatistic, PxStatistic)
"""What a focus may ask."""


class Focus(Struct, frozen=True):
    """One session and the cursor it executes; without a session only the progress of operations is followed.

    `coordinator` tells that it may have parallel servers; `child` None is taken for 0.
    """

    inst_id: int = 0
    sid: int = 0
    sql_id: str = ""
    child: int | None = None
    coordinator: bool = True

    def questions(self, names: Iterable[StatisticName]) -> dict[type[Any], Mapping[str, Any]]:
        """Return the binds of each question; `names` gives the numbers of the statistics in this release."""
        found: dict[type[Any], Mapping[str, Any]] = {SessionLongops: {}}
        if self.sql_id:
            cursor = {"at_inst_id": self.inst_id, "sql_id": self.sql_id, "child_number": self.child or 0}
            found |= {PlanLine: cursor, CursorTotals: cursor}
        if self.sid:
            found[SessionStatistic] = {"at_inst_id": self.inst_id, "sid": self.sid}
        numbers = {row.name: row.statistic for row in names}
        if self.sid and self.coordinator and numbers:
            found[PxStatistic] = {
                "sid": self.sid,
                "cpu_number": numbers.get(CPU, -1),
                "logical_number": numbers.get(LOGICAL_READS, -1),
                "read_number": numbers.get(BYTES_READ, -1),
            }
        return found
