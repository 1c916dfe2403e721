"""A recording on the screens of the monitor: jumps, steps, events, charts from the figures."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from textual.message import Message

from presman.analysis.trends import Watch
from presman.analysis.trends.database_events import is_end
from presman.analysis.trends.series import Series
from presman.analysis.trends.statement_runs import StatementRun
from presman.config.target_text import parse_target
from presman.recording.playback import LostPollError, Pair
from presman.recording.reader import Recording
from presman.recording.recording_source import RecordingSource
from presman.recording.writer import RecordingWriter
from presman.tui.exports import MOST_WAITING, PollRecording
from presman.tui.feed import Arrived, Lost
from presman.tui.keys.take_keys import why_not_what_if
from presman.tui.past_timeline import Recall, timeline_before
from presman.tui.player import SPEEDS, Jumped, PlaybackNotice, Player, Recalled, Stopped
from presman.tui.replay_app import scrub_lines
from presman.tui.timeline import Timeline
from tests.recording.recorded import START, polled, record
from tests.thorough import some
from tests.tui.drive import NEVER, acted
from tests.tui.replays import replaying, waited
from tests.tui.test_live import playing


@acted
async def test_keys_play_step_and_jump(tmp_path: Path) -> None:
    """Its polls are a minute apart, so none is shown by itself even on a slow machine."""
    place = str(tmp_path / "a.presman")
    record(place, list(polled("queueing", 24, step=60.0)))
    async with replaying(place) as acting:
        app = acting.app

        until = partial(waited, acting)

        def at(seconds: int) -> Callable[[], bool]:
            shown = (START + timedelta(seconds=seconds)).astimezone()
            return lambda: f"{shown:%H:%M:%S}" in acting.screen.splitlines()[0]

        await until(lambda: app.monitor.reading is not None and "queue " in acting.screen)
        await until(at(60))
        assert "▶ 1x" in acting.screen
        assert app.monitor.why_no_command == ""
        await acting.keys("right", "right", "right")
        await until(at(240))
        assert "‖" in acting.screen
        await until(lambda: app.monitor.why_no_command == "the replay is stopped")
        assert not why_not_what_if(app)
        for sign in ("▶ 1x", "‖"):
            assert sign in (await acting.press("space")).splitlines()[0]
        await acting.keys("left")
        await until(at(180))
        await until(lambda: " event " in acting.screen.splitlines()[-2])
        await acting.keys("J")
        words = f"{(START + timedelta(seconds=1100)).astimezone():%H:%M:%S}"
        await acting.keys(*("colon" if each == ":" else each for each in words), "enter")
        await until(at(1080))
        await acting.keys("left", "J", "enter")
        await until(at(120))  # 15 minutes back from the poll that the key before asked for
        await acting.keys("end")
        await until(at(1440))
        await acting.keys("n")
        await until(lambda: "There is no event after this" in "".join(each.message for each in app._notifications))
        for words, second, notice in (("9h ago", 60, "this is the first"), ("2030-01-01", 1440, "this is the last")):
            await acting.keys("J")
            await acting.keys(*({" ": "space", "-": "minus"}.get(each, each) for each in words), "enter")
            await until(at(second))
            await until(lambda notice=notice: notice in "".join(str(each.message) for each in app._notifications))
        await acting.keys("J", *"first", "enter")
        await until(at(60))
        await acting.keys("p")
        await until(lambda: "There is no event before this." in "".join(each.message for each in app._notifications))
        app.post_message(PlaybackNotice("2 polls before this cannot be read."))
        await until(lambda: "2 polls before this cannot" in "".join(each.message for each in app._notifications))
        await acting.keys("plus")
        assert app.player.speed == SPEEDS[2]
        app.player.play(on=False)
        await acting.keys("minus")
        assert [each.message for each in app._notifications][-1] == f"Space plays at {SPEEDS[1]:g}x."


@acted
async def test_a_key_records_the_last_minutes_and_continues(tmp_path: Path) -> None:
    async with playing("quiet") as (acting, polls):
        acting.app.poll_recording._folder = tmp_path
        await polls(4)
        await acting.keys("R")
        assert "recording" in acting.screen.splitlines()[0]
        await polls(2)
        seen = acting.app.monitor.latest
        await acting.keys("R")
    (path,) = tmp_path.glob("presman-DWPROD-*.presman")
    with Recording(str(path)) as recording:
        playback = recording.playback()
        assert [playback.snapshot(place).number for place in range(len(playback))] == [1, 2, 3, 4, 5, 6]
        assert playback.reading(5) == seen


@acted
async def test_minutes_not_yet_written_do_not_fill_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk hangs: 16 of 30 polls wait in memory, not all that the charts show."""
    may_write, usual = threading.Event(), RecordingWriter.append

    def append(writer: RecordingWriter, *moment: Any) -> int:
        assert may_write.wait(60)
        return usual(writer, *moment)

    monkeypatch.setattr(RecordingWriter, "append", append)
    async with playing("quiet") as (acting, polls):
        playback = acting.app.poll_recording
        playback._folder = tmp_path
        await polls(30)
        await acting.keys("R")
        await waited(acting, lambda: playback.is_behind)
        await polls(3)
        assert playback._queue.qsize() <= MOST_WAITING == 16
        may_write.set()
        await waited(acting, lambda: not playback._is_loading and not playback._queue.qsize())
        await polls(2)
        await acting.keys("R")
    (path,) = tmp_path.glob("presman-DWPROD-*.presman")
    with Recording(str(path)) as recording:
        playback = recording.playback()
        assert [playback.snapshot(place).number for place in range(len(playback))] == list(range(1, 36))


