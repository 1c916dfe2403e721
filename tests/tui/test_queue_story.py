"""The queue on the tab Parallel: TO START IT, the statements over time, and details of one."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from presman.analysis.advice.unblock import unblock
from presman.analysis.assemble import analyse
from presman.analysis.goals import Goal, GoalReading
from presman.analysis.readings.forecast_readings import EndingEffect
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import PlanStep
from presman.analysis.trends import Watch
from presman.analysis.trends.statement_runs import StatementRun
from presman.figures.drawing.lines import length, plain, wrap
from presman.figures.statement_figures import QUEUE
from presman.polling.poller import Poller
from presman.sources.simulator_source import SimulatorSource
from presman.tabs.parallel import goal_line, queue_line
from presman.tui.feed import Arrived
from presman.tui.pages import row_details
from presman.tui.pages.advice_lines import candidates_lines, to_start_line
from presman.tui.pages.detail_lines import xplan
from presman.tui.widgets.gantt import STRIP, GanttData, gantt
from tests.analysis.test_simulated import Clock
from tests.thorough import some
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy, group, queued, quiet, running
from tests.tui.test_live import playing

END = datetime(2026, 11, 20, 3, 15, tzinfo=UTC)


def span(sid: int, *, queued: float | None = None, started: float | None = None, **more: object) -> StatementRun:
    """A span with its instants as seconds before the end of the chart."""
    moments = {"queued": queued, "started": started, **{name: more.pop(name, None) for name in ("idle", "ended")}}
    instants = {name: END - timedelta(seconds=value) for name, value in moments.items() if value is not None}  # type: ignore[arg-type]
    return StatementRun(1, sid, 7, "9md3ukhghgj58", 0, "BATCH", "RPT", 32, **instants)


def chart(*spans: StatementRun, height: int = 12, **changes: object) -> list[str]:
    data = GanttData(spans, END, 900.0, [64.0] * 180, 128)._replace(**changes)
    lines = gantt(data, 121, height)
    assert all(length(line) <= 121 for line in lines)
    return [plain(line) for line in lines]


def test_hollow_while_queued_solid_while_running() -> None:
    row = chart(span(1, queued=600, started=300))[1]
    assert row.startswith("BATCH")
    assert "32 " in row
    cells = row[31:]  # 90 columns of 10 seconds
    assert cells == " " * 30 + "░" * 30 + "█" * 30


def test_bars_of_an_idle_holder_and_of_an_ended_statement() -> None:
    assert chart(span(1, started=600, idle=200))[1][31:] == " " * 30 + "█" * 40 + "▒" * 20
    assert chart(span(1, queued=600, started=400, ended=200))[1][31:].rstrip() == " " * 30 + "░" * 20 + "█" * 20


def test_early_bars_begin_at_the_edge_and_the_shortest_is_visible() -> None:
    assert chart(span(1, queued=5000, started=450))[1][31:] == "░" * 45 + "█" * 45
    assert chart(span(1, started=300, ended=299.9))[1][31:].rstrip() == " " * 60 + "█"
    assert chart(span(1, queued=300, started=299.9, ended=299.8))[1][31:].rstrip() == " " * 60 + "█"


def test_sql_ids_are_shown_in_full_if_groups_leave_room() -> None:
    long = replace(span(2, started=300), group="_ORACLE_BACKGROUND_")
    assert chart(span(1, started=300))[1].startswith("BATCH       9md3ukhghgj58   32 ")
    assert [row.split()[1] for row in chart(span(1, started=300), long)[1:3]] == ["9md3u", "9md3u"]


def test_holders_come_first_if_room_is_short() -> None:
    queue = [span(n, queued=100 + n) for n in range(20)]
    rows = chart(*queue, span(50, started=10), height=STRIP + 2 + 3)
    assert sum("█" in row for row in rows[1:4]) == 1
    assert sum("░" in row for row in rows[1:4]) == 2


def test_the_target_is_a_line_and_servers_are_columns_below_it() -> None:
    strip = chart()[-STRIP - 1 : -1]
    assert "target 128" in strip[0]
    assert set(strip[0][31:]) == {"─"}
    assert set(strip[-1][31:]) == {"█"}
    full = chart(in_use=[128.0] * 180)[-STRIP - 1 : -1]
    assert "─" not in full[0][31:]


def test_the_more_servers_the_higher_the_block() -> None:
    large, small = span(1, started=300), replace(span(2, started=300), servers=8)
    rows = chart(large, small)
    assert "█" * 30 in rows[1]
    assert "▂" * 30 in rows[2]
    assert "   8 " in rows[2]


def test_a_change_of_plan_is_a_line_in_free_cells() -> None:
    lines = chart(span(1, started=300), marks=[(90, "03:07 NIGHT_PLAN"), (170, "03:14 DAY_PLAN")])
    assert lines[0].rstrip().endswith("▒ idle holder  ┆ 03:07 NIGHT_PLAN  ┆ 03:14 DAY_PLAN")
    assert lines[1][31 + 45] == "┆"
    assert lines[1][31 + 85] == "█"
    assert lines[2][31 + 45] == lines[2][31 + 85] == "┆"
    assert "┆" not in lines[-1]


def test_holders_of_uncounted_servers_are_named_if_certain() -> None:
    """The idle holder's group queues, so it is not called one that bypasses the queue."""
    idle, works = busy().running[0], replace(busy().running[1], servers=24)
    counted = (group("BATCH", px_servers=24),)
    one = replace(busy(), running=(idle, works), groups=counted, unmanaged_servers=32)
    assert "32 in use that no group counts: MARTIN 1:526" in plain(queue_line(one, Watch()))
    same = replace(one, running=(idle, replace(works, servers=32)), groups=(group("BATCH", px_servers=32),))
    perhaps = f"32 in use that no group counts: perhaps MARTIN 1:526 or {works.who}"
    assert perhaps in plain(queue_line(same, Watch())), "the same name as where it is certain, with the doubt"
    nobody = replace(one, running=(), groups=(), unmanaged_servers=32)
    assert "32 in use that no group counts (statements that did not queue, GV$ queries)" in plain(
        queue_line(nobody, Watch())
    )


