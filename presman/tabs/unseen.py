"""Sentences in place of rows that could not be seen: which view told nothing, and why."""

from __future__ import annotations

from collections.abc import Callable

from presman.tabs.moment import Moment


def blind(*views: str) -> Callable[[Moment], str]:
    """Return the sentence, by the moment, for a table made of `views` (V$ names), "" where they told something."""

    def sentence(moment: Moment) -> str:
        found = [each.why for each in moment.reading.unseen if each.view.removeprefix("G") in views]
        return f"Not known: {'; '.join(found)}." if found else ""

    return sentence
