"""The answer of `presman why` about one statement, on a reading made by hand."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from msgspec.structs import replace

from presman.analysis.parallel.queue_causes import with_queue_reasons
from presman.analysis.readings.forecast_readings import EndingEffect, ForecastRecord, QueueForecast
from presman.analysis.readings.reading import Evidence, LateView, Reading
from presman.analysis.readings.statement_readings import QueueReason, StartForecast
from presman.base.formats import clock
from presman.output.why_answer import AskedStatement, ReasonHistory, as_json, as_text
from tests.tui.readings import AT, busy

LIMIT, TARGET = "its group's limit leaves too few servers", "the servers target leaves too few servers"


def sample() -> Reading:
    plain = busy()
    queue, heads = with_queue_reasons(plain.queue, plain.heads, quiesced=False)
    holder = plain.running[0]
    effect = EndingEffect((holder.executing(),), 2, 60.0, 120.0, sooner=60.0, sooner_low=50.0, sooner_high=75.0)
    forecast = QueueForecast(ForecastRecord(50, 41, 22.0), (effect,), judged_since=AT - timedelta(minutes=20))
    starts = {row.executing(): StartForecast(130.0, 100.0, 210.0) for row in queue}
    return replace(plain, queue=queue, heads=heads).with_forecast(starts, forecast)


def answer(asked: str, reading: Reading | None = None) -> list[str]:
    return as_text(reading or sample(), AskedStatement.of(asked), ReasonHistory()).splitlines()


def test_the_answer_for_a_head_has_reason_forecast_and_candidates() -> None:
    lines = answer("501")
    assert lines[0] == (
        "7xq3h001jskd0 of RPT in BATCH (1:501,7) has been queued for 3 min 41 s: its group's limit leaves too few "
        "servers (group_limit)"
    )
    assert lines[1].startswith("  wants 32 servers (DOP 16, two sets); BATCH holds 64 of 64 allowed")
    assert lines[2] == (
        "  it should start in 2:10, between 1:40 and 3:30 in 8 cases of 10. 41 of 50 started in the range "
        f"forecast, half within 0:22 of its middle, since {clock(AT - timedelta(minutes=20))}."
    )
    assert lines[3] == "  it reaches its queue timeout in 56:26: then it ends with ORA-07454"
    assert lines[4].startswith("  to start it: ending one idle holder frees the 32 servers")
    assert lines[5] == (
        "    by ending MARTIN 1:526,60805 (idle 22:10, 32 servers): 2 of the queue start at once, the last queued "
        "perhaps 0:50-1:15 sooner: in 1:00 instead of 2:00"
    )
    assert lines[6] == "      proven: that frees servers; which statement gets them is not known"


def test_a_reason_that_is_not_known_is_said_in_words() -> None:
    reading = sample()
    unknown = [replace(row, reason=QueueReason.UNKNOWN) for row in reading.queue]
    first = answer("501", replace(reading, queue=tuple(unknown)))[0]
    assert first.endswith("has been queued for 3 min 41 s; the reason is not known")


def test_an_unproven_end_is_not_worded_as_advice() -> None:
    row = sample().heads[1].statement
    assert [line for line in answer(str(row.sid)) if "MARTIN 1:526" in line][:1] == [
        "  ending a session may not start it: MARTIN 1:526 (idle 22:10) keeps 32 servers that BATCH and ETL want: "
        "ending it starts at least one of their heads, and the plan decides which"
    ]


def test_the_answer_for_a_statement_behind_the_head_names_the_head() -> None:
    lines = answer("7XQ3H002JSKD0")
    assert lines[0].endswith("behind others of its group (behind_in_queue)")
    assert lines[1].startswith("  number 2 of its queue; the head, 7xq3h001jskd0, wants 32 servers")
    assert any(line.startswith("  to start the head: ") for line in lines)


def test_of_a_queue_seen_in_part_the_place_in_view_is_named() -> None:
    plain = sample()
    lacking = (Evidence("queue", ("V$SESSION",), "one instance of a cluster is read"),)
    lines = answer("7XQ3H002JSKD0", replace(plain, basis=lacking))
    assert lines[1].startswith("  number 2 of its queue in view; the head in view, 7xq3h001jskd0, wants 32 servers")


def test_of_several_matches_the_longest_waiting_is_taken() -> None:
    plain = sample()
    same = replace(plain, queue=tuple(replace(row, sql_id="7xq3h001jskd0") for row in plain.queue), heads=())
    found = "  14 are queued with SQL_ID 7xq3h001jskd0: this is "
    assert answer("7xq3h001jskd0", same)[1] == f"{found}the one that has waited longest"
    alike = replace(same, queue=tuple(replace(row, waited=90.0) for row in same.queue))
    assert answer("7xq3h001jskd0", alike)[1] == f"{found}one of the 14 that have waited longest"
    unknown = replace(same, queue=tuple(replace(row, waited=None) for row in same.queue))
    assert answer("7xq3h001jskd0", unknown)[1] == f"{found}one of them, and which has waited longest is not known"
    some = replace(same, queue=(same.queue[0], *unknown.queue[1:]))
    assert answer("7xq3h001jskd0", some)[1] == f"{found}one of them, and which has waited longest is not known"


def test_sessions_with_one_sid_are_named_with_instances() -> None:
    plain = sample()
    other = replace(plain.queue[1], inst_id=2, sid=501)
    lines = answer("501", replace(plain, queue=(plain.queue[0], other, *plain.queue[2:])))
    assert lines[1] == "  1:501 and 2:501 are queued: this is the one that has waited longest"


def test_statements_with_equal_waits_have_no_head() -> None:
    plain = sample()
    queue = tuple(replace(row, waited=90.0) if row.position < 4 else row for row in plain.queue)
    heads = tuple(replace(head, equals=2, statement=replace(head.statement, waited=90.0)) for head in plain.heads)
    lines = answer("7xq3h002jskd0", replace(plain, queue=queue, heads=heads))
    assert lines[1].startswith("  one of the first 3 of its queue; another of them, 7xq3h001jskd0, wants 32 servers")
    assert any(line.startswith("  to start another of them: ") for line in lines)


def test_a_running_statement_has_started_and_a_gone_one_is_reported() -> None:
    assert answer("144") == ["9md3ukh144j58 of ETL in BATCH (1:144,60805) has started: it runs 7:40 with 32 servers"]
    unknown = replace(sample(), running=tuple(replace(each, elapsed=None) for each in sample().running))
    assert answer("144", unknown)[0].endswith("has started: it runs with 32 servers"), "not: it runs - with"
    assert answer("1:526")[0].endswith("has started: it is idle for 22:10 and keeps 32 servers")
    assert answer("2:501") == [
        "session 2:501 is neither queued nor running in parallel (14 statements queued, 3 in parallel)"
    ]


def test_earlier_reasons_are_kept() -> None:
    history, now = ReasonHistory(), sample()
    first = replace(now, queue=(replace(now.queue[1], sid=501, sql_id="7xq3h001jskd0"),), heads=())
    later = replace(now, at=AT + timedelta(seconds=60))
    for reading in (first, first, later, later):
        history.add(reading)
    last = as_text(later, AskedStatement.of("501"), history).splitlines()[-1]
    assert last == (
        f"  it waited: behind others of its group from {clock(AT)} or before, {LIMIT} from "
        f"{clock(later.at)}; presman watched from {clock(AT)} on"
    )


def test_of_many_changes_of_reason_only_the_last_are_listed() -> None:
    history, now = ReasonHistory(), sample()
    for turn in range(7):
        reason = (QueueReason.TARGET, QueueReason.GROUP_LIMIT)[turn % 2]
        queue = (replace(now.queue[0], reason=reason),)
        history.add(later := replace(now, at=AT + timedelta(seconds=turn), queue=queue))
    assert as_text(later, AskedStatement.of("501"), history).splitlines()[-1] == (
        f"  it waited: {TARGET} and {LIMIT}, 7 turns from {clock(AT)} or before; the last: {LIMIT} from "
        f"{clock(AT + timedelta(seconds=5))}, {TARGET} from {clock(later.at)}; presman watched from {clock(AT)} on"
    )


def test_reasons_read_later_are_placed_by_time() -> None:
    history, now = ReasonHistory(), sample()
    first = replace(now, queue=(replace(now.queue[1], sid=501, sql_id="7xq3h001jskd0"),), heads=())
    came, turned, later = (replace(now, at=AT + timedelta(seconds=each)) for each in (-60, 60, 90))
    history.add(turned)
    history.add(later)
    row = now.queue[0]
    assert history.was_there(row)
    history.precede([], 1)
    assert history.was_there(row), "nothing was read before it"
    history.precede([replace(came, queue=(), heads=()), first, replace(turned, at=AT + timedelta(seconds=30))], 4)
    assert not history.was_there(row)
    assert as_text(later, AskedStatement.of("501"), history).splitlines()[-1] == (
        f"  it waited: behind others of its group from {clock(AT)}, {LIMIT} from {clock(AT + timedelta(seconds=30))}; "
        f"up to {clock(turned.at)} one poll in 4 was read"
    )


def test_a_stale_view_gives_no_new_reason_and_its_age_is_shown() -> None:
    history, now = ReasonHistory(), sample()
    before = replace(now, queue=(replace(now.queue[0], reason=QueueReason.TARGET),), heads=())
    dark = [
        replace(
            now, at=AT + timedelta(seconds=each), late=(LateView("GV$SESSION", float(each)), LateView("V$SQL", 9.0))
        )
        for each in (10, 20, 30)
    ]
    history.add(dark[1])
    history.add(dark[2])
    assert (history.begun, history.of(now.queue[0])) == (None, ()), "nothing was seen yet"
    assert history.was_there(now.queue[0]), "so earlier polls are read"
    history.precede([before, dark[0]], 1)
    assert history.sparse_to is None
    lines = as_text(dark[2], AskedStatement.of("501"), history).splitlines()
    assert lines[1] == "  as it was 0:30 before: which sessions wait or are idle (GV$SESSION did not answer)"
    assert lines[-1] == (
        f"  it waited: {TARGET} from {clock(AT)} or before; presman watched from {clock(AT)} on; "
        f"not known from {clock(dark[0].at)} to {clock(dark[2].at)} (GV$SESSION did not answer)"
    )
    young = replace(dark[2], queue=(replace(now.queue[0], waited=0.0),))
    assert "not known" not in as_text(young, AskedStatement.of("501"), history).splitlines()[-1], "it came after that"
    history.add(later := replace(now, at=AT + timedelta(seconds=40)))
    last = as_text(later, AskedStatement.of("501"), history).splitlines()[-1]
    assert f"{TARGET} from {clock(AT)} or before, {LIMIT} from {clock(later.at)}; " in last
    assert json.loads(as_json(dark[2], AskedStatement.of("501"), history))["late"][0] == {
        "view": "GV$SESSION",
        "age": 30.0,
    }


def test_only_facts_of_a_silent_view_are_old() -> None:
    """A statement that arrived after the last answer of V$PX_SESSION is current."""
    late = (LateView("GV$PX_SESSION", 146.0), LateView("V$RSRC_CONSUMER_GROUP", 9.0), LateView("GV$RSRC_PLAN", 8.0))
    lines = as_text(replace(sample(), late=late), AskedStatement.of("501"), ReasonHistory()).splitlines()
    assert lines[1:4] == [
        "  as it was 2:26 before: who holds servers (GV$PX_SESSION did not answer)",
        "  as it was 0:09 before: the servers that count for each group (V$RSRC_CONSUMER_GROUP did not answer)",
        "  as it was 0:08 before: the plan in force (GV$RSRC_PLAN did not answer)",
    ]


def test_a_statement_seen_to_arrive_has_its_whole_history() -> None:
    history, now = ReasonHistory(), sample()
    later = replace(now, at=AT + timedelta(seconds=60))
    history.add(replace(now, queue=(), heads=()))
    history.add(later)
    assert "or before" not in as_text(later, AskedStatement.of("501"), history)
    history.add(
        replace(now, at=AT + timedelta(seconds=61), queue=(replace(later.queue[0], reason=QueueReason.TARGET),))
    )
    text = as_text(later, AskedStatement.of("501"), history)
    assert text.endswith(
        f"  it waited: {LIMIT} from {clock(later.at)}, {TARGET} from {clock(AT + timedelta(seconds=61))}\n"
    )
    assert json.loads(as_json(later, AskedStatement.of("501"), history))["watched_since"].startswith(str(AT.year))


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("507", AskedStatement(sid=507)),
        ("2:507", AskedStatement(sid=507, inst_id=2)),
        ("2:507,32323", AskedStatement(sid=507, inst_id=2, serial=32323)),
        ("7XQ3h002jskd0", AskedStatement("7xq3h002jskd0")),
        ("1234567890123", AskedStatement("1234567890123")),
    ],
)
def test_the_question_is_parsed(text: str, asked: AskedStatement) -> None:
    assert AskedStatement.of(text) == asked


def test_json_has_the_reason_with_its_details() -> None:
    history = ReasonHistory()
    history.add(sample())
    found = json.loads(as_json(sample(), AskedStatement.of("501"), history))
    assert (found["state"], found["reason"], found["starts"]["median"]) == ("queued", "group_limit", 130.0)
    assert [each["reason"] for each in found["reasons"]] == ["group_limit"]
    assert found["unblock"]["candidates"][0]["effect"]["starts"] == 2
    assert json.loads(as_json(sample(), AskedStatement.of("144"), history))["state"] == "running"
    assert json.loads(as_json(sample(), AskedStatement.of("999"), history))["state"] == "gone"


def test_a_session_can_be_named_as_on_screens() -> None:
    serial = next(row.serial for row in sample().queue if row.sid == 501)
    assert answer(f"501,{serial}") == answer(f"1:501,{serial}") == answer("501")
    assert answer(f"501,{serial + 1}")[0].startswith(f"session 501,{serial + 1} "), "another session with that SID"


def test_every_second_poll_was_read_up_to_the_first_watched() -> None:
    history, came = ReasonHistory(), sample()
    history.add(came)
    history.precede([replace(came, at=came.at - timedelta(seconds=8))], 2)
    assert (history.sparse_to, history.step) == (came.at, 2)
