"""Series in a file that `presman export` wrote (CSV, JSON lines, Parquet): the values of each group or event over time.

Every kind of file is read as rows of cells with a header.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

from presman.base.errors import InputError, did_you_mean
from presman.base.formats import counted
from presman.base.private_files import open_plain, short_lines
from presman.base.text import clean, one_line
from presman.figures.figure import FLAG, INSTANT, NAME, TEXT, WORD
from presman.figures.measures import COMMON, MEASURES

_PARQUET, _JSON, _SQLITE = b"PAR1", b"{", b"SQLite format 3"
"""First bytes of each kind of file. No CSV file of presman begins like them."""


class ChartError(InputError):
    """A file cannot be drawn; the text is one line that says where and why."""


class FileRows:
    """A file as rows of text cells; `number` is the line or row read last.

    `cut` is the error in a last line that was cut short and left out.
    """

    def __init__(self, path: Path) -> None:
        self.name = clean(str(path))
        self.unit = "line"
        self.number = 0
        self.cut: ChartError | None = None

    def error(self, text: str) -> ChartError:
        """Return an error that names the line."""
        where = f", {self.unit} {self.number}" if self.number else ""
        return ChartError(f"{self.name}{where}: {text}")

    def read(self, file: BufferedReader) -> Iterator[list[str]]:
        """Yield the header and then the rows, by the kind of the file. Raises OSError, ChartError."""
        begin = file.peek(len(_SQLITE))[: len(_SQLITE)]
        if begin == _SQLITE:
            how = f"presman export {self.name} -o FILE.csv writes a file that can be charted"
            raise ChartError(f"{self.name} is a recording: {how}")
        if begin[:4] == _PARQUET:
            yield from self._parquet(file)
            return
        # Invalid UTF-8 is kept and cleaned only for display, so that errors about a damaged cell can name its line.
        with TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
            yield from self._json(text) if begin[:1] == _JSON else self._csv(text)

    def _csv(self, file: TextIOWrapper) -> Iterator[list[str]]:
        reader = csv.reader(short_lines(file), strict=True)
        while True:
            self.number = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise self.error(one_line(clean(str(error)), 80)) from None
            if row:
                yield row

    def _json(self, file: TextIOWrapper) -> Iterator[list[str]]:
        """Yield the rows of JSON lines that all have the same names, as `presman export --format jsonl` writes them."""
        names: list[str] = []
        for line in short_lines(file):
            self.number += 1
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                error = self.error("it is not a JSON object")
                if line.endswith("\n"):
                    raise error
                self.cut = error
                return
            if not names:
                names = list(found)
                yield names
            if list(found) != names:
                raise self.error("its names differ from the first line")
            yield [_text(each) for each in found.values()]

    def _parquet(self, file: BufferedReader) -> Iterator[list[str]]:
        try:
            from pyarrow import ArrowException, parquet
        except ModuleNotFoundError:
            raise ChartError(f"{self.name}: Parquet needs pyarrow: pip install 'presman[parquet]'") from None
        self.unit = "row"
        try:
            found = parquet.ParquetFile(file)
            yield [str(name) for name in found.schema_arrow.names]
            for batch in found.iter_batches():
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    self.number += 1
                    yield [_text(each) for each in row]
        except (ArrowException, OSError) as error:
            raise ChartError(f"{self.name}: {one_line(clean(str(error)), 120)}") from None


def _text(value: Any) -> str:
    """Return a value as CSV writes it."""
    return "" if value is None else value.isoformat() if isinstance(value, datetime) else str(value)


# ---- The series in those rows.

TIME = "DATETIME"
"""The first heading of a wide file, which has one column for each group."""

_WORDS = (FLAG, INSTANT, NAME, TEXT, WORD)
_NO_FIGURES = ("inst_id", "con_id", "sid", "serial", "child_number", "position", "interval_s")
_USUAL = {"latency": "waits", "queue": "waited_s", "arrivals": "waited_s"}
_SUMS = {"latency": "sum of its buckets", "queue": "longest or largest of its statements"}
"""How several lines of the same time and the same group or event become one point."""


class ColumnPlan(NamedTuple):
    """The columns to draw: `values` by index; `time`, `subject`, `inst`, `con` are indexes, -1 if missing.

    `measure` is "" for a wide file, in which each column of values has its own subject.
    """

    measure: str
    time: int
    subject: int
    inst: int
    con: int
    values: dict[int, str]


def columns(rows: FileRows, header: Sequence[str], wanted: Sequence[str]) -> ColumnPlan:
    """Return the columns to draw of a file with that header. Raises ChartError."""
    if len(set(header)) < len(header):
        raise rows.error("a column is named twice")
    if header and header[0] == TIME:
        found = {index: name for index, name in enumerate(header) if index and (not wanted or name in wanted)}
        _check(rows, wanted, header[1:])
        return ColumnPlan("", 0, -1, -1, -1, found)
    measure = _measure(rows, header)
    kinds = {figure.key: figure.unit for figure in MEASURES[measure].figures}
    numbers = [name for name in header if name in kinds and kinds[name] not in _WORDS and name not in _NO_FIGURES]
    usual = _USUAL.get(measure, MEASURES[measure].wide[0])
    _check(rows, wanted, numbers)
    chosen = list(dict.fromkeys(wanted)) or [usual if usual in numbers else numbers[0]]

    def index_of(name: str) -> int:
        return header.index(name) if name in header else -1

    subject = "event" if measure == "latency" else "consumer_group"
    time = index_of("arrived") if measure == "arrivals" else index_of("time")
    indexes = {header.index(name): name for name in chosen}
    return ColumnPlan(measure, time, index_of(subject), index_of("inst_id"), index_of("con_id"), indexes)


def _measure(rows: FileRows, header: Sequence[str]) -> str:
    """Return the measure that has these columns; files of an older presman may lack some of them."""
    if list(header[:1]) == ["time"]:
        least = {figure.key for figure in COMMON}
        for name, measure in MEASURES.items():
            known = measure.header()
            figures = (each for each in measure.figures if each.unit not in _WORDS)
            numbers = [each.key for each in figures if each.key not in _NO_FIGURES]
            name_column = "event" if name == "latency" else "consumer_group"
            if least | {name_column} <= set(header) <= set(known) and set(header) & set(numbers):
                return name
    begin = one_line(clean(",".join(header[:3])), 40)
    raise rows.error(f"not an export of presman: it begins with {begin!r}" if begin else "not an export of presman")


def _check(rows: FileRows, wanted: Sequence[str], known: Sequence[str]) -> None:
    for name in wanted:
        if name not in known:
            raise rows.error(f"no column {name!r} to chart, {did_you_mean(name, [clean(each) for each in known])}")


_LARGEST = 1e18
"""The largest value accepted: no figure of presman is larger, and a chart of such a value would show nothing."""
_LATEST = 2e11
"""The latest time accepted, in seconds since 1970: every calendar still has it."""


MOST_SUBJECTS = 5000
"""The most groups or events in one chart, counted per container and instance."""


class SeriesPanel(NamedTuple):
    """One chart: its title, and for each subject its points (seconds since 1970, value) in order of time."""

    title: str
    series: dict[str, list[tuple[float, float]]]


class FileSeries(NamedTuple):
    """The contents of a file: its measure ("" for a wide one), its charts, and notes about it."""

    measure: str
    panels: tuple[SeriesPanel, ...]
    notes: tuple[str, ...]


def read_series(path: Path, wanted: Sequence[str] = ()) -> FileSeries:
    """Return the series of the `wanted` columns, or of the default column. Raises ChartError."""
    try:
        with open_plain(path) as file:
            rows = FileRows(path)
            return _read(rows, rows.read(file), wanted)
    except OSError as error:
        raise ChartError(f"{clean(str(path))}: {error.strerror or error}") from error


def _read(rows: FileRows, lines: Iterator[list[str]], wanted: Sequence[str]) -> FileSeries:
    header = next(lines, None)
    if header is None:
        raise rows.cut or ChartError(f"{rows.name} is empty")
    plan = columns(rows, header, wanted)
    found: dict[str, dict[str, dict[float, float]]] = {name: {} for name in plan.values.values()}
    torn: ChartError | None = None
    for row in lines:
        if torn is not None:
            raise torn
        if row[0] == header[0]:  # a repeated header, of a stream with a new group or of two files in one
            if row != header and row[0] != TIME:
                raise rows.error("another header: two measures in one file")
            plan = plan if row == header else columns(rows, row, [name for name in wanted if name in row])
            header = row
            continue
        if len(row) != len(header):
            # The last line of a file may be cut short because its writer was killed; in other lines that is an error.
            torn = rows.error(f"it has {len(row)} cells, the header {len(header)}")
            continue
        _take(rows, plan, row, found)
    torn = torn or rows.cut
    notes = [f"{torn}: left out, the last line is cut short"] if torn is not None else []
    panels = [panel for panel in _panels(plan, found) if any(panel.series.values())]
    if not panels:
        raise ChartError(f"{rows.name} has no values to chart in {', '.join(map(clean, plan.values.values()))}")
    if plan.measure:
        notes += [f"{rows.name} has no value in {clean(name)}" for name, series in found.items() if not series]
    return FileSeries(plan.measure, tuple(panels), tuple(notes))


def _take(
    rows: FileRows, plan: ColumnPlan, row: Sequence[str], found: dict[str, dict[str, dict[float, float]]]
) -> None:
    at, subject = _instant(rows, row[plan.time]), _subject(plan, row)
    together = sum if plan.measure == "latency" else max
    for index, name in plan.values.items():
        text = row[index]
        if not text:  # not available
            continue
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not abs(value) < _LARGEST or "_" in text:  # Python takes 1_000 for a number; nan is not below anything
            raise rows.error(f"{one_line(clean(text), 40)!r} is not a number, under {clean(name)}")
        subjects = found.setdefault(name, {})
        points = subjects.setdefault(subject, {})
        if max(len(found), len(subjects)) > MOST_SUBJECTS:
            raise rows.error(f"more than {counted(MOST_SUBJECTS, 'group')} or events cannot be charted")
        points[at] = together((points[at], value)) if at in points else value


def _instant(rows: FileRows, text: str) -> float:
    try:
        found = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        found = -1.0
    if not 0 <= found < _LATEST:
        raise rows.error(f"{one_line(clean(text), 40)!r} is not a time")
    return found


def _subject(plan: ColumnPlan, row: Sequence[str]) -> str:
    """Return the subject of a row: the name, its container after #, its instance after @."""
    if plan.subject < 0:
        return ""
    con, inst = (row[index] if index >= 0 else "" for index in (plan.con, plan.inst))
    return row[plan.subject] + (f"#{con}" if con not in {"", "0"} else "") + (f"@{inst}" if inst else "")


def _panels(plan: ColumnPlan, found: dict[str, dict[str, dict[float, float]]]) -> list[SeriesPanel]:
    if not plan.measure:
        by_column = {clean(name): sorted(rows[""].items()) for name, rows in found.items() if rows}
        return [SeriesPanel("by column", by_column)]
    panels = []
    for name, rows in found.items():
        instances = {subject.rpartition("@")[2] for subject in rows} if plan.inst >= 0 else set()
        names = {subject: subject.rpartition("@")[0] if len(instances) == 1 else subject for subject in rows}
        series = {clean(names[subject]): sorted(points.items()) for subject, points in rows.items()}
        title = f"{plan.measure}: {name}" + (f" ({joined})" if (joined := _SUMS.get(plan.measure)) else "")
        panels.append(SeriesPanel(title, series))
    return panels
