"""Errors that a user can fix: a file, an option, a name, a limit; suggestions for mistyped words."""

from collections.abc import Iterable


class InputError(Exception):
    """The input cannot be used; the text is one line that says where and why."""


class LimitError(Exception):
    """The machine allows less than presman needs; the text is one line that names the limit."""


def nearest(word: str, known: Iterable[str], least: float = 0.5) -> str | None:
    """Return the known word most like `word`, None if no similarity reaches `least` (0 to 1)."""
    from difflib import get_close_matches  # imported only on a typo: processes that run for days have none

    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), by_lower, n=1, cutoff=least)
    return by_lower[found[0]] if found else None


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that `word` is a typo of, None without one: a letter or two left out, doubled or swapped.

    >>> closest("v$sesion", ["v$session", "v$px_session"]), closest("SHOE_SIZE", ["SID", "STATE"])
    ('v$session', None)
    """
    return nearest(word, known, 0.8)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the second half of an error line: the nearest name, otherwise all known ones.

    >>> did_you_mean("paralel", ["cpu", "parallel"])
    "did you mean 'parallel'?"
    >>> did_you_mean("x", ["cpu", "parallel"])
    'known: cpu, parallel'
    """
    known = list(known)
    found = nearest(word, known)
    return f"did you mean {found!r}?" if found else f"known: {', '.join(known)}"


class OneOf:
    """Reads one of a few words, and suggests the nearest; completions offer `known`."""

    def __init__(self, *known: str) -> None:
        self.known = known

    def __call__(self, text: str) -> str:
        """Return the word in lower case. Raises ValueError."""
        if text.lower() not in self.known:
            raise ValueError(f"unknown value {text!r}, {did_you_mean(text, self.known)}")
        return text.lower()
