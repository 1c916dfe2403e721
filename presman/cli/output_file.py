"""Whole files that a command makes: written completely or not at all, and only over what presman itself made."""

import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from presman.base.private_files import exists, expanded, is_file, replace_private
from presman.base.text import clean
from presman.cli import exit_codes
from presman.cli.exit_codes import Failure

_HEAD = 4096
"""Bytes of a file that show who made it."""


class OutputKind(NamedTuple):
    """A kind of file that a command writes."""

    words: str
    endings: tuple[str, ...]
    """How its names may end, the usual one first."""
    beginning: re.Pattern[bytes] | None = None
    """How it begins if presman made it; None where nothing is replaced."""
    otherwise: str = ""
    """The option that writes another kind."""


def _begins(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)


PAGE = OutputKind(
    "an HTML page", (".html", ".htm"), _begins(rb'<!DOCTYPE html>.*?<meta name="generator" content="presman ')
)
PICTURE = OutputKind("an SVG picture", (".svg",), _begins(rb"<svg [^>]*><metadata>presman "))
PNG = OutputKind("a PNG picture", (".png",), _begins(rb"\x89PNG.{25,40}tEXtSoftware\0presman "))
JSON = OutputKind("JSON", (".json",), _begins(rb'\{\s*"format": \d+,\s*"presman": "'))
WAITS = OutputKind("a CSV file of waits", (".csv", ".txt"), _begins(rb"count,elapsed_us,blocks,event,file\n"))
ADVICE = OutputKind("an advice as text", (".txt",), _begins(b"Advice of presman "), ", or --format html or json")
RECORDING = OutputKind("a recording", (".presman",))
MEASURED = {
    "csv": OutputKind("CSV", (".csv", ".txt"), otherwise=", or --format jsonl or parquet"),
    "jsonl": OutputKind("JSON lines", (".jsonl", ".ndjson", ".json")),
    "parquet": OutputKind("Parquet", (".parquet",)),
}

_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,9}")
"""What counts as the ending of a name: the .26 of a date is none."""


def output_path(name: str, kind: OutputKind, *read: str) -> Path:
    """Return the path of an output, before the work for it begins. What presman made of that kind may be replaced.

    Raises Failure if the output is one of the files `read`, another's file, a link to nothing, or is named like a file
    of another kind. A device and a pipe are written; a folder is refused when it is written.
    """
    path = expanded(name)
    try:
        if is_file(path):
            _check_replaced(path, kind, read)
        elif path.is_symlink() and not exists(path):
            raise Failure(f"{clean(str(path))} is a link to nothing: choose another name", exit_codes.OUTPUT)
        elif exists(path):
            return path
    except OSError as error:
        raise _refused(path, error) from error
    ending = path.suffix.lower()
    if _ENDING.fullmatch(ending) and ending not in kind.endings:
        name = f"a name that ends in {kind.endings[0]}{kind.otherwise}"
        raise Failure(f"{clean(str(path))}: what is written is {kind.words}: choose {name}")
    return path


def _check_replaced(path: Path, kind: OutputKind, read: tuple[str, ...]) -> None:
    """Raise Failure if a file is not to be replaced; OSError if it cannot be read."""
    if any(_is_same(path, each) for each in read):
        raise Failure(f"{clean(str(path))} is both read and written: choose another name for the output")
    if kind.beginning is None:
        return
    with path.open("rb") as file:
        head = file.read(_HEAD)
    # An empty file has nothing that could be lost.
    if head and not kind.beginning.match(head):
        what = f"{clean(str(path))} exists and is not {kind.words} that presman made"
        raise Failure(f"{what}: choose another name for the output", exit_codes.OUTPUT)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, replacing an existing one; to a pipe or a device write the content. Raises Failure.

    Only its owner can read it: it may contain names of users and texts of statements. A link stays, and its target is
    replaced: /dev/stdout is a link.
    """
    try:
        replace_private(replaced(path), content)
    except OSError as error:
        raise _refused(path, error) from error


def replaced(path: Path) -> Path:
    """Return the file that is replaced where a path leads to one, else the path. Raises OSError."""
    return path.resolve() if is_file(path) else path


def _refused(path: Path, error: OSError) -> Failure:
    return Failure(f"cannot write {clean(str(path))}: {error.strerror or error}", exit_codes.OUTPUT)


def _is_same(path: Path, name: str) -> bool:
    with suppress(OSError, ValueError):
        return path.samefile(expanded(name))
    return False
