"""`presman watch`: what happens on a database in lines of words, for screen readers, pipes and logs."""

from __future__ import annotations

from argparse import Namespace

from presman.analysis.alerts.judge import Judge
from presman.cli import console, exit_codes
from presman.cli.polling import Polling
from presman.cli.settings import load, resolve
from presman.output.narration import Narration


def run(options: Namespace) -> int:
    """Narrate until told to stop. A lost connection is told on standard error, and that it is back here."""
    resolved = resolve(options.target, load(options), options)
    polling = Polling(resolved)
    judge = Judge(resolved.alerts)
    narration = Narration(options.summary, plain=options.plain)
    for snapshot, found in polling.measured(polls=options.polls, duration=options.duration):
        lines = narration.take(judge.judge(found), snapshot)
        console.show("".join(f"{line}\n" for line in lines))
    return exit_codes.OK
