"""`presman replay FILE`: a recording on the screens of the monitor."""

from argparse import Namespace

from presman.cli.exit_codes import Failure
from presman.cli.parser import Parser, command, option, positive


@command(
    "A recording on the screens of the monitor: Space plays and stops, + and - change the speed, arrows step, J\n"
    "goes to a time, n and p to the next and the previous event. --at begins there, stopped.",
    """\
  presman replay prod.presman
  presman replay prod.presman --from 03:00 --to 04:00
  presman replay postgresql+psycopg://presman@dbhost/presman?database=prod""",
    "at start end theme",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman replay`."""
    option(parser, "target FILE|FOLDER|URL", "what `presman record` wrote")
    option(parser, "--polls N", "without a terminal: how many readings to print", type=positive, default=3)
    parser.set_defaults(allow_actions=False)


def run(options: Namespace) -> int:
    """Run `presman replay FILE`."""
    from presman.cli.settings import load
    from presman.cli.start import watch
    from presman.config.target import is_recording, named_recording
    from presman.config.targets import parse_target

    config = load(options)
    text = named_recording(options.target, config)
    if text in config.sections:
        if parse_target(text, config).recorded is None:
            raise Failure(f"{text} is not a recording: presman record {text} -o x.presman makes one")
    elif not is_recording(text):
        text = f"recording:{text}"
    return watch(text, config, options)
