"""The command line: passes arguments to the function of a command; an error becomes one line and an exit code.

Only the standard library is imported here; each command imports what it needs when it runs.
"""

import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NoReturn

from presman.base import secret
from presman.base.running_out import end_without_tidying, load_thread_exit, ran_out, too_little
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure, Terminated, ending_at_once

_CODES = {
    "presman.cli.exit_codes.Failure": None,
    "presman.base.errors.InputError": exit_codes.USAGE,
    "presman.recording.store_errors.RecordingError": exit_codes.SOURCE,
    "presman.sources.InvalidSourceError": exit_codes.USAGE,
    "presman.sources.SourceError": exit_codes.SOURCE,
    "presman.base.errors.LimitError": exit_codes.SOURCE,
    "presman.output.csv_file.OutputError": exit_codes.OUTPUT,
}
"""The exit code of each error, by the error's name, so that no module is imported to recognise it."""

_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR})
"""Reasons why the system refuses a path that the user named."""

_DAY = 86400


def main(arguments: Sequence[str] | None = None) -> int:
    """Run presman and return its exit code."""
    console.prepare()
    if not _is_debugged():
        _report_uncaught_errors()
    secret.take_from_environment()  # before any other process is started
    if os.environ.get("HOME") == "":  # Python would take "/"; without HOME it asks the password database
        del os.environ["HOME"]
    given = sys.argv[1:] if arguments is None else arguments
    try:
        return _checked(given) if _is_check(given) else answered(lambda: _run(given, ending_at_once()))
    finally:
        if arguments is None:  # the process ends
            end_without_tidying()
        console.log_to(None)
        secret.forget()
        console.settle()


def answered(run: Callable[[], int]) -> int:
    """Run any command except `check` and return its exit code: an error is one line on standard error and a code."""
    try:
        code = run()
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        console.abandon()
        return exit_codes.OK
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except Terminated as end:
        return int(str(end.code))
    except SystemExit as end:  # --help and --version
        return _flushed(end)
    except Exception as error:
        ended = _ended_by(error)
        return _complain(error) if ended is None else ended


def _ended_by(error: BaseException) -> int | None:
    """Return the exit code of the signal that ended presman before an error was raised, None without a signal.

    SQLAlchemy asserts that a transaction is over, even when a signal interrupts the transaction's end.
    """
    each: BaseException | None = error
    while each is not None:
        if isinstance(each, KeyboardInterrupt):
            return exit_codes.INTERRUPTED
        if isinstance(each, Terminated):
            return int(str(each.code))
        each = each.__context__
    return None


def _is_check(arguments: Sequence[str]) -> bool:
    """Return whether a command line is one of `presman check`, even if it cannot be parsed."""
    if "check" not in arguments:
        return False
    from presman.cli.command_line import COMMANDS

    return next(word for word in arguments if word in COMMANDS) == "check"


def _checked(arguments: Sequence[str]) -> int:
    """Run `presman check`: any error becomes one line of a plug-in and UNKNOWN, never another exit code."""
    try:
        return _check(arguments)
    except Exception as error:  # without memory or file handles, the module that reports errors cannot be imported
        sys.stdout.write(f"PRESMAN UNKNOWN - {ran_out(error, expected=False) or error}\n")
        return exit_codes.SOURCE


def _check(arguments: Sequence[str]) -> int:
    from presman.cli.check_command import print_unknown

    try:
        return _run(arguments, nullcontext())
    except (KeyboardInterrupt, Terminated) as end:
        return print_unknown(_stopped(_ended_by(end)))
    except SystemExit as end:  # --help
        return _flushed(end)
    except Exception as error:
        _debug(error)
        return print_unknown(_stopped(_ended_by(error)) or _meaning(error)[0])


def _stopped(code: int | None) -> str:
    """Return what stopped presman, by its exit code; "" if nothing did."""
    if code is None:
        return ""
    return "stopped by Ctrl-C" if code == exit_codes.INTERRUPTED else f"stopped by signal {code - 128}"


def _run(arguments: Sequence[str] | None, starting: AbstractContextManager[None]) -> int:
    with starting:
        from presman.base.running_out import collect_rarely

        collect_rarely()  # before anything is imported

        from presman.cli import command_line

        command, options = command_line.parse(arguments)
    if line := too_little():
        raise Failure(line, exit_codes.SOURCE)
    if max(abs(time.timezone), abs(time.altzone)) >= _DAY:
        raise Failure(f"TZ={os.environ.get('TZ', '')}: a time zone differs from UTC by less than a day")
    load_thread_exit()
    signal.signal(signal.SIGTERM, _terminated)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores SIGHUP
        signal.signal(signal.SIGHUP, _terminated)
    return int(command_line.run(command, options) or exit_codes.OK)


def _terminated(number: int, _frame: object) -> NoReturn:
    raise Terminated(number)


def _flushed(end: SystemExit) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        console.abandon()
    except OSError as error:
        console.abandon()
        return _complain(Failure(f"cannot write standard output: {error.strerror or error}", exit_codes.OUTPUT))
    return end.code if isinstance(end.code, int) else exit_codes.OK


def _complain(error: Exception) -> int:
    """Report the error in one line and return the exit code."""
    _debug(error)
    if not _is_debugged():
        from warnings import simplefilter

        simplefilter("ignore")  # hides Python's warnings about what is discarded now
    error.__traceback__ = None  # frees the command's objects too: they may have used all the memory
    line, code = _meaning(error)
    is_internal = code == exit_codes.INTERNAL
    hint = " (PRESMAN_DEBUG=1 shows where)" if is_internal else ""
    console.note(f"{line}{hint}", "fault" if is_internal else "failed", "error")
    if code == exit_codes.OUTPUT:
        console.abandon()
    return code


def _meaning(error: Exception) -> tuple[str, int]:
    """Return the message of an error in one line and the exit code. An unforeseen error is internal to presman."""
    if limit := ran_out(error):
        return limit, exit_codes.SOURCE
    line = " ".join(str(error).split())
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__]
    if (known := next((name for name in names if name in _CODES), None)) is not None:
        return line, error.code if isinstance(error, Failure) else _CODES[known] or exit_codes.USAGE
    if isinstance(error, OSError) and error.errno in _REFUSED and error.filename is not None:
        return f"{str(error.filename)[:200]}: {error.strerror}", exit_codes.USAGE
    if limit := ran_out(error, expected=False):
        return limit, exit_codes.SOURCE
    return f"internal error: {type(error).__name__}: {line}", exit_codes.INTERNAL


def _debug(error: Exception) -> None:
    """Print the traceback if PRESMAN_DEBUG asks for it."""
    if _is_debugged():
        from traceback import print_exception

        print_exception(error)


def _is_debugged() -> bool:
    return os.environ.get("PRESMAN_DEBUG", "") not in {"", "0"}


def _report_uncaught_errors() -> None:
    """Report an error that ends a thread in one line, as other errors are, and hide those of the garbage collector."""

    def of_thread(ended: threading.ExceptHookArgs) -> None:
        if isinstance(ended.exc_value, Exception):
            console.note(_meaning(ended.exc_value)[0], "fault", "error")

    if threading.excepthook is threading.__excepthook__:  # a test sets its own
        threading.excepthook = of_thread
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = lambda _: None
