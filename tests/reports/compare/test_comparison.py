"""Comparison of two windows, by hand and from recordings; a window compared with itself has no difference."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.recording.playback_values import StatementLife
from presman.recording.reader import Recording
from presman.recording.store_errors import RecordingError
from presman.recording.window_lines import poll_lines
from presman.reports.compare import window_figures
from presman.reports.compare.compare_page import compare_page
from presman.reports.compare.compare_text import compare_text, summary
from presman.reports.compare.comparison import (
    Line,
    RecordingWindow,
    WindowError,
    _queue_waits,
    compare,
    histograms,
    lines,
    plan_differences,
    quantile,
    rank,
    window_words,
)
from presman.reports.compare.noise import Judgement, Value, chance
from presman.reports.compare.window_figures import (
    CPU,
    LATENCY,
    MEAN_WAIT,
    STATEMENTS,
    FigureKey,
    WindowFigures,
    servers_held,
)
from presman.rows.group_rows import PlanDirective, RsrcPlan
from presman.rows.snapshot import Problem, Section, Snapshot
from tests.cli.run import Run
from tests.recording.recorded import START, polled, record

TEN_MINUTES = {1000: 2460371, 2000: 6605, 4000: 1702, 8000: 1774, 16000: 726}
THREE_HOURS = {1000: 51521618, 2000: 165210, 4000: 36313, 8000: 36242, 16000: 18478}
"""Two published histograms of log file parallel write (Steve Shaw, redo on SSD): 99.5627 % and 99.5051 % under 1 ms."""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty polls, the last ten after a gap of five minutes."""
    path = tmp_path_factory.mktemp("compare") / "a.presman"
    moments = list(polled("queueing", 100))
    record(path, moments[:30] + moments[90:])
    return path


def index(path: Path, start: str = "", end: str = "") -> RecordingWindow:
    return RecordingWindow(str(path), None, start, end)


def figures(**given: object) -> WindowFigures:
    empty: dict[str, object] = {"series": {}, "histograms": {}, "queued": {}, "directives": {}}
    return WindowFigures(**(empty | given))  # type: ignore[arg-type]


def test_published_histograms_side_by_side() -> None:
    event = "log file parallel write"
    one, other = (figures(histograms={event: [each]}) for each in (TEN_MINUTES, THREE_HOURS))
    found = {line.figure: line for line in lines(one, other) if line.section == LATENCY}
    within = found["% within 1 ms"]
    assert (within.first, within.second) == (pytest.approx(99.5627, abs=5e-5), pytest.approx(99.5051, abs=5e-5))
    assert within.difference is Judgement.TOO_FEW  # a total is one block
    assert (found["p99 ms"].first, found["p99 ms"].second) == (1.0, 1.0)
    assert found["p99 ms"].difference is Judgement.SAME


def test_ranks() -> None:
    assert quantile({8: 50, 16: 49, 64: 1}, 50) == 8
    assert quantile({8: 50, 16: 49, 64: 1}, 95) == 16
    assert quantile({8: 0}, 50) is None
    assert rank([4.0, 1.0, 3.0, 2.0], 50) == 2.0
    assert rank(list(range(1, 21)), 95) == 19


@pytest.mark.parametrize(
    ("first", "second", "percent"),
    [(0.001, 4.39, None), (0.0, 1.0, None), (0.05, 4.0, 7900), (4.0, 0.001, -99.975), (0.0, 0.0, None)],
)
def test_tiny_values_have_no_percentage(first: float, second: float, percent: float | None) -> None:
    key = FigureKey(CPU, "ETL", "throttled %")
    (line,) = lines(*(figures(series={key: [Value(each, 1.0)]}) for each in (first, second)))
    assert line.percent == (None if percent is None else pytest.approx(percent))


def test_percentages_are_of_the_first_value_unless_it_is_zero() -> None:
    key, other = FigureKey(CPU, "BATCH", "used CPUs"), FigureKey(CPU, "ETL", "used CPUs")
    one = figures(series={key: [Value(4, 2)], other: [Value(0, 2)]})
    two = figures(series={key: [Value(10, 4)], other: [Value(4, 4)]})
    batch, etl = lines(one, two)
    assert (batch.first, batch.second, batch.percent) == (2, 2.5, 25)
    assert (etl.first, etl.second, etl.percent) == (0, 1, None)
    (only,) = lines(figures(series={key: [Value(4, 2)]}), figures())
    assert (only.first, only.second, only.percent, only.difference) == (2, None, None, Judgement.ONE_SIDED)


