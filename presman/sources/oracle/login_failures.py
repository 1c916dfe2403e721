"""Failed connections in a DBA's words: what the message means, what to look at, and what to say differently.

Every command tells the meaning and the first advice behind the message; `presman connect` has room for all advice.

The codes are those of Oracle's error messages; python-oracledb's own errors name the like of them in their texts.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

ADDRESS, USER, PASSWORD = "address", "user", "password"


class Explanation(Struct, frozen=True, forbid_unknown_fields=True):
    """A failure: what it means, what to look at, and which answer (ADDRESS, USER, PASSWORD, "") would change it.

    `codes` are those of messages that mean this; `texts` words of messages without a code that says as much.
    """

    meaning: str
    advice: tuple[str, ...] = ()
    change: str = ""
    codes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The meaning and the first advice, to follow a message."""
        begins_in_lower_case = not self.meaning[1:2].isupper()
        first = self.meaning[:1].lower() if begins_in_lower_case else self.meaning[:1]
        return " ".join([first + self.meaning[1:], *self.advice[:1]])


@cache
def explanations() -> tuple[Explanation, ...]:
    """Return all that presman can explain; where words of several are in a message, the first is meant."""
    content = Path(__file__).with_suffix(".toml").read_bytes()
    return msgspec.toml.decode(content, type=dict[str, tuple[Explanation, ...]])["failure"]


def explained(code: str, text: str) -> Explanation | None:
    """Return what the failure of a connection means; None where presman knows no more than the message says."""
    by_code = {each: failure for failure in explanations() for each in failure.codes}
    codes = [code, *sorted(re.findall(r"\b(?:ORA|DPY|DPI)-\d{4,5}\b", text))]
    found = next((by_code[each] for each in codes if each in by_code), None)
    return found or next((each for each in explanations() if any(word in text for word in each.texts)), None)
