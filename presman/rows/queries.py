"""Queries: the files in queries/, the record and columns of each, and the conversion of rows to records.

Each file answers one question with one SELECT on one view. Its header lines are the question (the first line),
`every:` (refresh, minute, once, demand), `needs:` (the view to grant) and `pack:` (none, diagnostics, tuning).
Optional lines are `since:`, where the columns are newer than the view; `only: cdb`, `only: root` or `only: cluster`,
where only such a database has an answer; `shown: histograms`, where the query runs at each refresh only while
histograms are shown or written, and once a minute otherwise; `of: session`, where its columns are those of sessions
(:class:`presman.rows.query_files.SessionRow`).
For a release whose view lacks columns, according to the catalog, constants replace them. Where more than that differs,
a folder named after a release has the query for that release and later ones.
A focus is the session that a screen shows in detail: its queries run at each poll while it is shown.
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
from presman.rows import group_rows, instance_rows, query_files, session_rows
from presman.rows.cursor_rows import CursorTotals, PlanLine
from presman.rows.session_rows import PxStatistic, SessionLongops, SessionStatistic, StatisticName

# ---- Conversion of driver tuples to records: NULL, time zones and hostile text are handled here.


R = TypeVar("R")

RecordType: TypeAlias = type[tuple[Any, ...]]
"""One of the records."""

LONGEST_DOCUMENT = 250_000
"""Longest document that is read, in characters; real ones have a few thousand. If truncated it could not be parsed."""

LONG_TEXTS = {"sql_text": LONGEST_STATEMENT, "other_xml": LONGEST_DOCUMENT}
"""Fields that are CLOBs in the database and keep their line breaks, and how many characters of them are kept."""

COUNTERS: frozenset[RecordType] = frozenset({group_rows.ConsumerGroup, instance_rows.RsrcPdb})
"""Records whose counters Oracle always fills: if such a column has no value, it was not read."""

FILLED: Mapping[RecordType, tuple[str, ...]] = {
    group_rows.ConsumerGroup: ("name", *group_rows.CPU_COLUMNS),
    group_rows.ContainerPlanDirective: ("plan", "group_or_subplan"),
    group_rows.GroupMetric: ("consumer_group_name",),
    instance_rows.Osstat: ("stat_name", "value"),
    group_rows.PlanDirective: ("plan", "group_or_subplan"),
    session_rows.PxProcessSysstat: ("statistic", "value"),
    session_rows.PxSession: ("sid", "qcsid"),
    instance_rows.RsrcPdb: group_rows.CPU_COLUMNS,
    group_rows.RsrcPlan: ("name", "cpu_managed"),
    session_rows.Session: ("sid", "status", "event"),
    session_rows.SessionInfo: (*group_rows.CPU_COLUMNS, *group_rows.IO_COLUMNS),
    instance_rows.Sysstat: ("name", "value"),
}
"""Other columns that Oracle always fills. NULL in a limit (PARALLEL_SERVER_LIMIT) means that there is none."""

TOO_LONG = f"too long to be read: more than {LONGEST_DOCUMENT:,} characters"
"""The value of a field whose document is too long to be kept."""


def to_records(record: RecordType, rows: Iterable[tuple[Any, ...]], zone: tzinfo = UTC) -> tuple[Any, ...]:
    """Return `rows` as records. `zone` is the time zone of the database's DATE columns.

    A row without INST_ID is left out where others have it: as one of instance 0 it would be one of the whole cluster.
    Raises ValueError or TypeError if a value does not fit its field's type.
    """
    make, names = _maker(record, zone), field_types(record)
    if "inst_id" in names:
        index, rows = list(names).index("inst_id"), list(rows)
        rows = [row for row in rows if row[index] is not None] or rows
    return tuple([make(row) for row in rows])


def null_columns(record: RecordType, rows: Sequence[Sequence[Any]]) -> frozenset[str]:
    """Return the columns of `record` that Oracle always fills and that are NULL in every row: they were not read.

    That is neither 0 nor an empty text.
    """
    if not rows:
        return frozenset()
    return frozenset([name for index, name in _filled(record) if all(row[index] is None for row in rows)])


@cache
def _filled(record: RecordType) -> tuple[tuple[int, str], ...]:
    """Return the index and the name of each field of `record` that Oracle always fills."""
    counted, named = record in COUNTERS, FILLED.get(record, ())
    fields = enumerate(field_types(record).items())
    return tuple(
        (index, name)
        for index, (name, (kind, optional)) in fields
        if name in named or (counted and kind is int and not optional)
    )


@cache
def has_long_texts(record: RecordType) -> bool:
    """Return whether a field of `record` is a CLOB in the database."""
    return not LONG_TEXTS.keys().isdisjoint(field_types(record))


def shortened(record: RecordType, rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return the driver's rows with each text cut to a length at which `to_records` still sees that it is too long."""
    limits = [LONG_TEXTS.get(name, LONGEST) + 1 for name in field_types(record)]
    return [
        tuple(value[:limit] if isinstance(value, str) else value for value, limit in zip(row, limits, strict=True))
        for row in rows
    ]