def test_servers_held_from_start_to_end() -> None:
    def at(seconds: int):
        return START + timedelta(seconds=seconds)

    def life(sql_id: str, servers: int, queued: int | None, started: int | None, ended: int | None) -> StatementLife:
        times = [None if each is None else at(each) for each in (queued, started, None, ended)]
        seen = {"first_seen": at(0), "last_seen": at(20)}
        came, held = times[0] or times[1] or at(0), times[1] or (at(0) if queued is None else None)
        there = {"came": came, "held_from": held, "gone": times[3] or at(20)}
        return StatementLife(1, 1, 1, sql_id, 0, "G", "U", servers, *times, **seen, **there)

    lives = [life("a", 8, None, 5, 15), life("a", 4, 0, 10, None), life("b", 16, 0, None, 20)]
    assert servers_held(lives, [at(each) for each in (0, 5, 10, 15, 20)]) == {"a": [0, 8, 12, 12, 4]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.presman@03:00..03:30", ("a.presman", "03:00", "03:30")),
        ("a.presman@2026-11-22 03:00..last", ("a.presman", "2026-11-22 03:00", "last")),
        ("@..-5m", ("", "", "-5m")),
        ("me@x.presman", ("me@x.presman", "", "")),
        ("recording:postgresql://u@h/d", ("recording:postgresql://u@h/d", "", "")),
        ("recording:postgresql://u@h/d@03:00..", ("recording:postgresql://u@h/d", "03:00", "")),
    ],
)
def test_words_of_a_window(text: str, words: tuple[str, str, str]) -> None:
    assert window_words(text) == words


def test_a_window_has_two_ends() -> None:
    with pytest.raises(WindowError, match="two ends"):
        window_words("a.presman@03:00")


def test_a_window_compared_with_itself_is_the_same(mixed: Path) -> None:
    found = compare(index(mixed), index(mixed))
    assert found.plan == ()
    differences = {line.difference for line in found.lines if line.first is not None}
    assert differences == {Judgement.SAME}
    assert {line.section for line in found.lines} >= {CPU, LATENCY, STATEMENTS}
    assert "No figure differs by more than noise" in compare_text(found)


def test_figures_are_those_of_the_recording(mixed: Path) -> None:
    """Used CPUs of a group: its CPU seconds divided by the seconds of the window, from the readings themselves."""
    readings = [reading for _, reading in polled("queueing", 30)][1:]
    (line,) = [
        line for line in compare(index(mixed, "first", "-5m"), index(mixed)).lines
        if (line.section, line.subject.split("#")[0], line.figure) == (CPU, "QUERIES", "used CPUs")
    ]  # fmt: skip
    seconds = sum(reading.interval or 0 for reading in readings)
    used = sum(
        (group.used or 0) * (reading.interval or 0)
        for reading in readings for group in reading.cluster_groups() if group.name == "QUERIES"
    )  # fmt: skip
    assert line.first == pytest.approx(used / seconds, abs=1e-3)


def test_incomplete_windows_are_noted(mixed: Path) -> None:
    whole = compare(index(mixed), index(mixed, "-40s"))
    assert whole.first.notes[0] == "1 gap without polls, 5 min 5 s in all"
    assert "the windows overlap by 40 s" in whole.notes[0]
    with pytest.raises(RecordingError, match="has no polls from"):
        compare(index(mixed), index(mixed, "-4m", "-2m"))
    with pytest.raises(WindowError, match="ends before it begins"):
        compare(index(mixed), index(mixed, "last", "first"))
    assert compare(index(mixed, "last", "last"), index(mixed)).first.notes == ("it has one poll only",)
    with pytest.raises(RecordingError):
        compare(index(mixed), index(Path(__file__)))


