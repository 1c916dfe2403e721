"""Following one statement: the cursor goes with it, and a message and the bell say when it starts and ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

from msgspec.structs import replace

from presman.analysis.collapsed_rows import kind_of
from presman.analysis.readings.forecast_readings import ForecastRecord, QueueForecast
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import StartForecast
from presman.figures.statement_figures import QUEUE, RUNNING
from presman.polling.poll_events import Polled
from presman.services.live import ReadingCame, Readings
from presman.tui.following import FollowedStatement
from presman.tui.timeline import Timeline
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy, queued, running
from tests.tui.test_live import Play


def later(number: int, reading: Reading) -> Reading:
    return replace(reading, at=busy(number).at, number=number)


def started(number: int, sid: int) -> Reading:
    """The database a poll later: the statement of a session has left the queue and holds servers."""
    plain = busy()
    row = next(row for row in plain.queue if row.sid == sid)
    holder = running(sid, serial=row.serial, sql_id=row.sql_id, elapsed=1.0)
    queue = tuple(each for each in plain.queue if each.sid != sid)
    heads = tuple(head for head in plain.heads if head.statement.sid != sid)
    return later(number, replace(plain, queue=queue, heads=heads, running=(*plain.running, holder)))


def under_cursor(acting: Stage) -> int:
    grid = acting.app.panels.grid
    assert grid is not None
    assert grid.row is not None
    return int(grid.row.sid)


def notices(acting: Stage) -> list[str]:
    return [each.message for each in acting.app._notifications]


@acted
async def test_the_cursor_follows_a_statement_from_the_queue_to_running() -> None:
    async with stage(busy(), size=(200, 50), tab="4") as acting:
        await acting.keys("down", "down")
        assert under_cursor(acting) == 503
        assert "Following 7xq3h003jskd0 of BATCH (1:503)" in await acting.press("f")
        await acting.keys("up", "up")
        await acting.show(busy(2))
        assert under_cursor(acting) == 503
        await acting.keys("S")
        await acting.show(busy(3))
        assert under_cursor(acting) == 503
        with mock.patch.object(type(acting.app), "bell") as bell:
            await acting.show(started(4, 503))
            assert bell.called
        assert "7xq3h003jskd0 of BATCH (1:503) has started after 3:27 in the queue, with 32 servers." in notices(acting)
        grid = acting.app.panels.grid
        assert grid is not None
        assert grid.table is RUNNING
        assert under_cursor(acting) == 503
        await acting.show(later(5, busy(5)))
        assert acting.app.following is not None  # the same session queues once more
        await acting.show(later(6, replace(busy(6), queue=(), heads=())))
        assert "7xq3h003jskd0 of BATCH (1:503) has left the queue." in notices(acting)
        assert acting.app.following is None


@acted
async def test_f_again_ends_following_and_f_without_a_statement_is_refused() -> None:
    async with stage(busy(), size=(200, 50), tab="4") as acting:
        await acting.keys("f")
        assert acting.app.following is not None
        assert "is no longer followed" in await acting.press("f")
        assert acting.app.following is None
        assert "The cursor is not on a queued or running" in await acting.press("1", "f")


def test_the_news_of_a_followed_statement() -> None:
    plain = busy()
    holder = running(526)
    following = FollowedStatement(holder)
    assert following.take(plain) == ""
    assert following.take(replace(plain, running=())) == "9md3ukh526j58 of BATCH (1:526) is over."
    assert following.row is None
    waiting = FollowedStatement(queued(1, waited=None))
    holder = running(501, serial=7, sql_id="7xq3h001jskd0")
    assert waiting.take(replace(plain, queue=(), running=(holder,))) == (
        "7xq3h001jskd0 of BATCH (1:501) has started, with 32 servers."
    )


@acted
async def test_folded_statements_are_followed_by_the_first() -> None:
    alike = tuple(replace(row, sql_id="7xq3h001jskd0") for row in busy().queue[:12])
    reading = replace(busy(), queue=alike, heads=())
    async with stage(reading, size=(200, 50), tab="4") as acting:
        await acting.keys("f")
        assert acting.app.following is not None
        assert acting.app.following.row == alike[0]
        await acting.show(later(2, reading))
        grid = acting.app.panels.grid
        assert grid is not None
        assert grid.table is QUEUE


@acted
async def test_the_queue_gives_the_common_reason_for_no_forecast() -> None:
    plain, few = busy(), StartForecast(why_none="a forecast needs 5 statements that have ended, and presman has seen 2")
    reading = plain.with_forecast({row.executing(): few for row in plain.queue}, QueueForecast())
    async with stage(reading, size=(200, 50)) as acting:
        assert "starts in: no forecast, a forecast needs 5 statements that have ended" in await acting.press("4")


@acted
async def test_the_queue_shows_forecasts_and_their_accuracy() -> None:
    plain = busy()
    starts = {row.executing(): StartForecast(130.0, 100.0, 210.0) for row in plain.queue}
    starts[plain.queue[0].executing()] = StartForecast(timeout=True)
    starts[plain.queue[1].executing()] = StartForecast(why_none="it is being calculated")
    reading = plain.with_forecast(starts, QueueForecast(ForecastRecord(50, 41, 22.0)))
    async with stage(reading, size=(200, 50)) as acting:
        lines = (await acting.press("4")).splitlines()
        assert any("41 of 50 started in the range forecast, half within 0:22 of its middle" in line for line in lines)
        await acting.resize(80, 24)
        small = acting.screen
        assert "Starts in" not in small
        assert "started in the range forecast" not in small, "it stands beside forecasts only"
        await acting.resize(200, 50)
        first, second, third = (
            next(line for line in lines if f" 7xq3h00{number}jskd0 " in line and "BATCH  " in line)
            for number in (1, 2, 3)
        )
        assert "timeout" in first
        assert "1:40-3:30" in third
        assert "1:40" not in second
        page = await acting.press("down", "d")
        assert "There is no forecast of its start: it is being calculated." in page


def test_looking_back_shows_the_forecasts_of_that_time() -> None:
    play = Play("storm")
    readings, timeline, came = Readings(with_forecasts=True), Timeline(), []
    for _ in range(3):
        event = readings.of(Polled(play.poll()))
        assert isinstance(event, ReadingCame)
        came.append(event.reading)
        timeline.add(event.reading, event.snapshot)
    back = timeline.reading(2)
    assert back is not None
    assert back.queue[0].starts is not None
    assert [row.starts for row in back.queue] == [row.starts for row in came[0].queue]
    assert back.forecast == came[0].forecast


def test_the_cursor_finds_a_followed_statement_in_a_folded_row() -> None:
    waiting, holder = queued(1), running(526)
    chosen: list[Any] = []

    def grid(table: Any, *shown: Any) -> Any:
        return SimpleNamespace(table=table, rows=SimpleNamespace(shown=shown), select=chosen.append)

    queue, other, holders = grid(QUEUE, waiting, queued(2)), grid(QUEUE, queued(2)), grid(RUNNING)
    assert FollowedStatement(waiting).select([holders, queue]) is queue
    assert FollowedStatement(waiting).select([other]) is other
    assert FollowedStatement(holder).select([queue, holders]) is holders
    assert chosen == [waiting.executing(), kind_of(waiting), holder.executing()]
    assert FollowedStatement(waiting).select([holders]) is None, "its table is not on show"
    over = FollowedStatement(holder)
    over.row = None
    assert over.select([queue, holders]) is None
    assert len(chosen) == 3
