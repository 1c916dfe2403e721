"""Connection settings: an address, who one is, and how; and what it means where that fails."""

import re
from functools import cache, cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

from presman.base.secret import Secret
from presman.base.text import clean

MODES = ("default", "sysdba", "sysoper", "sysbackup", "sysdg", "syskm", "sysrac")
"""Privileges to log in with."""


class ConnectSettings(Struct, frozen=True):
    """How to reach an Oracle database, as the driver takes it.

    `dsn` is an easy connect string, a TNS alias or a descriptor; `user` may be `proxy[user]`, None for external
    authentication; `mode` one of :data:`MODES`; `call_timeout` seconds for one query.
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
        """The host, with its port where it is said, or the alias that stands for it."""
        found = re.search(r"(?i)\(\s*host\s*=\s*([^)\s]+)\s*\)", self.dsn)
        if found:
            port = re.search(r"(?i)\(\s*port\s*=\s*(\d+)\s*\)", self.dsn)
            return f"{found[1]}:{port[1]}" if port else found[1]
        return re.sub(r"^(\w+:)?//", "", self.dsn).partition("/")[0].partition("?")[0]

    @property
    def name(self) -> str:
        """Who and where, without secrets."""
        dsn = re.sub(r"(?i)(password|pwd)\s*=\s*[^)&\s]+", r"\1=***", self.dsn)
        return clean(f"{self.user}@{dsn}" if self.user else dsn)


# ---- Failed connections in a DBA's words: what the message means, what to look at, and what to say differently.
# Every command tells the meaning and the first advice behind the message; `presman connect` has room for all advice.
# The codes are those of Oracle's error messages; python-oracledb's own errors name the like of them in their texts.

ADDRESS, USER, PASSWORD = "address", "user", "password"


class Explanation(Struct, frozen=True, forbid_unknown_fields=True):
    """A failure: what it means, what to look at, and which answer (ADDRESS, USER, PASSWORD, "") would change it.

    `codes` are those of messages that mean this; `texts` words of messages without a code that says as much.
    After one that is `hopeless` trying again cannot help.
    """

    meaning: str
    advice: tuple[str, ...] = ()
    change: str = ""
    codes: tuple[str, ...] = ()
    hopeless: bool = False
    texts: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The meaning and the first advice, to follow a message."""
        begins_in_lower_case = not self.meaning[1:2].isupper()
        first = self.meaning[:1].lower() if begins_in_lower_case else self.meaning[:1]
        return " ".join([first + self.meaning[1:], *self.advice[:1]])


class Failures(Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """All that presman can explain, and the codes that mean that the session is gone, or that the driver's time was up.

    `hopeless` are more codes after which trying again cannot help, and may lock the account.
    """

    lost: frozenset[str]
    timed_out: frozenset[str]
    hopeless: frozenset[str]
    failure: tuple[Explanation, ...]

    @cached_property
    def hopeless_codes(self) -> frozenset[str]:
        """The codes after which trying again cannot help."""
        return self.hopeless.union(*(each.codes for each in self.failure if each.hopeless))


@cache
def failures() -> Failures:
    """Return what is known of failures; where words of several explanations are in a message, the first is meant."""
    return msgspec.toml.decode(Path(__file__).with_name("login_failures.toml").read_bytes(), type=Failures)


def explained(code: str, text: str) -> Explanation | None:
    """Return what the failure of a connection means; None where presman knows no more than the message says."""
    by_code = {each: failure for failure in failures().failure for each in failure.codes}
    codes = [code, *sorted(re.findall(r"\b(?:ORA|DPY|DPI)-\d{4,5}\b", text))]
    found = next((by_code[each] for each in codes if each in by_code), None)
    return found or next((each for each in failures().failure if any(word in text for word in each.texts)), None)
