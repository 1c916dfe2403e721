"""Forms of spools, as tools write them: read correctly, or refused in one line with file, line and remedy."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from presman.rows.group_rows import RsrcPlan
from presman.rows.session_rows import PxSession, Session
from presman.rows.snapshot import Snapshot
from presman.sources.spool.spool_source import SpoolSource
from tests.sources.test_spool import folder, only, refusal, snapshots
from tests.yardstick import cost

HEADS = (("SID", 10, "number"), ("SERIAL#", 10, "number"), ("USERNAME", 12, "text"), ("EVENT", 24, "text"))


def sqlplus(rows: Sequence[Sequence[object]], colsep: str = " ", *, page: int = 50_000) -> str:
    """Return rows as SQL*Plus prints them without MARKUP CSV: fixed columns, heads over dashes on every page."""

    def line(fields: Sequence[object]) -> str:
        cells = [
            str(field).rjust(width) if kind == "number" else str(field)[:width].ljust(width)
            for field, (_, width, kind) in zip(fields, HEADS, strict=True)
        ]
        return colsep.join(cells).rstrip()

    head = [line([name for name, _, _ in HEADS]), colsep.join("-" * width for _, width, _ in HEADS)]
    pages = [rows[place : place + page] for place in range(0, len(rows), page)] or [[]]
    parts = ["\n".join(["", *head, *map(line, part)]) for part in pages]
    return "\n".join(parts) + f"\n\n{len(rows)} rows selected.\n\n"


ROWS = ((526, 7, "ANNA, B", "resmgr:pq queued"), (6, 12, "", "db file sequential read"), (7, 1, "X", "on|bar;"))


def seen(found: Snapshot) -> list[tuple[object, ...]]:
    return [(row.sid, row.serial, row.username, row.event) for row in found.rows(Session)]


@pytest.mark.parametrize("colsep", [" ", ",", "|", ";", "\t", " | "])
@pytest.mark.parametrize("page", [2, 50_000])
def test_fixed_columns_are_cut_where_the_dashes_stand(tmp_path: Path, colsep: str, page: int) -> None:
    """Releases before 12.2 have no MARKUP CSV. No line of dashes becomes a session, and commas do not split texts."""
    text = (
        f'SP2-0158: unknown MARKUP option "csv"\nUsage: SET MARK[UP] HTML [ON|OFF]\n{sqlplus(ROWS, colsep, page=page)}'
    )
    assert seen(only(tmp_path, {"v$session.csv": text})) == list(ROWS)


def test_samples_that_were_appended_may_have_other_widths(tmp_path: Path) -> None:
    text = (
        "SAMPLE_TIME                SID USERNAME\n------------------- ---------- --------\n"
        "2026-11-21 10:00:00          1 ANNA\n\n"
        "SAMPLE_TIME                SID USERNAME\n------------------- ---------- ------------\n"
        "2026-11-21 10:00:10          2 BERTHOLD_XII\n\n2 rows selected.\n"
    )
    found = snapshots(folder(tmp_path, {"v$session.csv": text}))
    assert [[row.username for row in each.rows(Session)] for each in found] == [["ANNA"], ["BERTHOLD_XII"]]


def test_headings_cut_at_the_width_of_their_columns(tmp_path: Path) -> None:
    """CPU_MANAGED and INSTANCE_CAGING are VARCHAR2(3), IS_TOP_PLAN VARCHAR2(5): SQL*Plus cuts the heads."""
    text = "NAME         IS_TO CPU INS PARALLEL_SERVERS_TOTAL\n" + "------------ ----- --- --- ----------------------\n"
    found = only(tmp_path, {"v$rsrc_plan.csv": f"{text}DAYTIME      TRUE  ON  OFF                    128\n"})
    (plan,) = found.rows(RsrcPlan)
    assert (plan.name, plan.is_top_plan, plan.cpu_managed) == ("DAYTIME", "TRUE", "ON")
    assert (plan.instance_caging, plan.parallel_servers_total) == ("OFF", 128)


def test_a_text_that_continues_in_the_next_line(tmp_path: Path) -> None:
    text = (
        "       SID PROGRAM    STATUS\n---------- ---------- --------\n         1 sqlplus@ho ACTIVE\n           st99\n"
    )
    found = only(tmp_path, {"v$session.csv": text})
    assert [(row.sid, row.program, row.status) for row in found.rows(Session)] == [(1, "sqlplus@host99", "ACTIVE")]


def test_a_sample_of_an_empty_view_is_no_rest_of_the_row_above(tmp_path: Path) -> None:
    """`collect` marks a sample without rows by a row with only its time."""
    head = "SAMPLE_TIME                SID      QCSID\n------------------- ---------- ----------\n"
    text = f"{head}2026-11-21 10:00:00          9          1\n{head}2026-11-21 10:00:10\n2026-11-21 10:00:20\n"
    sessions = "SAMPLE_TIME,SID\n" + "".join(f"2026-11-21 10:00:{second},1\n" for second in ("00", "10", "20"))
    found = snapshots(folder(tmp_path, {"v$px_session.csv": text, "v$session.csv": sessions}))
    assert [[row.sid for row in each.rows(PxSession)] for each in found] == [[9], [], []]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (  # linesize too small: the other columns are below
            "       SID USERNAME\n---------- --------\nSTATUS\n--------\n         1 ANNA\nACTIVE\n",
            "line 3: a second header with other columns (are the lines wrapped? SET LINESIZE 32767)",
        ),
        (
            "       SID USERNAME STATUS\n---------- -------- --------\n         1 BERTHOLDINA ACTIVE\n",
            "line 3: fields are not below their heads: spool with SET MARKUP CSV ON",
        ),
        ("1,ANNA\n2,EMIL\n", "line 1: not a header: it names no column of the view: SET PAGESIZE 50000 prints one"),
        ("SIDD,USERNAMES\n1,A\n", "line 1: not a header: it names no column of the view: SIDD (did you mean SID?)"),
        (
            "SID\n########\n",
            "line 2: SID: '########' is not a number: the column was too narrow for it (SET NUMWIDTH 38)",
        ),
        ("SID\n1e400\n", "line 2: SID: '1e400' is larger than any number of Oracle's"),
        ("SID\n" + "9" * 400 + "\n", "is larger than any number of Oracle's"),
        (
            "SID,WAIT_TIME_MICRO,STATE\n1,0,5,WAITING\n",
            "line 2: 4 fields where the header has 3: 1,0,5,WAITING "
            "(if that is a decimal comma: ALTER SESSION SET NLS_NUMERIC_CHARACTERS = '.,')",
        ),
        (
            "SID,WAIT_TIME_MICRO,STATE\n1,,5,WAITING\n",
            "(if that is a decimal comma: ALTER SESSION SET NLS_NUMERIC_CHARACTERS = '.,')",
        ),
        (
            "SID,PROGRAM\n1,a,b\n",
            "3 fields where the header has 2: 1,a,b (if a text has a ',' in it: SET MARKUP CSV ON",
        ),
        ("SID,PROGRAM\n1\n", "1 fields where the header has 2: 1 (if the line is wrapped: SET LINESIZE 32767)"),
    ],
)
def test_an_unreadable_file_is_refused_with_its_cure(tmp_path: Path, text: str, message: str) -> None:
    error = refusal(tmp_path, {"v$session.csv": text})
    assert error.startswith("v$session.csv, line ")
    assert message in error


def test_sqlcl(tmp_path: Path) -> None:
    """SET SQLFORMAT CSV: heads and texts in quotes, numbers without quotes, the count of rows without a full stop."""
    text = '\n"SID","USERNAME","LOGON_TIME"\n1,"ANNA ""B"", C",21-NOV-26\n2,"",22-NOV-26\n\n\n2 rows selected. \n\n'
    found = only(tmp_path, {"v$session.csv": text}).rows(Session)
    assert [(row.sid, row.username) for row in found] == [(1, 'ANNA "B", C'), (2, "")]
    assert [row.logon_time for row in found] == [datetime(2026, 11, day, tzinfo=UTC) for day in (21, 22)]


@pytest.mark.parametrize(
    "text", ["SID,QCSID\n", "       SID      QCSID\n---------- ----------\n", "no rows selected\n"]
)
def test_a_header_alone_is_an_empty_view(tmp_path: Path, text: str) -> None:
    found = only(tmp_path, {"v$px_session.csv": text, "v$session.csv": "SID\n1\n"})
    assert found.rows(PxSession) == ()
    assert ("sid" in found.section(PxSession).absent) == ("SID" not in text)


@pytest.mark.parametrize("error", ["SP2-0310: unable to open file", "ORA-12170: TNS:Connect timeout occurred"])
def test_an_error_in_place_of_rows_is_the_problem(tmp_path: Path, error: str) -> None:
    found = snapshots(folder(tmp_path, {"v$session.csv": f"{error}\n", "v$osstat.csv": "VALUE\n1\n"}))[0]
    problem = found.problems()[Session]
    assert f"{problem.code}: {problem.text}" == error


def notes(place: Path, encoding: str = "") -> tuple[str, ...]:
    source = SpoolSource(place, encoding=encoding)
    source.open()
    source.close()
    return source.notes


def test_an_assumed_encoding_is_noted(tmp_path: Path) -> None:
    korean = "SID,USERNAME\n1,홍길동\n".encode("euc-kr")
    place = folder(tmp_path, {"v$session.csv": korean})
    (note,) = notes(place)
    assert note.startswith("v$session.csv: not UTF-8: read as Windows-1252; it could be EUC-KR, ")
    assert "name the right one (?encoding=euc_kr)" in note
    assert notes(place, "euc-kr") == ()
    assert snapshots(place, encoding="euc-kr")[0].rows(Session)[0].username == "홍길동"
    assert notes(place, "ascii") == ("v$session.csv: 6 characters are not ascii",)
    western = folder(tmp_path, {"v$session.csv": "SID,USERNAME\n1,JÜRGEN\n".encode("cp1252")})
    assert notes(western) == (
        "v$session.csv: not UTF-8: read as Windows-1252; if it is another encoding, name it (?encoding=...)",
    )


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8"])
def test_unicode_without_a_mark_is_recognised_by_its_bytes(tmp_path: Path, encoding: str) -> None:
    place = folder(tmp_path, {"v$session.csv": "SID,USERNAME\n1,JÜRGEN\n".encode(encoding)})
    assert snapshots(place)[0].rows(Session)[0].username == "JÜRGEN"
    assert notes(place) == ()


def test_rounded_counters_are_reported(tmp_path: Path) -> None:
    """SET NUMWIDTH 10, the default: 12345678901 becomes 1.2346E+10, and the change between two polls is lost."""
    text = "NAME,CONSUMED_CPU_TIME,CPU_WAIT_TIME\nBATCH,1.2346E+10,7\n"
    assert notes(folder(tmp_path, {"v$rsrc_consumer_group.csv": text})) == (
        "v$rsrc_consumer_group.csv: rounded, so that no rate is made of them: CONSUMED_CPU_TIME (SET NUMWIDTH 38)",
    )


def test_a_local_name_with_instances_in_it_is_the_global_view(tmp_path: Path) -> None:
    place = folder(tmp_path, {"v_session.csv": "INST_ID,SID\n1,7\n2,7\n"})
    assert notes(place) == ()
    assert [(row.inst_id, row.sid) for row in snapshots(place)[0].rows(Session)] == [(1, 7), (2, 7)]


_NAME = st.text(st.characters(codec="ascii", categories=("Lu", "Ll", "Nd")), min_size=1, max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 10**9), _NAME, _NAME), max_size=6),
    st.sampled_from([" ", ",", "|", ";"]),
    st.integers(1, 4),
)
def test_every_form_says_the_same(
    tmp_path: Path, rows: list[tuple[int, int, str, str]], colsep: str, page: int
) -> None:
    csv = "".join(f'{sid},{serial},"{user}","{event}"\n' for sid, serial, user, event in rows)
    forms = [sqlplus(rows, colsep, page=page), f'"SID","SERIAL#","USERNAME","EVENT"\n{csv}']
    found = [seen(only(tmp_path, {"v$session.csv": text})) for text in forms]
    assert found[0] == found[1] == [tuple(row) for row in rows]


def test_twenty_thousand_rows(tmp_path: Path) -> None:
    """Ten samples of 2,000 sessions are opened in less than a second of CPU."""
    rows = [
        f'"{at}",{sid},{7 * sid},"U{sid % 50}","INACTIVE","Idle",{sid * sample}\n'
        for sample in range(10)
        for at in [f"2026-11-21 10:{sample // 6:02}:{sample % 6}0"]
        for sid in range(2000)
    ]
    heads = '"SAMPLE_TIME","SID","SERIAL#","USERNAME","STATUS","WAIT_CLASS","WAIT_TIME_MICRO"\n'
    folder(tmp_path, {"v_session.csv": heads + "".join(rows)})
    source = SpoolSource(tmp_path)
    took = cost(source.open)
    assert took < 40
    source.leave_only(1)
    source.advance()
    source.close()


def test_a_field_may_be_longer_than_python_reads_by_itself(tmp_path: Path) -> None:
    usual = csv.field_size_limit(1000)
    try:
        text = "SID,SERIAL#,USERNAME,EVENT\n1,7," + 2000 * "X" + ',"on,bar"\n'
        assert seen(only(tmp_path, {"v$session.csv": text})) == [(1, 7, 2000 * "X", "on,bar")]
    finally:
        csv.field_size_limit(usual)
