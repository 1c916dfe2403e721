"""`presman connect`: asks for a database, tries it, explains what fails, and writes a section of config.ini."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from textwrap import fill

from presman.base.errors import InputError
from presman.base.private_files import expanded
from presman.base.text import clean
from presman.cli import asking, console, exit_codes
from presman.cli.connect_questions import Keeping, ask_address, ask_keeping, ask_password, ask_user, put_away
from presman.cli.exit_codes import Failure
from presman.cli.interruption import ending_reads
from presman.cli.limits import bound_memory
from presman.cli.parser import Parser, command_parser
from presman.cli.settings import load
from presman.config.config_file import NAME, Config, places
from presman.config.connect_answers import Answers
from presman.config.doctor import doctor
from presman.config.section_writing import write_section
from presman.config.target import Target
from presman.rows.queries import Scope
from presman.sources import Source, SourceError
from presman.sources.oracle.login_failures import ADDRESS, PASSWORD, USER, explained

INTRODUCTION = """\
This makes a section of {path} for a database.
Nothing is written before the last question; Ctrl-C leaves everything as it was.
"""
WIDEST = 100
"""Columns of a paragraph."""

RESERVED = ("demo", "spool")
"""Words that mean something else as a TARGET."""


def arguments() -> Parser:
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


def run(options: Namespace) -> int:
    """Run `presman connect [NAME]`. Raises Failure without a terminal."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        raise Failure(
            "connect asks questions, so it needs a terminal; without one: presman config --sample > config.ini"
        )
    path, config = _config(options)
    if options.section is not None and (trouble := _name_trouble(options.section)):
        raise Failure(f"{options.section!r}: {trouble}")
    try:
        console.show(INTRODUCTION.format(path=path))
        answers = _reach(_start(options), config, Scope(options.scope) if options.scope else Scope.CLUSTER)
        return _write(answers, path, config, options.section)
    except UnicodeDecodeError:
        raise Failure("what was typed is not text in this terminal's encoding; nothing was written") from None
    except EOFError:
        console.show("\n")
        raise Failure("stopped: nothing was written", exit_codes.INTERRUPTED) from None
    except KeyboardInterrupt:
        console.show("\n")
        console.say("stopped: nothing was written")
        raise


def _config(options: Namespace) -> tuple[Path, Config]:
    """Return the file to write and what is in it; one that is named need not be there yet. Raises ConfigError."""
    named = options.config or os.environ.get("PRESMAN_CONFIG")
    if named and not expanded(named).exists():
        return expanded(named), Config()
    config = load(options)
    return config.path or places()[-1], config


def _start(options: Namespace) -> Answers:
    return Answers("", thick=options.thick is not None, lib_dir=options.thick or "")


# -- asking and trying ------------------------------------------------------------------------------------------


def _reach(answers: Answers, config: Config, scope: Scope) -> Answers:
    """Ask and try until the database answers, or what was said is to be kept as it is."""
    steps = {ADDRESS, USER, PASSWORD}
    while True:
        if ADDRESS in steps:
            answers = ask_address(answers, config)
        if USER in steps:
            answers = ask_user(answers)
        if PASSWORD in steps and answers.user:
            answers = ask_password(answers)
        console.show("\n")
        error = _try(answers, config, scope)
        if error is None:
            return answers
        chosen = _after(error)
        if chosen == "s":
            return answers
        if chosen == "q":
            raise EOFError
        steps = {"a": {ADDRESS}, "u": {USER, PASSWORD}, "p": {PASSWORD}, "t": set[str]()}[chosen]


def _try(answers: Answers, config: Config, scope: Scope) -> Exception | None:
    """Say what presman sees there; return why it cannot get in."""
    try:
        target = answers.target(config)
        bound_memory()
        source = target.make_source()
        with ending_reads(source):
            _examine(target, source, scope)
    except (SourceError, InputError) as error:
        return error
    return None


def _examine(target: Target, source: Source, scope: Scope) -> None:
    """Show what doctor finds, without the list of views."""
    part = 0
    for text in doctor(replace(target, factory=lambda: source), scope=scope):
        part += not text
        if part != 1:
            console.show(text + "\n")


def _after(error: Exception) -> str:
    """Explain a failure and ask what to do about it."""
    console.show("\n" + _filled(f"That did not work: {clean(str(error))}"))
    found = explained(error.code, str(error)) if isinstance(error, SourceError) else None
    if found is None:
        console.show("presman has no advice on this error.\n")
    else:
        console.show("".join(_filled(text, "  - ") for text in found.advice[1:]))
    console.show("\n")
    ways = {
        "a": "another address",
        "u": "another user",
        "p": "another password",
        "t": "try the same again",
        "s": "keep it without a test",
        "q": "stop; nothing is written",
    }
    change = found.change if found else ""
    return asking.choice("What now?", ways, {ADDRESS: "a", USER: "u", PASSWORD: "p"}.get(change, "t"))


def _filled(text: str, mark: str = "") -> str:
    """Return a paragraph as wide as the terminal, and no wider than is pleasant to read."""
    return (
        fill(text, min(console.width() or WIDEST, WIDEST), initial_indent=mark, subsequent_indent=" " * len(mark))
        + "\n"
    )


# -- writing ----------------------------------------------------------------------------------------------------


def _write(answers: Answers, path: Path, config: Config, section: str | None) -> int:
    console.show("\n")
    keeping = ask_keeping(answers)
    name = _section(answers, config, section)
    values = answers.values(password=keeping.in_file, command=keeping.command)
    console.show(f"\n[{name}]\n" + "".join(f"{option} = {_shown(option, text)}\n" for option, text in values.items()))
    there = "" if path.exists() else ", a new file that only you can read"
    if not asking.agreed(f"Write this into {path}{there}?", usual=True):
        raise EOFError
    _keep(answers, keeping)
    write_section(path, name, values, secret=bool({"password", "wallet_password"} & set(values)))
    console.show(f"Written. To watch it: presman {name}\n")
    return exit_codes.OK


def _keep(answers: Answers, keeping: Keeping) -> None:
    trouble = put_away(answers, keeping)
    if trouble:
        console.show(f"The keyring did not take the password ({trouble}): presman will ask for it each time.\n")


def _shown(option: str, value: str) -> str:
    return "***" if option in {"password", "wallet_password"} else clean(value)


def _section(answers: Answers, config: Config, wanted: str | None) -> str:
    """Ask what the section is called, and whether one that is there is to be replaced."""
    while True:
        name = wanted or asking.line("Name of the section, to be typed as: presman NAME", answers.name())
        wanted = None
        if trouble := _name_trouble(name):
            console.show(f"{trouble}\n")
            continue
        if name not in config.sections:
            return name
        settings = config.sections[name]
        what = "a connection" if settings.connection else "no database yet"
        console.show(f"[{name}] exists and has {what}; its other settings and comments would stay.\n")
        if asking.agreed(f"Replace the connection in [{name}]?", usual=False):
            return name


def _name_trouble(name: str) -> str:
    from presman.cli.command_line import COMMANDS

    if not NAME.fullmatch(name):
        return "a section's name has letters, digits, _ . and - only"
    if name in COMMANDS or name in RESERVED:
        return f"presman {name} means something else: take another name"
    return ""
