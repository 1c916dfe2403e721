"""`presman check`: one line and an exit code for Nagios, Icinga or cron."""

import os
import sys
from argparse import Namespace
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.parser import Parser, add_poll_times, command, option

if TYPE_CHECKING:
    from presman.cli.settings import Resolved

OWN_SHARE = 0.15
"""The share of the time limit that starting, judging and reporting may take; the database may have the rest."""

ALERT_SHARE = 0.25
"""The share of the time limit that the commands run at alerts may take: the database has so much less."""

UNKNOWN = 3


@command(
    "A plug-in for Nagios, Icinga or cron: one line with performance data. It uses the same alerts as the monitor\n"
    "and `presman once`; set thresholds in config.ini, or here.",
    """\
  presman check prod
  presman check prod --warning queue_waits=5m --critical queue_waits=30m
  presman check prod --warning queue_waits:ETL=1h --critical 'latency:log file sync=50ms' -v
exit codes of check:
  0 OK: nothing is wrong, and the line names the views that show it   1 WARNING   2 CRITICAL
  3 UNKNOWN: something could not be seen, or nothing could be checked
a recording or a spool whose newest poll is late is UNKNOWN, because it does not show what is now; with --at or --to
(of a spool --at last) the line is about that time, and says so""",
    "scope packs at start end",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman check`."""
    option(parser, "target TARGET", "what to check (default: the one in config.ini)", nargs="?")
    for name in ("warning", "critical"):
        words = f"from this amount on the alert is {name}; `presman alerts` lists the keys"
        option(parser, f"--{name} KEY[:SUBJECT]=N", words, action="append", default=[])
    add_poll_times(parser, "give up with UNKNOWN after S seconds (default 30)")
    option(parser, "-v --verbose", "more lines: every alert, what to do, what was not seen")


def run(options: Namespace) -> int:
    """Check one target. main() turns every error into UNKNOWN."""
    from presman.analysis.alerts.judge import groupless
    from presman.analysis.goals import NOT_BY_ONE_LOOK
    from presman.cli.polling import Polling
    from presman.config.alert_lines import with_thresholds
    from presman.output.plugin_check import CheckedTarget, result

    with _ending_in_time(options.timeout):
        resolved, at_last = _resolved(options)
        try:
            settings = with_thresholds(resolved.alerts, {"warning": options.warning, "critical": options.critical})
        except ValueError as error:
            raise Failure(str(error)) from None
        most = (1 - OWN_SHARE - (ALERT_SHARE if resolved.on_alert else 0)) * options.timeout
        if options.interval >= most:
            raise Failure(
                f"--timeout {options.timeout:g} leaves {most:g} s for two polls, and they are {options.interval:g} s "
                "apart: give a longer --timeout or a shorter --interval"
            )
        polling = Polling(resolved, timeout=most - options.interval)
        came = polling.once(options.interval)
        if polling.unread:
            return print_unknown(f"{came.reading.header.database or resolved.target.name}: {polling.unread}")
        if not at_last and (old := polling.why_old(came)):
            of = f"--at last checks it, as of {polling.time_of(came.reading)}"
            return print_unknown(f"{came.reading.header.database or resolved.target.name}: {old} ({of})")
        target = CheckedTarget(resolved.target.name, resolved.on_alert, console.note)
        reading, lacking, problems = target.judged(
            came.reading, settings, ALERT_SHARE * options.timeout, endless=polling.endless
        )
        for each, text in groupless(settings, reading).items():
            console.note(f"warning: alerts of {each.key}: {text}", "setting", "warning")
        if resolved.goals and not reading.goals:
            problems.append(f"not known: {NOT_BY_ONE_LOOK}")
        found = result(reading, settings, lacking, verbose=options.verbose, of=polling.time_of(reading))
        more = [*found.more, *problems] if options.verbose else []
        console.show("".join(f"{line}\n" for line in (found.line, *more)))
    return int(found.state)


def _resolved(options: Namespace) -> "tuple[Resolved, bool]":
    """Return the target with its settings, and whether it is a spool whose last sample is wanted however old it is."""
    from presman.cli.settings import default_target, load, resolve
    from presman.config.target_text import parse_target

    config = load(options)
    text = (options.target or default_target(config)) if options.at == "last" else None
    at_last = text is not None and parse_target(text, config).kind == "spool"
    options.at = None if at_last else options.at  # a spool has no other times to choose from
    return resolve(options.target, config, options), at_last


def _ending_in_time(seconds: float) -> AbstractContextManager[None]:
    """End presman as UNKNOWN after `seconds`, whatever hangs: a monitoring server kills a slow plug-in."""
    from presman.base.user_command import end_all
    from presman.cli.interruption import after

    def end() -> None:
        line = f"PRESMAN UNKNOWN - no result within {seconds:g} s\n"
        os.write(sys.stdout.fileno(), line.encode())
        end_all()
        os._exit(UNKNOWN)

    return after(seconds, end)


def print_unknown(line: str) -> int:
    """Print the plug-in's line that says why nothing could be checked, and return its exit code."""
    from presman.output.plugin_check import unknown

    try:
        console.show(unknown(line).line + "\n")
    except (Failure, BrokenPipeError):
        console.abandon()
    return UNKNOWN
