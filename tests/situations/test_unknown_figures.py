"""Figures that no view shows are not known, never 0; impossible ones are doubted, and no rule judges them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from presman.analysis.alerts.alert_rules import by_rules
from presman.analysis.groups.verdicts import explain
from presman.analysis.readings.group_readings import Verdict
from presman.analysis.readings.reading import Reading
from presman.output.alert_list import listed
from presman.output.json_document import assess, document
from presman.output.plugin_check import perfdata
from presman.output.text_report import servers
from presman.tabs.alerts import availability_notes
from presman.tabs.table_notes import verdict_lines
from tests.situations.spooled import RELEASE_19, reading, snapshots

SECONDS = 20


def polls(head: str, *rows: str) -> str:
    """A table of two polls 20 s apart: the first half of the rows is the first one's."""
    half = len(rows) // 2
    times = [f"2026-03-14 10:00:{SECONDS * (place >= half):02}" for place in range(len(rows))]
    stamped = [f"{row} | {time}" for row, time in zip(rows, times, strict=True)]
    return "\n".join([f"{head} | SAMPLE_TIME", *stamped])


def as_json(found: Reading) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(document(found), default=str))
    return content


# -- waits


def waited(folder: Path, head: str, *rows: str) -> dict[str, Any]:
    """The waits for 'direct path read' between two polls, as JSON has them."""
    found = reading(folder, {**RELEASE_19, "V$SYSTEM_EVENT": polls(head, *rows)})
    (wait,) = as_json(found)["waits"]
    return {name: wait[name] for name in ("sessions", "per_second", "mean_ms")}


EVENT = "direct path read | User I/O"


def test_waits_with_their_time(tmp_path: Path) -> None:
    head = "EVENT | WAIT_CLASS | TOTAL_WAITS | TIME_WAITED_MICRO"
    found = waited(tmp_path, head, f"{EVENT} | 100 | 5000000", f"{EVENT} | 500 | 7000000")
    # 400 waits and 2 s of waiting in 20 s: 20 waits a second, 5 ms each, a tenth of a session.
    assert found == {"sessions": 0.1, "per_second": 20.0, "mean_ms": 5.0}


def test_waits_without_the_column_of_their_time(tmp_path: Path) -> None:
    found = waited(tmp_path, "EVENT | WAIT_CLASS | TOTAL_WAITS", f"{EVENT} | 100", f"{EVENT} | 500")
    assert found == {"sessions": None, "per_second": 20.0, "mean_ms": None}


def test_a_time_that_is_null_or_rounded_is_that_of_one_event_alone(tmp_path: Path) -> None:
    other = "log file sync | Commit"
    for place, unknown in enumerate(("", "1.23450E+13")):
        (tmp_path / str(place)).mkdir()
        rows = (
            f"{EVENT} | 100 | {unknown}",
            f"{other} | 10 | 10000",
            f"{EVENT} | 500 | {unknown}",
            f"{other} | 30 | 50000",
        )
        table = polls("EVENT | WAIT_CLASS | TOTAL_WAITS | TIME_WAITED_MICRO", *rows)
        found = reading(tmp_path / str(place), {**RELEASE_19, "V$SYSTEM_EVENT": table})
        waits = {each.event: (each.sessions, each.per_second, each.mean_ms) for each in found.waits}
        # 20 commits of 2 ms each in 20 s.
        assert waits == {"direct path read": (None, 20.0, None), "log file sync": (0.002, 1.0, 2.0)}
        assert found.redo[0].sync_ms == 2.0
        assert found.since_startup[0].waits.keys() == {"Commit"}


def test_a_sessions_wait_is_that_of_its_row(tmp_path: Path) -> None:
    head, row = "SID | STATUS | EVENT | STATE | WAIT_CLASS", "7 | ACTIVE | direct path read | WAITING | User I/O"
    for place, (column, value, seconds) in enumerate(
        [("", "", None), (" | WAIT_TIME_MICRO", " | 2500000", 2.5), (" | SECONDS_IN_WAIT", " | 41", 41.0)]
    ):
        (tmp_path / str(place)).mkdir()
        found = reading(tmp_path / str(place), {"V$SESSION": f"{head}{column}\n{row}{value}"})
        assert [(each.waited, each.last_call) for each in found.sessions] == [(seconds, None)]


