"""The command line: which commands and options there are. Reading it imports nothing but argparse."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from presman.base.measure_names import MEASURES
from presman.cli import exit_codes
from presman.cli.parser import OneOf, Parser, age, listening, measure, of_group, positive, seconds, size, some_seconds

COMMANDS = {
    "demo": "the monitor on a simulated database",
    "connect": "asks for a database, tries it, and writes it into config.ini",
    "fleet": "many databases, one line each, those in trouble first",
    "once": "one reading as text, JSON or CSV",
    "watch": "what happens, in lines of words: for screen readers, pipes and logs",
    "export": "readings as CSV, one poll after the other",
    "record": "everything that is read, poll after poll, into a file to watch again and ask by SQL",
    "metrics": "figures of databases for Prometheus to scrape, or pushed to an OpenTelemetry collector",
    "status": "recorders and exporters that run, and how they are",
    "serve": "the monitor in a browser, for those who may only look",
    "replay": "a recording on the screens of the monitor",
    "report": "a stretch of a recording as one HTML page: what happened, charts, statements, plan",
    "bundle": "a short recording that names nobody, to send to somebody",
    "compare": "two windows of recordings: what differs, by how much, and whether it is more than noise",
    "chart": "a CSV file that presman wrote, in the terminal or as a picture",
    "check": "one line and an exit code for Nagios, Icinga or cron",
    "alerts": "the rules behind the alerts, their thresholds, and with a TARGET their state",
    "whatif": "observed parallel statements once more, under other limits",
    "lint": "what is doubtful about the plans in force, and why",
    "doctor": "what presman can see in a database, and which grants are missing",
    "grants": "grants.sql for a user who may read what presman reads, and no more",
    "collect": "a script that spools what presman reads, for sites that let no tool in",
    "trace": "waits of 10046 trace files: counts, percentiles, charts, CSV",
    "config": "where each setting comes from; --sample prints a config.ini",
    "completions": "completions of bash, zsh and fish, and the manual page; --install puts them in place",
}
"""Each command with what it does."""

LISTEN = "127.0.0.1:9730"
"""Where `presman metrics` is scraped: on this machine alone."""

TARGET_HELP = """\
TARGET is one thing everywhere:
  NAME                        a section of config.ini
  user@host[:port]/service    a database (asks for the password; user/password@... works too)
  demo:SCENARIO[?seed=N&speed=X&size=F&release=R]   the simulated database, or your own demo:FILE.toml
  spool:FOLDER[?zone=Z&release=R&encoding=E] CSV files, one per view, as `presman collect` makes them
  FILE.presman, recording:FILE|FOLDER|URL[?database=D&at=T&from=T&to=T]   what `presman record` wrote"""


def common() -> Parser:
    """Return the options that every command takes, before or after its name."""
    parser = Parser(add_help=False, prog="presman")
    group = parser.add_argument_group("options everywhere")
    group.add_argument("--config", metavar="FILE", help="read FILE instead of config.ini")
    group.add_argument("--refresh", type=seconds, metavar="S", help="seconds between polls (default 2, least 0.5)")
    group.add_argument(
        "--poll-timeout",
        type=some_seconds,
        metavar="S",
        help="seconds a poll may take (default 3 x --refresh, from 5 to 30); what comes later is shown as it was",
    )
    group.add_argument(
        "--scope", type=OneOf("cluster", "instance"), metavar="SCOPE", help="cluster (GV$, default) or instance (V$)"
    )
    group.add_argument(
        "--thick",
        nargs="?",
        metavar="=LIBDIR",
        help="connect through Oracle Client libraries, found by themselves or in LIBDIR",
    )
    group.add_argument(
        "--packs",
        type=OneOf("none", "diagnostics", "tuning"),
        metavar="PACK",
        help="the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics",
    )
    group.add_argument("--theme", metavar="NAME", help="colours of the monitor")
    tape = parser.add_argument_group("of a recording")
    tape.add_argument("--at", metavar="TIME", help="as it was then: 2026-11-22 03:12, 03:12, '3m ago'")
    tape.add_argument("--from", dest="start", metavar="TIME", help="from then on")
    tape.add_argument("--to", dest="end", metavar="TIME", help="up to then")
    return parser


def add_log_options(parser: Parser) -> None:
    """Add the options of commands that run for long: how and where they tell what happens."""
    group = parser.add_argument_group("what is told")
    group.add_argument(
        "--log-format", type=OneOf("text", "json"), metavar="F", help="text (default), or json: one object a line"
    )
    group.add_argument(
        "--log-level",
        type=OneOf("debug", "info", "warning", "error"),
        metavar="L",
        help="debug (each poll), info (default), warning, error",
    )
    group.add_argument(
        "--log-file", metavar="FILE", help="append to FILE, begun anew when it is moved; errors also to standard error"
    )


def _parser(name: str, description: str, examples: str) -> Parser:
    return Parser(
        prog=f"presman {name}".strip(),
        description=description,
        epilog=f"examples:\n{examples}",
        parents=[common()],
    )


def _summaries() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())


def monitor() -> Parser:
    """Return the parser of `presman [TARGET]`, which is also the front page of the help."""
    parser = Parser(
        prog="presman",
        description="Monitor of Oracle Database Resource Manager and the parallel statement queue.",
        usage="presman [OPTIONS] [TARGET]\n       presman [OPTIONS] COMMAND ...",
        epilog=f"""\
