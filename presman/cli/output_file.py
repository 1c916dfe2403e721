"""Whole files that a command makes: written completely or not at all, and never over a file that is something else."""

from collections.abc import Callable
from pathlib import Path

from presman.base.private_files import expanded, is_file, replace_private
from presman.base.text import clean
from presman.cli import exit_codes
from presman.cli.exit_codes import Failure

_HEAD = 4096
"""Bytes of a file that show what it is: an advice begins with its conclusions."""

PAGE, PICTURE, PNG, JSON = "an HTML page", "an SVG picture", "a PNG picture", "JSON"
WAITS, ADVICE = "a CSV file of waits", "an advice"

_IS: dict[str, Callable[[bytes], bool]] = {
    PAGE: lambda head: head.lower().startswith(b"<!doctype html"),
    PICTURE: lambda head: head.startswith((b"<svg", b"<?xml")),
    PNG: lambda head: head.startswith(b"\x89PNG"),
    JSON: lambda head: head.startswith(b"{"),
    WAITS: lambda head: head.startswith(b"count,elapsed_us,"),
    ADVICE: lambda head: b"replayed under the plan of that time" in b" ".join(head.split()),
}


def output_path(name: str, kind: str, *read: str) -> Path:
    """Return the path of an output, before the work for it begins. An existing file of that kind may be replaced.

    Raises Failure if the output is one of the files `read`, or a file of another kind.
    """
    path = expanded(name)
    try:
        if not is_file(path):  # a device and a pipe are written, a folder is refused when it is written
            return path
        if any(_is_same(path, each) for each in read):
            raise Failure(f"{clean(str(path))} is both read and written: choose another name for the output")
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise _refused(path, error) from error
    if head and not _IS[kind](head):
        raise Failure(
            f"{clean(str(path))} exists and is not {kind}: choose another name for the output", exit_codes.OUTPUT
        )
    return path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, replacing an existing one; to a pipe or a device write the content. Raises Failure.

    Only its owner can read it: it may contain names of users and texts of statements.
    """
    try:
        replace_private(path, content)
    except OSError as error:
        raise _refused(path, error) from error


def _refused(path: Path, error: OSError) -> Failure:
    return Failure(f"cannot write {clean(str(path))}: {error.strerror or error}", exit_codes.OUTPUT)


def _is_same(path: Path, name: str) -> bool:
    try:
        return path.samefile(expanded(name))
    except (OSError, ValueError):
        return False
