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

from presman.base.release import SUPPORTED, Release
from presman.config.collect import SCRIPT, collect_script, keys_of_cursors, spooled
from presman.polling.named_sessions import BECOME
from presman.polling.poller import Poller
from presman.rows.cursor_rows import PlanXml, SqlText
from presman.rows.queries import OF_AN_UPDATE, Scope, columns_of, load, selection
from presman.rows.session_rows import PxSession, PxStatistic, Session, SessionCount, SessionStatistic
from presman.rows.snapshot import Snapshot
from presman.sources import Answer, Exhausted, Request
from presman.sources.embedded import EmbeddedDatabase
from presman.sources.spool.spool_source import SpoolSource
from tests.thorough import some

USUAL = [SUPPORTED[0], Release(12, 1), Release(19), SUPPORTED[-1]]
releases = pytest.mark.parametrize("release", some(USUAL, [each for each in SUPPORTED if each not in USUAL]), ids=str)

TAKEN = "2026-11-21 10:00:00.000 +01:00"
FIXED = {
    "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS'",
    "ALTER SESSION SET NLS_NUMERIC_CHARACTERS = '.,'",
}


def statements(script: str) -> list[str]:
    """Return the SQL statements of a script that :func:`collect_script` wrote, without their semicolons."""
    lines = [line for line in script.splitlines() if not line.startswith("--")]
    found = re.findall(r"^((?:SELECT|ALTER)\b.*?);$", "\n".join(lines), re.MULTILINE | re.DOTALL)
    return [str(statement) for statement in found]


@releases
def test_only_selects_and_all_of_them_parse(release: Release) -> None:
    script = collect_script(release)
    found = statements(script)
    assert len(found) > len(load(release).keys() - OF_AN_UPDATE - {SessionCount, *BECOME}) - 1  # of views read anyway
    assert {each for each in found if not each.startswith("SELECT")} == FIXED
    for each in [*found, *by_cursor(script)]:
        if each.startswith("SELECT"):
            tree = sqlglot.parse_one(re.sub(r"&(presman_samples|[13])", "3", each), read="oracle")
            assert isinstance(tree, exp.Select)
    # Every line is of a statement, a comment, or one of the tool's own commands that touch no data.
    rest = script
    for each in found:
        rest = rest.replace(each + ";", "")
    commands = {line.split()[0] for line in rest.splitlines() if line.strip() and not line.startswith("--")}
    assert commands == {
        *("define", "undefine", "set", "column", "spool", "prompt"),
        *("@presman_next_&presman_samples..sql", "@presman_cursors.sql"),
    }


def by_cursor(script: str) -> list[str]:
    """What the script writes down to ask for one cursor, with the arguments &1, &2 and &3."""
    written = "\n".join(line.removeprefix("prompt ") for line in script.splitlines() if line.startswith("prompt "))
    return re.findall(r"^(SELECT.*?)\n/$", written, re.MULTILINE | re.DOTALL)


@releases
def test_the_library_cache_is_asked_by_key_alone(release: Release) -> None:
    """No statement may search V$SQL or V$SQL_PLAN: they are named only where SQL_ID, instance and child are given."""
    script = collect_script(release)
    keyed = by_cursor(script)
    assert len(keyed) == 2
    for each in keyed:
        (view,) = re.findall(r"FROM (gv\$sql(?:_plan)?)$", each, re.MULTILINE)
        assert f"FROM {view}\n    WHERE inst_id = &1 AND sql_id = '&2' AND child_number = &3\n" in each
    assert not [each for each in statements(script) if re.search(r"\bv?gv\$sql(_plan)?\b", each)]
    assert f"{len(spooled(release)) - 2 + 1} SELECTs a sample" in script  # and one for the keys


@releases
def test_a_view_without_rows_leaves_its_mark_in_every_sample(release: Release, tmp_path: Path) -> None:
    database = EmbeddedDatabase(release)
    for each in spooled(release):
        database.replace(each.view, [column.name for column in columns_of(each.view, release)], [])
    for number in range(2):
        taken = TAKEN.replace("00.000", f"{number}0.000")
        part = "again" if number else "first"
        sqlplus(database, release, tmp_path, {"presman_taken": taken, "presman_part": part})
    for each in spooled(release):
        if each.by_key:
            continue
        rows = list(csv.reader((tmp_path / each.file).read_text(encoding="utf-8").splitlines()))
        marks = [row[0] for row in rows if row and row[0] not in {"", "SAMPLE_TIME"}]
        assert len(marks) == (1 if each.once else 2), each.file
    source = SpoolSource(tmp_path, release=release)
    poller = Poller(source)
    poller.open()
    assert [poller.poll().rows(PxSession) for _ in range(2)] == [(), ()]
    poller.close()
    database.close()


