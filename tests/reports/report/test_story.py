"""Story of a report, sentence by sentence, and its unknowns, from values made here."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.readings.reading import Alert, Evidence, LateView, UnansweredQuery, UnavailableView
from presman.analysis.trends.database_events import KINDS, PLAN_CHANGED, DatabaseEvent, kind_in_words
from presman.recording.time_bins import EventMark, PollGap
from presman.reports.report.incident import CHECKED
from presman.reports.report.story import alert_spans, story, unknown
from tests.recording.recorded import START
from tests.tui.readings import busy


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def clock(seconds: float) -> str:
    return f"{at(seconds).astimezone():%Y-%m-%d %H:%M:%S}"


CALM = replace(busy(), basis=(), troubles=(), unseen=(), late=())


def look(seconds: float, *alerts: Alert, why: str = "", **facts: Any) -> Any:
    return SimpleNamespace(at=at(seconds), alerts=alerts, why=why, to_do=None, reading=replace(CALM, **facts))


def alert(state: Any, text: str, key: str = "k", subject: str = "") -> Alert:
    return Alert(state, "▲", text, text)._replace(key=key, subject=subject)


def stretch(key: int, known: int = 10, **facts: Any) -> Any:
    plain: dict[str, Any] = {"queued": 0, "servers": None, "target": None, "busy": 0, "used": None, "waited": None}
    plain |= facts
    is_counted = plain["waited"] is not None
    then = {"counted": known if is_counted else 0, "used_then": plain["used"] if is_counted else None}
    return SimpleNamespace(key=key, known=known, **(then | plain))


def incident(**facts: Any) -> Any:
    plain: dict[str, Any] = {
        "polls": 120, "start": at(0), "end": at(600), "target": "prod", "samples": (), "goals": (), "bins": (),
        "groups": (), "sums": (), "marks": (), "events": (), "moment": None, "gaps": (), "step": 1, "damaged": (),
        "damage": (), "queued_unseen": 0,
    }  # fmt: skip
    return SimpleNamespace(**(plain | facts))


def whole(**facts: Any) -> str:
    return story(incident(**facts))[0]


def test_a_stretch_of_which_little_is_known() -> None:
    assert story(incident()) == [
        "120 polls of prod in 10 min. No parallel statement was seen waiting in the queue. CPU used by the groups is "
        "not known: no poll has rates. No event was recorded.",
        "None of its polls can be read: only the figures are known, not the alerts.",
    ]


def test_the_frame_has_the_database_its_plans_and_its_cpus() -> None:
    night = replace(CALM.header, plan="NIGHT", num_cpus=16.0)
    samples = (look(0), look(5), look(10, header=night))
    assert whole(samples=samples).startswith(
        "120 polls of DWPROD in 10 min. Resource plan: DAYTIME_PLAN, then NIGHT; 16 CPUs managed. "
    )
    unknown_cpus = replace(CALM.header, database="", num_cpus=None)
    sentences = whole(samples=(look(0, header=unknown_cpus),))
    assert "120 polls of prod in" in sentences
    assert "- CPUs managed" in sentences
    assert " Goal: met by 3 of 4. " in whole(goals=(SimpleNamespace(sentence="met by 3 of 4", good=3, bad=1),))


def changed(seconds: float, text: str, kind: str = PLAN_CHANGED) -> DatabaseEvent:
    return DatabaseEvent(at(seconds), kind, "", "", text)


def planned(seconds: float, plan: str, managed: str = "ON") -> Any:
    return look(seconds, header=replace(CALM.header, plan=plan, num_cpus=16.0, cpu_managed=managed))


def test_plans_are_listed_in_order_even_between_the_polls_that_are_read() -> None:
    """A plan that came back was named once; a plan that ended was called INTERNAL_PLAN with managed CPUs."""
    events = (
        changed(-60, "plan OLD → DAY"), changed(20, "plan DAY → NIGHT (by NIGHT_WINDOW)"),
        changed(25, "plan NIGHT → DAY"), changed(40, "plan DAY → none"),
        changed(45, "DAY: ETL A → B", "directive changed"),
        changed(55, "plan none → DAY"),
    )  # fmt: skip
    samples = (planned(0, "DAY"), planned(30, "DAY"), planned(50, "INTERNAL_PLAN", "OFF"), planned(60, "DAY"))
    sentences = whole(samples=samples, events=events)
    assert "Resource plan: DAY, then NIGHT, then DAY, then none, then DAY; 16 CPUs, not always managed." in sentences
    often = tuple(changed(each, f"plan A → {'NIGHT' if each % 2 else 'DAY'}") for each in range(1, 12))
    assert "Resource plan: DAY and NIGHT in turn, changed 12 times; 16 CPUs managed." in whole(
        samples=(planned(0, "DAY"), planned(20, "DAY")), events=often
    )


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (("ON", "ON"), "16 CPUs managed."),
        (("OFF", "OFF"), "16 CPUs, not managed."),
        (("", "OFF"), "16 CPUs, not managed."),
        (("", ""), "16 CPUs, not known whether managed."),
        (("ON", ""), "16 CPUs, not known whether always managed."),
    ],
)
def test_cpus_are_called_managed_only_if_they_were(states: tuple[str, ...], words: str) -> None:
    samples = tuple(planned(5.0 * place, "DAY", managed) for place, managed in enumerate(states))
    assert f"Resource plan: DAY; {words} " in whole(samples=samples)


def test_the_queue_is_described_at_its_longest() -> None:
    bins = (stretch(0, queued=3, servers=64, target=128, busy=4), stretch(1, queued=12, servers=None, busy=7),
            stretch(2, queued=1, servers=96, target=256, busy=1))  # fmt: skip
    samples = (look(0, why="the first"), look(30, why="the longest queue"))
    sentences = whole(bins=bins, samples=samples)
    assert (
        f"Up to 12 parallel statements waited in the queue, at {clock(30)} (in 12 of 120 polls a statement waited). "
        "Up to 96 parallel servers were in use; the target was 128, then 256." in sentences
    )
    assert "waited in the queue (in 12 of" in whole(bins=bins)
    assert "Up to 1 parallel server was in use; the target is -." in whole(bins=(stretch(0, servers=1),))
    often = [stretch(key, servers=1, target=target) for key, target in enumerate((64, 64, 32, None, 64, 128, 96))]
    assert "in use; the target was 64, then 32, then 64, then 128." in whole(bins=often[:6])
    assert "in use; the target was between 32 and 128." in whole(bins=often)
    assert "in use; the target is 64." in whole(bins=often[:2])
    lacking = replace(CALM, basis=(Evidence("queue", (), "V$SESSION: ORA-00942"), Evidence("skew", (), "x")))
    assert (
        "No parallel statement was seen waiting in the queue. Whether one did is not known: V$SESSION: ORA-00942."
        in whole(samples=(SimpleNamespace(at=at(0), alerts=(), why="", to_do=None, reading=lacking),))
    )


def test_the_statement_with_most_server_time_is_named() -> None:
    def total(**facts: Any) -> Any:
        plain = {"sql_id": "7xq3h", "user": "RPT", "statements": 3, "executions": 2, "server_seconds": 90.0}
        return SimpleNamespace(**(plain | facts))

    assert (
        "5 parallel statements were seen; most server time went to 7xq3h of RPT (2 executions, 90 server seconds)."
        in whole(sums=(total(), total(sql_id="other", statements=2)))
    )
    assert "1 parallel statement was seen; most server time went to a statement without SQL_ID of ? (1 execution," in (
        whole(sums=(total(sql_id="", user="", statements=1, executions=1),))
    )


def group(key: int, name: str, waiting: float | None) -> Any:
    return SimpleNamespace(key=key, group=name, waiting=waiting)


def test_cpu_is_the_mean_of_polls_with_a_value() -> None:
    """10 polls with 6 CPUs used and 2 waited for, 30 with 2 and 0: 3 and 0.5 on average; 0.5 of 3.5 is 14 %."""
    bins = (stretch(0, 10, used=6.0, waited=2.0), stretch(1, 30, used=2.0, waited=0.0), stretch(2, 0))
    groups = (group(0, "ETL", 1.6), group(0, "BATCH", 0.4), group(1, "BATCH", None))
    sentences = whole(bins=bins, groups=groups)
    assert (
        "The groups used 3.0 CPUs on average; 14 % of their demand had to wait, most of it for ETL (0.4 CPUs)."
        in sentences
    )
    assert "had to wait. No event" in whole(bins=bins, groups=(group(0, "ETL", 0.19),)), (
        "less than 0.05 is not attributed"
    )
    assert "most of it for ETL (0.1 CPUs)" in whole(bins=bins, groups=(group(0, "ETL", 0.2),))
    calm = whole(bins=(stretch(0, 10, used=6.0, waited=0.0),))
    assert "The groups used 6.0 CPUs on average. No event" in calm


def test_time_in_which_waits_for_cpu_are_not_counted_is_no_time_without_them() -> None:
    """For 30 of 40 s CPU was not managed."""
    bins = (stretch(0, 10, used=6.0, waited=2.0), stretch(1, 30, used=2.0))
    sentences = whole(bins=bins, groups=(group(0, "ETL", 1.6), group(0, "BATCH", 0.4), group(1, "BATCH", None)))
    assert (
        "The groups used 3.0 CPUs on average; 25 % of their demand had to wait in the 10 s in which such waits were "
        "counted, most of it for ETL (1.6 CPUs)."
    ) in sentences


def test_events_are_counted_by_kind() -> None:
    marks = (EventMark("timeout", at(0), at(9), 3, "x"), EventMark("plan changed", at(5), at(5), 1, "y"),
             EventMark("plan changed", at(6), at(6), 1, "z"))  # fmt: skip
    assert whole(marks=marks).endswith(" Events: 2 changes of plan, 3 timeouts.")


def test_alerts_at_the_start_are_called_so() -> None:
    marks = (EventMark("alert there", at(0), at(0), 2, "x"), EventMark("alert worse", at(5), at(9), 2, "y"))
    assert whole(marks=marks).endswith(" Events: 2 alerts at the start, 2 alerts got worse.")


@pytest.mark.parametrize("kind", KINDS)
def test_events_are_named_in_singular_and_plural(kind: str) -> None:
    one, two = (whole(marks=(EventMark(kind, at(0), at(9), many, "x"),)) for many in (1, 2))
    assert f"Events: 1 {kind_in_words(kind)}." in one
    assert re.search(r"Events: 2 \w+s\b", two)


def test_the_moment_has_three_alerts_and_the_advice() -> None:
    bad = [alert("bad", f"a{n}.") for n in range(3)] + [alert("warn", "b"), alert("note", "c"), alert("good", "d")]
    worst = look(30, *bad, why="most throttled")
    assert story(incident(moment=worst))[1] == (
        f"At {clock(30)} (most throttled): a0; a1; a2. 1 more alert of that moment in the table below."
    )
    worst.to_do, worst.why, worst.alerts = SimpleNamespace(text="end 1:526"), "", (alert("warn", "b"),)
    assert story(incident(moment=worst))[1] == f"At {clock(30)}: b. What presman advised at that moment: DO end 1:526."
    calm = look(30, alert("note", "c"))
    assert story(incident(moment=calm))[1] == f"At {clock(30)} nothing was wrong."
    blind = look(30, basis=(Evidence("queue", (), "x"), Evidence("skew", (), "y"), Evidence("seen", (), "")))
    assert story(incident(moment=blind))[1] == (
        f"At {clock(30)} nothing was wrong, but it is not known whether there was a queue, or a skew."
    )


def test_an_alert_is_listed_once_at_its_worst() -> None:
    samples = (
        look(0, alert("warn", "w0", "queue", "ETL"), alert("note", "n0", "other")),
        look(5, alert("warn", "w1", "queue", "ETL"), alert("warn", "again", "queue", "ETL"), alert("warn", "b", "q2"),
             why="chosen"),
        look(9, alert("bad", "x", "queue", "BATCH"), alert("warn", "b", "q2"), alert("warn", "b", "q2")),
    )  # fmt: skip
    found = [(each.alert.text, each.polls, each.first.at, each.last.at) for each in alert_spans(samples)]
    assert found == [
        ("x", 1, at(9), at(9)), ("w1", 2, at(0), at(5)), ("b", 2, at(5), at(9)), ("n0", 1, at(0), at(0)),
    ]  # fmt: skip


def test_a_statement_that_can_never_start_comes_before_waiting_ones() -> None:
    """The head was too large for its limit at one poll; later other statements waited for long."""
    never = alert("bad", "wants 24, more than the 16 allowed", "queue", "REPORTS")
    waits = Alert("bad", "", "short by 8", "", "queue", "REPORTS", 570.0)
    samples = (look(0, never), look(5, waits), look(9, waits, why="the longest queue"))
    assert [(each.alert.text, each.polls) for each in alert_spans(samples)] == [
        ("short by 8", 2), ("wants 24, more than the 16 allowed", 1),
    ]  # fmt: skip


def test_the_list_of_unknown_facts() -> None:
    assert unknown(incident()) == []
    gaps = tuple(PollGap(at(100 * n), at(100 * n + 61)) for n in range(22))
    sentences = unknown(incident(gaps=gaps))
    assert sentences[0] == "22 gaps without polls, 22 min 22 s in all; nothing is known of that time:"
    assert (len(sentences), sentences[-1]) == (22, "and 2 gaps more")
    assert len(unknown(incident(gaps=gaps[:20]))) == 21
    none = "No parallel statement was seen waiting in the queue, but there are no polls of 2 min 2 s"
    assert f"{none}. " in whole(gaps=gaps[:2])
    assert f"{none}. In that time 1 statement queued (by V$RSRC_CONSUMER_GROUP)." in whole(
        gaps=gaps[:2], queued_unseen=1
    )
    assert unknown(incident(step=3))[0].endswith("use 32 polls in every 96")
    assert unknown(incident(polls=CHECKED)) == []
    assert unknown(incident(polls=CHECKED + 1, samples=(look(0),)))[0].startswith("Only the 1 read for the table")
    assert unknown(incident(damage=("a chain is lost",))) == ["a chain is lost"]


@pytest.mark.parametrize(("many", "expected"), [(1, "3 of 120 polls "), (2, "6 of 120 polls in 2 blocks ")])
def test_damaged_polls_are_reported_from_the_first_to_the_last(many: int, expected: str) -> None:
    damaged = tuple(SimpleNamespace(polls=3, start=at(60 * n), end=at(60 * n + 10)) for n in range(many))[::-1]
    (sentences,) = unknown(incident(damaged=damaged))
    assert sentences.startswith(f"{expected}{clock(0)}–{at(60 * many - 50).astimezone():%H:%M:%S} are damaged")


def test_a_damaged_recording_is_not_called_uneventful() -> None:
    damaged = (SimpleNamespace(polls=3, start=at(0), end=at(10)),)
    for facts in ({"damaged": damaged}, {"damage": ("a chain is lost",)}):
        sentences = whole(**facts)
        for what in ("No event was recorded", "No parallel statement was seen waiting in the queue"):
            assert f"{what}, as far as it can be read: the recording is damaged, so whether" in sentences


def test_views_without_an_answer_are_counted_by_their_error() -> None:
    lost = UnavailableView("GV$OSSTAT", "GV$OSSTAT: ORA-00942")
    query = UnansweredQuery("osstat", "", "no grant", "")
    samples = (
        look(0, unseen=(lost,)),
        look(5, unseen=(lost,), troubles=(query,)),
        look(9, late=(LateView("V$A", 3.0),)),
    )
    assert unknown(incident(samples=samples)) == [
        "GV$OSSTAT: ORA-00942 (in 2 of 3 polls checked)", "V$A did not answer in time (in 1 of 3 polls checked)",
        "osstat: no grant (in 1 of 3 polls checked)",
    ]  # fmt: skip
