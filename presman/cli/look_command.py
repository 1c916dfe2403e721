"""Readings of a database as text: one, by `presman once`, `alerts`, `lint` and `why`; what changes, by `watch`."""

import re
from argparse import Namespace
from datetime import timedelta

from presman.analysis.alerts.judge import Judge
from presman.analysis.assemble import analyse
from presman.analysis.plans.lint_rules import Severity
from presman.analysis.readings.statement_readings import QueuedStatement, QueueReason
from presman.base.measure_names import MEASURES
from presman.cli import console, exit_codes
from presman.cli import parser as cli
from presman.cli.exit_codes import Failure
from presman.cli.polling import OUTLIERS, Polling, PollLimits, late_views
from presman.cli.settings import load, resolve
from presman.forecast.forecaster import LEADING_POLLS
from presman.output.narration import Narration
from presman.rows.queries import DetailLevel


@cli.command(
    "Print one reading. Rates need two polls, so this takes --interval seconds. Of a spool it is the last sample.",
    """\
  presman once prod
  presman once demo:storm --format json | jq '.heads[].sentence'
  presman once prod --format csv --measure queue
  presman once spool:/tmp/spool --format text""",
    "scope packs at start end",
)
def once_arguments(parser: cli.Parser) -> None:
    """Add the options of `presman once`."""
    cli.option(parser, "target TARGET", "what to read (default: the one in config.ini)", nargs="?")
    cli.add_format(parser, "text", "json", "csv")
    cli.option(parser, "--measure M", f"what CSV is about: {', '.join(MEASURES)}", type=cli.measure)
    words = "seconds on top of the interval (default 30); exit code 7 if a view has not answered by then"
    cli.add_poll_times(parser, words)
    cli.option(parser, "--outliers", "read I/O outliers too (12.1 and later)")


def once_run(options: Namespace) -> int:
    """Run `presman once TARGET`."""
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
    reading = Judge(resolved.alerts, None).judge(came.reading)  # two polls do not show how long an alert has lasted
    late = late_views(came.previous, came.snapshot)
    if late and reading.stale is None:
        raise Failure(f"{resolved.target.name}: no view answered", exit_codes.SOURCE)
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
        console.note(f"did not answer: {', '.join(late)}")
    return exit_codes.PARTIAL if late else exit_codes.OK


@cli.command(
    "The rules behind the alerts: key, severity, the amount that thresholds are for, and what config.ini sets.\n"
    "With a TARGET also their state now, and why.",
    """\
  presman alerts
  presman alerts prod""",
    "scope packs at",
)
def alerts_arguments(parser: cli.Parser) -> None:
    """Add the options of `presman alerts`."""
    cli.option(parser, "target TARGET", "what to read (default: none)", nargs="?")
    cli.add_poll_times(parser, "seconds on top of that (default 30)")


def alerts_run(options: Namespace) -> int:
    """List the rules; with a target also their state and the reason for it."""
    from presman.analysis.goals import NOT_BY_ONE_LOOK
    from presman.output.alert_list import listed

    config = load(options)
    if options.target is None:
        console.show(listed(config.defaults.alerts or (), None, ()))
        return exit_codes.OK
    resolved = resolve(options.target, config, options)
    polling = Polling(resolved, timeout=options.timeout)
    came = polling.once(options.interval)
    judge = Judge(resolved.alerts, None)
    reading = judge.judge(came.reading)
    is_unjudged = bool(resolved.goals) and not reading.goals
    lacking = (*judge.unknown, NOT_BY_ONE_LOOK) if is_unjudged else judge.unknown
    console.show(listed(resolved.alerts, reading, lacking, polling.time_of(reading)))
    return exit_codes.PARTIAL if late_views(came.previous, came.snapshot) else exit_codes.OK


NEVER = "never"


@cli.command(
    "Print the problems of the active plans: severity, reason, and the manual that describes each.",
    """\
  presman lint prod
  presman lint prod --format json | jq '.findings[].rule'
  presman lint spool:/tmp/spool --fail-on warning""",
    "scope at",
)
def lint_arguments(parser: cli.Parser) -> None:
    """Add the options of `presman lint`."""
    cli.option(parser, "target TARGET", "what to read (default: the one in config.ini)", nargs="?")
    cli.add_format(parser, "text", "json")
    words = "end with code 5 if there is a finding this severe: error (default), warning, note, never"
    cli.choice(parser, "--fail-on SEVERITY", words, "error", "warning", "note", NEVER)


def lint_run(options: Namespace) -> int:
    """Print the findings; the exit code shows whether one is as severe as --fail-on, or nothing could be judged."""
    from presman.analysis.plans.lint import lint, lint_coverage
    from presman.output.json_document import plain, written
    from presman.output.text_report import findings

    polling = Polling(resolve(options.target, load(options), options), detail_level=DetailLevel.NARROW)
    *_, (_, snapshot) = polling.pairs(polls=1 if polling.endless else None, newest=1)
    reading = analyse(None, snapshot)
    found, coverage = lint(reading, snapshot), lint_coverage(reading, snapshot)
    if options.format == "json":
        document = {"plan": reading.header.plan, "findings": plain(found), "sight": plain(coverage)}
        console.put(written({**document, "notes": plain(reading.notes)}, ascii_only=True))
    else:
        console.show(findings(reading, found, coverage, console.width()))
    if options.fail_on == NEVER:
        return exit_codes.OK
    order = [severity.value for severity in Severity]
    if any(order.index(finding.severity.value) <= order.index(options.fail_on) for finding in found):
        return exit_codes.FINDINGS
    return exit_codes.NOT_JUDGED if coverage.blind else exit_codes.OK


