"""Limits that may not hold: nobody's end is offered because of a limit that is not known to be in force, or its size.

The head of REPORTS wants 16 servers. Its group may hold 16 of 64 (25 %), all of which an idle session of it holds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.analysis.advice.ending import ending
from presman.analysis.advice.step import Step
from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.not_known import not_known
from presman.analysis.assemble import analyse
from presman.analysis.facts.facts import Facts
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, QueueHead
from presman.figures.drawing.lines import plain
from presman.forecast.queue_now import queue_rules
from presman.output.why_answer import AskedStatement, ReasonHistory, as_text
from presman.rows.commands import CommandKind
from presman.tui.pages.advice_lines import to_start_line
from tests.situations.spooled import Views, reading, readings, snapshots
from tests.situations.test_promises import cluster, container
from tests.situations.test_sessions_to_end import HEAD, idle, site

PLAN = (
    "NAME | IS_TOP_PLAN | CPU_MANAGED | PARALLEL_SERVERS_ACTIVE | PARALLEL_SERVERS_TOTAL | PARALLEL_EXECUTION_MANAGED\n"
    "DAY | TRUE | ON | {active} | 64 | {managed}"
)
DIRECTIVES = (
    "PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | PARALLEL_SERVER_LIMIT | UTILIZATION_LIMIT | PARALLEL_STMT_CRITICAL\n"
    "DAY | REPORTS | CONSUMER_GROUP | 50 | {servers} | {cpu} | {critical}\nDAY | OTHER_GROUPS | CONSUMER_GROUP | 20 |||"
)
COUNTED = "NAME | CURRENT_PQ_SERVERS_ACTIVE\nREPORTS | {}"


HISTORY = "NAME | START_TIME | END_TIME\nDAY | 2026-11-01 00:00:00 |"


def full(
    *,
    managed: str = "FULL",
    servers: str = "25",
    cpu: str = "",
    critical: str = "FALSE",
    without: str = "",
    servers_held: int = 16,
    **more: str,
) -> Views:
    """The head waits for the limit of its group, which its idle session fills. A view may be left out."""
    views = site(
        idle(5, 900, group="REPORTS"), held=((5, servers_held),), active=servers_held,
        V_DOLLAR_RSRC_CONSUMER_GROUP=COUNTED.format(servers_held),
        V_DOLLAR_RSRC_PLAN=PLAN.format(active=servers_held, managed=managed),
        DBA_RSRC_PLAN_DIRECTIVES=DIRECTIVES.format(servers=servers, cpu=cpu, critical=critical), **more,
    )  # fmt: skip
    return {view: rows for view, rows in views.items() if view != without}


def head(found: Reading) -> QueueHead:
    (only,) = found.heads
    return only


def nobody_is_offered(found: Reading) -> None:
    assert [each.commands for way in unblock(found) for each in way.candidates if each.commands] == []
    step = to_do(found)
    assert step is not None
    assert (step.step, step.commands) == (Step.WAIT, ())


def test_a_limit_that_holds_is_proof(tmp_path: Path) -> None:
    found = reading(tmp_path, full())
    assert head(found).sentence.endswith("REPORTS holds 16 of 16 allowed (25 % of 64); short by 16 servers")
    step = to_do(found)
    assert step is not None
    assert step.step is Step.END


@pytest.mark.parametrize("managed", ["OFF", "DISABLED", "STARTUP", ""])
def test_where_the_plan_does_not_manage_parallel_statements_its_limits_prove_nothing(
    tmp_path: Path, managed: str
) -> None:
    found = reading(tmp_path, full(managed=managed))
    why = f"PARALLEL_EXECUTION_MANAGED is {managed}" if managed else "GV$RSRC_PLAN"
    assert head(found).cause is Cause.UNKNOWN
    assert str(head(found).not_known) == f"how many servers REPORTS may hold is not known ({why})"
    (row,) = (each for each in found.cluster_groups() if each.name == "REPORTS")
    assert (row.servers_limit, row.limit_view) == (None, why), "as in the table of groups"
    nobody_is_offered(found)


@pytest.mark.parametrize("managed", ["OFF", "DISABLED", "STARTUP"])
def test_where_nothing_manages_parallel_statements_the_target_proves_nothing_either(
    tmp_path: Path, managed: str
) -> None:
    """DO offered to end the holder of all servers of the target, although the line above said PX OFF."""
    step = to_do(reading(tmp_path, full(servers="", servers_held=64)))
    assert step is not None
    assert step.step is Step.END
    found = reading(tmp_path, full(servers="", servers_held=64, managed=managed))
    why = f"PARALLEL_EXECUTION_MANAGED is {managed}"
    assert str(head(found).not_known) == f"what limits the queue of REPORTS is not known ({why})"
    nobody_is_offered(found)


@pytest.mark.parametrize(("managed", "cause"), [("FULL", Cause.NEVER_FITS), ("OFF", Cause.UNKNOWN)])
def test_nothing_is_too_large_for_a_limit_that_may_not_be_in_force(tmp_path: Path, managed: str, cause: Cause) -> None:
    assert head(reading(tmp_path, full(managed=managed, servers="20"))).cause is cause


def test_without_the_view_of_the_plan_in_force_no_limit_of_another_view_is_proof(tmp_path: Path) -> None:
    target = "NAME | VALUE\nparallel_servers_target | 64"
    more = {"V_DOLLAR_RSRC_PLAN_HISTORY": HISTORY, "V_DOLLAR_SYSTEM_PARAMETER": target}
    found = reading(tmp_path, full(without="V$RSRC_PLAN", **more))
    assert found.header.plan == "DAY", "the plan that should be in force"
    assert str(head(found).not_known) == "how many servers REPORTS may hold is not known (GV$RSRC_PLAN)"
    nobody_is_offered(found)


def test_a_plan_without_its_name_is_not_no_plan(tmp_path: Path) -> None:
    views = full(V_DOLLAR_RSRC_PLAN_HISTORY=HISTORY)
    nameless = "\n".join(line.partition(" | ")[2] for line in views["V$RSRC_PLAN"].splitlines())
    found = reading(tmp_path, {**views, "V$RSRC_PLAN": nameless})
    assert (found.header.plan, found.header.px_managed) == ("DAY", "FULL")
    assert str(head(found).not_known) == "how many servers REPORTS may hold is not known (GV$RSRC_PLAN lacks NAME)"


@pytest.mark.parametrize("column", ["PARALLEL_SERVER_LIMIT", "UTILIZATION_LIMIT", "GROUP_OR_SUBPLAN"])
def test_a_limit_whose_column_is_missing_is_not_no_limit(tmp_path: Path, column: str) -> None:
    views = without(full(servers=""), "DBA_RSRC_PLAN_DIRECTIVES", column)
    found = reading(tmp_path, views)
    assert head(found).sentence.endswith(
        "48 are free as far as is known; how many servers REPORTS may hold is not known "
        f"(DBA_RSRC_PLAN_DIRECTIVES lacks {column}), so presman cannot say whether it starts"
    )
    nobody_is_offered(found)
    (row,) = (row for row in found.cluster_groups() if row.name == "REPORTS")
    assert (row.servers_limit, row.limit_view) == (None, f"DBA_RSRC_PLAN_DIRECTIVES lacks {column}")


def test_what_queues_although_its_group_bypasses_the_queue_proves_nothing(tmp_path: Path) -> None:
    found = reading(tmp_path, full(critical="BYPASS QUEUE"))
    why = "why statements of REPORTS queue is not known (PARALLEL_STMT_CRITICAL is BYPASS_QUEUE)"
    assert str(head(found).not_known) == why
    nobody_is_offered(found)


def test_without_the_group_of_the_head_it_is_not_said_that_servers_are_free(tmp_path: Path) -> None:
    views = full(V_DOLLAR_RSRC_SESSION_INFO="SID | DOP | PQ_SERVERS\n9 | 8 | 16")
    views = {**views, "V$SESSION": views["V$SESSION"].replace(HEAD, HEAD.replace("REPORTS", ""))}
    found = reading(tmp_path, views)
    assert "48 are free as far as is known; the group of the head is not known (GV$SESSION)" in head(found).sentence
    assert "are free" not in to_do(found).text  # type: ignore[union-attr]


# What the CDB plan gives a container.

INSIDE = {
    "V$DATABASE": "NAME | CDB\nCDB1 | YES",
    "V$PDBS": "CON_ID | NAME | OPEN_MODE\n3 | SALES | READ WRITE",
}


@pytest.mark.parametrize(
    ("column", "value", "is_known"), [(" | PARALLEL_SERVER_LIMIT", " | 100", True), ("", "", False)]
)
def test_inside_a_container_its_limit_is_known_only_by_the_column_that_shows_it(
    tmp_path: Path, column: str, value: str, is_known: bool
) -> None:
    plan, row = PLAN.format(active=16, managed="FULL").splitlines()
    in_pdb = {view: rows.replace("\n", "\n3 | ") for view, rows in full().items() if "CON_ID" not in rows}
    named = ("V$SESSION", "V$RSRC_SESSION_INFO", "V$RSRC_CONSUMER_GROUP")
    views = {**full(), **{view: f"CON_ID | {in_pdb[view]}" for view in named}, **INSIDE}
    found = reading(tmp_path, {**views, "V$RSRC_PLAN": f"CON_ID | {plan}{column}\n3 | {row}{value}"})
    assert head(found).cause is Cause.GROUP
    unknown = "" if is_known else "how many servers SALES may hold is not known (GV$RSRC_PLAN)"
    assert str(head(found).not_known or "") == unknown


@pytest.mark.parametrize(
    ("columns", "values", "is_known"),
    [(" | SHARES | PARALLEL_SERVER_LIMIT", " | 2 |", True), (" | SHARES", " | 2", False), ("", "", False)],
)
def test_in_the_root_the_limit_of_a_container_is_known_by_the_cdb_plan_alone(
    tmp_path: Path, columns: str, values: str, is_known: bool
) -> None:
    views = container("parallel_servers_target | 64 | 3", held=32)
    plan = f"{views['V$RSRC_PLAN'].replace(chr(10), columns + chr(10))}{' |' * columns.count('|')}"
    row = f"1 | 3 | PDB_PLAN | TRUE | ON | 64 | 64 | FULL{values}"
    found = reading(tmp_path, {**views, "V$RSRC_PLAN": f"{plan}\n{row}"})
    why = str(head(found).not_known)
    assert (why == "how many servers SALES may hold is not known (DBA_CDB_RSRC_PLAN_DIRECTIVES)") is not is_known


# Limits of before.

TIMES = ("2026-11-23 10:00:00", "2026-11-23 10:00:10")


def polls(*tables: str) -> str:
    """Return the tables of two polls as one, with their times."""
    top, *_ = tables[0].splitlines()
    rows = [f"{at} | {row}" for at, rows in zip(TIMES, tables, strict=True) for row in rows.splitlines()[1:]]
    return "\n".join([f"SAMPLE_TIME | {top}", *rows])


def test_a_limit_that_was_raised_since_the_poll_before_explains_the_wait(tmp_path: Path) -> None:
    before, after = full(), full(servers="75")
    views = {view: polls(rows, after[view]) for view, rows in before.items()}
    first, second = readings(tmp_path, views)
    assert head(first).cause is Cause.GROUP
    assert (head(second).cause, head(second).held, head(second).allowed) == (Cause.NOT_CHOSEN, 16, 48)
    assert head(second).sentence.endswith("and 32 are free; nothing that presman sees holds it back")
    first_line, *lines = as_text(second, AskedStatement.of("9"), ReasonHistory()).splitlines()
    assert first_line.endswith("; the reason is not known"), "it was: not known (unknown)"
    free = "the servers it wants are free: no running statement is known to hold it up"
    assert f"  to start it: {free}" in lines, "it was: it waits for its turn in the queue, not for servers"


# The pools.


def pool(in_use: int, most: int, active: int, **more: str) -> Views:
    """REPORTS has no limit of its own; so many servers of the pools are in use, and the target counts `active`."""
    parameters = f"NAME | VALUE\nparallel_max_servers | {most}"
    statistic = f"STATISTIC | VALUE\nServers In Use | {in_use}"
    return {
        **full(servers=""),
        "V$RSRC_PLAN": PLAN.format(active=active, managed="FULL"),
        "V$SYSTEM_PARAMETER": parameters,
        "V$PX_PROCESS_SYSSTAT": statistic,
        **more,
    }


@pytest.mark.parametrize(("in_use", "left"), [(72, 0), (68, 4)])
def test_no_more_servers_are_free_than_the_pool_has_left(tmp_path: Path, in_use: int, left: int) -> None:
    found = reading(tmp_path, pool(in_use, most=72, active=8))
    assert head(found).cause is Cause.UNKNOWN
    assert "free" not in head(found).sentence
    assert head(found).sentence.endswith(
        "whether it starts with fewer servers than it wants is not known "
        f"({left} of the 72 of PARALLEL_MAX_SERVERS are left)"
    )
    nobody_is_offered(found)
    queued = ending(head(found).statement, found).commands
    assert CommandKind.DEQUEUE not in [each.kind for each in queued], "it would be downgraded, or run serially"
    (way,) = unblock(found)
    assert "copies" not in plain(to_start_line(way)), "nor is another command in its place"


def test_where_the_pool_has_less_left_than_the_target_it_is_said_which_is_free(tmp_path: Path) -> None:
    found = reading(tmp_path, pool(in_use=56, most=72, active=8))
    assert "and 16 of PARALLEL_MAX_SERVERS are free" in head(found).sentence
    assert CommandKind.DEQUEUE in [each.kind for each in ending(head(found).statement, found).commands]


def test_what_is_freed_below_the_target_is_free_in_the_pool_too(tmp_path: Path) -> None:
    px = {view: rows for view, rows in site(idle(5, 900), held=((5, 64),)).items() if view == "V$PX_SESSION"}
    counted = {"V$RSRC_CONSUMER_GROUP": COUNTED.format(64)}
    found = reading(tmp_path, pool(in_use=64, most=64, active=64, **px, **counted))
    assert (head(found).cause, head(found).not_known) == (Cause.SYSTEM, None)
    short = reading(tmp_path, pool(in_use=72, most=72, active=56, **px, **counted))
    assert "short by 8 servers; whether it starts with fewer" in head(short).sentence, "8 freed are not 16 left"
    nobody_is_offered(short)


# Columns that are missing.


def without(views: Views, view: str, column: str) -> Views:
    """Return the views, one of them without a column."""
    rows = [[field.strip() for field in line.split("|")] for line in views[view].splitlines()]
    at = rows[0].index(column)
    return {**views, view: "\n".join(" | ".join(row[:at] + row[at + 1 :]) for row in rows)}


@pytest.mark.parametrize("column", ["PARALLEL_QUEUE_TIMEOUT", "GROUP_OR_SUBPLAN"])
def test_a_timeout_whose_column_is_missing_is_said_to_be_not_known(tmp_path: Path, column: str) -> None:
    head, *rows = full()["DBA_RSRC_PLAN_DIRECTIVES"].splitlines()
    timed = "\n".join([f"{head} | PARALLEL_QUEUE_TIMEOUT", *(f"{row} | 600" for row in rows)])
    views = without({**full(), "DBA_RSRC_PLAN_DIRECTIVES": timed}, "DBA_RSRC_PLAN_DIRECTIVES", column)
    assert f"whether a queued statement times out soon (DBA_RSRC_PLAN_DIRECTIVES lacks {column})" in (
        not_known(reading(tmp_path, views))
    )


# A limit by an assumption.


@pytest.mark.parametrize(
    ("release", "metric", "is_proven"),
    [("12.1.0.2.0", 64, False), ("12.1.0.2.0", 16, True), ("19.22.0.0.0", 64, True)],
)
def test_a_limit_by_an_assumption_that_another_view_contradicts_proves_nothing(
    tmp_path: Path, release: str, metric: int, is_proven: bool
) -> None:
    shown = f"CONSUMER_GROUP_NAME | PARALLEL_SERVERS_LIMIT\nREPORTS | {metric}"
    instance = {"V$INSTANCE": f"INSTANCE_NUMBER | VERSION | STATUS\n1 | {release} | OPEN"}
    found = reading(tmp_path, {**full(servers="", cpu="25", V_DOLLAR_RSRCMGRMETRIC=shown), **instance})
    assert head(found).cause is (Cause.GROUP if is_proven else Cause.UNKNOWN)
    assert head(found).allowed == 16
    other = (
        "how many servers REPORTS may hold is not known (16 by UTILIZATION_LIMIT, 64 by GV$RSRCMGRMETRIC of 0:00 ago)"
    )
    assert str(head(found).not_known or "") == ("" if is_proven else other)
    if not is_proven:
        nobody_is_offered(found)


def test_a_serial_number_that_is_not_known_is_no_zero(tmp_path: Path) -> None:
    found = reading(tmp_path, without(full(), "V$SESSION", "SERIAL#"))
    history = ReasonHistory()
    history.add(found)
    answer = as_text(found, AskedStatement.of("9"), history)
    assert "(1:9)" in answer
    assert ",0" not in answer


# Forecasts rest on the same limits.


NOT_IN_FORCE = "how many servers REPORTS may hold is not known (PARALLEL_EXECUTION_MANAGED is OFF)"
TOO_FEW = (
    "whether it starts with fewer servers than it wants is not known (0 of the 72 of PARALLEL_MAX_SERVERS are left)"
)


@pytest.mark.parametrize(
    ("views", "why"), [(full(), ""), (full(managed="OFF"), NOT_IN_FORCE), (pool(72, most=72, active=8), TOO_FEW)]
)
def test_no_start_is_forecast_where_what_decides_is_not_known(tmp_path: Path, views: Views, why: str) -> None:
    (poll,) = snapshots(tmp_path, views)
    rules = queue_rules(Facts.of(None, poll), analyse(None, poll))
    assert rules.unknown_limits == ({(0, "REPORTS"): why} if why else {})


@pytest.mark.parametrize(("managed", "one_queue"), [("FULL", None), ("FIFO", True)])
def test_which_plan_orders_the_queues_of_instances_with_different_plans_is_not_known(
    tmp_path: Path, managed: str, one_queue: bool | None
) -> None:
    more = {"GV$RSRC_CONSUMER_GROUP": "INST_ID | NAME | CURRENT_PQ_SERVERS_ACTIVE\n1 | REPORTS | 20\n2 | REPORTS | 12"}
    views = cluster((1, "DAY", 20, 64), (2, "NIGHT", 12, 64), **more)
    views = {**views, "GV$RSRC_PLAN": views["GV$RSRC_PLAN"].replace("FULL", managed)}
    (poll,) = snapshots(tmp_path, views)
    assert queue_rules(Facts.of(None, poll), analyse(None, poll)).one_queue is one_queue


def test_nothing_is_too_large_for_a_limit_that_another_view_contradicts(tmp_path: Path) -> None:
    """DO told to run it with a lower DOP, for a limit of 12 by the plan; it is 40 by the metric."""
    shown = "CONSUMER_GROUP_NAME | PARALLEL_SERVERS_LIMIT\nREPORTS | 40"
    old = {"V$INSTANCE": "INSTANCE_NUMBER | VERSION | STATUS\n1 | 12.1.0.2.0 | OPEN"}
    found = reading(tmp_path, {**full(servers="", cpu="20", V_DOLLAR_RSRCMGRMETRIC=shown), **old})
    assert head(found).cause is Cause.UNKNOWN
    assert "more than" not in head(found).sentence
    nobody_is_offered(found)
