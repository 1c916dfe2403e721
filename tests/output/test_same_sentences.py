"""One poll in the same words in `once` (text, JSON, CSV), `why`, `watch`, `check`, DO and narrow screens.

Over all scenarios, with forecasts: same number, same word, same window. A recording later repeats what was
shown live.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from functools import cache
from io import StringIO
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.readings.forecast_readings import EndingEffect, ForecastRecord, QueueForecast, effect_words
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import QueueHead, StartForecast
from presman.analysis.totals import totals
from presman.base.formats import counted
from presman.figures.drawing.lines import plain
from presman.figures.statement_figures import QUEUE, between, forecast_record, when
from presman.forecast.forecaster import Forecaster
from presman.forecast.shown import as_shown, with_shown
from presman.output.csv_export import CsvExport
from presman.output.json_document import assess, dump
from presman.output.narration import Narration
from presman.output.plugin_check import perfdata
from presman.output.text_report import full
from presman.output.why_answer import AskedStatement, ReasonHistory, as_json, as_text
from presman.rows.snapshot import Snapshot
from presman.tabs.alerts import alerts
from presman.tabs.choices import Link, LinkState
from presman.tui.widgets.frame_lines import alert_line, do_line
from tests.recording.recorded import polled
from tests.scenarios import KINDS
from tests.thorough import THOROUGH
from tests.tui.readings import busy

POLLS, EVERY = (12, 12) if not THOROUGH else (200, 4)
FORESEEN = 48
"""Polls of the scenarios after which their queues have forecasts."""
LONG = frozenset({"mixed", "storm", *(["pdb"] if THOROUGH else [])})
WIDTHS = (60, 80, 120)


class ShownPoll(NamedTuple):
    """One poll with its forecasts, and its output in each form."""

    reading: Reading
    snapshots: tuple[Snapshot, Snapshot]
    text: str
    document: dict[str, Any]
    queue: list[dict[str, str]]
    watch: list[str]


@cache
def polls(scenario: str) -> tuple[ShownPoll, ...]:
    return tuple(_played(scenario))


def _played(scenario: str) -> Iterator[ShownPoll]:
    forecaster, previous = Forecaster(), None
    for number, (snapshot, reading) in enumerate(polled(scenario, max(POLLS, FORESEEN * (scenario in LONG)))):
        seen = forecaster.read(reading, previous, snapshot, None)
        if previous is not None and number % EVERY == EVERY - 1:
            yield _poll(seen, (previous, snapshot))
        previous = snapshot


def _poll(reading: Reading, snapshots: tuple[Snapshot, Snapshot]) -> ShownPoll:
    out = StringIO()
    CsvExport(out, "queue").write(reading)
    return ShownPoll(
        reading,
        snapshots,
        full(reading, None, snapshots),
        json.loads(dump(reading, assess(reading, *snapshots))),
        list(csv.DictReader(StringIO(out.getvalue()))),
        [line[10:] for line in Narration().take(reading, snapshots[1])],
    )


@pytest.fixture(params=KINDS, scope="module")
def played(request: pytest.FixtureRequest) -> tuple[ShownPoll, ...]:
    return polls(request.param)


def why(head: QueueHead, reading: Reading) -> tuple[str, dict[str, Any]]:
    """Return what `presman why` says of a head, as text and as JSON."""
    history, asked = ReasonHistory(), AskedStatement.of(f"{head.statement.inst_id}:{head.statement.sid}")
    history.add(reading)
    return as_text(reading, asked, history), json.loads(as_json(reading, asked, history))


def test_why_a_head_waits_is_the_same_sentence_everywhere(played: tuple[ShownPoll, ...]) -> None:
    for poll in played:
        found = {(each["con_id"], each["group"]): each["sentence"] for each in poll.document["heads"]}
        alerted = [alert.text for alert in wrong(poll.reading) if alert.key == "queue_waits"]
        for head in poll.reading.heads:
            text, document = why(head, poll.reading)
            assert f"  {head.sentence}\n" in text
            assert document["sentence"] == found[head.con_id, head.group] == head.sentence
            assert any(each.endswith(head.sentence) for each in alerted), alerted
            assert document["reason"] == head.statement.reason.name.lower()


def test_when_it_starts_is_the_same_in_tables_sentences_and_files(played: tuple[ShownPoll, ...]) -> None:
    for poll in played:
        record = forecast_record(poll.reading, since=True)
        assert f"\n{record}\n" in f"{poll.text}\n" or not record or not poll.reading.queue
        rows = {(int(row["inst_id"]), int(row["sid"])): row for row in poll.queue}
        for row, shown in zip(poll.reading.queue, poll.document["queue"], strict=True):
            starts, line = row.starts, rows[row.inst_id, row.sid]
            if starts is None or starts.median is None:
                assert line["starts_in_s"] == "" or starts is not None
                continue
            assert [shown["starts"][each] for each in ("median", "low", "high")] == [
                float(line[f"starts_{each}_s"]) for each in ("in", "low", "high")
            ]
        for head in poll.reading.heads:
            text, _ = why(head, poll.reading)
            starts = head.statement.starts
            if starts is not None and starts.median is not None:
                low, high = between(starts).split("-")
                assert f"in {when(starts)}, between {low} and {high} in 8" in text
                cell = QUEUE.column("starts_in_s").show(head.statement)
                assert cell == (f"{low}-{high}" if low != high else when(starts))
                assert not record or f" {record}." in text


@pytest.mark.parametrize(
    ("starts", "cell"),
    [
        (StartForecast(400.0, 56.0, 1182.0), "0:56-19:42"),
        (StartForecast(130.0, 100.0, 210.0), "1:40-3:30"),
        (StartForecast(10.0, 1.0, 14.0), "0:01-0:14"),
        (StartForecast(0.3, 0.1, 0.9), "0:00"),
        (StartForecast(timeout=True), "timeout"),
        (StartForecast(why_none="too few"), "-"),
        (None, "-"),
    ],
)
def test_every_start_is_shown_as_a_range(starts: StartForecast | None, cell: str) -> None:
    assert QUEUE.column("starts_in_s").show(replace(busy().queue[0], starts=starts)) == cell


def test_the_effect_of_an_end_has_the_figures_of_the_table_and_a_range(played: tuple[ShownPoll, ...]) -> None:
    for poll in played:
        forecast = poll.reading.forecast
        for effect in () if forecast is None else forecast.effects:
            check_effect(effect, forecast, poll.reading)
        for found in unblock(poll.reading):
            text, _ = why(found.head, poll.reading)
            for way in found.answers:
                effects = [each.effect for each in found.candidates if way == (each.statement,)]
                assert effect_words(effects[0] if effects else found.effect) in text


def check_effect(effect: EndingEffect, forecast: QueueForecast | None, reading: Reading) -> None:
    assert forecast is not None
    assert forecast.record.shows_effects()
    assert (effect.through is None) == (effect.otherwise is None)
    if effect.otherwise is not None:
        known = [row.starts for row in reading.queue if row.starts is not None]
        assert known
        last = max(known, key=lambda each: each.median or 0.0)
        assert effect.otherwise == last.median, "the last of the table, which shows the range around it"
        assert (last.low or 0.0) <= effect.otherwise <= (last.high or 0.0)
    if effect.sooner is not None:
        assert effect.sooner_low is not None
        assert effect.sooner_high is not None
        assert 0.0 <= effect.sooner_low <= effect.sooner <= effect.sooner_high


def test_watch_once_check_and_json_have_the_same_totals_and_step(played: tuple[ShownPoll, ...]) -> None:
    for poll in played:
        pool, now = poll.reading.header.servers, next(line for line in poll.watch if line.startswith("now: "))
        target = poll.reading.header.target_used
        assert f"; {counted(pool.in_use or 0, 'parallel server')} in use of target {target}; " in f"; {now[5:]}; "
        assert f"servers {pool.in_use} in use of target {target}, max" in poll.text
        queued = sum(poll.reading.queued_by_group().values()) or len(poll.reading.queue)
        assert f"; {counted(queued, 'statement')} queued" in now
        figures = dict(each.split(";")[0].split("=") for each in perfdata(poll.reading, ()).split())
        assert int(figures["queued"]) == queued
        assert len(poll.reading.queue) == len(poll.document["queue"])
        assert int(figures["servers"]) == pool.in_use
        waiting = totals(poll.reading).waiting
        assert waiting is None or poll.reading.header.cpu_managed == "ON", "without a plan no view counts waits"
        held = int(figures["quiesce_held"].replace("U", "0"))
        assert (f"; {counted(held, 'session')} held by the quiesce; " in now) == (held > 0)
        assert (figures["cpu_waiting"] != "U") == (waiting is not None)
        assert ("waited for" in now) == (waiting is not None and not held), (
            "no view counts the CPU that held sessions want"
        )
        severe = [alert for alert in wrong(poll.reading) if alert.state in {"bad", "warn"}]
        assert now.endswith(f"; {counted(len(severe), 'alert')}")
        step = to_do(poll.reading)
        steps = [line.removeprefix("do: ") for line in poll.watch if line.startswith("do: ")]
        assert steps == ([step.text] if step else [])
        assert (poll.document["to_do"] or {}).get("text") == (step.text if step else None)


def test_no_line_of_alerts_or_do_is_cut_within_a_sentence(played: tuple[ShownPoll, ...]) -> None:
    for poll in played:
        found, step = alerts(poll.reading, Link(LinkState.LIVE)), to_do(poll.reading)
        for width in WIDTHS:
            lines = [plain(alert_line(found, width)), *([plain(do_line(step, width))] if step else [])]
            assert not [line for line in lines if "…" in line and "…" not in found[0].text]
            assert all(len(line) <= width for line in lines)


def test_a_recording_shows_the_live_forecasts(played: tuple[ShownPoll, ...]) -> None:
    for poll in played:
        kept = with_shown(poll.snapshots[1], poll.reading)
        again = as_shown(poll.reading.with_forecast({}, QueueForecast()), kept)
        for before, after in zip(poll.reading.queue, again.queue, strict=True):
            assert before.starts == after.starts
        if poll.reading.forecast is not None and again.forecast is not None:
            assert again.forecast.record == poll.reading.forecast.record
            assert again.forecast.effects == poll.reading.forecast.effects
            assert to_do(again) == to_do(poll.reading)


def test_contradictions_would_be_found() -> None:
    """One scenario has forecasts, another effects; an effect that differs from the table is found."""
    assert any(re.search(r"\d+:\d\d-\d+:\d\d", poll.text) for poll in polls("mixed"))
    assert any(poll.reading.forecast and poll.reading.forecast.effects for poll in polls("storm"))
    reading = polls("mixed")[-1].reading
    other = EndingEffect((), 1, 60.0, 99_999.0, sooner=1.0, sooner_low=0.0, sooner_high=2.0)
    record = ForecastRecord(50, 41, 22.0)
    with pytest.raises(AssertionError):
        check_effect(other, QueueForecast(record, (other,)), reading)
    with pytest.raises(AssertionError):
        check_effect(replace(other, through=None, otherwise=None), QueueForecast(ForecastRecord(1, 1, 1.0)), reading)
