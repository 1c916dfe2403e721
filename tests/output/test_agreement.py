"""Numbers agree across the header, the tables, the sentences, `once` (text and JSON) and CSV of the same poll."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from functools import cache
from io import StringIO
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.readings.group_readings import Verdict
from presman.analysis.readings.reading import Reading
from presman.analysis.trends import Watch
from presman.base.formats import duration
from presman.figures import group_figures
from presman.figures.drawing.lines import plain
from presman.figures.measures import groups
from presman.output.csv_export import CsvExport
from presman.output.json_document import assess, dump
from presman.output.text_report import full
from presman.rows.snapshot import Snapshot
from presman.tabs.charts import used_levels
from presman.tabs.choices import Choices, Link, LinkState
from presman.tabs.parallel import holders, queue_line
from presman.tabs.parts import Moment
from presman.tabs.table_notes import verdict_lines
from presman.tui.widgets.frame_lines import TopLine, top_line
from tests.recording.recorded import polled
from tests.scenarios import KINDS, NOT_SO
from tests.thorough import THOROUGH

POLLS, EVERY = (120, 5) if THOROUGH else (12, 11)
"""Polls of a scenario, and the distance of those that are looked at."""


class Poll(NamedTuple):
    """One poll with its text, its JSON document and its CSV rows."""

    reading: Reading
    text: str
    document: dict[str, Any]
    rows: dict[str, list[dict[str, str]]]


@cache
def polls(scenario: str) -> tuple[Poll, ...]:
    looked_at = list(pairwise(polled(scenario, POLLS)))[EVERY - 1 :: EVERY]
    return tuple(_poll(reading, previous, current) for (previous, _), (current, reading) in looked_at)


def _poll(reading: Reading, previous: Snapshot, current: Snapshot) -> Poll:
    rows: dict[str, list[dict[str, str]]] = {}
    for name in ("cpu", "parallel", "session_io", "queue"):
        out = StringIO()
        CsvExport(out, name).write(reading)
        rows[name] = list(csv.DictReader(StringIO(out.getvalue())))
    document = json.loads(dump(reading, assess(reading, previous, current)))
    return Poll(reading, full(reading, None, (previous, current)), document, rows)


@pytest.fixture(params=KINDS, scope="module")
def played(request: pytest.FixtureRequest) -> tuple[Poll, ...]:
    return polls(request.param)


def line_of(text: str, table: str, *starts: str) -> str:
    """Return the line of a table in a text that begins with these words."""
    part = text.split(f"-- {table} (")[1].split("\n\n", maxsplit=1)[0]
    (found,) = [line for line in part.splitlines() if line.split()[: len(starts)] == list(starts)]
    return found


def test_servers_are_as_many_everywhere(played: tuple[Poll, ...]) -> None:
    for poll in played:
        reading, pool = poll.reading, poll.reading.header.servers
        link = Link(LinkState.LIVE)
        header = plain(top_line(TopLine("X", reading, Choices(), link, None, "", 0.0), 400))
        assert f"PX servers {pool.in_use}/{pool.target}" in header
        assert f"servers {pool.in_use} in use of target {pool.target}" in poll.text
        assert poll.document["header"]["servers"]["in_use"] == pool.in_use
        assert pool.in_use == sum(each.servers.in_use for each in reading.header.instances)
        held = sum(int(row["px_servers_active"]) for row in poll.rows["parallel"])
        assert held == sum(row.px_servers for row in reading.cluster_groups())
        if reading.unmanaged_servers:
            assert held + reading.unmanaged_servers == pool.in_use
            assert f" {reading.unmanaged_servers} in use that no group counts" in plain(queue_line(reading, Watch()))
        summary = plain(holders(reading))
        for row in reading.cluster_groups():
            if row.px_servers:
                assert re.search(rf"\b{re.escape(row.name)} ≤?{row.px_servers}\b", summary)


def test_the_queue_is_as_long_everywhere(played: tuple[Poll, ...]) -> None:
    for poll in (each for each in played if not any(name in each.reading.target for name in NOT_SO)):
        reading = poll.reading
        queued = Counter((each.con_id, each.group) for each in reading.queue)
        in_csv: Counter[tuple[int, str]] = Counter()
        for line in poll.rows["parallel"]:
            in_csv[int(line["con_id"]), line["consumer_group"]] += int(line["px_statements_queued"])
        assert queued == +in_csv
        assert len(poll.rows["queue"]) == len(reading.queue) == len(poll.document["queue"])
        alerts = {alert.subject: alert for alert in wrong(reading) if alert.key == "queue_waits"}
        for row in reading.cluster_groups():
            number = queued[row.con_id, row.name]
            assert row.px_queued == number
            if number:
                waited = max(
                    each.waited for each in reading.queue if (each.con_id, each.group) == (row.con_id, row.name)
                )
                assert f"{number} queued, head {duration(waited)}" in alerts[row.title].short
                assert any(state.text.startswith(f"{number} queued {duration(waited)}") for state in row.states)
                assert group_figures.GROUPS["head_waited_s"].show(row) == duration(waited)


def test_cpu_is_the_same_in_tables_sentences_and_files(played: tuple[Poll, ...]) -> None:
    for poll in played:
        reading = poll.reading
        moment = Moment(reading)
        sentences = [plain(line) for line in verdict_lines(reading, moment.groups())]
        document = {(row["inst_id"], row["con_id"], row["name"]): row for row in poll.document["groups"]}
        used: Counter[int] = Counter()
        for row, line in zip(groups(reading), poll.rows["cpu"], strict=True):
            shown = document[row.inst_id if len(reading.header.instances) > 1 else 0, row.con_id, row.name]
            assert float(line["used_cpus"] or -1) == pytest.approx(-1 if row.used is None else shown["used"], abs=1e-4)
            if row.verdict is Verdict.NOT_MANAGED:
                assert (line["waited_cpus"], shown["waiting"]) == ("", None), "then no view counts it"
            else:
                waiting = -1 if row.used is None else shown["waiting"]
                assert float(line["waited_cpus"] or -1) == pytest.approx(waiting, abs=1e-4)
            assert line["verdict"] == shown["verdict"] == row.verdict.name.lower()
            assert line["state"] == shown["state"]["word"]
            used[row.inst_id] += row.used or 0.0
        unknown = {row.inst_id for row in reading.groups if row.used is None}
        for instance in (each for each in reading.header.instances if not unknown & {0, each.inst_id}):
            expected = f"{used[instance.inst_id]:.1f} of {instance.num_cpus:.0f} CPUs used"
            assert any(expected in sentence for sentence in sentences)
            assert expected in poll.text
        levels = sum(level.value or 0.0 for level in used_levels(moment))
        assert unknown or levels == pytest.approx(sum(used.values()))


def test_each_group_has_the_same_figures_everywhere(played: tuple[Poll, ...]) -> None:
    for poll in played:
        for row in poll.reading.cluster_groups():
            several = len({each.con_id for each in poll.reading.groups}) > 1
            start = (group_figures.GROUPS["con_id"].show(row), row.name) if several else (row.name,)
            line = line_of(poll.text, "Consumer groups", *start)
            for figure in group_figures.GROUPS.pick("used_cpus wanted_cpus io_mb_per_s px_statements_queued"):
                assert re.search(rf"(?<![\d.]){re.escape(figure.show(row))}(?![\d.])", line), figure.key
            assert group_figures.state_text(row) in line
            if row.used is not None and row.verdict.name in {"CONTENDED", "CAPPED", "STARVED", "ZERO_SHARE", "CAGED"}:
                sentence = next(each for each in poll.text.splitlines() if each.startswith(f"{row.title}: "))
                assert f"Wants {row.wanted:.1f}, gets {row.used:.1f} of" in sentence or "On instance" in sentence


def test_alerts_and_do_are_the_same_everywhere(played: tuple[Poll, ...]) -> None:
    for poll in played:
        assert {each["text"] for each in poll.document["alerts"]} == {alert.text for alert in wrong(poll.reading)}
        assert set(poll.text.splitlines()) >= {f"{alert.glyph} {alert.text}" for alert in wrong(poll.reading)}
        do = [line.removeprefix("DO ") for line in poll.text.splitlines() if line.startswith("DO ")]
        found = poll.document["to_do"]
        assert do == ([found["text"]] if found else [])
        idle = [each for each in poll.reading.running if each.idle is not None]
        if idle:
            held = sum(each.servers for each in idle)
            (idle_alert,) = [alert for alert in wrong(poll.reading) if alert.key == "idle_holder"]
            assert re.match(rf"{len(idle)} idle holders? keeps? (at least )?{held} servers?", idle_alert.short)


def test_a_table_counts_shown_and_all_rows(played: tuple[Poll, ...]) -> None:
    """Of these two a text has the first ten."""
    for poll in played:
        waits = len(poll.reading.waits)
        assert f"-- Top waits ({f'10 of {waits}' if waits > 10 else waits})\n" in poll.text
        for title, shown, of in re.findall(r"^-- (.+) \((\d+)(?: of (\d+))?\)$", poll.text, re.MULTILINE):
            if of:
                assert title in {"Top waits", "Sessions by I/O"}
                assert int(shown) == 10 < int(of)
