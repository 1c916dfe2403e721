"""Questions on a terminal: a line, a secret, one of a few letters."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from getpass import getpass

from presman.base.secret import Secret
from presman.base.text import clean
from presman.cli import console


def line(question: str, usual: str = "") -> str:
    """Return what was typed, without blanks around it; `usual` if that is nothing. Raises EOFError."""
    shown = f" [{clean(usual)}]" if usual else ""
    console.show(f"{question}{shown}: ")
    typed = sys.stdin.readline()
    if not typed:
        raise EOFError
    return typed.strip() or usual


def secret(question: str) -> Secret:
    """Return what was typed; it is not shown. Raises EOFError."""
    return Secret(getpass(f"{question} (not shown): ", stream=sys.stdout))


def choice(question: str, ways: Mapping[str, str], usual: str) -> str:
    """Return the letter of one of `ways`; they are listed, and asked for until it is one of them. Raises EOFError."""
    console.show(f"{question}\n" + "".join(f"  {letter}  {text}\n" for letter, text in ways.items()))
    while True:
        typed = line("Which", usual).lower()
        if typed in ways:
            return typed
        console.show(f"Type one of: {', '.join(ways)}\n")


def agreed(question: str, *, usual: bool) -> bool:
    """Return whether the answer is yes. Raises EOFError."""
    while True:
        typed = line(f"{question} {'[Y/n]' if usual else '[y/N]'}").lower()
        if typed in {"", "y", "yes", "n", "no"}:
            return typed in {"y", "yes"} or (usual and not typed)
        console.show("Type y or n.\n")
