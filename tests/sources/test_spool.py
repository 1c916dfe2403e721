from __future__ import annotations

import os
import tracemalloc
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from presman.analysis.assemble import analyse
from presman.base.private_files import has_short_lines
from presman.base.release import Release
from presman.config.doctor import doctor
from presman.config.target import parse_zone
from presman.config.target_text import parse_target
from presman.output import text_report
from presman.polling.poller import Poller
from presman.rows.cursor_rows import PlanXml, SqlText
from presman.rows.group_rows import ConsumerGroup, GroupMetric, Plan, PlanDirective
from presman.rows.instance_rows import EventHistogram, Instance, Osstat, Parameter
from presman.rows.queries import Scope, load
from presman.rows.session_rows import PxSession, Session, SessionCount
from presman.rows.snapshot import Section, Snapshot
from presman.sources import Exhausted, Request, SourceError
from presman.sources.spool import spool_file
from presman.sources.spool.spool_source import SpoolSource
from presman.sources.spool.spool_table import TOGETHER
from presman.tabs.alerts import alerts
from presman.tabs.choices import Link


def folder(place: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, text in files.items():
        (place / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return place


def snapshots(place: Path, **options: Any) -> list[Snapshot]:
    poller = Poller(SpoolSource(place, **options))
    poller.open()
    found = []
    try:
        while True:
            found.append(poller.poll())
    except Exhausted:
        return found
    finally:
        poller.close()


def only(place: Path, files: Mapping[str, str | bytes], **options: Any) -> Snapshot:
    found = snapshots(folder(place, files), **options)
    assert len(found) == 1
    assert not found[0].problems()
    return found[0]


def refusal(place: Path, files: Mapping[str, str | bytes]) -> str:
    with pytest.raises(SourceError) as caught:
        SpoolSource(folder(place, files)).open()
    assert not caught.value.retry
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{place}/", "")


# -- columns and views ------------------------------------------------------------------------------------------


def test_any_subset_order_and_case_of_columns(tmp_path: Path) -> None:
    found = only(tmp_path, {"V$Px_Session.CSV": "qcsid,Serial#,SID,nonsense\n526,7,265,x\n"})
    assert found.rows(PxSession) == (PxSession(1, 265, 7, 526, None, None, None, None, None, None),)
    absent = found.section(PxSession).absent
    assert {"degree", "qcinst_id", "server_set"} <= absent
    assert not {"sid", "serial", "qcsid", "inst_id"} & absent


def test_missing_columns_are_empty_and_absent(tmp_path: Path) -> None:
    found = only(tmp_path, {"v$px_session.csv": "SID,QCSID\n"})
    assert found.section(Session).rows == ()
    assert found.section(Session).absent == frozenset(Session._fields)
    assert found.section(PxSession).rows == ()


def test_unknown_files_and_columns_are_noted(tmp_path: Path) -> None:
    source = SpoolSource(
        folder(
            tmp_path,
            {
                "v$session.csv": "SID,SHOE_SIZE,USERNMAE,STATE\n1,44,A,WAITING\n",
                "shoes.csv": "A\n1\n",
                "gv_sesion_longops.csv": "SID\n1\n",
                "notes.txt": "?",
            },
        )
    )
    source.open()
    assert source.notes == (
        "gv_sesion_longops.csv: not used: no view of this name is read (did you mean gv$session_longops?)",
        "shoes.csv: not used: no view of this name is read",
        "v$session.csv: not used: SHOE_SIZE, USERNMAE (did you mean USERNAME?)",
    )
    source.advance()
    assert source.read([]).notes == source.notes
    source.close()


def test_notes_reach_screen_text_and_doctor(tmp_path: Path) -> None:
    place = folder(tmp_path, {"v$session.csv": "SID,SHOE_SIZE\n1,44\n", "v$sesion.csv": "SID\n1\n"})
    reading = analyse(None, snapshots(place)[0])
    notes = ["v$sesion.csv: not used: no view of this name is read (did you mean v$session?)", "SHOE_SIZE"]
    screen = " ".join(alert.text for alert in alerts(reading, Link()))
    for text in (screen, text_report.full(reading), "\n".join(doctor(parse_target(f"spool:{place}")))):
        assert all(each in text for each in notes)


@pytest.mark.parametrize("name", ["v$session", "gv$session", "V_SESSION", "gv_session", "v_$session", "GV_$Session"])
@pytest.mark.parametrize("scope", Scope)
def test_v_and_gv_fill_each_other(tmp_path: Path, name: str, scope: Scope) -> None:
    source = SpoolSource(folder(tmp_path, {f"{name}.csv": "SID,USERNAME\n7,ANNA\n"}))
    source.scope = scope
    source.open()
    source.advance()
    answer = source.read([Request(load(Release(19))[Session])])
    assert [(row.inst_id, row.sid, row.username) for row in answer.sections[0].rows] == [(1, 7, "ANNA")]
    source.close()


def test_instance_scope_is_the_lowest_instance(tmp_path: Path) -> None:
    text = "INST_ID,SID\n3,30\n2,20\n2,21\n"
    source = SpoolSource(folder(tmp_path, {"gv$session.csv": text, "gv$instance.csv": "INST_ID\n3\n2\n"}))
    source.scope = Scope.INSTANCE
    source.open()
    source.advance()
    answer = source.read([Request(load(Release(19))[Session])])
    assert [(row.inst_id, row.sid) for row in answer.sections[0].rows] == [(2, 20), (2, 21)]
    source.close()


@pytest.mark.parametrize(
    ("files", "option", "release"),
    [
        ({"gv$instance.csv": "VERSION\n12.2.0.1.0\n"}, None, Release(12, 2)),
        ({"gv$instance.csv": "VERSION,VERSION_FULL\n19.0.0.0.0,19.22.0.0.0\n"}, Release(12, 1), Release(19, 22)),
        ({"v$version.csv": "BANNER\nOracle Database 11g Release 11.2.0.4.0 - 64bit\n"}, None, Release(11, 2)),
        (
            {"v$version.csv": "BANNER\nOracle AI Database 26ai Enterprise Edition Release 23.26.1.0.0 - Production\n"},
            None,
            Release(23, 26),
        ),
        ({"v$session.csv": "SID\n1\n"}, Release(21), Release(21)),
        ({"v$session.csv": "SID\n1\n"}, None, Release(19)),
    ],
)
def test_the_release(tmp_path: Path, files: dict[str, str], option: Release | None, release: Release) -> None:
    source = SpoolSource(folder(tmp_path, files), release=option)
    assert source.open() == release
    source.close()


def test_a_release_too_old(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"is of release 10\.2; presman reads 11.2 and later"):
        SpoolSource(folder(tmp_path, {"v$instance.csv": "VERSION\n10.2.0.4.0\n"})).open()


def test_stand_ins(tmp_path: Path) -> None:
    found = only(
        tmp_path,
        {
            "v$instance.csv": "VERSION\n19.0.0.0.0\n",
            "v$event_histogram.csv": "EVENT,WAIT_TIME_MILLI,WAIT_COUNT\nlog file sync,2,5\n",
            "v$parameter.csv": "NAME,VALUE\ncpu_count,16\n",
            "dba_rsrc_plan_directives.csv": "PLAN,GROUP_OR_SUBPLAN,MAX_UTILIZATION_LIMIT,PARALLEL_TARGET_PERCENTAGE\n"
            "P,G,60,50\n",
        },
    )
    assert found.rows(Instance)[0].version == "19.0.0.0.0"
    assert found.rows(EventHistogram) == (EventHistogram(1, "log file sync", 2000, 5),)
    assert [(row.name, row.value) for row in found.rows(Parameter)] == [("cpu_count", "16")]
    directive = found.rows(PlanDirective)[0]
    assert (directive.utilization_limit, directive.parallel_server_limit) == (60, 50)


def test_columns_younger_than_the_release_do_no_harm(tmp_path: Path) -> None:
    found = only(
        tmp_path,
        {
            "v$instance.csv": "VERSION,CON_ID\n11.2.0.4.0,0\n",
            "v$pdbs.csv": "CON_ID,NAME\n3,P\n",
            "v$session.csv": "SID,CON_ID\n1,3\n",
            "dba_rsrc_plans.csv": "COMMENTS\nx\n",
        },
    )
    assert found.rows(Session)[0].con_id == 0


def test_texts_and_plans_of_the_statements_shown(tmp_path: Path) -> None:
    found = only(
        tmp_path,
        {
            "v$session.csv": "SID,SQL_ID,SQL_CHILD_NUMBER,EVENT\n1,abc,0,resmgr:pq queued\n2,serial,0,x\n",
            "v$sql.csv": 'SQL_ID,CHILD_NUMBER,SQL_TEXT\nabc,0,"select ""x"",\n 1 from t"\nserial,0,select 2\n',
            "v$sql_plan.csv": 'SQL_ID,CHILD_NUMBER,OTHER_XML\nabc,0,"<other_xml/>"\nabc,0,\n',
        },
    )
    assert [row.sql_text for row in found.rows(SqlText)] == ['select "x",\n 1 from t']
    assert [row.other_xml for row in found.rows(PlanXml)] == ["<other_xml/>"]


# -- instants ---------------------------------------------------------------------------------------------------


def test_sample_times_make_instants(tmp_path: Path) -> None:
    found = snapshots(
        folder(
            tmp_path,
            {
                "v$session.csv": "SAMPLE_TIME,SID\n2026-11-21 10:00:10,2\n2026-11-21 10:00:00,1\n2026-11-21 10:00,3\n",
                "v$px_session.csv": "sample_time,sid,qcsid\n2026-11-21 10:00:01.5,9,1\n",
                "v$osstat.csv": "STAT_NAME,VALUE\nNUM_CPUS,8\n",
            },
        )
    )
    assert [each.at.strftime("%H:%M:%S") for each in found] == ["10:00:00", "10:00:10"]
    assert [[row.sid for row in each.rows(Session)] for each in found] == [[1, 3], [2]]
    # The view has a time in the first pass and none in the second, so its rows in the second are not known.
    assert [[row.sid for row in each.rows(PxSession)] for each in found] == [[9], []]
    assert [each.section(PxSession).absent >= set(PxSession._fields) for each in found] == [False, True]
    assert [each.rows(Osstat)[0].value for each in found] == [8.0, 8.0]
    assert [each.number for each in found] == [1, 2]
    assert {each.epoch for each in found} == {1}


def test_a_statement_that_has_ended_does_not_run_on(tmp_path: Path) -> None:
    """Its servers are only in the first sample; its coordinator is idle in the second, and holds nothing."""
    first, second = "2026-11-21 10:00:00", "2026-11-21 10:00:10"
    session = "9md3ukhghgj58,resmgr,WAITING"
    found = snapshots(
        folder(
            tmp_path,
            {
                "v$session.csv": "SAMPLE_TIME,SID,SERIAL#,STATUS,SQL_ID,EVENT,STATE\n"
                f"{first},526,7,ACTIVE,{session}\n{second},526,7,INACTIVE,{session}\n",
                "v$px_session.csv": "SAMPLE_TIME,SID,QCSID,QCSERIAL#,QCINST_ID,DEGREE\n"
                f"{first},31,526,7,1,2\n{first},32,526,7,1,2\n",
                "dba_rsrc_plans.csv": f"SAMPLE_TIME,PLAN\n{first},DAY\n",
            },
        )
    )
    readings = [analyse(before, now) for before, now in zip([None, *found], found, strict=False)]
    assert [[each.servers for each in reading.running] for reading in readings] == [[2], []]
    assert [[row.plan for row in each.rows(Plan)] for each in found] == [["DAY"], ["DAY"]]  # a plan lasts


def test_a_view_is_not_known_before_its_first_sample(tmp_path: Path) -> None:
    late = (datetime(2026, 11, 21, tzinfo=UTC) + 2 * TOGETHER).isoformat()
    found = snapshots(
        folder(
            tmp_path,
            {
                "v$session.csv": f"SAMPLE_TIME,SID\n2026-11-21,1\n{late},2\n",
                "v$px_session.csv": f"SAMPLE_TIME,SID,QCSID\n{late},9,1\n",
            },
        )
    )
    assert [len(each.rows(PxSession)) for each in found] == [0, 1]
    assert [each.section(PxSession).absent >= set(PxSession._fields) for each in found] == [True, False]


def test_minute_queries_see_the_instant_they_belong_to(tmp_path: Path) -> None:
    files = {
        "gv$rsrcmgrmetric.csv": "SAMPLE_TIME,CPU_CONSUMED_TIME\n"
        + "".join(f"2026-11-21 10:{minute:02}:00,{minute}\n" for minute in (0, 10, 20))
    }
    found = snapshots(folder(tmp_path, files))
    assert [each.rows(GroupMetric)[0].cpu_consumed_time for each in found] == [0, 10, 20]


def test_dates_are_of_the_zone_of_the_sample_times(tmp_path: Path) -> None:
    text = "SAMPLE_TIME,SID,LOGON_TIME\n2026-11-21 10:00:00 +01:00,1,21-NOV-26 09:00:00\n"
    found = only(tmp_path, {"v$session.csv": text})
    assert found.at == datetime(2026, 11, 21, 9, tzinfo=UTC)
    assert found.rows(Session)[0].logon_time == datetime(2026, 11, 21, 8, tzinfo=UTC)


def test_dates_are_of_the_zone_that_is_given(tmp_path: Path) -> None:
    text = "SAMPLE_TIME,SID,LOGON_TIME\n21.11.2026 10:00:00,1,21.11.2026 09:00:00\n"
    found = only(tmp_path, {"v$session.csv": text}, zone=timezone(timedelta(hours=-5)))
    assert found.at == datetime(2026, 11, 21, 15, tzinfo=UTC)
    assert found.rows(Session)[0].logon_time == datetime(2026, 11, 21, 14, tzinfo=UTC)


def test_an_hour_that_occurs_twice_goes_on_as_the_rows_do(tmp_path: Path) -> None:
    """The clocks of Vienna went back from 03:00 to 02:00 at 01:00 UTC."""
    vienna = parse_zone("Europe/Vienna")

    def times(*clocks: str) -> list[str]:
        rows = "".join(f"2026-10-25 {each},1\n" for each in clocks)
        polls = snapshots(folder(tmp_path, {"v$session.csv": f"SAMPLE_TIME,SID\n{rows}"}), zone=vienna)
        is_told = any(" occurs twice in Europe/Vienna: its clocks went back" in note for note in polls[0].notes)
        assert is_told is any(each.startswith("02:") for each in clocks)
        return [f"{poll.at:%H:%M}" for poll in polls]

    assert times("01:55", "02:55", "02:55", "02:05", "02:06", "03:07") == ["23:55", "00:55", "01:05", "01:06", "02:07"]
    assert times("02:10", "02:20") == ["00:10", "00:20"]
    assert times("03:10", "02:55", "02:05") == ["00:05", "00:55", "02:10"], "rows in no order prove nothing"
    assert times("03:10", "03:20") == ["02:10", "02:20"]


def test_without_sample_times_the_instant_is_when_it_was_written(tmp_path: Path) -> None:
    import os

    folder(tmp_path, {"v$session.csv": "SID\n1\n", "v$osstat.csv": "VALUE\n1\n"})
    os.utime(tmp_path / "v$session.csv", (1_700_000_000, 1_700_000_000))
    os.utime(tmp_path / "v$osstat.csv", (1_600_000_000, 1_600_000_000))
    assert snapshots(tmp_path)[0].at.timestamp() == 1_700_000_000


def test_opened_again_it_begins_again(tmp_path: Path) -> None:
    source = SpoolSource(folder(tmp_path, {"v$session.csv": "SID\n1\n"}))
    for _ in range(2):
        source.open()
        source.advance()
        with pytest.raises(Exhausted):
            source.advance()
    source.close()
    with pytest.raises(SourceError):
        source.read([])


def test_lines_are_not_in_memory_twice(tmp_path: Path) -> None:
    """An hour of a large database has 900,000 lines, which once took 830 MB."""
    many = 6_000
    head = "SAMPLE_TIME,INST_ID,SID,SERIAL#,USERNAME,STATUS,PROGRAM,MACHINE\n"
    lines = (
        f"2026-11-26 10:{number // 1000:02d}:00,1,{number % 1000},7,U{number % 50},INACTIVE,sqlplus@host (V1-V3),host\n"
        for number in range(many)
    )
    (tmp_path / "gv_session.csv").write_text(head + "".join(lines))
    source = SpoolSource(tmp_path)
    source.open()  # so that imports and files that are read once do not count
    tracemalloc.start()
    try:
        source.open()
        left, most = (each / many for each in tracemalloc.get_traced_memory())
    finally:
        tracemalloc.stop()
    assert (left < 150, most < 420) == (True, True), (left, most)


# -- what the tools write ---------------------------------------------------------------------------------------

SQLPLUS = """\
SQL> select sid, username, logon_time
  2  from v$session;

"SID","USERNAME","LOGON_TIME"
1,"ANNA, B","21-NOV-26"

"SID","USERNAME","LOGON_TIME"
2,,"22-NOV-26"

2 rows selected.

Elapsed: 00:00:00.01
SQL> spool off
"""


@pytest.mark.parametrize(
    "text",
    [
        SQLPLUS,
        SQLPLUS.replace("\n", "\r\n"),
        "\ufeff" + SQLPLUS,
        SQLPLUS.replace("2 rows selected.", "2 Zeilen ausgewählt."),
        SQLPLUS.replace('"', "").replace("ANNA, B", '"ANNA, B"'),
        'SID;USERNAME;LOGON_TIME\n   1;ANNA, B;21.11.2026\n   2;"";22.11.2026\n',
        "SID\tUSERNAME\tLOGON_TIME\n1\tANNA, B\t2026-11-21\n2\t\t2026-11-22T00:00:00Z\n",
    ],
)
def test_forms_of_the_tools(tmp_path: Path, text: str) -> None:
    found = only(tmp_path, {"v$session.csv": text}).rows(Session)
    assert [(row.sid, row.username) for row in found] == [(1, "ANNA, B"), (2, "")]
    assert [row.logon_time for row in found] == [datetime(2026, 11, day, tzinfo=UTC) for day in (21, 22)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    found = only(tmp_path, {"v$session.csv": "SID,USERNAME\n1,JÜRGEN\n".encode(encoding)})
    assert found.rows(Session)[0].username == "JÜRGEN"


def test_one_column_and_chatter(tmp_path: Path) -> None:
    found = only(tmp_path, {"v$session.csv": "\nSID\n\n12\n13\n\n2 rows selected.\n\nSQL> spool off\n"})
    assert [row.sid for row in found.rows(Session)] == [12, 13]


def test_numbers_with_commas_all_over_the_folder(tmp_path: Path) -> None:
    found = only(
        tmp_path,
        {
            "v$osstat.csv": 'STAT_NAME;VALUE\nLOAD;"1,234"\n',
            "v$rsrcmgrmetric.csv": "CONSUMER_GROUP_NAME;RUNNING_SESSIONS_LIMIT;CPU_CONSUMED_TIME\nG;0,25;1.234.567\n",
        },
    )
    assert found.rows(Osstat)[0].value == 1.234
    metric = found.rows(GroupMetric)[0]
    assert (metric.running_sessions_limit, metric.cpu_consumed_time) == (0.25, 1234567)


def test_an_ambiguous_comma_separates_thousands_of_whole_numbers(tmp_path: Path) -> None:
    found = only(
        tmp_path,
        {
            "v$osstat.csv": "STAT_NAME;VALUE\nLOAD;1,234\n",
            "v$rsrc_consumer_group.csv": "NAME;REQUESTS\nG;1,234\n",
        },
    )
    assert (found.rows(Osstat)[0].value, found.rows(ConsumerGroup)[0].requests) == (1.234, 1234)


def test_hostile_text_is_made_visible(tmp_path: Path) -> None:
    found = only(tmp_path, {"v$session.csv": b"SID,PROGRAM\n1,\x1b]0;owned\x07\n"})
    assert found.rows(Session)[0].program == "␛]0;owned␇"


def test_counters_beyond_64_bits(tmp_path: Path) -> None:
    found = only(tmp_path, {"v$rsrc_consumer_group.csv": "NAME,REQUESTS\nG,18446744073709551615\n"})
    assert found.rows(ConsumerGroup)[0].requests == int(1.8446744073709552e19)


ERRORS = """\
SELECT sid
*
ERROR at line 1:
ORA-00942: table or view does not exist
"""


def test_a_spooled_error_is_the_problem_of_its_section(tmp_path: Path) -> None:
    found = snapshots(folder(tmp_path, {"v$session.csv": ERRORS, "v$osstat.csv": "VALUE\n1\n"}))[0]
    problem = found.problems()[Session]
    assert (problem.code, problem.text, problem.view) == ("ORA-00942", "table or view does not exist", "V$SESSION")
    assert set(found.problems()) == {Session, SessionCount}
    assert [trouble.query for trouble in analyse(None, found).troubles] == ["session"], "reported once"


def test_an_error_between_rows_leaves_the_rows(tmp_path: Path) -> None:
    found = only(tmp_path, {"v$session.csv": f"SID,USERNAME\n1,A\n{ERRORS}\nSID,USERNAME\n2,B\n"})
    assert [row.sid for row in found.rows(Session)] == [1, 2]


@pytest.mark.parametrize("text", ["", "\n\n", "SQL> select 1;\n\nno rows selected\n"])
def test_files_without_rows(tmp_path: Path, text: str) -> None:
    found = only(tmp_path, {"v$session.csv": text, "v$osstat.csv": "VALUE\n1\n"})
    assert found.section(Session) == Section(at=found.at, absent=frozenset(Session._fields))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"v$session.csv": "SID,USERNAME\n1,A\n2\n"}, "v$session.csv, line 3: 1 fields where the header has 2: 2"),
        ({"v$session.csv": "SID\nx\n"}, "v$session.csv, line 2: SID: 'x' is not a number"),
        ({"v$session.csv": "SID,LOGON_TIME\n1,soon\n"}, "v$session.csv, line 2: LOGON_TIME: 'soon' is not a date"),
        ({"v$session.csv": "\n\nA,B\n1,2\n"}, "v$session.csv, line 3: not a header: it names no column of the view"),
        ({"v$session.csv": "SID,sid\n1,2\n"}, "v$session.csv, line 1: column SID appears twice"),
        ({"v$session.csv": 'SID,USERNAME\n1,"A\n'}, "v$session.csv, line 2: unexpected end of data"),
        ({"v$session.csv": "SID,SAMPLE_TIME\n1,\n"}, "v$session.csv, line 2: sample_time is empty"),
        ({"v$session.csv": 'SID,PROGRAM\n1,"a\nb"\nx,c\n'}, "v$session.csv, line 4: SID: 'x' is not a number"),
        ({"v$session.csv": "SID\n1\n", "V_SESSION.csv": "SID\n1\n"}, "V_SESSION.csv and v$session.csv are both"),
        ({"x.txt": ""}, "has no CSV file named after a view"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path: Path, files: dict[str, str], message: str) -> None:
    assert message in refusal(tmp_path, files)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=80),
        st.text(alphabet="SID,SERIAL#USERNAME;\t\"'\n\r\u2028\0\x0c 0123.-x", max_size=80).map(str.encode),
    )
)
def test_any_file_is_read_or_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "v$osstat.csv").write_text("STAT_NAME,VALUE\nNUM_CPUS,1\n")
    for text in (data, b"SID,USERNAME,LOGON_TIME\n" + data):
        (tmp_path / "v$session.csv").write_bytes(text)
        try:
            (found,) = snapshots(tmp_path)
        except SourceError as error:
            assert str(tmp_path / "v$session.csv") in str(error)  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
        else:
            assert found.rows(Osstat)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"cannot read .*nowhere: No such file"):
        SpoolSource(tmp_path / "nowhere").open()


