"""Entry point of `python -m presman`: the same as `presman`."""

from presman.cli import main

raise SystemExit(main())
