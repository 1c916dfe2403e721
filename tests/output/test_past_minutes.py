"""The last hour from V$RSRCMGRMETRIC_HISTORY in the columns of the measures, and what is missing."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import pytest

from presman.output.csv_export import CsvExport, PastMinute, empty_columns, past_minutes, within
from presman.rows.group_rows import GroupMetricHistory
from presman.rows.instance_rows import Database
from tests.analysis.make import NOON, row, snapshot


def minute(ago: int, group: str = "ETL", **values: Any) -> GroupMetricHistory:
    given: dict[str, Any] = {"end_time": NOON - timedelta(minutes=ago), "intsize_csec": 6005}
    return row(GroupMetricHistory, consumer_group_name=group, **(given | values))


def found(measure: str, *rows: GroupMetricHistory) -> list[PastMinute]:
    return list(past_minutes(snapshot(row(Database, name="PROD"), *rows), measure))


def written(
    measure: str, *rows: GroupMetricHistory, layout: Any = "tidy", column: str | None = None
) -> list[list[str]]:
    text = io.StringIO()
    file = CsvExport(text, measure, layout, column=column)
    for each in found(measure, *rows):
        file.write_past(each)
    return list(csv.reader(io.StringIO(text.getvalue())))


def as_dict(lines: list[list[str]], line: int = 1) -> dict[str, str]:
    return {key: value for key, value in zip(lines[0], lines[line], strict=True) if value}


def test_cpu_has_used_and_waited_cpus_and_other_columns_are_empty() -> None:
    """1.5 CPUs used and 0.5 waited for: a quarter of what was wanted, throttled."""
    lines = written("cpu", minute(1, con_id=3, avg_running_sessions=1.5, avg_waiting_sessions=0.5))
    ended = (NOON - timedelta(minutes=1)).astimezone().isoformat(timespec="milliseconds")
    assert as_dict(lines) == {
        "time": ended, "database": "PROD", "interval_s": "60.05", "inst_id": "1", "con_id": "3",
        "consumer_group": "ETL", "used_cpus": "1.5", "waited_cpus": "0.5", "throttled_percent": "25",
    }  # fmt: skip


def test_megabytes_are_by_the_second_of_their_interval() -> None:
    assert as_dict(written("session_io", minute(1, io_megabytes=240, intsize_csec=6000)))["io_mb_per_s"] == "4"


def test_further_columns_of_the_view_are_written_and_not_called_missing() -> None:
    """The group may use 12 of 48 CPUs; it used 6, an eighth of all. A limit of 48 is no limit."""
    columns = {"num_cpus": 48, "running_sessions_limit": 12.0, "avg_running_sessions": 6.0}
    cpu = as_dict(written("cpu", minute(1, **columns)))
    assert (cpu["capacity_cpus"], cpu["limit_cpus"], cpu["used_percent"]) == ("48", "12", "12.5")
    assert "limit_cpus" not in as_dict(written("cpu", minute(1, **columns | {"running_sessions_limit": 48.0})))
    assert not {"capacity_cpus", "limit_cpus", "used_percent"} & set(
        empty_columns("cpu", found("cpu", minute(1, **columns)))
    )
    assert as_dict(written("session_io", minute(1, io_requests=600, intsize_csec=6000)))["io_requests_per_s"] == "10"
    assert as_dict(written("parallel", minute(1, parallel_servers_limit=32)))["px_servers_limit"] == "32"
    two = [minute(1, inst_id=inst, parallel_servers_limit=32) for inst in (1, 2)]
    assert "px_servers_limit" in empty_columns("parallel", found("parallel", *two)), "its instance is not documented"


def test_columns_a_release_lacks_are_empty_and_not_zero() -> None:
    known = minute(1, avg_active_parallel_stmts=2.0, avg_active_parallel_servers=12.5, avg_queued_parallel_stmts=0.0)
    values = as_dict(written("parallel", known))
    columns = ("px_statements_active", "px_servers_active", "px_statements_queued")
    assert [values[each] for each in columns] == ["2", "12.5", "0"]
    assert not as_dict(written("parallel", minute(1))).keys() & set(columns), "as before 12.1"


def test_minutes_come_in_order_with_the_instances_and_groups_of_each() -> None:
    rows = [minute(ago, group, inst_id=inst) for ago in (1, 3) for group in ("WEB", "ETL") for inst in (2, 1)]
    minutes = found("cpu", *rows)
    assert [each.at for each in minutes] == [NOON - timedelta(minutes=3), NOON - timedelta(minutes=1)]
    assert [(each["inst_id"], each["consumer_group"]) for each in minutes[0].rows] == [
        (1, "ETL"), (1, "WEB"), (2, "ETL"), (2, "WEB"),
    ]  # fmt: skip


def test_a_wide_file_has_a_column_for_each_group() -> None:
    rows = [minute(ago, group, avg_waiting_sessions=float(ago)) for ago in (2, 1) for group in ("ETL", "WEB")]
    assert [line[1:] for line in written("cpu", *rows, layout="wide", column="waited_cpus")] == [
        ["ETL", "WEB"], ["2", "2"], ["1", "1"],
    ]  # fmt: skip
    assert [line[1:] for line in written("cpu", minute(1), layout="wide", column="entitled_cpus")] == [["ETL"], [""]]


def test_intervals_without_length_or_end_are_omitted() -> None:
    assert found("cpu", minute(1, intsize_csec=0), minute(1, end_time=None)) == []


def test_a_window_has_the_intervals_that_ended_in_it() -> None:
    minutes = found("cpu", *(minute(ago) for ago in range(1, 6)))
    start, end = NOON - timedelta(minutes=4), NOON - timedelta(minutes=2)
    assert [(NOON - each.at) // timedelta(minutes=1) for each in within(minutes, start, end)] == [4, 3, 2]
    assert within(minutes, None, None) == minutes


@pytest.mark.parametrize(
    ("measure", "lacks"), [("cpu", "verdict"), ("session_io", "service_ms"), ("parallel", "head_waited_s")]
)
def test_empty_columns_are_named(measure: str, lacks: str) -> None:
    columns = empty_columns(measure, found(measure, minute(1)))
    assert lacks in columns
    assert not {"time", "database", "interval_s", "consumer_group"} & set(columns)
