"""Every query in every release: parses as Oracle SQL, names only what the catalog has, fills its record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import sqlglot
from sqlglot import exp

from presman.base.release import SUPPORTED, Release
from presman.rows.queries import Cadence, Query, Scope, by_query, columns_of, field_types, load, read
from presman.rows.query_files import catalog, variants
from presman.sources.embedded import EmbeddedDatabase

Databases = Callable[[Release], EmbeddedDatabase]
each_query = pytest.mark.parametrize("name", sorted(by_query()))
"""A test for each query goes through the releases and scopes: tests by the thousand cost time of their own."""

BINDS = {
    **{"inst_id": 1, "own_inst_id": 1, "own_sid": 0, "at_inst_id": 1, "sql_id": "9md3ukhghgj58", "child_number": 0},
    **{"sid": 144, "cpu_number": 19, "logical_number": 20, "read_number": 21},
}
BINDS |= {"event": "latch free", "with_idle": 1, **{f"sid_{number}": 7 for number in range(1, 9)}}
FORBIDDEN = {"rownum", "sysdate", "nvl", "decode", "xmltable", "fetch first", "(+)"}
PACK_VIEWS = (
    "V$ACTIVE_SESSION_HISTORY",
    "DBA_HIST_",
    "V$SQL_MONITOR",
    "V$SQL_PLAN_MONITOR",
    "DBA_ADDM_",
    "DBA_ADVISOR_",
)


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    """One database per release: a case replaces the rows of the one view that it reads."""
    opened: dict[Release, EmbeddedDatabase] = {}

    def database(release: Release) -> EmbeddedDatabase:
        if release not in opened:
            opened[release] = EmbeddedDatabase(release)
        return opened[release]

    yield database
    for each in opened.values():
        each.close()


def forms(name: str) -> Iterator[tuple[Release, Query, Scope]]:
    """Yield a query as each release is asked it, of all instances and of one; there is at least one such."""
    record = by_query()[name]
    found = [(release, query) for release in SUPPORTED if (query := load(release).get(record))]
    assert found, f"{name} is asked of no release"
    for (release, query), scope in product(found, Scope):
        yield release, query, scope


def parse(query: Query, scope: Scope) -> exp.Select:
    return parsed(query.sql(scope))


@cache
def parsed(text: str) -> exp.Select:
    (statement,) = sqlglot.parse(text, dialect="oracle")
    assert isinstance(statement, exp.Select)
    return statement


WHAT_TO_ADD = "add what the Database Reference lists of the view; what it does not list cannot be read"


def unlisted(statement: exp.Select, release: Release) -> list[str]:
    """Return the columns that a query reads and the catalog does not have in a release."""
    view = next(statement.find_all(exp.Table)).name.upper()
    listed = {column.name for column in columns_of(view, release)} | ({"INST_ID"} if view.startswith("GV$") else set())
    read = {column.name.upper() for column in statement.find_all(exp.Column)}
    return [f"{view.removeprefix('G')}.{name}" for name in sorted(read - listed)]


@each_query
def test_it_selects_columns_of_that_release_from_one_view_as_the_record_has_them(name: str) -> None:
    for release, query, scope in forms(name):
        statement = parse(query, scope)
        assert len(list(statement.find_all(exp.Table))) == 1
        missing = unlisted(statement, release)
        assert not missing, f"presman/rows/catalog.csv lacks {', '.join(missing)} in {release}: {WHAT_TO_ADD}"
        names = [column.alias_or_name.lower() for column in statement.selects]
        assert names == list(get_type_hints(query.record)), (release, scope)


def test_columns_outside_the_catalog_are_reported() -> None:
    guessed = parsed("SELECT inst_id, sid FROM gv$tempseg_usage")
    assert unlisted(guessed, SUPPORTED[-1]) == ["V$TEMPSEG_USAGE.SID"]
    misspelt = parsed("SELECT inst_id, sid, con_id, session_addr FROM gv$session WHERE paddr = 1")
    assert unlisted(misspelt, SUPPORTED[-1]) == ["V$SESSION.SESSION_ADDR"]
    assert unlisted(misspelt, SUPPORTED[0]) == ["V$SESSION.CON_ID", "V$SESSION.SESSION_ADDR"]


@each_query
def test_runs_and_one_full_row_fills_the_record(name: str, databases: Databases) -> None:
    for release, query, scope in forms(name):
        (table,) = parse(query, scope).find_all(exp.Table)
        columns = columns_of(table.name.upper(), release)
        full = {column.name: _sample(column.datatype, column.name) for column in columns}
        full |= {"INST_ID": 1} if table.name.startswith("g") else {}
        full |= _admitted_by_filters(parse(query, scope).args.get("where"))
        database = databases(release)
        database.replace(table.name.upper(), list(full), [list(full.values())])
        section = database.run(query, scope, {bind: BINDS[bind] for bind in _binds(query.sql(scope))})
        assert section.problem is None, (release, scope)
        (row,) = section.rows
        for field, (kind, optional) in field_types(query.record).items():
            value = getattr(row, field)
            absent = value is None and (optional or kind is datetime)
            assert absent or isinstance(value, kind), (release, scope, field)


@each_query
def test_a_row_of_nulls_fills_the_record_too(name: str, databases: Databases) -> None:
    for release, query, scope in forms(name):
        (table,) = parse(query, scope).find_all(exp.Table)
        keep = {"INST_ID": 1} if table.name.startswith("g") else {}
        keep |= _admitted_by_filters(parse(query, scope).args.get("where"))
        columns = [column.name for column in columns_of(table.name.upper(), release)]
        database = databases(release)
        database.replace(table.name.upper(), columns, [[keep.get(column) for column in columns]])
        section = database.run(query, scope, {bind: BINDS[bind] for bind in _binds(query.sql(scope))})
        assert section.problem is None, (release, scope)
        if query.cadence is not Cadence.DEMAND:
            assert len(section.rows) == 1, (release, scope)


@pytest.mark.parametrize("path", variants(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_is_portable_read_only_text_on_the_view_that_its_grant_names(path: Path) -> None:
    query = read(path, by_query()[path.stem])
    text = query.cluster_sql.lower()
    assert [word for word in FORBIDDEN if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)] == []
    assert text.startswith("select\n")
    assert ";" not in text
    assert query.answers.endswith("?")
    (table,) = parse(query, Scope.CLUSTER).find_all(exp.Table)
    assert query.view == table.name.upper()
    assert re.fullmatch(r"(G?V_\$|DBA_|CDB_)\w+", query.grant)
    assert query.pack == "none"
    assert not query.view.removeprefix("G").startswith(PACK_VIEWS), "a pack licenses it"


def test_global_views_always_carry_the_instance() -> None:
    for path in variants():
        query = read(path, by_query()[path.stem])
        if query.view.startswith("GV$"):
            assert next(iter(get_type_hints(query.record))) == "inst_id", path


def test_every_record_has_its_file_and_every_file_its_record() -> None:
    assert {path.stem for path in variants()} == set(by_query())


@pytest.mark.parametrize("release", SUPPORTED, ids=str)
def test_instance_scope_reads_no_global_view(release: Release) -> None:
    for query in load(release).values():
        text = query.sql(Scope.INSTANCE).lower()
        assert "gv$" not in text
        assert re.search(r"(?<![:\w])inst_id", text.replace(":inst_id as inst_id", "")) is None


def test_catalog_is_consistent() -> None:
    for view, columns in catalog().items():
        assert view == view.upper()
        assert len(columns) == len({name.upper() for name in columns})


def _binds(text: str) -> set[str]:
    return set(re.findall(r":(\w+)", text))


def _sample(datatype: str, name: str) -> Any:
    if datatype.startswith(("DATE", "TIMESTAMP")):
        return datetime(2026, 11, 21, 3, 4, 5, tzinfo=UTC).strftime("%Y-%m-%d %H:%M:%S")
    return 7 if datatype.startswith("NUMBER") else f"{name.lower()} text"


def _admitted_by_filters(condition: exp.Expression | None) -> Iterator[tuple[str, Any]]:
    """Yield values of columns without which the query's own WHERE would leave the row out: of OR the first part's."""
    match condition:
        case exp.And():
            yield from (*_admitted_by_filters(condition.left), *_admitted_by_filters(condition.right))
        case exp.Where() | exp.Paren() | exp.Or():
            yield from _admitted_by_filters(condition.this)
        case exp.EQ() | exp.Like() | exp.In():
            value = condition.expressions[0] if isinstance(condition, exp.In) else condition.expression
            known = BINDS[value.name] if isinstance(value, exp.Placeholder) else value.name.replace("%", "")
            yield from ((column.name.upper(), known) for column in condition.this.find_all(exp.Column))
        case exp.LT() | exp.LTE() | exp.GT() | exp.GTE() | exp.NEQ() | exp.Not():
            less, more = (1, 7) if isinstance(condition, exp.LT | exp.LTE) else (7, 1)
            yield from ((column.name.upper(), less) for column in condition.this.find_all(exp.Column))
            other = condition.args.get("expression")
            yield from ((column.name.upper(), more) for column in other.find_all(exp.Column)) if other else ()
