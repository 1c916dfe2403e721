"""Spooled file of SQL*Plus or SQLcl: its encoding, header and rows, without the tool's messages.

SQL*Plus has two formats: columns separated by a delimiter, and (before 12.2, or without `SET MARKUP CSV ON`) columns of
fixed width, whose positions are those of the dashes below their headings. Headings wider than their column are
truncated.
"""

import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from presman.base.errors import closest
from presman.base.private_files import LONGEST, has_short_lines, open_plain
from presman.base.text import clean, one_line
from presman.sources import SourceError

Span = tuple[int, int]

_DELIMITERS = ",;\t|"
_PREAMBLE = 200
"""Lines at the beginning of a file that are searched for the header."""

_DASHES = re.compile(r"-+")
_CURE = "spool with SET MARKUP CSV ON (SQL*Plus 12.2 or later, SQLcl), or SET COLSEP '|'"


class Layout(NamedTuple):
    """The layout of a file: the line index of its header, its columns, and how lines are split.

    `spans` are the positions of columns of fixed width, with `delimiter` (usually a space) between them; without spans
    the delimiter alone splits the lines.
    """

    start: int
    columns: tuple[str, ...]
    delimiter: str
    spans: tuple[Span, ...] = ()


def underlining(line: str) -> tuple[tuple[Span, ...], str] | None:
    """Return the spans that the dashes of a line underline, and the text between them; None for any other line.

    >>> underlining("-----,---\\n"), underlining("SID,-\\n")
    ((((0, 5), (6, 9)), ','), None)
    """
    text = line.rstrip()
    if not text.lstrip().startswith("-"):
        return None
    spans = tuple(found.span() for found in _DASHES.finditer(text))
    gaps = {text[left:right] for (_, left), (right, _) in pairwise(spans)}
    if text[: spans[0][0]].strip() or len(gaps) > 1 or text[spans[-1][1] :].strip(_DELIMITERS + " "):
        return None
    between = next(iter(gaps), " ")
    return None if any(sign.isalnum() or sign in "\"'" for sign in between) else (spans, between)


def header(path: Path, lines: Sequence[str], known: Mapping[str, str], chatter: re.Pattern[str]) -> Layout | None:
    """Return the layout of a file, None if it contains only messages. `known` maps the view's columns to their types.

    Raises SourceError if the first line that is not a message is not a header.
    """
    first_unknown = None
    for index, line in enumerate(lines[:_PREAMBLE]):
        found = None
        if index + 1 < len(lines) and (below := underlining(lines[index + 1])):
            spans, between = below
            names = [plain(line[left:right]) for left, right in _to_end_of_line(spans)]
            columns = tuple(_whole(name, right - left, known) for name, (left, right) in zip(names, spans, strict=True))
            found = Layout(index, columns, between, spans) if _names_columns(columns, known) else None
        if found is None and not chatter.fullmatch(line):
            found = _delimited_header(index, line, known)
            first_unknown = index if first_unknown is None else first_unknown
        if found is not None:
            seen = found.columns
            if twice := next((name for at, name in enumerate(seen) if name and name in seen[:at]), None):
                raise SourceError(f"{path}, line {index + 1}: column {clean(twice)} appears twice", retry=False)
            return found
    if first_unknown is None:
        return None
    names = [plain(name) for name in re.split(r"[,;\t|\s]+", lines[first_unknown]) if name.strip()]
    near = next((f"{name} (did you mean {like}?)" for name in names if (like := closest(name, known))), "")
    shown = one_line(clean(near or "SET PAGESIZE 50000 prints one"), 120)
    text = f"not a header: it names no column of the view: {shown}"
    raise SourceError(f"{path}, line {first_unknown + 1}: {text}", retry=False)


