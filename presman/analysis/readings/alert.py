"""Alert: one thing to know."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

Severity: TypeAlias = Literal["bad", "warn", "good", "note"]
"""How bad it is: `bad` hurts somebody now, `warn` is to be looked at, `note` to be known, `good` is an all-clear."""

SEVERITY_WORDS: Mapping[str, str] = MappingProxyType(
    {"bad": "critical", "warn": "warning", "note": "note", "good": "ok", "off": "off"}
)
"""What each is called in files, texts and config.ini; a rule may be `off` as well."""


class Alert(NamedTuple):
    """One thing to know: how bad, its glyph, the sentence, and a shorter form for one line among others.

    `key` names the rule that found it and stays the same from release to release; `subject` is what it is about (a
    group, a container, an instance, "" for the database), so that key and subject tell it from poll to poll. `amount`
    is what thresholds are compared with, in the rule's unit; None where it is not a matter of more or less.
    """

    state: Severity
    glyph: str
    text: str
    short: str
    key: str = ""
    subject: str = ""
    amount: float | None = None