@cache
def field_types(record: RecordType) -> Mapping[str, tuple[type[Any], bool]]:
    """Return the type of each field of `record`, and whether NULL is kept as None."""
    types: dict[str, tuple[type[Any], bool]] = {}
    for name, hint in get_type_hints(record).items():
        members = [member for member in get_args(hint) if member is not NoneType] or [hint]
        types[name] = (members[0], bool(get_args(hint)))
    return types


def null_row(record: type[R]) -> R:
    """Return the record of a row of NULLs, which stands for a missing row."""
    found: R = _null_row(cast(RecordType, record))
    return found


@cache
def _null_row(record: RecordType) -> Any:
    none_of: dict[type[Any], Any] = {int: 0, float: 0.0, str: ""}
    values = [None if optional else none_of.get(kind) for kind, optional in field_types(record).values()]
    return cast(Any, record)(*values)


@cache
def _maker(record: RecordType, zone: tzinfo) -> Callable[[tuple[Any, ...]], Any]:
    """Compile one function per record type: hundreds of rows pass at each poll, so a loop per field is too slow."""
    values: list[str] = []
    environment: dict[str, Any] = {"new": tuple.__new__, "record": record, "short": _short}
    for index, (name, (kind, optional)) in enumerate(field_types(record).items()):
        environment[f"c{index}"] = _converter(kind, name, zone)
        null = {int: "0", float: "0.0", str: "''"}.get(kind, "None") if not optional else "None"
        # Most values have the right type already, and a call costs three times as much as this check.
        shortcut = f"v if v.__class__ is {kind.__name__} else " if kind in {int, float} else ""
        if environment[f"c{index}"] is _text:
            shortcut = f"short(v) if v.__class__ is str and len(v) <= {LONGEST} else "
        values.append(f"{null} if (v := r[{index}]) is None else {shortcut}c{index}(v)")
    # The code contains only field numbers, a limit and type names: nothing from outside is compiled.
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
    """Clean a name. The same few thousand arrive at every poll: each is cleaned, and stored, once."""
    return clean(text)


@lru_cache(maxsize=1024)
def _utc(value: datetime | str, _fold: int, zone: tzinfo) -> datetime:
    """Return an instant in UTC; SQLite returns it as text.

    It is cached because the same instants arrive at each poll. `_fold` keeps two instants with the same clock time
    apart in the cache.
    """
    value = datetime.fromisoformat(value) if isinstance(value, str) else value
    return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)


# ---- Which records there are.


OF_AN_UPDATE: frozenset[RecordType] = frozenset({group_rows.CpuExhausted, instance_rows.PdbCpuExhausted})
"""Records whose columns only newer updates of a release have: if they are missing, that is no problem."""


