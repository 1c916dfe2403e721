"""`make docs`: what the documents say of keys, columns, options and views, written from presman itself.

docs/reference.md as a whole, in README.md the table of keys, in docs/proof.md the assumptions; in presman/shell/ the
completions of shells and the manual page. A test holds them to
what presman has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docs.completions import script
from docs.man_page import man_page
from presman.base.release import Release
from presman.figures.figure import Figure, Table
from presman.figures.measures import COMMON, MEASURES
from presman.figures.metric import Metric, Subject
from presman.metrics.metric_page import LABEL
from presman.metrics.own_metrics import SUBJECTS
from presman.records.queries import Query, read, variants
from presman.records.rows import by_query
from presman.setup.assumptions import in_markdown
from presman.tabs import tab, tab_names
from presman.tui.keys.all_keys import APP_KEYS
from presman.tui.keys.page_keys import TABS
from presman.tui.keys.table_keys import INSTANCES

ROOT = Path(__file__).parents[1]
README, REFERENCE = ROOT / "README.md", ROOT / "docs" / "reference.md"
PROOF = ROOT / "docs" / "proof.md"
SHELL = ROOT / "presman" / "shell"

ASSUMED = "what a user with a database could run to confirm it.\n\n"
BEGIN = "| key | |\n"
MOVING = "| `↑` `↓` `PgUp` `PgDn` `Home`, `k` `j` | move in the table or page |"


def key_table() -> str:
    """Return the table of keys."""
    tabs = " ".join(f"`{name.key}` {name.title}" for name in tab_names())
    only = ", ".join(name.title for name in tab_names() if name.containers)
    lines = [BEGIN.strip(), "|---|---|", f"| {tabs} | tabs; {only} only in a container database |"]
    for each in APP_KEYS:
        if each not in TABS:
            lines.append(f"| `{each.key.shown}` | {each.key.help} |")
        if each is INSTANCES:
            own = ((name.title, key) for name in tab_names() for key in tab(name.name).keys)
            lines += [f"| `{key.shown}` | On {title}: {key.help} |" for title, key in own]
    return "\n".join([*lines, MOVING, ""])


def readme() -> str:
    """Return README.md with the table of keys as it is now."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, _, behind = rest.partition(MOVING + "\n")
    return before + key_table() + behind


def proof() -> str:
    """Return docs/proof.md with the assumptions as they are now."""
    before, begin, _ = PROOF.read_text(encoding="utf-8").partition(ASSUMED)
    return before + begin + in_markdown()


def reference() -> str:
    """Return docs/reference.md."""
    parts = [
        "# Reference",
        "Written by `make docs` from presman itself.",
        "## CSV",
        "`presman export` and `presman once --format csv`. Every line begins with:",
        csv_table(COMMON),
    ]
    for measure in MEASURES.values():
        parts += [f"### `{measure.name}`", f"{measure.help[0].upper()}{measure.help[1:]}. Wide: {wide(measure.wide)}."]
        parts.append(csv_table(measure.figures))
    parts += [
        "## Tables",
        "What the tabs and `presman once` show. `JSON` is the field of `once --format json` with the same figure, in "
        "each element of the array that is named; it is empty where the figure is worked out of several fields.",
    ]
    for name in tab_names():
        shown = tab(name.name)
        parts.append(f"### {name.key} {name.title}")
        for each in (*shown.tables, *(part.table for part in shown.for_text)):
            parts += [table_title(each), table(each)]
    parts += [
        "## Metrics",
        "What `presman metrics` offers to Prometheus and OpenTelemetry ([metrics.md](metrics.md)). Every series has "
        f"the label `{LABEL}`, too, which tells databases apart; labels that say nothing are left out.",
    ]
    for subject in SUBJECTS:
        parts += [f"**{subject.title}**" + labels(subject), metrics(subject)]
    parts += ["## What presman reads", reads()]
    return "\n\n".join(parts) + "\n"


def csv_table(figures: Iterable[Figure[Any]]) -> str:
    """Return the columns of a CSV file."""
    return rows(("column", "unit", "what it is"), ((f"`{each.key}`", each.unit.name, each.help) for each in figures))


def wide(keys: tuple[str, ...]) -> str:
    """Return what the wide layout can show."""
    return f"`{keys[0]}`" + (f", or any other of its figures ({len(keys)})" if len(keys) > 1 else "")


def labels(subject: Subject[Any]) -> str:
    """Return what tells the series of a subject from one another."""
    names = [f"`{name}`" for name in subject.labels]
    return f" (labels {', '.join(names)})" if names else ""


def metrics(subject: Subject[Any]) -> str:
    """Return the metrics of a subject, each once."""
    first = {metric.name: metric for metric in reversed(subject.metrics)}
    names = dict.fromkeys(metric.name for metric in subject.metrics)
    cells = ((f"`{name}`{extra(first[name])}", first[name].kind.value, first[name].help) for name in names)
    return rows(("metric", "type", "what it is"), cells)


def extra(metric: Metric[Any]) -> str:
    """Return the labels that a metric has besides those of its subject."""
    return "".join(f" `{name}`" for name in (*metric.labels, *metric.words))


def table_title(shown: Table[Any]) -> str:
    """Return the title of a table, and where its rows stand in JSON."""
    return f"**{shown.title}**" + (f" (`.{shown.json}[]`)" if shown.json else "")


def table(shown: Table[Any]) -> str:
    """Return the figures of a table."""
    found = (
        (each.head or each.key, each.unit.name, f"`{each.path}`" if each.path and shown.json else "", each.help)
        for each in shown.columns
    )
    return rows(("column", "unit", "JSON", "what it is"), found)


def reads() -> str:
    """Return the views that presman reads, each with its files and the releases they hold from."""
    found: dict[str, list[Query]] = {}
    for path in variants():
        query = read(path, by_query()[path.stem])
        found.setdefault(query.grant, []).append(query)
    cells = ((f"`{grant}`", *facts(queries)) for grant, queries in sorted(found.items()))
    return rows(("SELECT on SYS.", "how often", "from", "query"), cells)


def facts(queries: list[Query]) -> Iterator[str]:
    """Yield how often a view is read, from which release on, and by which files."""
    yield ", ".join(sorted({query.cadence.value for query in queries}))
    yield str(min(max(query.since, release_of(query)) for query in queries))
    yield ", ".join(f"`{name}`" for name in sorted({query.name for query in queries}))


def release_of(query: Query) -> Release:
    """Return the release from which on a file is used."""
    folder = query.path.parent.name
    return Release.parse(folder) if folder[0].isdigit() else Release(11, 2)


def shell_files() -> dict[str, str]:
    """Return the files of presman/shell/ by name."""
    return {
        "presman.bash": script("bash"),
        "_presman": script("zsh"),
        "presman.fish": script("fish"),
        "presman.1": man_page(),
    }


def rows(heads: Iterable[str], cells: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in cells)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
    PROOF.write_text(proof(), encoding="utf-8")
    REFERENCE.write_text(reference(), encoding="utf-8")
    for name, text in shell_files().items():
        (SHELL / name).write_text(text, encoding="utf-8")