@acted
async def test_stopping_and_restarting_a_slow_recording_gives_two_whole_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing("quiet") as (acting, polls):
        playback = acting.app.poll_recording
        playback._folder = tmp_path
        await polls(12)
        monkeypatch.setattr(PollRecording, "is_behind", True)
        await acting.keys("R")
        first = playback.path
        playback.close()
        monkeypatch.setattr(PollRecording, "is_behind", False)
        playback._folder = tmp_path / "again"
        playback._folder.mkdir()
        await acting.keys("R")
        await waited(acting, lambda: not playback._is_loading)
        await polls(1)
        await acting.keys("R")
    (second,) = (tmp_path / "again").glob("*.presman")
    found = []
    for path in (first, second):
        with Recording(str(path)) as recording:
            played = recording.playback()
            found.append([played.snapshot(place).number for place in range(len(played))])
    assert found == [[1], list(range(1, 14))]


def test_charts_before_a_jump_match_the_polls(tmp_path: Path) -> None:
    for scenario in ("mixed", "rac"):
        moments = list(polled(scenario, 12))
        place = str(tmp_path / f"{scenario}.presman")
        record(place, moments)
        expected = Series()
        for _, reading in moments[:-1]:
            expected.add(reading)
        with Recording(place) as recording:
            playback = recording.playback()
            found = timeline_before(playback, moments[-2][0], moments[-1][0].at).series
            start = START.timestamp()
            for measure in ("used", "waiting", "servers", "queued", "io", "in_use"):
                for inst_id in (0, 1, 2):
                    for con_id, name in [*expected.names(measure, inst_id), (0, "")]:
                        key = (measure, inst_id, con_id, name)
                        one, other = (each.buckets(key, start, 5.0, 12) for each in (expected, found))
                        same = zip(one, other, strict=True)
                        assert all(
                            a == b or (a is not None and b is not None and abs(a - b) < 1e-3) for a, b in same
                        ), key


@pytest.mark.parametrize("scenario", some(["rac", "storm"], ["locked"]))
def test_statements_before_a_jump_are_the_watched_ones(scenario: str, tmp_path: Path) -> None:
    """Ended ones are included; no later facts are known of any."""
    moments = list(polled(scenario, 28))
    place = str(tmp_path / "a.presman")
    record(place, moments)
    with Recording(place) as recording:
        playback = recording.playback()
        for last in (14, 27):
            watch, end = Watch(), moments[last][0].at
            for _, reading in moments[: last + 1]:
                watch.add(reading)
            found = timeline_before(playback, moments[last - 1][0], end).watch
            found.add(moments[last][1])
            expected = watch.runs.within(end - timedelta(hours=1), end)
            assert [_of(span) for span in found.runs.within(end - timedelta(hours=1), end)] == [*map(_of, expected)]
            assert last == 14 or any(span.ended for span in expected)
            activity = moments[last][1].activity
            assert activity is not None
            busy = {each.sql_id for each in activity.statements}
            assert busy
            assert busy <= {each.sql_id for each in found.sql_minutes.top(end, 15)}