@cache
def by_query() -> Mapping[str, RecordType]:
    """Return every record by the stem of the query file that fills it (``px_session`` → PxSession).

    A file without a written record has a generated one.
    """
    names = sorted(module.name for module in iter_modules(rows.__path__) if module.name.endswith("_rows"))
    members = (each for name in names for each in getmembers(import_module(f"{rows.__name__}.{name}"), isclass))
    found = [member for member in members if hasattr(member[1], "_fields")]
    written = {query_files.snake(name): cast(RecordType, record) for name, record in sorted(found)}
    others = sorted({path.stem for path in query_files.queries_folder().glob("*.sql")} - written.keys())
    return MappingProxyType({**written, **{stem: query_files.record_of(stem) for stem in others}})


# ---- Level of detail of a poll: the rows it reads beyond those of each refresh


class DetailLevel(Flag):
    """The numerous rows that are read at each poll; those that are not included are read once a minute.

    Tens of thousands of idle sessions may be connected: each refresh counts them, and reads only the sessions that work
    or that others name. A caller that shows or writes more asks for it with this flag.
    """

    NARROW = 0
    IDLE_SESSIONS = 1
    HISTOGRAMS = 2
    WHOLE = IDLE_SESSIONS | HISTOGRAMS


# ---- Queries: the files of queries/, their headers, and the record that each fills


READ_SINCE = Release(12, 1)
"""First release with the privilege READ (SQL Language Reference, GRANT: 12.1.0.2; 12.1.0.1 still needs SELECT)."""


class Cadence(Enum):
    """How often a query runs."""

    REFRESH = "refresh"
    MINUTE = "minute"
    ONCE = "once"
    DEMAND = "demand"


class Scope(Enum):
    """Whether a query reads GV$ (all instances) or V$ (the instance presman is connected to)."""

    CLUSTER = "cluster"
    INSTANCE = "instance"


class Query(Struct, frozen=True):
    """One query, in the form for one release.

    `record` is the NamedTuple whose fields are the select list; `answers` is the question in words; `grant` is the
    object to grant, in Oracle's form (``GV_$SESSION``); `view` is the name as users know it (``GV$SESSION``). `only` is
    "cdb", "root" or "cluster" for a query that only a container database, its root or a cluster can answer, else "".
    `shown` names the data that must be shown, or written, for the query to run more often than once a minute.
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
        """Return the SQL text for `scope`; in instance scope V$ replaces GV$, and :inst_id replaces the column."""
        return self.cluster_sql if scope is Scope.CLUSTER else _instance_text(self.cluster_sql)

    def grant_in(self, scope: Scope) -> str:
        """Return the object it reads in `scope` as GRANT names it: ``GV_$SESSION``, ``V_$SESSION``."""
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
    """Return a query about one cursor as a query about up to `count`, with binds like ``:sql_id_0``, ``:sql_id_1``.

    It has a different name, so that its duration and number of rows are not mixed with those of the original.
    """

    def several(found: re.Match[str]) -> str:
        column = found[1]
        return f"{column} IN ({', '.join(f':{column}_{number}' for number in range(count))})"

    text = _OF_CURSOR.sub(several, query.cluster_sql)
    return replace(query, name=f"{query.name}_of_several", cluster_sql=text)


def grant_of_view(grant: str, user: str, release: Release) -> str:
    """Return the GRANT that lets `user` query one object of SYS, without a semicolon.

    READ is the weaker privilege: SELECT would also allow SELECT ... FOR UPDATE and LOCK TABLE.

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
    # Under another name for a moment, so that the name of the first column does not become a bind, too.
    text = _LEADING_INSTANCE.sub(r"\1:inst_id AS instance_number", text)
    return _INSTANCE_COLUMN.sub(":inst_id", text).replace("instance_number", "inst_id", 1)


_TEXT_OR_BIND = re.compile(r"'(?:[^']|'')*'|:(\w+)")


@cache
def bind_names(sql: str) -> tuple[str, ...]:
    """Return the names of the binds in an SQL text, each once, in order of occurrence."""
    return tuple(dict.fromkeys(name for name in _TEXT_OR_BIND.findall(sql) if name))