def test_the_command(mixed: Path, inside: Run) -> None:
    done = inside("compare", f"{mixed}@first..-5m", "@-45s..last", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["format"], found["first"]["polls"], found["second"]["polls"]) == (1, 30, 10)
    assert {"section", "subject", "figure", "first", "second", "percent", "difference"} <= found["lines"][0].keys()
    assert "more than noise" in found["method"]
    for arguments, words in (
        (("demo:mixed", str(mixed)), "is not a recording"),
        ((str(mixed), "@soon..last"), "is not a time"),
        (("@03:00..03:10", str(mixed)), "has to name its recording"),
    ):
        done = inside("compare", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert words in done.stderr


def test_histograms_of_both_windows_are_sorted_by_time() -> None:
    one = figures(histograms={"a": [{8: 2}, {8: 3, 16: 1}], "b": [{8: 0}], "both": [{64: 10}]})
    other = figures(histograms={"late": [{1024: 1}], "both": [{64: 1}], "b": []})
    found = [(each.event, each.first, each.second) for each in histograms(one, other)]
    assert found == [
        ("late", {}, {1024: 1}),  # 1,024 us
        ("both", {64: 10}, {64: 1}),  # 640 us
        ("a", {8: 5, 16: 1}, {}),  # 56 us; b has no waits
    ]


def test_a_plan_or_group_in_only_one_window_differs() -> None:
    window = SimpleNamespace(plan="DAY"), SimpleNamespace(plan="NIGHT")
    both = figures(directives={("ETL", "share"): 0.25, ("ETL", "limit"): 0.5, ("OLD", "share"): 0.1})
    then = figures(directives={("ETL", "share"): 0.25, ("ETL", "limit"): 0.75})
    found = plan_differences((window[0], both), (window[1], then))  # type: ignore[arg-type]
    assert [tuple(each) for each in found] == [
        ("", "plan", "DAY", "NIGHT"),
        ("ETL", "limit", 0.5, 0.75),
        ("OLD", "share", 0.1, "not in plan"),
    ]
    unread = figures(directives={("", "servers target"): 64})
    differences = plan_differences((window[0], both), (window[0], unread))  # type: ignore[arg-type]
    assert {each.second for each in differences} == {64, "not known"}, "those groups are not reported as gone"
    assert plan_differences((window[0], both), (window[0], both)) == ()  # type: ignore[arg-type]


def test_with_an_instance_gone_the_target_differs_and_not_the_plan(tmp_path: Path) -> None:
    """With half the target the same directive allows half as many servers; no limit stays no limit."""
    path = tmp_path / "lost.presman"
    moments = list(polled("lost", 30))
    record(path, moments)
    targets = [reading.header.servers.target for _, reading in moments]
    change = next(place for place, target in enumerate(targets) if target != targets[0])
    times = [f"{reading.at:%Y-%m-%dT%H:%M:%S.%f}+00:00" for _, reading in moments]
    found = compare(index(path, times[0], times[change - 1]), index(path, times[change], times[change]))
    assert [tuple(each) for each in found.plan] == [("", "servers target", targets[0], targets[change])]
    directives = _directives(path, moments[-1])
    limits = {group: value for (group, key), value in directives.items() if key == "servers limit %"}
    assert (limits["REPORTS"], limits["SHOP"]) == (50, "no limit")
    assert "_ORACLE_BACKGROUND_GROUP_" not in limits, "the plan has no directive for it"


def _directives(path: Path, newest: tuple[Snapshot, Reading]) -> Mapping[tuple[str, str], object]:
    """Return the directives of a whole recording, by group and name."""
    with Recording(str(path)) as recording:
        own = recording.playback()
        assert own.first is not None
        assert own.last is not None
        polls = poll_lines(own, own.first, own.last)
        return window_figures.window_figures(own, own.first, own.last, polls, (), newest).directives


def test_a_limit_whose_percentage_is_not_known_is_not_called_none(tmp_path: Path) -> None:
    """Without V$RSRC_PLAN V$RSRCMGRMETRIC still shows how many servers a group may hold."""
    silent = Section((), None, problem=Problem("ORA-00942", "table or view does not exist", "GV$RSRC_PLAN"))
    moments = []
    for snapshot, _ in polled("mixed", 2):
        changed = replace(snapshot, sections={**snapshot.sections, RsrcPlan: silent})
        moments.append((changed, analyse(moments[-1][0] if moments else None, changed)))
    record(path := tmp_path / "a.presman", moments)
    directives = _directives(path, moments[-1])
    assert [row.servers_limit for row in moments[-1][1].cluster_groups() if row.name == "REPORTS"] == [48]
    assert directives["REPORTS", "servers limit %"] == "not known"


def test_a_column_of_a_directive_that_was_not_read_is_not_called_not_set(tmp_path: Path) -> None:
    """REPORTS has a queue timeout, and no other group: of these nothing differs as far as is known."""
    (early, reading), (late, _) = list(polled("mixed", 3))[1:]
    section = late.section(PlanDirective)
    rows = tuple(row._replace(parallel_queue_timeout=None) for row in section.rows)
    lacking = replace(section, rows=rows, absent=frozenset({"parallel_queue_timeout"}))
    later = replace(late, sections={**late.sections, PlanDirective: lacking})
    record(path := tmp_path / "a.presman", [(early, reading), (later, analyse(early, later))])
    found = compare(index(path, str(early.at), str(early.at)), index(path, str(late.at), str(late.at)))
    differences = {tuple(each)[2:] for each in found.plan if each.figure == "PARALLEL_QUEUE_TIMEOUT"}
    assert {second for _, second in differences} == {"not known"}
    assert "not set" not in {first for first, _ in differences}


def test_any_changed_column_of_a_directive_is_listed(tmp_path: Path) -> None:
    """The plans were called the same when only PARALLEL_STMT_CRITICAL or PARALLEL_QUEUE_TIMEOUT differed."""
    derived = {"utilization_limit": "limit_cpus", "parallel_server_limit": "servers limit %"}
    wanted = {"parallel_stmt_critical": "BYPASS QUEUE", "parallel_queue_timeout": 11, "session_pga_limit": 700}
    (early, reading), (late, _) = list(polled("mixed", 3))[1:]
    section = late.section(PlanDirective)
    old = next(row for row in section.rows if row.group_or_subplan == "REPORTS")
    values = {
        column: wanted.get(column, "X" if isinstance(was, str) else 7)
        for column, was in old._asdict().items() if column not in {"con_id", "plan", "group_or_subplan", "type"}
    }  # fmt: skip
    rows = tuple(row._replace(**values) if row is old else row for row in section.rows)
    changed = replace(late, sections=MappingProxyType({**late.sections, PlanDirective: replace(section, rows=rows)}))
    path = tmp_path / "changed.presman"
    record(path, [(early, reading), (changed, analyse(early, changed))])
    times = [f"{each.at:%Y-%m-%dT%H:%M:%S.%f}+00:00" for each in (early, late)]
    found = compare(index(path, times[0], times[0]), index(path, times[1], times[1]))
    figures = {each.figure: each.second for each in found.plan if each.subject == "REPORTS"}
    assert figures.keys() >= set(derived.values())
    plain = values.keys() - {"status", "comments"} - derived.keys()
    assert {column.upper(): values[column] for column in plain}.items() <= figures.items()
    assert not figures.keys() & {"STATUS", "COMMENTS"}
    text = compare_text(found).split("plan at the end")[1]
    assert [values[column] for column in plain if f" {values[column]}\n" not in text] == [], "in full"


def test_groups_add_up_to_all_of_them(mixed: Path) -> None:
    """All groups had 7.72 statements and the only group with a queue 7.73, because they were averaged differently."""
    found = compare(index(mixed), index(mixed)).lines
    for figure in ("used CPUs", "servers in use", "statements queued"):
        ours = {line.subject: line.first for line in found if line.figure == figure and line.first is not None}
        assert ours.pop("all") == pytest.approx(sum(ours.values()), rel=1e-5), figure


def test_waits_in_the_queue_by_mean_and_rank() -> None:
    """Waits of 1 to 7 s repeatedly; then every fifth is 9 s longer, which is far beyond chance."""
    one = [1.0 + number % 7 for number in range(700)]
    other = [each + 9 * (number % 5 == 0) for number, each in enumerate(one)]
    found = {line.figure: line for line in lines(figures(queued={"ETL": one}), figures(queued={"ETL": other}))}
    mean, p95 = found["mean wait s, ended"], found["p95 wait s, ended"]
    assert (mean.subject, mean.first, mean.second) == ("ETL", pytest.approx(4.0), pytest.approx(5.8))  # 9 / 5 more
    assert (p95.first, p95.second, p95.difference) == (7.0, 15.0, Judgement.MORE)
    alone = {line.figure: line for line in lines(figures(queued={"ETL": one}), figures())}
    assert (alone["p95 wait s, ended"].first, alone["p95 wait s, ended"].second) == (7.0, None)


def test_a_long_window_is_sampled_and_noted(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A month took over a minute. Figures of polls besides those of groups are still read for all polls."""
    whole = compare(index(mixed), index(mixed))
    monkeypatch.setattr(window_figures, "MOST_POLLS", 20)
    found = compare(index(mixed), index(mixed))
    assert "groups and waits are those of 32 polls in every 64: it is long" in found.first.notes
    assert not any("it is long" in note for note in whole.first.notes)
    (first, all_of_first), (second, all_of_second) = (
        [[line for line in each.lines if (line.subject == "all") is of_all] for of_all in (False, True)]
        for each in (whole, found)
    )
    assert all_of_first == all_of_second
    assert {line.subject for line in first} == {line.subject for line in second}
    waits = [sum(sum(each.first.values()) for each in one.histograms) for one in (whole, found)]
    assert 0 < waits[1] < waits[0]


SLOW = [float(n) for n in range(40)]
"""Autocorrelated waits: so few are not enough to compare."""


def test_figures_of_the_same_waits_are_all_compared_or_none() -> None:
    """The mean is autocorrelated over all 40 waits; only the share above the 95th percentile looks random."""
    spikes = {5: 50.0, 25: 60.0}
    one, other = ([spikes.get(n, each) + more for n, each in enumerate(SLOW)] for more in (0, 5))
    found = list(_queue_waits({"A": one}, {"A": other}))
    assert [line.difference for line in found] == [Judgement.TOO_FEW] * 2
    above = [[Value(float(each > 44), 1.0) for each in waits] for waits in (one, other)]
    assert chance(*above) is not None, "only these would have been judged"
    shifted = list(_queue_waits({"A": [1.0, 2.0] * 40}, {"A": [8.0, 9.0] * 40}))
    assert Judgement.TOO_FEW not in {line.difference for line in shifted}, "with enough waits both are judged"


def test_figures_of_an_event_are_all_compared_or_none() -> None:
    slow = [{1024: 5, 2048: int(each)} for each in SLOW]
    later = [{1024: 5, 2048: int(each) + 40} for each in SLOW]
    key = FigureKey(LATENCY, "read", MEAN_WAIT)
    series = [{key: [Value(each[2048], sum(each.values())) for each in polls]} for polls in (slow, later)]
    both = [WindowFigures(own, {"read": polls}, {}, {}) for own, polls in zip(series, (slow, later), strict=True)]
    differences = {line.difference for line in lines(*both)}
    assert differences == {Judgement.NO_OVERLAP, Judgement.SAME}, "percentiles in one bucket are the same anyway"


def test_the_first_sentence_counts_incomparable_figures() -> None:
    def of(*differences: Judgement) -> str:
        return summary([Line(CPU, "", "", 1.0, 2.0, 100.0, each) for each in differences])

    few, noise, more, apart = Judgement.TOO_FEW, Judgement.NOISE, Judgement.MORE, Judgement.NO_OVERLAP
    assert of(noise, noise) == "No figure differs by more than noise."
    assert of(noise, more) == "1 of 2 figures differs by more than noise, marked *."
    rest = "2 without a word at the end have too few polls or statements to compare: longer windows may tell."
    assert of(few, few, noise, noise) == f"No figure is known to differ by more than noise; {rest}"
    assert of(few, few, more, more) == f"2 of 4 figures differ by more than noise, marked *; {rest}"
    unsure = "1 does not overlap, marked #, in too few polls to know how often that happens by chance"
    assert of(few, few, apart, more) == f"1 of 4 figures differs by more than noise, marked *; {unsure}; {rest}"
    assert of(apart) == f"No figure is known to differ by more than noise; {unsure}."
    assert of(few, few) == "Nothing can be compared: there are too few polls or statements. Longer windows may help."


def test_an_unknown_plan_is_not_called_the_same(tmp_path: Path) -> None:
    """Neither if the polls at the end are damaged, nor if V$RSRC_PLAN did not answer."""
    moments = list(polled("noplan", 6))
    damaged, unanswered = tmp_path / "damaged.presman", tmp_path / "unanswered.presman"
    record(damaged, moments)
    with closing(sqlite3.connect(damaged)) as connection, connection:
        connection.execute("UPDATE blocks SET content = 'x'")
        connection.execute("DELETE FROM group_rows")
    blind = [replace(snapshot, sections=_without_plan(snapshot)) for snapshot, _ in moments]
    record(unanswered, [(each, analyse(before, each)) for before, each in pairwise([None, *blind])])
    for path in (damaged, unanswered):
        found = compare(index(path), index(path))
        assert (found.first.plan, found.second.plan, found.plan) == (None, None, ())
        note = "Whether the plans at the ends of the windows are the same is not known."
        assert note in compare_text(found)
        assert note in compare_page(found, START)
        assert any("those polls are damaged" in note for note in found.first.notes) == (path is damaged)


def _without_plan(snapshot: Snapshot) -> MappingProxyType[Any, Section]:
    lost = Section((), snapshot.at, problem=Problem("", "no answer", "GV$RSRC_PLAN"))
    return MappingProxyType({**snapshot.sections, RsrcPlan: lost})
