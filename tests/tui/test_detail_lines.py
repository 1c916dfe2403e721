"""Details of a statement as lines: progress, cost, servers, statistics, plan, usual queue; by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.parallel.usual import Comparison
from presman.analysis.readings.session_readings import (
    CursorCost,
    Detail,
    Operation,
    PlanStep,
    ServerWork,
    SessionFigure,
    SetSkew,
)
from presman.analysis.readings.statement_readings import UsualQueue
from presman.base.formats import ABSENT
from presman.figures.drawing.lines import plain
from presman.figures.history_figures import USUAL
from presman.rows.queries import Focus
from presman.tui.pages.detail_lines import _scaled, _time, cost_lines, detail_lines, focus_of, usual_lines, xplan
from tests.tui.readings import AT, busy, queued, running, sections, session

DETAIL = Detail(
    1, 526, "9md3ukh526j58", 0, 42, (), None,
    (ServerWork(1, 7, "P000", 1, 0, "on CPU", 8.0, None, 9, 1500.0),
     ServerWork(1, 8, "P001", 1, 1, "", 4.0, None, 9, 0.4)),
    (SetSkew(1, 2, 2.0, 1.5), SetSkew(2, 1, None, None), SetSkew(3, 4, 1.99, None)),
    (SessionFigure("redo size", 123_456, 1_000), SessionFigure("parses", 5, None)),
    (Operation("Hash Join", "", 25, 100, "Blocks", 61.0), Operation("Scan", "T", 1, 2, "MB", None)),
)  # fmt: skip


def close(**facts: Any) -> dict[str, list[str]]:
    return sections(detail_lines(running(526), replace(busy(), detail=replace(DETAIL, **facts)), 120))


def test_progress_of_unfinished_operations_is_a_bar() -> None:
    """A quarter of 16 cells is four, a half eight."""
    progress = close()["Progress"]
    assert progress == [
        "Hash Join ████ 25 %, 25 of 100 Blocks, 1:01 left", "Scan T ████████ 50 %, 1 of 2 MB",
    ]  # fmt: skip
    assert close(operations=())["Progress"] == ["V$SESSION_LONGOPS lists no unfinished operation of it."]


def test_servers_have_their_skew_and_their_work() -> None:
    """The busiest server's bar is whole: 16 cells; one with half of its CPU has eight."""
    assert close()["Servers at work"] == [
        "Set 1: 2 servers; the busiest has 2.00 times the mean CPU, 1.50 times the mean MB read.",
        "Set 2: 1 server; no CPU yet.",
        "Set 3: 4 servers; the busiest has 1.99 times the mean CPU.",
        "1.0 P000 1:7 ████████████████ 8.0 s CPU 1,500 MB on CPU",
        "1.1 P001 1:8 ████████ 4.0 s CPU 0 MB",
    ]
    lines = detail_lines(running(526), replace(busy(), detail=DETAIL), 120)
    styles = [line[1][1] for line in lines if plain(line).startswith("  Set ")]
    assert styles == ["warn", "", ""], "twice the mean is worth a look"
    many = [replace(DETAIL.servers[0], number=n) for n in range(34)]
    shown = close(servers=tuple(many), skew=())["Servers at work"]
    assert (len(shown), shown[-1]) == (33, "… and 2 more")
    assert len(close(servers=tuple(many[:32]), skew=())["Servers at work"]) == 32
    idle = close(servers=(replace(DETAIL.servers[0], cpu=0.0),), skew=())["Servers at work"]
    assert idle == ["1.0 P000 1:7 0.0 s CPU 1,500 MB on CPU"]


def test_statistics_are_since_the_last_poll_and_since_logon() -> None:
    assert close()["Session statistics: since the last poll, since logon"] == ["redo size 1,000 123,456", "parses - 5"]


def test_unread_sections_are_omitted() -> None:
    bare = close(servers=(), statistics=(), plan=(), cost=None)
    assert not {"Servers at work", "Plan", "Executions of this cursor so far"} & bare.keys()
    other = sections(detail_lines(running(527), replace(busy(), detail=DETAIL), 120))
    assert "Progress" not in other
    assert any("are read only while this page is open" in line for own in other.values() for line in own)


COST = CursorCost(1200, 3, 2.5, 1.0, 0.0005, 8.0, 10_000.0, 512.0, 0.8, 0.25, None, 123_456.0, 99.0, 0.5)


def test_the_cost_of_executions_is_shown() -> None:
    assert [" ".join(plain(line).split()) for line in cost_lines(COST)] == [
        "executions 1,200 done, 3 running now",
        "each, on average 2.5s elapsed, 1.0s CPU, 500µs I/O wait",
        "servers each 8.0",
        "rows, blocks each 10k rows, 123k buffer gets, 99 disk reads",
        "data each 512 MB read, 0.5 MB written",
        "storage filtered 80 % of the bytes read, 25 % of that not sent",
    ]
    assert len(list(cost_lines(replace(COST, offloaded=None)))) == 5
    assert plain(list(cost_lines(replace(COST, saved=None)))[-1]).endswith("80 % of the bytes read")


