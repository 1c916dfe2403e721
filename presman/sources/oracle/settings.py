"""Connection settings: an address, who one is, and how."""

from __future__ import annotations

import re

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
