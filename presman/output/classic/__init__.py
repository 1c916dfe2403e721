"""The tables and options of presman 1.x."""
