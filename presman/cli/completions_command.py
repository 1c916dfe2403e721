"""`presman completions`: prints or installs the shell completions and the manual page.

Packages contain the files (`packaging/shell_files.py` makes them); a checkout makes them when they are asked for.
"""

import os
from argparse import Namespace
from pathlib import Path

from presman.base.errors import OneOf
from presman.base.private_files import replace_private
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.parser import Parser, command, option

SHELLS = Path(__file__).parents[1] / "shell"
FILES = {"bash": "presman.bash", "zsh": "_presman", "fish": "presman.fish", "man": "presman.1"}
MARK = "from presman's own options"
"""The phrase that each of these files contains; a file without it is someone else's and stays as it is."""


@command(
    "Print the shell completions of presman's commands, options and targets; `man` prints the manual page.\n"
    "--install puts both where your shell and man look for them, for your user only.",
    """\
  presman completions --install
  presman completions zsh --install
  presman completions bash > /etc/bash_completion.d/presman
  presman completions man | man -l -""",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman completions`."""
    words = "bash, zsh, fish or man (with --install: the shell of $SHELL if none is named)"
    option(parser, "shell SHELL", words, nargs="?", type=OneOf("bash", "zsh", "fish", "man"))
    option(parser, "--install", "write it, and the manual page, into your home folder")


def run(options: Namespace) -> None:
    """Run `presman completions`."""
    if not options.install:
        if options.shell is None:
            raise Failure("which shell? presman completions bash, zsh or fish; --install puts it in place")
        console.put(_text(options.shell))
        return
    shell = options.shell or Path(os.environ.get("SHELL", "")).name
    if shell not in FILES:
        unknown = shell or "an unknown shell"
        raise Failure(f"no completions for {unknown}: presman completions bash --install, or zsh, fish")
    paths = {name: path_of(name) for name in (shell, "man")}
    for path in paths.values():
        _refuse_foreign(path)
    for name, path in paths.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_private(path, _text(name).encode("utf-8"))
        except OSError as error:
            raise Failure(f"cannot write {path}: {error.strerror or error}", exit_codes.OUTPUT) from None
        console.show(f"written: {path}\n")
    console.show(_advice(shell, paths[shell]))


def path_of(name: str) -> Path:
    """Return where a shell looks for the user's own completions, or man for manual pages."""
    if name == "fish":
        return _folder("XDG_CONFIG_HOME", ".config") / "fish/completions/presman.fish"
    places = {"bash": "bash-completion/completions/presman", "zsh": "zsh/site-functions/_presman"}
    return _folder("XDG_DATA_HOME", ".local/share") / places.get(name, "man/man1/presman.1")


def _folder(variable: str, usual: str) -> Path:
    folder = os.environ.get(variable, "")
    try:
        return Path(folder) if folder.startswith("/") else Path.home() / usual
    except RuntimeError:
        raise Failure("the home folder is not known: set HOME") from None


def _text(name: str) -> str:
    """Return a file that came with presman, or make it in a checkout. Raises Failure if neither is possible."""
    path = SHELLS / FILES[name]
    if path.exists():
        return path.read_text(encoding="utf-8")
    try:
        from docs.completions import shell_files
    except ImportError:
        raise Failure(f"{FILES[name]} is missing from this installation") from None
    return shell_files()[FILES[name]]


def _refuse_foreign(path: Path) -> None:
    """Raise Failure if presman did not write the file that is there."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror or error}", exit_codes.OUTPUT) from None
    if MARK not in text.lower():
        raise Failure(f"{path} exists and was not written by presman: move it away first", exit_codes.OUTPUT)


def _advice(shell: str, path: Path) -> str:
    of_shell = {
        "bash": f"New shells complete presman where bash-completion is loaded; without it: source {path}\n",
        "zsh": f"In ~/.zshrc, before compinit: fpath=({path.parent} $fpath)\n",
        "fish": "New shells complete presman.\n",
    }
    return of_shell.get(shell, f"man presman finds it where ~/.local/bin is in PATH; else: man -l {path}\n")
