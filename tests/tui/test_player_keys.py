"""Keys of a player before its thread answers: speeds, steps that add up, jumps, when the next poll is due."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from presman.figures.drawing.lines import plain
from presman.recording.playback_values import Stretch
from presman.sources import SourceError
from presman.tui import player as player_module
from presman.tui.player import _SUMMED_UP, FOLLOWING, SPEEDS, GrowthCheck, PlaybackNotice, Player, Stopped, _passed
from presman.tui.replay_app import ReplayApp, _fitted, scrub_lines

START = datetime(2026, 3, 12, 3, tzinfo=UTC)


class Polls:
    """A playback of polls at so many seconds."""

    def __init__(self, *seconds: float) -> None:
        self.times = [START + timedelta(seconds=each) for each in seconds]

    def __len__(self) -> int:
        return len(self.times)

    @property
    def last(self) -> datetime:
        return self.times[-1]

    def at(self, index: int) -> datetime:
        return self.times[index]

    def index(self, at: datetime) -> int:
        return max(0, sum(each <= at for each in self.times) - 1)


TEN: Any = Polls(*(5.0 * n for n in range(10)))


class Source:
    """An open recording of ten polls; the first two are not replayed. `come` is the number written meanwhile."""

    def __init__(self) -> None:
        self.playback: Any = Polls(*(5.0 * n for n in range(10)))
        self.indexes = range(2, 10)
        self.come = 0

    def grow(self) -> range:
        times = self.playback.times
        times += [times[-1] + timedelta(seconds=5 * (n + 1)) for n in range(self.come)]
        self.come, self.indexes = 0, range(2, len(times))
        return self.indexes


def player(*, follow: bool = False, posted: list[Any] | None = None) -> Player:
    """Return a player that shows the fifth poll; its requests run when `answered` is called."""
    found = Player(lambda: None, (posted if posted is not None else []).append, follow=follow)  # type: ignore[arg-type, return-value]
    found._following._summed_up = time.monotonic()
    found._source, found._shown_at = Source(), TEN.at(4)  # type: ignore[assignment]
    found._shown = found._aim = 4
    return found


def answered(found: Player) -> int:
    """Run the requests as the player's thread does, and return the index of the poll that they lead to."""
    found._wait(found._source)  # type: ignore[arg-type]
    return found._aim


def test_a_following_player_starts_before_the_newest_poll() -> None:
    assert not player(follow=True).is_following


def test_speeds_go_up_and_down_to_their_ends() -> None:
    found, seen = player(), []
    for direction in (*[1] * 7, *[-1] * 8):
        found.faster(direction)
        seen.append(found.speed)
    assert seen == [2, 5, 10, 30, 60, 60, 60, 30, 10, 5, 2, 1, 0.5, 0.5, 0.5]
    assert SPEEDS[1] == Player(lambda: None, lambda _: None).speed == 1  # type: ignore[arg-type, return-value]


def test_steps_count_from_the_target_of_the_previous_key() -> None:
    found = player()
    for _ in range(3):
        found.step(1)
    assert not found.playing
    assert (answered(found), found._jumps) == (7, False)
    found.step(-1)
    assert answered(found) == 6, "although 4 is still shown"
    found.step(-99)
    found.step(1)
    assert answered(found) == 3, "the first that is replayed is 2"
    found.step(99)
    assert answered(found) == 9


def test_steps_and_jumps_start_where_the_previous_one_leads() -> None:
    posted: list[Any] = []
    found, at = player(posted=posted), START + timedelta(seconds=12)
    found.jump(at)
    assert found.playing
    found.step(1)
    found.step(1)
    assert not found.playing
    assert (answered(found), found._jumps) == (4, True), "the shown poll, but with the time before it"
    found.jump(START + timedelta(seconds=46))
    found.ask(lambda: posted.append(found.aimed_at))
    found.jump(None)
    found.step(-2)
    found.ask(lambda: posted.append(found.aimed_at))
    assert answered(found) == 7
    notice, before, last, _, after = posted
    assert isinstance(notice, PlaybackNotice)
    assert (notice.text.startswith("No poll after "), notice.how) == (True, {"timeout": 8})
    assert (before, last.text, after) == (TEN.at(9), "This is the last poll.", TEN.at(7))


def test_a_key_past_the_end_stops_with_a_message() -> None:
    posted: list[Any] = []
    found = player(posted=posted)
    found.step(99)
    assert (answered(found), posted) == (9, [])
    found.step(1)
    found.jump(None)
    assert answered(found) == 9
    assert [(type(each), each.text) for each in posted] == [
        (PlaybackNotice, "This is the last poll."), (Stopped, ""),
    ] * 2  # fmt: skip


