"""Recorder alone, without threads: polls given up, messages, waiting times."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest

from presman.base.log_event import LogEvent
from presman.polling.poll_events import Polled, SourceEnded, SourceLost
from presman.recording.retention import RecordingLocation, RetentionLimits
from presman.recording.store_errors import RecordingError, StoreLostError
from presman.rows.snapshot import Snapshot
from presman.services import recorder as recording
from presman.services.live import LiveTarget
from presman.services.recorder import MOST_WAITING, DatabaseRecorder, Recorder, WaitingPoll
from presman.sources import LoginRefusal
from presman.sources.simulator_source import SimulatorSource
from tests.recording.recorded import START, polled

TARGET = LiveTarget("demo:x", SimulatorSource, 1.0, kind="simulator")
SNAPSHOT = next(iter(polled("quiet", 1)))[0]


def made(folder: Path, polls: int | None = None) -> tuple[DatabaseRecorder, list[LogEvent]]:
    logged: list[LogEvent] = []
    return DatabaseRecorder(TARGET, RecordingLocation(str(folder / "a.presman")), logged.append, polls=polls), logged


def lost(text: str = "no listener", retry_in: float | None = 5.0, refusal: LoginRefusal | None = None) -> SourceLost:
    return SourceLost(text, "ORA-12541", retry_in, START, refusal)


def messages(logged: list[LogEvent]) -> list[str]:
    return [each.message for each in logged if each.level != "debug"]


def test_of_too_many_waiting_polls_the_oldest_are_dropped(tmp_path: Path) -> None:
    one, _ = made(tmp_path)
    for _ in range(MOST_WAITING):
        one._post(Polled(SNAPSHOT))
    assert (one.waiting, one.given_up) == (MOST_WAITING, 0)
    assert one._waiting[0][0] is None
    for _ in range(2):
        one._post(Polled(SNAPSHOT))
    assert (one.waiting, one.given_up) == (MOST_WAITING, 2)
    assert one._waiting[0][0] is SNAPSHOT, "the first is gone"


def test_the_recorder_waits_after_a_loss_unless_a_person_must_act(tmp_path: Path) -> None:
    cases: list[tuple[list[Polled | SourceLost], bool, str, str]] = [
        ([lost()], False, "", "ORA-12541 no listener"),
        ([lost(retry_in=None)], True, "ORA-12541 no listener", "ORA-12541 no listener"),
        ([lost(refusal=LoginRefusal.PASSWORD)], True, "ORA-12541 no listener", "ORA-12541 no listener"),
        (
            [Polled(SNAPSHOT), lost(refusal=LoginRefusal.PASSWORD)],
            False,
            "",
            "ORA-12541 no listener; tried again once the password changes, checked every 5 s",
        ),
        ([lost(refusal=LoginRefusal.LOCKED)], False, "", "ORA-12541 no listener; tried again every 5 s"),
    ]
    for events, is_over, refused, mark in cases:
        one, logged = made(tmp_path)
        for event in events:
            one._post(event)
        assert (one._ended, one.refused, one._loss_to_store) == (is_over, refused, mark)
        assert (one.reachability.next_try is None) == is_over
        trouble = f"{refused}; not tried again" if is_over else mark
        assert one.reachability.trouble == trouble
        state = "lost" if len(events) > 1 else "not connected"
        again = "" if is_over or "tried again" in trouble else "; trying again"
        assert messages(logged) == [f"{state}: {trouble}{again}"]


def test_a_loss_is_noted_once_until_a_poll_comes(tmp_path: Path) -> None:
    one, logged = made(tmp_path)
    for event in (lost(), lost("no route"), Polled(SNAPSHOT), lost()):
        one._post(event)
    assert one._losses == [(START, "ORA-12541 no listener")] * 2
    trouble = "ORA-12541 no listener; trying again"
    assert messages(logged) == [f"not connected: {trouble}", "connected again", f"lost: {trouble}"]


def test_the_next_item_is_a_poll_or_a_reason_or_the_end(tmp_path: Path) -> None:
    one, _ = made(tmp_path)
    one._post(Polled(SNAPSHOT))
    one._post(lost(retry_in=None))
    pair = one._next()
    assert isinstance(pair, tuple)
    assert pair[:2] == (None, SNAPSHOT)
    one._waiting.clear()
    assert one._next() == "ORA-12541 no listener"
    assert one._next() is None
    ended, _ = made(tmp_path)
    ended._post(SourceEnded())
    assert ended._next() is None


def refusing(one: DatabaseRecorder, errors: list[RecordingError | None], waits: list[float]) -> None:
    """Let a recorder write its waiting polls while the store refuses in turn; `waits` are its waiting times."""

    def write(_: Snapshot | None, __: Snapshot) -> None:
        if error := errors.pop(0):
            raise error

    one._ended = True
    with mock.patch.object(one, "_write", write), mock.patch.object(one, "_wait", waits.append):
        one._write_all()


def test_a_lost_store_is_retried_less_and_less_often_and_reported_once(tmp_path: Path) -> None:
    one, logged = made(tmp_path)
    one._post(Polled(SNAPSHOT))
    one._post(Polled(SNAPSHOT))
    one.given_up = 1
    waits: list[float] = []
    gone = StoreLostError("the disk is full")
    refusing(one, [*[gone] * 7, None, gone, None], waits)
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 0.5]
    again = ["cannot be written: the disk is full; polls wait in memory, up to 240", "written again; given up: 1 poll"]
    assert messages(logged) == again * 2
    assert (one.written, one.waiting, one.output_trouble, one.last_at) == (2, 0, "", SNAPSHOT.at)
    written = [each for each in logged if each.level == "debug"]
    assert [each.figures["poll"] for each in written] == [1, 2]


def test_a_store_that_refuses_polls_ends_that_database(tmp_path: Path) -> None:
    for is_told_to_end, error in ((False, RecordingError("another schema")), (True, StoreLostError("another schema"))):
        one, logged = made(tmp_path)
        one._post(Polled(SNAPSHOT))
        one._stopping = is_told_to_end
        waits: list[float] = []
        refusing(one, [error], waits)
        assert (waits, one.written, one.waiting, one.output_trouble) == ([], 0, 1, "another schema")
        assert messages(logged) == ["cannot be written: another schema"]


def test_only_the_given_number_of_polls_is_written(tmp_path: Path) -> None:
    one, _ = made(tmp_path, polls=2)
    for _ in range(3):
        one._post(Polled(SNAPSHOT))
    refusing(one, [None, None], [])
    assert (one.written, one.waiting) == (2, 0)
    one._post(Polled(SNAPSHOT))
    assert one.waiting == 0, "none is taken any more"


def test_polls_that_wait_too_long_are_reported_whatever_the_store_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store hangs in the first attempt: no error comes. Then it is slow, and at last it catches up."""
    one, logged = made(tmp_path)
    now = [1000.0]
    monkeypatch.setattr("presman.services.recorder.time.monotonic", lambda: now[0])
    one._post(Polled(SNAPSHOT))
    name = one._location.name
    for seconds, trouble in ((10.0, ""), (10.1, f"{name}: nothing was written for 10 s")):
        now[0] = 1000.0 + seconds
        one.watch()
        assert one.output_trouble == trouble
    for _ in range(MOST_WAITING + 1):
        one._post(Polled(SNAPSHOT))
    assert (one.waiting, one.given_up) == (MOST_WAITING, 2)
    assert messages(logged) == [
        f"cannot be written: {name}: nothing was written for 10 s; polls wait in memory, up to 240",
        "more than 240 polls wait to be written: from now on the oldest are given up",
    ]
    now[0] += 11
    one._note_written(one._waiting[0])
    assert one.output_trouble.endswith("it is written again, but older polls still wait")
    one._waiting.extend([one._waiting.pop()._replace(since=now[0])] * 2)
    while one.output_trouble:
        one._note_written(one._waiting[0])
    assert messages(logged)[2:] == ["written again; given up: 2 polls"]
    now[0] += 10.1
    one._wrote_at = now[0] - 1
    one.watch()
    assert one.output_trouble == f"{name}: polls come faster than they are written"


