"""A parser of arguments that reports an error in one line, and the readers of option values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Sequence
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from presman.base.errors import InputError, OneOf, nearest
from presman.base.formats import listed, seconds_of
from presman.base.group_names import as_named
from presman.cli import console, exit_codes

if TYPE_CHECKING:
    from presman.base.certificates import Certificates


INTERVAL = 1.0
"""Seconds between the two polls of a command that prints one reading."""

_NO_VALUE = ": expected one argument"
"""The end of argparse's message about an option without a value, or with a value that begins with - like an option."""


_NEGATIVE = re.compile(r"-\.?\d")
"""Words that argparse takes for a value and not an option: also -15m, a time before the last poll."""


_TIMES = {"at": "--at", "start": "--from", "end": "--to"}
"""The options that choose a time in a recording, by their names in the namespace."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line, with the nearest name if there is one.

    Its help explains the options `hidden` (their names in the namespace) only for `--help all`; of the options that
    choose a time it accepts those in `times`.
    """

    def __init__(self, *, hidden: Collection[str] = (), times: Collection[str] = _TIMES, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options)
        self._hidden, self._times = hidden, times
        self._negative_number_matcher = _NEGATIVE

    def _hide_options(self) -> None:
        """List the options that are `hidden` by name, without their explanations."""
        actions = [action for action in self._actions if action.dest in self._hidden]
        names = ", ".join(action.option_strings[-1] for action in actions)
        for action in actions:
            action.help = argparse.SUPPRESS
        if actions:
            self.add_argument_group(f"more options ({self.prog} --help all)", names)

    def error(self, message: str) -> NoReturn:
        """Raise Failure instead of printing a usage page."""
        option = message.removeprefix("argument ").removesuffix(_NO_VALUE)
        action = self._option_string_actions.get(option.rpartition("/")[2])
        if action is not None and action.help and message.endswith(_NO_VALUE):
            message = f"{option} needs a value: {action.help % vars(action)}"
        raise exit_codes.Failure(f"{message} (see {self.prog} --help)")

    def _print_message(self, message: str, file: object = None) -> None:  # noqa: ARG002
        """Write a help page or the version; argparse itself would ignore a full disk."""
        if message:
            console.put(message)

    def _get_value(self, action: argparse.Action, text: str) -> Any:
        """Return the value of an option; its reader says what is wrong with it, argparse if it is `int` or `float`."""
        if not callable(action.type) or action.type in {int, float}:
            return super()._get_value(action, text)
        try:
            return action.type(text)
        except (ValueError, InputError) as error:
            raise argparse.ArgumentError(action, str(error)) from None

    def read(self, arguments: Sequence[str], known: argparse.Namespace) -> argparse.Namespace:
        """Return the options of `arguments` added to those in `known`. Raises Failure."""
        if {"-h", "--help"} & set(arguments) and "all" not in arguments:
            self._hide_options()
        found, extra = self.parse_known_args(arguments, known)
        if extra:
            self.error(self._stray(extra[0]))
        for given, name in _TIMES.items():
            if given not in self._times and getattr(found, given, None) is not None:
                used = listed([other for each, other in _TIMES.items() if each in self._times])
                self.error(f"{self.prog} does not use {name}" + (f", but {used}" if used else ""))
        return found

    def _stray(self, word: str) -> str:
        """Return what is wrong with a word that is neither an option nor a positional argument."""
        if not word.startswith("-"):
            # The word may be a connect string with a password, and the message may go to a log.
            return f"too many arguments: {'user/***@...' if {'@', '/'} & set(word) else repr(word)}"
        name = word.partition("=")[0]
        guess = nearest(name, [option for option in self._option_string_actions if option.startswith("--")])
        return f"unknown option {name}" + (f", did you mean {guess}?" if guess else "")


def option(parser: argparse._ActionsContainer, names: str, words: str, **how: Any) -> None:
    """Add an option or a positional argument to a parser or a group: its names, followed by the name of its value.

    An option without the name of a value is a flag. `words` are its help, `how` passes the rest to argparse.
    """
    *own, value = names.split()
    if value.startswith("-"):
        own.append(value)
        how = {"action": "store_true"} | how
    else:
        how["metavar"] = value
    parser.add_argument(*own, help=words, **how)