def test_a_wait_for_cpu_that_is_null_in_every_row_is_not_none(tmp_path: Path) -> None:
    """In 20 s BATCH used 2 CPUs; how much it waited is NULL."""
    views = {
        **RELEASE_19,
        "V$RSRC_PLAN": PLAN.format("ON"),
        "DBA_RSRC_PLAN_DIRECTIVES": DIRECTIVES,
        "V$OSSTAT": HOST,
        "V$RSRC_CONSUMER_GROUP": polls(GROUPS, "BATCH | 0 | ", "WEB | 0 | ", "BATCH | 40000 | ", "WEB | 0 | "),
    }
    found = reading(tmp_path, views)
    row = next(each for each in found.cluster_groups() if each.name == "BATCH")
    assert (row.used, row.waiting, row.verdict) == (2.0, None, Verdict.UNKNOWN)
    assert explain(row) == "Uses 2.0 of 16 CPUs; how long it waits for CPU is not known."


# -- servers, counters, performance data


def test_a_database_that_shows_only_its_name_has_no_figures(tmp_path: Path) -> None:
    found = reading(tmp_path, RELEASE_19)
    figures = dict(each.split("=") for each in perfdata(found, ()).split(" "))
    assert figures.pop("poll") != "U"
    assert {name: text.rstrip(";0") for name, text in figures.items()} == dict.fromkeys(figures, "U")
    head = as_json(found)["header"]
    assert head["servers"]["in_use"] is None
    assert [head["num_cpus"], *(each["num_cpus"] for each in head["instances"])] == [None, None]
    assert found.activity is None
    states = {line.split()[1]: line.split()[0] for line in listed((), found, ()).splitlines() if line[:1].islower()}
    seen_by = {"session_pool", "cpu_without_plan", "host_shared", "servers_at_maximum", "idle_holder", "downgrades"}
    assert {states[key] for key in seen_by} == {"unknown"}


def test_a_guarantee_of_an_unknown_number_of_cpus_is_not_known(tmp_path: Path) -> None:
    views = {**RELEASE_19, "V$RSRC_PLAN": PLAN.format("ON"), "DBA_RSRC_PLAN_DIRECTIVES": DIRECTIVES}
    found = reading(tmp_path, views)
    assert {row.guaranteed for row in found.cluster_groups()} == {None}
    (poll,) = snapshots(tmp_path, {})
    assert {line.guaranteed for line in assess(found, None, poll).plan.lines} == {None}


@pytest.mark.parametrize(
    ("views", "in_use", "available"),
    [
        ({"V$PX_PROCESS_SYSSTAT": "STATISTIC | VALUE\nServers In Use | 12\nServers Available | 4"}, 12, 4),
        ({"V$PX_PROCESS_SYSSTAT": "STATISTIC\nServers In Use\nServers Available"}, None, None),
        ({"V$PX_SESSION": "SID | QCSID | DEGREE\n11 | 10 | 2\n12 | 10 | 2\n10 | 10 | "}, 2, None),
        ({"V$PX_SESSION": "SID | QCSID | DEGREE"}, 0, None),
        ({"V$RSRC_PLAN": "NAME | IS_TOP_PLAN | PARALLEL_SERVERS_ACTIVE\nDAY | TRUE | 6"}, 6, None),
        ({"V$RSRC_PLAN": "NAME | IS_TOP_PLAN\nDAY | TRUE"}, None, None),
    ],
)
def test_servers_in_use_are_those_of_one_view(
    tmp_path: Path, views: dict[str, str], in_use: int | None, available: int | None
) -> None:
    servers = reading(tmp_path, {**RELEASE_19, **views}).header.servers
    assert (servers.in_use, servers.available) == (in_use, available)


def test_a_group_has_the_figures_of_its_view_and_of_sessions(tmp_path: Path) -> None:
    """CONSUMED_CPU_TIME alone was spooled; two sessions work, one of them in parallel, and one queues."""
    views = {
        "V$RSRC_CONSUMER_GROUP": "NAME | CONSUMED_CPU_TIME\nBATCH | 5000",
        "V$SESSION": "SID | STATUS | EVENT | STATE | RESOURCE_CONSUMER_GROUP\n"
        "10 | ACTIVE | PX Deq: Execute Reply | WAITING | BATCH\n"
        "20 | ACTIVE | direct path read | WAITED SHORT TIME | BATCH\n"
        "30 | ACTIVE | resmgr:pq queued | WAITING | BATCH",
        "V$PX_SESSION": "SID | QCSID | DEGREE\n11 | 10 | 2\n12 | 10 | 2\n10 | 10 | ",
    }
    (row,) = as_json(reading(tmp_path, views))["groups"]
    assert (row["active_sessions"], row["px_active"], row["px_servers"], row["px_queued"]) == (3, 1, 2, 1)
    assert (row["pool_queue_length"], row["execution_waiters"]) == (None, None)
    assert set(row["totals"].values()) == {None}
    assert {name for name, value in row["usage"].items() if value is not None} == {"cpu_ms"}


# -- figures that cannot be

