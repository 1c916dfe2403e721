"""Connection settings: an address, who one is, and how."""

from __future__ import annotations

import re
from dataclasses import dataclass

from presman.base.secret import Secret

MODES = ("default", "sysdba", "sysoper", "sysbackup", "sysdg", "syskm", "sysrac")
"""Privileges to log in with."""


@dataclass(frozen=True, slots=True)
class ConnectSettings:
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
    def name(self) -> str:
        """Who and where, without secrets."""
        dsn = re.sub(r"(?i)(password|pwd)\s*=\s*[^)&\s]+", r"\1=***", self.dsn)
        return f"{self.user}@{dsn}" if self.user else dsn
