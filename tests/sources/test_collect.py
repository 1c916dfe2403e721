from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from presman.collect import SCRIPT, collect_script, spooled, statements
from presman.embedded import EmbeddedDatabase, columns_of
from presman.poller import Poller
from presman.queries import Scope, load
from presman.release import SUPPORTED, Release
from presman.rows import OF_AN_UPDATE, PlanXml, PxSession, PxStatistic, Session, SessionStatistic, SqlText
from presman.selection import selection
from presman.snapshot import Snapshot
from presman.sources import Answer, Request
from presman.sources.spool import SpoolSource

releases = pytest.mark.parametrize("release", SUPPORTED, ids=str)

TAKEN = "2026-11-21 10:00:00.000 +01:00"
FIXED = {
    "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS'",
    "ALTER SESSION SET NLS_NUMERIC_CHARACTERS = '.,'",
}


@releases
def test_only_selects_and_all_of_them_parse(release: Release) -> None:
    script = collect_script(release)
    found = statements(script)
    assert len(found) > len(load(release).keys() - OF_AN_UPDATE) - 1
    assert {each for each in found if not each.startswith("SELECT")} == FIXED
    for each in found:
        if each.startswith("SELECT"):
            tree = sqlglot.parse_one(re.sub(r"&presman_samples", "3", each), read="oracle")
            assert isinstance(tree, exp.Select)
    # Every line is of a statement, a comment, or one of the tool's own commands that touch no data.
    rest = script
    for each in found:
        rest = rest.replace(each + ";", "")
    commands = {line.split()[0] for line in rest.splitlines() if line.strip() and not line.startswith("--")}
    assert commands == {"define", "undefine", "set", "column", "spool", "@presman_next_&presman_samples..sql"}


@releases
def test_all_views_and_columns_of_the_queries_and_no_others(release: Release) -> None:
    parts = {each.view: each for each in spooled(release)}
    queries = [query for query in load(release).values() if query.pack == "none"]
    # What follows one session that somebody looks at has no place in a script.
    queries = [query for query in queries if query.record not in {SessionStatistic, PxStatistic}]
    # What not every database of the release has would spoil the file for the rest of its view.
    queries = [query for query in queries if query.record not in OF_AN_UPDATE]
    assert set(parts) == {selection(query).view for query in queries}
    for query in queries:
        known = {column.name for column in columns_of(selection(query).view, release)}
        assert selection(query).words & known <= set(parts[selection(query).view].columns)
    assert len({each.file for each in parts.values()}) == len(parts)
    assert not any("$" in each.file for each in parts.values())


def test_no_line_can_confuse_sqlplus() -> None:
    for line in collect_script(Release(19)).splitlines():
        assert line == line.rstrip()
        assert line.startswith("--") or not line.endswith("-")
        assert len(line) < 2000
    for each in statements(collect_script(Release(19))):
        assert ";" not in each
        assert "" not in each.splitlines()


def test_it_calls_itself_for_the_other_samples() -> None:
    script = collect_script(Release(19))
    assert f"'@{SCRIPT} 1 0 again'" in script
    assert script.count("'&presman_part' = 'first'") == sum(each.once for each in spooled(Release(19)))


# -- there and back ---------------------------------------------------------------------------------------------


def filled(release: Release, seed: int) -> EmbeddedDatabase:
    """An embedded database with a few rows in every view, and a statement in the queue."""
    database = EmbeddedDatabase(release)
    rng = random.Random(seed)
    for each in spooled(release):
        columns = columns_of(each.view, release)
        names = [column.name for column in columns]
        rows = [[_value(column.name, column.datatype, rng) for column in columns] for _ in range(5)]
        database.replace(each.view, names, rows)
    database.driver.execute("""UPDATE "GV$SESSION" SET sql_id = 'abc', sql_child_number = 0, inst_id = 1, type = 'USER',
        event = CASE WHEN sid % 2 = 0 THEN 'resmgr:pq queued' ELSE event END""")
    for view in ("GV$SQL", "GV$SQL_PLAN"):
        database.driver.execute(
            f"""UPDATE "{view}" SET inst_id = 1, child_number = 0,
                sql_id = CASE rowid WHEN 1 THEN 'abc' ELSE 'no' END"""
        )
    return database