PLAN = "NAME | IS_TOP_PLAN | CPU_MANAGED\nDAY | TRUE | {}"
DIRECTIVES = (
    "PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1\nDAY | BATCH | CONSUMER_GROUP | 30\nDAY | WEB | CONSUMER_GROUP | 50\n"
    "DAY | OTHER_GROUPS | CONSUMER_GROUP | 20"
)
HOST = "STAT_NAME | VALUE\nNUM_CPUS | 16"
GROUPS = "NAME | CONSUMED_CPU_TIME | CPU_WAIT_TIME"


def managed(folder: Path, before: tuple[str, str], after: tuple[str, str], managed: str = "ON") -> Reading:
    """BATCH and WEB on 16 CPUs at two polls, each with its CPU time and its CPU wait in milliseconds."""
    groups = polls(
        GROUPS,
        *(f"{name} | {each}" for pair in (before, after) for name, each in zip(("BATCH", "WEB"), pair, strict=True)),
    )
    return reading(
        folder,
        {
            **RELEASE_19,
            "V$RSRC_PLAN": PLAN.format(managed),
            "DBA_RSRC_PLAN_DIRECTIVES": DIRECTIVES,
            "V$OSSTAT": HOST,
            "V$RSRC_CONSUMER_GROUP": groups,
        },
    )


@pytest.mark.parametrize("is_managed", ["ON", "OFF"])
def test_42_of_16_cpus_are_judged_by_no_rule(tmp_path: Path, is_managed: str) -> None:
    # In 20 s BATCH used 2 CPUs and waited for 10, WEB used 40: 42 of 16.
    found = managed(tmp_path, ("0 | 0", "0 | 0"), ("40000 | 200000", "800000 | 0"), is_managed)
    rows = {row.name: row for row in found.cluster_groups() if row.used is not None}
    assert {name: (row.used, row.verdict, row.state.text) for name, row in rows.items()} == {
        "BATCH": (2.0, Verdict.UNKNOWN, "not judged"),
        "WEB": (40.0, Verdict.UNKNOWN, "not judged"),
    }
    assert by_rules(found) == []
    notes = " ".join(availability_notes(found))
    assert "a starved group (42 of 16 CPUs used is impossible)" in notes
    assert "no starved group" not in notes
    assert "cpu_used=U;" in perfdata(found, ())
    before, after = snapshots(tmp_path, {})
    assessed = assess(found, before, after)
    assert [each.sentence for each in assessed.conformance] == ["Not judged: 42 of 16 CPUs used is impossible."]
    assert {each.text for each in assessed.verdicts if each.group in rows} == {
        "Not judged: 42 of 16 CPUs used is impossible."
    }


def test_a_little_more_than_there_is_comes_from_when_counters_move(tmp_path: Path) -> None:
    # 17 of 16: counters move when a call or a slice ends.
    found = managed(tmp_path, ("0 | 0", "0 | 0"), ("40000 | 200000", "300000 | 0"))
    rows = {row.name: row for row in found.cluster_groups()}
    assert rows["BATCH"].verdict is Verdict.STARVED  # wants 12, is due 30 % of what was used: 5.1, gets 2
    assert rows["BATCH"].doubt == ""


@pytest.mark.parametrize("column", ["CONSUMED_CPU_TIME", "CPU_WAIT_TIME"])
def test_counters_that_were_rounded_make_no_rate(tmp_path: Path, column: str) -> None:
    """1.23450E+13 and 1.23460E+13: the difference of 10**9 ms in 20 s is nothing but the last digit that is left."""
    exact, rounded = (
        ("40000 | 200000", "1.23460E+13 | 0") if column == "CONSUMED_CPU_TIME" else ("40000 | 7", "9 | 1.2E+13")
    )
    before = ("0 | 0", "1.23450E+13 | 0" if column == "CONSUMED_CPU_TIME" else "0 | 1.1E+13")
    found = managed(tmp_path, before, (exact, rounded))
    rows = [row for row in found.cluster_groups() if row.name in {"BATCH", "WEB"}]
    assert {row.verdict for row in rows} == {Verdict.UNKNOWN}
    assert {row.state.text for row in rows} == {"not judged"}
    assert by_rules(found) == []
    why = f"GV$RSRC_CONSUMER_GROUP has {column} rounded (SET NUMWIDTH 38)"
    assert f"a starved group ({why})" in " ".join(availability_notes(found))
    assert {row.doubt for row in rows} == {why}
    assert any("v$rsrc_consumer_group.csv: rounded, so that no rate is made of them" in note for note in found.notes)


def test_only_rounded_statistics_are_lost(tmp_path: Path) -> None:
    serial = "Parallel operations downgraded to serial"
    table = polls("NAME | VALUE", f"{serial} | 7", "redo size | 1.2345E+13", f"{serial} | 9", "redo size | 1.2346E+13")
    found = reading(tmp_path, {**RELEASE_19, "V$SYSSTAT": table})
    assert [(each.name, each.total, each.delta) for each in found.downgrades] == [(serial, 9, 2)]
    assert found.redo == ()


