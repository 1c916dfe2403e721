"""Query files: their folder, header lines and SELECTs, the records generated from some; and the catalog of columns."""

import csv
import re
from collections import namedtuple
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

from presman.base.errors import InputError
from presman.base.release import Release


class QueryError(InputError):
    """A query file is missing or broken; the text names the file and the fault."""


def queries_folder() -> Path:
    """Return the folder of the query files: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "sql", package.parent / "queries"):
        if folder.is_dir():
            return folder
    raise QueryError(f"the folder of SQL queries is missing: neither {package / 'sql'} nor a checkout's queries/")


def variants() -> list[Path]:
    """Return every query file, including release variants, sorted."""
    return sorted(queries_folder().rglob("*.sql"))


def view_of_grant(grant: str) -> str:
    """Return a view as users write it: ``GV$SESSION`` for the object to grant, ``GV_$SESSION``."""
    return grant.replace("_$", "$")


_VIEW = re.compile(r"\b(?:G?V\$|DBA_|CDB_)\w+", re.IGNORECASE)


@cache
def views_named(sql: str) -> tuple[str, ...]:
    """Return the views that an SQL text names, each once, in upper case."""
    return tuple(dict.fromkeys(name.upper() for name in _VIEW.findall(sql)))


class QueryFile(NamedTuple):
    """A query file: the question it answers, its other header lines by name, and its SELECT."""

    path: Path
    answers: str
    header: Mapping[str, str]
    sql: str

    @property
    def view(self) -> str:
        """The view that it reads, like ``GV$SESSION``."""
        return view_of_grant(self.header["needs"])


@cache
def read_file(path: Path) -> QueryFile:
    """Read one query file. Raises QueryError naming `path` if it cannot be read or is incomplete."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"cannot read {path}: {error}") from error
    comments = [line[2:].strip() for line in text.splitlines() if line.startswith("--")]
    body = "\n".join(line for line in text.splitlines() if not line.startswith("--")).strip()
    header = dict(re.split(r":\s*", line, maxsplit=1) for line in comments if re.match(r"[a-z]+:\s", line))
    missing = [key for key in ("every", "needs", "pack") if not header.get(key)]
    if not comments or missing or not body:
        raise QueryError(f"{path}: {'no SELECT' if comments and not missing else 'header lacks ' + ', '.join(missing)}")
    return QueryFile(path, comments[0], header, body)


_BODY = re.compile(
    r"SELECT\s+(?P<list>.+?)\s+FROM\s+(?P<view>[\w$]+)(?:\s+WHERE\s+(?P<where>.+?))?(?:\s+GROUP\s+BY\s.+)?", re.I | re.S
)
_ALIAS = re.compile(r"(?P<expression>.+?)\s+AS\s+(?P<field>\w+)", re.I | re.S)
_LITERAL = re.compile(r"'[^']*'|:\w+")
_WORD = re.compile(r'"[^"]+"|[A-Za-z_][\w$#]*')


class Selection(NamedTuple):
    """The parts of a SELECT.

    `fields` maps each field to the words in its expression, in upper case and unquoted: columns, but also keywords and
    functions. `view` is in upper case; `where` is "" if there is no condition.
    """

    view: str
    fields: Mapping[str, frozenset[str]]
    where: str

    @property
    def words(self) -> frozenset[str]:
        """All words in the select list and the condition: a superset of the columns that are read."""
        return frozenset().union(*self.fields.values(), _words(self.where))


def parts(path: Path, sql: str) -> Selection:
    """Return the parts of the SELECT in `path`. Raises QueryError if it is not one SELECT on one view."""
    found = _BODY.fullmatch(sql.strip())
    if found is None:
        raise QueryError(f"{path}: not one SELECT on one view")
    fields = {}
    for item in _split(found["list"]):
        alias = _ALIAS.fullmatch(item)
        expression, field = (alias["expression"], alias["field"]) if alias else (item, item)
        fields[field.strip('"').lower()] = _words(expression)
    return Selection(found["view"].upper(), fields, found["where"] or "")


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip('"').upper() for word in _WORD.findall(_LITERAL.sub(" ", text)))