commands (each has --help):
{_summaries()}

{TARGET_HELP}

examples:
  presman demo
  presman system@dbhost/orclpdb1
  presman once prod --format json
  presman export prod --measure parallel -o parallel.csv
  presman -m cpu -c 4 -p -o cpu.csv     (as presman 1.x; presman -m cpu --help)

environment: PRESMAN_CONFIG, PRESMAN_PASSWORD, PRESMAN_DEBUG=1 (tracebacks), NO_COLOR, TNS_ADMIN
{exit_codes.HELP}""",
        parents=[common()],
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to watch (see below)")
    parser.add_argument("--polls", type=positive, default=3, metavar="N", help="without a terminal: readings to print")
    parser.add_argument(
        "--allow-actions",
        action="store_true",
        help="offer to start, switch, cancel or kill (key a), after a question",
    )
    parser.add_argument("--bell", action="store_true", help="ring the terminal's bell when a new alert appears")
    parser.add_argument("--version", action="store_true", help="show presman's version and exit")
    parser.add_argument("--verbose", action="store_true", help="with --version: those of all libraries, too")
    return parser


def demo() -> Parser:
    """Return the parser of `presman demo`."""
    parser = _parser(
        "demo",
        "The monitor on a simulated database. Without a terminal a few readings are printed as text.",
        """\
  presman demo
  presman demo storm --speed 10
  presman demo:my-plan.toml
  presman demo --list
  presman demo --polls 1 | less""",
    )
    parser.add_argument("scenario", nargs="?", metavar="SCENARIO", help="name or FILE.toml (default: mixed)")
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    parser.add_argument("--seed", type=int, metavar="N", help="another course of events")
    parser.add_argument("--speed", type=float, metavar="X", help="X simulated seconds per second")
    parser.add_argument("--size", type=float, metavar="F", help="a machine and a load F times as big")
    parser.add_argument("--release", metavar="R", help="shape the views as release R has them (19, 12.1, ...)")
    parser.add_argument("--polls", type=positive, default=3, metavar="N", help="without a terminal: readings to print")
    parser.add_argument(
        "--allow-actions",
        action="store_true",
        help="offer to start, switch, cancel or kill (key a), after a question",
    )
    parser.add_argument(
        "--tour",
        action=argparse.BooleanOptionalAction,
        help="show around, or do not (default: until it was gone through once)",
    )
    parser.add_argument("--bell", action="store_true", help="ring the terminal's bell when a new alert appears")
    return parser


def connect() -> Parser:
    """Return the parser of `presman connect`."""
    parser = _parser(
        "connect",
        "Ask for a database and who logs in, try it, explain what fails, and write a section of config.ini.\n"
        "Nothing is written before the last question; Ctrl-C leaves everything as it was.",
        """\
  presman connect
  presman connect prod
  presman connect prod --config ~/dba/config.ini""",
    )
    parser.add_argument("section", nargs="?", metavar="NAME", help="the section to write (default: asks)")
    return parser


def completions() -> Parser:
    """Return the parser of `presman completions`."""
    parser = _parser(
        "completions",
        "Print what lets a shell complete presman's commands, options and targets; `man` prints the manual page.\n"
        "--install puts both where your shell and man look for them, for you alone.",
        """\
  presman completions --install
  presman completions zsh --install
  presman completions bash > /etc/bash_completion.d/presman
  presman completions man | man -l -""",
    )
    parser.add_argument(
        "shell",
        nargs="?",
        type=OneOf("bash", "zsh", "fish", "man"),
        metavar="SHELL",
        help="bash, zsh, fish or man (with --install: the shell of $SHELL if none is named)",
    )
    parser.add_argument("--install", action="store_true", help="write it, and the manual page, into your home folder")
    return parser


def doctor() -> Parser:
    """Return the parser of `presman doctor`."""
    parser = _parser(
        "doctor",
        "What presman can see in a database, line by line: release, containers, each query, and the missing grants.",
        """\
  presman doctor prod
  presman doctor monitor@dbhost/orcl --scope instance
  presman doctor --assumptions prod""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to examine (default: the one of config.ini)")
    parser.add_argument(
        "--assumptions",
        action="store_true",
        help="what presman takes as so without a document, the SELECT that tells, and what it says there",
    )
    return parser


