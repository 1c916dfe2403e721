"""Pages and charts from files that presman wrote: `presman compare`, `report` and `chart`."""

import shutil
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

from presman.base.formats import counted
from presman.base.markup import png, require_png
from presman.base.text import clean
from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.output_file import PAGE, PICTURE, PNG, output_path, write_whole
from presman.cli.parser import Parser, add_format, command, option, output
from presman.cli.settings import load, resolve
from presman.config.config_file import Config
from presman.config.target import named_recording
from presman.output.json_document import plain, written
from presman.reports.compare.compare_page import compare_page
from presman.reports.compare.compare_text import compare_text
from presman.reports.compare.comparison import FORM, RecordingWindow, WindowWords, compare, window_words
from presman.reports.file_series import FileSeries, read_series
from presman.reports.series_chart import chart_page, chart_svg, chart_text


@command(
    "Two windows of one recording, or of two, side by side: plan, CPU, I/O, parallel servers, queue, latency,\n"
    "statements; each figure with the difference in percent and whether it is more than noise. A window is\n"
    "TARGET@FROM..TO; either end may be left out, and @FROM..TO alone means the same recording.",
    """\
  presman compare prod.presman@03:00..03:30 @04:00..04:30
  presman compare monday.presman tuesday.presman --format html > tuesday.html
  presman compare prod.presman@first..'-1h' @'1h ago'..last""",
)
def compare_arguments(parser: Parser) -> None:
    """Add the options of `presman compare`."""
    option(parser, "first A", "FILE.presman@FROM..TO, or any other recording")
    option(parser, "second B", "the same, or @FROM..TO: another window of A's recording")
    add_format(parser, "text", "json", "html")


def compare_run(options: Namespace) -> None:
    """Print the comparison. Raises Failure, TargetError, WindowError."""
    config = load(options)
    first, second = window_words(options.first), window_words(options.second)
    if not first.target:
        raise Failure(f"the first window has to name its recording: {FORM}")
    windows = [_window(each._replace(target=each.target or first.target), config, options) for each in (first, second)]
    found = compare(*windows)
    if options.format == "json":
        console.put(written({"format": 1, **plain(found)}, ascii_only=console.wants_ascii()))
    elif options.format == "html":
        console.put(compare_page(found, datetime.now(UTC)))
    else:
        console.show(compare_text(found, console.width()))


def _window(words: WindowWords, config: Config, options: Namespace) -> RecordingWindow:
    resolved = resolve(named_recording(words.target, config), config, options)
    target = resolved.target
    if (recorded := target.recorded) is None:
        raise Failure(f"{target.name} is not a recording: write {FORM}")
    start, end = words.start or recorded.start, words.end or recorded.end or recorded.at
    return RecordingWindow(recorded.location, recorded.database or None, start, end, resolved.goals)


@command(
    "A period of a recording as one HTML page that needs no network: what happened, events, charts, parallel\n"
    "statements, latency, and the screens at one moment: the longest queue, or --at. SQL_IDs, users and texts are\n"
    "in it as in the recording; a recording of `presman bundle` has no names.",
    """\
  presman report prod.presman -o incident.html
  presman report prod.presman --from 03:05 --to 03:20 -o incident.html
  presman report prod.presman --from 03:00 --at 03:12 -o - > incident.html""",
    "at start end",
)
def report_arguments(parser: Parser) -> None:
    """Add the options of `presman report`."""
    option(parser, "target FILE|FOLDER|URL", "what `presman record` wrote", nargs="?")
    words = "write the page to FILE (-: standard output); a page of presman is replaced"
    output(parser, "-o --output FILE", words, required=True)


def report_run(options: Namespace) -> None:
    """Write the page; the last line names the file. Raises Failure, SourceError, TimeError."""
    moment, options.at = options.at, None
    config = load(options)
    resolved = resolve(options.target and named_recording(options.target, config), config, options)
    if resolved.target.recorded is None:
        hint = f"presman record {options.target or 'TARGET'} -o x.presman makes one"
        raise Failure(f"{resolved.target.name} is not a recording: {hint}")
    path = None if options.output == "-" else output_path(options.output, PAGE, resolved.target.recorded.location)
    from presman.reports.report.incident_page import incident_of, incident_page

    incident = incident_of(resolved.recording(), moment or None, console.note)
    for text in incident.damage:
        console.note(text)
    text = incident_page(incident, datetime.now(UTC))
    if path is None:
        console.put(text)
        return
    write_whole(path, text.encode("utf-8"))
    console.note(f"{counted(incident.polls, 'poll')} in {path}")


_KINDS = {".svg": PICTURE, ".png": PNG, ".html": PAGE}


@command(
    "Draw a file that presman wrote: CSV (1.x, too), tidy or wide, JSON lines or Parquet. Each group or event is\n"
    "a line. Without -o it draws in the terminal. COLUMN is a column of numbers (of a wide file: a group); each\n"
    "is a chart of its own.",
    """\
  presman chart cpu.csv
  presman chart cpu.csv throttled_percent used_cpus
  presman chart cpu.csv throttled_percent -o throttled.svg
  presman chart cpu.csv throttled_percent used_cpus -o cpu.html""",
)
def chart_arguments(parser: Parser) -> None:
    """Add the options of `presman chart`."""
    option(parser, "file FILE", "what `presman export`, key e or presman 1.x wrote")
    option(parser, "columns COLUMN", "what to draw (default: the usual columns of the measure)", nargs="*")
    output(parser, "-o --output FILE", "FILE.html: a page; a picture: FILE.svg, or FILE.png with presman[png]")


def chart_run(options: Namespace) -> None:
    """Draw in the terminal or write a file. Raises Failure, ChartError."""
    source = Path(options.file)
    path = _output(options.output, options.file) if options.output else None
    found = read_series(source, options.columns)
    for note in found.notes:
        console.note(note)
    if path is not None:
        write_whole(path, _drawn(found, source, path.suffix.lower()))
        return
    width, height = shutil.get_terminal_size((100, 30))
    colour = console.has_colour() and not console.wants_ascii()
    for panel in found.panels:
        console.show(chart_text(panel, width=width, height=height - 2, colour=colour) + "\n")


def _drawn(found: FileSeries, source: Path, kind: str) -> bytes:
    """Return the content of a file of this kind. Raises PictureError."""
    if kind == ".html":
        return chart_page(clean(source.name), found, datetime.now(UTC)).encode()
    text = chart_svg(found.panels)
    return png(text) if kind == ".png" else text.encode()


def _output(name: str, source: str) -> Path:
    """Return the path of the output; refuse one that cannot be written, before the file is read.

    Raises Failure, PictureError.
    """
    kind = Path(name).suffix.lower()
    if kind not in _KINDS:
        raise Failure(f"{clean(name)}: a chart is written as .html, .svg or .png")
    if kind == ".png":
        require_png()
    return output_path(name, _KINDS[kind], source)
