"""Contents of the book: its pages in order, their source files, and the existing pictures."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from docs.markdown import front_matter, headings
from presman.analysis.alerts.rule_book import RULE_BOOK
from presman.tabs import tab_names

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


class Chapter(NamedTuple):
    """A chapter: its title, and its pages by their paths in the book."""

    title: str
    pages: tuple[str, ...]


class OutsidePage(NamedTuple):
    """A page from elsewhere in the project: its file, and what search engines show of it."""

    path: str
    title: str
    description: str


FROM_ELSEWHERE = {
    "scenarios.md": OutsidePage(
        "presman/sources/simulator/scenarios/README.md",
        "Writing scenarios for the Oracle simulator",
        "The keys of a scenario file for presman's simulated Oracle database: plans, workloads, events, outages.",
    ),
    "architecture.md": OutsidePage(
        "ARCHITECTURE.md",
        "Architecture: from Oracle's V$ views to screens and files",
        "How presman turns Oracle's V$ views into screens, CSV and JSON: data flows one way; what each room owns.",
    ),
    "contributing.md": OutsidePage(
        "CONTRIBUTING.md",
        "Contributing: a query, a figure, a view, a rule",
        "How to add a query, a figure, a view, a rule, a scenario or an option to presman, and what a change passes.",
    ),
    "changelog.md": OutsidePage(
        "CHANGELOG.md",
        "Changelog: what is new in each version",
        "What was added, changed, removed and fixed in each version of presman, the Oracle Resource Manager monitor.",
    ),
}


def chapters() -> tuple[Chapter, ...]:
    """Return the chapters. Each tab and each rule of alerts has a page."""
    rules = (f"triage/{key}.md" for key in RULE_BOOK)
    return (
        Chapter("Begin", ("index.md", "installing.md", "tour.md")),
        Chapter("Triage handbook", ("triage/index.md", *rules, "triage/changing-a-plan.md", "triage/exercises.md")),
        Chapter(
            "Reading the screens",
            (*_named("monitor accessibility parallel forecast plan latency tabs/keys"), *tab_pages()),
        ),
        Chapter("Connecting", _named("connecting config targets grants security trouble")),
        Chapter(
            "Using it",
            _named(
                "fleet serve alerts actions whatif advise export json record metrics compare operations spool trace"
            ),
        ),
        Chapter("Before you trust it", _named("proof alternatives upgrading")),
        Chapter(
            "Reference",
            (
                *_named("reference/commands reference/csv reference/json reference/metrics reference/fleet recording"),
                *_named("reference/recording reference/views"),
            ),
        ),
        Chapter("Simulator", _named("simulator scenarios")),
        Chapter("Inside", _named("architecture decisions contributing changelog")),
    )


def _named(names: str) -> tuple[str, ...]:
    return tuple(f"{name}.md" for name in names.split())


def tab_pages() -> tuple[str, ...]:
    """Return the pages of the tabs."""
    return tuple(f"tabs/{name.name}.md" for name in tab_names())


def places() -> tuple[str, ...]:
    """Return the path of every page, in order."""
    return tuple(place for chapter in chapters() for place in chapter.pages)


def source(place: str) -> Path:
    """Return the source file of a page."""
    return ROOT / FROM_ELSEWHERE[place].path if place in FROM_ELSEWHERE else DOCS / place


def place_of(path: Path) -> str:
    """Return the path of a file in the book, "" if it is not in it."""
    return next((place for place in places() if source(place) == path), "")


def title_and_description(place: str) -> tuple[str, str]:
    """Return a page's title and description for search engines; "" for a missing one."""
    if place in FROM_ELSEWHERE:
        return FROM_ELSEWHERE[place].title, FROM_ELSEWHERE[place].description
    found = front_matter(source(place).read_text(encoding="utf-8"))
    return found.get("title", ""), found.get("description", "")


def label(place: str) -> str:
    """Return the name of a page in the navigation: its first heading."""
    return next(headings(source(place).read_text(encoding="utf-8"))).replace("`", "")


def picture(name: str) -> str:
    """Return the path of a picture, "" if there is none of that name."""
    path = f"screenshots/{name}.svg"
    return path if (ROOT / path).exists() else ""
