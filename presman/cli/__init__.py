"""The command line: arguments to one function per command, errors to one line and an exit code.

Only the standard library is imported here; each command imports what it needs when it runs.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from presman.cli import codes, talk
from presman.cli.codes import Failure, Terminated

_CODES = {
    "presman.cli.codes.Failure": None,
    "presman.config.ConfigError": codes.USAGE,
    "presman.queries.QueryError": codes.USAGE,
    "presman.sources.SourceError": codes.SOURCE,
    "presman.output.csv_file.OutputError": codes.OUTPUT,
}
"""Errors with a meaning, by name, so that nothing is imported to recognise them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run presman and return its exit code."""
    talk.prepare()
    try:
        code = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        talk.abandon()
        return codes.OK
    except KeyboardInterrupt:
        return codes.INTERRUPTED
    except Terminated:
        return codes.TERMINATED
    except SystemExit as end:  # --help and --version
        return _flushed(end.code if isinstance(end.code, int) else codes.OK)
    except Exception as error:
        return _complain(error)


def _run(arguments: Sequence[str] | None) -> int:
    from presman.cli.arguments import parse
    from presman.cli.commands import COMMANDS

    command, options = parse(arguments)
    signal.signal(signal.SIGTERM, _terminated)
    return COMMANDS[command](options)


def _terminated(_signal: int, _frame: object) -> NoReturn:
    raise Terminated


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        talk.abandon()
    except OSError as error:
        talk.abandon()
        return _complain(Failure(f"cannot write standard output: {error.strerror or error}", codes.OUTPUT))
    return code


def _complain(error: Exception) -> int:
    """Say what is wrong in one line and return the exit code."""
    if os.environ.get("PRESMAN_DEBUG", "") not in {"", "0"}:
        from traceback import print_exception

        print_exception(error)
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__]
    known = next((name for name in names if name in _CODES), None)
    line = " ".join(str(error).split())
    if known is None:
        talk.say(f"internal error: {type(error).__name__}: {line} (PRESMAN_DEBUG=1 shows where)")
        code = codes.INTERNAL
    else:
        talk.say(line)
        code = error.code if isinstance(error, Failure) else _CODES[known] or codes.USAGE
    if code == codes.OUTPUT:
        talk.abandon()
    return code
