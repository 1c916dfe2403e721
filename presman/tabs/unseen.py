"""Sentences in place of rows that could not be seen: which view told nothing, and why."""

from __future__ import annotations

from collections.abc import Callable

from presman.analysis.sight import VIEWS
from presman.tabs.moment import Moment


def blind(*views: str) -> Callable[[Moment], str]:
    """Return the sentence, by the moment, for a table made of `views` (V$ names), "" where they told something.

    Raises ValueError for a view of which no reading says whether it told something: the sentence would never be shown.
    """
    if unknown := set(views) - {view.removeprefix("G") for view in VIEWS.values()}:
        raise ValueError(f"presman.analysis.sight does not look at {', '.join(sorted(unknown))}")

    def sentence(moment: Moment) -> str:
        found = [each.why for each in moment.reading.unseen if each.view.removeprefix("G") in views]
        return f"Not known: {'; '.join(found)}." if found else ""

    return sentence