_MOST_BEFORE = 200
"""Polls of a recording that are read before those of the forecast, for the reasons why a statement waited."""


@cli.command(
    "Say why a parallel statement has not started, when it should, and what would let it start. The reason\n"
    "is one of never_fits, group_limit, container_limit, target, behind_in_queue, other_queue, order_of_plan,\n"
    "quiesced, unknown. When it should start is known once presman has seen statements end: --duration, or a\n"
    "recording.",
    """\
  presman why prod 507
  presman why prod 2:507,32323 --duration 5m
  presman why prod 7xq3hjskd0abc --format json | jq -r .reason
  presman why prod.presman 507 --at 03:12""",
    "refresh scope at",
)
def why_arguments(parser: cli.Parser) -> None:
    """Add the options of `presman why`."""
    cli.option(parser, "target TARGET", "what to read")
    words = "the statement: its SID, INSTANCE:SID, either with ,SERIAL#, or SQL_ID"
    cli.option(parser, "statement SID|SQL_ID", words, type=_asked_for)
    cli.add_format(parser, "text", "json")
    cli.option(parser, "--duration S", "watch for this long before answering", type=cli.some_seconds)


def _asked_for(text: str) -> str:
    if not re.fullmatch(r"(\d{1,4}:)?\d{1,6}(,\d{1,10})?|[0-9a-z]{13}", text, re.ASCII | re.IGNORECASE):
        raise ValueError(f"{text!r} is neither [INSTANCE:]SID[,SERIAL#] nor a SQL_ID of 13 letters and digits")
    return text


def why_run(options: Namespace) -> int:
    """Run `presman why`."""
    from presman.output.why_answer import AskedStatement, ReasonHistory, as_json, as_text, found_in, why_not_known

    resolved = resolve(options.target, load(options), options)
    asked, history = AskedStatement.of(options.statement), ReasonHistory()
    polling = Polling(resolved, with_forecasts=True)
    limits: PollLimits = {"duration": options.duration, "newest": LEADING_POLLS}
    # Two polls show the reason; only a forecast needs more of them.
    if options.duration is None and polling.endless:
        limits = {"interval": 1.0, "polls": 2}
    for number, came in enumerate(polling.moments(**limits)):
        history.add(came.reading)
        if not number:
            first = came.reading
    row = found_in(came.reading, asked)
    if isinstance(row, QueuedStatement) and row.waited is not None and history.was_there(row):
        since = came.reading.at - timedelta(seconds=row.waited)
        history.precede(*polling.readings_before(first, since, _MOST_BEFORE))
    if options.format == "json":
        console.put(as_json(came.reading, asked, history, ascii_only=console.wants_ascii()))
    else:
        of = polling.time_of(came.reading)
        console.show(as_text(came.reading, asked, history) + (f"  as of {of}\n" if of else ""))
    if polling.unread:
        console.note(polling.unread, "damaged", "warning")
    is_unknown = isinstance(row, QueuedStatement) and row.reason is QueueReason.UNKNOWN
    if polling.unread or is_unknown or why_not_known(came.reading, asked):
        return exit_codes.SOURCE
    return exit_codes.OK if row is not None else exit_codes.FINDINGS


@cli.command(
    "Print one line of text for each change: alerts that begin, get worse or better and end, plans, downgrades,\n"
    "timeouts, and what to do. Nothing moves on the screen: for screen readers, pipes and logs.\n"
    "on_alert is not run.",
    """\
  presman watch prod --plain
  presman watch prod --summary 1h >> prod.log
  presman watch demo:storm --duration 1m""",
    "refresh scope packs start end",
)
def watch_arguments(parser: cli.Parser) -> None:
    """Add the options of `presman watch`."""
    cli.option(parser, "target TARGET", "what to watch (default: the one in config.ini)", nargs="?")
    cli.option(parser, "--plain", "ASCII only, with words instead of signs")
    words = "time between summaries while nothing changes (default 5m)"
    cli.option(parser, "--summary S", words, type=cli.some_seconds, default=300.0)
    cli.option(parser, "--polls N", "stop after N readings", type=cli.positive)
    cli.option(parser, "--duration S", "stop after S seconds (90, 15m, 2h)", type=cli.some_seconds)


def watch_run(options: Namespace) -> None:
    """Narrate until stopped. A loss is reported on standard error, the return on standard output."""
    resolved = resolve(options.target, load(options), options)
    if resolved.on_alert:
        console.note("on_alert is not run here: watch only prints; the monitor, fleet, export and check run it")
    judge = Judge(resolved.alerts)
    narration = Narration(options.summary, plain=options.plain)
    polling = Polling(resolved, with_forecasts=True)
    for came in polling.measured(polls=options.polls, duration=options.duration):
        polling.report_damage()
        lines = narration.take(judge.judge(came.reading), came.snapshot)
        console.show("".join(f"{line}\n" for line in lines))
