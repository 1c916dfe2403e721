"""`presman connect`: asks for a database, tries it, explains what fails, and writes a section of config.ini."""

import dataclasses
import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from getpass import getpass
from pathlib import Path
from textwrap import fill

from msgspec import Struct
from msgspec.structs import replace

from presman.base.errors import InputError
from presman.base.private_files import exists, expanded
from presman.base.secret import Secret
from presman.base.text import clean
from presman.cli import console, exit_codes
from presman.cli.command_line import COMMANDS
from presman.cli.exit_codes import Failure
from presman.cli.interruption import ending_reads
from presman.cli.limits import bound_memory
from presman.cli.parser import Parser, command, option
from presman.cli.settings import load
from presman.config import connect_answers
from presman.config.config_file import NAME, Config, PasswordCommand, locations
from presman.config.connect_answers import Answers
from presman.config.credentials import PasswordCommandError, has_keyring, password_of, to_keyring
from presman.config.doctor import doctor
from presman.rows.queries import Scope
from presman.sources import SourceError
from presman.sources.oracle.settings import ADDRESS, PASSWORD, USER, explained

INTRODUCTION = """\
This makes a section of {path} for a database.
Nothing is written before the last question; Ctrl-C leaves everything as it was.
"""
WIDEST = 100
"""The most columns that a paragraph takes."""

RESERVED = ("demo", "spool")
"""Words that mean something else as a TARGET."""


