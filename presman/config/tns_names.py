"""tnsnames.ora: its aliases, and the descriptor of each."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from presman.base.errors import InputError
from presman.base.private_files import expanded

LARGEST = 4_000_000
"""Characters of a file that are read."""

_ENTRY = re.compile(r"^([A-Za-z][\w.,\- ]*?)\s*=", re.MULTILINE)


def entries(folder: str | None) -> Mapping[str, str]:
    """Return the aliases of a folder's tnsnames.ora, spelled as in the file, each with its descriptor.

    Empty without a folder or a readable file. Files that IFILE includes are read, too.
    """
    if not folder:
        return {}
    found: dict[str, str] = {}
    with suppress(InputError):
        _read(expanded(folder) / "tnsnames.ora", found, included=False)
    return found


def _read(path: Path, found: dict[str, str], *, included: bool) -> None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST)
    except OSError:
        return
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    heads = list(_ENTRY.finditer(text))
    for head, end in zip(heads, [*(each.start() for each in heads[1:]), len(text)], strict=True):
        value = text[head.end() : end].strip()
        if head[1].upper() == "IFILE":
            if not included:
                _read(path.parent / value.strip("'\""), found, included=True)
            continue
        for alias in filter(None, (each.strip() for each in head[1].split(","))):
            found.setdefault(alias, value)
