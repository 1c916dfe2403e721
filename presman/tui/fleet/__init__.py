"""The screen of a fleet: one line for each database. Enter leads to the monitor, and Esc back."""
