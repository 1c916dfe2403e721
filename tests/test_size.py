"""Size: what counts as a code line."""

from __future__ import annotations

from tests.size import code_lines

MODULE = '''"""One,
two."""

import os  # a comment behind code is no comment line

# a comment
LIMIT = 1
"""What documents a constant."""


def f():
    """Return."""
    return """a string
    that is code"""
'''


def test_docstrings_comments_and_blank_lines_are_no_code() -> None:
    assert code_lines(MODULE) == 5  # import, LIMIT, def, and two of the string that is returned
