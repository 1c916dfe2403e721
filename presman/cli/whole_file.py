"""Whole file: what a command made is written as a whole or not at all, for its owner alone."""

from __future__ import annotations

from pathlib import Path

from presman.base.private_files import replace_private
from presman.base.text import clean
from presman.cli import exit_codes
from presman.cli.exit_codes import Failure


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, replacing what is there; of a pipe or a device its content. Raises Failure.

    Nobody else can read it: names of users and texts of statements may be in it.
    """
    try:
        replace_private(path, content)
    except OSError as error:
        raise Failure(f"cannot write {clean(str(path))}: {error.strerror or error}", exit_codes.OUTPUT) from error
