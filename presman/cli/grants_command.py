"""`presman grants`: grants.sql: creates a user who can read what presman reads, and nothing more."""

from argparse import Namespace

from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.parser import OneOf, Parser, command_parser, option


def arguments() -> Parser:
    """Return the parser of `presman grants`."""
    parser = command_parser(
        "grants",
        "A script for SQL*Plus or SQLcl that creates a user who can read what presman reads, and nothing more.",
        """\
  presman grants > grants.sql
  presman grants --account common --user C##MONITOR
  presman grants --pdb ORCLPDB1 --release 12.2""",
    )
    option(
        parser,
        "--account KIND",
        "local (default; a database without containers), common (the root of a CDB) or pdb",
        type=OneOf("local", "common", "pdb"),
    )
    option(parser, "--user NAME", "the user's name (default PRESMAN, common: C##PRESMAN)")
    option(parser, "--pdb NAME", "the pluggable database (default: the script asks)")
    option(parser, "--release R", "grants for release R and later (default 19)")
    return parser


def run(options: Namespace) -> None:
    """Run `presman grants`."""
    from presman.config.grants import AccountKind, grants_script
    from presman.config.target import release_of

    account = AccountKind(options.account or ("pdb" if options.pdb else "local"))
    if options.pdb and account is not AccountKind.PDB:
        raise Failure("--pdb goes with --account pdb")
    release = release_of(options.release or "19", "--release ")
    try:
        console.put(grants_script(release, account, user=options.user or "", pdb=options.pdb or ""))
    except ValueError as error:
        raise Failure(str(error)) from None
