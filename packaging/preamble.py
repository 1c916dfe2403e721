"""Preamble of presman.pyz: ends with one line, before unpacking, if this is not the Python it was made for."""

import sys

MADE_FOR = (0, 0)  # `make pyz` writes it

if sys.version_info[:2] != MADE_FOR:
    wanted, found = (".".join(map(str, each)) for each in (MADE_FOR, sys.version_info[:2]))
    sys.exit(f"presman: this file was made for Python {wanted} and run with {found}. Try: python{wanted} FILE.pyz")
