"""Interruption while a database answers: the source is cancelled first, then the signal takes effect."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import pytest

from presman.cli import interruption
from presman.cli.interruption import ENDING, ending_reads, rest


class Reading:
    """A source in the middle of a read; it counts how often it is cancelled."""

    def __init__(self, kind: str = "oracle") -> None:
        self.kind = kind
        self.cancelled = 0

    def cancel(self) -> None:
        self.cancelled += 1


class Hit(BaseException):
    """The exception of the usual handler."""


@pytest.fixture(autouse=True)
def usual() -> Any:
    def hit(number: int, _frame: object) -> None:
        raise Hit(number)

    before = {number: signal.signal(number, hit) for number in ENDING}
    yield hit
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_the_read_ends_first(number: int, usual: Any) -> None:
    source: Any = Reading()
    steps = []
    with pytest.raises(Hit) as caught, ending_reads(source):  # noqa: PT012
        signal.raise_signal(number)
        steps.append("the driver comes to an end")
    assert caught.value.args == (number,)
    assert steps
    assert source.cancelled == 1
    assert signal.getsignal(number) is usual


def test_whatever_the_read_ends_in() -> None:
    with pytest.raises(Hit), ending_reads(Reading()):  # type: ignore[arg-type]  # noqa: PT012
        signal.raise_signal(signal.SIGTERM)
        raise ValueError("cancelled")


def test_without_a_signal_nothing_is_cancelled() -> None:
    with ending_reads(Reading()):  # type: ignore[arg-type]
        pass


def test_pure_python_is_interrupted_at_once() -> None:
    source: Any = Reading("simulator")
    with pytest.raises(Hit), ending_reads(source):  # noqa: PT012
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("it went on")
    assert source.cancelled == 0


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source: Any = Reading()
    with ending_reads(source):
        signal.raise_signal(signal.SIGINT)
    assert source.cancelled == 0


def test_other_threads_have_no_signals() -> None:
    done = []

    def read() -> None:
        with ending_reads(Reading()):  # type: ignore[arg-type]
            done.append(True)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join(60)
    assert done


@pytest.mark.parametrize("number", ENDING)
def test_a_rest_notices_a_signal_that_interrupts_another_thread(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setattr(interruption, "TURN", 0.01)
    sleep, resting, over = time.sleep, threading.Event(), threading.Event()

    def fall_asleep(seconds: float) -> None:
        resting.set()
        sleep(seconds)

    def send() -> None:
        resting.wait()
        os.kill(os.getpid(), number)
        over.wait()

    monkeypatch.setattr(time, "sleep", fall_asleep)
    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {number})  # so that the system delivers it to the other thread
    try:
        with pytest.raises(Hit):
            rest()
    finally:
        over.set()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})


def test_a_rest_ends() -> None:
    begun = time.monotonic()
    rest(0.01)
    rest(-1.0)
    assert time.monotonic() - begun >= 0.01
