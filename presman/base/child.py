"""A child process: a function of presman at the other end of a socket.

Where forking is safe, the child is a fork: it need not import everything again, which is half the cost of starting a
new process. A process with several threads must not be forked: another thread may hold a lock.
"""

import gc
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

LINE = 3
"""The file descriptor of the child's end of the socket."""

_BEGINS = (
    "import sys; sys.path[:] = sys.argv[1:]; from presman.base.running_out import collect_rarely; collect_rarely(); "
)
"""The first code of a new process: it finds presman where this process did, even in a single-file archive."""


_PR_SET_PDEATHSIG = 1
"""An option of prctl(2)."""


class Child:
    """A process that runs the function `name` of `module`, without a terminal. Raises OSError, TypeError.

    `line` is this end of a socket pair, `number` the process ID, 0 once it has ended; then `exit_code` is that of
    :func:`os.waitstatus_to_exitcode`.
    """

    def __init__(self, module: str, name: str) -> None:
        self.line, theirs = socket.socketpair()
        try:
            with theirs:
                number = os.fork() if _is_single_threaded() else _spawned(theirs, module, name)
                self.number = number or _run_child(theirs, module, name)
        except BaseException:
            self.line.close()
            raise
        self.exit_code = 0
        # Held while a signal is sent: once the process has been waited for, another may get its number.
        self._turn = threading.Lock()

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        with self._turn:
            if self.number:
                os.kill(self.number, number)

    def end(self, patience: float = 0.0) -> None:
        """Give it some seconds to end by itself, then kill it."""
        end = time.monotonic() + patience
        while not self.is_over() and time.monotonic() < end:
            time.sleep(0.005)
        self.send_signal(signal.SIGKILL)
        while not self.is_over():
            time.sleep(0.005)

    def is_over(self) -> bool:
        """Whether the process has ended; from then on another process may have its ID."""
        with self._turn:
            if self.number:
                process, status = os.waitpid(self.number, os.WNOHANG)
                if process:
                    self.number, self.exit_code = 0, os.waitstatus_to_exitcode(status)
            return not self.number


def end_with_parent() -> None:
    """Have Linux kill this process once the thread that started it has ended; do nothing on other systems.

    The process itself notices that its socket is closed, but not while it is stopped (SIGSTOP).
    """
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _is_single_threaded() -> bool:
    """Whether this process has only one thread. Linux counts those that Python does not know of, too."""
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


def _run_child(theirs: socket.socket, module: str, name: str) -> NoReturn:
    """Run the function with only the imports of the parent: without its signal handlers, files or terminal."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if callable(signal.getsignal(number)):  # ignored signals stay ignored
                signal.signal(number, signal.SIG_DFL)
        os.dup2(theirs.fileno(), LINE)
        nothing = os.open(os.devnull, os.O_RDWR)
        for file in (0, 1, 2):
            os.dup2(nothing, file)
        os.closerange(LINE + 1, os.sysconf("SC_OPEN_MAX"))
        gc.freeze()  # keeps the collector from touching, and so copying, shared memory
        getattr(import_module(module), name)()
        code = 0
    finally:
        os._exit(code)


def _spawned(theirs: socket.socket, module: str, name: str) -> int:
    """Start a new process and return its ID. Raises TypeError if the path of the interpreter is unknown."""
    theirs.set_inheritable(True)
    files: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), LINE)]
    files += [(os.POSIX_SPAWN_OPEN, each, os.devnull, os.O_RDWR, 0) for each in (0, 1, 2)]
    words = [sys.executable, "-P", "-c", f"{_BEGINS}from {module} import {name}; {name}()", *sys.path]
    return os.posix_spawn(sys.executable, words, os.environ, file_actions=files)


ALIVE = "alive"
"""The type of the control message that asks a viewer's monitor whether it is alive, and of its answer."""

HEAD = 5
"""Bytes of a packet before its content."""


def packet(kind: bytes, content: bytes) -> bytes:
    """Return a packet."""
    return kind + len(content).to_bytes(4, "big") + content


def meta_packet(content: Mapping[str, object]) -> bytes:
    """Return a packet about the terminal."""
    import json

    return packet(b"M", json.dumps(content).encode())


def file_packet(header: Mapping[str, str], content: bytes) -> bytes:
    """Return a packet with a file."""
    import json

    encoded = json.dumps(header).encode()
    return packet(b"F", len(encoded).to_bytes(4, "big") + encoded + content)


def file_of(content: bytes) -> tuple[dict[str, str], bytes]:
    """Return the header and the content of a file. Raises ValueError."""
    import json

    end = 4 + int.from_bytes(content[:4], "big")
    header = json.loads(content[4:end])
    return {str(name): str(value) for name, value in header.items()}, content[end:]


class PacketReader:
    """Reassembles packets from the pieces that arrive."""

    def __init__(self) -> None:
        self._came = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield kind and content of each complete packet."""
        self._came += data
        while len(self._came) >= HEAD and len(self._came) >= (end := HEAD + int.from_bytes(self._came[1:HEAD], "big")):
            whole = bytes(self._came[:end])
            del self._came[:end]
            yield whole[:1], whole[HEAD:]
