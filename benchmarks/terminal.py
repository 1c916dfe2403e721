"""Pseudo-terminal that runs a full-screen program and measures its time, CPU, bytes and memory."""

from __future__ import annotations

import os
import re
import select
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil
from ptyprocess import PtyProcess

ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])")
SIZE = (50, 200)
PATIENCE = 60.0
"""Seconds: even a busy machine needs fewer."""
WHERE_IS_THE_CURSOR = re.compile(rb"\x1b\[6n")
"""Sent by programs such as pg_activity, which wait for the answer of a real terminal."""


@dataclass(frozen=True, slots=True)
class Idle:
    """A period without keys: CPU seconds per 60 s, bytes per refresh, MiB at its end."""

    cpu_per_minute: float
    bytes_per_refresh: float
    rss_mib: float


class Screen:
    """One running program. Bytes are read as they come; texts are searched for without escape sequences."""

    def __init__(self, command: Sequence[str], **environment: str) -> None:
        clean = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "LINES", "COLUMNS"}}
        self.begun = time.perf_counter()
        self._process = PtyProcess.spawn(
            list(command),
            env=clean | {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | environment,
            dimensions=SIZE,
        )
        self._tail = b""
        self.written = 0

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    @property
    def status(self) -> int | None:
        """Its exit code, once it has ended."""
        code: int | None = self._process.exitstatus
        return code

    @property
    def last(self) -> bytes:
        """The latest bytes that it wrote, with escape sequences."""
        return self._tail

    def wait_for(self, *markers: bytes, limit: float = PATIENCE) -> float:
        """Return the seconds until every marker has been written. Raises TimeoutError after `limit` seconds."""
        begun, missing = time.perf_counter(), set(markers)
        while missing:
            if time.perf_counter() - begun > limit:
                raise TimeoutError(f"never shown: {missing}; last bytes: {self._tail[-300:]!r}")
            self._read(0.05)
            text = ESCAPES.sub(b"", self._tail)
            missing = {marker for marker in missing if marker not in text}
        return time.perf_counter() - begun

    def forget(self) -> None:
        """Search for markers only in the output from now on."""
        self._tail = b""

    def quiet(self, seconds: float) -> None:
        """Read until nothing has come for `seconds`."""
        while self._read(seconds):
            pass

    def listen(self, seconds: float) -> None:
        """Read all output for `seconds`."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self._read(left)

    def press(self, keys: bytes) -> None:
        self._process.write(keys)

    def idle(self, seconds: float, refresh: float) -> Idle:
        """Leave the program alone for `seconds` and return what it cost."""
        family = psutil.Process(self._process.pid)
        cpu, written, end = _cpu(family), self.written, time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self._read(min(left, 0.2))
        return Idle(
            cpu_per_minute=(_cpu(family) - cpu) * 60 / seconds,
            bytes_per_refresh=(self.written - written) * refresh / seconds,
            rss_mib=sum(map(_memory, (family, *family.children()))) / 2**20,
        )

    def wait_for_end(self, limit: float = PATIENCE) -> None:
        """Return when the program has ended by itself. Raises TimeoutError after `limit` seconds."""
        begun = time.perf_counter()
        while self._process.isalive():
            if time.perf_counter() - begun > limit:
                raise TimeoutError("the program does not end")
            with suppress(RuntimeError):  # it ended while it was read
                self._read(0.01)
        with suppress(RuntimeError):  # its last output may arrive after its end
            while self._read(0):
                pass

    def close(self) -> None:
        self._process.terminate(force=True)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._process.fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._process.fd, 65536)
        except OSError as error:
            raise RuntimeError(f"the program ended: {ESCAPES.sub(b'', self._tail)[-500:]!r}") from error
        self.written += len(data)
        self._tail = (self._tail + data)[-200_000:]
        if asked := len(WHERE_IS_THE_CURSOR.findall(data)):
            self._process.write(asked * b"\x1b[1;1R")
        return True


def _cpu(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and of those that it started."""
    return sum(map(cpu_of, (process, *process.children())))


def cpu_of(process: psutil.Process) -> float:
    """Return the CPU seconds of a process: on Linux from its clock, because other counters have hundredths only."""
    if psutil.LINUX:
        return time.clock_gettime(~process.pid << 3 | 2)  # as clock_getcpuclockid(3) does
    times = process.cpu_times()
    return float(times.user + times.system)


def _memory(process: psutil.Process) -> float:
    """Return its bytes of memory; shared memory is counted once if the system shows it."""
    found = process.memory_full_info()
    return float(getattr(found, "pss", found.rss))


def first_frame(command: Sequence[str], markers: Sequence[bytes], runs: int = 5) -> float:
    """Return the median seconds from the start to the first frame that shows all `markers`."""
    taken = []
    for run in range(runs + 1):  # the first start warms the file cache and does not count
        screen = Screen(command)
        try:
            screen.wait_for(*markers)
            if run:
                taken.append(time.perf_counter() - screen.begun)
            screen.quiet(0.3)
        finally:
            screen.close()
    return statistics.median(taken)


def key_answer(screen: Screen, presses: Sequence[tuple[bytes, bytes]]) -> float:
    """Return the median seconds from a key to its marker, over `presses` of (key, marker)."""
    taken = []
    for key, marker in presses:
        screen.quiet(0.35)
        screen.forget()
        screen.press(key)
        taken.append(screen.wait_for(marker, limit=5))
    return statistics.median(taken)


def run_time(command: Sequence[str], runs: int = 7) -> float:
    """Return the median seconds a command takes from start to end, its output discarded."""
    import subprocess

    taken = []
    for run in range(runs + 1):
        begun = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if run:
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken)
