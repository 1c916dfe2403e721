from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest

from presman.analysis.facts.deltas import SHORTEST
from presman.base.release import Release
from presman.polling import sampler as sampler_thread
from presman.polling.poll_events import ActionResult, Event, Polled, PreviewCame, SourceEnded, SourceLost
from presman.polling.sampler import GAP, LONGEST_PAUSE, Sampler, next_poll, pause_before, stop_all, tick_after
from presman.rows.commands import Command, Victim, kill
from presman.rows.queries import DetailLevel, Focus, Scope
from presman.rows.query_files import QueryError
from presman.sources import LoginRefusal, SourceError
from presman.sources.subprocess_source import PreviewAnswer
from tests.patience import until
from tests.sources.fakes import START, FakeSource

PATIENCE = 20
"""Seconds after which a test gives up waiting for an event."""

Start = Callable[..., tuple[Sampler, "queue.Queue[Event]"]]


@pytest.fixture
def start() -> Iterator[Start]:
    begun: list[Sampler] = []

    def begin(source: Any, **settings: Any) -> tuple[Sampler, queue.Queue[Event]]:
        events: queue.Queue[Event] = queue.Queue()
        make = source if callable(source) else lambda: source
        settings = {"refresh": 3600.0, "scope": Scope.CLUSTER, "now": lambda: START} | settings
        preview = settings.pop("preview", lambda: None)
        sampler = Sampler(make, post=events.put, **settings)
        sampler.preview = preview
        begun.append(sampler)
        sampler.start()
        return sampler, events

    yield begin
    for sampler in begun:
        assert sampler.stop(PATIENCE)


def polled(events: queue.Queue[Event]) -> int:
    event = events.get(timeout=PATIENCE)
    assert isinstance(event, Polled)
    return event.snapshot.number


def lost(events: queue.Queue[Event]) -> SourceLost:
    event = events.get(timeout=PATIENCE)
    assert isinstance(event, SourceLost)
    return event


def test_polls_until_the_end(start: Start) -> None:
    source = FakeSource(length=3)
    sampler, events = start(source, refresh=0.001)
    assert [polled(events) for _ in range(3)] == [1, 2, 3]
    assert events.get(timeout=PATIENCE) == SourceEnded()
    assert sampler.stop(PATIENCE)
    assert (source.opened, source.closed) == (1, 1)


