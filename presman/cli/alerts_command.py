"""`presman alerts [TARGET]`: the rules behind the alerts, their thresholds and their state."""

from argparse import Namespace

from presman.cli import console, exit_codes
from presman.cli.parser import Parser, add_poll_times, command_parser, option


def arguments() -> Parser:
    """Return the parser of `presman alerts`."""
    parser = command_parser(
        "alerts",
        "The rules behind the alerts: key, severity, what thresholds are compared with, and what config.ini sets.\n"
        "With a TARGET also their state now, and why.",
        """\
  presman alerts
  presman alerts prod""",
        "scope packs at",
    )
    option(parser, "target TARGET", "what to read (default: none)", nargs="?")
    add_poll_times(parser, "seconds allowed besides that (default 30)")
    return parser


def run(options: Namespace) -> int:
    """List the rules; with a target their state, and why."""
    from presman.analysis.alerts.judge import Judge
    from presman.analysis.goals import NOT_BY_ONE_LOOK
    from presman.cli.polling import Polling, late_views
    from presman.cli.settings import load, resolve
    from presman.output.alert_list import listed

    config = load(options)
    if options.target is None:
        console.show(listed(config.defaults.alerts or (), None, ()))
        return exit_codes.OK
    resolved = resolve(options.target, config, options)
    came = Polling(resolved, timeout=options.timeout).once(options.interval)
    judge = Judge(resolved.alerts, None)
    reading = judge.judge(came.reading)
    is_unjudged = bool(resolved.goals) and not reading.goals
    lacking = (*judge.unknown, NOT_BY_ONE_LOOK) if is_unjudged else judge.unknown
    console.show(listed(resolved.alerts, reading, lacking))
    return exit_codes.PARTIAL if late_views(came.previous, came.snapshot) else exit_codes.OK
