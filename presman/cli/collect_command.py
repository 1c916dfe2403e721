"""`presman collect --sql`: a script that spools what presman reads."""

from argparse import Namespace

from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.parser import Parser, command_parser, option


def arguments() -> Parser:
    """Return the parser of `presman collect`."""
    parser = command_parser(
        "collect",
        "Print a read-only script for SQL*Plus or SQLcl that spools what presman reads, one CSV file per view.\n"
        "The folder it fills is a target: spool:FOLDER.",
        """\
  presman collect --sql > presman_collect.sql
  presman collect --sql --release 12.1 > presman_collect.sql""",
    )
    option(parser, "--sql", "print the script")
    option(parser, "--release R", "the database's release (default: 19)")
    return parser


def run(options: Namespace) -> None:
    """Run `presman collect --sql`."""
    if not options.sql:
        raise Failure("collect prints a script: presman collect --sql > presman_collect.sql")

    from presman.config.collect import collect_script
    from presman.config.target import release_of

    console.put(collect_script(release_of(options.release or "19", "--release ")))