def test_past_the_end_of_a_recording_that_grew_a_replay_goes_on() -> None:
    posted: list[Any] = []
    found = player(posted=posted)
    source: Any = found._source
    for come, ask, index in ((3, lambda: found.step(99), 12), (2, lambda: found.jump(None), 14)):
        source.come = come
        ask()
        assert answered(found) == index
    found._shown, found._shown_at, source.come = 14, source.playback.at(14), 4
    found.step(1)
    found.step(1)
    assert (answered(found), posted) == (16, []), "the next one, not the newest"
    del source.playback.times[:5]  # the oldest were removed
    source.come, source.indexes = 1, range(2, 14)
    found.step(4)
    assert (answered(found), found._shown) == (14, 9)
    source.grow = lambda: _raise(SourceError("the file is gone"))
    found._shown_at = source.playback.last
    found.jump(None)
    found.jump(None)
    assert answered(found) == 14
    assert [each.text for each in posted if each.text] == ["the file is gone"], "not that it is the last"


def _raise(error: Exception) -> range:
    raise error


def test_a_key_past_the_end_reads_a_growing_recording_again() -> None:
    found = player(follow=True)
    assert found._source is not None
    found._source.come = 3  # type: ignore[attr-defined]
    found.step(5)
    assert answered(found) == 9, "before the end no new polls are read"
    found.step(1)
    assert answered(found) == 12, "all new polls"
    found._source.come = 2  # type: ignore[attr-defined]
    found.step(-4)
    found.jump(None)
    assert answered(found) == 14
    found._source.come = 1  # type: ignore[attr-defined]
    found.jump(START + timedelta(days=1))
    assert answered(found) == 15
    found._shown_at = found.aimed_at
    found._source.indexes = range(2, 5)  # type: ignore[attr-defined]  # another file has taken its name
    found._source.grow = lambda: range(2, 5)  # type: ignore[method-assign]
    found.step(1)
    assert answered(found) == 15, "it waits until the other is as long"


def test_playing_continues_from_the_end_of_a_growing_recording() -> None:
    for follow, plays in ((False, False), (True, True)):
        found = player(follow=follow)
        found.play(on=False)
        found.jump(START)
        assert not found.playing
        found.jump(None)
        assert found.playing is plays
    live = player(follow=True)
    live._at_end = True
    assert live.is_following
    live.play(on=False)
    assert not live.is_following


@pytest.mark.parametrize(
    ("shown", "speed", "follow", "due"),
    [(4, 10.0, False, 0.5), (4, 1.0, False, 2.0), (4, 2.5, False, 2.0), (8, 5.0, False, 1.0), (9, 1.0, False, 0.0),
     (9, 1.0, True, FOLLOWING)],
)  # fmt: skip
def test_a_poll_is_shown_until_the_next_or_for_two_seconds(shown: int, speed: float, follow: bool, due: float) -> None:
    found = player(follow=follow)
    found._shown, found.speed = shown, speed
    assert found._due(TEN) == due
    found.playing = False
    assert found._due(TEN) is None


def test_without_a_thread_the_player_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoThread:
        def __init__(self, **_: object) -> None:
            pass

        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(player_module.threading, "Thread", NoThread)
    found = player()
    with pytest.raises(RuntimeError):
        found.start()
    assert found._over.is_set()
    with pytest.raises(PermissionError, match="actions are not allowed"):
        found.act(SimpleNamespace(kind=SimpleNamespace(value="cancel")))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "width", "cells"),
    [
        ([1.0, 2.0, 3.0, 4.0], 2, [2.0, 4.0]),
        ([4.0, 1.0, None, 1.0, 2.0, 3.0], 3, [4.0, 1.0, 3.0]),
        ([1.0, None, 3.0], 3, [1.0, None, 3.0]),
        ([9.0, 2.0], 4, [9.0, 9.0, 2.0, 2.0]),
        ([None, None, 1.0], 1, [1.0]),
        ([], 2, [None, None]),
    ],
)
def test_each_cell_of_the_bar_has_the_highest_of_its_values(
    values: list[float | None], width: int, cells: list[float | None]
) -> None:
    assert _fitted(values, width) == cells


STRIP = [Stretch(2, 4, 50.0), Stretch(2, 8, 100.0), Stretch(0, None, 0.0), Stretch(2, 2, 25.0)]
"""Ten seconds each; the third has no polls."""


def bar(at: float, width: int = 58, seconds: float = 40.0, *, reads_past: bool = False) -> list[str]:
    events: Any = [SimpleNamespace(at=START + timedelta(seconds=each)) for each in (10, 20, 30)]
    span = (START, START + timedelta(seconds=seconds))
    return [plain(line) for line in scrub_lines(STRIP, span, events, START + timedelta(seconds=at), width, reads_past)]


