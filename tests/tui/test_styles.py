"""A tab's style sheet is read with the tab: it has rules for its own widgets only."""

from __future__ import annotations

import re

from presman.tabs import tab_names
from presman.tui.tab_panels import STYLES
from tests.tui.drive import acted, stage
from tests.tui.readings import busy

OPTIONAL = {"cpu-waiting", "pdb-waiting"}
"""Charts that a panel shows only with data."""


def named(sheet: str) -> tuple[set[str], set[str]]:
    """Return the ids that a style sheet has rules for: on whatever panel they are, and on its own one only."""
    heads = re.findall(r"([^{}]+)\{", (STYLES / f"{sheet}.tcss").read_text(encoding="utf-8"))
    selectors = [each for head in heads for each in head.split(",")]
    anywhere = [each for each in selectors if "panel" not in each.lower()]
    return set(re.findall(r"#([\w-]+)", ",".join(anywhere))), set(re.findall(r"#([\w-]+)", ",".join(selectors)))


@acted
async def test_the_style_sheet_of_a_tab_names_only_its_own_widgets() -> None:
    sheets = {path.stem for path in STYLES.glob("*.tcss")}
    assert sheets <= {*(each.name for each in tab_names()), "drill_down"}
    async with stage(busy()) as acting:
        panels, body = acting.app.panels, acting.app.frame.body
        on: dict[str, set[str]] = {}
        for name in [*(each.name for each in tab_names()), "drill_down"]:
            if name not in panels.made:
                await body.mount(panels.make(name))
            panel = panels.of(name)
            on[name] = {widget.id for widget in panel.query("*") if widget.id} | {f"panel-{name}"}
    for sheet in sheets:
        anywhere, every = named(sheet)
        assert every <= on[sheet] | OPTIONAL, sheet
        for other in on.keys() - {sheet}:
            assert not anywhere & on[other], (sheet, other)
