"""Answers to `presman connect`, and the section of config.ini that says the same."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from presman.base.errors import InputError
from presman.base.private_files import expanded
from presman.base.secret import Secret
from presman.config.config_file import DEFAULTS, NAME, Config, Settings
from presman.config.target import Target
from presman.config.targets import entries, parse_target


class Answers(Struct, frozen=True):
    """Where, who and how. `dsn` is an easy connect string, an alias or a descriptor; `user` "" if none is named."""

    dsn: str
    user: str = ""
    password: Secret | None = None
    config_dir: str = ""
    wallet_location: str = ""
    wallet_password: Secret | None = None
    thick: bool = False
    lib_dir: str = ""

    @property
    def mode(self) -> str:
        """The privilege to log in with; SYS has no other way."""
        return "sysdba" if self.user.upper() == "SYS" else ""

    @property
    def shown(self) -> str:
        """Who and where, without secrets."""
        return f"{self.user}@{self.dsn}"

    def settings(self) -> Settings:
        """Return them as a section of config.ini says them, the password too."""
        return Settings(
            connection=Secret(self.shown),
            password=self.password,
            mode=self.mode or None,
            config_dir=self.config_dir or None,
            wallet_location=self.wallet_location or None,
            wallet_password=self.wallet_password,
            thick=self.thick or None,
            lib_dir=self.lib_dir or None,
        )

    def target(self, config: Config) -> Target:
        """Return what to try, with the settings of `config` that hold for every section. Raises TargetError."""
        target = parse_target(self.shown, Config(None, {DEFAULTS: self.settings().over(config.defaults)}))
        return target if self.password is None else target.with_password(self.password)

    def values(self, *, password: str = "", command: str = "") -> dict[str, str]:
        """Return the options of the section, with `password` or `command` (password_command) if it is to have one."""
        values = {
            "connection_string": self.shown,
            "mode": self.mode,
            "password": password,
            "password_command": command,
            "config_dir": self.config_dir,
            "wallet_location": self.wallet_location,
            "wallet_password": self.wallet_password.reveal() if self.wallet_password else "",
            "thick": "yes" if self.thick else "",
            "lib_dir": self.lib_dir,
        }
        return {option: value for option, value in values.items() if value}

    def name(self) -> str:
        """Return what the section could be called: the alias, or the first part of the service's name."""
        service = "" if self.dsn.startswith("(") else self.dsn.rpartition("/")[2].partition("?")[0].partition(":")[0]
        word = re.sub(r"[^A-Za-z0-9_-].*", "", service.lower())
        return word if NAME.fullmatch(word) else "database"


def writable(value: str) -> bool:
    """Return whether config.ini can say this: it cuts blanks at both ends, and has one line for it."""
    return value == value.strip() and "\n" not in value and "\r" not in value and value.isprintable()


def aliases(config: Config, folder: str = "") -> tuple[str, Mapping[str, str]]:
    """Return a folder and what tnsnames.ora in it has: `folder`, else the one of config.ini, else TNS_ADMIN."""
    folder = folder or config.defaults.config_dir or os.environ.get("TNS_ADMIN") or ""
    return folder, entries(folder)


def with_address(answers: Answers, text: str, known: Mapping[str, str]) -> Answers:
    """Return the answers with an address as it was typed; a user may stand before it. Raises ValueError."""
    text = text.strip()
    credentials, at, dsn = text.rpartition("@")
    if text.startswith("(") and not credentials.endswith(")"):
        credentials, at, dsn = "", "", text
    if "/" in credentials:
        raise ValueError("do not type a password here, it would be visible; presman asks for it below")
    if not dsn:
        raise ValueError("no address: host, host:port/service, or an alias")
    if not writable(dsn) or (re.search(r"\s", dsn) and not dsn.startswith("(")):
        raise ValueError("an address has no spaces")
    found = next((alias for alias in known if alias.lower() == dsn.lower()), dsn)
    return replace(answers, dsn=found, user=credentials if at and credentials else answers.user)


def lacks_service(dsn: str, known: Mapping[str, str]) -> bool:
    """Return whether an address is a host alone, perhaps with its port."""
    rest = re.sub(r"^(\w+:)?//", "", dsn)
    return dsn not in known and not dsn.startswith("(") and "/" not in rest


def wants_tls(answers: Answers, known: Mapping[str, str]) -> bool:
    """Return whether the address is reached through TLS."""
    text = known.get(answers.dsn, answers.dsn)
    return bool(re.search(r"(?i)^tcps://|protocol\s*=\s*tcps", text))


def wallet_trouble(folder: str, *, thick: bool = False) -> str:
    """Return what is the matter with a wallet's folder, "" if the driver can read it."""
    try:
        return _wallet_trouble(expanded(folder), thick)
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    except InputError as error:
        return str(error)


def _wallet_trouble(path: Path, thick: bool) -> str:
    if not path.is_dir():
        return f"no such folder: {path}"
    if thick or (path / "ewallet.pem").is_file():
        return ""
    if (path / "cwallet.sso").is_file():
        return "it has cwallet.sso, which takes --thick; the thin driver reads ewallet.pem"
    return "it has no ewallet.pem"