def test_the_last_polls_are_tried_for_ten_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = made(tmp_path, polls=2)
    now = [1000.0]
    monkeypatch.setattr("presman.services.recorder.time.monotonic", lambda: now[0])
    for _ in range(3):
        one._post(Polled(SNAPSHOT))
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    full = StoreLostError("the disk is full")
    with mock.patch.object(one, "_write", side_effect=full), mock.patch.object(one, "_wait", wait):
        one._write_all()
    assert (waits, one.written, one.waiting) == ([0.5, 1.0, 2.0, 4.0, 8.0], 0, 2)
    one.watch()
    assert one.is_stuck, "the recorder does not wait for a store that hangs, either"


def test_a_fault_ends_one_database_and_is_reported(tmp_path: Path) -> None:
    one, logged = made(tmp_path)
    one._post(Polled(SNAPSHOT))
    with mock.patch.object(one, "_write", side_effect=KeyError("x")):
        one._keep_writing()
    assert (one.is_over, one.finish(0.0), one.waiting) == (True, False, 1)
    assert isinstance(one.fault, KeyError)
    assert messages(logged) == ["cannot be written: internal error: KeyError: 'x'"]


def test_without_a_thread_the_recorder_ends(tmp_path: Path) -> None:
    one, logged = made(tmp_path)
    with mock.patch.object(recording, "start", side_effect=RuntimeError("can't start new thread")):
        one.start()
    assert (one.is_over, one.finish(0.0)) == (True, True)
    assert "processes and threads have run out" in messages(logged)[0]


