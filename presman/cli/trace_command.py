"""The command line of `presman trace`."""

import argparse
import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import TextIO

from presman.base import formats
from presman.base.markup import png, require_png
from presman.base.private_files import expanded
from presman.base.text import clean, one_line
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.output_file import PICTURE, PNG, WAITS, output_path, replaced, write_whole
from presman.cli.parser import Parser, command, option, output
from presman.trace import trace_report
from presman.trace.survey import Survey
from presman.trace.tally import histogram
from presman.trace.trace_files import STANDARD_INPUT, TraceError, TraceFile
from presman.trace.trace_parser import EVERYTHING, LONGEST_NAME, REDO_WRITE, EventSelection
from presman.trace.trace_report import WaitsCsv, histogram_text, scatter_text, svg

CHARTS = ("scatter", "histogram")
MOST_CHARTED = 4
"""Events drawn, those with the most time; more could not be distinguished."""


@command(
    "Summarise the waits in 10046 trace files: the redo writer's writes, or any event's.",
    """\
  presman trace orcl_lgwr_2001.trc
  presman trace --list *.trc
  presman trace --event 'db file*' --chart histogram orcl_ora_4711.trc.gz
  presman trace --csv waits.csv --image waits.svg orcl_lgwr_2001.trc
exit codes: 0 done, 2 a file was refused or cut short (the others are counted), 4 an output cannot be written,
5 no wait of the chosen events was found, or no WAIT line was understood""",
    None,
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman trace`."""
    option(parser, "files FILE", "10046 trace, may be gzipped; - reads standard input", nargs="+")
    which = parser.add_argument_group("which waits")
    words = f"event, or pattern with * and ?; may be repeated (default: {REDO_WRITE})"
    option(which, "--event NAME", words, action="append", type=_event_name)
    option(which, "--all", "all events but idle ones")
    option(which, "--idle", "idle events too, where --all or a pattern includes them")
    option(which, "--list", "list the events found, idle ones with the reason")
    group = parser.add_argument_group("output")
    words = "write every wait as a line of CSV (FILE is replaced when it is complete); - is standard output"
    output(group, "--csv FILE", words)
    option(group, "--chart", "draw in the terminal; may be repeated", action="append", choices=CHARTS)
    output(group, "--image FILE", "draw the charts (default: both) into a .svg or .png file")


def run(arguments: argparse.Namespace) -> int:
    """Summarise the files. Raises Failure, PictureError; BrokenPipeError passes through."""
    _check(arguments)
    try:
        with contextlib.ExitStack() as stack:
            return _run(arguments, stack)
    except BrokenPipeError:
        # The reader has gone, which is no error, although Python makes it an OSError.
        raise
    except OSError as error:
        text = f"cannot write {clean(str(error.filename or 'output'))}: {error.strerror or error}"
        raise Failure(text, exit_codes.OUTPUT) from error


def _run(arguments: argparse.Namespace, stack: contextlib.ExitStack) -> int:
    selection = _selection(arguments)
    csv = WaitsCsv(stack.enter_context(_replaced(arguments.csv))) if arguments.csv else None
    progress = Progress()
    stack.callback(progress.clear)
    survey = Survey(
        selection,
        keep_trails=bool(arguments.image) or "scatter" in (arguments.chart or ()),
        on_waits=csv.add if csv else None,
        moved=progress.show,
    )
    code = exit_codes.OK
    for name in arguments.files:
        progress.start()
        if csv:
            csv.start(name)
        if (refusal := _add(survey, name)) is not None:
            progress.clear()
            console.note(f"{clean(name)}: {refusal}", "failed", "error")
            code = exit_codes.USAGE
        # Ctrl-C ends the reading; the waits found until then are reported.
        if survey.interrupted:
            code = exit_codes.INTERRUPTED
            break
    progress.clear()
    # Standard output has the CSV: a report in it would be no CSV.
    if arguments.csv == STANDARD_INPUT:
        for file in survey.files:
            if file.unread:
                console.note(trace_report.unread(file))
    elif survey.files:
        console.show(trace_report.events_found(survey) if arguments.list else trace_report.report(survey, selection))
        for text in _charts(survey, arguments.chart or ()):
            console.show("\n" + text + "\n")
    if survey.files and arguments.image:
        _write_image(survey, arguments.image, arguments.chart or CHARTS)
    has_answer = not survey.is_unread and (arguments.list or bool(survey.total.tallies))
    return code or (exit_codes.OK if has_answer else exit_codes.FINDINGS)


def _add(survey: Survey, name: str) -> str | None:
    """Add a file; return why it was refused or cut short, or None."""
    try:
        with contextlib.closing(TraceFile(name)) as trace:
            return survey.add(trace).error
    except TraceError as error:
        return str(error)


def _selection(arguments: argparse.Namespace) -> EventSelection:
    if arguments.list or arguments.all:
        return EventSelection(EVERYTHING, idle=arguments.list or arguments.idle)
    return EventSelection(tuple(dict.fromkeys(arguments.event or (REDO_WRITE,))), idle=arguments.idle)


def _charts(survey: Survey, kinds: tuple[str, ...]) -> Iterator[str]:
    width, height = shutil.get_terminal_size((100, 30))
    colour = console.has_colour()
    for total in survey.totals()[:MOST_CHARTED]:
        for kind in dict.fromkeys(kinds):
            if kind == "scatter":
                scatter = survey.trails[total.event].scatter()
                yield scatter_text(total.event, scatter, width=width, height=height - 2, colour=colour)
            else:
                yield histogram_text(total.event, histogram(survey.total.tallies[total.event]), width=width)


def _write_image(survey: Survey, name: str, kinds: tuple[str, ...]) -> None:
    events = [total.event for total in survey.totals()[:MOST_CHARTED]]
    panels = []
    for event, kind in product(events, dict.fromkeys(kinds)):
        tallied = None if kind == "scatter" else histogram(survey.total.tallies[event])
        panels.append((event, survey.trails[event].scatter() if tallied is None else tallied))
    if not panels:
        raise Failure(f"{clean(name)} not written: there are no waits to draw", exit_codes.FINDINGS)
    text = svg(panels)
    write_whole(expanded(name), png(text) if name.lower().endswith(".png") else text.encode())


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that cannot succeed before hours are spent on reading."""
    if arguments.all and arguments.event:
        raise Failure("--all and --event exclude each other")
    if arguments.image and not arguments.image.lower().endswith((".svg", ".png")):
        raise Failure(f"{clean(arguments.image)}: pictures are .svg or .png")
    if arguments.image and arguments.image.lower().endswith(".png"):
        require_png()
    if arguments.files.count(STANDARD_INPUT) > 1:
        raise Failure("standard input (-) can be read once only")
    if arguments.csv and arguments.image and Path(arguments.csv).absolute() == Path(arguments.image).absolute():
        raise Failure(f"{clean(arguments.csv)} cannot be both CSV and picture: choose another name for one of them")
    if arguments.csv and arguments.csv != STANDARD_INPUT:
        output_path(arguments.csv, WAITS, *arguments.files)
    if arguments.image:
        output_path(arguments.image, PNG if arguments.image.lower().endswith(".png") else PICTURE, *arguments.files)


@contextlib.contextmanager
def _replaced(name: str) -> Iterator[TextIO]:
    """Open an output that replaces `name` once complete; ``-`` is standard output, a device is written directly."""
    if name == STANDARD_INPUT:
        out = console.data()
        yield out
        out.flush()
        return
    path = replaced(expanded(name))
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    # In the same folder, because a file is replaced in one step only within its file system.
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("x", encoding="utf-8", newline="") as file:
            yield file
        part.replace(path)
    except OSError as error:
        error.filename = name
        raise
    finally:
        part.unlink(missing_ok=True)


def _event_name(text: str) -> str:
    name = " ".join(text.split())
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise ValueError("an event name is 1 to 120 printable characters")
    return name


_EVERY = 0.1
_WIDTH = 24


class Progress(console.StatusLine):
    """Progress of reading a trace: a bar rewritten at most ten times a second."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._next = self._start = clock()

    def start(self) -> None:
        """Begin another file."""
        self._start = self._clock()

    def show(self, name: str, position: int, size: int, read: int) -> None:
        """Show that `position` of `size` bytes on disk (0 if unknown) are done, `read` bytes of trace in all."""
        if self.is_live and (now := self._clock()) >= self._next:
            self._next = now + _EVERY
            rate = read / 1e6 / max(now - self._start, 1e-3)
            self.write(f"{bar(position, size)} {read / 1e6:,.0f} MB, {rate:,.0f} MB/s  {one_line(clean(name), 40)}")


def bar(position: int, size: int) -> str:
    """Return a bar with its percentage; nothing if the size is unknown."""
    if size <= 0:
        return "reading"
    share = min(1.0, position / size)
    full = round(share * _WIDTH)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {formats.percent(100 * share):>3} %"
