"""Arguments of those who gather: CSV, recordings, metrics, and how such runs are."""

from __future__ import annotations

from presman.base.measure_names import MEASURES
from presman.cli.arguments.options import add_log_options, command_parser
from presman.cli.parser import OneOf, Parser, age, listening, measure, positive, seconds, size, some_seconds

LISTEN = "127.0.0.1:9730"
"""Where `presman metrics` is scraped: on this machine alone."""


def export() -> Parser:
    """Return the parser of `presman export`."""
    parser = command_parser(
        "export",
        "Write readings as CSV, JSON lines or Parquet, each poll as it is taken. The first poll is the baseline of\n"
        "the rates and not written (of a spool every moment is). A file with the same columns is continued, but for\n"
        "Parquet, which is there once it is whole. --from and --to of a database: cpu, session_io or parallel of the\n"
        "last hour, one line for each group and minute, as V$RSRCMGRMETRIC_HISTORY has kept them.",
        """\
  presman export prod --measure cpu -o cpu.csv
  presman export prod --measure queue --duration 15m --refresh 5 -o queue.csv
  presman export demo --measure cpu --layout wide --column throttled_percent --polls 5 -o -
  presman export spool:/tmp/spool --measure latency -o latency.csv
  presman export prod --from '1h ago' -o last-hour.csv
  presman export prod.presman --from 03:00 --measure queue --format parquet -o queue.parquet
  presman export prod --measure queue --format jsonl -o - | jq .sql_id""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to read (default: the one of config.ini)")
    parser.add_argument("--measure", type=measure, metavar="M", help=f"{', '.join(MEASURES)} (default cpu)")
    parser.add_argument(
        "--layout",
        type=OneOf("tidy", "wide"),
        default="tidy",
        metavar="L",
        help="tidy (default): a line per group; wide: a column per group",
    )
    parser.add_argument("--column", metavar="C", help="which figure a wide file holds")
    parser.add_argument(
        "--format",
        type=OneOf("csv", "jsonl", "parquet"),
        default="csv",
        metavar="F",
        help="csv (default), jsonl: JSON lines, parquet (pip install 'presman[parquet]')",
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where to (default -: standard output)")
    parser.add_argument("--polls", type=positive, metavar="N", help="stop after N readings")
    parser.add_argument("--duration", type=some_seconds, metavar="S", help="stop after S seconds (90, 15m, 2h)")
    parser.add_argument("--fsync", action="store_true", help="wait for the disk at each poll")
    add_log_options(parser)
    return parser


def record() -> Parser:
    """Return the parser of `presman record`."""
    parser = command_parser(
        "record",
        "Keep what is read, poll after poll: figures as SQL tables, and all rows, so that it can be watched again as\n"
        "it was. One file, a folder with a file for each day, or a PostgreSQL database that many write to at once.\n"
        "A recording is a TARGET. One that is there is continued.",
        """\
  presman record prod -o prod.presman
  presman record prod test --interval 5 --retain 14d --max-size 2G -o /var/lib/presman/
  presman record prod -o postgresql+psycopg://presman@dbhost/presman
  presman once prod.presman --at 03:12""",
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="what to record (default: the one of config.ini)")
    parser.add_argument(
        "-o", "--output", required=True, metavar="PLACE", help="FILE.presman, a FOLDER/ (one file a day) or a URL"
    )
    parser.add_argument("--interval", type=seconds, metavar="S", help="seconds between polls (default: --refresh)")
    parser.add_argument("--polls", type=positive, metavar="N", help="stop after N polls of each")
    parser.add_argument("--duration", type=some_seconds, metavar="S", help="stop after S seconds (90, 15m, 2h)")
    parser.add_argument(
        "--redact", action="store_true", help="without SQL texts, users, machines and programs; names become others"
    )
    parser.add_argument("--retain", type=age, metavar="AGE", help="remove what is older (12h, 14d)")
    parser.add_argument("--max-size", type=size, metavar="SIZE", help="remove the oldest beyond it (500M, 2G)")
    add_log_options(parser)
    return parser


def metrics() -> Parser:
    """Return the parser of `presman metrics`."""
    parser = command_parser(
        "metrics",
        "Poll databases and offer their figures at /metrics for Prometheus, and whoever reads OpenMetrics; /-/healthy\n"
        "tells whether presman works. A scrape reads what was polled last and asks no database. Who may scrape, says\n"
        "config.ini: metrics_user, and metrics_password or metrics_password_command.",
        """\
  presman metrics prod test
  presman metrics prod test --listen 0.0.0.0:9730 --certificate tls.crt --key tls.key
  presman metrics prod --otlp http://collector:4318""",
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="what to watch (default: the one of config.ini)")
    parser.add_argument(
        "--listen",
        type=listening,
        default=listening(LISTEN),
        metavar="HOST:PORT",
        help=f"where to be scraped (default {LISTEN}); beyond this machine only with a certificate and a user",
    )
    parser.add_argument(
        "--interval", type=seconds, metavar="S", help="seconds between polls (default: --refresh, or 5)"
    )
    parser.add_argument("--certificate", metavar="FILE", help="TLS with this certificate and its chain (PEM)")
    parser.add_argument("--key", metavar="FILE", help="the certificate's key (default: in the same file)")
    parser.add_argument(
        "--client-ca", metavar="FILE", help="let in only clients with a certificate of these authorities"
    )
    parser.add_argument(
        "--insecure", action="store_true", help="listen beyond this machine without a user, or without a certificate"
    )
    parser.add_argument("--otlp", metavar="URL", help="push to this collector, too (OTLP over HTTP)")
    parser.add_argument(
        "--push-interval", type=some_seconds, default=60.0, metavar="S", help="seconds between pushes (default 60)"
    )
    add_log_options(parser)
    return parser


def status() -> Parser:
    """Return the parser of `presman status`."""
    parser = command_parser(
        "status",
        "What of presman runs for you (record, export, metrics): since when, polls, the age of the newest, what is\n"
        "wrong, CPU and memory. One that was killed is told of for a day, or until another takes its place.",
        """\
  presman status
  presman status --format json | jq '.runs[] | select(.state != "running")'
  sudo -u presman presman status || systemctl status presman-record
exit codes of status:
  0 all runs well   3 nothing runs   7 something is late, lost, not written, hangs or died""",
    )
    parser.add_argument(
        "--format", type=OneOf("text", "json", "csv"), default="text", metavar="F", help="text (default), json, csv"
    )
    return parser