@cache
def load(release: Release, folder: Path | None = None) -> Mapping[RecordType, Query]:
    """Return the queries that `release` answers, by record, in a fixed order.

    Raises QueryError if a file is missing, unreadable or has a broken header.
    """
    folder = folder or query_files.queries_folder()
    folders = (each for each in folder.iterdir() if each.is_dir() and each.name[0].isdigit())
    versions = [(Release.parse(each.name), each) for each in folders]
    # The newest variant first: it holds from its release on, until a newer one.
    serving = [each for version, each in sorted(versions, reverse=True) if version <= release]
    chosen: dict[RecordType, Query] = {}
    for name, record in by_query().items():
        files = (each / f"{name}.sql" for each in (*serving, folder))
        path = next((each for each in files if each.is_file()), None)
        if path is None:
            raise query_files.QueryError(f"query file missing: {folder / name}.sql")
        if (query := read(path, record)).since <= release:
            chosen[record] = replace(query, cluster_sql=text_for(query, release))
    return MappingProxyType(chosen)


_SELECTED = re.compile(r"^    (\w+)(?: AS (\w+))?(,?)$", re.MULTILINE)
_GROUPED_BY = re.compile(r"^GROUP BY (.*)$", re.MULTILINE)


def text_for(query: Query, release: Release) -> str:
    """Return the SQL text for `release`: each newer column is replaced by a constant, its value in a row of NULLs."""
    columns = query_files.catalog().get(query.view.removeprefix("G"), {})
    younger = {name.lower() for name, column in columns.items() if column.since > release}
    if not younger:
        return query.cluster_sql
    nulls = null_row(query.record)

    def selected(found: re.Match[str]) -> str:
        column, field, comma = found[1], found[2] or found[1], found[3]
        value = getattr(nulls, field, None)
        constant = "NULL" if value is None else repr(value)
        return f"    {constant} AS {field}{comma}" if column in younger else found[0]

    def grouped_by(found: re.Match[str]) -> str:
        return f"GROUP BY {', '.join(name for name in found[1].split(', ') if name not in younger)}"

    return _GROUPED_BY.sub(grouped_by, _SELECTED.sub(selected, query.cluster_sql))


_WORDS = {
    "pack": ("none", "diagnostics", "tuning"), "only": ("cdb", "root", "cluster"), "shown": ("histograms",),
}  # fmt: skip
"""The words that header lines may contain."""


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
    """Return the parts of the query's SELECT. Raises QueryError if it is not one SELECT on one view."""
    return query_files.parts(query.path, query.sql(scope))


def columns_of(view: str, release: Release) -> list[query_files.SqlColumn]:
    """Return the columns that `view` (V$, GV$ or DBA_ name) has in `release`; [] if it does not exist there."""
    is_global = view.startswith("GV$")
    name = view[1:] if is_global else view
    present = [fact for fact in query_files.catalog().get(name, {}).values() if fact.since <= release]
    if is_global and present:
        present.insert(0, query_files.SqlColumn(view, "INST_ID", "NUMBER", query_files.OLDEST))
    return present


@cache
def main_records(release: Release) -> tuple[RecordType, ...]:
    """Return one record per view that is read without a request: it represents the view.

    Where several queries read a view, the record with the most fields represents it.
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
"""The statistics that compare the work of parallel servers (names as in V$STATNAME)."""

RECORDS: tuple[type[Any], ...] = (SessionLongops, PlanLine, CursorTotals, SessionStatistic, PxStatistic)
"""The records that a focus may request."""


class Focus(Struct, frozen=True):
    """One session and the cursor it executes; without a session only the progress of operations is read.

    `coordinator` is whether it may have parallel servers; `child` None counts as 0.
    """

    inst_id: int = 0
    sid: int = 0
    sql_id: str = ""
    child: int | None = None
    coordinator: bool = True

    def questions(self, names: Iterable[StatisticName]) -> dict[type[Any], Mapping[str, Any]]:
        """Return the binds of each query, by record; `names` has the numbers of the statistics in this release."""
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
