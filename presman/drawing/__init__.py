"""Drawing of figures in character cells: lines, bars, columns, tables. For screens and texts alike; no widgets."""
