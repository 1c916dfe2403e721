"""A source in a process of its own: its driver neither holds up the screen nor takes presman with it."""
