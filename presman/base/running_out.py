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
    errno.EAGAIN: _PROCESSES,  # of fork; who writes without waiting knows it for himself
}
_WORDS = {
    "Too many open files": _FILES,
    "Cannot allocate memory": _MEMORY,
    "failed to map segment": _MEMORY,
    "can't allocate": _MEMORY,
    "can't start new thread": _PROCESSES,
    "cannot join thread before it is started": _PROCESSES,  # what Textual says then as it ends
}
"""What Python, the loader of libraries and drivers say in errors that have no number."""

_SQLITE = "unable to open database file"
"""What SQLite says, which takes FEW descriptors, when it gets none."""

FEW = 6

CODE = 3
"""The exit code: what presman is to read cannot be read."""

LEAST = 64 << 20
"""Bytes of addresses without which no command that reads a database ends in good order."""

STACK = 24 << 20
"""Bytes of addresses that a thread takes, with some to spare: where there are no more, no thread can be had."""

_BEGINNING = 10 << 20
"""Bytes of addresses of a stack and of the first that a thread does."""


def ran_out(error: BaseException, *, foreseen: bool = True) -> str:
    """Return in one line what has run out, if an error came of that, and how much is allowed; "" for other errors.

    One that nobody foresaw, where hardly a file can be opened or the memory is full, came of that.
    """
    each: BaseException | None = error
    while each is not None:
        if what := _of(each):
            return what + _allowed(what)
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    if foreseen:
        return ""
    what = _FILES if _files_left() < FEW else _MEMORY if _is_full_of_memory() else ""
    return what and what + _allowed(what)


def have_threads_end() -> None:
    """Load what a thread needs to end, or the GNU C library aborts where no memory is left for that.

    Raises OSError if there is none left now; other C libraries have no such file and need none.
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
    """Start a thread. Raises RuntimeError where none can be had, or there is hardly memory for one.

    One that runs out of memory before it can say that it runs would be waited for by Python without end.
    """
    if _is_full_of_memory(_BEGINNING):
        raise RuntimeError("can't start new thread")
    thread.start()


def end_without_tidying() -> None:
    """Have Python not look through all objects as it ends: where memory is full that may go on without end."""
    if _is_full_of_memory():
        gc.freeze()


def too_little() -> str:
    """Return in one line that there is less memory than presman needs to say what it lacks; "" where there is more.

    Where not even a small number finds room, Python 3.11 tries for ever to handle the error, and hears no signal.
    """
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed == resource.RLIM_INFINITY or allowed >= LEAST:
        return ""
    return f"there is too little memory{_allowed(_MEMORY)}, and presman needs {LEAST >> 20} MB"


def _of(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, SystemError) and resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return _MEMORY  # a library in C was refused memory and did not say so
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
    allowed, addresses = resource.getrlimit(resource.RLIMIT_AS)[0], bytes_of_process(ADDRESSES)
    return addresses is not None and allowed != resource.RLIM_INFINITY and addresses + room > allowed


ADDRESSES, IN_USE, DATA = 0, 1, 5
"""What Linux tells of the memory of a process, by its place in statm."""


def bytes_of_process(place: int) -> int | None:
    """Return how much of this process is at a place of statm, None where nobody tells."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:  # noqa: PTH123 - for each answer of a driver
            return int(file.read().split()[place]) * resource.getpagesize()
    except (OSError, MemoryError):
        return None


def _allowed(what: str) -> str:
    """Return how much is allowed, "" where nothing is set: then it is the machine that has no more."""
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


SELDOM = (20_000, 20, 500)
"""Objects, and rounds, after which the garbage collector looks around."""


def collect_rarely() -> None:
    """Have the garbage collector look around seldom.

    Of what is imported nothing is garbage, and to look for some takes a tenth of that time; polls leave next to
    nothing, and with fifty databases the rounds over all that is known of them took a seventh of the CPU time.
    A round over everything stops all threads: for half a second where two hundred databases are known.
    """
    gc.set_threshold(*SELDOM)


# ---- What a driver may take while it reads an answer. That of Oracle makes lists as long as a number in the answer
# says before it looks whether so much follows. Where it reads in the middle of something else that may be any number.

ROOM = 256 << 20
"""Bytes of data that may come to those there are while an answer is read: 150,000 sessions have so many."""


class AnswerMemory:
    """The limit of data of this process while answers are read, in one thread or in many."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._under_way = 0
        self._usual = resource.RLIM_INFINITY, resource.RLIM_INFINITY

    @contextmanager
    def bounded(self, room: int = ROOM) -> Iterator[None]:
        """Let what takes more than `room` meanwhile fail with MemoryError; each that begins has that room again."""
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
        """Allow so many bytes of data and room for more, or as many as usual where those are fewer or nobody knows."""
        soft, hard = self._usual
        most = soft if present is None or -1 < soft < present + room else present + room  # -1: no limit
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


ANSWERS = AnswerMemory()
"""That of this process."""