def test_a_preview_comes_first_and_the_polls_follow(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The poll took all but a second of the first interval, which began with it."""
    monkeypatch.setattr(sampler_thread, "PAINTING", 0.0)
    monkeypatch.setattr(sampler_thread, "LEAST_WAIT", 0.0)
    before = time.monotonic()
    _, events = start(FakeSource(length=2), refresh=3600.0, preview=lambda: PreviewAnswer("what a look saw", 3599.0))
    event = events.get(timeout=PATIENCE)
    assert isinstance(event, PreviewCame)
    assert event.seen == "what a look saw"
    assert before <= event.begun + 3599.0 <= time.monotonic()
    assert [polled(events) for _ in range(2)] == [1, 2]


def test_a_sampler_stopped_during_a_look_posts_nothing(start: Start) -> None:
    looking, enough = threading.Event(), threading.Event()

    def preview() -> PreviewAnswer:
        looking.set()
        enough.wait(PATIENCE)
        return PreviewAnswer("too late", 0.0)

    source = FakeSource()
    sampler, events = start(source, preview=preview)
    looking.wait(PATIENCE)
    assert not sampler.stop(0.0)
    enough.set()
    assert sampler.stop(PATIENCE)
    assert events.empty()
    assert source.opened == 0


def test_makes_the_source_in_its_own_thread(start: Start) -> None:
    made: list[threading.Thread] = []

    def make() -> FakeSource:
        made.append(threading.current_thread())
        return FakeSource()

    _, events = start(make)
    polled(events)
    assert made[0] is not threading.current_thread()
    assert made[0].daemon


def test_polls_at_once_on_request(start: Start) -> None:
    sampler, events = start(FakeSource())
    polled(events)
    sampler.poll_now()
    assert polled(events) == 2


def test_polls_at_once_are_far_enough_apart_for_rates(start: Start) -> None:
    begun: list[float] = []

    class Timed(FakeSource):
        def open(self) -> Release:
            time.sleep(GAP)  # a login that takes its time: it is no part of the gap
            return super().open()

        def advance(self) -> None:
            begun.append(time.monotonic())
            super().advance()

    sampler, events = start(Timed())
    polled(events)
    sampler.poll_now()
    assert polled(events) == 2
    assert begun[1] - begun[0] > SHORTEST


def test_a_poll_that_is_asked_for_at_once_is_extra(start: Start) -> None:
    """The rates would be those of a tenth of a second."""
    sampler, events = start(FakeSource())
    found = [events.get(timeout=PATIENCE)]
    for ask in (sampler.poll_now, lambda: sampler.focus(Focus(1, 7)), lambda: sampler.set_refresh(0.001)):
        ask()
        found.append(events.get(timeout=PATIENCE))
    assert [each.is_extra for each in found if isinstance(each, Polled)] == [False, True, True, False]


def test_an_extra_poll_does_not_delay_the_regular_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one comes an interval after the last regular one, so that its rates are those of an interval."""
    sampler = Sampler(FakeSource, refresh=3600.0, scope=Scope.CLUSTER, post=lambda _: None)
    turns: list[tuple[bool, float]] = []

    def wait(event: Event, begun: float) -> None:
        assert isinstance(event, Polled)
        turns.append((event.is_extra, begun))
        sampler._must_answer, sampler._stopping = len(turns) in {1, 2}, len(turns) == 4

    monkeypatch.setattr(sampler, "_wait", wait)
    sampler._run()
    assert [extra for extra, _ in turns] == [False, True, True, False]
    first, *others, last = [begun for _, begun in turns]
    assert others == [first, first]
    assert last > first


def test_a_shorter_refresh_takes_effect_while_waiting(start: Start) -> None:
    sampler, events = start(FakeSource())
    polled(events)
    sampler.set_refresh(0.001)
    assert [polled(events) for _ in range(3)] == [2, 3, 4]


def test_missed_ticks_are_dropped() -> None:
    ends = (100.1, 102.0, 102.1, 109.0)
    after = [next_poll(SourceEnded(), 100.0, ended, 0.0, refresh=2.0, phase=None) for ended in ends]
    assert after == [102.0, 102.0, 104.0, 110.0]


def test_two_polls_are_a_fifth_of_an_interval_apart_where_the_first_began_late() -> None:
    """A preview began at 98.1 s and the first poll, which had to read all again, at 100.0 s; one is due every 2 s."""
    assert next_poll(SourceEnded(), 98.1, 100.05, 100.0, refresh=2.0, phase=None) == 100.4
    assert next_poll(SourceEnded(), 98.5, 100.05, 100.0, refresh=2.0, phase=None) == 100.5


def test_samplers_with_phases_of_their_own_poll_one_after_the_other() -> None:
    assert [tick_after(now, 5.0, 0.2) for now in (100.0, 100.9, 101.0, 103.0)] == [101.0, 101.0, 106.0, 106.0]
    polls = ((100.5, 0.1), (101.0, 0.1), (98, 4))
    after = [next_poll(SourceEnded(), begun, begun + took, 0.0, refresh=5.0, phase=0.2) for begun, took in polls]
    assert after == [106.0, 106.0, 106.0], "polls are a fifth of an interval apart at least, missed ticks dropped"


def test_reconnects_and_continues_counting(start: Start) -> None:
    source = FakeSource(failures=[SourceError("gone", code="ORA-03113")])
    sampler, events = start(source)
    event = lost(events)
    assert (event.text, event.code, event.since) == ("gone", "ORA-03113", START)
    assert event.retry_in is not None
    assert 0.8 <= event.retry_in <= 1.0
    sampler.poll_now()
    polled(events)
    assert (source.opened, source.closed) == (2, 1)


def test_a_wrong_password_is_not_tried_again_by_itself(start: Start) -> None:
    source = FakeSource(failures=[SourceError("wrong password", retry=False)])
    sampler, events = start(source)
    assert lost(events).retry_in is None
    sampler.poll_now()
    polled(events)


def test_the_unexpected_becomes_one_line_and_the_thread_lives(start: Start) -> None:
    source = FakeSource(failures=[ZeroDivisionError("a\nb\x1b[31m"), QueryError("broken.sql: no SELECT")])
    sampler, events = start(source)
    assert lost(events).text == "ZeroDivisionError: a b␛[31m"
    sampler.poll_now()
    event = lost(events)
    assert (event.text, event.retry_in) == ("broken.sql: no SELECT", None)
    sampler.poll_now()
    polled(events)


def test_memory_that_runs_out_before_the_first_poll_will_not_be_there_later(start: Start) -> None:
    _, events = start(FakeSource(failures=[MemoryError()]))
    event = lost(events)
    assert event.line.startswith("memory has run out")
    assert event.retry_in is None
    source = FakeSource()
    sampler, events = start(source)
    assert polled(events) == 1
    source.failures = [MemoryError()]
    sampler.poll_now()
    assert lost(events).retry_in is not None


def test_a_loss_without_memory_to_report_it_is_the_last_event(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.polling.sampler.PolledSource.lose", mock.Mock(side_effect=MemoryError))
    sampler, events = start(FakeSource(failures=[KeyError()]))
    assert lost(events).retry_in is None
    assert sampler._over.wait(PATIENCE)


def test_a_source_that_cannot_be_made_is_lost(start: Start) -> None:
    made = iter([ModuleNotFoundError("No module named 'x'"), FakeSource()])

    def make() -> FakeSource:
        found = next(made)
        if isinstance(found, BaseException):
            raise found
        return found

    sampler, events = start(make)
    assert lost(events).text == "ModuleNotFoundError: No module named 'x'"
    sampler.poll_now()
    polled(events)


def test_stops_in_the_middle_of_a_read_and_posts_nothing_more(start: Start) -> None:
    source = FakeSource(hang=threading.Event())
    sampler, events = start(source)
    assert source.entered.wait(PATIENCE)
    assert sampler.stop(PATIENCE)
    assert events.empty()
    assert source.closed == 1


def test_stop_cancels_again_if_the_first_cancel_was_too_early(start: Start) -> None:
    hang = threading.Event()
    source = FakeSource(hang=hang)
    cancels: list[None] = []

    def cancel() -> None:
        cancels.append(None)
        if len(cancels) == 3:
            hang.set()

    source.cancel = cancel  # type: ignore[method-assign]
    sampler, _ = start(source)
    assert source.entered.wait(PATIENCE)
    assert sampler.stop(PATIENCE)
    assert len(cancels) >= 3, "once more where the reading thread is late to wake"


def test_stop_does_not_wait_for_a_read_that_cannot_be_cancelled(start: Start) -> None:
    source = FakeSource(hang=threading.Event())
    source.cancel = lambda: None  # type: ignore[method-assign]
    sampler, _ = start(source)
    assert source.entered.wait(PATIENCE)
    assert not sampler.stop(0.01)
    assert source.hang is not None
    source.hang.set()


def test_stop_survives_a_cancel_that_fails_or_hangs(start: Start) -> None:
    source = FakeSource(hang=threading.Event())
    released = threading.Event()

    def cancel() -> None:
        released.wait(PATIENCE)
        raise OSError("socket")

    source.cancel = cancel  # type: ignore[method-assign]
    sampler, _ = start(source)
    assert source.entered.wait(PATIENCE)
    assert not sampler.stop(0.01)
    released.set()
    assert source.hang is not None
    source.hang.set()


def test_pauses_double_up_to_a_minute_with_jitter() -> None:
    pauses = [pause_before(attempt) for attempt in range(1, 60)]
    for attempt, pause in enumerate(pauses, 1):
        longest = min(LONGEST_PAUSE, 2.0 ** min(attempt - 1, 10))
        assert 0.8 * longest <= pause <= longest
    assert len(set(pauses)) == len(pauses)


def test_stopping_one_that_never_began() -> None:
    assert Sampler(FakeSource, refresh=1.0, scope=Scope.CLUSTER, post=lambda event: None).stop()


def test_hundreds_of_faults_in_a_row_leave_nothing_behind(start: Start) -> None:
    rng = random.Random(3)
    faults = (
        SourceError("cut", code="DPY-4011"),
        SourceError("denied", retry=False),
        OSError("reset"),
        ValueError("x"),
    )
    source = FakeSource(failures=[rng.choice(faults) for _ in range(300)])
    threads = threading.active_count()
    sampler, events = start(source)
    for _ in range(300):
        lost(events)
        sampler.poll_now()
    polled(events)
    assert source.opened == 301
    assert source.closed == 300
    assert threading.active_count() <= threads + 1, "one of before may have ended meanwhile"


def test_a_wish_is_answered_in_a_poll_at_once_and_a_lasting_one_in_each(start: Start) -> None:
    from presman.rows.instance_rows import IoOutlier, WatchedHistogram
    from presman.sources.simulator_source import SimulatorSource

    sampler, events = start(lambda: SimulatorSource("quiet", seed=1))
    sampler.request(WatchedHistogram, {"event": "latch free"}, lasting=True)
    first = events.get(timeout=PATIENCE)
    sampler.request(IoOutlier)
    found = [first, events.get(timeout=PATIENCE)]
    while IoOutlier not in found[-1].snapshot.sections:
        found.append(events.get(timeout=PATIENCE))
    latest = found[-1].snapshot
    assert latest.section(WatchedHistogram).at == latest.at
    assert {row.event for row in latest.rows(WatchedHistogram)} <= {"latch free"}
    assert IoOutlier not in first.snapshot.sections
    sampler.forget_requests()
    sampler.poll_now()
    after = events.get(timeout=PATIENCE).snapshot
    assert WatchedHistogram not in after.sections
    assert IoOutlier not in after.sections


def test_a_command_that_waited_too_long_is_not_sent(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user confirmed what was shown then: the command must not be sent when the database answers minutes later."""
    sent: list[Command] = []

    def carry_out(command: Command, _source: Any, _release: Any) -> ActionResult:
        sent.append(command)
        return ActionResult(command, True, "done")

    sampler, events = start(FakeSource(), carry_out=carry_out)
    assert polled(events) == 1
    command = kill(Victim(1, 2, 3))
    monkeypatch.setattr("presman.polling.sampler.STALE", -1.0)
    sampler.act(command)
    result = events.get(timeout=PATIENCE)
    assert isinstance(result, ActionResult)
    assert (result.done, result.tried) == (False, False)
    assert result.text.startswith("not sent: it waited ")
    assert polled(events) == 2
    monkeypatch.setattr("presman.polling.sampler.STALE", 60.0)
    sampler.act(command)
    assert events.get(timeout=PATIENCE) == ActionResult(command, True, "done")
    assert sent == [command]


def test_no_code_asks_the_thread_itself_whether_it_is_alive(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that wait for the end of a third get in each other's way: one of them sees an AssertionError."""
    asked: list[str] = []
    source = FakeSource(hang=threading.Event())
    monkeypatch.setattr(source, "cancel", lambda: None)
    sampler, _ = start(source)
    assert source.entered.wait(PATIENCE)
    for name in ("is_alive", "join"):
        monkeypatch.setattr(sampler._thread, name, lambda *_, name=name: asked.append(name))
    assert sampler.is_alive
    assert not sampler.stop(0.01)
    assert source.hang is not None
    source.hang.set()
    assert sampler.stop(PATIENCE)
    assert not sampler.is_alive
    assert asked == []


def test_many_are_stopped_at_the_same_time(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    hung = FakeSource(hang=threading.Event())
    monkeypatch.setattr(hung, "cancel", lambda: None)
    slow, _ = start(hung)
    quick = [start(FakeSource())[0] for _ in range(3)]
    assert hung.entered.wait(PATIENCE)
    ending = threading.Thread(target=stop_all, args=([slow, *quick], PATIENCE))
    ending.start()
    until(lambda: not any(each.is_alive for each in quick), "the others are ended")
    assert slow.is_alive
    assert hung.hang is not None
    hung.hang.set()
    ending.join(PATIENCE)
    assert not slow.is_alive


def test_a_read_is_cancelled_even_without_a_thread_for_it(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    source = FakeSource(hang=threading.Event())
    sampler, _ = start(source)
    assert source.entered.wait(PATIENCE)
    assert source.hang is not None
    monkeypatch.setattr(source, "cancel", source.hang.set)
    monkeypatch.setattr(threading.Thread, "start", _no_thread)
    assert sampler.stop(PATIENCE)


def _no_thread(_thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_sampler_without_a_thread_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = Sampler(FakeSource, refresh=1.0, scope=Scope.CLUSTER, post=lambda event: None)
    monkeypatch.setattr(threading.Thread, "start", _no_thread)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        sampler.start()
    assert not sampler.is_alive
    assert sampler.stop()


LOCKED = SourceError("ORA-28000: locked", code="ORA-28000", retry=False, refusal=LoginRefusal.LOCKED)
WRONG = SourceError("ORA-01017: wrong", code="ORA-01017", retry=False, refusal=LoginRefusal.PASSWORD)


def test_a_locked_account_is_tried_every_ten_minutes(start: Start) -> None:
    begun = datetime.now(UTC)
    _, events = start(FakeSource(failures=[LOCKED]))
    event = lost(events)
    assert (event.retry_in, event.refusal, event.outlook) == (600.0, LoginRefusal.LOCKED, "tried again every 10 min")
    assert event.next_try is not None
    assert begun <= event.next_try - timedelta(seconds=600) <= datetime.now(UTC)


def test_a_wrong_password_is_tried_again_by_itself_only_where_there_may_be_another(start: Start) -> None:
    _, events = start(FakeSource(failures=[WRONG]))
    event = lost(events)
    assert (event.retry_in, event.next_try, event.outlook) == (None, None, "not tried again")


def test_another_password_is_looked_for_and_the_same_one_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.polling.sampler.REFUSED_PAUSE", 0.001)
    first, second = FakeSource(failures=[WRONG]), FakeSource()
    found = iter([None, OSError("half written"), None, second])
    looks: list[Any] = []

    def renewed() -> FakeSource | None:
        looks.append(next(found))
        if isinstance(looks[-1], OSError):
            raise looks[-1]
        return looks[-1]  # type: ignore[no-any-return]

    events: queue.Queue[Event] = queue.Queue()
    sampler = Sampler(lambda: first, refresh=3600.0, scope=Scope.CLUSTER, post=events.put)
    sampler.polled.renewed = renewed
    sampler.start()
    unread = "no other password than the refused one could be read: half written"
    for text in ("ORA-01017: wrong", unread, "ORA-01017: wrong"):  # the refusal, and two more looks in vain
        event = lost(events)
        assert (event.text, event.refusal) == (text, LoginRefusal.PASSWORD)
        assert event.outlook.startswith("tried again once the password changes")
    polled(events)
    assert sampler.stop(PATIENCE)
    assert (len(looks), first.opened, second.opened) == (4, 1, 1)


def test_a_refused_password_is_not_tried_while_config_ini_cannot_be_read() -> None:
    """F5 sent it again and again, although nobody knew whether it still was the one to use."""

    def broken() -> FakeSource | None:
        raise OSError("config.ini: line 3 has no =")

    first = FakeSource(failures=[WRONG, WRONG])
    events: queue.Queue[Event] = queue.Queue()
    sampler = Sampler(lambda: first, refresh=3600.0, scope=Scope.CLUSTER, post=events.put)
    sampler.polled.renewed = broken
    sampler.start()
    lost(events)
    sampler.poll_now()
    assert lost(events).text.endswith("could be read: config.ini: line 3 has no =")
    sampler.polled.renewed = lambda: None
    sampler.poll_now()
    assert lost(events).text == "ORA-01017: wrong"
    assert sampler.stop(PATIENCE)
    assert first.opened == 2


def refused_then(start_with: FakeSource, found: list[FakeSource | None]) -> tuple[Sampler, queue.Queue[Event]]:
    """Start a sampler that finds, look after look, sources with other passwords."""
    events: queue.Queue[Event] = queue.Queue()
    sampler = Sampler(lambda: start_with, refresh=3600.0, scope=Scope.CLUSTER, post=events.put)
    looks = iter(found)
    sampler.polled.renewed = lambda: next(looks)
    sampler.start()
    return sampler, events


def test_a_password_that_was_changed_already_is_tried_soon_and_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.polling.sampler.FIRST_PAUSE", 0.001)
    first, second, third = (FakeSource(failures=[WRONG]) for _ in range(3))
    sampler, events = refused_then(first, [second, third])
    soon, later = lost(events), lost(events)
    assert soon.retry_in is not None
    assert (soon.retry_in < 1, soon.refusal, soon.outlook) == (True, None, "")
    assert (later.retry_in, later.refusal) == (600.0, LoginRefusal.PASSWORD)
    assert sampler.stop(PATIENCE)
    assert (first.opened, second.opened, third.opened) == (1, 1, 0), "each may lock the account"


def test_an_account_that_was_unlocked_is_not_locked_again_by_an_old_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.polling.sampler.REFUSED_PAUSE", 0.001)
    old, new = FakeSource(failures=[LOCKED, LOCKED]), FakeSource()
    sampler, events = refused_then(old, [None, new])
    assert [lost(events).refusal for _ in range(2)] == [LoginRefusal.LOCKED] * 2
    polled(events)
    assert sampler.stop(PATIENCE)
    assert (old.opened, new.opened) == (2, 1)


def test_requests_of_a_screen_do_not_repeat_a_refused_login(start: Start) -> None:
    from presman.rows.instance_rows import IoOutlier

    source = FakeSource(failures=[WRONG, WRONG])
    sampler, events = start(source)
    lost(events)
    sampler.set_detail_level(DetailLevel.NARROW)
    sampler.set_detail_level(DetailLevel.WHOLE)
    sampler.focus(Focus(1, 2, 3))
    sampler.request(IoOutlier)
    assert not sampler._poll_now
    sampler.poll_now()
    lost(events)
    assert source.opened == 2


def test_reading_more_comes_at_once_and_reading_less_with_the_next_poll(start: Start) -> None:
    sampler, events = start(FakeSource())
    polled(events)
    sampler.set_detail_level(DetailLevel.NARROW)
    assert not sampler._poll_now
    sampler.set_detail_level(DetailLevel.NARROW | DetailLevel.HISTOGRAMS)
    polled(events)
    sampler.set_detail_level(DetailLevel.HISTOGRAMS)
    assert not sampler._poll_now
    unborn = Sampler(FakeSource, refresh=5.0, scope=Scope.CLUSTER, post=events.put)
    unborn.set_detail_level(DetailLevel.NARROW)
    unborn.set_detail_level(DetailLevel.WHOLE)
    assert not unborn._poll_now, "the first poll is to come all the same"
