"""Limits of the machine: what has run out when the system refuses memory, open files, or processes and threads."""

import errno
import gc
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_FILES, _MEMORY, _PROCESSES = "open files have run out", "memory has run out", "processes and threads have run out"

_NUMBERS = {
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENOMEM: _MEMORY,
    errno.EAGAIN: _PROCESSES,  # from fork; non-blocking writers handle their own
}
_WORDS = {
    "Too many open files": _FILES,
    "Cannot allocate memory": _MEMORY,
    "failed to map segment": _MEMORY,
    "can't allocate": _MEMORY,
    "can't start new thread": _PROCESSES,
    "cannot join thread before it is started": _PROCESSES,  # Textual raises this when it exits then
}
"""Texts of errors without an errno from Python, the dynamic linker and drivers."""

_SQLITE = "unable to open database file"
"""SQLite's message when it gets no file descriptor; it needs FEW of them."""

FEW = 6

CODE = 3
"""The exit code: the input of presman cannot be read."""

LEAST = 64 << 20
"""Bytes of address space that a command that reads a database needs to end normally."""

STACK = 24 << 20
"""Bytes of address space that a thread takes, with some reserve: with less, no thread can be started."""

_BEGINNING = 10 << 20
"""Bytes of address space for a stack and the first steps of a thread."""


def ran_out(error: BaseException, *, expected: bool = True) -> str:
    """Return in one line what has run out, if that caused an error, and the limit; "" for other errors.

    An error that is not `expected` counts as caused by that if hardly a file can be opened or the memory is full.
    """
    # Libraries raise errors of their own in place of the error that names the resource.
    each: BaseException | None = error
    while each is not None:
        if what := _of(each):
            return what + _allowed(what)
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    if expected:
        return ""
    what = _FILES if _files_left() < FEW else _MEMORY if _is_full_of_memory() else ""
    return what + _allowed(what) if what else ""


def load_thread_exit() -> None:
    """Load the library that a thread needs to end: the GNU C library aborts if there is no memory for it then.

    Raises OSError if there is no memory now. Other C libraries do not have that file and do not need it.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    from ctypes import CDLL

    try:
        CDLL("libgcc_s.so.1")
    except OSError as error:
        if ran_out(error):
            raise


def start(thread: threading.Thread) -> None:
    """Start a thread. Raises RuntimeError if that is impossible, or there is hardly memory for one.

    Python would wait forever for a thread that runs out of memory before it reports that it runs.
    """
    if _is_full_of_memory(_BEGINNING):
        raise RuntimeError("can't start new thread")
    thread.start()


def end_without_tidying() -> None:
    """Keep Python from collecting garbage when it exits.

    That takes a fifth of a second of CPU time, for which a signal seems to have no effect; with full memory it may
    never end.
    """
    gc.freeze()


def too_little() -> str:
    """Return in one line that there is too little memory for presman even to report errors; "" if there is enough.

    If not even a small integer can be allocated, Python 3.11 handles the error forever and ignores signals.
    """
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed == resource.RLIM_INFINITY or allowed >= LEAST:
        return ""
    return f"there is too little memory{_allowed(_MEMORY)}, and presman needs {LEAST >> 20} MB"


def _of(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, SystemError) and resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return _MEMORY  # a C library was refused memory and did not report it
    what = _NUMBERS.get(error.errno or 0, "") if isinstance(error, OSError) else ""
    text = str(error)
    if not what and isinstance(error, (OSError, RuntimeError, ImportError)):
        what = next((found for words, found in _WORDS.items() if words in text), "")
    if what == _PROCESSES and _is_full_of_memory():
        return _MEMORY
    return what or (_FILES if _SQLITE in text and _files_left() < FEW else "")


def _files_left() -> int:
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        return allowed - len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - imported at each start: no pathlib
    except OSError as error:
        return 0 if error.errno == errno.EMFILE else FEW


def _is_full_of_memory(room: int = STACK) -> bool:
    return _is_beyond(resource.RLIMIT_AS, ADDRESSES, room)


def has_room(size: int) -> bool:
    """Whether the limits on addresses and on data leave that many bytes."""
    return not (_is_full_of_memory(size) or _is_beyond(resource.RLIMIT_DATA, DATA, size))


def _is_beyond(limit: int, field: int, room: int) -> bool:
    allowed, taken = resource.getrlimit(limit)[0], bytes_of_process(field)
    return taken is not None and allowed != resource.RLIM_INFINITY and taken + room > allowed


ADDRESSES, IN_USE, DATA = 0, 1, 5
"""Fields of /proc/self/statm, by position."""


def bytes_of_process(field: int) -> int | None:
    """Return the bytes of a field of statm for this process, None if it cannot be read."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:  # noqa: PTH123 - for each answer of a driver
            return int(file.read().split()[field]) * resource.getpagesize()
    except (OSError, MemoryError):
        return None


def _allowed(what: str) -> str:
    """Return the limit in words, "" if none is set: then the machine itself has no more."""
    limits = {
        _FILES: ((resource.RLIMIT_NOFILE, "ulimit -n", 1, ""),),
        _PROCESSES: ((resource.RLIMIT_NPROC, "ulimit -u", 1, ""),),
        _MEMORY: (
            (resource.RLIMIT_AS, "ulimit -v", 1 << 20, " MB"),
            (resource.RLIMIT_DATA, "ulimit -d", 1 << 20, " MB"),
        ),
    }[what]
    for name, option, unit, unit_name in limits:
        most = resource.getrlimit(name)[0]
        if most != resource.RLIM_INFINITY:
            return f": the limit is {most // unit}{unit_name} ({option})"
    return ""


THRESHOLDS = (20_000, 20, 500)
"""Thresholds of the garbage collector: objects, and rounds."""


def collect_rarely() -> None:
    """Make the garbage collector run rarely.

    Imports leave no garbage, and looking for it takes a tenth of their time. Polls leave almost none, and with fifty
    databases the collections over all their data took a seventh of the CPU time. A full collection stops all threads:
    for half a second with two hundred databases.
    """
    gc.set_threshold(*THRESHOLDS)


# ---- Memory that a driver may take while it reads an answer. Oracle's driver allocates lists as long as a number in
# the answer says before it checks that so much follows. In a garbled answer that may be any number.

ROOM = 256 << 20
"""Bytes of data that may be added while an answer is read: enough for 150,000 sessions."""


class AnswerMemory:
    """The limit on this process's data while answers are read, in one thread or in many."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._under_way = 0
        self._usual = resource.RLIM_INFINITY, resource.RLIM_INFINITY

    @contextmanager
    def bounded(self, room: int = ROOM) -> Iterator[None]:
        """Let the body fail with MemoryError if it takes more than `room`; each new one starts with that much room."""
        with self._turn:
            if not self._under_way:
                self._usual = resource.getrlimit(resource.RLIMIT_DATA)
            self._under_way += 1
            self._allow(bytes_of_process(DATA), room)
        try:
            yield
        finally:
            with self._turn:
                self._under_way -= 1
                if not self._under_way:
                    self._allow(None)

    def _allow(self, present: int | None, room: int = 0) -> None:
        """Allow `present` + `room` bytes of data, or the usual limit if that is lower or `present` is unknown."""
        soft, hard = self._usual
        most = soft if present is None or -1 < soft < present + room else present + room  # -1: no limit
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


ANSWERS = AnswerMemory()
"""The limit of this process."""
