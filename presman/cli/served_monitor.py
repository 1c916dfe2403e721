"""The monitor of one page of `presman serve`, which starts it.

The first line of standard input contains what to watch, because a list of processes would show arguments. It has no
option that allows actions, and the package of actions is not imported.
"""

import json
import os
from argparse import Namespace

from msgspec.structs import replace

from presman.base.child import end_with_parent
from presman.base.secret import PASSWORD, Secret, keep
from presman.cli import answered, console, exit_codes
from presman.cli.settings import load, resolve

LONGEST = 65_536
"""Bytes of the first line."""

_STDIN = 0


def main() -> int:
    """Show the monitor to a browser, and return the exit code."""
    console.prepare()
    return answered(_run)


def _run() -> int:
    line = _first_line()
    if not line:  # the process that started it has ended
        return exit_codes.OK
    end_with_parent()
    orders = json.loads(line)
    options, password = Namespace(**orders["options"]), orders["password"]
    if PASSWORD in orders:
        keep(PASSWORD, Secret(orders[PASSWORD]))
    prompt = None if password is None else lambda _prompt: str(password)
    resolved = resolve(options.target, load(options), options, prompt=prompt)
    from presman.tui.served_app import run_served, run_served_replay

    target = resolved.target
    if target.recorded is not None:
        return run_served_replay(target.recording, name=target.name, theme=resolved.theme)
    notifier = replace(resolved, on_alert=()).notifier()
    return run_served(resolved.live(notifier=notifier), theme=resolved.theme)


def _first_line() -> bytes:
    """Return the first line of standard input without reading any byte after it."""
    line = b""
    # Keys may follow the line: Textual's driver reads them from the same descriptor.
    while not line.endswith(b"\n") and len(line) < LONGEST and (byte := os.read(_STDIN, 1)):
        line += byte
    return line if line.endswith(b"\n") else b""
