"""Reader of contrib/ for tests: the expressions for Prometheus and Grafana, and the metrics they name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

CONTRIB = Path(__file__).parents[1] / "contrib"
RULES = CONTRIB / "prometheus" / "presman.rules.yml"
DASHBOARD = CONTRIB / "grafana" / "presman.json"

_VARIABLES = {"$__rate_interval": "1m", "$target": ".+"}


def panels() -> dict[str, list[str]]:
    """Return the expressions of the dashboard's panels by title, with its variables filled in."""
    found = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return {
        panel["title"]: [_filled(target["expr"]) for target in panel["targets"]]
        for panel in found["panels"]
        if panel["type"] != "row"
    }


def annotations() -> list[str]:
    """Return the expressions of the dashboard's annotations."""
    return [_filled(each["expr"]) for each in json.loads(DASHBOARD.read_text(encoding="utf-8"))["annotations"]["list"]]


def _filled(expression: str) -> str:
    for name, value in _VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def recorded() -> set[str]:
    """Return the names that the recording rules define."""
    return set(re.findall(r"- record: (\S+)", RULES.read_text(encoding="utf-8")))


def named(text: str) -> set[str]:
    """Return presman's metrics and recording rules that a text names."""
    return set(re.findall(r"\b(?:target\w*:)?presman_\w+(?::\w+)*", text))


def texts() -> Iterator[str]:
    """Yield all expressions, those of the rules as one text."""
    yield RULES.read_text(encoding="utf-8")
    for expressions in panels().values():
        yield from expressions
    yield from annotations()