@pytest.mark.parametrize("scenario", ["rac", "pdb"])
def test_everything_watched_is_recalled_after_a_jump(scenario: str, tmp_path: Path) -> None:
    moments = list(polled(scenario, 17))
    place = str(tmp_path / "a.presman")
    record(place, moments)
    expected = Timeline()
    for snapshot, reading in moments[:16]:
        expected.add(reading, snapshot)
    with Recording(place) as recording:
        recall = Recall(recording.playback(), 12)
        steps = [recall.step(15) for _ in range(16)]
    found = steps[-1]
    assert found is not None
    assert not any(steps[:-1]), "not before all is read"
    assert len(found) == 16
    reading = moments[15][1]
    assert found.series._times == expected.series._times
    assert repr(found.series._values) == repr(expected.series._values), "NaN is not equal to itself"
    assert {"active", "used"} <= {key[0] for key in found.series._values}
    for event in {each.event for each in reading.histograms}:
        columns = found.latencies.columns(0, event)
        assert columns == expected.latencies.columns(0, event)
        assert len(columns) == 16
    own, watched = found.watch, expected.watch
    assert own.sql_minutes.top(reading.at, 15) == watched.sql_minutes.top(reading.at, 15) != ()
    assert own.queue_marks.compare(reading) == watched.queue_marks.compare(reading)
    assert own.runs.downgraded_since(moments[0][1].at) == watched.runs.downgraded_since(moments[0][1].at)


def test_only_damaged_polls_are_not_recalled(tmp_path: Path) -> None:
    moments = list(polled("quiet", 12))
    place = str(tmp_path / "a.presman")
    record(place, moments)
    with Recording(place) as recording:
        playback = recording.playback()
        with mock.patch.object(playback, "pair", lost_at(playback.pair, 7)):
            recall = Recall(playback, 10)
            *_, found = (recall.step(10) for _ in range(11))
    assert found is not None
    at = [column.at for column in found.latencies.columns(0, "anything")]
    assert at == [each.at.timestamp() for place, (each, _) in enumerate(moments[:11]) if place != 7]


def lost_at(pair: Callable[[int], Pair], lost: int) -> Callable[[int], Pair]:
    """Return a function that reads polls and reports one as damaged."""

    def read(place: int) -> Pair:
        if place == lost:
            raise LostPollError("damaged")
        return pair(place)

    return read


@acted
async def test_nothing_is_claimed_about_an_hour_still_being_read(tmp_path: Path) -> None:
    place = str(tmp_path / "a.presman")
    moments = list(polled("quiet", 12))
    record(place, moments)
    begin = f"{moments[9][0].at.astimezone():%H:%M:%S}"
    with mock.patch("presman.tui.player._CALM", NEVER):
        async with replaying(place, (200, 50), begin=begin) as acting:
            app = acting.app
            await waited(acting, lambda: app.monitor.reading is not None)
            screen = await acting.press("4")
            assert "reading the last hour" in screen.splitlines()[-2]
            assert "Not known yet: the last hour is being read." in screen
            app.post_message(Recalled(None))
            await acting.settle()
            screen = await acting.press("1", "4")
            assert "event 0 of " in screen.splitlines()[-2]
            assert "No downgrade was seen in what presman has read of the last hour." in screen


@acted
async def test_latencies_and_sessions_before_a_jump_are_there_soon_after_it(tmp_path: Path) -> None:
    place = str(tmp_path / "a.presman")
    moments = list(polled("quiet", 12))
    record(place, moments)
    with mock.patch("presman.tui.player._CALM", 0.0):
        async with replaying(place, (120, 30)) as acting:
            app = acting.app

            until = partial(waited, acting)

            await until(lambda: app.monitor.reading is not None)
            app.player.play(on=False)
            app.player.jump(moments[9][0].at)
            await until(lambda: app.monitor.reading == moments[9][1] and len(app.monitor.timeline) == 10)
            await acting.keys("right")
            await until(lambda: app.monitor.reading == moments[10][1])
            assert len(app.monitor.timeline) == 11, "one poll on is no jump"
            assert "collecting" not in await acting.press("8")
            await acting.keys("left")
            await until(lambda: app.monitor.reading == moments[9][1] and len(app.monitor.timeline) == 10)


def _of(span: StatementRun) -> tuple[object, ...]:
    identity = span.inst_id, span.sid, span.sql_id, span.group, span.servers
    return *identity, span.queued, span.started, span.idle is not None, span.ended


def test_the_bar_shows_the_position(tmp_path: Path) -> None:
    moments = list(polled("queueing", 10))
    place = str(tmp_path / "a.presman")
    record(place, moments)
    with Recording(place) as recording:
        playback = recording.playback()
        assert playback.first is not None
        assert playback.last is not None
        strip = playback.strip(5)
        assert [each.polls for each in strip] == [2] * 5, "45 s in fifths of a little more than 9"
        assert max(each.queued for each in strip) == max(len(reading.queue) for _, reading in moments)
        for at, mark in ((playback.first, 0), (playback.last, -1)):
            top, _ = scrub_lines(strip, (playback.first, playback.last), playback.events(), at, 80)
            text = "".join(run[0] for run in top)
            bar = text[10 : 10 + 80 - 10 - len(f" {at:%m-%d %H:%M} – {at:%m-%d %H:%M} ") - 1]
            assert bar[mark] == "┃"


