"""Arguments of those who set up: a connection, grants, settings, the shell."""

from __future__ import annotations

from presman.cli.arguments.options import command_parser
from presman.cli.parser import OneOf, Parser


def connect() -> Parser:
    """Return the parser of `presman connect`."""
    parser = command_parser(
        "connect",
        "Ask for a database and who logs in, try it, explain what fails, and write a section of config.ini.\n"
        "Nothing is written before the last question; Ctrl-C leaves everything as it was.",
        """\
  presman connect
  presman connect prod
  presman connect prod --config ~/dba/config.ini""",
    )
    parser.add_argument("section", nargs="?", metavar="NAME", help="the section to write (default: asks)")
    return parser


def doctor() -> Parser:
    """Return the parser of `presman doctor`."""
    parser = command_parser(
        "doctor",
        "What presman can see in a database, line by line: release, containers, each query, and the missing grants.",
        """\
  presman doctor prod
  presman doctor monitor@dbhost/orcl --scope instance
  presman doctor --assumptions prod""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to examine (default: the one in config.ini)")
    parser.add_argument(
        "--assumptions",
        action="store_true",
        help="what presman assumes where no document says it in full, the SELECT that checks it, and its result here",
    )
    return parser


def grants() -> Parser:
    """Return the parser of `presman grants`."""
    parser = command_parser(
        "grants",
        "A script for SQL*Plus or SQLcl that makes a user who may read what presman reads, and no more.",
        """\
  presman grants > grants.sql
  presman grants --account common --user C##MONITOR
  presman grants --pdb ORCLPDB1 --release 12.2""",
    )
    parser.add_argument(
        "--account",
        type=OneOf("local", "common", "pdb"),
        metavar="KIND",
        help="local (default; a database without containers), common (the root of a CDB) or pdb",
    )
    parser.add_argument("--user", metavar="NAME", help="the user's name (default PRESMAN, common: C##PRESMAN)")
    parser.add_argument("--pdb", metavar="NAME", help="the pluggable database (default: the script asks)")
    parser.add_argument("--release", metavar="R", help="grants for release R and later (default 19)")
    return parser


def collect() -> Parser:
    """Return the parser of `presman collect`."""
    parser = command_parser(
        "collect",
        "Print a read-only script for SQL*Plus or SQLcl that spools what presman reads, one CSV file per view.\n"
        "The folder it fills is a target: spool:FOLDER.",
        """\
  presman collect --sql > presman_collect.sql
  presman collect --sql --release 12.1 > presman_collect.sql""",
    )
    parser.add_argument("--sql", action="store_true", help="print the script (the only thing there is, so far)")
    parser.add_argument("--release", metavar="R", help="the database's release (default: 19)")
    return parser


def config() -> Parser:
    """Return the parser of `presman config`."""
    parser = command_parser(
        "config",
        "Print each setting and where it comes from; passwords are masked.",
        """\
  presman config
  presman config prod
  presman config --sample > config.ini""",
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="the target whose settings are wanted")
    parser.add_argument("--sample", action="store_true", help="print a commented config.ini to start from")
    return parser


def completions() -> Parser:
    """Return the parser of `presman completions`."""
    parser = command_parser(
        "completions",
        "Print what lets a shell complete presman's commands, options and targets; `man` prints the manual page.\n"
        "--install puts both where your shell and man look for them, for your user only.",
        """\
  presman completions --install
  presman completions zsh --install
  presman completions bash > /etc/bash_completion.d/presman
  presman completions man | man -l -""",
    )
    parser.add_argument(
        "shell",
        nargs="?",
        type=OneOf("bash", "zsh", "fish", "man"),
        metavar="SHELL",
        help="bash, zsh, fish or man (with --install: the shell of $SHELL if none is named)",
    )
    parser.add_argument("--install", action="store_true", help="write it, and the manual page, into your home folder")
    return parser
