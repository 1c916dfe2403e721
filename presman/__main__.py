"""Lets `python -m presman` do what `presman` does."""

from presman.cli import main

raise SystemExit(main())