@acted
async def test_a_replay_stops_at_the_named_time_until_space(tmp_path: Path) -> None:
    place = str(tmp_path / "a.presman")
    moments = list(polled("quiet", 8))
    record(place, moments)
    target = parse_target(f"{place}?at={moments[5][0].at.astimezone():%H:%M:%S}")
    whole, begin = target.beginning_at()
    made = []

    def make() -> RecordingSource:
        made.append(whole.make_source())
        return made[-1]  # type: ignore[return-value]

    async with replaying(make, begin=begin) as acting:
        app = acting.app

        async def until(number: int) -> None:
            await waited(acting, lambda: app.monitor.latest is not None and app.monitor.latest.number == number)

        await until(6)
        notices = [each.message for each in app._notifications]
        assert "Stopped at the time that was named: Space plays from here." in notices
        state = f"‖ {moments[5][0].at.astimezone():%Y-%m-%d %H:%M:%S}"
        await waited(
            acting, lambda: state in acting.screen.splitlines()[0]
        )  # a wider state has its cells a frame later
        assert not app.player.playing
        await acting.keys("space")
        assert app.player.playing
        await acting.keys("J", "x", "escape")
        assert not any(line.display for line in app.query("InputLine")), "Esc leaves the line"
        await acting.keys("end")
        await until(8)
        await acting.keys("J", *"first", "enter")
        await until(1)


LAST = "This is the last poll."


