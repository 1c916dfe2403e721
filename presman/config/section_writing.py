"""Writing a section of config.ini: whatever else stands in the file, comments too, stays as it is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from configparser import ConfigParser, Error
from contextlib import suppress
from pathlib import Path

from presman.config.config_file import LARGEST, ConfigError

OWNED = (
    "connection_string", "dsn", "user", "password", "password_command", "mode", "config_dir", "wallet_location",
    "wallet_password", "thick", "lib_dir",
)  # fmt: skip
"""What says who connects where; of a section that is replaced it goes, and all else stays."""

_HEADER = re.compile(r"\[(.+)\]")
_OPTION = re.compile(r"([^\s=:#;][^=:]*?)\s*([=:]|$)")


def with_section(text: str, name: str, values: Mapping[str, str]) -> str:
    """Return the text of a config.ini in which [name] says `values` of who connects where.

    Raises ValueError where that cannot be done without touching anything else.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    bounds = _bounds(lines, name)
    new = [f"{option} = {value}{end}" for option, value in values.items()]
    if bounds is None:
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
    """Return the lines of a section, its header included; None without one."""
    heads = [(index, found[1]) for index, line in enumerate(lines) if (found := _HEADER.match(line.lstrip("\ufeff")))]
    for number, (index, title) in enumerate(heads):
        if title == name:
            return index, heads[number + 1][0] if number + 1 < len(heads) else len(lines)
    return None


def _kept(lines: list[str]) -> list[str]:
    """Return the lines of a section without the options that are written anew, and what continues those."""
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
    """Raise ValueError if the new text says anything else than it should."""
    old, new = _parsed(before), _parsed(after)
    wanted = {option: value for option, value in old.get(name, {}).items() if option not in OWNED}
    if new.pop(name, None) != wanted | dict(values):
        raise ValueError(f"[{name}] cannot be written so that it reads back the same")
    old.pop(name, None)
    if old != new:
        raise ValueError("another section would change")


def _parsed(text: str) -> dict[str, dict[str, str]]:
    parser = ConfigParser(interpolation=None, default_section="\0", empty_lines_in_values=False)
    try:
        parser.read_string(text.removeprefix("\ufeff"))
    except Error:
        raise ValueError("the file would no longer be one that presman reads") from None
    return {section: dict(parser.items(section)) for section in parser.sections()}


def write_section(path: Path, name: str, values: Mapping[str, str], *, secret: bool) -> None:
    """Write [name] into the file, which is replaced whole or not at all.

    A new file, and one that gets a `secret`, can be read by its owner alone. Raises ConfigError.
    """
    path = Path(os.path.realpath(path))  # behind a link, which stays one
    try:
        mode = _mode(path)
        text = path.read_bytes().decode("utf-8") if mode is not None else ""
        if len(text) > LARGEST:
            raise ConfigError(f"{path}: more than {LARGEST:,} bytes: that is no config.ini")
        data = with_section(text, name, values).encode("utf-8")
        _replace(path, data, 0o600 if mode is None else mode & 0o700 if secret else mode)
    except (ValueError, OSError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigError(f"cannot write {path}: {reason}; it is as it was") from None


def _mode(path: Path) -> int | None:
    """Return a file's permissions, None without one. Raises OSError for somebody else's."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if found.st_uid != os.geteuid():
        raise PermissionError(1, "it belongs to another user")
    return found.st_mode & 0o777


def _replace(path: Path, data: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), mode)
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
