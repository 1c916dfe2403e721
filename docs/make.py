"""`make docs`: what the documents say about keys, columns, options, views and rules, generated from presman itself.

It generates whole pages, and tables within others. A test compares them with presman's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from docs.command_page import command_page
from docs.contents import DOCS, tab_pages
from docs.file_pages import csv_page, recording_page, views_page
from docs.fleet_page import fleet_page
from docs.json_page import json_page
from docs.markdown import rows
from docs.metrics_page import metrics_page
from docs.rule_tables import rule_table, table_of_rules
from docs.tab_pages import keys_page, tab_page
from presman.analysis.alerts.rule_book import RULE_BOOK
from presman.cli.exit_codes import HELP
from presman.config.doctor import ASSUMPTIONS
from presman.rows.query_files import OLDEST
from presman.tabs import tab_names

TABS = DOCS / "tabs"

BEGIN, END = "<!-- written by make docs -->\n", "<!-- end of what make docs wrote -->\n"


def written() -> dict[Path, str]:
    """Return every generated file with its current text."""
    return {**dict(_pages()), **dict(_tables())}


def _pages() -> Iterator[tuple[Path, str]]:
    """Yield the pages that are generated completely."""
    yield TABS / "keys.md", keys_page()
    yield from ((DOCS / place, tab_page(name)) for place, name in zip(tab_pages(), tab_names(), strict=True))
    yield DOCS / "reference" / "commands.md", command_page()
    yield DOCS / "reference" / "csv.md", csv_page()
    yield DOCS / "reference" / "json.md", json_page()
    yield DOCS / "reference" / "fleet.md", fleet_page()
    yield DOCS / "reference" / "metrics.md", metrics_page()
    yield DOCS / "reference" / "recording.md", recording_page()
    yield DOCS / "reference" / "views.md", views_page()


def _tables() -> Iterator[tuple[Path, str]]:
    """Yield the pages that have a generated table."""
    parts = {DOCS / "proof.md": assumptions(), DOCS / "triage" / "index.md": table_of_rules()}
    parts[DOCS / "targets.md"] = exit_code_table()
    parts |= {DOCS / "triage" / f"{rule.key}.md": rule_table(rule) for rule in RULE_BOOK.values()}
    for path, table in parts.items():
        if path.exists():  # the test of the handbook reports a rule without a page
            yield path, with_part(path.read_text(encoding="utf-8"), table)


def exit_code_table() -> str:
    """Return the exit codes, as the help has them."""
    found = re.findall(r"^  (\d+) +(.*(?:\n {7}.*)*)", HELP, re.MULTILINE)
    return rows(("code", "what it means"), ((code, " ".join(text.split())) for code, text in found)) + "\n"


def assumptions() -> str:
    """Return the assumptions that no document confirms, as a list."""
    parts = []
    for each in ASSUMPTIONS:
        document = f" Document: {each.document}" if each.document else ""
        lines = [f"- **{each.key}**: {each.taken} Confirmed if: {each.confirmed}.{document}"]
        if each.sql:
            lines.append(f"  `{each.sql};`" + (f" (from {each.since} on)" if each.since > OLDEST else ""))
        parts.append("\n".join(lines))
    return "\n".join([*parts, ""])


def with_part(text: str, part: str) -> str:
    """Return a page with the current text between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, behind = rest.partition(END)
    return f"{before}{BEGIN}\n{part}\n{END}{behind}"


if __name__ == "__main__":
    for path, text in written().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