def test_the_bar_has_queue_and_throttle_the_mark_the_bounds_and_the_events() -> None:
    """The heads take 10 cells, the bounds 27 and one stays blank: of 58 twenty are left, five a stretch."""
    first, last = START.astimezone(), (START + timedelta(seconds=40)).astimezone()
    bounds = f" {first:%m-%d %H:%M} – {last:%m-%d %H:%M} "
    assert bar(20) == [
        f"queue     ▅▅▅▅▅█████┃    ▃▃▃▃▃{bounds}", f"throttled ▅▅▅▅▅█████┃    ▃▃▃▃▃{' event 2 of 3':27}",
    ]  # fmt: skip
    assert [bar(at)[0].index("┃") for at in (-3, 0, 1.9, 2, 38, 40, 50)] == [10, 10, 10, 11, 29, 29, 29]
    assert [bar(at)[1].split("event ")[1].strip() for at in (9.9, 10, 30)] == ["0 of 3", "1 of 3", "3 of 3"]
    assert bar(0, reads_past=True)[1].endswith(" reading the last hour     ")
    assert len(bar(0, width=30)[0]) == 10 + 10 + 27, "the bar has ten cells at least"
    assert [bar(at, seconds=0.5)[0].index("┃") for at in (0, 0.5)] == [10, 20], "less than a second is one"


@pytest.mark.parametrize(
    ("interval", "playing", "trouble", "following", "state", "every"),
    [
        (9.94, True, "", False, "▶ 2x", 9.9),
        (10.4, False, "", False, "‖", 10),
        (None, True, "", True, "● newest", 2.0),
        (60.0, True, "gone", True, "✕ not read since", 60),
    ],
)
def test_the_state_of_a_replay_and_its_interval(
    monkeypatch: pytest.MonkeyPatch,
    interval: float | None,
    playing: bool,
    trouble: str,
    following: bool,
    state: str,
    every: float,
) -> None:
    shown: dict[str, Any] = {"refresh": 2.0}
    monitor = SimpleNamespace(
        reading=SimpleNamespace(interval=interval, at=START), choose=shown.update,
        replays=lambda words, **_: shown.update(words=words),
        timeline=SimpleNamespace(watch=SimpleNamespace(lacks_past=True)),
    )  # fmt: skip
    app: Any = SimpleNamespace(
        monitor=monitor, paint_lines=lambda: shown.update(painted=True),
        player=SimpleNamespace(playing=playing, speed=2.0, trouble=trouble, is_following=following),
        scrub=SimpleNamespace(show=lambda at, reads_past: shown.update(mark=(at, reads_past))),
    )  # fmt: skip
    ReplayApp.show_state(app, paint=False)
    words = f"{state} {START.astimezone():%Y-%m-%d %H:%M:%S}"
    assert shown == {"refresh": every, "words": words, "mark": (START, True)}
    ReplayApp.show_state(app)
    assert shown["painted"]
    with monkeypatch.context() as zone:
        zone.setenv("TZ", "Europe/Lisbon")  # at 02:00 on 2026-10-25 clocks go back to 01:00
        time.tzset()
        monitor.reading = SimpleNamespace(interval=interval, at=datetime(2026, 10, 25, 1, 30, tzinfo=UTC))
        ReplayApp.show_state(app)
        assert shown["words"] == f"{state} 2026-10-25 01:30:00+00:00"
    time.tzset()
    monitor.reading = None
    shown.clear()
    ReplayApp.show_state(app)
    assert shown == {}, "no poll is shown"


def test_skipped_polls_are_counted() -> None:
    assert _passed(4, 9) == "5 polls before this cannot be read: the recording is damaged there."
    assert _passed(9, 8) == "1 poll after this cannot be read: the recording is damaged there."


def test_a_growing_recording_is_read_and_summed_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its oldest polls may be removed by then: the shown poll has another index."""
    now = [100.0]
    monkeypatch.setattr(player_module.time, "monotonic", lambda: now[0])
    indexes, trouble = [range(2, 10)], [""]

    def grow() -> range:
        if trouble[0]:
            raise SourceError(trouble[0])
        return indexes[0]

    following, summed_up = GrowthCheck(lambda _: None), list[float]()
    monkeypatch.setattr(following, "post_summary", lambda _: summed_up.append(now[0]))
    source: Any = SimpleNamespace(grow=grow, playback=TEN, indexes=indexes[0])
    following._summed_up = 100.0
    assert following.newest(source, TEN.at(4)) == 4
    assert following.newest(source, TEN.at(9)) is None, "it is shown already"
    assert following.newest(source, None) is None
    now[0] += _SUMMED_UP
    following.newest(source, TEN.at(4))
    assert summed_up == []
    now[0] += 0.1
    following.newest(source, TEN.at(9))
    assert summed_up == [now[0]]
    trouble[0] = "no such file"
    assert (following.newest(source, TEN.at(4)), following.trouble) == (None, "no such file")
    trouble[0], indexes[0] = "", range(0)
    assert (following.newest(source, TEN.at(4)), following.trouble) == (None, "")
