"""Keeping of the password: in the keyring, in a command that prints it, in config.ini, or nowhere."""

from __future__ import annotations

from msgspec import Struct

from presman.cli import asking, console
from presman.config.password_words import PasswordCommand
from presman.config.setup.connect_answers import Answers, writable
from presman.config.setup.credentials import PasswordCommandError, has_keyring, password_of, to_keyring


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
        console.show("No keyring is here; pip install 'presman[keyring]' adds the desktop's, where there is one.\n")
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
