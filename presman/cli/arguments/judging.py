"""Arguments of those who ask once: a reading, a check, alerts, plans, what if."""

from __future__ import annotations

from presman.base.measure_names import MEASURES
from presman.cli.arguments.options import command_parser
from presman.cli.parser import OneOf, Parser, measure, of_group, positive, some_seconds


def once() -> Parser:
    """Return the parser of `presman once`."""
    parser = command_parser(
        "once",
        "Print one reading. Rates need two polls, so it takes --interval seconds (a spool: its last sample).",
        """\
  presman once prod
  presman once demo:storm --format json | jq '.heads[].sentence'
  presman once prod --format csv --measure queue
  presman once spool:/tmp/spool --format text""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to read (default: the one in config.ini)")
    parser.add_argument(
        "--format", type=OneOf("text", "json", "csv"), default="text", metavar="F", help="text (default), json, csv"
    )
    parser.add_argument("--measure", type=measure, metavar="M", help=f"what CSV is about: {', '.join(MEASURES)}")
    parser.add_argument(
        "--interval",
        type=some_seconds,
        default=1.0,
        metavar="S",
        help="between the polls (default 1); rates are over this time",
    )
    parser.add_argument(
        "--timeout",
        type=some_seconds,
        default=30.0,
        metavar="S",
        help="seconds allowed besides the interval (default 30); exit code 7 if a view has not answered by then",
    )
    parser.add_argument("--outliers", action="store_true", help="read I/O outliers too (12.1 and later)")
    return parser


def check() -> Parser:
    """Return the parser of `presman check`."""
    parser = command_parser(
        "check",
        "A plug-in for Nagios, Icinga or cron: one line with performance data. It uses the same alerts as the monitor\n"
        "and `presman once`; set thresholds in config.ini, or here.",
        """\
  presman check prod
  presman check prod --warning queue_waits=5m --critical queue_waits=30m
  presman check prod --warning queue_waits:ETL=1h --critical 'latency:log file sync=50ms' -v
exit codes of check:
  0 OK: nothing is wrong, and the line names the views that show it   1 WARNING   2 CRITICAL
  3 UNKNOWN: something could not be seen, or nothing could be checked""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to check (default: the one in config.ini)")
    for name in ("warning", "critical"):
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="KEY[:SUBJECT]=N",
            help=f"amount from which an alert is {name}; `presman alerts` lists the keys",
        )
    parser.add_argument(
        "--interval", type=some_seconds, default=1.0, metavar="S", help="between the two polls (default 1)"
    )
    parser.add_argument(
        "--timeout", type=some_seconds, default=30.0, metavar="S", help="UNKNOWN after so many seconds (default 30)"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="more lines: every alert, what to do, what was not seen"
    )
    return parser


def alerts() -> Parser:
    """Return the parser of `presman alerts`."""
    parser = command_parser(
        "alerts",
        "The rules behind the alerts: key, severity, what thresholds are compared with, and what config.ini sets.\n"
        "With a TARGET also their state now, and why.",
        """\
  presman alerts
  presman alerts prod""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to read (default: none)")
    parser.add_argument(
        "--interval", type=some_seconds, default=1.0, metavar="S", help="between the two polls (default 1)"
    )
    parser.add_argument(
        "--timeout", type=some_seconds, default=30.0, metavar="S", help="seconds allowed besides that (default 30)"
    )
    return parser


def lint() -> Parser:
    """Return the parser of `presman lint`."""
    parser = command_parser(
        "lint",
        "Print what is doubtful about the plans in force: severity, reason, and the manual that describes it.",
        """\
  presman lint prod
  presman lint prod --format json | jq '.findings[].rule'
  presman lint spool:/tmp/spool --fail-on warning""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to read (default: the one in config.ini)")
    parser.add_argument(
        "--format", type=OneOf("text", "json"), default="text", metavar="F", help="text (default), json"
    )
    parser.add_argument(
        "--fail-on", type=OneOf("error", "warning", "note", "never"), default="error", metavar="SEVERITY",
        help="end with code 5 if there is a finding this severe: error (default), warning, note, never",
    )  # fmt: skip
    return parser


def whatif() -> Parser:
    """Return the parser of `presman whatif`."""
    parser = command_parser(
        "whatif",
        "Replay observed parallel statements under another target, other group limits, levels or timeouts. First it\n"
        "replays the observation itself and prints the error. Nothing is changed on the database.",
        """\
  presman export prod --measure arrivals --duration 2h -o arrivals.csv
  presman whatif arrivals.csv --target 320
  presman whatif arrivals.csv --limit BATCH=50 --limit ETL=25 --timeout REPORTS=600
  presman whatif prod.presman --from 03:00 --to 04:00 --target 320
  presman whatif prod --live-minutes 15 --limit BATCH=50""",
    )
    parser.add_argument("target", nargs="?", metavar="CSV|TARGET", help="arrivals, a recording, a target to watch")
    parser.add_argument("--live-minutes", type=float, metavar="N", help="watch TARGET for N minutes first")
    parser.add_argument(
        "--target",
        "--servers-target",
        dest="servers_target",
        type=positive,
        metavar="N",
        help="PARALLEL_SERVERS_TARGET of all instances",
    )
    for name, number, text in (
        ("limit", of_group(0, 100), "percent of the target a group may hold (PARALLEL_SERVER_LIMIT)"),
        ("level", of_group(1, 8), "level (1 to 8) of a group in the plan; without it all are on one level"),
        ("timeout", of_group(0, 1e7), "seconds a group's statements may queue (PARALLEL_QUEUE_TIMEOUT)"),
    ):
        parser.add_argument(f"--{name}", type=number, action="append", default=[], metavar="GROUP=N", help=text)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the random order of the groups")
    return parser
