"""Answers that announce huge sizes: the driver's memory stays bounded, and the query fails with a reason."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from presman.base.release import Release
from presman.base.running_out import ROOM, AnswerMemory
from presman.sources.oracle.guard import AnswerTooLarge, meaningful_error
from tests.oracle.bench import Bench
from tests.thorough import some
from tests.torture.relay import Line, Relay, running

IS_KNOWN = Path("/proc/self/statm").exists()


@pytest.mark.skipif(not IS_KNOWN, reason="only Linux shows how much data there is")
def test_more_fails_while_an_answer_is_read_and_not_afterwards() -> None:
    usual = resource.getrlimit(resource.RLIMIT_DATA)
    with AnswerMemory().bounded():
        assert len(bytearray(ROOM // 4)) == ROOM // 4
        with pytest.raises(MemoryError):
            bytearray(ROOM * 2)
    assert resource.getrlimit(resource.RLIMIT_DATA) == usual
    assert len(bytearray(ROOM * 2)) == ROOM * 2


def test_the_usual_limit_is_back_once_the_last_answer_is_read() -> None:
    usual = resource.getrlimit(resource.RLIMIT_DATA)
    memory, begun, ends = AnswerMemory(), threading.Event(), threading.Event()

    def read() -> None:
        with memory.bounded():
            begun.set()
            ends.wait(10.0)

    other = threading.Thread(target=read)
    with memory.bounded():
        other.start()
        begun.wait(10.0)
    assert (resource.getrlimit(resource.RLIMIT_DATA) == usual) is not IS_KNOWN
    ends.set()
    other.join()
    assert resource.getrlimit(resource.RLIMIT_DATA) == usual


def test_a_smaller_limit_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 20, -1))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: calls.append(limits))
    with AnswerMemory().bounded():
        assert calls == [(1 << 20, -1)]


HUGE = bytes.fromhex("10 00 00 00 00 00 00 00 00 00 10 00 00 04 02 00 00 00")
"""An answer without columns, followed by one with 33 million: lists of 800 MB."""


class _Lying(Relay):
    """A server whose first answer with rows begins with HUGE."""

    lies = 0

    def forward(self, line: Line, data: bytes, *, asking: bool) -> None:
        if not asking and not self.lies and len(data) > 11 and (data[4], data[10]) == (6, 16):
            self.lies += 1
            data = data[:10] + HUGE + data[10 + len(HUGE) :]
        super().forward(line, data, asking=asking)


CLIENT = """
import sys
from presman.base.secret import Secret
from presman.polling.poller import Poller
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings

poller = Poller(OracleSource(ConnectSettings(f"127.0.0.1:{sys.argv[1]}/presman", "presman", Secret("presman"))))
try:
    poller.open()
except Exception as error:
    print(error)
poller.open()
print(bool(poller.poll().sections))
poller.close()
"""
"""Runs in a process of its own, because the limit would also apply to the server."""


@pytest.mark.skipif(not IS_KNOWN, reason="only Linux shows how much data there is")
@pytest.mark.parametrize("bench", some([Release(23)], [Release(19)]), ids=str, indirect=True)
def test_columns_behind_the_first_message_take_no_memory(bench: Bench) -> None:
    with running(_Lying(bench.server.port)) as between:
        command = [sys.executable, "-c", CLIENT, str(between.port)]
        client = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        refused, polled = client.stdout.splitlines()
    assert "the answer would take too much memory" in refused
    assert (between.lies, polled) == (1, "True")


def test_an_answer_that_takes_too_much_memory_is_too_large() -> None:
    """Then it is read a few rows at a time, and left out if that does not help."""
    assert isinstance(found := meaningful_error(MemoryError()), AnswerTooLarge)
    assert str(found) == "the answer would take too much memory"
