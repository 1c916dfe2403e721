"""`presman compare`: two windows of recordings side by side."""

from __future__ import annotations

import json
from argparse import Namespace
from datetime import UTC, datetime

from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.settings import load, resolve
from presman.config.config_file import Config
from presman.config.recording_target import named_recording
from presman.output.json_document import plain
from presman.recording.store import RecordingError
from presman.reports.compare.compare_text import compare_text
from presman.reports.compare.two_windows import WindowPlace, compare
from presman.reports.compare.window_words import FORM, WindowWords, window_words


def run(options: Namespace) -> int:
    """Print the comparison. Raises Failure, TargetError, WindowError."""
    if options.at or options.start or options.end:
        raise Failure(f"each window has times of its own: write {FORM} instead of --at, --from and --to")
    config = load(options)
    first, second = window_words(options.first), window_words(options.second)
    if not first.target:
        raise Failure(f"the first window has to name its recording: {FORM}")
    places = [_place(each._replace(target=each.target or first.target), config, options) for each in (first, second)]
    try:
        found = compare(*places)
    except RecordingError as error:
        raise Failure(str(error), exit_codes.SOURCE) from error
    if options.format == "json":
        console.put(json.dumps({"format": 1, **plain(found)}, indent=2, ensure_ascii=console.wants_ascii()) + "\n")
    elif options.format == "html":
        from presman.reports.compare.compare_page import compare_page

        console.put(compare_page(found, datetime.now(UTC)))
    else:
        console.show(compare_text(found, console.width()))
    return exit_codes.OK


def _place(words: WindowWords, config: Config, options: Namespace) -> WindowPlace:
    target = resolve(named_recording(words.target, config), config, options).target
    tape = target.tape
    if tape is None:
        raise Failure(f"{target.name} is not a recording: write {FORM}")
    return WindowPlace(tape.place, tape.database or None, words.start or tape.start, words.end or tape.end or tape.at)
