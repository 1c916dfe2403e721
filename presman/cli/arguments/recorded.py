"""Arguments of those who look at what was gathered: replay, report, bundle, compare, charts, traces."""

from __future__ import annotations

from presman.cli.arguments.options import command_parser
from presman.cli.parser import OneOf, Parser, positive, some_seconds


def replay() -> Parser:
    """Return the parser of `presman replay`."""
    parser = command_parser(
        "replay",
        "A recording on the screens of the monitor: Space plays and stops, + and - change the speed, arrows step, J\n"
        "goes to a time, n and p to the next and the previous event.",
        """\
  presman replay prod.presman
  presman replay prod.presman --from 03:00 --to 04:00
  presman replay postgresql+psycopg://presman@dbhost/presman?database=prod""",
    )
    parser.add_argument("target", metavar="FILE|FOLDER|URL", help="what `presman record` wrote")
    parser.add_argument("--polls", type=positive, default=3, metavar="N", help="without a terminal: readings to print")
    parser.set_defaults(allow_actions=False)
    return parser


def report() -> Parser:
    """Return the parser of `presman report`."""
    parser = command_parser(
        "report",
        "A period of a recording as one HTML page that needs no network: what happened, events, charts, parallel\n"
        "statements, latency, and the screens at one moment: the longest queue, or --at. SQL_IDs, users and texts are\n"
        "in it as in the recording; a recording of `presman bundle` names nobody.",
        """\
  presman report prod.presman -o incident.html
  presman report prod.presman --from 03:05 --to 03:20 -o incident.html
  presman report prod.presman --from 03:00 --at 03:12 -o - > incident.html""",
    )
    parser.add_argument("target", nargs="?", metavar="FILE|FOLDER|URL", help="what `presman record` wrote")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="where to (-: standard output); a file there is replaced"
    )
    return parser


def bundle() -> Parser:
    """Return the parser of `presman bundle`."""
    parser = command_parser(
        "bundle",
        "A recording of some minutes without SQL text, bind, user, machine or program, for a bug report: of a\n"
        "database the next minutes, of a recording its last ones, or those from --from to --to.",
        """\
  presman bundle prod --minutes 10
  presman bundle prod.presman --from 03:05 --to 03:20 -o incident.presman""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to read (default: the one in config.ini)")
    parser.add_argument("--minutes", type=_minutes, default=10.0, metavar="N", help="how long (default 10)")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (default presman-bundle-TIME.presman)")
    return parser


def compare() -> Parser:
    """Return the parser of `presman compare`."""
    parser = command_parser(
        "compare",
        "Two windows of one recording, or of two, side by side: plan, CPU, I/O, parallel servers, queue, latency,\n"
        "statements; each figure with the difference in percent and whether it is more than noise. A window is\n"
        "TARGET@FROM..TO, of which either end may be left out; @FROM..TO alone is of the same recording.",
        """\
  presman compare prod.presman@03:00..03:30 @04:00..04:30
  presman compare monday.presman tuesday.presman --format html > tuesday.html
  presman compare prod.presman@first..'-1h' @'1h ago'..last""",
    )
    parser.add_argument("first", metavar="A", help="FILE.presman@FROM..TO, or any recording as TARGET has it")
    parser.add_argument("second", metavar="B", help="the same, or @FROM..TO: another window of A's recording")
    parser.add_argument(
        "--format", type=OneOf("text", "json", "html"), default="text", metavar="F", help="text (default), json, html"
    )
    return parser


def chart() -> Parser:
    """Return the parser of `presman chart`."""
    parser = command_parser(
        "chart",
        "Draw a file that presman wrote: CSV of this one or 1.x, tidy or wide, JSON lines or Parquet: a line for each\n"
        "group or event. Without -o in the terminal. COLUMN is a column of numbers (of a wide file: a group); each is\n"
        "a chart of its own.",
        """\
  presman chart cpu.csv
  presman chart cpu.csv throttled_percent used_cpus
  presman chart cpu.csv throttled_percent -o throttled.svg
  presman chart cpu.csv throttled_percent used_cpus -o cpu.html""",
    )
    parser.add_argument("file", metavar="FILE", help="what `presman export`, key e or presman 1.x wrote")
    parser.add_argument(
        "columns", nargs="*", metavar="COLUMN", help="what to draw (default: the usual columns of the measure)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="FILE.html: a page; a picture: FILE.svg, or FILE.png with presman[png]"
    )
    return parser


def _minutes(text: str) -> float:
    """Read a number of minutes."""
    return some_seconds(f"{text}m") / 60


def trace() -> Parser:
    """Return the parser of `presman trace`."""
    from presman.cli.trace_command import add_arguments

    parser = Parser(
        prog="presman trace",
        description="Summarise the waits in 10046 trace files: the redo writer's writes, or any event's.",
        epilog="""\
examples:
  presman trace orcl_lgwr_2001.trc
  presman trace --list *.trc
  presman trace --event 'db file*' --chart histogram orcl_ora_4711.trc.gz
  presman trace --csv waits.csv --image waits.svg orcl_lgwr_2001.trc
exit codes: 0 done, 2 a file was refused or cut short (the others count all the same), 4 an output cannot be written""",
    )
    add_arguments(parser)
    return parser
