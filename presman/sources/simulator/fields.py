"""Fields of TOML tables, decoded to frozen dataclasses; errors name the file, the key and the nearest valid word."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from presman.base.errors import InputError, nearest
from presman.base.formats import UNITS, seconds_of

Reader = Callable[[Any], Any]
T = TypeVar("T")
N = TypeVar("N", int, float)
Values: TypeAlias = tuple[tuple[str, str | float], ...]
"""Columns of a view, each with a value; "" is NULL."""


LARGEST = 1e15
LONGEST_DAYS = 3650
"""Longest duration: the microseconds of a hundred thousand such waits still fit in a column."""


class ScenarioError(InputError):
    """A scenario is invalid; the text is one line that names the file and the key."""


def key(read: Reader, *default: Any) -> Any:
    """Declare a dataclass field that `read` converts; without `default` the key is required."""
    if default:
        return dataclasses.field(default=default[0], metadata={"read": read})
    return dataclasses.field(metadata={"read": read})


def suggestion(word: str, words: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the closest of `words`, or ""."""
    found = nearest(word, words, 0.6)
    return f"; did you mean {found!r}?" if found else ""


def decode(kind: type[T], table: Any, where: str) -> T:
    """Build `kind` from a TOML table. Raises ScenarioError; `where` is ``file: path of the table``."""
    if not isinstance(table, Mapping):
        raise ScenarioError(f"{where}: expected a table, got {table!r}")
    known = {field.name: field for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known or "read" not in known[name].metadata:
            raise ScenarioError(f"{where}: unknown key {name!r}{suggestion(name, known)}")
        try:
            values[name] = known[name].metadata["read"](value)
        except ValueError as error:
            raise ScenarioError(f"{where}.{name}: {error}") from None
    for name, field in known.items():
        if name not in values and field.default is dataclasses.MISSING:
            raise ScenarioError(f"{where}: key {name!r} is missing")
    try:
        return kind(**values)
    except ValueError as error:
        raise ScenarioError(f"{where}: {error}") from None


def number(least: float = 0.0, most: float = float("inf")) -> Reader:
    """Read a number between `least` and `most`."""

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"expected a number, got {value!r}")
        if not abs(value) <= LARGEST:  # inf and nan, too
            raise ValueError(f"must be finite and at most {LARGEST:g}, got {value}")
        return float(_within(value, least, most))

    return read


def whole(least: int = 0, most: int = 1_000_000) -> Reader:
    """Read a whole number between `least` and `most`."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"expected a whole number, got {value!r}")
        return _within(value, least, most)

    return read


def session(value: Any) -> tuple[int, int]:
    """Read the key of a session: a SID on instance 1, or "INSTANCE:SID".

    >>> session(88), session("2:88")
    ((1, 88), (2, 88))
    """
    found = re.fullmatch(r"(?:(\d{1,2}):)?(\d{1,5})", str(value))
    if found is None or isinstance(value, bool) or not 0 < int(found[2]) < 65536 or found[1] in {"0", "00"}:
        raise ValueError(f"expected a SID, or INSTANCE:SID in quotes, got {value!r}")
    return int(found[1] or 1), int(found[2])


def _within(value: N, least: N, most: N) -> N:
    if not least <= value <= most:
        allowed = f"at least {least}" if most == float("inf") else f"from {least} to {most}"
        raise ValueError(f"must be {allowed}, got {value}")
    return value


def text(value: Any) -> str:
    """Read a string."""
    if not isinstance(value, str):
        raise ValueError(f"expected a text in quotes, got {value!r}")
    return value


def identifier(value: Any) -> str:
    """Read the name of a plan, group, user or PDB: not empty, converted to upper case as in the dictionary."""
    if not text(value).strip():
        raise ValueError("must not be empty")
    return text(value) if text(value).startswith("_") else text(value).upper()


def flag(value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, got {value!r}")
    return value


def one_of(*words: str) -> Reader:
    """Read one of `words`, in any case."""

    def read(value: Any) -> str:
        found = text(value).upper() if words[0].isupper() else text(value).lower()
        if found not in words:
            raise ValueError(f"must be one of {', '.join(words)}, got {value!r}{suggestion(found, words)}")
        return found

    return read


def list_of(read: Reader) -> Reader:
    """Read a list, or a single value as a list of one."""

    def read_all(value: Any) -> tuple[Any, ...]:
        values = value if isinstance(value, list) else [value]
        if not values:
            raise ValueError("must not be empty: write one value or more, or leave the line out")
        return tuple(read(item) for item in values)

    return read_all


def values(value: Any) -> Values:
    """Read a table of columns, each with a text or a number."""
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a table of columns, got {value!r}")
    for column, each in value.items():
        if isinstance(each, bool) or not isinstance(each, str | int | float):
            raise ValueError(f"{column}: expected a text or a number, got {each!r}")
    return tuple((column.upper(), each) for column, each in value.items())


def duration(value: Any) -> float:
    """Read seconds: a number, or a text such as ``40ms``, ``2s``, ``10m``, ``1h``; negative for the past."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds: int | float = value
    elif isinstance(value, str):
        seconds = seconds_of(value.removeprefix("-"), bare=False) * (-1 if value.startswith("-") else 1)
    else:
        raise ValueError(f"expected a duration such as 40ms, 30s, 10m or 1h, got {value!r}")
    if not abs(seconds) <= LONGEST_DAYS * UNITS["d"]:  # inf and nan, too
        raise ValueError(f"must be at most {LONGEST_DAYS}d, got {value!r}")
    return float(seconds)


def span(value: Any) -> float:
    """Read a duration longer than 0."""
    seconds = duration(value)
    if seconds <= 0:
        raise ValueError(f"must be longer than 0, got {value!r}")
    return seconds


def table_of(kind: type[Any]) -> Reader:
    """Read a subtable into `kind`."""

    def read(value: Any) -> Any:
        try:
            return decode(kind, value, "")
        except ScenarioError as error:
            raise ValueError(str(error).lstrip(".: ")) from None

    return read
