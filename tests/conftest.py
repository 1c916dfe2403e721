"""How hard the tests try: `PRESMAN_THOROUGH=1` tries more examples, and every case instead of every kind of case."""

from __future__ import annotations

from hypothesis import settings

from tests.thorough import THOROUGH

settings.register_profile("ordinary", max_examples=30, deadline=None)
settings.register_profile("thorough", max_examples=300, deadline=None)
settings.load_profile("thorough" if THOROUGH else "ordinary")
