"""The top line and the state at its right end: its parts, which go first, and the age of data; by hand."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.advice.step import Step, ToDo
from presman.analysis.readings.reading import Alert, LateView, Reading
from presman.figures.drawing.lines import Line, length, plain
from presman.recording.time_words import spelled_instant
from presman.rows.snapshot import GoneInstance
from presman.tabs.choices import Choices, Link, LinkState
from presman.tui.widgets.frame_lines import (
    StateView,
    TopLine,
    _coarse,
    _is_live,
    _servers,
    alert_line,
    do_line,
    is_ticking,
    silence,
    state_runs,
    state_width,
    tab_key,
    tick_after,
    top_line,
)
from tests.tui.readings import AT, busy, cluster, header, quiet

LIVE = Link(LinkState.LIVE, since=100.0, fresh=100.0)


def top(reading: Reading | None = None, link: Link = LIVE, now: float = 101.0, **more: Any) -> TopLine:
    """The line of a poll each two seconds, the newest a second old."""
    choices = Choices(**{name: more.pop(name) for name in ("paused", "behind", "packs", "refresh") if name in more})
    return TopLine("anna@db/prod", reading, choices, link, more.pop("cost", 0.004), more.pop("exporting", ""), now)


def parts(line: TopLine, width: int = 400) -> list[str]:
    """The parts of the line, the first without its blank."""
    return [part.strip() for part in plain(top_line(line, width)).rstrip().split("   ") if part.strip()]


def test_the_line_names_the_database_and_its_settings() -> None:
    found = parts(top(busy()))
    assert found[0] == "DWPROD"
    assert found[1:6] == ["19.22", "up 41d", "plan DAYTIME_PLAN", "CPU on, caged 24  PX FULL", "PX servers 214/256"]
    assert found[-4:] == ["max 640", "every 2s", "age ≤4s", "poll ≤5ms 1 trip"]


@pytest.mark.parametrize(
    ("facts", "present", "absent"),
    [
        ({"database": ""}, ["anna@db/prod"], ["DWPROD"]),
        ({"container": "SALES"}, ["SALES"], []),
        ({"exadata": True}, ["19.22 Exadata"], []),
        ({"autonomous": True}, ["19.22 Autonomous"], []),
        ({"uptime": None}, [], ["up 41d"]),
        ({"caging": "OFF", "cpu_managed": "OFF", "px_managed": ""}, ["CPU off 24  PX ?"], []),
        ({"cpu_managed": ""}, ["CPU ?, caged 24  PX FULL"], []),
        ({"mixed_plans": True}, ["plan DAYTIME_PLAN ≠ plans differ"], []),
        ({"plan": ""}, ["plan none"], []),
    ],
)
def test_each_fact_has_a_part(facts: dict[str, Any], present: list[str], absent: list[str]) -> None:
    found = parts(top(replace(busy(), header=replace(header(), **facts))))
    assert set(present) <= set(found)
    assert not set(absent) & set(found)


def test_the_line_counts_the_remaining_instances() -> None:
    gone = (GoneInstance(2, "dw2", AT),)
    assert "19.22 RAC 1 of 2 instances" in parts(top(replace(busy(), gone=gone)))
    young = replace(cluster().header.instances[1], uptime=30.0)
    found = replace(cluster().header, instances=(cluster().header.instances[0], young), uptime=30.0)
    assert "up 0m (instance 2)" in parts(top(replace(cluster(), header=found)))


def test_instances_packs_and_files_are_named() -> None:
    found = parts(top(cluster(), packs=("diagnostics", "tuning"), exporting="a.csv"))
    assert "19.22 RAC 2 instances" in found
    assert "packs diagnostics + tuning" in found
    assert "▸ a.csv" in found
    assert parts(top()) == ["anna@db/prod"]


def test_the_written_files_are_dropped_before_plan_and_cpu() -> None:
    writing = top(busy(), exporting="CSV cpu, recording")
    rooms = [parts(writing, room) for room in range(260, 60, -1)]
    last = next(found for found in rooms if "▸ CSV cpu, recording" not in found)
    assert {"plan DAYTIME_PLAN", "CPU on, caged 24  PX FULL"} <= set(last)


def test_parts_without_room_are_dropped_by_rank() -> None:
    """Parts are dropped one by one: the cost, the uptime, the interval; the name is last and is cut."""
    seen = []
    for room in range(260, 20, -1):
        found = parts(top(busy()), room)
        seen += [found] if not seen or found != seen[-1] else []
        assert length(top_line(top(busy()), room)) == room
    gone = [sorted(set(one) - set(other)) for one, other in pairwise(seen)]
    assert gone[:3] == [["poll ≤5ms 1 trip"], ["up 41d"], ["every 2s"]]
    assert gone[4] == ["19.22"], "behind the bar"
    assert seen[-1] == ["DWPROD"]
    # The state takes eight cells and stands a blank behind the rest: of 20 cells a name of 13 with its blank has 11.
    assert plain(top_line(top(), 21)) == " anna@db/prod" + " " * 8
    assert plain(top_line(top(), 20)) == " anna@db/p…" + " " * 9
    assert plain(top_line(top(), 9)) == "…" + " " * 8


def test_servers_are_marked_where_the_target_holds_a_queue_back() -> None:
    pool = header().servers

    def marked(in_use: int | None, target: int | None, queued: bool) -> bool:
        return _servers(replace(pool, in_use=in_use, target=target), None, queued=queued)[0][1] == "warn"

    assert marked(256, 256, True)
    assert [marked(*each) for each in ((255, 256, True), (256, 256, False), (256, None, True), (0, 0, True),
                                       (None, 256, True))] == [False] * 5  # fmt: skip
    assert "PX servers 206/206 ▲" in parts(top(replace(busy(), header=replace(header(), servers=replace(
        pool, in_use=206, target=206)))))  # fmt: skip
    calm = replace(quiet(), basis=(), header=replace(header(), servers=replace(pool, in_use=206, target=206)))
    assert "PX servers 206/206" in parts(top(calm))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0m"), (119, "1m"), (3599, "59m"), (3600, "1h"), (86_399, "23h"), (86_400, "1d"), (863_999, "9d")],
)
def test_the_uptime_of_an_instance_is_rounded(seconds: float, expected: str) -> None:
    assert _coarse(seconds) == expected


@pytest.mark.parametrize(
    ("cost", "trips", "expected"),
    [(0.001, 1, "poll ≤1ms 1 trip"), (0.0011, 2, "poll ≤2ms 2 trips"), (0.9, 0, "poll ≤1000ms"), (None, 0, "poll -"),
     (10.0, 0, "poll ≤10000ms"), (10.1, 0, "poll -")],
)  # fmt: skip
def test_the_cost_of_a_poll_is_rounded_up(cost: float | None, trips: int, expected: str) -> None:
    assert parts(top(replace(busy(), round_trips=trips), cost=cost))[-1] == expected


def state(line: TopLine) -> str:
    return plain(state_runs(line))


def test_data_of_two_intervals_is_live_and_older_is_late() -> None:
    late = replace(busy(), poll_seconds=0.5, late=(LateView("V$A", 2.5), LateView("V$B", 3.0), LateView("V$C", None)))
    assert state(top(busy(), now=104.0)) == "● LIVE"
    assert state(top(busy(), now=104.1)) == "◌ LATE 0:04"
    never = replace(late, late=late.late[2:])
    assert [state(top(never, now=now)) for now in (100.5, 104.1)] == ["◌ LATE 1 view", "◌ LATE 0:04"]
    assert state(top(replace(late, late=late.late[:2]), now=100.5)) == "● LIVE"
    # What was read 3 s before a poll that took 0.5 s, 1.5 s ago, is 5 s old, of the other 4.5 s have passed.
    assert state(top(late, now=101.5)) == "◌ LATE 0:05 3 views"
    assert state(top(late, now=101.0)) == "◌ LATE 0:04 2 views"
    assert [is_ticking(top(reading, now=now)) for reading, now in (
        (busy(), 104.0), (busy(), 104.1), (late, 100.5), (never, 101.0), (None, 101.0))] == [
            False, True, True, True, False]  # fmt: skip
    assert "age ≤4s" in parts(top(busy(), now=104.0))
    assert "newest ≤4s old" in parts(top(busy(), now=104.0, behind=3)), "that on screen is older"
    assert "age 0:04" in parts(top(busy(), now=104.1))
    assert is_ticking(top(busy(), paused=100.0))


def test_the_line_is_looked_at_each_second_only_where_it_may_change_before_the_next_poll() -> None:
    assert [tick_after(top(busy(), now=now)) for now in (100.0, 101.0, 101.1, 104.1)] == [3.0, 3.0, 1.0, 1.0]
    assert [tick_after(top(busy(), now=100.0, refresh=each)) for each in (0.5, 60.0)] == [1.0, 90.0]
    assert tick_after(top(busy(), now=100.0, paused=100.0)) == 1.0


def test_each_state_has_its_words() -> None:
    lost = Link(LinkState.LOST, since=40.0, fresh=40.0)
    assert state(top(busy(), lost)) == "✕ REFUSED 1:01"
    assert state(top(busy(), replace(lost, retry_at=142.0))) == "✕ LOST 1:01, retry in 41s"
    assert is_ticking(top(busy(), lost))
    replay = Link(LinkState.REPLAY, "▶ 2x", since=0.0, fresh=0.0)
    assert (state(top(busy(), replay)), is_ticking(top(busy(), replay))) == ("▶ 2x", False)
    assert "recorded" in parts(top(busy(), replay))
    assert state(top(busy(), behind=3)) == f"◀ {AT.astimezone():%H:%M:%S} 3 back"
    assert state(top(None, behind=3)) == "● LIVE"
    assert state(top(busy(), paused=41.0)) == "‖ PAUSED 1:00"
    connecting = Link(LinkState.CONNECTING, since=100.0, fresh=100.0)
    assert state(top(None, connecting)) == "… CONNECTING"
    assert state(top(None, connecting, now=105.0)) == "… CONNECTING 0:05"
    assert state(top(None, Link(LinkState.ENDED))) == "■ END of data"


def test_a_spool_is_never_live_and_shows_the_time_of_its_sample() -> None:
    """How long ago presman read a file says nothing about its data."""
    sample, at = replace(busy(), kind="spool", interval=10.04), spelled_instant(AT)
    spool, ended = (Link(each, since=100.0, fresh=100.0) for each in (LinkState.SPOOL, LinkState.ENDED))
    for now in (100.0, 103.0, 900.0):
        assert state(top(sample, spool, now)) == f"▶ {at}"
        assert state(top(sample, ended, now)) == f"■ END {at}"
        for link, facts in ((spool, {}), (ended, {}), (spool, {"behind": 3}), (ended, {"paused": 99.0})):
            line = top(sample, link, now, **facts)
            assert {"spooled", "every 10s"} <= set(parts(line))
            assert not [part for part in parts(line) if part.startswith(("age", "newest"))]
            assert silence(line) == ()
        assert not is_ticking(top(sample, spool, now))
    assert state(top(sample, spool, behind=3)) == f"◀ {at} 3 back"
    assert state(top(sample, spool, paused=41.0)) == f"‖ PAUSED {at}"


def test_silence_is_an_alert_unless_the_connection_is_lost() -> None:
    assert silence(top(busy(), now=104.0)) == ()
    (found,) = silence(top(busy(), now=161.0))
    assert (found.state, found.text) == ("warn", "No answer for 1:01: the data shown is that old")
    assert silence(top(busy(), replace(LIVE, state=LinkState.LOST), now=161.0)) == ()
    assert [_is_live(top(busy(), now=now)) for now in (104.0, 105.0)] == [True, False]
    assert not _is_live(top(busy(), replace(LIVE, state=LinkState.LOST)))


class Width:
    """A width that is None at first, and how often it was set: each time the screen is laid out again."""

    def __init__(self) -> None:
        self.set: list[int] = []

    @property
    def width(self) -> Any:
        return SimpleNamespace(value=self.set[-1]) if self.set else None

    @width.setter
    def width(self, cells: int) -> None:
        self.set.append(cells)


def test_the_state_is_right_aligned_and_widened_only_when_needed() -> None:
    shown: list[Line] = []
    view: Any = SimpleNamespace(styles=Width(), show_lines=shown.extend)
    for now in (101.0, 102.0, 104.1):
        StateView.show(view, top(busy(), now=now))
    assert view.styles.set == [8, 16]
    assert [plain(line) for line in shown] == [" ● LIVE ", " ● LIVE ", "    ◌ LATE 0:04 "], "eleven cells of sixteen"


def test_the_state_takes_cells_in_steps_of_four() -> None:
    assert [state_width((("x" * many, ""),)) for many in (1, 2, 3, 6, 7)] == [4, 4, 8, 8, 12]


def test_the_step_is_shown_in_the_longest_text_that_fits() -> None:
    """The label takes 5 cells, the hint 3 blanks, a key and 11."""
    key = tab_key("parallel")
    found = ToDo(next(iter(Step)), "the long words; and more", "short; more", "parallel")
    hint = f"   {key} shows more"
    lines = {width: plain(do_line(found, width)) for width in (44, 43, 31, 30, 25, 24, 10, 9)}
    assert lines[44] == f" DO  the long words; and more{hint}"
    assert lines[43] == lines[31] == f" DO  short; more{hint}"
    assert lines[30] == lines[25] == f" DO  short{hint}"
    assert lines[24] == lines[10] == " DO  short"
    assert lines[9].startswith(" DO  ")
    assert plain(do_line(found, 44, "parallel")) == " DO  the long words; and more"
    assert plain(do_line(found, 60, was_so=True)) == f" DO  when last seen: the long words; and more{hint}"


def test_a_single_alert_uses_the_available_room() -> None:
    one = (Alert("warn", "▲", "a long text of it", "short"),)

    def line(width: int) -> Line:
        return alert_line(one, width)

    assert alert_line((), 40) == ()
    # A blank, the sign and a blank before the text, and a blank at the end of the line.
    assert plain(line(22)).rstrip() == " ▲ a long text of it"
    assert plain(line(21)).rstrip() == " ▲ short"
    assert all(length(line(width)) == width for width in (12, 22, 40))


def test_servers_in_use_have_the_age_of_their_view() -> None:
    """The last known number was shown as if it were current."""
    late = replace(busy(), late=(LateView("GV$PX_PROCESS_SYSSTAT", 65.0),))
    assert parts(top(late))[5] == "PX servers 214/256 as of 1:05 ago"
