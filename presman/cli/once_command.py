"""`presman once TARGET`: one reading as text, JSON or CSV."""

from argparse import Namespace

from presman.base.measure_names import MEASURES
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.parser import Parser, add_format, add_poll_times, command_parser, measure, option


def arguments() -> Parser:
    """Return the parser of `presman once`."""
    parser = command_parser(
        "once",
        "Print one reading. Rates need two polls, so it takes --interval seconds (a spool: its last sample).",
        """\
  presman once prod
  presman once demo:storm --format json | jq '.heads[].sentence'
  presman once prod --format csv --measure queue
  presman once spool:/tmp/spool --format text""",
        "scope packs at start end",
    )
    option(parser, "target TARGET", "what to read (default: the one in config.ini)", nargs="?")
    add_format(parser, "text", "json", "csv")
    option(parser, "--measure M", f"what CSV is about: {', '.join(MEASURES)}", type=measure)
    add_poll_times(
        parser, "seconds allowed besides the interval (default 30); exit code 7 if a view has not answered by then"
    )
    option(parser, "--outliers", "read I/O outliers too (12.1 and later)")
    return parser


def run(options: Namespace) -> int:
    """Run `presman once TARGET`."""
    from presman.analysis.alerts.judge import Judge
    from presman.cli.polling import OUTLIERS, Polling, late_views
    from presman.cli.settings import load, resolve
    from presman.output import json_document, text_report
    from presman.output.csv_export import CsvExport
    from presman.output.json_document import assess

    if options.measure and options.format != "csv":
        raise Failure("--measure goes with --format csv")
    if options.outliers and options.format == "csv":
        raise Failure("--outliers goes with --format text or json")
    resolved = resolve(options.target, load(options), options)
    requests = OUTLIERS if options.outliers else ()
    polling = Polling(resolved, requests=requests, timeout=options.timeout)
    came = polling.once(options.interval)
    reading = Judge(resolved.alerts, None).judge(came.reading)  # two polls do not tell how long anything lasts
    late = late_views(came.previous, came.snapshot)
    within = f"within {options.timeout:g} s" if polling.endless else "then"  # nobody waited for what was recorded
    if late and reading.stale is None:
        raise Failure(f"{resolved.target.name}: no view answered {within}", exit_codes.SOURCE)
    if options.outliers and not reading.outliers:
        console.note("no view of I/O outliers could be read: they exist from 12.1 on")
    if options.format == "json":
        assessed = assess(reading, came.previous, came.snapshot)
        console.put(json_document.dump(reading, assessed, ascii_only=console.wants_ascii()))
    elif options.format == "csv":
        CsvExport(console.data(), options.measure or resolved.measure or "cpu").write(reading)
    else:
        watch = polling.watched_before(reading)
        console.show(text_report.full(reading, console.width(), (came.previous, came.snapshot), watch))
    if late:
        console.note(f"not all answered {within}: {', '.join(late)}")
    return exit_codes.PARTIAL if late else exit_codes.OK
