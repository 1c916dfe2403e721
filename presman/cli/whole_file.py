"""Whole file: what a command made is written as a whole or not at all, for its owner alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from presman.base.text import clean
from presman.cli import exit_codes
from presman.cli.exit_codes import Failure


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, replacing what is there; of a pipe or a device its content. Raises Failure.

    Nobody else can read it: names of users and texts of statements may be in it.
    """
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            path.write_bytes(content)
            return
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Failure(f"cannot write {clean(str(path))}: {error.strerror or error}", exit_codes.OUTPUT) from error