@command(
    "Ask for a database and who logs in, try it, explain what fails, and write a section of config.ini.\n"
    "Nothing is written before the last question; Ctrl-C leaves everything as it was.",
    """\
  presman connect
  presman connect prod
  presman connect prod --config ~/dba/config.ini""",
    "config scope thick",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman connect`."""
    option(parser, "section NAME", "the section to write (default: asks)", nargs="?")


def run(options: Namespace) -> None:
    """Run `presman connect [NAME]`. Raises Failure without a terminal."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        cure = "without one: presman config --sample > config.ini"
        raise Failure(f"connect asks questions, so it needs a terminal; {cure}")
    path, config = _config(options)
    if options.section is not None and (trouble := _name_trouble(options.section)):
        raise Failure(f"{options.section!r}: {trouble}")
    try:
        console.show(INTRODUCTION.format(path=path))
        answers = Answers("", thick=options.thick is not None, lib_dir=options.thick or "")
        answers = _reach(answers, config, Scope(options.scope) if options.scope else Scope.CLUSTER)
        _write(answers, path, config, options.section)
    except UnicodeDecodeError:
        raise Failure("what was typed is not text in this terminal's encoding; nothing was written") from None
    except EOFError:
        console.show("\n")
        raise Failure("stopped: nothing was written", exit_codes.INTERRUPTED) from None
    except KeyboardInterrupt:
        console.show("\n")
        console.note("stopped: nothing was written")
        raise


def _config(options: Namespace) -> tuple[Path, Config]:
    """Return the file to write and its content; a file that the user named may not exist yet. Raises ConfigError."""
    named = options.config or os.environ.get("PRESMAN_CONFIG")
    if named and not exists(expanded(named)):
        return expanded(named), Config()
    config = load(options)
    return config.path or locations()[-1], config


# -- asking and trying ------------------------------------------------------------------------------------------


def _reach(answers: Answers, config: Config, scope: Scope) -> Answers:
    """Ask and try until the database answers, or until the user keeps the answers without a test."""
    steps = {ADDRESS, USER, PASSWORD}
    while True:
        if ADDRESS in steps:
            answers = ask_address(answers, config)
        if USER in steps:
            answers = ask_user(answers)
        if PASSWORD in steps and answers.user:
            answers = ask_password(answers)
        console.show("\n")
        if (error := _try(answers, config, scope)) is None:
            return answers
        chosen = _ask_what_next(error)
        if chosen == "s":
            return answers
        if chosen == "q":
            raise EOFError
        steps = {"a": {ADDRESS}, "u": {USER, PASSWORD}, "p": {PASSWORD}, "t": set[str]()}[chosen]


def _try(answers: Answers, config: Config, scope: Scope) -> Exception | None:
    """Show what presman sees in the database; return the error if it cannot connect."""
    part = 0
    try:
        target = answers.target(config)
        bound_memory()
        source = target.make_source()
        with ending_reads(source):
            for text in doctor(dataclasses.replace(target, factory=lambda: source), scope=scope):
                part += not text
                if part != 1:  # without the list of views
                    console.show(text + "\n")
    except (SourceError, InputError) as error:
        return error
    return None


def _ask_what_next(error: Exception) -> str:
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
    return ask_choice("What now?", ways, {ADDRESS: "a", USER: "u", PASSWORD: "p"}.get(change, "t"))


def _filled(text: str, mark: str = "") -> str:
    """Return a paragraph as wide as the terminal, at most WIDEST columns."""
    width = min(console.width() or WIDEST, WIDEST)
    return fill(text, width, initial_indent=mark, subsequent_indent=" " * len(mark)) + "\n"


# -- writing ----------------------------------------------------------------------------------------------------


def _write(answers: Answers, path: Path, config: Config, section: str | None) -> None:
    console.show("\n")
    keeping = ask_password_storage(answers)
    name = _section(answers, config, section)
    values = answers.values(password=keeping.in_file, command=keeping.command)
    console.show(f"\n[{name}]\n" + "".join(f"{option} = {_shown(option, text)}\n" for option, text in values.items()))
    is_new = "" if exists(path) else ", a new file that only you can read"
    if not ask_yes(f"Write this into {path}{is_new}?", usual=True):
        raise EOFError
    if trouble := store_password(answers, keeping):
        console.show(f"The keyring did not take the password ({trouble}): presman will ask for it each time.\n")
    connect_answers.write_section(path, name, values, secret=bool({"password", "wallet_password"} & set(values)))
    console.show(f"Written. To watch it: presman {name}\n")


def _shown(option: str, value: str) -> str:
    return "***" if option in {"password", "wallet_password"} else clean(value)


def _section(answers: Answers, config: Config, wanted: str | None) -> str:
    """Ask for the name of the section, and whether to replace one that exists."""
    while True:
        name = wanted or ask_line("Name of the section, to be typed as: presman NAME", answers.name())
        wanted = None
        if trouble := _name_trouble(name):
            console.show(f"{trouble}\n")
            continue
        if name not in config.sections:
            return name
        what = "a connection" if config.sections[name].connection else "no database yet"
        console.show(f"[{name}] exists and has {what}; its other settings and comments would stay.\n")
        if ask_yes(f"Replace the connection in [{name}]?", usual=False):
            return name


def _name_trouble(name: str) -> str:
    if not NAME.fullmatch(name):
        return "a section's name has letters, digits, _ . and - only"
    if name in COMMANDS or name in RESERVED:
        return f"presman {name} means something else: take another name"
    return ""


# -- questions on a terminal --------------------------------------------------------------------------------------


def ask_line(question: str, usual: str = "") -> str:
    """Return the typed line, stripped; `usual` if it is empty. Raises EOFError."""
    shown = f" [{clean(usual)}]" if usual else ""
    console.show(f"{question}{shown}: ")
    if not (typed := sys.stdin.readline()):
        raise EOFError
    return typed.strip() or usual


def ask_secret(question: str) -> Secret:
    """Return the typed text, which is not shown. Raises EOFError."""
    return Secret(getpass(f"{question} (not shown): ", stream=sys.stdout))


def ask_choice(question: str, ways: Mapping[str, str], usual: str) -> str:
    """List `ways` and ask until the answer is one of their letters; return it. Raises EOFError."""
    console.show(f"{question}\n" + "".join(f"  {letter}  {text}\n" for letter, text in ways.items()))
    while True:
        typed = ask_line("Which", usual).lower()
        if typed in ways:
            return typed
        console.show(f"Type one of: {', '.join(ways)}\n")


def ask_yes(question: str, *, usual: bool) -> bool:
    """Return whether the answer is yes. Raises EOFError."""
    while True:
        typed = ask_line(f"{question} {'[Y/n]' if usual else '[y/N]'}").lower()
        if typed in {"", "y", "yes", "n", "no"}:
            return typed[:1] == "y" or (usual and not typed)
        console.show("Type y or n.\n")


# ---- The questions of `presman connect`: where the database is, who logs in, and the password.


class PasswordStorage(Struct, frozen=True):
    """Where to keep the password; nowhere if all are empty. `in_file` is the password itself."""

    in_file: str = ""
    command: str = ""
    in_keyring: bool = False


def ask_password_storage(answers: Answers) -> PasswordStorage:
    """Ask where to keep the password; without a password nothing is asked. Raises EOFError."""
    if answers.password is None:
        return PasswordStorage()
    ways = {"k": "the keyring of this desktop"} if has_keyring() else {}
    if not ways:
        cure = "pip install 'presman[keyring]' adds the desktop's, where there is one"
        console.show(f"There is no keyring here; {cure}.\n")
    ways |= {"c": "a command prints it when presman needs it (pass, vault, op, ...)"}
    if connect_answers.writable(answers.password.reveal()):
        ways |= {"f": "config.ini, which only you can read then"}
    ways |= {"n": "nowhere: presman asks each time"}
    while True:
        chosen = ask_choice("Where should presman find the password?", ways, next(iter(ways)) if "k" in ways else "n")
        if chosen == "k":
            return PasswordStorage(in_keyring=True)
        if chosen == "f":
            return PasswordStorage(in_file=answers.password.reveal())
        if chosen == "n":
            return PasswordStorage()
        if command := _command(answers):
            return PasswordStorage(command=command)


def _command(answers: Answers) -> str:
    """Ask for a command and run it; return "" if it does not print the typed password."""
    typed = ask_line("Command (no shell: no pipes, no variables)")
    try:
        found = password_of(PasswordCommand.parse(typed))
    except (PasswordCommandError, ValueError) as error:
        console.show(f"{error}\n\n")
        return ""
    if found == answers.password:
        return typed
    console.show("Its first line is not the password that was typed.\n\n")
    return ""


def store_password(answers: Answers, keeping: PasswordStorage) -> str:
    """Store the password in the keyring if the user chose it; return why that failed, "" if all is well."""
    if not keeping.in_keyring or answers.password is None:
        return ""
    return to_keyring(answers.shown, answers.password)


MOST_ALIASES = 20
"""Aliases that are listed; the user can type any of them."""


def ask_address(answers: Answers, config: Config) -> Answers:
    """Ask for the address of the database, and for the wallet if it uses TLS. Raises EOFError."""
    folder, known = connect_answers.aliases(config, answers.config_dir)
    _offer(folder, known)
    while True:
        typed = ask_line("Database (host, host:port/service, alias, or the folder of tnsnames.ora)", answers.dsn)
        if found := _folder_of_names(typed):
            folder = found
            answers, known = replace(answers, config_dir=folder), connect_answers.aliases(config, folder)[1]
            _offer(folder, known)
            continue
        listed = list(known)[:MOST_ALIASES]
        if typed.isdecimal() and 0 < int(typed) <= len(listed):
            typed = listed[int(typed) - 1]
        try:
            answers = connect_answers.with_address(answers, typed, known)
        except ValueError as error:
            console.show(f"{error}\n")
            continue
        if connect_answers.lacks_service(answers.dsn, known):
            answers = _with_service(answers)
        if answers.dsn in known and not answers.config_dir and folder != config.defaults.config_dir:
            answers = replace(answers, config_dir=folder)  # so that the alias is found without TNS_ADMIN, too
        return _with_wallet(answers) if connect_answers.wants_tls(answers, known) else answers


def _folder_of_names(typed: str) -> str:
    """Return the typed folder if it is readable and has a tnsnames.ora, "" otherwise."""
    with suppress(InputError, OSError):
        folder = expanded(typed)
        return str(folder.resolve()) if (folder / "tnsnames.ora").is_file() else ""
    return ""


def _offer(folder: str, known: Mapping[str, str]) -> None:
    if not known:
        return
    console.show(f"\nAliases of {clean(folder)}/tnsnames.ora:\n")
    for number, alias in enumerate(list(known)[:MOST_ALIASES], 1):
        console.show(f"  {number:>2}  {clean(alias)}\n")
    if len(known) > MOST_ALIASES:
        console.show(f"      and {len(known) - MOST_ALIASES} more\n")


def _with_service(answers: Answers) -> Answers:
    """Ask for the port and service of a host."""
    host, colon, port = answers.dsn.rpartition(":")
    if not (colon and port.isdecimal()):
        host = answers.dsn
        while not ((port := ask_line("Port", "1521")).isdecimal() and 0 < int(port) < 65536):
            console.show("A port is a number from 1 to 65535.\n")
    question = "Service (one that `lsnrctl services` lists)"
    while not (service := ask_line(question)) or not connect_answers.writable(service):
        console.show("A service name is needed; each pluggable database has its own.\n")
    return replace(answers, dsn=f"{host}:{port}/{service}")


def _with_wallet(answers: Answers) -> Answers:
    usual = answers.wallet_location
    if not usual and answers.config_dir and not connect_answers.wallet_trouble(answers.config_dir):
        usual = answers.config_dir
    question = "Wallet folder with ewallet.pem; Enter for none, - to forget it"
    while (folder := ask_line(question, usual)) not in {"", "-"}:
        if not (trouble := connect_answers.wallet_trouble(folder, thick=answers.thick)):
            break
        console.show(f"{trouble}\n")
        usual = ""
    folder = "" if folder == "-" else folder
    answers = replace(answers, wallet_location=folder, wallet_password=None)
    if not folder:
        return answers
    while not connect_answers.writable((password := ask_secret("Wallet password; Enter for none")).reveal()):
        console.show("config.ini cannot have that: it begins or ends with a blank, or has control characters.\n")
    return replace(answers, wallet_password=password or None)


def ask_user(answers: Answers) -> Answers:
    """Ask who logs in; a wallet or the thick driver may need no user. Raises EOFError."""
    while True:
        user = ask_line("User (- for none, where a wallet or Kerberos identifies you)", answers.user)
        if user == "-":
            return replace(answers, user="", password=None)
        if not user:
            console.show(
                "A user is needed; `presman grants` creates one who can read what presman reads, and nothing more.\n"
            )
        elif "/" in user or "@" in user or not connect_answers.writable(user):
            console.show("A user's name alone: no / and no @; the password is asked for next.\n")
        else:
            if user.upper() == "SYS":
                console.show("SYS logs in AS SYSDBA. presman needs no such rights: `presman grants` creates a user.\n")
            return replace(answers, user=user)


def ask_password(answers: Answers) -> Answers:
    """Ask for the password until one is typed. Raises EOFError."""
    while not (password := ask_secret(f"Password of {clean(answers.shown)}")):
        console.show("A password is needed.\n")
    return replace(answers, password=password)
