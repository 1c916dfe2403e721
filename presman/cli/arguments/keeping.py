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
        "the rates and is not written (of a spool every sample is). A file with the same columns is continued; a\n"
        "Parquet file appears when it is complete.",
        """\
  presman export prod --measure cpu -o cpu.csv
  presman export prod --measure queue --duration 15m --refresh 5 -o queue.csv
  presman export demo --measure cpu --layout wide --column throttled_percent --polls 5 -o -
  presman export spool:/tmp/spool --measure latency -o latency.csv
  presman export prod.presman --from 03:00 --measure queue --format parquet -o queue.parquet
  presman export prod --measure queue --format jsonl -o - | jq .sql_id""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to read (default: the one in config.ini)")
    parser.add_argument("--measure", type=measure, metavar="M", help=f"{', '.join(MEASURES)} (default cpu)")
    parser.add_argument(
        "--layout",
        type=OneOf("tidy", "wide"),
        default="tidy",
        metavar="L",
        help="tidy (default): a line per group; wide: a column per group",
    )
    parser.add_argument("--column", metavar="C", help="which figure a wide file has")
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
        "Keep every poll: figures as SQL tables, and all rows for replay. One file, a folder with one file a day, or\n"
        "a PostgreSQL database that many recorders write to. A recording is a TARGET. An existing one is continued.",
        """\
  presman record prod -o prod.presman
  presman record prod test --interval 5 --retain 14d --max-size 2G -o /var/lib/presman/
  presman record prod -o postgresql+psycopg://presman@dbhost/presman
  presman once prod.presman --at 03:12""",
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="what to record (default: the one in config.ini)")
    parser.add_argument(
        "-o", "--output", required=True, metavar="PLACE", help="FILE.presman, a FOLDER/ (one file a day) or a URL"
    )
    parser.add_argument("--interval", type=seconds, metavar="S", help="seconds between polls (default: --refresh)")
    parser.add_argument("--polls", type=positive, metavar="N", help="stop after N polls of each")
    parser.add_argument("--duration", type=some_seconds, metavar="S", help="stop after S seconds (90, 15m, 2h)")
    parser.add_argument(
        "--redact", action="store_true", help="without SQL texts, users, machines and programs; names are replaced"
    )
    parser.add_argument("--retain", type=age, metavar="AGE", help="remove older polls (12h, 14d)")
    parser.add_argument(
        "--max-size", type=size, metavar="SIZE", help="remove the oldest polls above this size (500M, 2G)"
    )
    add_log_options(parser)
    return parser


def metrics() -> Parser:
    """Return the parser of `presman metrics`."""
    parser = command_parser(
        "metrics",
        "Poll databases and serve their figures at /metrics for Prometheus and other readers of OpenMetrics;\n"
        "/-/healthy says whether presman works. A scrape returns the last poll and sends no query. config.ini says\n"
        "who may scrape: metrics_user, and metrics_password or metrics_password_command.",
        """\
  presman metrics prod test
  presman metrics prod test --listen 0.0.0.0:9730 --certificate tls.crt --key tls.key
  presman metrics prod --otlp http://collector:4318""",
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="what to watch (default: the one in config.ini)")
    parser.add_argument(
        "--listen",
        type=listening,
        default=listening(LISTEN),
        metavar="HOST:PORT",
        help=f"address to listen on (default {LISTEN}); for other machines only with a certificate and a user",
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
        "--insecure", action="store_true", help="listen for other machines without a user, or without a certificate"
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
        "Your running presman commands (record, export, metrics): since when, polls, age of the newest poll, what is\n"
        "wrong, CPU and memory. A killed one is listed for a day, or until another takes its place.",
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
