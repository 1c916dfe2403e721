"""Panels: the common layout of tabs, and the special layouts of some."""