@acted
async def test_uncounted_servers_are_shown_on_a_screen_of_120_by_35() -> None:
    """BATCH holds 64 of 64, and the lists of those that run in it add up to 80."""
    async with playing("storm", (120, 35), whole=True, seed=None) as (acting, polls):
        await polls(2)
        screen = await acting.press("4")
        assert re.search(r" Queue FULL   in use \d+ .*16 in use that no group counts\b", screen)


def test_words_of_a_wrapped_line_stay_apart_at_any_width() -> None:
    """Where the blanks before a run came to the edge they were cut off, and its first letter stood in their place;
    a word of two colours was broken where the colour changes."""
    line = ((" TO START IT  ", "title"), ("① MARTIN 1:526", ""), ("; ETL wants the same servers", "warn"))
    hint = (("   c 1", "key"), (" copies ①", "dim"))
    words = plain((*line, *hint)).split()
    for width in range(20, 80):
        lines = wrap((*line, *hint), width, 6)
        assert " ".join(map(plain, lines)).split() == words
        assert all(length(each) <= width for each in lines)


def test_the_end_that_starts_the_head_fits_one_line() -> None:
    first, second = (plain(to_start_line(found, key=True)) for found in unblock(busy()))
    named = " TO START IT  end ① MARTIN SQL Developer 1:526,60805, idle 22:10, holds 32"
    starts = "ending it starts at least one of their heads, and the plan decides which"
    assert first == f"{named}; ETL may get them first   c 1 copies ①", "no work is lost while the idle holder is enough"
    assert second == (f" TO START IT  MARTIN 1:526 (idle 22:10) keeps 32 servers that BATCH and ETL want: {starts}")


