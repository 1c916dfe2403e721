"""Page of `presman report`: well-formed, loads nothing, escapes all, and agrees with the recording."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given
from hypothesis import strategies as st

from presman.base.colours import GroupColours
from presman.base.markup import element
from presman.figures.figure import CPUS, NAME, NUMBER, SECONDS, Figure, Table
from presman.recording import time_bins
from presman.recording.codec.shapes import instant
from presman.recording.reader import Recording
from presman.recording.window_lines import poll_lines
from presman.reports.report.incident import SAMPLES, Incident, _moment, edges, gather
from presman.reports.report.incident_page import MOST, _left_out, incident_page, value_table
from tests.cli.run import Run
from tests.recording.recorded import START, figures, polled, record

POLLS = 72
HOSTILE = "<script>alert(1)</script>\"'&]]><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of six minutes with a gap of one minute, and names that look like markup."""
    path = tmp_path_factory.mktemp("report") / "a.presman"
    moments = list(polled("mixed", POLLS))
    record(path, moments[:40] + moments[52:])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute('UPDATE statements SET "user" = ?', (HOSTILE,))
        connection.execute("UPDATE group_cases SET consumer_group = ? WHERE consumer_group = 'BATCH'", (HOSTILE,))
        connection.execute("UPDATE events SET text = ?", (HOSTILE,))
    return path


@pytest.fixture(scope="module")
def incident(whole: Path) -> Iterator[Incident]:
    with Recording(str(whole)) as recording:
        playback = recording.playback()
        yield gather(recording, playback, playback.indexes())


@pytest.mark.parametrize(("polls", "ends"), [(2, [5]), (24, [55, 115])])
def test_a_heat_column_covers_at_least_a_minute(whole: Path, polls: int, ends: list[int]) -> None:
    with Recording(str(whole)) as recording:
        found = gather(recording, recording.playback(), range(polls))
    assert len(found.heat) == 3, "events"
    for _, columns in found.heat:
        assert [(each.end - found.start).total_seconds() for each in columns] == ends


def test_a_column_begins_at_the_previous_poll_unless_there_is_a_gap() -> None:
    """With polls each 5 s, more than 15 s without a poll are a gap."""
    stretches = ((0, 10), (15, 25), (40, 50), (66, 70))
    bins = [
        SimpleNamespace(key=place, start=START + timedelta(seconds=start), end=START + timedelta(seconds=end))
        for place, (start, end) in enumerate(stretches)
    ]
    found = edges(bins, 5.0).values()  # type: ignore[arg-type]
    assert [((start - START).total_seconds(), (end - START).total_seconds()) for start, end in found] == [
        (-5, 10), (10, 25), (25, 50), (61, 70),
    ]  # fmt: skip


