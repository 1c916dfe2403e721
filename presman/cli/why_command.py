"""`presman why TARGET SID|SQL_ID`: why a statement has not started, when it should, and whose end would let it."""

import re
from argparse import ArgumentTypeError, Namespace
from datetime import timedelta

from presman.cli import console, exit_codes
from presman.cli.parser import Parser, add_format, command_parser, option, some_seconds

_MOST_BEFORE = 200
"""Polls of a recording that are read beside those of the forecast, to tell what a statement waited for."""


def arguments() -> Parser:
    """Return the parser of `presman why`."""
    parser = command_parser(
        "why",
        "Say why a parallel statement has not started, when it should, and whose end would let it. The reason is one\n"
        "of never_fits, group_limit, container_limit, target, behind_in_queue, other_queue, order_of_plan, quiesced,\n"
        "unknown. When it should start is known once presman has seen statements end: --duration, or a recording.",
        """\
  presman why prod 507
  presman why prod 2:507 --duration 5m
  presman why prod 7xq3hjskd0abc --format json | jq -r .reason
  presman why prod.presman 507 --at 03:12""",
        "refresh scope at",
    )
    option(parser, "target TARGET", "what to read")
    option(parser, "who SID|SQL_ID", "the statement: its SID, INSTANCE:SID or SQL_ID", type=_who)
    add_format(parser, "text", "json")
    option(parser, "--duration S", "watch for this long before answering", type=some_seconds)
    return parser


def _who(text: str) -> str:
    if not re.fullmatch(r"(\d{1,4}:)?\d{1,6}|[0-9a-z]{13}", text, re.ASCII | re.IGNORECASE):
        raise ArgumentTypeError(f"{text!r} is neither a SID, INSTANCE:SID nor a SQL_ID of 13 letters and digits")
    return text


def run(options: Namespace) -> int:
    """Run `presman why`."""
    from presman.analysis.readings.statement_readings import QueuedStatement
    from presman.cli.polling import Polling
    from presman.cli.settings import load, resolve
    from presman.forecast.forecaster import LEADING_POLLS
    from presman.output.why_answer import AskedStatement, ReasonHistory, as_json, as_text, found_in, why_unseen

    resolved = resolve(options.target, load(options), options)
    asked, history = AskedStatement.of(options.who), ReasonHistory()
    polling = Polling(resolved, foresees=True)
    one_look = options.duration is None and polling.endless
    moments = (
        polling.moments(interval=1.0, polls=2)
        if one_look
        else polling.moments(duration=options.duration, newest=LEADING_POLLS)
    )
    for number, came in enumerate(moments):
        history.add(came.reading)
        if not number:
            first = came.reading
    row = found_in(came.reading, asked)
    if isinstance(row, QueuedStatement) and row.waited is not None and history.was_there(row):
        since = came.reading.at - timedelta(seconds=row.waited)
        history.precede(*polling.readings_before(first, since, _MOST_BEFORE))
    if options.format == "json":
        console.put(as_json(came.reading, asked, history, ascii_only=console.wants_ascii()))
    else:
        console.show(as_text(came.reading, asked, history))
    if polling.unread:
        console.note(polling.unread, "damaged", "warning")
    if why_unseen(came.reading, asked):
        return exit_codes.SOURCE
    return exit_codes.OK if row is not None else exit_codes.FINDINGS