def test_the_three_statements_that_lose_least_are_named() -> None:
    """Each of them is enough alone; those without room are counted."""
    held = tuple(running(sid, elapsed=float(sid)) for sid in (905, 405, 705, 605))
    batch = replace(busy().heads[0], statement=queued(1))
    (found,) = unblock(replace(busy(), heads=(batch,), running=held, groups=(group("BATCH", px_servers=128),)))
    assert [each.statement.sid for each in found.candidates if each.commands] == [405, 605, 705]
    assert [each.why_not for each in found.candidates][3] == "those above are enough"
    line = plain(to_start_line(found, key=True))
    assert re.findall(r"([①②③④]) MARTIN (?:SQL Developer )?1:(\d+)", line) == [("①", "405"), ("②", "605"), ("③", "705")]
    assert line.startswith(" TO START IT  wait, or cancel ① MARTIN")
    lines = [
        plain(line) for line in candidates_lines(replace(found, candidates=(replace(found.candidates[0], lost=28.0),)))
    ]
    assert any(line.endswith("; 28 server seconds of work would be lost") for line in lines), "not 0 server minutes"
    assert "  or one of 2 others   c 1 copies ①" in plain(to_start_line(found, 120, key=True))
    assert "  or another   c 1 copies ①" in plain(to_start_line(found, 160, key=True))


def test_line_page_and_key_number_candidates_alike() -> None:
    """If the first candidate was no answer, the line called the second ① but offered ② for c 1."""
    found = unblock(busy())[0]
    idle, works = found.candidates[:2]
    found = replace(found, candidates=(replace(works, commands=()), idle))
    line, page = plain(to_start_line(found, key=True)), [plain(each) for each in candidates_lines(found)]
    assert re.findall(r"([①②]) (MARTIN|ETL)\b.*copies ([①②])", line) == [("①", "MARTIN", "①")]
    assert [text.split()[:2] for text in page if text.strip()[:1] in {"①", "②"}] == [["①", "MARTIN"], ["②", "ETL"]]


def test_more_than_nine_have_numbers_too() -> None:
    found = unblock(busy())[0]
    found = replace(found, candidates=(found.candidates[0],) * 12)
    assert "  or ⑨ MARTIN" in (line := plain(to_start_line(found, key=True)))
    assert line.count("  or ") == 11
    assert "  or 12. MARTIN" in line
    assert " + 12. MARTIN" in plain(to_start_line(replace(found, needed=12)))


def test_the_joint_effect_is_shown_after_the_last_needed_session() -> None:
    first = unblock(busy())[0]
    pair = tuple(replace(each, commands=first.candidates[0].commands) for each in first.candidates)
    found = replace(first, needed=2, candidates=pair)
    named = plain(to_start_line(found))
    assert " + ② ETL" in named
    effect = EndingEffect((), 3, 60.0, 120.0, sooner=60.0, sooner_low=50.0, sooner_high=75.0)
    line = plain(to_start_line(replace(found, effect=effect)))
    words = " (3 of the queue start at once, the last queued perhaps 0:50-1:15 sooner: in 1:00 instead of 2:00)"
    assert line == named.replace("; ETL may", f"{words}; ETL may")
    nothing = replace(effect, starts=0, through=120.0, sooner=0.0)
    assert plain(to_start_line(replace(found, effect=nothing))) == named, "without an effect no words and no brackets"


def test_the_effect_of_an_end_leaves_room_for_the_count_of_others() -> None:
    """The line was "holds 32 (2 of the queue start at once) …", without the number of others."""
    found = unblock(busy())[0]
    effect = EndingEffect((), 2, None, None)
    found = replace(found, candidates=tuple(replace(each, effect=effect) for each in found.candidates))
    for room in range(90, 240):
        line = plain(to_start_line(found, room, key=True))
        assert ("2 of the queue start at once" not in line) or "…" not in line, room


