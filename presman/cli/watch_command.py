"""`presman watch`: changes on a database as lines of text, for screen readers, pipes and logs."""

from argparse import Namespace

from presman.analysis.alerts.judge import Judge
from presman.cli import console
from presman.cli.parser import Parser, command, option, positive, some_seconds
from presman.cli.polling import Polling
from presman.cli.settings import load, resolve
from presman.output.narration import Narration


@command(
    "Print one line of text for each change: alerts that begin, get worse or better and end, plans, downgrades,\n"
    "timeouts, and what to do. Nothing moves on the screen: for screen readers, pipes and logs.\n"
    "on_alert is not run.",
    """\
  presman watch prod --plain
  presman watch prod --summary 1h >> prod.log
  presman watch demo:storm --duration 1m""",
    "refresh scope packs start end",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman watch`."""
    option(parser, "target TARGET", "what to watch (default: the one in config.ini)", nargs="?")
    option(parser, "--plain", "ASCII only, with words instead of signs")
    words = "time between summaries while nothing changes (default 5m)"
    option(parser, "--summary S", words, type=some_seconds, default=300.0)
    option(parser, "--polls N", "stop after N readings", type=positive)
    option(parser, "--duration S", "stop after S seconds (90, 15m, 2h)", type=some_seconds)


def run(options: Namespace) -> None:
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
