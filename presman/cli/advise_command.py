"""`presman advise`: searches, by replays, for the directives that would have met the goals of service."""

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from presman import __version__
from presman.analysis.caches import RowCache
from presman.analysis.facts.facts import Facts
from presman.analysis.goals import EXAMPLES, Goal, parse_goal
from presman.base.errors import did_you_mean
from presman.base.formats import duration
from presman.base.group_names import as_named
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.output_file import ADVICE, JSON, PAGE, output_path, write_whole
from presman.cli.parser import Parser, add_format, command, option, output, positive
from presman.cli.whatif_command import WatchedPlan, add_observed, arrivals_of, refuse_unknown
from presman.reports.advice import AdviceWanted
from presman.reports.advise_report import advise
from presman.reports.advise_search import EVERY_KIND, KINDS, Scored, kinds_of
from presman.reports.advise_text import as_page, as_text
from presman.reports.whatif_cpu import CpuDemands
from presman.services.live import ReadingCame

_CPU_LIMIT_NAMES = ("cpu", "cpu-limit", "cpu-limits", "utilization", "utilization_limit")
"""Names that a user may give to a CPU limit."""
_KINDS_OF_FILE = {"text": ADVICE, "json": JSON, "html": PAGE}
_NOTE_EVERY = 5.0
"""Seconds between two notes on the progress of the search."""


@command(
    "Find plan directives under which a group's parallel statements would have started in time. It prints how\n"
    "long they would have waited under other targets and limits, the best choices with what each group gains and\n"
    "loses, a script that makes the first choice, and one that undoes it. presman runs neither. Ctrl-C ends the\n"
    "search and keeps the best.",
    """\
  presman advise prod.presman --goal "REPORTS p95 wait <= 30s"
  presman advise arrivals.csv --goal "95 % of REPORTS start within 30 s" --keep ETL
  presman advise prod --live-minutes 60 --goal "REPORTS p95 <= 1m" --may-change limits,levels
  presman advise prod.presman --goal "REPORTS p90 wait <= 30s" --format html -o advice.html""",
    "scope start end",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman advise`."""
    add_observed(parser)
    words = f"the goal to meet; may be repeated: {EXAMPLES}".replace("%", "%%")
    option(parser, "--goal GOAL", words, type=parse_goal, action="append")
    option(parser, "--keep GROUP", "a group that must not wait longer; may be repeated", action="append", default=[])
    words = (
        f"which of {','.join(KINDS)} (default the first four); a lower degree makes statements run longer, a timeout "
        f"may end them; on an Autonomous Database {','.join(kinds_of(autonomous=True))} (default both)"
    )
    option(parser, "--may-change LIST", words, type=_kinds, default=())
    option(parser, "--script N", "print the scripts of choice N (default 1, the best)", type=positive, default=1)
    add_format(parser, "text", "json", "html")
    output(parser, "-o --output FILE", "write the advice to FILE; a file that advise wrote is replaced")
    option(parser, "--seed N", "seed of the random order of the groups", type=int, default=1)


def _kinds(text: str) -> tuple[str, ...]:
    words = [word.strip().lower() for word in text.split(",")]
    for word in words:
        if word in _CPU_LIMIT_NAMES:
            raise ValueError(
                f"{word!r}: under another UTILIZATION_LIMIT statements run for a longer or shorter time, which no view "
                "shows, so presman does not advise on it; presman whatif --cpu-limit GROUP=N shows the CPU that groups "
                "would lack"
            )
        if word not in EVERY_KIND:
            raise ValueError(f"unknown {word!r}, {did_you_mean(word, EVERY_KIND)}")
    return tuple(kind for kind in EVERY_KIND if kind in words)


def run(options: Namespace) -> int:
    """Print the advice. Raises Failure."""
    if not options.goal:
        raise Failure(f"--goal is needed, such as {EXAMPLES}")
    path = None
    if options.output not in {None, "-"}:
        path = output_path(options.output, _KINDS_OF_FILE[options.format], options.target or "")
    watched = WatchedPlan(lambda autonomous: _refuse_kinds(options.may_change, autonomous=autonomous))
    demands, cache = CpuDemands(), RowCache()

    def take(came: ReadingCame) -> None:
        watched.take(came)
        demands.take(Facts.of(came.previous, came.snapshot, cache), came.reading)

    arrivals = arrivals_of(options, take)
    keep = [*map(as_named, options.keep)]
    seen = sorted({each.group for each in arrivals})
    refuse_unknown("--goal", [goal.group for goal in options.goal], seen)
    refuse_unknown("--keep", keep, seen)
    wanted = AdviceWanted(options.goal, keep, options.may_change, options.seed, scripted=options.script)
    found = advise(arrivals, watched.plan(), wanted, _progress(options.goal[0]), demands.found).advice
    if options.format == "json":
        from presman.output.json_document import plain, written

        text = written({"format": 1, "presman": __version__, **plain(found)}, ascii_only=console.wants_ascii())
    elif options.format == "html":
        text = as_page(found, datetime.now(UTC))
    else:
        text = as_text(found)
    _write(path, text, options.format)
    return exit_codes.OK if found.verdict in {"met", "advised"} else exit_codes.FINDINGS


def _write(path: Path | None, text: str, form: str) -> None:
    if path is None:
        (console.show if form == "text" else console.put)(text)
        return
    if form == "text":
        text = f"Advice of presman {__version__}, {datetime.now(UTC).astimezone():%Y-%m-%d %H:%M:%S}\n\n{text}"
    write_whole(path, text.encode("utf-8"))
    console.note(f"advice in {path}")


def _refuse_kinds(kinds: Sequence[str], *, autonomous: bool) -> None:
    """Raise Failure if a kind of changes does not exist on this database."""
    known = kinds_of(autonomous=autonomous)
    only = "" if autonomous else "that exists on an Autonomous Database; "
    where = "on an Autonomous Database" if autonomous else "here"
    for kind in kinds:
        if kind not in known:
            raise Failure(f"--may-change {kind}: {only}what can be changed {where} is {', '.join(known)}")


def _progress(goal: Goal) -> Callable[[int, Scored], None]:
    """Return a function that reports the progress of the search on standard error every few seconds."""
    due = time.monotonic() + _NOTE_EVERY

    def take(replayed: int, best: Scored) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _NOTE_EVERY
            wait = duration(best.waits[0]) if best.waits[0] < 1e9 else "timed out"
            best_wait = f"{goal.percentile} wait {wait} of what the search sees of {goal.group}"
            console.note(f"{replayed} choices replayed, best so far: {best_wait}; Ctrl-C keeps it")

    return take
