"""`presman report`: a period of a recording as one HTML page."""

from argparse import Namespace
from datetime import UTC, datetime

from presman.base.formats import counted
from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.output_file import PAGE, output_path, write_whole
from presman.cli.parser import Parser, command, option, output
from presman.cli.settings import load, resolve
from presman.config.target import named_recording


@command(
    "A period of a recording as one HTML page that needs no network: what happened, events, charts, parallel\n"
    "statements, latency, and the screens at one moment: the longest queue, or --at. SQL_IDs, users and texts are\n"
    "in it as in the recording; a recording of `presman bundle` names nobody.",
    """\
  presman report prod.presman -o incident.html
  presman report prod.presman --from 03:05 --to 03:20 -o incident.html
  presman report prod.presman --from 03:00 --at 03:12 -o - > incident.html""",
    "at start end",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman report`."""
    option(parser, "target FILE|FOLDER|URL", "what `presman record` wrote", nargs="?")
    words = "write the page to FILE (-: standard output); a page of presman is replaced"
    output(parser, "-o --output FILE", words, required=True)


def run(options: Namespace) -> None:
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
