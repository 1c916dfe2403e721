"""The loader of queries/: variants by release, and one clear line for each error."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pytest

from presman.base.release import SUPPORTED, Release
from presman.rows import query_files
from presman.rows.group_rows import CpuExhausted, PlanDirective
from presman.rows.instance_rows import Database, EventHistogram, Instance, Pdb
from presman.rows.queries import Cadence, Scope, columns_of, field_types, load, null_row, read
from presman.rows.query_files import (
    OLDEST,
    QueryError,
    SessionRow,
    queries_folder,
    record_of,
    since_of,
)
from presman.rows.session_rows import PxProcessSysstat, SessionCount, SessionInfo

GOOD = "-- What is it?\n-- every: minute\n-- needs: V_$DATABASE\n-- pack: none\nSELECT name FROM v$database\n"


def test_the_newest_variant_not_newer_than_the_release_serves_it() -> None:
    assert "version_full" in load(Release(19, 22))[Instance].cluster_sql
    assert "version_full" not in load(Release(12, 2))[Instance].cluster_sql
    assert "max_utilization_limit" in load(Release(11, 2))[PlanDirective].cluster_sql
    assert "gv$event_histogram_micro" in load(Release(12, 1))[EventHistogram].cluster_sql


def test_a_constant_stands_for_a_column_that_a_release_does_not_have() -> None:
    old, new = load(Release(11, 2)), load(Release(12, 1))
    assert "    0 AS con_id,\n" in old[SessionInfo].cluster_sql
    assert "    NULL AS pq_servers,\n" in old[SessionInfo].cluster_sql
    assert "    '' AS last_action,\n" in old[SessionInfo].cluster_sql
    assert " AS " not in new[SessionInfo].cluster_sql
    assert "\nGROUP BY inst_id, resource_consumer_group, status" in old[SessionCount].cluster_sql
    assert "\nGROUP BY inst_id, con_id, resource_consumer_group, status" in new[SessionCount].cluster_sql


def test_a_column_is_not_read_before_its_release_in_the_header() -> None:
    assert CpuExhausted not in load(Release(21))
    assert CpuExhausted in load(Release(23))


def test_a_view_younger_than_the_release_is_not_asked() -> None:
    assert Pdb not in load(Release(11, 2))
    assert Pdb in load(Release(12, 1))


def test_instance_scope_binds_the_instance_number() -> None:
    text = load(Release(19))[PxProcessSysstat].sql(Scope.INSTANCE)
    assert text == "SELECT\n    :inst_id AS inst_id,\n    statistic,\n    value\nFROM v$px_process_sysstat"


def test_header_is_read(tmp_path: Path) -> None:
    file = tmp_path / "database.sql"
    file.write_text(GOOD)
    query = read(file, Database)
    assert (query.answers, query.cadence, query.grant, query.pack) == (
        "What is it?",
        Cadence.MINUTE,
        "V_$DATABASE",
        "none",
    )
    assert query.view == "V$DATABASE"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT name FROM v$database\n", "header lacks every, needs, pack"),
        (GOOD.replace("-- needs: V_$DATABASE\n", ""), "header lacks needs"),
        (GOOD.replace("minute", "weekly"), "'weekly' is not a valid Cadence"),
        (GOOD.replace("none", "golden"), "pack must be none, diagnostics or tuning, not 'golden'"),
        (
            GOOD.replace("-- pack: none", "-- pack: none\n-- only: exadata"),
            "must be cdb, root or cluster, not 'exadata'",
        ),
        (GOOD.split("SELECT", maxsplit=1)[0], "no SELECT"),
        (GOOD.replace("-- pack: none", "-- pack: none\n-- since: soon"), "not an Oracle release: 'soon'"),
    ],
)
def test_a_broken_file_is_a_message_of_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "database.sql"
    file.write_text(text)
    with pytest.raises(QueryError) as caught:
        read(file, Database)
    assert str(file) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_undecodable_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "database.sql"
    file.write_bytes(b"-- \xff\xfe")
    with pytest.raises(QueryError, match="cannot read"):
        read(file, Database)


def test_missing_file_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "queries"
    shutil.copytree(queries_folder(), folder)
    (folder / "session_info.sql").unlink()
    with pytest.raises(QueryError, match=r"query file missing: .*session_info\.sql"):
        load(Release(11, 2), folder)


def test_an_unlisted_view_is_as_old_as_the_oldest_release() -> None:
    assert since_of("V$NOBODY_LISTS_IT") == OLDEST == SUPPORTED[0] == Release(11, 2)
    assert since_of("GV$SESSION") == since_of("V$SESSION") == OLDEST
    assert {each.name: each.since for each in columns_of("GV$SESSION", OLDEST)}["INST_ID"] == OLDEST
    assert columns_of("V$NOBODY_LISTS_IT", SUPPORTED[-1]) == []


GENERATED = """-- How is each session's time?
-- every: refresh
-- needs: GV_$SESS_TIME_MODEL
-- pack: none
-- of: session
SELECT inst_id, sid, MAX(stat_name) AS longest, con_id, value * 2 AS twice FROM gv$sess_time_model
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(query_files, "queries_folder", lambda: tmp_path)
    return tmp_path


def test_a_generated_record_follows_from_the_select_list_and_the_catalog(folder: Path) -> None:
    (folder / "time_use.sql").write_text(GENERATED)
    record = record_of("time_use")
    assert pickle.loads(pickle.dumps(record)) is record
    assert field_types(record) == {
        **{"inst_id": (int, False), "sid": (int, False), "longest": (str, False)},
        **{"con_id": (int, False), "twice": (float, True)},
    }
    assert null_row(record) == (0, 0, "", 0, None)
    assert issubclass(record, SessionRow)
    with pytest.raises(AttributeError):
        query_files.OtherUse  # noqa: B018


def test_a_generated_record_is_pickled_whatever_the_name_of_its_file(folder: Path) -> None:
    (folder / "time_use_2nd.sql").write_text(GENERATED)
    record = record_of("time_use_2nd")
    assert pickle.loads(pickle.dumps(record)) is record


@pytest.mark.parametrize(("old", "new"), [("of: session", "of: group"), ("inst_id, sid, ", "sid, inst_id, ")])
def test_columns_of_sessions_begin_with_the_session(folder: Path, old: str, new: str) -> None:
    (folder / "time_use.sql").write_text(GENERATED.replace(old, new))
    with pytest.raises(QueryError, match="begin with inst_id and sid"):
        record_of.__wrapped__("time_use")


def test_an_import_reads_no_query_file() -> None:
    before = record_of.cache_info()
    assert not hasattr(query_files, "__path__")
    assert record_of.cache_info() == before
