"""Judged commands: presman runs in this process, and must not hang, exhaust memory or print a traceback."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import re
import signal
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from presman.cli import main
from tests.cli.run import environment as plain_environment
from tests.torture.rounds import Broken, memory_anew, most_memory

CODES = frozenset({0, 2, 3, 4, 5, 6, 7})
"""All exit codes but 1, an error in presman itself, and those of signals."""

OF_A_PLUGIN = frozenset({0, 1, 2, 3})

LONGEST = 60.0
"""Seconds after which a command hangs."""

MOST = 600
"""Megabytes that one command may take, on top of the process's memory before it."""

LAYOUT = {"\n"}
"""Control characters that output and files may have."""

_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str
    seconds: float


def run(arguments: Sequence[str], **environment: str) -> Ended:
    """Run presman in this process. If a command hangs, the process ends and prints where."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    begun = time.monotonic()
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    try:
        with _as_started(environment), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(arguments))
    finally:
        faulthandler.cancel_dump_traceback_later()
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    return Ended(code, *texts, time.monotonic() - begun)


@contextlib.contextmanager
def _as_started(environment: dict[str, str]) -> Iterator[None]:
    before, stdin, asked = dict(os.environ), sys.stdin, signal.getsignal(signal.SIGTERM)
    with Path(os.devnull).open() as nothing:
        sys.stdin = nothing
        os.environ.update(plain_environment(**environment))
        for name in os.environ.keys() - plain_environment(**environment).keys():
            del os.environ[name]
        try:
            yield
        finally:
            sys.stdin = stdin
            os.environ.clear()
            os.environ.update(before)
            signal.signal(signal.SIGTERM, asked)


def judged(arguments: Sequence[str], **environment: str) -> Ended:
    """Run presman, and check its exit code, its output and its memory. Raises Broken."""
    before = memory_anew()
    ended = run(arguments, **environment)
    taken = most_memory() - before
    what = " ".join(arguments)[:300]
    if ended.code not in (OF_A_PLUGIN if arguments[0] == "check" else CODES):
        raise Broken(f"{what}: code {ended.code}, {ended.err[-1500:]}")
    only_own_lines(ended.err, what)
    harmless(ended.out, f"{what}: standard output")
    harmless(ended.err, f"{what}: standard error")
    if taken > MOST:
        raise Broken(f"{what}: {taken} MB of memory")
    return ended


def only_own_lines(errors: str, where: str) -> None:
    """Raise Broken if standard error has other lines than presman's own."""
    if any(word in errors for word in ("Traceback", "internal error", "Exception ignored")):
        raise Broken(f"{where}: {errors[-1500:]}")
    if "usage:" not in errors and any(not line.startswith("presman: ") for line in errors.splitlines()):
        raise Broken(f"{where}: a line is not presman's: {errors[-500:]}")


def harmless(text: str, where: str) -> None:
    """Raise Broken if a text has a control character or an invisible one."""
    for character in set(text) - LAYOUT:
        if unicodedata.category(character) in {"Cc", "Cs"} or _INVISIBLE.match(character):
            place = text.index(character)
            raise Broken(f"{where} has {character!r}: {text[max(0, place - 80) : place + 40]!r}")
