"""Exit codes, which presman guarantees, and the handling of Ctrl-C while presman is still being imported."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

OK = 0
INTERNAL = 1
USAGE = 2
SOURCE = 3
OUTPUT = 4
FINDINGS = 5
NOT_JUDGED = 6
PARTIAL = 7
INTERRUPTED = 130
HUNG_UP = 129
TERMINATED = 143

HELP = """\
exit codes:
  0    done (also: the reader closed the pipe, nothing is configured yet)
  1    an error in presman itself (PRESMAN_DEBUG=1 shows where)
  2    wrong usage or configuration: options, TARGET, config.ini, a scenario, a window that ends before it
       begins, a file that is no export (presman chart, whatif); presman trace: a file is refused or cut short
  3    the database (spool, recording) cannot be reached or read, no view answers, or a recording has no poll
       in that window; presman record and metrics: no database is left; presman status: nothing runs;
       presman why: the reason is not known, or the views, or the poll of that time, cannot be read;
       memory, open files, processes or threads have run out
  4    the output cannot be written; presman record: polls were lost, also if a signal stopped it
  5    presman lint found something at least as severe as --fail-on; presman trace found no wait of the chosen
       events, or understood none; presman why: no such statement is queued or runs in parallel;
       presman advise: nothing meets the goals, or it is not known whether anything does
  6    presman lint could not judge a plan: the views that it needs cannot be read
  7    the answer is partial: a view did not answer (presman once, alerts), or a database or a view (presman
       fleet); presman status: something that runs has a problem
  129  stopped by SIGHUP, 130 by Ctrl-C, 143 by SIGTERM; what was gathered is kept
       (Ctrl-C ends the monitor as q does, with 0)
  presman check ends with 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN, and with nothing else"""


class Failure(Exception):  # noqa: N818 - what main() turns into one line and an exit code
    """Ends presman with one line and a code."""

    def __init__(self, text: str, code: int = USAGE) -> None:
        super().__init__(text)
        self.code = code


class Terminated(SystemExit):
    """SIGTERM or SIGHUP arrived. No handler of ordinary errors catches it, nor asyncio: it is a SystemExit."""

    def __init__(self, number: int = 15) -> None:
        super().__init__(128 + number)


# ---- Ctrl-C while presman is still being imported.


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process immediately, while there is nothing to clean up.

    In the middle of an import its exception would sometimes be lost, or replaced by another one.
    """
    usual = signal.getsignal(signal.SIGINT)
    is_ours = usual is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if is_ours:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, usual)