def test_a_wait_of_hours_in_microseconds_is_known_well_enough(tmp_path: Path) -> None:
    """A gauge loses nothing that matters: 1.2346E+10 us are 3 h 25 min 46 s."""
    session = "SID | STATUS | EVENT | STATE | WAIT_TIME_MICRO\n7 | ACTIVE | resmgr:pq queued | WAITING | 1.2346E+10"
    found = reading(tmp_path, {"V$SESSION": session})
    assert [each.waited for each in found.queue] == [12346.0]


@pytest.mark.parametrize(("column", "is_known"), [(" | IO_SERVICE_TIME", True), ("", False)])
def test_the_time_of_an_io_request_is_not_zero_without_its_column(tmp_path: Path, column: str, is_known: bool) -> None:
    """In 20 s 200 requests took 800 ms."""
    kinds = [f"{size}_{what}" for size in ("SMALL", "LARGE") for what in (
        "READ_MEGABYTES", "WRITE_MEGABYTES", "READ_REQUESTS", "WRITE_REQUESTS",
    )]  # fmt: skip
    head = " | ".join(["NAME", *kinds]) + column
    rows = (f"BATCH | 0 | 0 | {n} | 0 | 0 | 0 | 0 | 0{f' | {4 * n}' if column else ''}" for n in (0, 200))
    found = reading(tmp_path, {**RELEASE_19, "V$RSRC_CONSUMER_GROUP": polls(head, *rows)})
    (row,) = found.cluster_groups()
    assert row.io is not None
    assert row.io.requests == 10.0
    assert row.io.service_ms == (4.0 if is_known else None)


def test_a_group_queues_as_many_as_are_listed(tmp_path: Path) -> None:
    """V$RSRC_CONSUMER_GROUP, which is not read at the same instant, counts none."""
    views = {
        **RELEASE_19,
        "V$SESSION": "SID | STATUS | EVENT | STATE | WAIT_TIME_MICRO | RESOURCE_CONSUMER_GROUP\n"
        "7 | ACTIVE | resmgr:pq queued | WAITING | 61000000 | BATCH",
        "V$RSRC_CONSUMER_GROUP": "NAME | ACTIVE_SESSIONS | CURRENT_PQS_QUEUED\nBATCH | 1 | 0",
    }
    (row,) = reading(tmp_path, views).cluster_groups()
    assert (row.px_queued, row.head_waited) == (1, 61.0)
    assert "1 queued 1:01" in row.state.text


def test_servers_that_count_against_the_target_are_told_if_they_are_not_those_in_use(tmp_path: Path) -> None:
    views = {
        **RELEASE_19,
        "V$RSRC_PLAN": "NAME | IS_TOP_PLAN | PARALLEL_SERVERS_ACTIVE | PARALLEL_SERVERS_TOTAL\nDAY | TRUE | 56 | 64",
        "V$PX_PROCESS_SYSSTAT": "STATISTIC | VALUE\nServers In Use | 32",
    }
    found = reading(tmp_path, views)
    assert servers(found).startswith("servers 32 in use of target 64 (56 count against it), max")
    equal = views | {"V$PX_PROCESS_SYSSTAT": "STATISTIC | VALUE\nServers In Use | 56"}
    assert servers(reading(tmp_path, equal)).startswith("servers 56 in use of target 64, max")


def test_every_group_means_every_known_group(tmp_path: Path) -> None:
    """In 20 s BATCH used 2 CPUs and waited for none; TOOLS, which the plan does not name, used 1 and waited for 3."""
    before, after = ("BATCH | 0 | 0", "TOOLS | 0 | 0"), ("BATCH | 40000 | 0", "TOOLS | 20000 | 60000")
    views = {
        **RELEASE_19,
        "V$RSRC_PLAN": PLAN.format("ON"),
        "DBA_RSRC_PLAN_DIRECTIVES": DIRECTIVES,
        "V$OSSTAT": HOST,
        "V$RSRC_CONSUMER_GROUP": polls(GROUPS, *before, *after),
    }
    found = reading(tmp_path, views)
    first, last = snapshots(tmp_path, {})
    (kept,) = assess(found, first, last).conformance
    assert kept.sentence == (
        "As far as presman can see, the plan is met: the other groups that want CPU get what they are entitled to. "
        "Not known for TOOLS. 3.0 of 16 CPUs used."
    )
    assert kept.unjudged == ("TOOLS",)
    assert tuple(run.strip() for run in verdict_lines(found, found.cluster_groups())[0][0]) == ("?", "note")
    assert "a starved group (what TOOLS is entitled to is not known)" in " ".join(availability_notes(found))