def _split(text: str) -> list[str]:
    """Split a select list at the commas outside parentheses."""
    items, depth, item = [], 0, ""
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            items.append(item.strip())
            item = ""
        else:
            item += sign
    return [*items, item.strip()]


# ---- Generated records: a query without a written record has one that is made of its select list. A column by itself,
# or its MIN or MAX, has the type that the catalog says; what is computed is a number.


class SessionRow(tuple[Any, ...]):
    """A row of a query with the header `of: session`; its first two fields identify the session."""

    __slots__ = ()


@cache
def record_of(stem: str) -> type[tuple[Any, ...]]:
    """Return the generated record of a query, given the stem of its file. Raises QueryError for a broken file."""
    file = read_file(queries_folder() / f"{stem}.sql")
    selected = parts(file.path, file.sql)
    of = file.header.get("of")
    if of and (of != "session" or list(selected.fields)[:2] != ["inst_id", "sid"]):
        raise QueryError(f"{file.path}: `of` must be session, and the SELECT begin with inst_id and sid")
    columns = catalog().get(selected.view.removeprefix("G"), {})
    types = {field: _type(field, words - {"MIN", "MAX"}, columns) for field, words in selected.fields.items()}
    name = _record_name(stem)
    # Pickle finds the class by the names of this module and of the record (__getattr__ below).
    members = {"__slots__": (), "__module__": __name__, "__doc__": file.answers, "__annotations__": types}
    return type(name, (namedtuple(name, types), SessionRow if of else tuple), members)


def _type(field: str, words: frozenset[str], columns: Mapping[str, "SqlColumn"]) -> Any:
    if field in _IDENTIFIERS:
        return int
    column = columns.get(*words) if len(words) == 1 else None
    if column is None or column.datatype.startswith("NUMBER"):
        return float | None
    return datetime | None if column.datatype.startswith(("DATE", "TIMESTAMP")) else str


_IDENTIFIERS = {"inst_id", "con_id", "sid"}


def snake(name: str) -> str:
    """Return the name of a record as that of its query file: ``px_session`` for ``PxSession``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _record_name(stem: str) -> str:
    return "".join(part.capitalize() for part in stem.split("_"))


def __getattr__(name: str) -> type[tuple[Any, ...]]:
    """Return a generated record by its name: pickle needs it. Imports look up `__path__`, which must not read files."""
    for path in () if name.startswith("_") else queries_folder().glob("*.sql"):
        if _record_name(path.stem) == name:
            return record_of(path.stem)
    raise AttributeError(name)


# ---- Catalog: the columns of each view, and the first release of each. `catalog.csv` comes from Oracle's documents.

OLDEST = Release(11, 2)

CATALOG = Path(__file__).with_name("catalog.csv")


class SqlColumn(NamedTuple):
    """One column of the catalog; `unit` is "" for a text, and for a number that measures nothing."""

    view: str
    name: str
    datatype: str
    since: Release
    unit: str = ""


@cache
def catalog() -> Mapping[str, Mapping[str, SqlColumn]]:
    """Return the catalog: view (``V$SESSION``, ``DBA_RSRC_PLANS``) → column name → column."""
    views: dict[str, dict[str, SqlColumn]] = {}
    release = cache(Release.parse)
    with CATALOG.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        next(lines)
        for view, name, datatype, since, _, unit, _ in lines:
            # Twelve hundred lines name some sixty views and fifty types: each string is stored once.
            fact = SqlColumn(intern(view), name, intern(datatype), release(since), intern(unit))
            views.setdefault(fact.view, {})[fact.name] = fact
    return views


@cache
def since_of(view: str) -> Release:
    """Return the first release with `view` (V$, GV$ or DBA_ name); OLDEST if the catalog lacks the view."""
    return min((column.since for column in catalog().get(view.removeprefix("G"), {}).values()), default=OLDEST)