@pytest.fixture
def holed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording of twelve polls of which the first four and the third four are damaged."""
    monkeypatch.setattr("presman.recording.writer.CHAIN", 4)
    path = tmp_path / "holed.presman"
    record(path, list(polled("quiet", 16)))
    with closing(sqlite3.connect(path)) as connection, connection:
        blocks = connection.execute("SELECT poll, content FROM blocks ORDER BY poll").fetchall()
        for poll, content in (blocks[0], blocks[2]):
            changed = content[:40] + bytes([content[40] ^ 1]) + content[41:]
            connection.execute("UPDATE blocks SET content = ? WHERE poll = ?", (changed, poll))
    return path


def posted_by_player(path: Path, *asked: Callable[[Player], None], begin: str = "") -> list[str]:
    """Return what a player posts: the polls that it shows, `>` before those it jumped to, and its messages."""
    found: list[str] = []
    changed = threading.Condition()

    def post(message: Message) -> bool:
        with changed:
            if isinstance(message, Jumped | Arrived):
                found.append(f"{'>' * isinstance(message, Jumped)}{message.snapshot.number}")
            elif isinstance(message, PlaybackNotice | Stopped | Lost):
                found.append(message.text)
            changed.notify_all()
        return True

    player = Player(lambda: RecordingSource(str(path), name="holed"), post, begin=begin)
    player.playing = not asked
    with mock.patch("presman.tui.player._LONGEST_PAUSE", 0.0):
        player.start()
        with changed:
            assert changed.wait_for(lambda: bool(found), 60)
        for ask in asked:
            before = len(found)  # it waits for a request and may answer at once
            ask(player)
            with changed:
                assert changed.wait_for(lambda before=before: len(found) > before, 60)
        if not asked:
            with changed:
                assert changed.wait_for(lambda: found[-1] == "", 60)
        player.stop()
    return found


def test_damaged_polls_are_skipped_and_reported(holed: Path) -> None:
    passed = "4 polls before this cannot be read: the recording is damaged there."
    assert posted_by_player(holed) == [">5", passed, "6", "7", "8", "13", passed, "14", "15", "16", LAST, ""]


def test_the_end_of_a_recording_is_where_it_ends_now(tmp_path: Path) -> None:
    """It is being written: the recorder adds polls after it was opened."""
    path, moments = tmp_path / "a.presman", list(polled("quiet", 7))
    writes = iter((moments[4:6], moments[6:]))

    def grown(ask: Callable[[Player], None]) -> Callable[[Player], None]:
        def run(player: Player) -> None:
            record(path, next(writes))
            ask(player)

        return run

    record(path, moments[:4])
    asked = (lambda one: one.jump(None), grown(lambda one: one.step(1)), lambda one: one.step(1),
             grown(lambda one: one.jump(None)), lambda one: one.jump(None))  # fmt: skip
    shown = posted_by_player(path, *asked)
    assert [each for each in shown if each][:6] == [">1", ">4", "5", "6", ">7", LAST]


def test_steps_and_jumps_cross_damage_in_their_direction(holed: Path) -> None:
    at = [START + timedelta(seconds=5 * number) for number in range(17)]
    begin = f"{at[8].astimezone():%H:%M:%S}"
    steps = posted_by_player(holed, lambda player: player.step(1), begin=begin)
    assert steps[:2] == [">8", "13"]
    steps = posted_by_player(holed, lambda player: player.step(-1), begin=f"{at[13].astimezone():%H:%M:%S}")
    assert steps[:2] == [">13", ">8"]
    steps = posted_by_player(holed, lambda player: player.jump(at[10]), begin=begin)
    assert steps[:2] == [">8", ">13"]


def test_each_of_many_presses_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    record(path, list(polled("quiet", 24)))
    shown: list[int] = []
    changed = threading.Condition()

    def post(message: Message) -> bool:
        if isinstance(message, Jumped | Arrived):
            with changed:
                shown.append(message.snapshot.number)
                changed.notify_all()
        return True

    player = Player(lambda: RecordingSource(str(path), name="a"), post)
    player.playing = False
    player.start()
    with changed:
        assert changed.wait_for(lambda: bool(shown), 60)
    for press in range(20):
        player.step(1)
        if press % 4 == 0:
            time.sleep(0.001)  # now and then one comes while another is being shown
    with changed:
        assert changed.wait_for(lambda: shown[-1] >= 21, 60), shown
    player.stop()
    assert shown[-1] == 21


def shown_after(path: Path, *asked: Callable[[Player], None]) -> int:
    """Return the number of the poll that a player shows when it was asked for several at once, before the first."""
    shown: list[int] = []
    changed = threading.Condition()

    def post(message: Message) -> bool:
        if isinstance(message, Jumped | Arrived):
            with changed:
                shown.append(message.snapshot.number)
                changed.notify_all()
        return True

    player = Player(lambda: RecordingSource(str(path), name="a"), post)
    player.playing = False
    for ask in asked:
        ask(player)
    player.start()
    with changed:
        assert changed.wait_for(lambda: len(shown) == 2, 60), shown
    player.stop()
    return shown[-1]


def test_a_step_counts_from_the_target_of_the_previous_key(tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    record(path, list(polled("quiet", 24)))
    at = START + timedelta(seconds=5 * 10)  # of poll 10: they come each 5 s from 03:00:05 on
    beyond = START + timedelta(days=1)

    def step(polls: int) -> Callable[[Player], None]:
        return lambda player: player.step(polls)

    assert shown_after(path, lambda player: player.jump(at)) == 10
    assert shown_after(path, lambda player: player.jump(at), step(1)) == 11
    assert shown_after(path, lambda player: player.jump(at), step(-15), step(2)) == 3, "15 before 10 is the first"
    assert shown_after(path, lambda player: player.jump(beyond), step(-1)) == 23
    assert shown_after(path, lambda player: player.jump(None), step(-15), step(1)) == 24 - 14
    assert shown_after(path, step(15), lambda player: player.jump(None)) == 24
    assert shown_after(path, lambda player: player.jump(None), lambda player: player.jump(at)) == 10


@acted
async def test_quick_keys_count_from_the_target_of_the_previous_one(tmp_path: Path) -> None:
    """The player handles no key until all are pressed: the shown poll is the one before them."""
    place = str(tmp_path / "a.presman")
    record(place, list(polled("mixed", 40)))
    with Recording(place) as recording:
        playback = recording.playback()
        events = sorted({each.at for each in playback.events() if not is_end(each)})
        polls = [playback.at(number) for number in range(len(playback))]
    assert len(events) >= 4
    after = next(at for at in events if at > polls[1])
    held = threading.Event()

    class HeldBack(deque[Callable[[], None]]):
        def __bool__(self) -> bool:
            return len(self) > 0 and not held.is_set()

    with mock.patch("presman.tui.player.deque", HeldBack):
        async with replaying(place, (120, 30)) as acting:
            app = acting.app
            await waited(acting, lambda: app.monitor.reading is not None and app.span is not None)
            for keys, wanted in (
                ("n n n", events[2]),
                ("n p", events[2]),  # events[3], and back
                ("end p p", [at for at in events if at < polls[-1]][-2]),
                ("end left left", polls[-3]),
                ("J f i r s t enter right n", after),
                ("n left", polls[polls.index(next(at for at in events if at > after)) - 1]),
            ):
                held.set()
                await acting.keys(*keys.split())
                held.clear()
                app.player._asked.set()
                await waited(acting, lambda wanted=wanted: app.monitor.reading.at == wanted)  # type: ignore[union-attr]