def test_a_plan_in_the_format_of_dbms_xplan() -> None:
    def step(number: int, depth: int, operation: str, **more: object) -> PlanStep:
        empty = PlanStep(number, depth, operation, "", "", "", "", None, None, None, None, ("", ""), "", "")
        return replace(empty, **more)  # type: ignore[arg-type]

    plan = [
        step(0, 0, "SELECT STATEMENT", rows=24, cost=11_250),
        step(1, 1, "PX COORDINATOR"),
        step(2, 2, "PX SEND QC (RANDOM)", name=":TQ10000", queue="Q1,00", in_out="P->S", distribution="QC (RANDOM)"),
        step(3, 3, "TABLE ACCESS FULL", name="SALES", rows=40_000_000, queue="Q1,00", in_out="PCWP",
             filter='"AMOUNT">10'),
    ]  # fmt: skip
    assert xplan(plan, 77) == [
        "Plan hash value: 77",
        "",
        "----------------------------------------------------------------------------------------",
        "|   Id | Operation             | Name     | Rows | Cost |    TQ | IN-OUT | PQ Distrib  |",
        "----------------------------------------------------------------------------------------",
        "|    0 | SELECT STATEMENT      |          |   24 |  11K |       |        |             |",
        "|    1 |  PX COORDINATOR       |          |      |      |       |        |             |",
        "|    2 |   PX SEND QC (RANDOM) | :TQ10000 |      |      | Q1,00 | P->S   | QC (RANDOM) |",
        "| *  3 |    TABLE ACCESS FULL  | SALES    |  40M |      | Q1,00 | PCWP   |             |",
        "----------------------------------------------------------------------------------------",
        "",
        "Predicate Information (identified by operation id):",
        '   3 - filter("AMOUNT">10)',
    ]
    assert all(len(line) <= 60 for line in xplan(plan, None, 60))
    assert xplan([]) == []


@acted
async def test_two_keys_copy_the_command() -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        screen = await acting.press("4")
        assert "TO START IT  end ① MARTIN SQL Developer 1:526,60805, idle 22:10, holds 32" in screen
        await acting.keys("c", "1")
        assert acting.app.clipboard == "ALTER SYSTEM KILL SESSION '526,60805,@1';"
        assert "not run" in acting.screen
        assert any("It is a KILL command" in each.message for each in acting.app._notifications)
        assert "c 1 copies ①" in screen
        assert "c 1 copies ①" not in await acting.press("tab")
        await acting.keys("c", "1")
        assert acting.app.clipboard.startswith("ALTER SYSTEM KILL SESSION '526,")  # the first of those running
        before = acting.app.clipboard
        screen = await acting.press("down", "c")
        assert "ending an idle holder is enough, and loses no work. Its page shows its commands" in " ".join(
            screen.split()
        )
        await acting.keys("1")
        assert acting.app.clipboard == before
        await acting.keys("c", "s")
        assert acting.app.clipboard == "144,60805,@1"


@pytest.mark.parametrize("size", some([(200, 50)], [(120, 30), (160, 45)]), ids=str)
@acted
async def test_the_command_is_copied_with_the_gantt_open_and_after_it(size: tuple[int, int]) -> None:
    """On a wide screen tables stand beside the Gantt: ① keeps its meaning."""
    for keys in some([("4", "g"), ("4", "g", "tab", "tab"), ("4", "g", "g")], [("4", "g", "tab")]):
        async with stage(busy(), size=size) as acting:
            assert "c 1 copies ①" in await acting.press(*keys), keys
            await acting.keys("c", "1")
            assert acting.app.clipboard == "ALTER SYSTEM KILL SESSION '526,60805,@1';", keys
            assert "a fault in presman" not in acting.screen