def test_a_file_that_would_take_gigabytes_of_memory_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "v$version.csv").open("wb") as file:
        file.truncate(256 << 20)  # a sparse file
    message = refusal(tmp_path, {})
    assert message.endswith("v$version.csv has 256 MB; presman reads files below 256 MB: split it")


def test_a_file_of_more_lines_than_memory_holds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten million rows of commas, 80 MB, took 3.8 GB."""
    monkeypatch.setattr(spool_file, "MOST_LINES", 3)
    (tmp_path / "v$session.csv").write_text("sid,username\n" + "1,A\n" * 2)
    SpoolSource(tmp_path).open()
    (tmp_path / "v$session.csv").write_text("sid,username\n" + "1,A\n" * 3)
    with pytest.raises(SourceError, match="has 4 lines; presman reads files of 3 at most: split it"):
        SpoolSource(tmp_path).open()


def test_files_of_more_lines_together_than_memory_holds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_file, "MOST_LINES", 3)
    (tmp_path / "v$session.csv").write_text("sid,username\n" + "1,A\n" * 2)
    (tmp_path / "v$px_session.csv").write_text("sid\n1\n")
    SpoolSource(tmp_path).open()
    (tmp_path / "v$px_session.csv").write_text("sid\n1\n2\n")
    with pytest.raises(SourceError, match="has more than 3 lines in its files, which presman reads at most: split it"):
        SpoolSource(tmp_path).open()


def test_file_names_are_cleaned_and_only_a_few_are_listed(tmp_path: Path) -> None:
    (tmp_path / "v$session.csv").write_text("sid\n1\n")
    (tmp_path / "a\x1b]0;x\x07.csv").write_text("")
    for number in range(30):
        (tmp_path / f"b{number:02}.csv").write_text("")
    source = SpoolSource(tmp_path)
    source.open()
    assert source.notes[0] == "a␛]0;x␇.csv: not used: no view of this name is read"
    assert len(source.notes) == 21
    assert source.notes[-1] == "11 more files not used"


@pytest.mark.parametrize("kind", ["link to an endless device", "pipe that nobody writes to"])
def test_only_plain_files_are_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "v$session.csv"
    if kind.startswith("link"):
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)
    with pytest.raises(SourceError, match=r"v\$session.csv: it is not a regular file$"):
        SpoolSource(tmp_path).open()


def test_a_line_that_sqlplus_cannot_have_written_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    content = b"sid\n1\n" + b"sid," * (256 * 1024) + b"x\n"
    (tmp_path / "v$session.csv").write_bytes(content)
    with pytest.raises(SourceError, match=r"has a line of more than 1 MB: that is not a spool$"):
        SpoolSource(tmp_path).open()


@pytest.mark.parametrize(("before", "longest", "after", "is_read"), [
    (0, 1 << 20, 0, True), (0, (1 << 20) + 1, 0, False), (3, 1 << 20, 5, True), (1 << 20, (1 << 20) + 1, 9, False),
])  # fmt: skip
def test_a_line_may_have_a_megabyte_wherever_it_stands(before: int, longest: int, after: int, is_read: bool) -> None:
    assert has_short_lines(b"\n".join([b"x" * before, b"x" * longest, b"x" * after])) is is_read
