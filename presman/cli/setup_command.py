"""Commands for the time before the first poll: `presman doctor`, `grants`, `collect` and `config`."""

from argparse import Namespace

from presman.base.errors import OneOf
from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.parser import Parser, command, option
from presman.cli.settings import describe, load, resolve, sample
from presman.config.target import release_of


@command(
    "What presman can see in a database, line by line: release, containers, each query, and the missing grants.",
    """\
  presman doctor prod
  presman doctor monitor@dbhost/orcl --scope instance
  presman doctor --assumptions prod""",
    "scope thick packs",
)
def doctor_arguments(parser: Parser) -> None:
    """Add the options of `presman doctor`."""
    option(parser, "target TARGET", "what to examine (default: the one in config.ini)", nargs="?")
    words = "what presman assumes where Oracle's manuals do not say, the SELECT that checks it, and its result here"
    option(parser, "--assumptions", words)


def doctor_run(options: Namespace) -> None:
    """Run `presman doctor TARGET`."""
    from presman.config.doctor import check
    from presman.config.doctor import doctor as examine

    resolved = resolve(options.target, load(options), options)
    target, scope, packs = resolved.target, resolved.scope, resolved.packs
    lines = check(target, scope=scope) if options.assumptions else examine(target, scope=scope, packs=packs)
    for line in lines:
        console.show(line + "\n")


@command(
    "A script for SQL*Plus or SQLcl that creates a user who can read what presman reads, and nothing more.",
    """\
  presman grants > grants.sql
  presman grants --account common --user C##MONITOR
  presman grants --pdb ORCLPDB1 --release 12.2""",
)
def grants_arguments(parser: Parser) -> None:
    """Add the options of `presman grants`."""
    words = "local (default; a database without containers), common (the root of a CDB) or pdb"
    option(parser, "--account KIND", words, type=OneOf("local", "common", "pdb"))
    option(parser, "--user NAME", "the user's name (default PRESMAN, common: C##PRESMAN)")
    option(parser, "--pdb NAME", "the pluggable database (default: the script asks)")
    option(parser, "--release R", "grants for release R and later (default 19)")


def grants_run(options: Namespace) -> None:
    """Run `presman grants`."""
    from presman.config.grants import AccountKind, grants_script

    account = AccountKind(options.account or ("pdb" if options.pdb else "local"))
    if options.pdb and account is not AccountKind.PDB:
        raise Failure("--pdb goes with --account pdb")
    release = release_of(options.release or "19", "--release ")
    try:
        console.put(grants_script(release, account, user=options.user or "", pdb=options.pdb or ""))
    except ValueError as error:
        raise Failure(str(error)) from None


@command(
    "Print a read-only script for SQL*Plus or SQLcl that spools what presman reads, one CSV file per view.\n"
    "The folder it fills is a target: spool:FOLDER.",
    """\
  presman collect --sql > presman_collect.sql
  presman collect --sql --release 12.1 > presman_collect.sql""",
)
def collect_arguments(parser: Parser) -> None:
    """Add the options of `presman collect`."""
    option(parser, "--sql", "print the script")
    option(parser, "--release R", "the database's release (default: 19)")


def collect_run(options: Namespace) -> None:
    """Run `presman collect --sql`."""
    if not options.sql:
        raise Failure("collect prints a script: presman collect --sql > presman_collect.sql")

    from presman.config.collect import collect_script

    console.put(collect_script(release_of(options.release or "19", "--release ")))


@command(
    "Print each setting and where it comes from; passwords are masked.",
    """\
  presman config
  presman config prod
  presman config --sample > config.ini""",
    "config",
)
def config_arguments(parser: Parser) -> None:
    """Add the options of `presman config`."""
    option(parser, "target TARGET", "the target whose settings to show", nargs="?")
    option(parser, "--sample", "print a commented config.ini to start from")


def config_run(options: Namespace) -> None:
    """Run `presman config`."""
    console.show(sample() if options.sample else describe(load(options), options))
