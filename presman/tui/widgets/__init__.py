"""Widgets that do not depend on a tab: grid, charts, heat map, Gantt chart, dialogs."""
