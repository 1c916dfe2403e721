"""`presman config`: where each setting comes from; `--sample` prints a config.ini."""

from argparse import Namespace

from presman.cli import console
from presman.cli.parser import Parser, command_parser, option


def arguments() -> Parser:
    """Return the parser of `presman config`."""
    parser = command_parser(
        "config",
        "Print each setting and where it comes from; passwords are masked.",
        """\
  presman config
  presman config prod
  presman config --sample > config.ini""",
        "config",
    )
    option(parser, "target TARGET", "the target whose settings to show", nargs="?")
    option(parser, "--sample", "print a commented config.ini to start from")
    return parser


def run(options: Namespace) -> None:
    """Run `presman config`."""
    from presman.cli.settings import describe, load, sample

    console.show(sample() if options.sample else describe(load(options), options))