def test_adjacent_times_share_a_format_and_data_has_units() -> None:
    long = replace(COST, elapsed=397.0, cpu=51.2, megabytes=19_900.0)
    times, data = (" ".join(plain(list(cost_lines(long))[index]).split()) for index in (1, 4))
    assert times == "each, on average 6:37 elapsed, 0:51 CPU, 500µs I/O wait"
    assert data == "data each 19.4 GB read, 0.5 MB written"


def test_the_page_shows_a_sessions_groups_and_why_it_was_switched() -> None:
    own = session(526, serial=60805, group="LOW")._replace(
        mapped_group="BATCH", mapping_attribute="ORACLE_USER", original_group="BATCH", last_action="SWITCH_GROUP",
        last_action_reason="CPU time", last_action_time=AT,
    )  # fmt: skip
    lines = sections(detail_lines(running(526), replace(busy(), sessions=(own,)), 120))["Consumer group"]
    assert lines[:4] == [
        "mapped BATCH (by ORACLE_USER)", "original BATCH", "now LOW",
        f"last action SWITCH_GROUP, because of CPU time, at {AT.astimezone():%H:%M:%S}",
    ]  # fmt: skip
    calm = own._replace(mapping_attribute="", mapped_group="", last_action="")
    assert sections(detail_lines(running(526), replace(busy(), sessions=(calm,)), 120))["Consumer group"][:-1] == [
        "mapped -", "original BATCH", "now LOW",
    ]  # fmt: skip
    others = replace(busy(), sessions=(own._replace(serial=1),))
    assert "Consumer group" not in sections(detail_lines(running(526), others, 120))


def test_the_focus_of_each_kind_of_row() -> None:
    assert focus_of(queued()) == Focus(1, 501, "7xq3h001jskd0", 0, False)
    assert focus_of(running()) == Focus(1, 526, "9md3ukh526j58", 0, True)
    assert focus_of(session(1)) == Focus(1, 1, "g5s2c0001hgq1", 0, False)
    assert focus_of(session(1, px_servers=4)) == Focus(1, 1, "g5s2c0001hgq1", 0, True)
    assert focus_of(busy()) is None


def usual(seconds: float, queue: float, share: float | None) -> UsualQueue:
    return UsualQueue(seconds, 50.0, 61.0, share, 8.0, queue, 2)


def test_a_groups_queue_is_compared_with_the_usual() -> None:
    found = Comparison(0, "BATCH", usual(7200, 1.0, None), None, usual(60, 12.0, 0.25), worse=True)
    lines = [" ".join(plain(line).split()) for line in usual_lines(found)]
    assert lines == [
        "Worse than usual. The last minute, what is known of the last hour, since the plan:",
        "seconds known 60 - 7,200", "queued on average 12.0 - 1.0", "% that had to queue 50 - 50",
        "mean wait 1:01 - 1:01", "% of time queued 25 - -", "servers each 8.0 - 8.0", "timeouts 2 - 2",
    ]  # fmt: skip
    assert usual_lines(found)[1][1][1] == "warn"
    instant = found._replace(now=usual(0, 12.0, None), worse=False)
    assert plain(usual_lines(instant)[0]).strip().startswith("Now, ")
    shown = USUAL.column("mean_queue").show
    assert (shown(found), shown(instant)) == ("12.0 ▲", "12.0 now"), "the judged value is marked"
    assert shown(instant._replace(now=UsualQueue(0.0))) == ABSENT


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (9_999, "9999"), (10_000, "10K"), (9_999_999, "9999K"), (10_000_000, "10M"), (10**10, "10G"),
     (10**10 - 1, "9999M"), (0, "0")],
)  # fmt: skip
def test_numbers_are_shortened_as_dbms_xplan_does(value: int | None, text: str) -> None:
    assert _scaled(value) == text


def step(number: int, depth: int, operation: str, **more: Any) -> PlanStep:
    return replace(PlanStep(number, depth, operation, "", "", "", "", None, None, None, None, ("", ""), "", ""), **more)


def test_a_plan_leaves_out_columns_by_their_worth() -> None:
    assert (_time(None), _time(3_661), _time(59)) == ("", "01:01:01", "00:00:59")
    assert xplan(()) == []
    plan = [step(0, 0, "SELECT"), step(1, 1, "TABLE", name="T", rows=20_000, bytes=5, access="a\n=1", filter="b")]
    assert xplan(plan, 7) == [
        "Plan hash value: 7", "",
        "-" * 42,
        "|   Id | Operation | Name | Rows | Bytes |",
        "-" * 42,
        "|    0 | SELECT    |      |      |       |",
        "| *  1 |  TABLE    | T    |  20K |     5 |",
        "-" * 42,
        "", "Predicate Information (identified by operation id):",
        "   1 - access(a =1)", "   1 - filter(b)",
    ]  # fmt: skip
    whole = xplan(plan)
    width = len(whole[0])
    assert {len(line) for line in whole[:6]} == {width}
    assert "Bytes" in xplan(plan, None, width)[1]
    assert "Bytes" not in xplan(plan, None, width - 1)[1]
    assert "Rows" in xplan(plan, None, width - 1)[1]
    narrow = xplan(plan, None, 1)[1]
    assert [head.strip() for head in narrow.strip("| ").split("|")] == ["Id", "Operation"]
