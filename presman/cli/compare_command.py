"""`presman compare`: two windows of recordings side by side."""

from argparse import Namespace
from datetime import UTC, datetime

from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.parser import Parser, add_format, command, option
from presman.cli.settings import load, resolve
from presman.config.config_file import Config
from presman.config.target import named_recording
from presman.output.json_document import plain, written
from presman.reports.compare.compare_text import compare_text
from presman.reports.compare.comparison import FORM, RecordingWindow, WindowWords, compare, window_words


@command(
    "Two windows of one recording, or of two, side by side: plan, CPU, I/O, parallel servers, queue, latency,\n"
    "statements; each figure with the difference in percent and whether it is more than noise. A window is\n"
    "TARGET@FROM..TO; either end may be left out, and @FROM..TO alone means the same recording.",
    """\
  presman compare prod.presman@03:00..03:30 @04:00..04:30
  presman compare monday.presman tuesday.presman --format html > tuesday.html
  presman compare prod.presman@first..'-1h' @'1h ago'..last""",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman compare`."""
    option(parser, "first A", "FILE.presman@FROM..TO, or any other recording")
    option(parser, "second B", "the same, or @FROM..TO: another window of A's recording")
    add_format(parser, "text", "json", "html")


def run(options: Namespace) -> None:
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
        from presman.reports.compare.compare_page import compare_page

        console.put(compare_page(found, datetime.now(UTC)))
    else:
        console.show(compare_text(found, console.width()))


def _window(words: WindowWords, config: Config, options: Namespace) -> RecordingWindow:
    resolved = resolve(named_recording(words.target, config), config, options)
    target = resolved.target
    recorded = target.recorded
    if recorded is None:
        raise Failure(f"{target.name} is not a recording: write {FORM}")
    return RecordingWindow(
        recorded.location,
        recorded.database or None,
        words.start or recorded.start,
        words.end or recorded.end or recorded.at,
        resolved.goals,
    )