def output(parser: argparse._ActionsContainer, names: str, words: str, **how: Any) -> None:
    """Add an option that names a file to write."""
    option(parser, names, words, type=_file_name, **how)


def _file_name(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty, and a name is needed")
    return text


def choice(parser: argparse._ActionsContainer, name: str, words: str, *known: str) -> None:
    """Add an option whose value is one of `known`; the first is the default."""
    option(parser, name, words, type=OneOf(*known), default=known[0])


def seconds(text: str) -> float:
    """Read a refresh interval by the rules of config.ini."""
    from presman.config.config_file import refresh_seconds

    return refresh_seconds(text)


def measure(text: str) -> str:
    """Read the name of a measure."""
    from presman.config.config_file import measure_named

    return measure_named(text)


def some_seconds(text: str) -> float:
    """Read a duration: seconds, or 90s, 15m, 2h."""
    value = seconds_of(text)
    if not 0 < value < 1e8:
        raise ValueError(f"{text!r} is {'longer than three years' if value else 'not above 0'}")
    return value


def age(text: str) -> float:
    """Read an age in seconds: 90m, 12h, 14d. The unit is required: older polls are removed, and 14 might mean days."""
    value = seconds_of(text, bare=False)
    if not 60 <= value < 1e10:
        raise ValueError(f"{text!r} is not an age of at least a minute, such as 90m, 12h or 14d")
    return value


def size(text: str) -> int:
    """Read a size in bytes: 500M, 2G."""
    scale = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}.get(text[-1:].lower(), 0)
    try:
        value = float(text[:-1]) * scale
    except ValueError:
        value = 0.0
    if not 1 << 20 <= value < 1 << 60:
        raise ValueError(f"{text!r} is not a size of at least 1M, such as 500M or 2G")
    return int(value)


def listening(text: str) -> tuple[str, int]:
    """Read HOST:PORT, or [ADDRESS]:PORT for IPv6; port 0 means any free port."""
    host, colon, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    usable = colon and port.isascii() and port.isdigit() and int(port) < 65536
    if not usable or not host or (":" in host and not text.startswith("[")):
        raise ValueError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:9730 or [::1]:9730")
    return host, int(port)


