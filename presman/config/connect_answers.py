"""Answers to `presman connect`, the section of config.ini that holds them, and how that section is written."""

import os
import re
from collections.abc import Mapping
from configparser import Error
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from presman.base.errors import InputError
from presman.base.private_files import expanded, is_file, is_folder, replace_private
from presman.base.secret import Secret
from presman.config.config_file import DEFAULTS, LARGEST, NAME, Config, ConfigError, Settings, new_parser
from presman.config.target import Target
from presman.config.target_text import parse_target
from presman.config.tns_names import entries

_HOW = ("config_dir", "wallet_location", "wallet_password", "thick", "lib_dir")
"""Answers that have the same name as their setting."""


class Answers(Struct, frozen=True):
    """Address, user and connection settings. `dsn` is an easy connect string, an alias or a descriptor."""

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
        """The privilege to log in with: SYS cannot log in without one."""
        return "sysdba" if self.user.upper() == "SYS" else ""

    @property
    def shown(self) -> str:
        """The user and the address, without secrets."""
        return f"{self.user}@{self.dsn}"

    def settings(self) -> Settings:
        """Return the answers as the settings of a section of config.ini, including the password."""
        given = {name: getattr(self, name) or None for name in ("password", "mode", *_HOW)}
        return Settings(connection=Secret(self.shown), **given)

    def target(self, config: Config) -> Target:
        """Return the target to try, with the settings of `config` that apply to every section. Raises TargetError."""
        target = parse_target(self.shown, Config(None, {DEFAULTS: self.settings().over(config.defaults)}))
        return target if self.password is None else target.with_password(self.password)

    def values(self, *, password: str = "", command: str = "") -> dict[str, str]:
        """Return the options of the section, with `password` or `command` (password_command) if it should have one."""
        values = {
            "connection_string": self.shown,
            "mode": self.mode,
            "password": password,
            "password_command": command,
            **{name: _written(getattr(self, name)) for name in _HOW},
        }
        return {option: value for option, value in values.items() if value}

    def name(self) -> str:
        """Return a name for the section: the alias, or the first part of the service name."""
        service = "" if self.dsn.startswith("(") else self.dsn.rpartition("/")[2].partition("?")[0].partition(":")[0]
        word = re.sub(r"[^A-Za-z0-9_-].*", "", service.lower())
        return word if NAME.fullmatch(word) else "database"


def _written(value: Secret | str | bool | None) -> str:
    """Return a setting as config.ini writes it, "" for none."""
    if isinstance(value, Secret):
        return value.reveal()
    return ("yes" if value is True else value) or ""


def writable(value: str) -> bool:
    """Return whether config.ini can hold this value: it has one line for it and strips blanks at both ends."""
    return value == value.strip() and "\n" not in value and "\r" not in value and value.isprintable()


def aliases(config: Config, folder: str = "") -> tuple[str, Mapping[str, str]]:
    """Return the folder of tnsnames.ora and its aliases: `folder`, else the one in config.ini, else TNS_ADMIN."""
    folder = folder or config.defaults.config_dir or os.environ.get("TNS_ADMIN") or ""
    return folder, entries(folder)


def with_address(answers: Answers, text: str, known: Mapping[str, str]) -> Answers:
    """Return the answers with an address as the user typed it, which may begin with a user. Raises ValueError."""
    text = text.strip()
    credentials, at, dsn = text.rpartition("@")
    if text.startswith("(") and not credentials.endswith(")"):
        credentials, at, dsn = "", "", text
    if re.match(r"(demo|spool|recording):(?!\d+(/|$))", text):
        raise ValueError(f"{text.partition(':')[0]}: is not a database to connect to; to watch it: presman {text}")
    if "/" in credentials:
        raise ValueError("do not type a password here, it would be visible; presman asks for it below")
    if not dsn:
        raise ValueError("no address: host, host:port/service, or an alias")
    if not writable(dsn) or (re.search(r"\s", dsn) and not dsn.startswith("(")):
        raise ValueError("an address has no spaces")
    found = next((alias for alias in known if alias.lower() == dsn.lower()), dsn)
    return replace(answers, dsn=found, user=credentials if at and credentials else answers.user)


def lacks_service(dsn: str, known: Mapping[str, str]) -> bool:
    """Return whether an address is only a host, with or without a port."""
    rest = re.sub(r"^(\w+:)?//", "", dsn)
    return dsn not in known and not dsn.startswith("(") and "/" not in rest


def wants_tls(answers: Answers, known: Mapping[str, str]) -> bool:
    """Return whether the address is reached through TLS."""
    text = known.get(answers.dsn, answers.dsn)
    return bool(re.search(r"(?i)^tcps://|protocol\s*=\s*tcps", text))