def _value(name: str, datatype: str, rng: random.Random) -> Any:
    if rng.random() < 0.15 and name not in {"INST_ID", "SID"}:
        return None
    if datatype.startswith("NUMBER"):
        return rng.choice([1, 2, 3]) if name.endswith("INST_ID") else rng.choice([rng.randrange(100), 2**53, 1234567])
    if datatype.startswith(("DATE", "TIMESTAMP")):
        return f"2026-11-{rng.randrange(1, 29):02} 10:11:{rng.randrange(60):02}.000000"
    texts = ["TRUE", "NUM_CPUS", "cpu_count", "log file sync", 'a "quoted", text', "line\nline", "Größe", "13 rows"]
    return rng.choice(texts)


def sqlplus(database: EmbeddedDatabase, release: Release, place: Path, variables: Mapping[str, str]) -> None:
    """Do what SQL*Plus does with the script: substitute, run, and append to the files as it prints CSV."""
    database.driver.create_function("SYS_CONTEXT", 2, lambda space, name: "0")
    database.driver.create_function("TO_NUMBER", 1, float)
    script = collect_script(release)
    for name, text in re.findall(r"^spool (\S+) append\n(SELECT.*?);$", script, re.MULTILINE | re.DOTALL):
        statement = re.sub(r"&(\w+)", lambda found: variables[found[1]], text)
        cursor = database.driver.execute(statement)
        out = io.StringIO()
        writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow([column[0].upper() for column in cursor.description])
        for found in cursor:
            # Oracle prints a date column by the session's format, without the fraction; NULL is nothing at all.
            values = [re.sub(r"(:\d\d)\.0{6}$", r"\1", v) if isinstance(v, str) else v for v in found]
            writer.writerow(values)
        with (place / name).open("a", encoding="utf-8") as file:
            file.write("\n" + out.getvalue().replace('""\n', "\n"))


class Direct:
    """The embedded database itself as a source."""

    name, kind, scope = "direct", "simulator", Scope.CLUSTER

    def __init__(self, database: EmbeddedDatabase, at: Any) -> None:
        self.database, self.at = database, at

    def open(self) -> Release:
        return self.database.release

    def advance(self) -> None: ...

    def read(self, requests: Any) -> Answer:
        own = {"inst_id": 1, "own_inst_id": 0, "own_sid": 0}
        sections = [self.database.run(each.query, self.scope, {**own, **each.binds}) for each in requests]
        return Answer(self.at, tuple(sections))

    def cancel(self) -> None: ...

    def close(self) -> None:
        self.database.close()


def polled(source: Any) -> Snapshot:
    poller = Poller(source)
    poller.open()
    return poller.poll()


@releases
def test_what_it_spools_reads_as_the_database_itself(release: Release, tmp_path: Path) -> None:
    database = filled(release, seed=1)
    sqlplus(database, release, tmp_path, {"presman_taken": TAKEN, "presman_part": "first"})
    # The sample times are an hour ahead, the embedded database's dates are in UTC.
    spool = SpoolSource(tmp_path, release=release, zone=UTC)
    there = polled(spool)
    here = polled(Direct(database, there.at))
    assert spool.notes == ()
    assert not there.problems()
    for record in load(release).keys() - OF_AN_UPDATE:
        assert there.rows(record) == here.rows(record), record
        assert not there.section(record).absent
    assert [found.sql_id for found in there.rows(SqlText)] == ["abc"]
    assert there.rows(PlanXml) == here.rows(PlanXml)
    assert there.rows(Session)
    assert there.rows(PxSession)
    database.close()
    spool.close()


def test_further_samples_are_appended_and_history_is_not_spooled_again(tmp_path: Path) -> None:
    release = Release(19)
    for number, part in enumerate(("first", "again")):
        database = filled(release, seed=number)
        taken = TAKEN.replace("00.000", f"{number}0.000")
        sqlplus(database, release, tmp_path, {"presman_taken": taken, "presman_part": part})
        database.close()
    source = SpoolSource(tmp_path)
    poller = Poller(source)
    poller.open()
    first, second = poller.poll(), poller.poll()
    assert (second.at - first.at).total_seconds() == 10
    assert first.rows(Session) != second.rows(Session)
    history = next(query for query in load(release).values() if query.name == "group_metric_history")
    answer = source.read([Request(history)])
    assert answer.sections[0].rows == first.rows(history.record)
    poller.close()


@releases
def test_a_query_taken_apart(release: Release) -> None:
    for query in load(release).values():
        for scope in Scope:
            parts = selection(query, scope)
            tree = sqlglot.parse_one(query.sql(scope), read="oracle")
            assert list(parts.fields) == [item.alias_or_name.lower() for item in tree.selects]
            assert parts.view == tree.find(exp.Table).name.upper()
            assert bool(parts.where) == bool(tree.args.get("where"))
            columns = {column.name.upper() for column in tree.find_all(exp.Column)}
            assert columns <= parts.words
