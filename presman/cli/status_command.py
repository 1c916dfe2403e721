"""`presman status`: the running presman commands of this user, and their state."""

from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime

from presman.base.run_status import FORMAT, RunLine, RunState, found_runs, lines_of
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.parser import Parser, add_format, command
from presman.figures.status_figures import RUNS
from presman.output.cells import Cell, lines, table
from presman.output.json_document import plain, written

WELL = frozenset({RunState.RUNNING, RunState.STARTING})


@command(
    "Your running presman commands (record, export, metrics): since when, polls, age of the newest poll, what is\n"
    "wrong, CPU and memory. A killed one is listed for a day, or until another replaces it.",
    """\
  presman status
  presman status --format json | jq '.runs[] | select(.state != "running")'
  sudo -u presman presman status || systemctl status presman-record
exit codes of status:
  0 no problem   3 nothing runs   7 something is late, lost, not written, hangs or died""",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman status`."""
    add_format(parser, "text", "json", "csv")


def run(options: Namespace) -> int:
    """Print what runs; the exit code shows whether all of it is well. Raises Failure."""
    try:
        runs = found_runs()
    except OSError as error:
        raise Failure(f"{error.filename or 'the state folder'}: {error.strerror or error}") from None
    now = datetime.now(UTC)
    found = [line for each in runs for line in lines_of(each, now)]
    if options.format == "json":
        console.put(_document(found, now))
    elif options.format == "csv":
        header: list[Cell] = [figure.key for figure in RUNS.columns]
        console.put_csv(lines([header, *([figure.value(line) for figure in RUNS.columns] for line in found)]))
    else:
        console.show("\n".join(table(RUNS.columns, found, console.width()) if found else [RUNS.empty]) + "\n")
    return _code(found)


def _document(found: Sequence[RunLine], now: datetime) -> str:
    """Return the lines as JSON, with the column names of CSV."""
    document = {
        "format": FORMAT,
        "time": plain(now),
        "runs": [{figure.key: plain(figure.value(line)) for figure in RUNS.columns} for line in found],
        "well": _code(found) == exit_codes.OK,
    }
    return written(document, ascii_only=console.wants_ascii())


def _code(found: Sequence[RunLine]) -> int:
    if not any(line.state is not RunState.DIED for line in found):
        return exit_codes.SOURCE if not found else exit_codes.PARTIAL
    return exit_codes.OK if all(line.state in WELL for line in found) else exit_codes.PARTIAL