class Tags(HTMLParser):
    """Collects the elements of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_is_whole_loads_nothing_and_runs_nothing(incident: Incident) -> None:
    text = incident_page(incident, START)
    fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    tags = Tags()
    tags.feed(text)
    names = {name for name, _ in tags.found}
    assert {"svg", "title", "table", "style"} <= names
    assert not names & {"script", "img", "link", "iframe", "object", "a", "form", "base", "image", "use"}
    attributes = {key for _, own in tags.found for key in own}
    assert not attributes & {"src", "href", "style", "action", "xlink:href"}
    assert not any(key.startswith("on") for key in attributes)
    assert "url(" not in text
    assert "@import" not in text
    (policy,) = [own["content"] for _, own in tags.found if own.get("http-equiv") == "Content-Security-Policy"]
    assert (policy or "").startswith("default-src 'none'; style-src 'sha256-")
    assert "&lt;script&gt;alert(1)" in text
    assert len(text) < 2_000_000


@given(st.text(), st.text())
def test_any_text_is_escaped(content: str, value: str) -> None:
    found = fromstring(element("p", content, title=value))
    assert list(found) == []
    forbidden = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
    assert (found.text or "") == forbidden.sub("\ufffd", content).replace("\r\n", "\n").replace("\r", "\n")


def test_figures_are_those_of_the_recording(incident: Incident, whole: Path) -> None:
    with Recording(str(whole)) as recording:
        rows = figures(recording.playback(), "cpu")
        waits = [row for row in figures(recording.playback(), "latency") if row["waits"]]
    assert incident.width == 1
    of_page = {(each.group, each.key[1]): each.used for each in incident.groups}
    of_playback = [row["used_cpus"] for row in rows if row["used_cpus"] is not None]
    assert sum(each for each in of_page.values() if each is not None) == pytest.approx(sum(of_playback), abs=0.01)
    assert max(each.queued for each in incident.bins) == len(incident.moment.reading.queue if incident.moment else ())
    for event, columns in incident.heat:
        drawn = sum(sum(each.waits.values()) for each in columns)
        assert drawn == sum(row["waits"] for row in waits if row["event"] == event)


def test_the_table_of_alerts_notes_that_polls_are_sampled(incident: Incident) -> None:
    """An alert may have begun long before the first of these polls, with a lower severity."""
    text = incident_page(incident, START)
    _, _, rest = text.partition("In polls checked</th>")
    heads, _, rows = rest.partition("</tr>")
    assert re.findall(r">(\w[^<]+)</th>", heads) == ["First of them", "Last of them"]
    read_again = {f"{each.at.astimezone():%H:%M:%S}" for each in incident.samples}
    table, _, note = rows.partition("</table>")
    assert set(re.findall(r"<td>(\d\d:\d\d:\d\d)</td>", table)) <= read_again
    assert "when an alert began, got worse and ended is in the list of events" in note.partition("</section>")[0]


def test_the_worst_polls_are_read_again_and_others_at_even_intervals(incident: Incident, whole: Path) -> None:
    with Recording(str(whole)) as recording:
        playback = recording.playback()
        polls = poll_lines(playback, playback.at(0), playback.at(len(playback) - 1))
        asked = gather(recording, playback, playback.indexes(), at=playback.at(7)).samples
        ats = [playback.at(index) for index in playback.indexes()]
    chosen = {each.why: each for each in incident.samples if each.why}
    longest = chosen["the longest queue"]
    assert len(longest.reading.queue) == max(polls.values["queued"])
    assert longest.at == instant(polls.times[polls.values["queued"].index(len(longest.reading.queue))])
    assert [each.at for each in asked if each.why == "asked for"] == [ats[7]]
    assert [each.at for each in incident.samples] == sorted({each.at for each in incident.samples})
    step = (len(ats) - 1) / SAMPLES
    assert {ats[round(number * step)] for number in range(SAMPLES + 1)} <= {each.at for each in incident.samples}


def test_wide_bins_have_the_same_sums_as_narrow_ones(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Recording(str(whole)) as recording:
        playback = recording.playback()
        start, end = playback.at(3), playback.at(55)
        sums = []
        for width in (1, 8, 32):
            bins = time_bins.time_bins(playback, start, end, width)
            groups = time_bins.group_bins(playback, bins, start, end, width)
            known, polls = ({each.key: getattr(each, name) for each in bins} for name in ("known", "polls"))
            cpu = sum((each.used or 0.0) * known[each.key] for each in groups)
            servers = sum((each.servers or 0.0) * polls[each.key] for each in groups)
            events = time_bins.bucket_bins(playback, start, end, width).values()
            waits = sum(each.total() for bins in events for each in bins.values())
            sums.append((len(poll_lines(playback, start, end).times), round(cpu, 2), round(servers), waits))
        assert sums[0] == sums[1] == sums[2]
        assert sums[0][0] == 53


def test_gaps_and_damage_are_reported(incident: Incident, whole: Path, tmp_path: Path) -> None:
    assert [round((each.end - each.start) / timedelta(seconds=5)) for each in incident.gaps] == [13]
    assert "no poll 2026-03-12 " in incident_page(incident, START)
    path = tmp_path / "b.presman"
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE blocks SET content = x'00112233445566778899'")
    with Recording(str(path)) as recording:
        playback = recording.playback()
        found = gather(recording, playback, playback.indexes())
        text = incident_page(found, START)
    assert sum(each.polls for each in found.damaged) == POLLS - 12
    head, _, body = text.partition("What happened")
    assert f"{POLLS - 12} of {POLLS - 12} polls " in head
    assert "are damaged and cannot be read" in head
    assert "The charts use all polls" not in body
    assert "None of its polls can be read" in text


def test_a_report_notes_that_spans_are_sampled(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_bins, "SPANS", 1)
    with Recording(str(whole)) as recording:
        playback = recording.playback()
        text = incident_page(gather(recording, playback, playback.indexes()), START)
    assert "use 32 polls in every 64" in text


def test_the_command(whole: Path, tmp_path: Path, inside: Run) -> None:
    target = tmp_path / "out.html"
    done = inside("report", str(whole), "--to", "2026-03-12 03:03:00Z", "-o", str(target))
    assert (done.returncode, done.stdout) == (0, "")
    assert f"36 polls in {target}" in done.stderr
    assert "36 polls, usually 5.0 s apart" in target.read_text(encoding="utf-8")
    assert target.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (("--from", "2027-01-01", "-o", "x.html"), 3, "has no polls from"),
        (("--from", "soon", "-o", "x.html"), 2, "is not a time"),
        (("-o", "none/x.html"), 4, "cannot write none/x.html: No such file or directory"),
        ((), 2, "-o"),
    ],
)
def test_impossible_arguments_are_one_line(
    arguments: tuple[str, ...], code: int, expected: str, whole: Path, tmp_path: Path, inside: Run
) -> None:
    done = inside("report", str(whole), *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.glob("*.html")) == []


def test_a_target_that_is_no_recording_gets_advice_to_record(inside: Run) -> None:
    done = inside("report", "demo", "-o", "x.html")
    assert done.returncode == 2
    assert "presman record demo -o x.presman makes one" in done.stderr


def test_changes_are_listed_and_counted_in_words(tmp_path: Path) -> None:
    """The plan is switched at 60 s, the target is read at 180 s, a directive at 240 s; instance 2 goes and returns."""
    path = tmp_path / "changes.presman"
    record(path, list(polled("changes", 40, step=10.0)))
    with Recording(str(path)) as recording:
        playback = recording.playback()
        text = incident_page(gather(recording, playback, playback.indexes()), START)
    events, _, _ = text.partition("Over time")
    for event in (
        "plan DAY_PLAN → NIGHT_PLAN (by NIGHT_WINDOW)",
        "PARALLEL_SERVERS_TARGET 96 → 48",
        "NIGHT_PLAN: REPORTS PARALLEL_SERVER_LIMIT 75 → 50",
        "no view shows instance 2 (CHGDB2)",
        "instance 2 (CHGDB2) was restarted",
    ):
        assert event in events, "in the list at the top"
    (counts,) = re.findall(r"Events: ([^<]*?)\.", text)
    assert {"1 plan changed", "1 parameter changed", "1 directive changed", "2 changes of instances"} <= set(
        counts.split(", ")
    )
    assert not re.search(r"\b\d+ \w+ (?:changeds|begans|endeds|worses)", counts)


TABLE: Table[tuple[str, float]] = Table(
    "t", "T",
    (
        Figure("consumer_group", "Group", NAME, "Its name.", lambda row: row[0]),
        Figure("used_cpus", "use", CPUS, "CPUs used.", lambda row: row[1], state=lambda row: "bad" * (row[1] > 9)),
        Figure("waited", "waits", SECONDS, "How long.", lambda row: row[1]),
        Figure("inst_id", "Inst", NUMBER, "Where.", lambda _: 1),
        Figure("limit", "limit", CPUS, "None has one.", lambda _: None),
        Figure("past", "past", CPUS, "Over time.", lambda _: 1.0, trend=True),
    ),
    lambda row: row[0], "Nothing is there.",
)  # fmt: skip


def test_a_table_of_the_page_has_useful_columns_with_units() -> None:
    """The instance is hidden, no row has a limit, and pages have charts in place of trends."""
    colours = GroupColours()
    colours.add([(0, "ETL")])
    rows = [("ETL", 61.0), ("WEB", 9.0)]
    found = str(value_table(TABLE, rows, {"inst_id"}, "", colours))
    heads = re.findall(r"<th [^>]*title=\"([^\"]*)\"[^>]*>([^<]*)(?:<small>([^<]*)</small>)?", found)
    assert heads == [("Its name.", "Group", ""), ("CPUs used.", "use", "CPUs"), ("How long.", "waits", "m:ss")]
    cells = re.findall(r"<td([^>]*)>(.*?)</td>", found)
    assert [re.sub("<[^>]*>", "", text).replace("\u00a0", " ") for _, text in cells] == [
        "■ ETL", "61.0", "1:01", "WEB", "9.0", "0:09",
    ]  # fmt: skip
    assert ["bad" in how for how, _ in cells] == [False, True, False, False, False, False]
    assert "more row" not in str(value_table(TABLE, rows * (MOST // 2), (), "", colours))
    assert "The recording has 1 more row." in str(value_table(TABLE, [*rows * (MOST // 2), rows[0]], (), "", colours))
    assert "Nothing is there." in str(value_table(TABLE, (), (), "", colours))
    assert "no grant" in str(value_table(TABLE, (), (), "no grant", colours))


def test_the_page_refers_to_minor_events_at_its_end() -> None:
    more = "; the list at the end of the page has more."
    assert _left_out(3, 11) == f" 3 of 11 events are listed here, the most important{more}"
    assert _left_out(1, 2) == f" 1 of 2 events is listed here, the most important{more}"
    assert _left_out(0, 1) == f" None is important enough to be listed here{more}"
    assert _left_out(2, 2) == ""


def test_the_tables_are_of_the_instant_that_was_asked_for() -> None:
    queue, asked, last = (SimpleNamespace(why=why) for why in ("the longest queue", "asked for", "the last poll"))
    samples: Any = (queue, asked, last)
    assert _moment(samples, datetime(2026, 3, 14, tzinfo=UTC)) is asked
    assert _moment(samples, None) is queue
    assert _moment(samples[2:], None) is last
