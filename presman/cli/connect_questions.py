"""Questions of `presman connect` about a database: where it is, who logs in, and the password."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from presman.base.errors import InputError
from presman.base.private_files import expanded
from presman.base.text import clean
from presman.cli import asking, console
from presman.config.config_file import Config, PasswordCommand
from presman.config.connect_answers import (
    Answers,
    aliases,
    lacks_service,
    wallet_trouble,
    wants_tls,
    with_address,
    writable,
)
from presman.config.credentials import PasswordCommandError, has_keyring, password_of, to_keyring


class Keeping(Struct, frozen=True):
    """Where the password goes; all empty for nowhere. `in_file` is the password itself."""

    in_file: str = ""
    command: str = ""
    in_keyring: bool = False


def ask_keeping(answers: Answers) -> Keeping:
    """Ask where the password is to be kept; nowhere if there is none. Raises EOFError."""
    if answers.password is None:
        return Keeping()
    ways = {"k": "the keyring of this desktop"} if has_keyring() else {}
    if not ways:
        console.show(
            "There is no keyring here; pip install 'presman[keyring]' adds the desktop's, where there is one.\n"
        )
    ways |= {"c": "a command prints it when presman needs it (pass, vault, op, ...)"}
    if writable(answers.password.reveal()):
        ways |= {"f": "config.ini, which only you can read then"}
    ways |= {"n": "nowhere: presman asks each time"}
    while True:
        chosen = asking.choice("Where is the password to be kept?", ways, next(iter(ways)) if "k" in ways else "n")
        if chosen == "k":
            return Keeping(in_keyring=True)
        if chosen == "f":
            return Keeping(in_file=answers.password.reveal())
        if chosen == "n":
            return Keeping()
        if command := _command(answers):
            return Keeping(command=command)


def _command(answers: Answers) -> str:
    """Ask for a command and run it; return "" if it does not print the password that was typed."""
    typed = asking.line("Command (no shell: no pipes, no variables)")
    try:
        found = password_of(PasswordCommand.parse(typed))
    except (PasswordCommandError, ValueError) as error:
        console.show(f"{error}\n\n")
        return ""
    if found == answers.password:
        return typed
    console.show("Its first line is not the password that was typed.\n\n")
    return ""


def put_away(answers: Answers, keeping: Keeping) -> str:
    """Have the keyring keep the password if it is to; return why it does not, "" if all is well."""
    if not keeping.in_keyring or answers.password is None:
        return ""
    return to_keyring(answers.shown, answers.password)


MOST_ALIASES = 20
"""Aliases that are listed; all of them can be typed."""


def ask_address(answers: Answers, config: Config) -> Answers:
    """Ask where the database is, and for the wallet if it is reached through TLS. Raises EOFError."""
    folder, known = aliases(config, answers.config_dir)
    _offer(folder, known)
    while True:
        typed = asking.line("Database (host, host:port/service, alias, or the folder of tnsnames.ora)", answers.dsn)
        if found := _folder_of_names(typed):
            folder = found
            answers, known = replace(answers, config_dir=folder), aliases(config, folder)[1]
            _offer(folder, known)
            continue
        listed = list(known)[:MOST_ALIASES]
        if typed.isdecimal() and 0 < int(typed) <= len(listed):
            typed = listed[int(typed) - 1]
        try:
            answers = with_address(answers, typed, known)
        except ValueError as error:
            console.show(f"{error}\n")
            continue
        if lacks_service(answers.dsn, known):
            answers = _with_service(answers)
        if answers.dsn in known and not answers.config_dir and folder != config.defaults.config_dir:
            answers = replace(answers, config_dir=folder)  # so that it is found without TNS_ADMIN, too
        return _with_wallet(answers) if wants_tls(answers, known) else answers


def _folder_of_names(typed: str) -> str:
    """Return the folder that was typed if tnsnames.ora is in it and may be looked for, "" otherwise."""
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
    """Ask for port and service of a host."""
    host, colon, port = answers.dsn.rpartition(":")
    if not (colon and port.isdecimal()):
        host = answers.dsn
        while not ((port := asking.line("Port", "1521")).isdecimal() and 0 < int(port) < 65536):
            console.show("A port is a number from 1 to 65535.\n")
    while not (service := asking.line("Service (one that `lsnrctl services` lists)")) or not writable(service):
        console.show("A service name is needed; each pluggable database has its own.\n")
    return replace(answers, dsn=f"{host}:{port}/{service}")


def _with_wallet(answers: Answers) -> Answers:
    usual = answers.wallet_location
    if not usual and answers.config_dir and not wallet_trouble(answers.config_dir):
        usual = answers.config_dir
    while folder := asking.line("Wallet folder with ewallet.pem; Enter for none, - to forget it", usual):
        if folder == "-":
            folder = ""
            break
        trouble = wallet_trouble(folder, thick=answers.thick)
        if not trouble:
            break
        console.show(f"{trouble}\n")
        usual = ""
    answers = replace(answers, wallet_location=folder, wallet_password=None)
    if not folder:
        return answers
    while not writable((password := asking.secret("Wallet password; Enter for none")).reveal()):
        console.show("config.ini cannot have that: it begins or ends with a blank, or has control characters.\n")
    return replace(answers, wallet_password=password or None)


def ask_user(answers: Answers) -> Answers:
    """Ask who logs in; nobody where a wallet or the thick driver says it. Raises EOFError."""
    while True:
        user = asking.line("User (- for none, where a wallet or Kerberos identifies you)", answers.user)
        if user == "-":
            return replace(answers, user="", password=None)
        if not user:
            console.show(
                "A user is needed; `presman grants` creates one who can read what presman reads, and nothing more.\n"
            )
        elif "/" in user or "@" in user or not writable(user):
            console.show("A user's name alone: no / and no @; the password is asked for next.\n")
        else:
            if user.upper() == "SYS":
                console.show("SYS logs in AS SYSDBA. presman needs no such rights: `presman grants` creates a user.\n")
            return replace(answers, user=user)


def ask_password(answers: Answers) -> Answers:
    """Ask for the password until there is one. Raises EOFError."""
    while not (password := asking.secret(f"Password of {clean(answers.shown)}")):
        console.show("A password is needed.\n")
    return replace(answers, password=password)