def _delimited_header(index: int, line: str, known: Mapping[str, str]) -> Layout | None:
    for delimiter in sorted(_DELIMITERS, key=line.count, reverse=True):
        columns = tuple(_named(plain(name), known) for name in line.split(delimiter))
        if _names_columns(columns, known):
            return Layout(index, columns, delimiter)
        if not line.count(delimiter):
            break
    return None


def _names_columns(columns: Sequence[str], known: Mapping[str, str]) -> bool:
    """Return whether at least half of the names are columns, misspelt ones included, and at least one is exact."""
    names = [name for name in columns if name]
    hits = sum(name in known for name in names)
    near = sum(name not in known and closest(name, known) is not None for name in names) if hits else 0
    return hits > 0 and 2 * (hits + near) >= len(names)


def _to_end_of_line(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans, with the last one extended to the end of the line."""
    yield from spans[:-1]
    yield spans[-1][0], 1 << 30


def _whole(name: str, width: int, known: Mapping[str, str]) -> str:
    """Return the full column name for a heading truncated to `width`, if exactly one column matches."""
    found = _named(name, known)
    if found in known or not name:
        return found
    meant = [column for column in known if column.startswith(name)] if len(name) == width else []
    if len(meant) > 1:
        meant = [column for column in meant if known[column] == f"VARCHAR2({width})"]
    return meant[0] if len(meant) == 1 else found


def _named(name: str, known: Mapping[str, str]) -> str:
    """Return the column's name; the `#` of SERIAL# and the like may be missing."""
    return f"{name}#" if name not in known and f"{name}#" in known else name


def plain(name: str) -> str:
    """Return a heading as a name: without spaces and quotes around it, in upper case."""
    return name.strip().strip('"').strip().upper()


def cut(layout: Layout, line: str) -> list[str] | None:
    """Return the fields of a line with columns of fixed width; None if they are not aligned with their headings."""
    text = line.rstrip("\n")
    between = layout.delimiter.strip()
    for (_, left), (right, _) in pairwise(layout.spans):
        if text[left:right].strip() not in {"", between} or (between and text[left:] and not text[left:right].strip()):
            fields = text.split(between) if between else []
            return fields if len(fields) == len(layout.columns) else None
    return [text[left:right].rstrip() for left, right in _to_end_of_line(layout.spans)]


def other_columns(path: Path, number: int) -> SourceError:
    """Return the error for a second header that names other columns: wrapped lines, or two queries in one file."""
    text = f"a second header with other columns (are the lines wrapped? SET LINESIZE 32767): {_CURE}"
    return SourceError(f"{path}, line {number}: {text}", retry=False)


# ---- The text of a spooled file: its encoding, and the assumption where the file does not show it


_SEARCHED = 4096
"""Bytes that are searched for the zeros of UTF-16."""

_ASSUMED = "cp1252"
_TWO_BYTES = {"euc_kr": "EUC-KR", "euc_jp": "EUC-JP", "gb2312": "GB2312"}
"""Two-byte encodings to suggest if a file can be decoded with them: Western text rarely can."""


class SpoolText(NamedTuple):
    """The text of a file, and a note on the encoding that was assumed or did not fit, "" if there is nothing to say."""

    text: str
    note: str = ""


def decoded(data: bytes, encoding: str = "") -> SpoolText:
    """Decode `data` with `encoding`; without one, as UTF-16 or UTF-8 if it is valid, else as Windows-1252.

    >>> decoded("JÜRGEN".encode()), decoded("JÜRGEN".encode("utf-16-le")).text
    (SpoolText(text='JÜRGEN', note=''), 'JÜRGEN')
    >>> decoded("JÜRGEN".encode("cp1252")).note
    'not UTF-8: read as Windows-1252; if it is another encoding, name it (?encoding=...)'
    """
    if known := encoding or _marked(data):
        text = data.decode(known, errors="replace")
        lost = text.count("\ufffd") if encoding else 0
        return SpoolText(text, f"{lost} characters are not {known}" if lost else "")
    try:
        return SpoolText(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        text = data.decode(_ASSUMED, errors="replace")
        return SpoolText(text, f"not UTF-8: read as Windows-1252; {_suggested_encoding(data)}")


def _marked(data: bytes) -> str:
    """Return the encoding shown by a byte order mark or by zeros between the letters, "" if there are none."""
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return "utf-16"
    # In UTF-16 every other byte of Western text is zero: a quarter of all bytes or more, nearly all of them at even or
    # nearly all at odd positions.
    head = data[:_SEARCHED]
    zeros = [head[offset::2].count(0) for offset in (0, 1)]
    if max(zeros) * 4 < len(head) or min(zeros) * 8 > max(zeros):
        return ""
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def _suggested_encoding(data: bytes) -> str:
    found = [(name, shown) for name, shown in _TWO_BYTES.items() if "\ufffd" not in data.decode(name, "replace")]
    if not found:
        return "if it is another encoding, name it (?encoding=...)"
    names = ", ".join(shown for _, shown in found)
    return f"it could be {names}: name the right one (?encoding={found[0][0]})"


# ---- Spooled file of SQL*Plus or SQLcl: its rows, without the tool's messages; errors name the line


SAMPLE_TIME = "SAMPLE_TIME"
SAMPLES = "presman_samples.csv"
"""The file that lists the complete samples, one sample time per line: the script of `presman collect` writes it."""

LONGEST_FIELD = 16 << 20
"""Most characters of a field. By default Python's csv allows 131,072, and a document of V$SQL_PLAN may have more."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""A line with its end. io.StringIO would take four bytes for each character of a file."""

_KEPT_ONCE = 100_000
"""Different field values that are stored once for all rows: most are names, states and sample times."""

_ERROR = r"[A-Z][A-Z0-9]{1,2}-\d{4,5}:.*"
_MESSAGES = rf"""\s*( SQL>.*                         # the prompt
    | \d[\d.,]*\ [^\W\d]+\ [^\W\d]+\.            # 13 rows selected.   13 Zeilen ausgewählt.
    | \d[\d.,]*\ rows?\ selected\.?\s*           # SQLcl leaves out the dot
    | no\ rows\ selected.* | Es\ wurden\ keine\ Zeilen\ ausgewählt.* | aucune\ ligne.*
    | {_ERROR} | Help:\ https.* | Usage:\ .*       # errors, those of SQL*Plus itself (SP2-) too
    | Elapsed:.* | Session\ altered\.? | (Disconnected|Connected)\b.* | spool\ off;?"""
_CHATTER_OF_TABLES = re.compile(rf"{_MESSAGES} )?\s*", re.VERBOSE | re.IGNORECASE)
_CHATTER = re.compile(rf"{_MESSAGES} | \d+\s\s.* | -{{3,}}[-\s,;|]* )?\s*", re.VERBOSE | re.IGNORECASE)
"""Messages of the tools between rows. An echoed statement has numbered lines, but so may rows of fixed width."""

_ERROR_LINE = re.compile(rf"\s*({_ERROR})\s*")
_ERROR_AT = re.compile(r"(ERROR at line|FEHLER in Zeile|ERREUR à la ligne|ERROR en línea) \d+", re.IGNORECASE)
_WHOLE = re.compile(r"\s*[-+]?\d*\s*")


class SpoolFile(Struct, frozen=True):
    """One file as text: `columns` in upper case, `rows` of as many fields each, and the `lines` on which they end.

    Fields are unchanged, including the spaces around them. `failure` is an error that was spooled instead of rows or
    between them ("ORA-00942: ..."), or ""; `note` is the note on the encoding.
    """

    path: Path
    view: str
    columns: tuple[str, ...] = ()
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[int] = ()
    failure: str = ""
    note: str = ""

    def error(self, row: int, text: str) -> SourceError:
        """Return an error that names this file and the line of the row at index `row`."""
        return SourceError(f"{self.path}, line {self.lines[row]}: {text}", retry=False)


def view_name(path: Path, known: Mapping[str, object]) -> str | None:
    """Return the view that a file is named after, None if presman reads no view of that name.

    Case does not matter. `v_session`, `v_$session` and `gv_$session` are accepted, too, because `$` is awkward in file
    names.
    """
    name = path.stem.upper()
    base = re.sub(r"^(G?V)_?\$?_?", r"\1$", name) if re.match(r"G?V[_$]", name) else name
    return base if base.removeprefix("G") in known or base in known else None


def read_spool_file(path: Path, view: str, known: Mapping[str, str], encoding: str = "") -> SpoolFile:
    """Read `path`, with `encoding` if given; `known` maps the columns of `view` to their types.

    Raises SourceError naming the file, the line and the cure.
    """
    text, note = _text(path, encoding)
    lines = _LINE.findall(text)
    del text  # up to 256 MB
    failure = _blank_out_errors(lines)
    layout = header(path, lines, known, _CHATTER)
    if layout is None:
        messages = (found[1] for line in lines if (found := _ERROR_LINE.fullmatch(line)))
        return SpoolFile(path, view, failure=failure or one_line(clean(next(messages, "")), 200), note=note)
    rows = _fixed(path, lines, layout, known) if layout.spans else _delimited(path, lines, layout)
    numbers, fields = zip(*rows, strict=True) if rows else ((), ())
    return SpoolFile(path, view, layout.columns, fields, numbers, failure, note)


_Rows = list[tuple[int, Sequence[str]]]
"""Rows, each with the number of the line on which it ends."""


def _delimited(path: Path, lines: list[str], layout: Layout) -> _Rows:
    """Return the rows of a file with delimited fields; the lines are gone afterwards."""
    start, columns, delimiter, _ = layout
    reader = csv.reader(_taken(lines, start + 1), delimiter=delimiter, strict=True, skipinitialspace=True)
    width, head = len(columns), columns[0].removesuffix("#")
    rows: _Rows = []
    known: dict[str, str] = {}
    csv.field_size_limit(LONGEST_FIELD)
    try:
        for fields in reader:
            # Hardly any row is noise: checking the first field rules out most.
            if len(fields) != width or width == 1 or fields[0][:1] in {"-", '"'} or head in fields[0].upper():
                if _is_noise(fields, columns, delimiter):
                    continue
                if len(fields) != width:
                    raise _wrong_field_count(path, start + 1 + reader.line_num, fields, columns, delimiter)
            same = known.setdefault if len(known) < _KEPT_ONCE else known.get
            rows.append((start + 1 + reader.line_num, tuple(map(same, fields, fields))))
    except csv.Error as error:
        raise SourceError(f"{path}, line {start + 1 + reader.line_num}: {error}", retry=False) from None
    return rows


def _taken(lines: list[str], start: int) -> Iterator[str]:
    """Yield lines and forget them: a file need not be in memory twice."""
    for index in range(start, len(lines)):
        line, lines[index] = lines[index], ""
        yield line


def _is_noise(fields: Sequence[str], columns: tuple[str, ...], delimiter: str) -> bool:
    """Return whether a row is a message of the tool, or a repeated header, as on each page and before each sample."""
    if len(fields) != len(columns) or len(columns) == 1:
        return _CHATTER.fullmatch(delimiter.join(fields)) is not None or tuple(map(plain, fields)) == columns
    if all(field.strip() and not field.strip().strip("-") for field in fields):
        return True
    return all(plain(field) in {name, name.removesuffix("#")} for field, name in zip(fields, columns, strict=True))


def _wrong_field_count(
    path: Path, number: int, fields: Sequence[str], columns: tuple[str, ...], delimiter: str
) -> SourceError:
    """Return the error for a row with more or fewer fields than the header, with the probable cure."""
    found = one_line(clean(delimiter.join(fields)), 40)
    if len(fields) < len(columns):
        cure = "if the line is wrapped: SET LINESIZE 32767"
    elif delimiter == "," and any(_WHOLE.fullmatch(left) and right[:1].isdigit() for left, right in pairwise(fields)):
        cure = "if that is a decimal comma: ALTER SESSION SET NLS_NUMERIC_CHARACTERS = '.,'"
    else:
        cure = f"if a text has a {delimiter!r} in it: SET MARKUP CSV ON QUOTE ON"
    text = f"{len(fields)} fields where the header has {len(columns)}: {found} ({cure})"
    return SourceError(f"{path}, line {number}: {text}", retry=False)


def _fixed(path: Path, lines: Sequence[str], layout: Layout, known: Mapping[str, str]) -> _Rows:
    """Return the rows of a file with columns of fixed width. Each page has its own header."""
    rows: _Rows = []
    skipped, page = layout.start + 1, 0
    for index in range(layout.start, len(lines)):
        line = lines[index]
        if index <= skipped or _CHATTER_OF_TABLES.fullmatch(line):
            continue
        if underlining(line) is not None:
            raise other_columns(path, index + 1)
        if index + 1 < len(lines) and underlining(lines[index + 1]) is not None:
            again = header(path, lines[index : index + 2], known, _CHATTER)
            if again is None or again.columns != layout.columns:
                raise other_columns(path, index + 1)
            layout, skipped, page = again, index + 1, len(rows)
            continue
        fields = cut(layout, line)
        if fields is None:
            raise SourceError(f"{path}, line {index + 1}: fields are not below their heads: {_CURE}", retry=False)
        if len(rows) > page and _continues_line_above(rows[-1][1], fields, layout):
            whole = [above + below.lstrip() for above, below in zip(rows[-1][1], fields, strict=True)]
            rows[-1] = (index + 1, whole)
        else:
            rows.append((index + 1, fields))
    return rows


def _continues_line_above(above: Sequence[str], fields: Sequence[str], layout: Layout) -> bool:
    """Return whether a line only continues texts that fill their columns in the line above."""
    widths = [right - left for left, right in layout.spans]
    below = [index for index, field in enumerate(fields) if field.strip()]
    if any(layout.columns[index] == SAMPLE_TIME for index in below):
        return False
    return 0 < len(below) < len(fields) and all(
        len(above[index]) >= widths[index] and not above[index].strip().isdigit() for index in below
    )


def _blank_out_errors(lines: list[str]) -> str:
    """Blank out the errors that SQL*Plus prints between rows; return the text of the last one, "" if there is none."""
    text = ""
    for index, line in enumerate(lines):
        if line[:2] not in {"ER", "Er", "er", "FE", "Fe"} or not _ERROR_AT.match(line):
            continue
        message = "".join(lines[index + 1 : index + 2]).strip()
        text = message if _ERROR_LINE.fullmatch(message) else text
        # The lines before it are the faulty line and a star below the error; the messages follow it.
        for near in range(max(0, index - 2), min(len(lines), index + 2)):
            lines[near] = "\n"
    return one_line(clean(text), 200)


LARGEST, MOST_LINES = 256, 1_000_000
"""Largest file in megabytes, and most lines in a folder: each line takes up to a kilobyte of memory."""


def _text(path: Path, encoding: str) -> SpoolText:
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if (large := size >> 20) >= LARGEST:
                text = f"{path} has {large} MB; presman reads files below {LARGEST} MB: split it"
                raise SourceError(text, retry=False)
            content = file.read(size)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}", retry=False) from None
    if (lines := content.count(b"\n")) > MOST_LINES:
        text = f"{path} has {lines:,} lines; presman reads files of {MOST_LINES:,} at most: split it"
        raise SourceError(text, retry=False)
    if not has_short_lines(content):
        raise SourceError(f"{path} has a line of more than {LONGEST >> 20} MB: that is not a spool", retry=False)
    found = decoded(content, encoding)
    return found._replace(text=found.text.replace("\r\n", "\n"))
