"""Scenarios unclear and unclear_rac: what each of their edges shows, one after the other."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from presman.analysis.advice.freeing import why_useless
from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.alerts.not_known import not_known
from presman.analysis.assemble import analyse
from presman.analysis.groups.verdicts import explain
from presman.analysis.plans.plan_changes import SettingWatch
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, QueueReason
from presman.analysis.trends.database_events import TIMEOUT, EventWatch
from presman.analysis.trends.statement_runs import ArrivalOutcome, ArrivalTracker
from presman.figures.drawing.lines import plain
from presman.figures.group_figures import OVERVIEW
from presman.output.why_answer import AskedStatement, ReasonHistory, as_text
from presman.recording.reader import Recording
from presman.rows.commands import CommandKind
from presman.rows.group_rows import RsrcPlan
from presman.services.live import ReadingCame, Readings
from presman.tabs.parallel import holders
from presman.tui.following import FollowedStatement
from presman.tui.pages.advice_lines import offers_for
from tests.cli.run import Run
from tests.recording.recorded import polled, record
from tests.thorough import THOROUGH


@cache
def live(scenario: str) -> list[ReadingCame]:
    """Return six minutes, as a screen shows them."""
    readings = Readings()
    return [readings.read(snapshot) for snapshot, _ in polled(scenario, 72)]


def course(scenario: str, second: int) -> Reading:
    return live(scenario)[second // 5 - 1].reading


class Edge(NamedTuple):
    """What is said of the head of a queue, of what is not known, in DO and after TO START IT; who may be ended."""

    second: int
    queue: str
    head: str
    unknown: str = ""
    step: str = ""
    start: str = ""
    offered: tuple[str, ...] = ()


CONTRADICTED = "how many servers LOADS may hold is not known (19 by UTILIZATION_LIMIT, 64 by GV$RSRCMGRMETRIC of 0:"
NO_SERVER = (
    "whether it starts with fewer servers than it wants is not known (0 of the 72 of PARALLEL_MAX_SERVERS are left)"
)
UNEXPLAINED = "and 12 are free, as they were at the poll before: the server counts do not explain why it waits"
NAMELESS = "session 1:301 holds 16 servers: V$SESSION does not show its USERNAME and PROGRAM"
LINK = "CRM 1:302 (idle 10:12) keeps 8 servers; it is a session of another database, so never offered"
SUBPLAN = "what the limit of subplan DAYTIME means for servers is not documented"
UNCLEAR = (
    Edge(5, "QUERIES", "short by 4 servers", step="by itself in about 0:04, when AUDIT 1:303 ends"),
    Edge(10, "QUERIES", "short by 4 servers", step="start; the end of AUDIT 1:303 is late", offered=("MARTIN 1:301",)),
    Edge(15, "QUERIES", "short by 4 servers", step=LINK, start=NAMELESS,
         offered=("AUDIT 1:303", "FEED 1:304")),
    Edge(35, "", "", "whether a session that holds parallel servers is idle or blocked (GV$SESSION lacks STATUS)"),
    Edge(45, "FEEDS", NO_SERVER, step=NO_SERVER),
    Edge(55, "FEEDS", "(DOP 4, two sets by its plan) and 8 are free; nothing that presman sees holds it back"),
    Edge(60, "FEEDS", UNEXPLAINED, step="check what else limits the head of FEEDS: the servers it wants are free"),
    Edge(65, "FEEDS", UNEXPLAINED, step="check what else limits the head of FEEDS: the servers it wants are free"),
    Edge(65, "LOADS", CONTRADICTED),
    Edge(80, "FEEDS", UNEXPLAINED, step="decide whether to start the head of FEEDS now (DEQUEUE"),
    Edge(95, "FEEDS", UNEXPLAINED, step="(DEQUEUE_PARALLEL_STATEMENT): its queue timeout is in 0:11, then"),
    Edge(105, "LOADS", CONTRADICTED, start="keeps 16 servers that LOADS wants, and QUERIES and SMALL did"),
    Edge(120, "", "", "which statements are queued (GV$SESSION lacks EVENT)", "check why V$SESSION does not show"),
    Edge(130, "LOADS", "", "idle or blocked (GV$SESSION lacks STATUS of 1:301)", "find out who holds the servers"),
    Edge(140, "LOADS", "", "idle or blocked", "GV$PX_SESSION lacks QCSID of 8 servers"),
    Edge(150, "LOADS", "", "idle or blocked (GV$PX_SESSION lacks QCSID)", "find out who holds the servers"),
    Edge(160, "LOADS", "how many servers LOADS may hold is not known (PARALLEL_EXECUTION_MANAGED is OFF)"),
    Edge(180, "LOADS", "whether the limit of servers of LOADS has changed", "(GV$RSRC_PLAN lacks NAME)"),
    Edge(205, "REPORTS", f"how many servers REPORTS may hold is not known ({SUBPLAN})"),
    Edge(225, "REPORTS", "", step="decide whether to start the head of REPORTS now", start="unless you start it now"),
    Edge(210, "LOADS", "counts is not known (GV$RSRC_CONSUMER_GROUP)", "(GV$RSRC_CONSUMER_GROUP lacks NAME)"),
    Edge(245, "LOADS", "whether the limit of servers of LOADS has changed", "DIRECTIVES lacks GROUP_OR_SUBPLAN"),
)  # fmt: skip

AWAY = "which statements are queued is not known (GV$SESSION has no rows of instance 2)"
LISTED = "which statements are queued is not known (GV$SESSION lists 1 of 2 queued statements)"
DIFFERENT = "how many servers REPORTS may hold is not known (the instances run different plans)"
NOT_CERTAIN = "what its end would start is not certain"
ONE_STARTS = "ending it starts at least one of their heads, and the plan decides which"
UNCLEAR_RAC = (
    Edge(5, "REPORTS", AWAY, "(GV$SESSION has no rows of instance 2)", AWAY),
    Edge(20, "REPORTS", "REPORTS holds 16 of 32 allowed (50 % of 64)", start=ONE_STARTS),
    Edge(30, "BATCH", "two sets by its plan", start=ONE_STARTS),  # not by V$RSRC_SESSION_INFO
    Edge(40, "REPORTS", DIFFERENT, step=NOT_CERTAIN),
    Edge(60, "BATCH", "short by 16 servers", "idle or blocked", "GV$PX_SESSION has no rows of instance 2"),
    Edge(90, "REPORTS", LISTED, "(GV$SESSION lists 1 of 2 queued statements)", LISTED),
    Edge(180, "REPORTS", "counts is not known (GV$RSRC_CONSUMER_GROUP)", "GROUP has no rows of instance 2"),
    Edge(210, "BATCH", "how many servers BATCH may hold is not known (GV$RSRC_PLAN)", step=NOT_CERTAIN),
)


@pytest.mark.parametrize(
    ("scenario", "edge"),
    [*(("unclear", each) for each in UNCLEAR), *(("unclear_rac", each) for each in UNCLEAR_RAC)],
    ids=lambda each: each if isinstance(each, str) else f"{each.second} s {each.queue}",
)
def test_what_an_edge_shows(scenario: str, edge: Edge) -> None:
    found = course(scenario, edge.second)
    heads = {head.group: head.sentence for head in found.heads}
    assert edge.head in heads.get(edge.queue, "")
    assert bool(heads) is bool(edge.queue)
    assert any(edge.unknown in each for each in not_known(found)) or not edge.unknown
    step = to_do(found)
    assert edge.step in (step.text if step is not None else "")
    assert any(edge.start in way.sentence for way in unblock(found)) or not edge.start
    offered = {each.statement.who for way in unblock(found) for each in way.candidates if each.commands}
    assert offered == set(edge.offered)


@pytest.mark.parametrize(
    ("scenario", "second", "group", "why"),
    [
        ("unclear", 65, "LOADS", "19 by UTILIZATION_LIMIT, 64 by GV$RSRCMGRMETRIC"),
        ("unclear", 160, "LOADS", "PARALLEL_EXECUTION_MANAGED is OFF"),
        ("unclear_rac", 40, "REPORTS", "the instances run different plans"),
    ],
)
def test_the_table_of_groups_does_not_know_the_limit_either(scenario: str, second: int, group: str, why: str) -> None:
    (row,) = (row for row in course(scenario, second).cluster_groups() if row.name == group)
    assert (row.servers_limit, row.limit_view) == (None, why)
    assert OVERVIEW.column("px_servers_active").show(row).endswith("/?")
    assert f"{group} 16 of ?" in plain(holders(course(scenario, second)))


def test_close_polls_repeat_no_promise_that_was_broken() -> None:
    """By its TIME_REMAINING AUDIT ends in four seconds, for half a minute: close polls repeated that each time."""
    readings = Readings()
    steps = [to_do(readings.read(snapshot).reading) for snapshot, _ in polled("unclear", 30, step=1.0)]
    promised = ["in about 0:04, when AUDIT 1:303 ends" in (step.text if step is not None else "") for step in steps]
    assert promised == [True] * 15 + [False] * 15


def test_a_limit_that_another_view_contradicts_is_not_what_a_head_is_short_of() -> None:
    """It was short by 13 (group limit), and beside that the limit was not known: by the other view it has room."""
    (head,) = (head for head in course("unclear", 65).heads if head.group == "LOADS")
    assert "short by 4 servers; how many servers LOADS may hold is not known (19 by" in head.sentence
    assert head.cause is Cause.SYSTEM


@pytest.mark.parametrize("second", [80, 210], ids=["contradicted", "uncounted"])
def test_no_end_is_useless_by_a_limit_that_is_not_known(second: int) -> None:
    """The end of CRM was said not to help, by the limit of LOADS; under the other one it would help."""
    found = course("unclear", second)
    (crm,) = (each for each in found.running if each.user == "CRM")
    assert "LOADS" not in why_useless(crm, found)


def test_an_alert_about_queued_statements_does_not_end_while_no_view_lists_them() -> None:
    """It ended for a poll in which V$SESSION had no EVENT, and began again at the next."""
    (text,) = (alert.text for alert in wrong(course("unclear", 120)) if alert.key == "queue_timeout")
    assert text.startswith("1 queued times out within 5:00, the first: LOADS")
    assert text.endswith("GV$SESSION lacks EVENT)")


def test_an_alert_about_queued_statements_ends_when_nothing_is_queued() -> None:
    """It stayed as long as the view of the timeouts did not answer, although V$SESSION listed no queue any more."""
    found = course("unclear", 290)
    assert not found.queue
    assert found.why_unavailable("DBA_RSRC_PLAN_DIRECTIVES")
    assert "queue_timeout" not in {alert.key for alert in wrong(found)}


def test_an_alert_about_a_timeout_ends_when_its_statement_has_left_the_queue() -> None:
    """REPORTS had timed out, as `why` said; `check` still had its timeout in 0:20, because a view had no groups."""
    timeouts = [[a.text for a in wrong(course("unclear", at)) if a.key == "queue_timeout"] for at in (245, 250)]
    assert "the first: REPORTS" in timeouts[0][0]
    assert not timeouts[1]
    assert "whether a queued statement times out soon" in not_known(course("unclear", 250))[0]


def test_why_has_no_forecast_beside_a_start_that_it_predicts() -> None:
    """It said that there was no forecast of its start, and that it should start by itself in about 0:04."""
    readings, asked = Readings(with_forecasts=True), AskedStatement(sid=401)
    soon, late = (
        as_text(readings.read(snapshot).reading, asked, ReasonHistory()) for snapshot, _ in polled("unclear", 2)
    )
    assert "it should start by itself in about 0:04" in soon
    assert "no forecast" not in soon
    assert "there is no forecast of its start" in late


def test_a_column_without_values_is_no_change_of_the_plan() -> None:
    """All directives were dropped when GROUP_OR_SUBPLAN had no values, and added when it had them again."""
    watch = SettingWatch()
    changes = [each for came in live("unclear") for each in watch.add(came.snapshot).directives]
    assert {each.group for each in changes} == {"LOADS"}


def test_a_timeout_is_an_event_although_its_group_was_missing_when_it_came() -> None:
    """REPORTS had no row while the view of the directives did not name it."""
    events = EventWatch()
    found = [each for came in live("unclear") for each in events.add(came.reading, came.snapshot)]
    reached = [each.text for each in found if each.kind == TIMEOUT]
    assert "REPORTS: 1 queue timeout" in reached


def test_servers_of_a_holder_are_at_least_as_many_while_an_instance_is_not_listed() -> None:
    shown = [alert.short for alert in wrong(course("unclear_rac", 60)) if alert.key == "idle_holder"]
    assert shown == ["1 idle holder keeps at least 8 servers"]


@pytest.mark.parametrize(
    ("second", "alert", "why"),
    [
        (
            130,
            "1 idle holder keeps 8 servers",
            "holds 16 servers\n  cannot tell whether it runs or is idle: GV$",
        ),
        (140, "2 idle holders keep at least 16 servers", "it is idle for 12:16 and keeps at least 8 servers"),
    ],
)
def test_a_session_without_status_may_be_idle_and_one_without_all_servers_holds_more(
    second: int, alert: str, why: str
) -> None:
    """A session without STATUS was said to run, and one of which a view names half the servers to keep only these."""
    found = course("unclear", second)
    assert alert in [each.short for each in wrong(found)]
    assert why in as_text(found, AskedStatement(sid=301), ReasonHistory())


@pytest.mark.parametrize(
    ("second", "holder", "why"),
    [
        (5, "keeps 16 servers", "GV$SESSION has no rows of instance 2"),
        (60, "keeps at least 8 servers", "GV$PX_SESSION has no rows of instance 2"),
        (90, "keeps 16 servers", "GV$SESSION lists 1 of 2 queued statements"),
        (180, "keeps 16 servers", "GV$RSRC_CONSUMER_GROUP has no rows of instance 2"),
    ],
)
def test_what_a_view_leaves_out_is_told_at_the_first_poll(second: int, holder: str, why: str) -> None:
    """It took a second poll to see it: until then DO offered a decision, and servers added up to 24 of 48."""
    snapshot = live("unclear_rac")[second // 5 - 1].snapshot
    found = analyse(None, snapshot)
    assert [alert.short for alert in wrong(found) if alert.key == "idle_holder"] == [f"1 idle holder {holder}"]
    assert any(why in each for each in not_known(found))


def test_servers_that_one_view_alone_counts_may_have_come_while_the_views_were_read() -> None:
    snapshot = live("unclear_rac")[11].snapshot
    plans = [row._replace(parallel_servers_active=0) for row in snapshot.rows(RsrcPlan)]
    sections = {**snapshot.sections, RsrcPlan: replace(snapshot.section(RsrcPlan), rows=tuple(plans))}
    found = analyse(None, replace(snapshot, sections=sections))
    assert not any("GV$PX_SESSION" in each for each in not_known(found))


def test_one_poll_without_rows_is_enough_if_polls_are_far_apart() -> None:
    """Two were needed: `watch` said that the alert had ended, `why` that it was not queued, and DO that 8 were kept."""
    readings = Readings()
    found = [readings.read(snapshot).reading for snapshot, _ in polled("unclear_rac", 11, step=10.0)]
    servers, queue = found[5], found[8]  # after 60 and 90 seconds
    assert "1 idle holder keeps at least 8 servers" in [alert.short for alert in wrong(servers)]
    assert LISTED.partition("(")[2].removesuffix(")") in queue.why_unknown("queue")
    assert {alert.subject for alert in wrong(queue) if alert.key == "queue_waits"} == {"REPORTS", "BATCH"}
    assert [each.why_unknown("queue") for each in (found[7], found[9])] == ["", ""]


def test_a_limit_that_a_view_does_not_show_is_no_other_reason() -> None:
    """`why` counted nine turns: a view left out an instance, so that for some polls only the target was known."""
    history = ReasonHistory()
    for came in live("unclear_rac"):
        history.add(came.reading)
    head = next(each.statement for each in came.reading.heads if each.group == "REPORTS")
    assert [each.reason for each in history.of(head)] == [QueueReason.GROUP_LIMIT]


def test_a_queued_statement_that_is_not_listed_has_not_arrived_again() -> None:
    """A recording had it twice: it left the queue, and came again a microsecond earlier than before."""
    tracker = ArrivalTracker()
    over = [arrival for came in live("unclear_rac") for arrival in tracker.add(came.reading)]
    arrivals = [each for each in (*over, *tracker.rest()) if each.group == "BATCH"]
    assert [each.outcome for each in arrivals] == [ArrivalOutcome.RUNNING, ArrivalOutcome.QUEUED]
    assert arrivals[1].waited > 360


def test_a_followed_statement_that_is_not_listed_has_not_left_the_queue() -> None:
    came = live("unclear_rac")
    (waiting,) = (each for each in came[15].reading.queue if each.sid == 402)  # after 80 seconds
    followed = FollowedStatement(waiting)
    assert [followed.take(each.reading) for each in came[16:40]] == [""] * 24
    assert followed.row is not None
    assert followed.row.sid == 402


def test_a_followed_statement_that_timed_out_has_not_just_left_the_queue() -> None:
    came = live("unclear")
    (feeds,) = (each for each in came[19].reading.queue if each.group == "FEEDS")  # after 100 seconds
    followed = FollowedStatement(feeds, came[19].reading)
    ended = "5a585qvmhk1gj of FEEDS (1:402) timed out in the queue (ORA-07454)."
    assert [followed.take(each.reading) for each in came[20:22]] == ["", ended]


def test_nobody_is_to_be_decided_about_for_a_head_that_has_just_come() -> None:
    """DO left it to the user to end the idle holder, while TO START IT beside it said that it was too early."""
    found = course("unclear", 80)
    step, starts = to_do(found), [way.sentence for way in unblock(found)]
    assert any("too early to end a session for it" in each for each in starts)
    assert step is not None
    assert "decide whether to end" not in step.text


def test_groups_have_names_although_the_view_has_none() -> None:
    assert "" not in {row.name for row in course("unclear", 210).cluster_groups()}


def said(reading: Reading) -> tuple[object, ...]:
    """Return the sentences of a reading that rest on earlier polls, too."""
    heads = [head.sentence for head in reading.heads]
    return heads, [alert.text for alert in wrong(reading)], to_do(reading), [way.sentence for way in unblock(reading)]


@pytest.mark.parametrize("scenario", ["unclear", "unclear_rac"])
def test_a_recording_says_the_same_of_each_edge(scenario: str, tmp_path: Path) -> None:
    record(tmp_path / "a.presman", [(came.snapshot, came.reading) for came in live(scenario)])
    seconds = sorted({edge.second for edge in (UNCLEAR if scenario == "unclear" else UNCLEAR_RAC)})
    with Recording(str(tmp_path / "a.presman")) as recording:
        for second in seconds if THOROUGH else seconds[::3]:
            assert said(recording.playback().reading(second // 5 - 1)) == said(course(scenario, second)), second


def test_once_of_a_recording_has_the_alert_that_a_missing_column_hides(tmp_path: Path, inside: Run) -> None:
    """Without a queue it was left out, because the view had answered."""
    record(tmp_path / "a.presman", [(came.snapshot, came.reading) for came in live("unclear")[:7]])
    found = json.loads(inside("once", "a.presman", "--at", "2026-03-12 03:00:35", "--format", "json").stdout)
    assert [each["text"] for each in found["alerts"]] == [alert.text for alert in wrong(course("unclear", 35))]
    assert found["alerts"][0]["text"].endswith(" (as of 0:05 ago: GV$SESSION lacks STATUS)")


def test_compare_lists_no_group_without_a_name(tmp_path: Path, inside: Run) -> None:
    """While GROUP_OR_SUBPLAN had no values, its directives were those of the database."""
    record(tmp_path / "a.presman", [(came.snapshot, came.reading) for came in live("unclear")])
    plan = inside("compare", "a.presman@03:00..03:02", "@03:02..03:04").stdout.partition("plan at the end")[2]
    assert "\nDAYTIME " in plan
    assert "\ndatabase " not in plan


def test_a_head_that_its_timeout_would_end_has_the_command_that_starts_it() -> None:
    """DO named the command, and the list of commands had none."""
    found = course("unclear", 80)
    row = next(each for each in found.queue if each.group == "FEEDS")
    offers = offers_for(row, found)
    assert offers.commands[0][0].kind is CommandKind.DEQUEUE
    assert not offers.why
    way = next(each for each in unblock(found) if each.head.group == "FEEDS")
    assert way.sentence.startswith("it reaches its queue timeout in 0:26")


def test_a_plan_without_a_name_leaves_no_gap_in_the_sentence() -> None:
    said = [explain(row) for each in live("unclear") for row in each.reading.groups]
    assert any("the plan cannot be read" in each for each in said)
    assert not any("  " in each for each in said)
