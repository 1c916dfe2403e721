"""`presman chart`: a CSV file that presman wrote as a chart."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from pathlib import Path

from presman.base.svg import PictureError, png, require_png
from presman.base.text import clean
from presman.chart.csv_series import read_series
from presman.chart.series_chart import chart_svg, chart_text
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure

_KINDS = (".svg", ".png")


def run(options: Namespace) -> int:
    """Draw in the terminal, or into a picture. Raises Failure, ChartError."""
    picture = Path(options.output) if options.output else None
    if picture is not None:
        _check(picture, Path(options.file))
    found = read_series(Path(options.file), options.columns)
    for note in found.notes:
        console.say(note)
    if picture is not None:
        text = chart_svg(found.panels)
        try:
            picture.write_bytes(png(text) if picture.suffix.lower() == ".png" else text.encode())
        except OSError as error:
            raise Failure(
                f"cannot write {clean(str(picture))}: {error.strerror or error}", exit_codes.OUTPUT
            ) from error
        return exit_codes.OK
    width, height = shutil.get_terminal_size((100, 30))
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and not console.wants_ascii()
    for panel in found.panels:
        console.show(chart_text(panel, width=width, height=height - 2, colour=colour) + "\n")
    return exit_codes.OK


def _check(picture: Path, source: Path) -> None:
    """Refuse what cannot end well before the file is read."""
    if picture.suffix.lower() not in _KINDS:
        raise Failure(f"{clean(str(picture))}: pictures are .svg or .png")
    if picture.exists() and source.exists() and picture.samefile(source):
        raise Failure(f"{clean(str(picture))} is both read and written: choose another name for the output")
    if picture.suffix.lower() == ".png":
        try:
            require_png()
        except PictureError as error:
            raise Failure(str(error)) from error
