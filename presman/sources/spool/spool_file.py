"""Spooled file as SQL*Plus and SQLcl write it: finds the header, drops the chatter, names bad lines."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from presman.base.text import clean, one_line
from presman.sources import SourceError

SAMPLE_TIME = "SAMPLE_TIME"
SAMPLES = "presman_samples.csv"
"""The file that lists the samples that are complete, one sample time a line: `presman collect` writes it."""

LONGEST_FIELD = 16 << 20
_DELIMITERS = ",;\t|"
_PREAMBLE = 200
"""Lines in which the header must be found."""

_CHATTER = re.compile(
    r"""\s*( SQL>.* | \d+\s\s.*                  # the prompt, echoed statement lines
    | \d[\d.,]*\ [^\W\d]+\ [^\W\d]+\.            # 13 rows selected.   13 Zeilen ausgewählt.
    | \d[\d.,]*\ rows?\ selected\.?\s*           # SQLcl leaves out the dot
    | no\ rows\ selected.* | Es\ wurden\ keine\ Zeilen\ ausgewählt.* | aucune\ ligne.*
    | [A-Z]{2,3}-\d{4,5}:.* | Help:\ https.*       # errors
    | Elapsed:.* | Session\ altered\.? | (Disconnected|Connected)\b.* | spool\ off;? | -{3,}[-\s,;|]* )?\s*""",
    re.VERBOSE | re.IGNORECASE,
)

_ERROR_AT = re.compile(r"(ERROR at line|FEHLER in Zeile|ERREUR à la ligne|ERROR en línea) \d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SpoolFile:
    """One file as text: `columns` in upper case, `rows` of as many fields each, with the line each ends on.

    `failure` is the error that was spooled in place of rows ("ORA-00942: ..."), or "".
    """

    path: Path
    view: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[int, ...] = ()
    failure: str = ""

    def error(self, row: int, text: str) -> SourceError:
        """Return the error that names this file and the line of row number `row`."""
        return SourceError(f"{self.path}, line {self.lines[row]}: {text}", retry=False)


def view_name(path: Path, known: Mapping[str, object]) -> str | None:
    """Return the view that a file is named after, None if it is none that presman reads.

    Case does not matter, and as `$` is awkward in file names, `v_session`, `v_$session` and `gv_$session` do too.
    """
    name = path.stem.upper()
    base = re.sub(r"^(G?V)_?\$?_?", r"\1$", name) if re.match(r"G?V[_$]", name) else name
    return base if base.removeprefix("G") in known or base in known else None


def read_spool_file(path: Path, view: str, known: frozenset[str]) -> SpoolFile:
    """Read `path`; `known` are the column names of `view`. Raises SourceError naming file and line."""
    lines = io.StringIO(_text(path).replace("\r\n", "\n")).readlines()
    failure = _take_out_errors(lines)
    start, delimiter = _header(path, lines, known)
    if start is None:
        return SpoolFile(path, view, failure=failure)
    reader = csv.reader(lines[start:], delimiter=delimiter, strict=True, skipinitialspace=True)
    columns: tuple[str, ...] = ()
    rows, numbers = [], []
    csv.field_size_limit(LONGEST_FIELD)
    try:
        columns = _columns(path, start + 1, next(reader), known)
        for fields in reader:
            if not _is_noise(fields, columns, delimiter):
                rows.append(_row(path, start + reader.line_num, fields, columns, delimiter))
                numbers.append(start + reader.line_num)
    except csv.Error as error:
        raise SourceError(f"{path}, line {start + reader.line_num}: {error}", retry=False) from None
    return SpoolFile(path, view, columns, tuple(rows), tuple(numbers), failure)


def _row(path: Path, number: int, fields: list[str], columns: tuple[str, ...], delimiter: str) -> tuple[str, ...]:
    if len(fields) != len(columns):
        found = one_line(clean(delimiter.join(fields)), 40)
        text = f"{len(fields)} fields where the header has {len(columns)}: {found}"
        raise SourceError(f"{path}, line {number}: {text}", retry=False)
    return tuple(field.strip() for field in fields)


def _is_noise(fields: list[str], columns: tuple[str, ...], delimiter: str) -> bool:
    """The tool's chatter, or the header again: it comes on every page and with every sample appended."""
    if len(fields) != len(columns) or len(columns) == 1:
        return _CHATTER.fullmatch(delimiter.join(fields)) is not None or tuple(map(_plain, fields)) == columns
    return all(_plain(field) in {name, name.removesuffix("#")} for field, name in zip(fields, columns, strict=True))


def _take_out_errors(lines: list[str]) -> str:
    """Blank out the errors that SQL*Plus prints between rows; return the last one's text, "" without any."""
    text = ""
    for index, line in enumerate(lines):
        if not _ERROR_AT.match(line):
            continue
        message = "".join(lines[index + 1 : index + 2]).strip()
        text = message if re.match(r"[A-Z]{2,3}-\d+", message) else text
        # Before it stand the line at fault and a star below the place, after it the messages.
        for place in range(max(0, index - 2), min(len(lines), index + 2)):
            lines[place] = "\n"
    return one_line(clean(text), 200)


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}", retry=False) from None
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _header(path: Path, lines: list[str], known: frozenset[str]) -> tuple[int | None, str]:
    """Return the index of the header line and its delimiter; None for a file of chatter alone."""
    said = None
    for index, line in enumerate(lines[:_PREAMBLE]):
        if _CHATTER.fullmatch(line):
            continue
        for delimiter in sorted(_DELIMITERS, key=line.count, reverse=True):
            names = [_plain(name) for name in line.split(delimiter)]
            hits = sum(name in known for name in names)
            if hits and 2 * hits >= len([name for name in names if name]):
                return index, delimiter
            if not line.count(delimiter):
                break
        if said is None:
            said = index
    if said is None:
        return None, ","
    raise SourceError(f"{path}, line {said + 1}: not a header: it names no column of the view", retry=False)


def _columns(path: Path, number: int, fields: list[str], known: frozenset[str]) -> tuple[str, ...]:
    names = tuple(_named(_plain(field), known) for field in fields)
    twice = next((name for index, name in enumerate(names) if name and name in names[:index]), None)
    if twice:
        raise SourceError(f"{path}, line {number}: column {clean(twice)} is there twice", retry=False)
    return names


def _plain(name: str) -> str:
    return name.strip().strip('"').strip().upper()


def _named(name: str, known: frozenset[str]) -> str:
    """Return the column's name; the `#` of SERIAL# and the like may be missing."""
    return f"{name}#" if name not in known and f"{name}#" in known else name


def refuse_twins(files: Iterable[SpoolFile]) -> None:
    """Refuse two files for the same view. Raises SourceError."""
    seen: dict[str, Path] = {}
    for file in files:
        if file.view in seen:
            raise SourceError(f"{seen[file.view]} and {file.path} are both {file.view}", retry=False)
        seen[file.view] = file.path
