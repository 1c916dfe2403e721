"""Widgets that know no tab: grid, charts, heat map, Gantt chart, dialogs."""
