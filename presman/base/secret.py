"""The one type that holds a password: it never shows itself."""

from __future__ import annotations

from typing import NoReturn


class Secret:
    """A text that is masked wherever it is printed, logged or put into a traceback.

    >>> str(Secret("tiger")), repr(Secret("tiger")), f"{Secret('tiger')}"
    ('***', "Secret('***')", '***')
    >>> Secret("tiger").reveal()
    'tiger'
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself: only for whoever hands it to a driver."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return "***"

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")
