"""The screen of presman 1.x as text: parameters, table, one bar per group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from presman.output.classic.classic_tables import ClassicTable, Value

_LONGEST_BAR = 100


def head(target: str, parameters: Mapping[str, str]) -> str:
    """Return the lines above the table. `target` is free of secrets."""
    lines = [f"presman - connected to: {target}", "", "DBRM parameters:"]
    lines += [f"> {name}: {value}" for name, value in parameters.items()]
    return "\n".join(lines) + "\n"


def boxed(table: ClassicTable) -> str:
    """Return the table with its frame, numbers to the right."""
    texts = [[_text(value) for value in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.columns, *texts, strict=True)]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    numeric = {*table.figures, 0} - {table.name}

    def line(row: Sequence[str]) -> str:
        padded = (
            text.rjust(width) if place in numeric else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return "| " + " | ".join(padded) + " |"

    return "\n".join([rule, line(table.columns), rule, *map(line, texts), rule]) + "\n"


def bars(table: ClassicTable, column: int) -> str:
    """Return one line per group: ``BATCH    [ 12.34%] ############``, one # per unit, 100 at most."""
    values = table.values(column)
    width = max(map(len, values), default=0)
    return "".join(
        f"{name:{width}}  [{_percent(value)}] {_marks(value)}".rstrip() + "\n" for name, value in values.items()
    )


def _text(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _percent(value: Value) -> str:
    return f"{value:6.2f}%" if isinstance(value, int | float) else f"{'-':>6}%"


def _marks(value: Value) -> str:
    return "#" * min(_LONGEST_BAR, max(0, round(value))) if isinstance(value, int | float) else ""