@pytest.fixture
def recorder(tmp_path: Path) -> tuple[Recorder, list[LogEvent]]:
    logged: list[LogEvent] = []
    limits = RetentionLimits(age=timedelta(days=1))
    return Recorder([TARGET], str(tmp_path / "a.presman"), logged.append, limits=limits), logged


def at(now: float) -> Callable[[], float]:
    return lambda: now


def test_old_polls_are_trimmed_at_once_and_every_ten_minutes(
    recorder: tuple[Recorder, list[LogEvent]], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, logged = recorder
    tries = []
    answers: list[int | RecordingError] = [0, 3, RecordingError("it is locked")]

    def trim(_: RecordingLocation, limits: RetentionLimits, now: datetime, own: list[str]) -> int:
        tries.append((time.monotonic(), limits.age, own))
        assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)
        if isinstance(answer := answers.pop(0), RecordingError):
            raise answer
        return answer

    monkeypatch.setattr(recording, "trim", trim)
    for now in (1000.0, 1599.0, 1600.0, 2200.0):
        monkeypatch.setattr("presman.services.recorder.time.monotonic", at(now))
        one._trim()
    assert tries == [(now, timedelta(days=1), ["demo:x"]) for now in (1000.0, 1600.0, 2200.0)]
    assert [(each.event, each.message) for each in logged] == [
        ("trimmed", "removed by --retain or --max-size: 3 polls"),
        ("not_trimmed", "old polls could not be removed: it is locked"),
    ]


def test_a_file_that_has_grown_by_a_twentieth_of_its_limit_is_trimmed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Recorder([TARGET], str(tmp_path / "a.presman"), lambda _: None, limits=RetentionLimits(size=1_000_000))
    tries, size = list[int](), [400_000]
    monkeypatch.setattr(RecordingLocation, "open_bytes", property(lambda _: size[0]))
    for size[0] in (400_000, 450_000, 450_001, 480_000, 1_480_000):

        def trim(*_: object) -> int:
            tries.append(size[0])
            size[0] -= 100 * (size[0] > 1_000_000)  # it shrinks: what is left counts from then on
            return 0

        monkeypatch.setattr(recording, "trim", trim)
        one._trim()
        one._trim()
    assert tries == [400_000, 450_001, 1_480_000]
    one.location.close()


def test_without_limits_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Recorder([TARGET], str(tmp_path / "a.presman"), lambda _: None)
    monkeypatch.setattr(recording, "trim", mock.Mock(side_effect=AssertionError("nothing is to go")))
    one._trim()
    one.location.close()


def test_a_recorder_ends_with_its_databases_or_its_time(recorder: tuple[Recorder, list[LogEvent]]) -> None:
    one, logged = recorder
    (database,) = one.databases
    database._finished.set()  # nothing waits for it
    steps: list[int] = []
    with mock.patch.object(database, "start"), mock.patch.object(one, "_trim"):
        assert one.run(-1.0, lambda: steps.append(1)) is False
        assert steps == []
        database.is_over = True
        assert one.run(None, lambda: steps.append(1)) is True
    assert steps == []
    database._stopping = False
    database._post(Polled(SNAPSHOT))
    one._finish()
    assert messages(logged)[-1:] == ["1 poll could not be written"]
    assert logged[-1].figures == {"waiting": 1}


def test_at_the_end_each_poll_has_its_own_time_limit(
    recorder: tuple[Recorder, list[LogEvent]], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, logged = recorder
    (database,) = one.databases
    waits: list[float] = []

    def finish(patience: float) -> bool:
        waits.append(patience)
        if database._waiting and len(waits) <= 3:
            database._waiting.popleft()
            database.written += 1
        return not database._waiting

    monkeypatch.setattr(database, "finish", finish)
    database._waiting.extend([WaitingPoll(None, SNAPSHOT, 0.0)] * 3)
    assert one._is_written(database, time.monotonic() + 60.0)
    assert (waits, messages(logged)) == ([8.0] * 3, ["2 polls still to be written"])
    waits.clear()
    database._waiting.extend([WaitingPoll(None, SNAPSHOT, 0.0)] * 4)
    assert not one._is_written(database, time.monotonic() + 60.0), "the fourth is not written in its time"
    assert waits == [8.0] * 4
    one.location.close()
