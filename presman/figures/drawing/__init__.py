"""Drawing of figures in character cells: lines, bars, areas, columns, tables. For screens and texts; no widgets."""