@acted
async def test_the_line_offers_c_only_where_c_copies_the_command() -> None:
    async with stage(busy(), size=(200, 50), tab="4") as acting:
        assert "c 1 copies ①" not in await acting.press("tab"), "the first of those running is copied there"
        for table in ("parallel_groups", "servers"):
            assert "c 1 copies ①" not in await acting.press("tab")
            assert acting.app.focused is acting.app.query_one(f"#grid-{table}")
            await acting.keys("c")
            assert not acting.app.clipboard.startswith("ALTER"), "a row was copied"


@acted
async def test_each_command_has_its_number() -> None:
    async with stage(busy(), size=(120, 30), tab="4") as acting:
        copied = []
        for number in (1, 2, 3, 4, 1):
            await acting.keys("c", str(number))
            copied.append(acting.app.clipboard)
        assert copied[0] == "ALTER SYSTEM KILL SESSION '526,60805,@1';"
        assert "DEQUEUE_PARALLEL_STATEMENT(501, 7, 1, " in copied[1]
        assert copied[2] == "ALTER SYSTEM CANCEL SQL '501, 7, @1, 7xq3h001jskd0';"
        assert copied[3] == "144,60805,@1", "no kill of a working session is offered while an idle holder is enough"
        assert copied[4] == copied[0]
        await acting.keys("down", "c", "5")
        assert acting.app.clipboard == copied[0], "there is no fifth"


@pytest.mark.parametrize("size", some([(80, 24)], [(200, 50)]), ids=str)
@acted
async def test_in_the_storm_three_keys_copy_the_session_but_no_command(size: tuple[int, int]) -> None:
    """Three queues take turns for the servers of the idle holder, so no end is proven to help."""
    clock = Clock()
    poller = Poller(SimulatorSource("storm", seed=4, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC)))
    poller.open()
    async with stage(size=size) as acting:
        reading = await look(acting, poller, clock, 2)
        way = unblock(reading)[0]
        assert way.turns
        holder = next(each.statement for each in way.candidates if each.statement.idle is not None)
        screen = " ".join((await acting.press("4")).split())
        assert f"TO START IT {holder.who} (idle {holder.idle_time}) keeps {holder.servers} servers that" in screen
        listed = await acting.press("c")
        assert "KILL SESSION" not in listed
        (line,) = [each for each in listed.splitlines() if f"{holder.sid},{holder.serial},@1" in each]
        await acting.keys(line.strip()[0])
        assert acting.app.clipboard == f"{holder.sid},{holder.serial},@1"
    poller.close()


@acted
async def test_an_empty_queue_has_no_command() -> None:
    async with stage(quiet(), size=(120, 30), tab="4") as acting:
        await acting.keys("c", "1")
        assert "ALTER" not in acting.app.clipboard


@acted
async def test_g_replaces_the_tables_by_the_gantt_and_back() -> None:
    async with stage(busy(), size=(80, 24)) as acting:
        tables = await acting.press("4")
        over_time = await acting.press("g")
        assert "░ queued █ running" in over_time
        assert "Queued  14" not in over_time
        assert await acting.press("g") == tables


@acted
async def test_with_the_gantt_no_key_acts_on_a_hidden_row() -> None:
    none = "The chart has no rows: g goes back to the tables."
    async with stage(busy(), size=(120, 35), tab="4") as acting:
        await acting.keys(*["down"] * 9)
        under = acting.app.grid.row
        footer = (await acting.press("g")).splitlines()[-1]
        assert not {"open", "about", "sort", "filter", "fold"} & set(footer.split()), footer
        for key in ("O", "s", "S", "u", "enter", "d", "slash"):
            acting.app._notifications.clear()
            await acting.keys(key)
            assert [each.message for each in acting.app._notifications] == [none], key
        menu = await acting.press("c")
        assert "Copy  of the head that WHY names first" in menu
        head = acting.app.panels.present._first
        assert (head.sid, head.waited) != (under.sid, under.waited), "the cursor was on another one"
        assert f"{head.sid},{head.serial},@{head.inst_id}" in menu
        assert "the row" not in menu, "there is none to copy"


