"""Connection settings: address, credentials and mode; and explanations of failed connections."""

import re
from functools import cache, cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

from presman.base.secret import Secret
from presman.base.text import clean

MODES = ("default", "sysdba", "sysoper", "sysbackup", "sysdg", "syskm", "sysrac")
"""Administrative privileges of a login."""


class ConnectSettings(Struct, frozen=True):
    """The parameters of a connection to an Oracle database, in the driver's terms.

    `dsn` is an easy connect string, a TNS alias or a descriptor; `user` may be `proxy[user]`, None for external
    authentication; `mode` is one of :data:`MODES`; `call_timeout` is the time limit of a query in seconds.
    """

    dsn: str
    user: str | None = None
    password: Secret | None = None
    mode: str = "default"
    wallet_location: str | None = None
    wallet_password: Secret | None = None
    config_dir: str | None = None
    thick: bool = False
    lib_dir: str | None = None
    https_proxy: str | None = None
    https_proxy_port: int | None = None
    call_timeout: float = 10.0
    packs: str = "none"

    @property
    def address(self) -> str:
        """The host, with its port if given, or the TNS alias."""
        if found := re.search(r"(?i)\(\s*host\s*=\s*([^)\s]+)\s*\)", self.dsn):
            port = re.search(r"(?i)\(\s*port\s*=\s*(\d+)\s*\)", self.dsn)
            return f"{found[1]}:{port[1]}" if port else found[1]
        return re.sub(r"^(\w+:)?//", "", self.dsn).partition("/")[0].partition("?")[0]

    @property
    def name(self) -> str:
        """The user and address, without secrets."""
        dsn = re.sub(r"(?i)(password|pwd)\s*=\s*[^)&\s]+", r"\1=***", self.dsn)
        return clean(f"{self.user}@{dsn}" if self.user else dsn)


# ---- Failed connections in a DBA's words: the meaning of the message, the checks, and the answer to change.
# Every command shows the meaning and the first advice after the message; `presman connect` shows all advice.
# The codes are those of Oracle's error messages; python-oracledb's own errors name similar ones in their texts.

ADDRESS, USER, PASSWORD = "address", "user", "password"


class Explanation(Struct, frozen=True, forbid_unknown_fields=True):
    """A failure: its meaning, what to check, and which input to change (ADDRESS, USER, PASSWORD, or "" for none).

    `codes` are the error codes with this meaning; `texts` are words in messages that lack such a code.
    After a `hopeless` failure a retry cannot help.
    """

    meaning: str
    advice: tuple[str, ...] = ()
    change: str = ""
    codes: tuple[str, ...] = ()
    hopeless: bool = False
    texts: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The meaning and the first advice, to be appended to a message."""
        begins_in_lower_case = not self.meaning[1:2].isupper()
        first = self.meaning[:1].lower() if begins_in_lower_case else self.meaning[:1]
        return " ".join([first + self.meaning[1:], *self.advice[:1]])


class Failures(Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """All failures that presman can explain, and the codes for a lost session and for the driver's timeout.

    `hopeless` are further codes after which a retry cannot help and may lock the account.
    """

    lost: frozenset[str]
    timed_out: frozenset[str]
    hopeless: frozenset[str]
    failure: tuple[Explanation, ...]

    @cached_property
    def hopeless_codes(self) -> frozenset[str]:
        """The codes after which a retry cannot help."""
        return self.hopeless.union(*(each.codes for each in self.failure if each.hopeless))


@cache
def failures() -> Failures:
    """Return the explained failures; if a message contains the texts of several, the first one applies."""
    return msgspec.toml.decode(Path(__file__).with_name("login_failures.toml").read_bytes(), type=Failures)


def explained(code: str, text: str) -> Explanation | None:
    """Return the explanation of a failed connection; None if presman has none."""
    by_code = {each: failure for failure in failures().failure for each in failure.codes}
    codes = [code, *sorted(re.findall(r"\b(?:ORA|DPY|DPI)-\d{4,5}\b", text))]
    found = next((by_code[each] for each in codes if each in by_code), None)
    return found or next((each for each in failures().failure if any(word in text for word in each.texts)), None)