def grants() -> Parser:
    """Return the parser of `presman grants`."""
    parser = _parser(
        "grants",
        "A script for SQL*Plus or SQLcl that makes a user who may read what presman reads, and no more.",
        """\
  presman grants > grants.sql
  presman grants --account common --user C##MONITOR
  presman grants --pdb ORCLPDB1 --release 12.2""",
    )
    parser.add_argument(
        "--account",
        type=OneOf("local", "common", "pdb"),
        metavar="KIND",
        help="local (default; a database without containers), common (the root of a CDB) or pdb",
    )
    parser.add_argument("--user", metavar="NAME", help="the user's name (default PRESMAN, common: C##PRESMAN)")
    parser.add_argument("--pdb", metavar="NAME", help="the pluggable database (default: the script asks)")
    parser.add_argument("--release", metavar="R", help="grants for release R and later (default 19)")
    return parser


def once() -> Parser:
    """Return the parser of `presman once`."""
    parser = _parser(
        "once",
        "Print one reading. Rates need two polls, so it takes --interval seconds (a spool: its last moment).",
        """\
  presman once prod
  presman once demo:storm --format json | jq '.heads[].sentence'
  presman once prod --format csv --measure queue
  presman once spool:/tmp/spool --format text""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to read (default: the one of config.ini)")
    parser.add_argument(
        "--format", type=OneOf("text", "json", "csv"), default="text", metavar="F", help="text (default), json, csv"
    )
    parser.add_argument("--measure", type=measure, metavar="M", help=f"what CSV is about: {', '.join(MEASURES)}")
    parser.add_argument(
        "--interval",
        type=some_seconds,
        default=1.0,
        metavar="S",
        help="between the polls (default 1); what it says of now is of this time: of a minute with 60",
    )
    parser.add_argument(
        "--timeout",
        type=some_seconds,
        default=30.0,
        metavar="S",
        help="seconds it may take beside the interval (default 30); code 7 if not every view had answered by then",
    )
    parser.add_argument("--outliers", action="store_true", help="ask for I/O outliers too (12.1 and later)")
    return parser


def watch() -> Parser:
    """Return the parser of `presman watch`."""
    parser = _parser(
        "watch",
        "Say what happens, a line of words for each change: alerts that begin, grow worse and end, plans, downgrades,\n"
        "timeouts, and what to do. Nothing moves on the screen, so that it can be read aloud, piped or logged.",
        """\
  presman watch prod --plain
  presman watch prod --summary 1h >> prod.log
  presman watch demo:storm --duration 1m""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to watch (default: the one of config.ini)")
    parser.add_argument("--plain", action="store_true", help="nothing but ASCII, and words for signs")
    parser.add_argument(
        "--summary",
        type=some_seconds,
        default=300.0,
        metavar="S",
        help="seconds after which all is summed up though nothing changed (default 5m)",
    )
    parser.add_argument("--polls", type=positive, metavar="N", help="stop after N readings")
    parser.add_argument("--duration", type=some_seconds, metavar="S", help="stop after S seconds (90, 15m, 2h)")
    return parser


def fleet() -> Parser:
    """Return the parser of `presman fleet`."""
    parser = _parser(
        "fleet",
        "Many databases, one line each, those in trouble first; Enter opens one, Esc comes back. All sections of\n"
        "config.ini, those that are named or match, or what recorders write to a central store: that takes no\n"
        "connection to any of them. Without a terminal, or with --format, it is printed once.",
        """\
  presman fleet
  presman fleet 'prod-*' test
  presman fleet postgresql+psycopg://presman@dbhost/presman
  presman fleet --format json | jq -r '.databases[] | select(.alerts > 0) | .target'
exit codes of a fleet that is printed:
  0 all databases answered   7 some did not   3 none did, or the store cannot be read""",
    )
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="sections of config.ini, globs of them, other targets; or a store"
    )
    parser.add_argument(
        "--format", type=OneOf("text", "json", "csv"), metavar="F", help="print it once: text, json, csv"
    )
    parser.add_argument(
        "--interval", type=seconds, metavar="S", help="seconds between polls of each (default 5; printed: 1)"
    )
    parser.add_argument(
        "--timeout",
        type=some_seconds,
        default=30.0,
        metavar="S",
        help="printed: seconds to wait for those that do not answer (default 30)",
    )
    parser.add_argument(
        "--allow-actions",
        action="store_true",
        help="offer to start, switch, cancel or kill (key a) in a database that was opened, after a question",
    )
    return parser