def positive(text: str) -> int:
    """Read a count of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def of_group(least: float, most: float, *, whole: bool = False) -> Callable[[str], tuple[str, float]]:
    """Return a reader of GROUP=NUMBER, for numbers between two bounds, whole numbers only if `whole`."""

    def read(text: str) -> tuple[str, float]:
        name, mark, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = nan
        if not mark or not name or isnan(value):
            raise ValueError(f"{text!r} is not GROUP=NUMBER")
        if not least <= value <= most:
            raise ValueError(f"{text!r}: the number must be from {least:.0f} to {most:.0f}")
        if whole and value != int(value):
            raise ValueError(f"{text!r}: the number must be whole")
        return as_named(name), value

    return read


TARGET_HELP = """\
TARGET is the same everywhere:
  NAME                        a section of config.ini
  user@host[:port]/service    a database (asks for the password; user/password@... works too)
  demo:SCENARIO[?seed=N&speed=X&size=F&release=R]   the simulated database, or your own demo:FILE.toml
  spool:FOLDER[?zone=Z&release=R&encoding=E] CSV files, one per view, as `presman collect` makes them
  FILE.presman, recording:FILE|FOLDER, postgresql+psycopg://user@host/db[?database=D&at=T&from=T&to=T]
                              what `presman record` wrote"""


def common(prog: str = "presman") -> Parser:
    """Return the options that every command takes, before or after its name; `prog` names it in errors."""
    parser = Parser(add_help=False, prog=prog)
    group = parser.add_argument_group("options everywhere")
    option(group, "--config FILE", "read FILE instead of config.ini")
    option(group, "--refresh S", "seconds between polls (default 2, least 0.5)", type=seconds)
    words = "seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data"
    option(group, "--poll-timeout S", words, type=some_seconds)
    option(group, "--scope SCOPE", "cluster (GV$, default) or instance (V$)", type=OneOf("cluster", "instance"))
    words = "connect through Oracle Client libraries, found automatically or in LIBDIR"
    option(group, "--thick =LIBDIR", words, nargs="?")
    words = "the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics"
    option(group, "--packs PACK", words, type=OneOf("none", "diagnostics", "tuning"))
    option(group, "--theme NAME", "colours of the monitor")
    window = parser.add_argument_group("of a recording")
    option(window, "--at TIME", "the poll at that time: 2026-11-22 03:12, 03:12, '3m ago'")
    option(window, "--from TIME", "from this time on", dest="start")
    option(window, "--to TIME", "up to this time", dest="end")
    return parser


def add_log_options(parser: Parser) -> None:
    """Add the options of long-running commands: the form and destination of their messages."""
    group = parser.add_argument_group("messages")
    option(group, "--log-format F", "text (default), or json: one object a line", type=OneOf("text", "json"))
    words = "debug (each poll), info (default), warning, error"
    option(group, "--log-level L", words, type=OneOf("debug", "info", "warning", "error"))
    option(group, "--log-file FILE", "append to FILE (log rotation is noticed); errors also to standard error")


def add_poll_times(parser: Parser, timeout: str) -> None:
    """Add the options of commands that poll twice: the interval, and the time limit, whose help is `timeout`."""
    option(parser, "--interval S", "between the two polls (default 1)", type=some_seconds, default=INTERVAL)
    option(parser, "--timeout S", timeout, type=some_seconds, default=30.0)


def add_format(parser: Parser, *known: str) -> None:
    """Add the option that chooses the format of the answer from `known`; the first is the default."""
    choice(parser, "--format F", f"{known[0]} (default), {', '.join(known[1:])}", *known)


def add_screen_options(parser: Parser) -> None:
    """Add the options of the monitor, on a real or the simulated database."""
    option(parser, "--polls N", "without a terminal: how many readings to print", type=positive, default=3)
    option(parser, "--bell", "ring the terminal's bell when a new alert appears")
    add_allow_actions(parser)
    words = "begin with the tour, or not (default: in the demo, until you have finished it once)"
    option(parser, "--tour", words, action=argparse.BooleanOptionalAction)


def add_allow_actions(parser: Parser, where: str = "") -> None:
    """Add the option that allows actions; `where` is empty or begins with " in"."""
    text = f"allow start, switch, cancel and kill (key a){where}, each confirmed first"
    option(parser, "--allow-actions", text)


def add_listen(parser: Parser, words: str, usual: str) -> None:
    """Add the option for the address that a command listens on."""
    option(parser, "--listen HOST:PORT", words, type=listening, default=listening(usual))


def add_certificate(parser: Parser) -> None:
    """Add the options for TLS of commands that listen."""
    option(parser, "--certificate FILE", "TLS with this certificate and its chain (PEM)")
    option(parser, "--key FILE", "the certificate's key (default: in the same file)")


def certificates_of(options: argparse.Namespace) -> Certificates | None:
    """Return the certificates for TLS, None for plain HTTP. Raises CertificateError, Failure."""
    from presman.base.certificates import CertificateFiles, Certificates

    clients = getattr(options, "client_ca", None)
    if not options.certificate:
        for option, given in (("--key", options.key), ("--client-ca", clients)):
            if given:
                raise exit_codes.Failure(f"{option} goes with --certificate")
        return None
    key, authorities = (Path(name) if name else None for name in (options.key, clients))
    return Certificates(CertificateFiles(Path(options.certificate), key, authorities))


def hidden_options(fitting: str) -> frozenset[str]:
    """Return the common options that the help of a command lists without explanation: all except those in `fitting`."""
    return frozenset(action.dest for action in common()._actions) - frozenset(fitting.split())


def command(
    description: str, examples: str, fitting: str | None = ""
) -> Callable[[Callable[[Parser], None]], Callable[[str], Parser]]:
    """Return a decorator of a function that adds a command's own options: then it returns the parser of that name.

    `fitting` are the common options that its help explains; it lists the others, and the parser refuses those that
    choose a time. None: its help lists no common options.
    """

    def decorated(add: Callable[[Parser], None]) -> Callable[[str], Parser]:
        def parser_of(name: str) -> Parser:
            how: dict[str, Any] = {"prog": f"presman {name}", "description": description}
            if fitting is not None:
                how |= {"parents": [common()], "hidden": hidden_options(fitting)}
                how["times"] = _TIMES.keys() & fitting.split()
            parser = Parser(epilog=f"examples:\n{examples}", **how)
            add(parser)
            return parser

        return parser_of

    return decorated
