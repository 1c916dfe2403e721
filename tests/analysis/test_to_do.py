"""The one thing to do: which session DO names, what it waits for, and that it is silent when nothing is wrong."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.advice.ending import LONG_IDLE, refusal
from presman.analysis.advice.freeing import why_useless
from presman.analysis.advice.step import Proof, Step, ToDo
from presman.analysis.advice.to_do import to_do, to_do_for_now
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.alert_rules import worst_first, wrong
from presman.analysis.readings.container_readings import IoVerdict, LimitedContainer
from presman.analysis.readings.forecast_readings import EndingEffect, ForecastRecord, QueueForecast
from presman.analysis.readings.group_readings import (
    ActiveSessionPool,
    GroupReading,
    Verdict,
)
from presman.analysis.readings.reading import Reading, UnansweredQuery
from presman.analysis.readings.statement_readings import Cause, NotKnown, Servers, Shortage, StartForecast
from presman.base.formats import clock
from presman.figures.drawing.lines import plain
from presman.output.why_answer import AskedStatement, ReasonHistory, as_text
from presman.rows.session_state import session_kind
from presman.rows.snapshot import GoneInstance
from presman.tui.pages.advice_lines import offers_for, to_start_line, why_not_ended
from presman.tui.widgets.frame_lines import do_line
from tests.analysis.make import counters
from tests.tui.readings import busy, group, header, quiet, running, session


def advice(reading: Reading) -> ToDo:
    found = to_do(reading)
    assert found is not None
    return found


def one_queue(*held: Any, **facts: Any) -> Reading:
    """BATCH's head is 32 servers short of its group's limit; these hold servers, and the groups are as they count."""
    reading = busy()
    head = replace(reading.heads[0], **facts)
    servers = sum(each.servers for each in held if each.group == "BATCH")
    return replace(reading, heads=(head,), running=held, groups=(group("BATCH", px_servers=servers, px_queued=12),))


IDLE = {"idle": 900.0, "status": "INACTIVE"}


def test_an_idle_holder_that_alone_lets_the_head_start_is_ended() -> None:
    found = advice(one_queue(running(526, **IDLE), running(144, user="ETL")))
    assert found.step is Step.END
    assert found.text == "end MARTIN 1:526 (idle 15:00, keeps 32 servers): then the head of BATCH can start"
    assert found.command is not None
    assert found.command.text == "ALTER SYSTEM KILL SESSION '526,60805,@1';"
    assert "what is not committed is rolled back" in found.affects


@pytest.mark.parametrize(
    "holder",
    [
        running(526, idle=LONG_IDLE - 1, status="INACTIVE"),  # it may pause between two fetches
        running(526, certain=False, **IDLE),  # it may be a monitor's query
        running(526, elapsed=10.0),  # it works, however little would be lost
        running(526, servers=16, **IDLE),  # not enough
        running(526, group="ETL", **IDLE),  # its servers do not count where the head is short
        running(526, remaining=20.0, progress=0.9, operation="Table Scan", is_last=True),  # it is about to end
    ],
)
def test_only_an_idle_holder_is_named_to_be_ended(holder: Any) -> None:
    found = to_do(one_queue(holder))
    assert found is None or (found.step is not Step.END and found.command is None)


def test_a_session_whose_servers_may_not_count_is_not_ended() -> None:
    reading = one_queue(running(526, **IDLE), running(144, **IDLE))
    uncounted = replace(reading, groups=(group("BATCH", px_servers=32, px_queued=12),))  # one bypassed it
    assert advice(uncounted).command is None


def test_a_statement_about_to_end_is_waited_for() -> None:
    ending = running(526, remaining=20.0, progress=0.9, operation="Table Scan", is_last=True)
    found = advice(one_queue(ending, running(144, **IDLE)))
    assert (found.step, found.command) == (Step.WAIT, None)
    assert found.text == "wait: the head of BATCH should start by itself in about 0:20, when MARTIN 1:526 ends"
    later = advice(one_queue(running(526, remaining=240.0, progress=0.5, operation="Table Scan", is_last=True)))
    assert later.text == "wait: the head of BATCH can start in about 4:00, when MARTIN 1:526 should be done"


def test_a_blocker_is_looked_at_first_and_not_ended() -> None:
    reading = one_queue(running(526, blocker="1:88"), running(144, **IDLE))
    reading = replace(reading, sessions=(session(88, status="INACTIVE", last_call=1318.0, user="MARTIN"),))
    found = advice(reading)
    assert found.text == "look at MARTIN 1:88, idle 21:58: MARTIN 1:526 waits for it and holds 32 servers"
    assert (found.step, found.command, found.tab) == (Step.LOOK, None, "top")


def test_a_head_that_never_fits_needs_another_degree() -> None:
    found = advice(one_queue(running(526, **IDLE), cause=Cause.NEVER_FITS, shortages=()))
    assert (found.step, found.command) == (Step.CHANGE, None)
    assert "run it with a lower DOP, or in another group" in found.text


def test_the_limit_after_a_lost_instance_is_that_of_the_others() -> None:
    reading = one_queue(running(526), cause=Cause.NEVER_FITS, shortages=())
    gone = (GoneInstance(2, "DB2", reading.at - timedelta(minutes=30)),)  # it has been gone for too long to come first
    found = advice(replace(reading, gone=gone))
    assert found.text == (
        "the head of BATCH is too large for its limit, which is that of the instances that are left without instance "
        "2: whether it ever starts is not known; if it cannot wait, cancel it and run it with a lower DOP, or in "
        "another group"
    )
    assert found.short == "run BATCH's head with a lower DOP, or wait: it may never start without instance 2"


CANCEL = "cancel MARTIN 1:144 (no estimate of its end)"


def cancel(sid: int) -> str:
    """Return what is left to a person to decide."""
    return f"whether to {CANCEL.replace('144', str(sid))}: then the head of BATCH can start, and that work is lost"


def test_without_an_idle_holder_a_person_decides() -> None:
    """DO left it open which session to end, and TO START IT beside it named the session."""
    nobody = "no idle session holds servers that the head of BATCH could use: wait"
    reading = one_queue(running(526))
    found = advice(reading)
    assert found.text == f"{nobody}, or decide {cancel(526)}"
    assert (found.short, found.commands) == (f"wait, or {CANCEL.replace('144', '526')}: you decide", ())
    assert plain(to_start_line(unblock(reading)[0])).startswith(" TO START IT  wait, or cancel ① MARTIN ")
    head = reading.heads[0]
    starts = replace(head, statement=replace(head.statement, starts=StartForecast(50.0, 48.0, 64.0)))
    soon = [
        replace(reading, heads=(starts,), forecast=QueueForecast(ForecastRecord(judged, 2, 30.0))) for judged in (2, 5)
    ]
    waits = f"{nobody} (the head should start in 0:48-1:04, by its forecast), or decide {cancel(526)}"
    assert [advice(each).text for each in soon] == [waits, found.text], "forecasts that do not hold are not used"
    several = advice(one_queue(running(526, servers=16), running(144, servers=16)))
    assert several.short == f"wait, or {CANCEL} and MARTIN 1:526 (no estimate of its end): you decide"
    few = advice(one_queue(running(526, servers=8)))
    assert few.text == (
        "wait: ending a session may not start the head of BATCH: the sessions that can be ended may not free enough, "
        "so none is named"
    )
    assert few.short == "wait: ending a session may not start BATCH", "nobody is to be decided about, as in TO START IT"
    assert lines(soon[0], 200, 136, 100, 50) == [
        f"wait (the head should start in 0:48-1:04, by its forecast), or decide {cancel(526)}",
        f"wait, or decide {cancel(526)}",
        "wait, or cancel MARTIN 1:526 (you decide): BATCH can start, and that work is lost",
        "wait, or cancel MARTIN 1:526: you decide",
    ]


def lines(reading: Reading, *widths: int) -> list[str]:
    """Return the line DO at these widths on the tab that it names."""
    found = advice(reading)
    return [plain(do_line(found, width, found.tab)).removeprefix(" DO  ") for width in widths]


def test_the_decision_stays_at_every_width() -> None:
    """At 80 columns the line said to wait, and at 100 to decide."""
    lead = "wait, or decide whether to end MARTIN 1:526"
    assert lines(storm(running(526, **IDLE)), 120, 90, 60) == [
        f"{lead} (idle 15:00): it keeps 32 servers that queues take turns for",
        f"{lead}: it keeps 32 servers",
        lead,
    ]
    ended = one_queue(running(526, **IDLE))
    assert lines(ended, 100)[0].startswith("end MARTIN 1:526 (idle 15:00, keeps 32 servers): BATCH can start   C")


def test_an_offered_end_is_named_with_the_time_at_which_it_may_come_by_itself() -> None:
    """DO offered to cancel a statement, and ten seconds later said to wait because it would end in 0:30."""
    later, soon = one_queue(step(526, 49.0)), one_queue(step(526, 29.0))
    whether = "wait, or decide whether to cancel MARTIN 1:526 (it may end in about 0:49)"
    then = "then the head of BATCH can start, and that work is lost"
    assert advice(later).text == f"no idle session holds servers that the head of BATCH could use: {whether}: {then}"
    assert lines(later, 120) == [f"{whether}: BATCH can start, and that work is lost"]
    assert lines(later, 80) == ["wait, or cancel MARTIN 1:526 (it may end in about 0:49): you decide"]
    assert lines(later, 60) == ["wait, or cancel MARTIN 1:526: you decide"]
    when = "MARTIN 1:526 may end by itself in about 0:49, when its Table Scan is done"
    (way,) = unblock(later)
    assert way.answers
    assert way.sentence == f"ending one statement frees the 32 servers that let it start; {when}"
    sid = later.heads[0].statement.sid
    assert f"  to start it: {way.sentence}\n" in as_text(later, AskedStatement(sid=sid), ReasonHistory())
    assert advice(soon).text.startswith("wait: MARTIN 1:526 may end by itself in about 0:29, when its Table Scan is")
    assert not unblock(soon)[0].answers
    other = one_queue(step(526, 49.0, elapsed=9000.0), running(144, elapsed=9.0))
    assert f"wait (MARTIN 1:526 may end in about 0:49), or decide {cancel(144)}" in advice(other).text


def test_do_and_to_start_it_call_it_too_early_in_one_sentence() -> None:
    """DO left a decision where TO START IT said that it is too early for one."""
    new = waiting(one_queue(running(526)), 2.0)
    early = "has waited only 0:02: too early to end a session for it"
    assert unblock(new)[0].sentence == f"it {early}"
    assert advice(new).text == f"wait: the head of BATCH {early}"
    assert lines(new, 60) == ["wait: too early to end a session for BATCH"]


def test_working_sessions_are_cancelled_and_idle_ones_ended() -> None:
    """DO advised to cancel the idle one, whose work would be lost, and did not name the other."""
    idle = running(526, servers=16, **IDLE)
    found = advice(one_queue(idle, running(144, servers=16)))
    together = f"end MARTIN 1:526 and {CANCEL}"
    lets = "then the head of BATCH can start, and the work of MARTIN 1:144 is lost"
    assert found.text.endswith(f"; wait, or decide whether to {together}: {lets}")
    assert (found.short, found.commands) == (f"wait, or {together}: you decide", ())
    assert lines(one_queue(idle, running(144, servers=16)), 60) == ["wait, or end MARTIN 1:526 and cancel MARTIN 1:144"]
    smaller = replace(idle, servers=8)
    both = advice(one_queue(smaller, running(144, servers=16), running(145, servers=8)))
    lost = "then the head of BATCH can start, and the work of 2 of them is lost"
    assert both.text.endswith(f"whether to end MARTIN 1:526, {CANCEL.replace('144', '145')} and 1 other: {lost}")


@pytest.mark.parametrize(
    ("holder", "text", "short"),
    [
        (
            running(526, servers=8, **IDLE),  # of the 32 that the head is short of
            "MARTIN 1:526 (idle 15:00) keeps 8 servers; BATCH is short by 32, so ending it alone is not enough now; "
            f"wait, or decide {cancel(144)}",
            f"wait, or {CANCEL}: you decide",
        ),
        (
            running(526, group="ETL", **IDLE),  # BATCH is at its own limit
            "MARTIN 1:526 (idle 15:00) keeps 32 servers, but ending it would not let the head of BATCH start: it is in "
            f"ETL, and BATCH's own limit leaves too few servers; wait, or decide {cancel(144)}",
            f"wait, or {CANCEL}: you decide",
        ),
        (
            running(526, idle=80.0, status="INACTIVE"),
            "wait: MARTIN 1:526 keeps 32 servers that the head of BATCH could use; idle 1:20, so perhaps between two "
            "fetches: end it if it stays idle (from 2:00 on DO offers it)",
            "wait: MARTIN 1:526 keeps 32 servers, idle 1:20; perhaps between two fetches",
        ),
        (
            running(526, servers=8, idle=80.0, status="INACTIVE"),  # at 2:00 DO will not offer it: it is too little
            "MARTIN 1:526 (idle 1:20) keeps 8 servers; BATCH is short by 32, so ending it alone is not enough now; "
            f"wait, or decide {cancel(144)}",
            f"wait, or {CANCEL}: you decide",
        ),
    ],
)
def test_an_idle_holder_that_does_not_help_is_named_with_the_reason(holder: Any, text: str, short: str) -> None:
    found = advice(one_queue(holder, running(144)))
    assert (found.step, found.commands) == (Step.WAIT, ())
    assert (found.text, found.short) == (text, short)


@pytest.mark.parametrize(
    ("holder", "shortage", "counted", "why"),
    [
        (
            {"group": "ETL"},
            Shortage(32, group="BATCH"),
            32,
            "it is in ETL, and BATCH's own limit leaves too few servers",
        ),
        (
            {"con_id": 3, "container": "SALES"},
            Shortage(32, con_id=4),
            32,
            "it is in another container, SALES",
        ),
        ({}, Shortage(32, group="BATCH"), 0, "BATCH's limit does not count its servers"),
        ({}, Shortage(32, everybody=True, inst_ids=(2,)), 32, "its servers run on other instances"),
    ],
)
def test_an_idle_holder_is_named_with_why_its_servers_do_not_count(
    holder: dict[str, Any], shortage: Shortage, counted: int, why: str
) -> None:
    idle = running(526, **IDLE, **holder)
    reading = one_queue(idle, shortages=(shortage,))
    pool = replace(reading.header.servers, in_use=32, counted=counted)
    groups = (group("BATCH", px_servers=counted, px_queued=12),)
    reading = replace(reading, groups=groups, header=replace(reading.header, servers=pool))
    assert advice(reading).text == (
        f"wait: MARTIN 1:526 (idle 15:00) keeps 32 servers, but ending it would not let the head of BATCH start: {why}"
    )
    assert why_not_ended(idle, reading) == f"Ending it alone would not let the head of BATCH start: {why}."
    asked = as_text(reading, AskedStatement.of("501"), ReasonHistory())
    assert f"    ending MARTIN 1:526,60805 (idle 15:00, 32 servers) does not help: {why}\n" in asked


def test_the_moment_between_two_fetches_ends_at_two_minutes() -> None:
    before, after = (advice(one_queue(running(526, idle=idle, status="INACTIVE"))) for idle in (119.0, 120.0))
    assert (before.step, after.step) == (Step.WAIT, Step.END)


def limited(verdict: IoVerdict) -> LimitedContainer:
    return LimitedContainer(1, 3, "SALES", None, 1.6, None, 200, verdict, held_by="MAX_MBPS")


POOL = ActiveSessionPool(4, 14, 575.0, 600)


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (
            {"groups": (group("BATCH", 0.0, 4.0, share=0.0, level=2, verdict=Verdict.ZERO_SHARE),)},
            "give BATCH 5 % of the CPUs or more on level 1, or set another plan: level 2 is guaranteed nothing; "
            "5 % are 1.2 CPUs, BATCH wants 4.0",
        ),
        (
            {"groups": (group("BATCH", 2.4, 4.0, share=0.0, level=2, verdict=Verdict.ZERO_SHARE),)},
            "give BATCH 15 % of the CPUs or more on level 1, or set another plan: level 2 is guaranteed nothing; "
            "15 % are 3.6 CPUs, it uses 2.4 now, BATCH wants 6.4",
        ),
        (
            {"groups": (group("ETL", 0.6, 2.3, entitled=2.4, verdict=Verdict.STARVED),)},
            "check who uses the CPUs: ETL gets 0.6 of 2.4 CPUs that it is entitled to",
        ),
        (
            {"groups": (group("BATCH", pool=POOL),)},
            "look at the active sessions of BATCH, or raise ACTIVE_SESS_POOL_P1: 14 wait, the first fails in 0:25",
        ),
        ({"io_limited": (limited(IoVerdict.THROTTLED),)}, "raise MAX_MBPS in SALES if it needs more I/O"),
        (
            {"running": (running(526, **IDLE),)},
            "nothing yet: MARTIN 1:526 is idle with 32 servers, but no statement wants them",
        ),
    ],
)
def test_each_trouble_has_its_advice(facts: dict[str, Any], text: str) -> None:
    found = advice(replace(quiet(), **facts))
    assert found.text.startswith(text)
    assert found.command is None


THROTTLED = (
    limited(IoVerdict.THROTTLED),
    limited(IoVerdict.THROTTLED)._replace(con_id=4, name="TEST", held_by="MAX_IOPS", io_throttle_ms=42.5),
)


def test_a_limit_that_can_be_raised_comes_before_a_wait_as_bad() -> None:
    wait = one_queue(running(526))  # 12 of container 0 are queued behind it, and no session is idle
    both = replace(wait, io_limited=THROTTLED)
    waits = advice(wait)
    assert advice(both).text == (
        "raise MAX_IOPS in TEST if it needs more I/O: the limit throttled it in the last full minute; for the queue, "
        f"{waits.text}"
    )
    assert (advice(both).short, advice(both).beside) == (
        "raise MAX_IOPS in TEST if it needs more I/O",
        f"for the queue, {waits.short}",
    )
    young = replace(
        wait, heads=tuple(replace(each, statement=replace(each.statement, waited=59.0)) for each in wait.heads)
    )
    assert not advice(replace(young, io_limited=THROTTLED)).beside, (
        "a new statement may start before anyone has read it"
    )
    of_sales = tuple(replace(each, con_id=3) for each in wait.queue[:12])
    assert advice(replace(both, queue=of_sales)).text == (
        "raise MAX_MBPS in SALES if it needs more I/O: the limit throttled it in the last full minute, and 12 of its "
        f"statements wait in the queue; for the queue, {waits.text}"
    )
    assert waits.step is Step.WAIT
    its_head = (replace(wait.heads[0], con_id=3, container="SALES"),)
    once = advice(replace(both, queue=of_sales, heads=its_head)).text
    assert once.count("MAX_MBPS") == 1, "the limit to raise is that which slows what the head waits for"
    other = advice(replace(both, heads=its_head)).text
    assert other.startswith("raise MAX_IOPS in TEST")
    assert other.endswith("; MAX_MBPS slows SALES: raise it if SALES needs more I/O")
    late = (*of_sales, replace(of_sales[0], sid=999, waited=1.0))
    assert "13 of its statements wait in the queue" in advice(replace(both, queue=late)).text, (
        "as many as its alert counts"
    )


def test_a_statement_that_was_just_queued_does_not_make_a_limit_worse() -> None:
    """It may start before the next poll: DO alternated between two containers."""
    wait = one_queue(running(526))
    just = tuple(replace(each, con_id=3, waited=2.0) for each in wait.queue[:1])
    assert advice(replace(wait, io_limited=THROTTLED, queue=just)).text.startswith("raise MAX_IOPS in TEST")


@pytest.mark.parametrize(("minute", "first"), [(2.4, "MAX_MBPS in SALES"), (0.4, "MAX_IOPS in TEST")])
def test_the_queue_of_the_last_full_minute_decides_which_limit_comes_first(minute: float, first: str) -> None:
    """DO went from one limit to the other and back as the first statement had waited for half a minute or not."""
    wait = one_queue(running(526))
    sales = group("SALES_BATCH", con_id=3, px_queued_minute=minute)
    for waited in (2.0, 40.0):
        queue = tuple(replace(each, con_id=3, waited=waited) for each in wait.queue[:1])
        found = advice(replace(wait, io_limited=THROTTLED, queue=queue, groups=(*wait.groups, sales)))
        assert found.text.startswith(f"raise {first}")


def test_a_queue_that_is_critical_comes_before_a_limit_that_throttles() -> None:
    wait = one_queue(running(526))
    critical = replace(wait.heads[0], queue_waited=7200.0)
    reading = replace(wait, io_limited=THROTTLED, heads=(critical,))
    alone = f"no idle session holds servers that the head of BATCH could use: wait, or decide {cancel(526)}"
    assert advice(reading).text.startswith(f"{alone}; also SALES: I/O throttled")
    of_sales = replace(critical, con_id=3, container="SALES")
    slowed = advice(replace(reading, heads=(of_sales,)))
    assert slowed.text.startswith("no idle session")
    assert "; MAX_MBPS slows SALES: raise it if SALES needs more I/O; also TEST: I/O throttled" in slowed.text
    assert slowed.short.startswith("wait, or cancel MARTIN 1:526"), "its alert has a line of its own"


def test_a_group_near_its_entitlement_comes_last() -> None:
    near = group("ETL", 3.1, 0.9, entitled=4.0, verdict=Verdict.SHORT)
    assert advice(replace(quiet(), groups=(near,))).text.startswith("check who uses the CPUs: ETL")
    assert advice(replace(quiet(), groups=(near,), io_limited=THROTTLED)).text.startswith("raise MAX_IOPS in TEST")


def test_a_session_pool_near_its_timeout_comes_first() -> None:
    """That others take all CPU changes from poll to poll, the plan does not."""
    batch = group("BATCH", 0.0, 4.0, share=0.0, verdict=Verdict.ZERO_SHARE, pool=POOL)
    capped = group("CAPPED", 0.0, 4.0, share=0.0, verdict=Verdict.ZERO_SHARE)
    reading = replace(quiet(), groups=(capped, batch))
    assert [alert.key for alert in worst_first(wrong(reading))] == ["session_pool", "cpu_zero_share", "cpu_zero_share"]
    more = "5 % are 1.2 CPUs, BATCH wants 4.0; a larger pool gives no CPU"
    text = f"give BATCH 5 % of the CPUs or more: 14 wait, the first fails in 0:25; {more}"
    assert advice(reading).text == text
    one = batch._replace(verdict=Verdict.CONTENDED, pool=POOL._replace(queued=1))
    assert advice(replace(quiet(), groups=(one,))).text == text.replace("14 wait", "1 waits")


def test_a_group_without_a_share_gets_a_part_of_one_on_its_level() -> None:
    """A part of what a full level leaves is nothing; what the plan leaves unallocated costs no group anything."""
    web, system = group("WEB", 7.0, share=0.9, level=1), group("SYS_GROUP", 0.0, share=0.1, level=1)
    second = group("BATCH", 0.0, 4.0, share=0.0, level=2, verdict=Verdict.ZERO_SHARE)

    def asked(*groups: GroupReading) -> str:
        return advice(replace(quiet(), groups=groups)).short

    assert asked(second, system, web) == "give BATCH 5 % or more on level 1, of the 90 % of WEB"
    third, nowhere = second._replace(level=3), second._replace(level=None)
    assert asked(third, system, web) == "give BATCH 5 % or more on a level before level 3, of the 90 % of WEB"
    assert asked(nowhere, system, web) == "give BATCH 5 % or more, of the 90 % of WEB"
    free = "give BATCH 5 % or more, of the 20 % that the plan leaves unallocated"
    assert asked(nowhere, system, web._replace(share=0.7)) == free
    capped = second._replace(name="CAPPED")
    both = advice(replace(quiet(), groups=(capped, second, system, web)))
    assert both.text.startswith("give CAPPED and BATCH 5 % of the CPUs or more each on level 1, of the 90 % of WEB, or")
    full = advice(replace(quiet(), groups=(second._replace(pool=POOL), system, web)))
    shown = plain(do_line(full, 120))
    assert "give BATCH 5 % on level 1, of the 90 % of WEB: 14 wait" in shown, "level 1 is full: a share has a source"
    many = advice(replace(quiet(), groups=(capped, second, second._replace(name="ETL"), web)))
    assert many.text.startswith("give CAPPED and 2 others 5 % of the CPUs or more each")


def test_a_missing_plan_comes_before_waiting_and_after_an_end() -> None:
    (instance,) = header().instances
    top = replace(header(), instances=(replace(instance, cpu_managed="OFF"),))
    wait = one_queue(running(526))
    full = tuple(row._replace(used=instance.num_cpus, counters=counters()) for row in wait.groups)
    without = replace(wait, header=top, groups=full)
    plan = "set a plan that divides CPU (RESOURCE_MANAGER_PLAN): no plan divides the CPUs, and all are in use"
    assert advice(without).text == f"{plan}; for the queue, {advice(wait).text}"
    ends = one_queue(running(526, **IDLE))
    assert advice(replace(ends, header=top, groups=full)).step is Step.END


def test_an_idle_holder_is_ended_where_no_server_is_left() -> None:
    full = replace(header().servers, in_use=640)
    (instance,) = header().instances
    top = replace(header(), servers=full, instances=(replace(instance, servers=full),))
    found = advice(replace(quiet(), header=top, running=(running(526, **IDLE),)))
    assert found.text == "end MARTIN 1:526 (idle 15:00): it keeps 32 servers and none is free"
    assert found.proven == (Proof.SERVERS_FREED,), "no statement is queued"
    assert found.command is not None


def test_an_idle_holder_without_a_serial_number_is_not_ended() -> None:
    """DO said to end it without a command, and failed where the forecast proves that its end helps."""
    full = replace(header().servers, in_use=640)
    idle = running(526, serial=0, servers=8, **IDLE)
    found = advice(replace(quiet(), header=replace(header(), servers=full), running=(idle,)))
    assert (found.step, found.commands) == (Step.WAIT, ())
    queue = advice(foreseen(one_queue(idle), 0, 1500.0, 2470.0, proven=True))
    assert queue.text == "wait: MARTIN 1:526 holds 8 servers: its SID and SERIAL# are not known"


def test_no_advice_if_nothing_is_wrong() -> None:
    assert to_do(quiet()) is None
    capped = group("REPORTS", 6.0, 1.1, limit=6.0, verdict=Verdict.CAPPED)
    assert to_do(replace(quiet(), groups=(capped,), io_limited=(limited(IoVerdict.NEAR),))) is None


def test_waiting_for_several_names_their_number() -> None:
    reading = one_queue(running(526, **IDLE), running(144, **IDLE), shortages=(Shortage(64, group="BATCH"),))
    assert "end MARTIN 1:144 (idle 15:00, keeps 32 servers) and 1 other idle holder" in advice(reading).text


def ending(sid: int, left: float, **facts: Any) -> Any:
    return running(sid, remaining=left, progress=0.9, operation="Table Scan", is_last=True, **facts)


def storm(*held: Any, target: int = 64) -> Reading:
    """The heads of BATCH and ETL both want 32 servers of a target that is used up; no group has a limit."""
    reading = busy()
    common = {"cause": Cause.SYSTEM, "wants": Servers(32, 32), "allowed": None, "in_use": 64, "target": target}
    heads = tuple(replace(each, **common, shortages=(Shortage(32, everybody=True),)) for each in reading.heads)
    firsts = tuple(each.statement for each in heads)
    return replace(reading, heads=heads, queue=firsts, running=held, groups=())


def test_a_start_is_promised_only_if_no_other_head_can_take_the_servers() -> None:
    reading = storm(ending(526, 10.0))
    assert advice(reading).text == (
        "wait: the head of BATCH may start in about 0:10, when MARTIN 1:526 ends; ETL wants the same servers"
    )
    first, second = unblock(reading)
    assert (first.wait, first.soon, first.rivals) == (None, 10.0, ("ETL",))
    assert (second.wait, second.rivals) == (None, ("BATCH",))
    assert first.sentence == (
        "wait: it may start in about 0:10, with 32 servers freed then; ETL wants the same "
        "servers: the plan decides which is first, and no view shows it"
    )
    both = unblock(storm(ending(526, 10.0, servers=64)))
    assert [(each.wait, each.rivals) for each in both] == [(10.0, ()), (10.0, ())], "64 are enough for both"
    capped = replace(reading, heads=(reading.heads[0], replace(reading.heads[1], allowed=32, held=32)))
    assert unblock(capped)[0].wait == 10.0, "ETL's own limit leaves it nothing"


def step(sid: int, left: float, **facts: Any) -> Any:
    return running(sid, remaining=left, progress=0.74, operation="Table Scan of SALES", comes_nearer=True, **facts)


@pytest.mark.parametrize(
    ("user", "program", "refused"),
    [
        ("SYS", "sqlplus@h (TNS V1-V3)", False),
        ("ETL", "impdp@h (TNS V1-V3)", False),
        ("ETL", "oracle@h (DW00)", False),
        ("", "oracle@h (MMON)", True),
    ],
)
def test_only_background_processes_cannot_be_ended(user: str, program: str, refused: bool) -> None:
    kind = session_kind("", user, program, "", "")
    assert kind is not None
    assert bool(refusal(running(1, kind=kind))) is refused


def test_facts_of_a_missing_view_are_not_known() -> None:
    """V$SESSION and V$PX_SESSION show that a session is idle and holds servers; the other views count for limits."""
    assert refusal(running(1, outdated="GV$SESSION")) == "GV$SESSION did not answer, so this may be over"
    assert refusal(running(1, outdated="V$PX_SESSION")) == "V$PX_SESSION did not answer, so this may be over"
    for view in ("GV$RSRC_CONSUMER_GROUP", "V$RSRC_PLAN"):
        known = f"{view} did not answer, so what the limits count is not known"
        assert refusal(running(1, outdated=view)) == known


def test_no_cancel_is_offered_while_what_ends_soon_is_not_known() -> None:
    busy = one_queue(running(144, elapsed=9.0))
    assert unblock(busy)[0].answers
    silent = UnansweredQuery("session_longops", "GV$SESSION_LONGOPS", "no answer in time", "")
    (way,) = unblock(replace(busy, troubles=(silent,)))
    assert not way.answers
    why = "whether one that works ends by itself soon is not known (GV$SESSION_LONGOPS)"
    assert [each.why_not for each in way.candidates] == [why]
    assert way.sentence.endswith(f"; but {why}") or why in way.sentence
    text = f"wait: ending a session may not start the head of BATCH: {way.sentence}"
    assert advice(replace(busy, troubles=(silent,))).text == text


def test_a_statement_near_the_end_of_its_operation_is_waited_for() -> None:
    """Its cancellation was offered at 66 to 100 %, and it ended before anyone had decided."""
    reading = one_queue(step(526, 14.0), running(144, elapsed=9.0))
    (way,) = unblock(reading)
    assert (way.answers, way.wait) == ((), None), "whether that step is its last is not known"
    assert way.sentence == "wait: MARTIN 1:526 may end by itself in about 0:14, when its Table Scan is done"
    assert advice(reading).text == f"{way.sentence}, and then the head of BATCH can start"
    assert advice(reading).short == "wait: MARTIN 1:526 may end by itself in about 0:14"
    assert plain(to_start_line(way, key=True)) == f" TO START IT  {way.sentence}"
    assert all("may end by itself" in each.why_not for each in way.candidates), "nor is another session cancelled"
    first = reading.heads[0]
    new = replace(reading, heads=(replace(first, statement=replace(first.statement, waited=17.0)),))
    assert unblock(new)[0].sentence == way.sentence, "a head that has just come waits for the same one"
    assert advice(new).text.startswith(way.sentence)
    for other in (step(526, 31.0), replace(step(526, 14.0), comes_nearer=False), step(526, 14.0, servers=16)):
        (way,) = unblock(one_queue(other, running(144, elapsed=9.0)))
        assert way.answers, "it runs longer than it takes to decide, does not progress, or is not enough"
    assert advice(one_queue(step(526, 14.0), running(144, **IDLE))).step is Step.END, "no work is lost by that"
    both = one_queue(step(526, 14.0, servers=16), step(144, 20.0, servers=16))
    last = "MARTIN 1:144 (after MARTIN 1:526) may end by itself in about 0:20"
    assert unblock(both)[0].sentence.startswith(f"wait: {last}"), "the last of two"
    beside_idle = one_queue(step(526, 14.0, servers=16), running(144, **IDLE, servers=16))
    (way,) = unblock(beside_idle)
    assert way.answers == ()
    assert way.sentence.startswith("wait: MARTIN 1:526 may end by itself"), "then the idle holder's end is enough"
    assert advice(beside_idle).text == (
        "wait: MARTIN 1:526 may end by itself in about 0:14; until then ending MARTIN 1:144 (idle 15:00) is not enough"
    )
    far = one_queue(step(526, 14.0, servers=16), running(144, servers=16))
    assert unblock(far)[0].answers == (), "nor is one if another works for longer"


def test_the_ends_that_come_first_are_named_whatever_ending_others_would_lose() -> None:
    """DO named the last of those with least work to lose (0:48), and two others ended before it and were enough."""
    least = step(144, 29.0, servers=16, elapsed=26.0), step(405, 48.0, servers=16, elapsed=26.0)
    reading = one_queue(step(526, 22.0, servers=16, elapsed=4000.0), *least)
    (way,) = unblock(reading)
    assert [each.statement.sid for each in way.candidates] == [144, 405, 526]
    said = "wait: MARTIN 1:144 (after MARTIN 1:526) may end by itself in about 0:29, when its Table Scan is done"
    assert (way.sentence, advice(reading).text) == (said, f"{said}, and then the head of BATCH can start")
    later = one_queue(step(526, 42.0, servers=16, elapsed=4000.0), replace(least[0], remaining=41.0), least[1])
    assert [each.sid for each in unblock(later)[0].answers[0]] == [144, 405]
    assert "wait (MARTIN 1:526 (after MARTIN 1:144) may end in about 0:42), or decide" in advice(later).text


PAUSE = {"idle": 80.0, "status": "INACTIVE"}


def waiting(reading: Reading, waited: float) -> Reading:
    first = reading.heads[0]
    return replace(
        reading, heads=(replace(first, statement=replace(first.statement, waited=waited)), *reading.heads[1:])
    )


def test_a_statement_about_to_end_is_waited_for_beside_an_idle_holder() -> None:
    """DO named the idle holder, while TO START IT named the one that may end within half a minute."""
    reading = one_queue(step(526, 14.0), running(144, **PAUSE))
    (way,) = unblock(reading)
    assert way.sentence == "wait: MARTIN 1:526 may end by itself in about 0:14, when its Table Scan is done"
    assert advice(reading).text == f"{way.sentence}, and then the head of BATCH can start"


def test_do_and_to_start_it_give_the_same_reason_against_an_end() -> None:
    alone, together = running(526, **PAUSE), (running(526, servers=16, **PAUSE), running(144, servers=16, elapsed=9.0))
    for reading in (one_queue(alone), one_queue(*together)):
        assert "too early" in unblock(waiting(reading, 17.0))[0].sentence
        assert "; the head has waited only 0:17" in advice(waiting(reading, 17.0)).text
        assert "perhaps between two fetches" in unblock(reading)[0].sentence
        assert "; " + "perhaps between two fetches" in advice(reading).text.replace("idle 1:20, so ", "")
        assert "not enough now" not in advice(reading).text
    shown = plain(do_line(advice(waiting(one_queue(alone), 17.0)), 100))
    assert "has waited only 0:17" in shown


def test_do_says_which_end_decides_before_it_names_a_session_to_cancel() -> None:
    """DO said that ending the idle holder alone is not enough, and TO START IT offered both."""
    reading = one_queue(running(526, servers=16, **IDLE), running(144, servers=16, elapsed=9.0))
    assert len(unblock(reading)[0].answers[0]) == 2
    step = to_do_for_now(reading)
    assert step is not None
    assert step.text.endswith("; wait, or decide whose work to end besides MARTIN 1:526")
    assert "144" not in step.text
    assert "wait, or decide whose work to end besides MARTIN 1:526 (idle 15:00)" in plain(do_line(step, 100))


def test_a_head_that_should_start_soon_is_waited_for() -> None:
    """`Starts in` had 0:01-0:14, and the line beside it offered a command."""

    def starting(latest: float, record: ForecastRecord, *held: Any) -> Reading:
        reading = one_queue(*held)
        head = reading.heads[0]
        soon = replace(head.statement, starts=StartForecast(11.0, 1.0, latest))
        return replace(reading, heads=(replace(head, statement=soon),), forecast=QueueForecast(record))

    good = ForecastRecord(3, 3, 30.0)
    held = running(526, elapsed=10.0)
    reading = starting(14.0, good, held)
    (way,) = unblock(reading)
    assert (way.answers, way.wait) == ((), 14.0)
    said = "should start by itself within 0:14, by its forecast"
    assert plain(to_start_line(way, key=True)) == f" TO START IT  wait: it {said}"
    assert advice(reading).text == f"wait: the head of BATCH {said}"
    assert advice(reading).short == "wait: BATCH should start by itself within 0:14"
    assert not offers_for(reading.heads[0].statement, reading).commands
    assert unblock(starting(31.0, good, held))[0].answers
    assert unblock(starting(14.0, ForecastRecord(5, 2, 30.0), held))[0].answers, "such forecasts have failed"
    late = (reading.heads[0].statement.executing(),)
    assert unblock(replace(reading, late_starts=late))[0].wait is None, "an earlier one has failed for this statement"
    proven = foreseen(reading, 0, 700.0, 900.0, proven=True)
    assert unblock(proven)[0].wait == 14.0
    pauses = starting(14.0, good, running(526, **PAUSE), running(144, servers=8, elapsed=10.0))
    assert unblock(pauses)[0].wait is None, "it started only if the idle holder ended, which waits for its user"
    assert "should start" not in advice(pauses).text
    slow = starting(14.0, good, running(526, **PAUSE), step(144, 154.0))
    assert unblock(slow)[0].wait is None, "the one that works has too much left to do"
    assert unblock(starting(14.0, good, running(526, **PAUSE), step(144, 24.0)))[0].wait == 14.0
    idle = starting(14.0, good, running(526, **IDLE))
    assert advice(idle).step is Step.END
    assert advice(foreseen(idle, 0, 700.0, 900.0, proven=True)).step is Step.END, "the last of the queue starts sooner"


def test_waiting_counts_by_the_earliest_end_that_is_enough() -> None:
    slow, quick = ending(405, 124.0, elapsed=10.0), ending(992, 100.0, elapsed=900.0)
    assert advice(one_queue(slow, quick)).text == (
        "wait: the head of BATCH can start in about 1:40, when MARTIN 1:992 should be done"
    )


def test_if_two_must_end_the_last_is_named() -> None:
    found = advice(one_queue(ending(405, 8.0, servers=16), ending(992, 21.0, servers=16)))
    assert found.text == (
        "wait: the head of BATCH should start by itself in about 0:21, when MARTIN 1:992, the last of 2, ends"
    )


def test_of_equal_waits_none_is_called_the_head() -> None:
    assert advice(one_queue(running(526), equals=9)).text.startswith(
        "no idle session holds servers that one of the first 10 of BATCH could use"
    )


def one_of_them_may_want_more(reading: Reading) -> Reading:
    """Return a reading in which another of BATCH has waited as long as its head, and wants 64 servers."""
    head = replace(reading.heads[0], equals=1)
    other = replace(head.statement, sid=head.statement.sid + 1, wants=Servers(64, 64))
    return replace(reading, heads=(head, *reading.heads[1:]), queue=(*reading.queue, other))


def test_if_queues_take_turns_only_a_forecast_proves_an_end() -> None:
    """Free servers of one instant decide nothing: which head is first, and what it wants, changes within seconds."""
    both = storm(running(526, **IDLE))  # keeps the 32 that each of the two heads is short of
    etl = replace(both.heads[1], wants=Servers(48, 48), shortages=(Shortage(48, everybody=True),))
    larger = replace(both, heads=(both.heads[0], etl))
    whoever = "ending it starts at least one of their heads, and the plan decides which"
    order = "the plan decides which is first, and no view shows it"
    some = "ending it is enough for BATCH, but ETL is short by 48; the plan decides which is first"
    decide = "wait, or decide whether to end MARTIN 1:526 (idle 15:00): it keeps 32 servers that queues take turns for"
    for reading, effect in ((both, whoever), (larger, some), (one_of_them_may_want_more(both), order)):
        assert advice(reading).commands == ()
        assert advice(reading).text == f"{decide}, so what its end would start is not certain"
        assert effect in unblock(reading)[0].sentence
    for reading in (
        foreseen(both, 1, 880.0, 900.0),
        foreseen(both, 0, 700.0, 900.0),
        foreseen(both, 0, 1380.0, 1420.0),
    ):
        assert advice(reading).text == advice(both).text, "one sentence, whatever the forecast of the moment"
    proven = foreseen(both, 0, 700.0, 900.0, proven=True)
    assert advice(proven).step is Step.END
    assert advice(proven).proven == (Proof.QUEUE_SOONER,), "which of the two starts is not proven"
    assert [each.proven for way in unblock(proven) for each in way.candidates] == [(Proof.QUEUE_SOONER,)] * 2
    assert proven.forecast is not None
    proven = one_of_them_may_want_more(proven)
    for judged, held in ((5, 2), (1, 1), (3, 3)):  # too few to say what ending it would do
        few = replace(proven, forecast=QueueForecast(ForecastRecord(judged, held, 30.0)))
        assert advice(few).text == advice(both).text
    capped = replace(both.heads[0], shortages=(Shortage(32, group="BATCH"),))
    own = replace(both, heads=(capped, replace(both.heads[1], allowed=32, held=32)))
    assert advice(own).text == "end MARTIN 1:526 (idle 15:00, keeps 32 servers): then the head of BATCH can start"


def test_a_queue_of_a_minute_ago_still_takes_turns() -> None:
    """For one poll of 400 ETL had no queue, and DO ended a session for BATCH alone until the next."""
    alone = storm(running(526, **IDLE))
    alone = replace(alone, heads=alone.heads[:1], queue=alone.queue[:1])
    assert advice(replace(alone, groups=(group("ETL", px_queued_minute=0.0), group("REPORTS")))).step is Step.END
    silent = replace(alone, troubles=(UnansweredQuery("group_metric", "GV$RSRCMGRMETRIC", "no answer in time", ""),))
    assert advice(silent).commands == (), "whether ETL was there is not known"
    why = "whether other queues wanted these servers a minute ago is not known (GV$RSRCMGRMETRIC)"
    assert [each.why_not for each in unblock(silent)[0].candidates] == [why]
    lately = replace(
        alone, groups=(group("ETL", px_queued_minute=0.4), group("BATCH", px_servers=32, px_queued_minute=3.0))
    )
    found = advice(lately)
    assert (found.step, found.commands) == (Step.WAIT, ())
    assert found.text.startswith("wait, or decide whether to end MARTIN 1:526 (idle 15:00): it keeps 32 servers")
    (way,) = unblock(lately)
    assert not way.answers
    keeps = "MARTIN 1:526 (idle 15:00) keeps 32 servers that BATCH wants, and ETL did a minute ago: "
    assert way.sentence == f"{keeps}the plan decides which is first, and no view shows it"
    little = replace(lately, running=(running(526, **IDLE, servers=16), running(900, **IDLE, servers=16)))
    assert unblock(little)[0].sentence == (
        f"{keeps.replace('32', '16')}BATCH is short by 32, so ending it alone is not enough now"
    ), "whatever ETL would want: it has no queue"
    works = replace(lately, running=(running(144, group="ETL"),))
    (way,) = unblock(works)
    assert (way.turns, way.sentence) == ((), "ending one statement frees the 32 servers that let it start"), "now, too"
    assert way.answers
    own = replace(lately, heads=(replace(lately.heads[0], shortages=(Shortage(32, group="BATCH"),)),))
    assert advice(own).step is Step.END, "of BATCH's own limit ETL takes nothing"
    fifo = replace(lately, heads=(replace(lately.heads[0], one_queue=True),))
    assert advice(fifo).step is Step.END, "in one queue later statements are behind"


def test_no_end_if_an_equal_wait_wants_more() -> None:
    """One of 18 that wanted 16 was shown as first: the real first wanted 32, and none started."""
    reading = one_queue(running(526, **IDLE), running(144, **IDLE), equals=1)
    wants = Servers(64, 64)
    alike = replace(reading.queue[1], waited=reading.queue[0].waited, wants=wants)
    more = replace(reading, queue=(reading.queue[0], alike, *reading.queue[2:]))
    unsure = "another that waited as long wants 64 servers, and which is first is not known"
    (way,) = unblock(more)
    assert (way.answers, way.unsure) == ((), unsure)
    assert advice(more).commands == ()
    assert advice(more).text.endswith(f"that one of the first 2 of BATCH could use; {unsure}")
    assert way.sentence.endswith(f"frees the 32 servers with which one of the first 2 may start; but {unsure}")
    waits = replace(more, running=(ending(526, 10.0),), groups=(group("BATCH", px_servers=32),))
    assert advice(waits).text == (
        f"wait: one of the first 2 of BATCH may start in about 0:10, when MARTIN 1:526 ends; {unsure}"
    )
    unknown = replace(more, queue=(reading.queue[0], replace(alike, wants=None)))
    assert unblock(unknown)[0].unsure == "another that waited as long may want more, and which is first is not known"
    same = replace(more, queue=(reading.queue[0], replace(alike, wants=Servers(32, 32))))
    assert advice(same).step is Step.END


@pytest.mark.parametrize(("short", "groups"), [(16, []), (17, ["BATCH"])])
def test_a_limit_that_binds_only_at_most_does_not_forbid_an_end(short: int, groups: list[str]) -> None:
    """The head wants 16 to 32 servers: with 16 less than it may want it starts if it wants the least."""
    limits = (Shortage(short, group="BATCH"), Shortage(32, everybody=True))
    holder = running(526, group="ETL", user="ETL", **IDLE)
    reading = one_queue(holder, wants=Servers(16, 32), shortages=limits)
    assert list(why_useless(holder, reading)) == groups


@pytest.mark.parametrize("waits", [(None, 60.0), (60.0, None), (None, None)])
def test_no_end_if_the_longest_wait_is_not_known(waits: tuple[float | None, float | None]) -> None:
    reading = one_queue(running(526, **IDLE), equals=1)
    first, other = (replace(each, waited=waited) for each, waited in zip(reading.queue[:2], waits, strict=True))
    head = replace(reading.heads[0], statement=first)
    unknown = replace(reading, heads=(head,), queue=(first, replace(other, wants=Servers(64, 64))))
    (way,) = unblock(unknown)
    assert (way.answers, advice(unknown).step) == ((), Step.WAIT)
    assert way.unsure == "another wants 64 servers, and which is first is not known"


def test_an_end_too_small_for_each_head_is_said_to_start_none() -> None:
    """8 were free, an idle holder kept 16, two heads wanted 32 each, and the effect of its end was "not known"."""
    both = storm(running(526, **IDLE, servers=16), running(144, group="ETL"))
    keeps = "MARTIN 1:526 (idle 15:00) keeps 16 servers that BATCH and ETL want: "
    lacks = "BATCH is short by 32 and ETL is short by 32, so ending it alone is not enough now"
    decide = "wait, or decide whether to end MARTIN 1:526"
    assert advice(both).short == f"{decide}: it keeps 16 servers"
    unknown = replace(both.heads[0], cause=Cause.UNKNOWN)
    assert unknown.why == "why it waits is not known", "it stands beside how long the head has waited"
    judged = replace(both, forecast=QueueForecast(ForecastRecord(3, 3, 30.0)))
    for reading in (both, judged):
        assert advice(reading).text.startswith(f"{decide} (idle 15:00): it keeps 16 servers")
        (sentence,) = {each.sentence for each in unblock(reading)}
        assert sentence == f"{keeps}{lacks}"
    enough = replace(both.heads[1], wants=Servers(16, 16), shortages=(Shortage(16, everybody=True),))
    ranged = replace(both.heads[1], wants=Servers(16, 32))
    some = "ending it is enough for ETL, but BATCH is short by 32; the plan decides which is first"
    order = "the plan decides which is first, and no view shows it"
    for etl, effect in ((enough, some), (ranged, order)):
        other = replace(both, heads=(both.heads[0], etl))
        assert advice(other).text == advice(both).text
        assert unblock(other)[1].sentence == f"{keeps}{effect}"
    foretold = foreseen(both, 0, 700.0, 900.0)
    assert advice(foretold).text == advice(both).text


def test_an_end_under_one_of_two_limits_is_of_no_use() -> None:
    """It freed 8 of 24 that the target lacked, DO said 0 of 24, and it was in another group than the full one."""
    idle = running(526, group="ETL", **IDLE, servers=8)
    both = (Shortage(24, everybody=True), Shortage(16, group="BATCH"))
    reading = one_queue(idle, running(144), running(145), shortages=both)
    assert advice(reading).text == (
        "MARTIN 1:526 (idle 15:00) keeps 8 servers, but ending it would not let the head of BATCH start: it is in ETL, "
        f"and BATCH's own limit leaves too few servers; wait, or decide {cancel(144)}"
    )
    assert advice(reading).short == f"wait, or {CANCEL}: you decide"
    (way,) = unblock(reading)
    assert idle.sid not in {each.statement.sid for each in way.candidates}
    asked = as_text(reading, AskedStatement(sid=reading.heads[0].statement.sid), ReasonHistory())
    assert (
        "ending MARTIN 1:526,60805 (idle 15:00, 8 servers) does not help: it is in ETL, and BATCH's own limit" in asked
    )
    with_it = one_queue(idle, running(144, servers=16), shortages=both)
    together = as_text(with_it, AskedStatement(sid=reading.heads[0].statement.sid), ReasonHistory())
    assert "by ending MARTIN 1:526" in together
    assert "does not help" not in together, "it is one of the two that do together"


WAITS = "; for BATCH you can only wait"
"""Why DO is about another queue than the first."""


def test_do_names_the_queues_whose_limits_count_what_an_idle_holder_keeps() -> None:
    """The alert says that BATCH is held by its group limit, which may not count MARTIN: it does not wait for him."""
    both = storm(running(526, **IDLE), running(144))  # one of the two did not queue
    own = (Shortage(32, everybody=True), Shortage(16, group="BATCH"))
    held = replace(both, heads=(replace(both.heads[0], cause=Cause.GROUP, shortages=own), both.heads[1]))
    found = advice(replace(held, groups=(group("BATCH", px_servers=32),)))
    assert found.short == "wait, or decide whether to end MARTIN 1:526: it keeps 32 servers"
    keeps = "MARTIN 1:526 (idle 15:00) keeps 32 servers that ETL wants (BATCH's limit may not count them)"
    assert unblock(replace(held, groups=(group("BATCH", px_servers=32),)))[1].sentence.startswith(keeps)
    alone = advice(replace(held, groups=(group("BATCH", px_servers=0),)))
    assert alone.text == f"end MARTIN 1:526 (idle 15:00, keeps 32 servers): then the head of ETL can start{WAITS}"


def test_a_queue_at_its_own_limit_takes_no_turns_for_other_servers() -> None:
    """BATCH held 32 of 32, and REPORTS lacked 16 that an idle session of its own kept: no other queue wanted them."""
    both = storm(running(526, group="ETL", **IDLE), running(144))
    own = (Shortage(16, everybody=True), Shortage(16, group="BATCH"))
    etl = both.heads[1]
    capped = replace(both, heads=(replace(both.heads[0], cause=Cause.GROUP, shortages=own), etl))
    held = replace(capped, groups=(group("BATCH", px_servers=32), group("ETL", px_servers=32)))
    batch, first = unblock(held)
    assert (first.turns, first.rivals) == ((), ())
    ends = f"end MARTIN 1:526 (idle 15:00, keeps 32 servers): then the head of ETL can start{WAITS}"
    assert advice(held).text == ends
    for left, turns in ((10.0, ("BATCH", "ETL")), (45.0, ())):  # the END was withdrawn 10 s later
        soon = replace(held, running=(*held.running, step(144, left, group="BATCH")))
        assert unblock(soon)[1].turns == turns, "BATCH has room again before anyone has decided"
        assert (advice(soon).step is Step.END) == (not turns)
    assert batch.turns == ("BATCH", "ETL"), "of what an end in BATCH frees ETL may take some"
    works = replace(held, running=(running(144), running(145)))
    assert unblock(works)[1].turns == ("BATCH", "ETL"), "the end of one of BATCH helps BATCH, too"
    whole = replace(works, groups=(group("BATCH", px_servers=64), group("ETL", px_servers=0)))
    assert [each.sentence.partition(": ")[0] for each in unblock(whole)] == [
        "only servers that BATCH's limit counts can start it, and ETL wants them, too",  # not all that come free next
        "BATCH and ETL want the next free servers",
    ]
    ranged = replace(capped.heads[0], wants=Servers(16, 32))
    assert unblock(replace(held, heads=(ranged, etl)))[1].turns == ("BATCH", "ETL"), "BATCH may want 16 fewer"
    less = replace(held.queue[0], sid=9, wants=Servers(8, 8))
    alike = replace(capped.heads[0], equals=1)
    queue = (*held.queue, less)
    assert unblock(replace(held, heads=(alike, etl), queue=queue))[1].turns == ("BATCH", "ETL"), "which is first?"
    lately = replace(held, heads=(etl,), queue=held.queue[1:])
    for limit, turns in ((64, ("BATCH", "ETL")), (32, ())):
        batch_group = group("BATCH", px_servers=32, servers_limit=limit, px_queued_minute=0.4)
        assert unblock(replace(lately, groups=(batch_group, group("ETL", px_servers=32))))[0].turns == turns


def test_do_names_the_holders_own_queue_if_it_lacks_only_the_target() -> None:
    """A limit that holds no head back does not matter: BATCH wants these servers as ETL does."""
    both = storm(running(526, **IDLE), running(144))
    reading = replace(both, groups=(group("BATCH", servers_limit=64, px_servers=32),))
    for way in unblock(reading):
        assert "keeps 32 servers that BATCH and ETL want: ending it starts at least one of" in way.sentence
    assert advice(reading).short == "wait, or decide whether to end MARTIN 1:526: it keeps 32 servers"


def test_a_promised_start_comes_before_an_idle_holder_of_several_queues() -> None:
    """64 come free in ten seconds, which is enough for both heads, so nothing is to be decided."""
    assert advice(storm(running(527, **IDLE), ending(526, 10.0, servers=64))).text == (
        "wait: the head of BATCH should start by itself in about 0:10, when MARTIN 1:526 ends"
    )
    assert "wait, or decide" in advice(storm(running(527, **IDLE), ending(526, 10.0))).text, "one of them may, no more"


def test_of_several_queues_that_of_the_idle_holder_comes_first() -> None:
    """DO said that ending MARTIN does not let BATCH start, while TO START IT of ETL offered it."""
    reading = one_queue(running(526, group="ETL", idle=80.0, status="INACTIVE"), running(144))
    etl = replace(busy().heads[1], shortages=(Shortage(32, group="ETL"),), cause=Cause.GROUP)
    both = replace(reading, heads=(reading.heads[0], etl), groups=(*reading.groups, group("ETL", px_servers=32)))
    assert advice(both).text == (
        "wait: MARTIN 1:526 keeps 32 servers that the head of ETL could use; idle 1:20, so perhaps between two fetches"
        f": end it if it stays idle (from 2:00 on DO offers it); for BATCH, wait, or {CANCEL}: you decide"
    )
    assert "from 2:00 on" not in advice(foreseen(both, 1, 880.0, 900.0)).text, "DO will not: it saves too little"
    starts = replace(etl, statement=replace(etl.statement, starts=StartForecast(5.0, 3.0, 10.0)))
    by_itself = replace(both, heads=(both.heads[0], starts), forecast=QueueForecast(ForecastRecord(50, 41, 22.0)))
    assert "BATCH" in advice(by_itself).text
    assert "ETL should start" not in advice(by_itself).text, "BATCH has waited longer, and does not start by itself"


def test_the_first_queue_comes_first_even_if_another_starts_sooner() -> None:
    reading = one_queue(running(144))
    later = replace(busy().heads[1], shortages=(Shortage(16, group="ETL"),), cause=Cause.GROUP)
    both = replace(reading, running=(*reading.running, ending(145, 10.0, group="ETL")), heads=(reading.heads[0], later))
    assert "BATCH" in advice(both).text
    assert "ETL" not in advice(both).short
    critical = replace(both, heads=(reading.heads[0], replace(later, queue_waited=4000.0)))
    assert advice(critical).text.startswith("wait: the head of ETL should start by itself in about 0:10")


def test_the_session_that_do_names_is_the_first_candidate() -> None:
    """A statement of seven seconds would be enough alone, but `c 1` and `C` copy the idle holder."""
    reading = one_queue(running(526, servers=16, **IDLE), running(144, user="ETL", elapsed=7.0))
    (found,) = unblock(reading)
    assert [each.statement.sid for each in found.candidates[: found.needed]] == [144], "MARTIN is not needed"
    proven = foreseen(reading, 0, 1500.0, 2470.0, proven=True)
    (found,) = unblock(proven)
    assert [each.statement.sid for each in found.candidates[: found.needed]] == [526, 144]
    assert found.candidates[0].commands[0] == advice(proven).command
    little = one_queue(running(526, servers=8, **IDLE), running(144, user="ETL", elapsed=7.0))
    (found,) = unblock(little)
    assert [each.statement.sid for each in found.candidates[: found.needed]] == [144]


def test_a_forecast_by_a_limit_read_minutes_ago_proves_no_end() -> None:
    """Courses that were simulated before the view fell silent still show that the queue would empty sooner."""
    proven = foreseen(one_queue(running(526, servers=16, **IDLE)), 0, 1500.0, 2470.0, proven=True)
    assert advice(proven).step is Step.END
    old = NotKnown("how many servers BATCH may hold now", "DBA_RSRC_PLAN_DIRECTIVES", 246.0)
    silent = replace(proven, heads=tuple(replace(each, not_known=old) for each in proven.heads))
    assert (advice(silent).step, advice(silent).commands) == (Step.WAIT, ())
    assert "DBA_RSRC_PLAN_DIRECTIVES of 4:06 ago" in advice(silent).text
    assert not [each for way in unblock(silent) for each in way.candidates if each.commands]


@pytest.mark.parametrize(("waited", "step"), [(29.0, Step.WAIT), (30.0, Step.END), (None, Step.END)])
def test_no_end_for_a_statement_that_was_just_queued(waited: float | None, step: Step) -> None:
    reading = one_queue(running(526, **IDLE))
    first = replace(reading.heads[0].statement, waited=waited)
    found = advice(replace(reading, heads=(replace(reading.heads[0], statement=first),)))
    assert found.step is step
    if step is Step.WAIT:
        assert found.text == (
            "wait: MARTIN 1:526 keeps 32 servers that the head of BATCH could use; the head has waited only 0:29: too "
            "early to end a session for it"
        )


def foreseen(
    reading: Reading, starts: int, through: float | None, otherwise: float | None, *, proven: bool = False
) -> Reading:
    """Return a reading with this forecast of its first running statement, with a third of the gain on either side."""
    gain = None if through is None or otherwise is None else otherwise - through
    third = 0.0 if gain is None else gain / 3
    range_ = (None, None, None) if gain is None else (gain, gain - third, gain + third)
    effect = EndingEffect((reading.running[0].executing(),), starts, through, otherwise, proven, *range_)
    return replace(reading, forecast=QueueForecast(effects=(effect,)))


def test_do_says_perhaps_of_a_gain_that_is_not_proven() -> None:
    """The head certainly starts; for the last of the queue too few forecasts were judged."""
    alone = one_queue(running(526, **IDLE), running(144))
    starts = {each: advice(foreseen(alone, 1, 254.0, 900.0, proven=each)).text for each in (False, True)}
    assert "can start; the last queued statement perhaps starts 7:10-14:21 sooner: at " in starts[False]
    assert "can start; the last queued statement starts 7:10-14:21 sooner: at " in starts[True]


def test_a_small_holder_is_ended_if_the_whole_queue_starts_sooner() -> None:
    little = one_queue(running(526, servers=8, **IDLE), running(144))
    through, otherwise = (clock(little.at + timedelta(seconds=each))[:5] for each in (1500.0, 2470.0))
    found = advice(foreseen(little, 0, 1500.0, 2470.0, proven=True))
    assert found.text == (
        "end MARTIN 1:526 (idle 15:00, keeps 8 servers): "
        f"the last queued statement starts 10:46-21:33 sooner: at {through} instead of {otherwise}"
    )
    assert found.short == "end MARTIN 1:526: the queue empties sooner"
    assert advice(foreseen(little, 0, 1500.0, 2470.0)).step is Step.WAIT, "it is no proof"
    assert advice(foreseen(little, 3, None, None)).step is Step.WAIT


def test_wait_if_the_forecast_says_that_waiting_is_as_good() -> None:
    half = one_queue(running(526, servers=16, **IDLE), running(144))
    assert advice(foreseen(half, 0, 900.0, 900.0)).text == (
        "MARTIN 1:526 (idle 15:00) keeps 16 servers; ending it should not let any statement start sooner, so waiting "
        f"is as good; wait, or decide {cancel(144)}"
    )
    contested = foreseen(storm(running(526, **IDLE)), 0, 900.0, 900.0)
    assert advice(contested).commands == ()
    at_once = foreseen(one_queue(running(526, **IDLE)), 0, 900.0, 900.0)
    assert advice(at_once).step is Step.END, "the head starts at once"
    pausing = running(144, idle=60.0, status="INACTIVE")
    assert advice(foreseen(replace(half, running=(pausing, half.running[0])), 5, 10.0, 900.0)).commands == ()


def test_no_end_beside_other_queues_if_it_saves_little() -> None:
    """Whether REPORTS takes turns changed with each poll: a kill was shown and withdrawn within 5 s."""
    both = storm(running(526, group="ETL", **IDLE), running(144))
    own = (Shortage(16, everybody=True), Shortage(16, group="BATCH"))
    capped = replace(both.heads[0], cause=Cause.GROUP, shortages=own)
    groups = (group("BATCH", px_servers=32), group("ETL", px_servers=32))
    held = replace(both, heads=(capped, both.heads[1]), groups=groups)
    assert advice(held).step is Step.END, "the head can start, and nothing is known against it"
    assert advice(foreseen(held, 1, 100.0, 900.0)).step is Step.END
    little = advice(foreseen(held, 1, 880.0, 900.0))
    assert (little.step, little.commands) == (Step.WAIT, ())
    assert little.text.startswith(
        "wait: MARTIN 1:526 keeps 32 servers that the head of ETL could use; ending it should save less than 0:30"
    )


def test_without_a_queue_the_largest_blocked_statement_is_looked_at() -> None:
    held = running(526, blocker="1:88", servers=8), running(144, blocker="1:89", servers=16, user="ETL")
    found = advice(replace(quiet(), running=held))
    assert found.text == "look at session 1:89: ETL 1:144 waits for it and holds 16 servers"


@pytest.mark.parametrize(("longest", "left"), [(575.0, "0:25"), (600.0, "0:00"), (700.0, "0:00")])
def test_a_session_that_is_past_the_pools_timeout_has_no_time_left(longest: float, left: str) -> None:
    found = advice(replace(quiet(), groups=(group("BATCH", pool=ActiveSessionPool(4, 14, longest, 600)),)))
    assert found.text.endswith(f"14 wait, the first fails in {left}")


@pytest.mark.parametrize(
    ("failed", "words"),
    [
        (0, "14 wait, the first fails in 5:00"),
        (1, "14 wait, 1 has failed, the next fails in 5:00"),
        (8, "14 wait, 8 have failed, the next fails in 5:00"),
    ],
)
def test_a_call_that_failed_at_the_pool_timeout_is_not_the_next_to_fail(failed: int, words: str) -> None:
    row = group("BATCH", pool=ActiveSessionPool(4, 14, 300.0, 600), counters=counters(queue_time_outs=failed))
    found = advice(replace(quiet(), groups=(row,)))
    assert words in found.text
    assert words in found.short


def test_other_alerts_follow_the_queue_if_they_fit() -> None:
    """DO spoke of the queue alone for ten minutes, while a limit throttled I/O and a group was at its CPU limit."""
    wait = one_queue(running(526))
    critical = replace(wait, heads=(replace(wait.heads[0], queue_waited=7200.0),))
    capped = group("PAYROLL", 5.7, 2.9, entitled=5.8, limit=5.8, verdict=Verdict.CAPPED)
    reading = replace(critical, io_limited=THROTTLED[:1], groups=(*critical.groups, capped))
    step, io = advice(reading), "SALES: I/O throttled 1.6 ms each by MAX_MBPS"
    assert f"; also {io}; PAYROLL at its limit, 5.7 of 5.8 CPUs" in step.text
    assert f"{cancel(526)}; also {io}" in plain(do_line(step, 186))
    assert plain(do_line(step, 146)).endswith(cancel(526)), "what a decision does comes before what else is wrong"
    assert "also" not in plain(do_line(step, 80)), "the queue comes first"
    idle = replace(reading, running=(running(526, **IDLE),))
    assert advice(idle).step is Step.END
    assert advice(idle).text.endswith(f"; also {io}; PAYROLL at its limit, 5.7 of 5.8 CPUs")
    assert "can start   C copies the command" in plain(do_line(advice(idle), 120)), "all that a command does"


def test_a_downgraded_statement_keeps_its_degree_and_comes_after_the_queue() -> None:
    """Line 2 had alerts, and there was no DO."""
    smaller = running(526, degree=4, requested=16, downgraded=75.0)
    alone = replace(quiet(), running=(smaller,))
    assert advice(alone).step is Step.WAIT
    assert advice(alone).text == (
        "nothing yet: MARTIN 1:526 keeps its DOP 4 of 16 until it ends; only a new run can have more servers"
    )
    assert "BATCH" in advice(one_queue(smaller)).text


def test_a_statement_that_went_idle_instead_of_ending_is_named() -> None:
    """`may end by itself at any moment` was followed by no word of the servers that it kept."""
    assert advice(one_queue(step(526, 1.0))).text.startswith("wait: MARTIN 1:526 may end by itself at any moment")
    now = one_queue(running(526, idle=2.0, status="INACTIVE"))
    lead = "wait: MARTIN 1:526 went idle 0:02 ago but still keeps 32 servers"
    use = f"{lead} that the head of BATCH could use"
    assert advice(now).text.startswith(f"{use}; perhaps between two fetches: end it if")
    assert advice(now).short == f"{lead}; perhaps between two fetches"
    later = one_queue(running(526, idle=40.0, status="INACTIVE"))
    assert "went idle" not in advice(later).text


def test_a_session_about_to_end_replaces_several_named_to_end() -> None:
    """DO went from two sessions to cancel to `no idle session holds servers`, with the queue unchanged."""
    reading = one_queue(step(526, 20.0, servers=16), running(144, servers=16))
    (way,) = unblock(reading)
    assert way.needed == 2
    assert way.sentence.endswith("; but MARTIN 1:526: it may end by itself in about 0:20")
    assert (
        advice(reading).text
        == "wait: MARTIN 1:526 may end by itself in about 0:20; then fewer sessions have to be ended"
    )
    both = one_queue(step(526, 20.0, servers=16), step(144, 80.0, servers=16))
    assert advice(both).text == f"{advice(reading).text}, and none once MARTIN 1:144 has ended, in about 1:20"
