"""`presman -m MEASURE`: the tables of presman 1.x, on the new engine."""

import sys
from argparse import Namespace

from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.output_file import MEASURED, output_path
from presman.cli.parser import Parser, command, measure, option, output, positive
from presman.cli.polling import Polling
from presman.cli.settings import Resolved, load, resolve
from presman.output import v1_tables
from presman.output.csv_export import WideCsv
from presman.output.v1_tables import V1Table

_CLEAR = "\x1b[H\x1b[2J"


@command(
    "The tables of presman 1.x, refreshed until Ctrl-C.",
    """\
  presman -m cpu
  presman -m cpu -c 4 -p -o cpu.csv
  presman -m session_io -c TOTAL_IO_PERCT -p demo --polls 3""",
    "refresh scope start end",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman -m ...`, the command line of presman 1.x."""
    parser.prog = "presman -m"
    parser.usage = "presman -m MEASURE [-c COLUMN] [-p] [-o FILE] [--polls N] [TARGET]"
    option(parser, "target TARGET", "what to read (default: the one in config.ini)", nargs="?")
    option(parser, "-m MEASURE", "cpu, session_io, parallel, emphasis", dest="measure", type=measure)
    option(parser, "-c COLUMN", "index of a column from 0, or its name", dest="column")
    option(parser, "-p", "a bar per group for that column", dest="plot")
    output(parser, "-o FILE", "write that column to a CSV file, poll by poll", dest="output")
    option(parser, "--polls N", "stop after N polls", type=positive)


def run(options: Namespace) -> None:
    """Show one table until Ctrl-C or `--polls`."""
    resolved = resolve(options.target, load(options), options)
    measure = options.measure or resolved.measure or "cpu"
    if measure not in v1_tables.TABLES:
        known = ", ".join(v1_tables.TABLES)
        raise Failure(f"-m knows {known}; for {measure}: presman export --measure {measure}")
    column = _column(options, measure)
    file = WideCsv(output_path(options.output, MEASURED["csv"]), note=console.note) if options.output else None
    try:
        for came in Polling(resolved).moments(polls=options.polls):
            table = v1_tables.TABLES[measure](came.snapshot, came.reading)
            if file is not None and column is not None:
                file.write(came.reading.at, table.values(column))
            parameters = v1_tables.parameters(came.snapshot)
            console.show(_screen(resolved, measure, parameters, table, column if options.plot else None))
    except KeyboardInterrupt:
        console.note("Bye!")
        raise
    finally:
        if file is not None:
            file.close()


def _column(options: Namespace, measure: str) -> int | None:
    """Return the index of the column that -c names. Raises Failure if there is none, or if it has no numbers."""
    if options.column is None:
        if options.plot or options.output:
            raise Failure(f"{'-p' if options.plot else '-o'} needs -c COLUMN")
        return None
    columns = v1_tables.COLUMNS[measure]
    text = options.column
    index = int(text) if text.isdecimal() else next((i for i, name in enumerate(columns) if name == text.upper()), -1)
    # The columns before are the instance and the name of the group; emphasis has only the name.
    first = 1 if measure == "emphasis" else 2
    if first <= index < len(columns):
        return index
    known = ", ".join(f"{number} {columns[number]}" for number in range(first, len(columns)))
    raise Failure(f"-c {text}: {measure} has these columns of numbers: {known}")


def _screen(resolved: Resolved, measure: str, parameters: dict[str, str], table: V1Table, column: int | None) -> str:
    clear = _CLEAR if sys.stdout.isatty() else ""
    head = v1_tables.head(resolved.target.name, parameters)
    drawn = "" if column is None else "\n" + v1_tables.bars(table, column)
    note = f"{v1_tables.NOTES[measure]}\n" if measure in v1_tables.NOTES else ""
    return f"{clear}{head}\n(Refresh time: {resolved.refresh:g} seconds)\n{note}{v1_tables.boxed(table)}{drawn}\n"
