"""A poll that a key asks for soon after a regular one: shown at once with the usual rates, and then forgotten."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from presman.polling.poll_events import Polled
from presman.services.live import ReadingCame
from presman.tui.feed import Arrived, message_of
from presman.tui.timeline import Timeline
from tests.tui.drive import acted, stage
from tests.tui.test_live import Play


def came(play: Play, after: float = 2.0, *, is_extra: bool = False) -> Arrived:
    """The next poll of a play, so many seconds after the last."""
    play.now += after - 2.0
    found = message_of(play._readings.of(Polled(play.poll(), is_extra)))
    assert isinstance(found, Arrived)
    return found


@acted
async def test_another_tab_shows_a_poll_with_the_rates_of_an_interval(tmp_path: Path) -> None:
    """Top waits once showed the rates of a tenth of a second, which were ten times those of a moment before."""
    play = Play("mixed")
    async with stage(size=(120, 35)) as acting:
        app = acting.app
        monitor = app.monitor
        await acting.arrive(*(came(play) for _ in range(3)))
        assert "rates over" not in acting.screen
        columns, events = len(monitor.timeline.series._times), len(monitor.events)
        app.recording.toggle("DWDEMO", "cpu", monitor.timeline.reading(0))
        await acting.keys("7")
        await acting.arrive(came(play, 0.1, is_extra=True))
        assert "in the last 2.1 s" in acting.screen
        assert "rates over" not in await acting.press("1"), "nearly those of an interval"
        reading = monitor.reading
        assert reading is monitor.latest
        assert reading is not None
        assert [round(each.reading.interval or 0.0, 1) for each in [came(play, 0.8, is_extra=True)]] == [2.9]
        # It is in no chart, no list of events and no file, and no step back leads to it.
        assert (len(monitor.timeline), len(monitor.timeline.series._times), len(monitor.events)) == (3, columns, events)
        assert app.recording._path.read_text().count("2026-11-20T03:00:06.1") == 0
        # Its page has its own snapshots; a pause keeps it on the screen.
        moment = monitor.moment()
        assert moment is not None
        assert moment.snapshots is not None
        assert [each and each.number for each in moment.snapshots] == [2, 4]
        await acting.keys("space")
        await acting.arrive(came(play, 1.1))
        assert monitor.reading is reading
        assert monitor.moment().snapshots == moment.snapshots
        assert "◀ 03:00:04" in await acting.press("left"), "it was in the place of that of 03:00:06"
        assert await acting.press("end")
        assert [monitor.reading.number, monitor.reading.interval] == [6, 2.0]
        assert [len(monitor.timeline), monitor.timeline.reading(1).number] == [4, 3]
        app.recording.close()


@acted
async def test_the_time_that_rates_cover_is_shown_where_it_is_not_the_interval() -> None:
    play = Play("mixed")
    async with stage(size=(60, 15)) as acting:
        await acting.arrive(*(came(play) for _ in range(3)), came(play, 0.9, is_extra=True))
        assert "rates over 2.9s" in acting.screen
        await acting.arrive(came(play, 1.1))
        assert "rates over" not in acting.screen
        await acting.arrive(came(play, 20.0))
        assert "rates over 20s" in acting.screen


def test_a_poll_is_found_though_the_numbers_of_extra_polls_are_missing() -> None:
    play, timeline = Play("quiet"), Timeline()
    found = [play.read() for _ in range(7)]
    for number, each in enumerate(found, 1):
        assert isinstance(each, ReadingCame)
        if number in {3, 5, 6}:
            timeline.show_extra(each.snapshot)
        else:
            timeline.add(each.reading, each.snapshot)
    pairs = [timeline.pair_of(each.reading) for each in found if isinstance(each, ReadingCame)]
    assert [pair and (pair[0] and pair[0].number, pair[1].number) for pair in pairs] == [
        (None, 1), (1, 2), None, (2, 4), None, (2, 6), (4, 7),
    ]  # fmt: skip
    assert [timeline.numbered(number) is not None for number in range(9)] == [0, 1, 1, 0, 1, 0, 0, 1, 0]
    assert timeline.first_number() == 1


def test_after_another_login_polls_may_begin_at_1_again() -> None:
    """With another password the source is another one, and so is its poller."""
    timeline = Timeline()
    assert (timeline.first_number(), timeline.numbered(1)) == (1, None)
    play = Play("quiet")
    found = [play.read() for _ in range(3)]
    for number, each in zip((8, 9, 1, 3), [found[0], *found], strict=True):
        assert isinstance(each, ReadingCame)
        timeline.add(each.reading, replace(each.snapshot, number=number))
        extra = replace(each.reading, number=10)
        if number == 9:
            timeline.show_extra(replace(each.snapshot, number=10))
            assert timeline.pair_of(extra) is not None
    assert timeline.pair_of(extra) is None, "an extra poll of before is gone"
    assert timeline.first_number() == 1
    pairs = [timeline.numbered(number) for number in (1, 2, 3, 8)]
    assert [pair and pair[1].number for pair in pairs] == [1, None, 3, None]
