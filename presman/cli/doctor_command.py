"""`presman doctor TARGET`: what presman can see there, and which grants are missing."""

from argparse import Namespace

from presman.cli import console
from presman.cli.parser import Parser, command_parser, option
from presman.cli.settings import load, resolve


def arguments() -> Parser:
    """Return the parser of `presman doctor`."""
    parser = command_parser(
        "doctor",
        "What presman can see in a database, line by line: release, containers, each query, and the missing grants.",
        """\
  presman doctor prod
  presman doctor monitor@dbhost/orcl --scope instance
  presman doctor --assumptions prod""",
        "scope thick packs",
    )
    option(parser, "target TARGET", "what to examine (default: the one in config.ini)", nargs="?")
    option(
        parser,
        "--assumptions",
        "what presman assumes where Oracle's manuals do not say, the SELECT that checks it, and its result here",
    )
    return parser


def run(options: Namespace) -> None:
    """Run `presman doctor TARGET`."""
    from presman.config.doctor import check
    from presman.config.doctor import doctor as examine

    resolved = resolve(options.target, load(options), options)
    if options.assumptions:
        for line in check(resolved.target, scope=resolved.scope):
            console.show(line + "\n")
        return
    for line in examine(resolved.target, scope=resolved.scope, packs=resolved.packs):
        console.show(line + "\n")
