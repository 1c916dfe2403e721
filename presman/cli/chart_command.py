"""`presman chart`: a chart of a file that `presman export` wrote: in the terminal, as a picture or as a page."""

import shutil
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

from presman.base.markup import png, require_png
from presman.base.text import clean
from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.output_file import PAGE, PICTURE, PNG, output_path, write_whole
from presman.cli.parser import Parser, command, option, output
from presman.reports.file_series import FileSeries, read_series
from presman.reports.series_chart import chart_page, chart_svg, chart_text

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
def arguments(parser: Parser) -> None:
    """Add the options of `presman chart`."""
    option(parser, "file FILE", "what `presman export`, key e or presman 1.x wrote")
    option(parser, "columns COLUMN", "what to draw (default: the usual columns of the measure)", nargs="*")
    output(parser, "-o --output FILE", "FILE.html: a page; a picture: FILE.svg, or FILE.png with presman[png]")


def run(options: Namespace) -> None:
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