def wallet_trouble(folder: str, *, thick: bool = False) -> str:
    """Return what is wrong with a wallet's folder, "" if the driver can read it."""
    try:
        path = expanded(folder)
        if not is_folder(path):
            return f"no such folder: {path}"
        if thick or is_file(path / "ewallet.pem"):
            return ""
        other = "it has cwallet.sso, which takes --thick; the thin driver reads ewallet.pem"
        return other if is_file(path / "cwallet.sso") else "it has no ewallet.pem"
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    except InputError as error:
        return str(error)


# ---- Writing a section of config.ini: everything else in the file, including comments, stays as it is.

OWNED = ("connection_string", "dsn", "user", "password", "password_command", "mode", *_HOW)
"""Options that define the connection: in a section that is replaced these are removed and all others stay."""

_HEADER = re.compile(r"\[(.+)\]")
_OPTION = re.compile(r"([^\s=:#;][^=:]*?)\s*([=:]|$)")


def with_section(text: str, name: str, values: Mapping[str, str]) -> str:
    """Return the text of a config.ini in which [name] defines its connection by `values`.

    Raises ValueError if that would change anything else.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    new = [f"{option} = {value}{end}" for option, value in values.items()]
    if (bounds := _bounds(lines, name)) is None:
        gap = [end] if lines and lines[-1].strip() else []
        if lines and not lines[-1].endswith(("\n", "\r")):
            gap.insert(0, end)
        result = "".join([*lines, *gap, f"[{name}]{end}", *new])
    else:
        begin, stop = bounds
        head = lines[begin] if lines[begin].endswith(("\n", "\r")) else lines[begin] + end
        kept = _kept(lines[begin + 1 : stop])
        result = "".join([*lines[:begin], head, *new, *kept, *lines[stop:]])
    _check(text, result, name, values)
    return result


def _bounds(lines: list[str], name: str) -> tuple[int, int] | None:
    """Return the range of lines of a section, including its header; None if there is no such section."""
    # Before the first section there may be a byte order mark.
    heads = [(index, found[1]) for index, line in enumerate(lines) if (found := _HEADER.match(line.lstrip("\ufeff")))]
    ends = [*(index for index, _ in heads[1:]), len(lines)]
    return next(((index, end) for (index, title), end in zip(heads, ends, strict=False) if title == name), None)


def _kept(lines: list[str]) -> list[str]:
    """Return the lines of a section without the options that are rewritten and their continuation lines."""
    kept, dropping = [], False
    for line in lines:
        if line[:1] in {"#", ";"} or not line.strip():
            dropping = False
        elif not line[:1].isspace():
            found = _OPTION.match(line)
            dropping = found is not None and found[1].lower() in OWNED
        if not dropping:
            kept.append(line)
    return kept


def _check(before: str, after: str, name: str, values: Mapping[str, str]) -> None:
    """Raise ValueError unless the new text differs from the old one exactly as intended."""
    old, new = _parsed(before), _parsed(after)
    wanted = {option: value for option, value in old.get(name, {}).items() if option not in OWNED}
    if new.pop(name, None) != wanted | dict(values):
        raise ValueError(f"[{name}] cannot be written so that it reads back the same")
    old.pop(name, None)
    if old != new:
        raise ValueError("another section would change")


def _parsed(text: str) -> dict[str, dict[str, str]]:
    parser = new_parser()
    try:
        parser.read_string(text.removeprefix("\ufeff"))
    except Error:
        raise ValueError("the file would no longer be one that presman reads") from None
    return {section: dict(parser.items(section)) for section in parser.sections()}


def write_section(path: Path, name: str, values: Mapping[str, str], *, secret: bool) -> None:
    """Write [name] into the file, which is replaced as a whole or not at all.

    Only the owner can read a new file, or one that gets a `secret`. Raises ConfigError.
    """
    path = Path(os.path.realpath(path))  # the file behind a link: the link stays
    try:
        mode = _mode(path)
        text = path.read_bytes().decode("utf-8") if mode is not None else ""
        if len(text) > LARGEST:
            raise ConfigError(f"{path}: more than {LARGEST:,} bytes: that is not a config.ini")
        data = with_section(text, name, values).encode("utf-8")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_private(path, data, 0o600 if mode is None else mode & 0o700 if secret else mode)
    except (ValueError, OSError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigError(f"cannot write {path}: {reason}; it is as it was") from None


def _mode(path: Path) -> int | None:
    """Return a file's permissions, None if there is no file. Raises OSError if it belongs to another user."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if found.st_uid != os.geteuid():
        raise PermissionError(1, "it belongs to another user")
    return found.st_mode & 0o777