def export() -> Parser:
    """Return the parser of `presman export`."""
    parser = _parser(
        "export",
        "Write readings as CSV, JSON lines or Parquet, each poll as it is taken. The first poll is the baseline of\n"
        "the rates and not written (of a spool every moment is). A file with the same columns is continued, but for\n"
        "Parquet, which is there once it is whole.",
        """\
  presman export prod --measure cpu -o cpu.csv
  presman export prod --measure queue --duration 15m --refresh 5 -o queue.csv
  presman export demo --measure cpu --layout wide --column throttled_percent --polls 5 -o -
  presman export spool:/tmp/spool --measure latency -o latency.csv
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
    parser = _parser(
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


def status() -> Parser:
    """Return the parser of `presman status`."""
    parser = _parser(
        "status",
        "What of presman runs for you (record, export): since when, polls, the age of the newest, what is wrong, CPU\n"
        "and memory. One that was killed is told of for a day, or until another takes its place.",
        """\
  presman status
  presman status --format json | jq '.runs[].databases[] | select(.state != "running")'
  sudo -u presman presman status || systemctl status presman-record
exit codes of status:
  0 all runs well   3 nothing runs   7 something is late, lost, not written, hangs or died""",
    )
    parser.add_argument(
        "--format", type=OneOf("text", "json", "csv"), default="text", metavar="F", help="text (default), json, csv"
    )
    return parser


def metrics() -> Parser:
    """Return the parser of `presman metrics`."""
    parser = _parser(
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
    return parser


def serve() -> Parser:
    """Return the parser of `presman serve`."""
    parser = _parser(
        "serve",
        "The monitor in a browser, on this machine alone unless --listen says otherwise. Each page is a monitor of\n"
        "its own, with a session of its own in the database, logged in as who started presman. Nobody can act, write\n"
        "a file where presman runs, or go to another target. Needs the extra web: pip install 'presman[web]'.",
        """\
  presman serve prod
  presman serve prod --listen 0.0.0.0:8443 --certificate tls.crt --key tls.key
  presman serve prod --public https://dba.example.com/prod/ --token-file token
  ssh -t -L 8000:localhost:8000 dbhost presman serve prod""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to watch (default: the one of config.ini)")
    parser.add_argument(
        "--listen",
        type=listening,
        default=("127.0.0.1", 8000),
        metavar="HOST:PORT",
        help="where browsers come to (default 127.0.0.1:8000: from this machine alone)",
    )
    parser.add_argument(
        "--token",
        action=argparse.BooleanOptionalAction,
        help="ask for a token (default: unless only this machine can come; --no-token is for a reverse proxy on this "
        "machine that asks who it is)",
    )
    parser.add_argument("--token-file", metavar="FILE", help="the token, on its first line (default: a random one)")
    parser.add_argument("--certificate", metavar="FILE", help="TLS with this certificate and its chain (PEM)")
    parser.add_argument("--key", metavar="FILE", help="the certificate's key (default: in the same file)")
    parser.add_argument(
        "--public", metavar="URL", help="its URL for browsers, behind a reverse proxy or by another name"
    )
    parser.add_argument(
        "--viewers", type=positive, default=4, metavar="N", help="pages that may look at the same time (default 4)"
    )
    return parser


def replay() -> Parser:
    """Return the parser of `presman replay`."""
    parser = _parser(
        "replay",
        "A recording on the screens of the monitor: Space plays and stops, + and - change the speed, arrows step, J\n"
        "goes to a time, n and p to what happened next and before.",
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
    parser = _parser(
        "report",
        "A stretch of a recording as one HTML page that needs no network: what happened in words, events, charts to\n"
        "hover over, parallel statements, latency, and what the screens showed of one moment: the longest queue, or\n"
        "that of --at. SQL_IDs, users and texts are in it as in the recording; one of `presman bundle` names nobody.",
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
    parser = _parser(
        "bundle",
        "A recording of some minutes without SQL text, bind, user, machine or program, for a bug report: of a\n"
        "database the next minutes, of a recording its last ones, or those from --from to --to.",
        """\
  presman bundle prod --minutes 10
  presman bundle prod.presman --from 03:05 --to 03:20 -o incident.presman""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to read (default: the one of config.ini)")
    parser.add_argument("--minutes", type=_minutes, default=10.0, metavar="N", help="how long (default 10)")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (default presman-bundle-TIME.presman)")
    return parser


def compare() -> Parser:
    """Return the parser of `presman compare`."""
    parser = _parser(
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
    parser = _parser(
        "chart",
        "Draw a CSV file that presman wrote, this one or 1.x, tidy or wide: a line for each group or event. Without\n"
        "-o in the terminal. COLUMN is a column of numbers (of a wide file: a group); each is a chart of its own.",
        """\
  presman chart cpu.csv
  presman chart cpu.csv throttled_percent used_cpus
  presman chart cpu.csv throttled_percent -o throttled.svg""",
    )
    parser.add_argument("file", metavar="FILE", help="what `presman export`, key e or presman 1.x wrote")
    parser.add_argument("columns", nargs="*", metavar="COLUMN", help="what to draw (default: the usual of the measure)")
    parser.add_argument("-o", "--output", metavar="FILE", help="a picture: FILE.svg, or FILE.png with presman[png]")
    return parser


def _minutes(text: str) -> float:
    """Read a number of minutes."""
    return some_seconds(f"{text}m") / 60


def check() -> Parser:
    """Return the parser of `presman check`."""
    parser = _parser(
        "check",
        "A plug-in for Nagios, Icinga or cron: one line with performance data. It goes by the same alerts as the\n"
        "monitor and `presman once`; thresholds stand in config.ini, or here.",
        """\
  presman check prod
  presman check prod --warning queue_waits=5m --critical queue_waits=30m
  presman check prod --warning queue_waits:ETL=1h --critical 'latency:log file sync=50ms' -v
exit codes of check:
  0 OK: nothing is wrong, and the line says by which views   1 WARNING   2 CRITICAL
  3 UNKNOWN: something could not be seen, or nothing could be checked""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to check (default: the one of config.ini)")
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
    parser = _parser(
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
        "--timeout", type=some_seconds, default=30.0, metavar="S", help="seconds it may take beside that (default 30)"
    )
    return parser


def lint() -> Parser:
    """Return the parser of `presman lint`."""
    parser = _parser(
        "lint",
        "Print what is doubtful about the plans in force: severity, reason, and the manual that describes it.",
        """\
  presman lint prod
  presman lint prod --format json | jq '.findings[].rule'
  presman lint spool:/tmp/spool --fail-on warning""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to read (default: the one of config.ini)")
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
    parser = _parser(
        "whatif",
        "Replay observed parallel statements under another target, other group limits, levels or timeouts. First the\n"
        "observation itself is replayed and the error told. Nothing is changed on the database.",
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
    for name, text in (
        ("limit", "percent of the target a group may hold (PARALLEL_SERVER_LIMIT)"),
        ("level", "level (1 to 8) of a group in the plan; without it all are on one"),
        ("timeout", "seconds a group's statements may queue (PARALLEL_QUEUE_TIMEOUT)"),
    ):
        parser.add_argument(f"--{name}", type=of_group, action="append", default=[], metavar="GROUP=N", help=text)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another random order of the groups")
    return parser


def collect() -> Parser:
    """Return the parser of `presman collect`."""
    parser = _parser(
        "collect",
        "Print a read-only script for SQL*Plus or SQLcl that spools what presman reads, one CSV file per view.\n"
        "The folder it fills is a target: spool:FOLDER.",
        """\
  presman collect --sql > presman_collect.sql
  presman collect --sql --release 12.1 > presman_collect.sql""",
    )
    parser.add_argument("--sql", action="store_true", help="print the script (the only thing there is, so far)")
    parser.add_argument("--release", metavar="R", help="the database's release (default: 19)")
    return parser


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


def config() -> Parser:
    """Return the parser of `presman config`."""
    parser = _parser(
        "config",
        "Print each setting and where it comes from; passwords are masked.",
        """\
  presman config
  presman config prod
  presman config --sample > config.ini""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="the target whose settings are wanted")
    parser.add_argument("--sample", action="store_true", help="print a commented config.ini to start from")
    return parser


def classic() -> Parser:
    """Return the parser of `presman -m ...`, the command line of presman 1.x."""
    parser = _parser(
        "-m",
        "The tables of presman 1.x, refreshed until Ctrl-C.",
        """\
  presman -m cpu
  presman -m cpu -c 4 -p -o cpu.csv
  presman -m session_io -c TOTAL_IO_PERCT -p demo --polls 3""",
    )
    parser.usage = "presman -m MEASURE [-c COLUMN] [-p] [-o FILE] [--polls N] [TARGET]"
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to read (default: the one of config.ini)")
    parser.add_argument(
        "-m", dest="measure", type=measure, metavar="MEASURE", help="cpu, session_io, parallel, emphasis"
    )
    parser.add_argument("-c", dest="column", metavar="COLUMN", help="index of a column from 0, or its name")
    parser.add_argument("-p", dest="plot", action="store_true", help="a bar per group for that column")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write that column to a CSV file, poll by poll")
    parser.add_argument("--polls", type=positive, metavar="N", help="stop after N polls")
    return parser


PARSERS: dict[str, Callable[[], Parser]] = {
    "monitor": monitor,
    "demo": demo,
    "connect": connect,
    "fleet": fleet,
    "once": once,
    "watch": watch,
    "export": export,
    "record": record,
    "metrics": metrics,
    "status": status,
    "serve": serve,
    "replay": replay,
    "report": report,
    "bundle": bundle,
    "compare": compare,
    "chart": chart,
    "check": check,
    "alerts": alerts,
    "whatif": whatif,
    "doctor": doctor,
    "grants": grants,
    "lint": lint,
    "collect": collect,
    "trace": trace,
    "config": config,
    "completions": completions,
    "classic": classic,
}
_CLASSIC = ("-m", "-c", "-p", "-o")


def parse(arguments: Sequence[str] | None = None) -> tuple[str, argparse.Namespace]:
    """Return the command and its options. Raises Failure; --help and --version exit."""
    given = sys.argv[1:] if arguments is None else arguments
    # What follows --thick is not its folder, which comes after "=", but a TARGET or a command.
    known, rest = common().parse_known_args(["--thick=" if word == "--thick" else word for word in given])
    word = rest[0] if rest else ""
    if word in COMMANDS:
        return word, PARSERS[word]().read(rest[1:], known)
    command = "classic" if any(item[:2] in _CLASSIC for item in rest if item[:2] != "--") else "monitor"
    if command == "classic" and not {"-h", "--help"}.isdisjoint(rest):
        rest = ["--help"]
    return command, PARSERS[command]().read(rest, known)
