"""Whether a file or a folder is there: yes, no, or an OSError that says why nobody can tell.

Path.exists, is_file and is_dir of Python 3.13 and later answer no where a path may not be looked at, too.
"""

from __future__ import annotations

import errno
import stat
from pathlib import Path

_NOTHING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP})


def exists(path: Path) -> bool:
    """Whether anything is there. Raises OSError."""
    return bool(_mode(path))


def is_file(path: Path) -> bool:
    """Whether a plain file is there, or a link to one. Raises OSError."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Whether a folder is there, or a link to one. Raises OSError."""
    return stat.S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except ValueError:  # no path has a zero byte
        return 0
    except OSError as error:
        if error.errno in _NOTHING:
            return 0
        raise