@acted
async def test_with_an_empty_gantt_c_says_so() -> None:
    async with stage(quiet(), size=(120, 35)) as acting:
        acting.app._notifications.clear()
        assert "No parallel statement has been seen" in await acting.press("4", "g", "c")
        assert [each.message for each in acting.app._notifications] == [
            "The chart has no rows: g goes back to the tables."
        ]


async def look(acting: Stage, poller: Poller, clock: Clock, polls: int, before: Reading | None = None) -> Reading:
    """Poll a simulated database, as closely as the screen asks, and show it."""
    previous, reading = None, before
    for _ in range(polls):
        poller.focus(acting.feed.focused)
        clock.now += 2
        current = poller.poll()
        reading = analyse(previous, current)
        acting.app.post_message(Arrived(reading, current))
        await acting.settle()
        previous = current
    assert reading is not None
    return reading


@acted
async def test_an_open_page_requests_details() -> None:
    clock = Clock()
    poller = Poller(SimulatorSource("storm", seed=15, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC)))
    poller.open()
    async with stage(size=(130, 160)) as acting:
        await look(acting, poller, clock, 3)
        await acting.keys("4", "tab", "enter")
        assert acting.feed.focused.sid
        await look(acting, poller, clock, 2)
        screen = acting.screen
        assert "Plan hash value" in screen
        assert "PX SEND QC (RANDOM)" in screen
        assert "Servers at work" in screen
        assert "times the mean CPU" in screen
        assert "Session statistics" in screen
        assert "Executions of this cursor so far" in screen
        assert "ALTER SYSTEM" in screen
        await acting.keys("q")
        assert acting.feed.focused.sid == 0
        await acting.keys("1")
        assert acting.feed.focused is None
    poller.close()


def test_the_action_at_the_timeout_is_shown() -> None:
    cancelled, run, unread = queued(1), queued(2, timeout_action="RUN"), queued(3, timeout_action="", timeout_left=9.0)
    assert cancelled.at_timeout == "it ends with ORA-07454"
    assert run.at_timeout.startswith("it starts at once, downgraded if")
    show = QUEUE.column("timeout_left_s").show
    assert (show(cancelled), show(run)) == ("56:26 ✕", "56:33 ▶")
    assert show(queued(1, timeout_left=None)) == "-"
    assert (unread.at_timeout, show(unread)) == (
        "it ends with ORA-07454 or starts at once (PQ_TIMEOUT_ACTION was not read)", "0:09 ?"
    )  # fmt: skip
    state = QUEUE.column("timeout_left_s").state
    assert [state(replace(each, timeout_left=59.0)) for each in (cancelled, run)] == ["bad", ""]
    page = "\n".join(plain(line) for line in row_details.page(cancelled, QUEUE, busy()))
    assert "It reaches its queue timeout in 56:26: then it ends with ORA-07454." in page


def test_the_queue_line_counts_plans_still_to_be_read() -> None:
    reading = busy()
    assert "still to come" not in plain(queue_line(reading, Watch()))
    assert "14 plans still to be read" in plain(queue_line(replace(reading, statements_to_come=14), Watch()))


def test_goals_are_shown_beside_the_queue_with_their_arithmetic() -> None:
    missed = GoalReading(Goal("REPORTS", 0.95, 30.0), 9, 1, (9, 1), (19, 1), 7200.0)
    idle = GoalReading(Goal("ETL", 0.5, 300.0), 0, 0, (0, 0), (0, 0), 60.0)
    assert plain(goal_line(replace(busy(), goals=(missed, idle)))) == (
        " GOALS  REPORTS within 0:30: 90 % of 10 in 30 min, 95 % of 20 in a day, 95 % wanted: missed"
        " · ETL within 5:00: nothing started in 1:00, 50 % wanted"
    )
    assert goal_line(busy()) == ()
