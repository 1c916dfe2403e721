"""Drawing of figures in character cells: lines, bars, areas, columns, tables. For screens and text; no widgets."""