def test_an_incomplete_sample_is_not_used_and_noted(tmp_path: Path) -> None:
    release = Release(19)
    for number in range(2):
        database = filled(release, seed=number)
        taken = TAKEN.replace("00.000", f"{number}0.000")
        sqlplus(database, release, tmp_path, {"presman_taken": taken, "presman_part": "again" if number else "first"})
        database.close()
    done = tmp_path / "presman_samples.csv"
    done.write_text("".join(done.read_text(encoding="utf-8").rpartition("\n\n")[:1]) + "\n", encoding="utf-8")
    source = SpoolSource(tmp_path)
    poller = Poller(source)
    poller.open()
    poller.poll()
    with pytest.raises(Exhausted):
        poller.poll()
    assert source.notes == ("presman_samples.csv: 1 of 2 samples not complete; not used",)
    poller.close()


@releases
def test_the_script_spools_exactly_the_columns_of_the_queries(release: Release) -> None:
    parts = {each.view: each for each in spooled(release)}
    queries = [query for query in load(release).values() if query.pack == "none"]
    # Queries for the details of one session have no place in a script.
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


def test_the_script_calls_itself_for_further_samples() -> None:
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
        state = 'WAITING', event = CASE WHEN rowid = 1 THEN 'resmgr:pq queued' ELSE event END""")
    for view in ("GV$SQL", "GV$SQL_PLAN"):
        database.driver.execute(
            f"""UPDATE "{view}" SET inst_id = 1, child_number = 0,
                sql_id = CASE rowid WHEN 1 THEN 'abc' ELSE 'no' END"""
        )
    return database


def _value(name: str, datatype: str, rng: random.Random) -> Any:
    if rng.random() < 0.15 and name not in {"INST_ID", "SID", "CON_ID"}:
        return None
    if datatype.startswith("NUMBER"):
        return rng.choice([1, 2, 3]) if name.endswith("INST_ID") else rng.choice([rng.randrange(100), 2**53, 1234567])
    if datatype.startswith(("DATE", "TIMESTAMP")):
        return f"2026-11-{rng.randrange(1, 29):02} 10:11:{rng.randrange(60):02}.000000"
    texts = ["TRUE", "NUM_CPUS", "cpu_count", "log file sync", 'a "quoted", text', "line\nline", "Größe", "13 rows"]
    return rng.choice(texts)


def sqlplus(database: EmbeddedDatabase, release: Release, place: Path, variables: Mapping[str, str]) -> None:
    """Run the script as SQL*Plus does: substitute, run, and append CSV to the files."""
    database.driver.create_function("SYS_CONTEXT", 2, lambda space, name: "0")
    database.driver.create_function("TO_NUMBER", 1, float)
    database.driver.execute("CREATE TABLE IF NOT EXISTS dual AS SELECT 'X' AS dummy")
    script = collect_script(release)
    asked = [
        (name, text, variables)
        for name, text in re.findall(r"^spool (\S+) append\n(SELECT.*?);$", script, re.MULTILINE | re.DOTALL)
    ]
    written = "\n".join(line.removeprefix("prompt ") for line in script.splitlines() if line.startswith("prompt "))
    templates = re.findall(r"^spool (\S+) append\n(SELECT.*?)\n/$", written, re.MULTILINE | re.DOTALL)
    for (line,) in database.driver.execute(keys_of_cursors()).fetchall():
        given = dict(zip("123", line.split()[1:], strict=True))
        asked += [(name, text, {**variables, **given}) for name, text in templates]
    for name, text, known in asked:
        cursor = database.driver.execute(re.sub(r"&(\w+)", lambda found: known[found[1]], text))  # noqa: B023
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

    def read(self, requests: Any, within: float | None = None) -> Answer:
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
def test_a_spool_is_read_like_its_database(release: Release, tmp_path: Path) -> None:
    database = filled(release, seed=2)
    sqlplus(database, release, tmp_path, {"presman_taken": TAKEN, "presman_part": "first"})
    # The sample times are an hour ahead, the embedded database's dates are in UTC.
    spool = SpoolSource(tmp_path, release=release, zone=UTC)
    there = polled(spool)
    here = polled(Direct(database, there.at))
    assert spool.notes == ()
    assert not there.problems()
    for record in load(release).keys() - OF_AN_UPDATE:
        assert there.rows(record) == here.rows(record), record
        assert there.section(record).absent == here.section(record).absent, record
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
